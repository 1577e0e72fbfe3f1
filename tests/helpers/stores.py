"""Helpers of tests of the store."""

import pytest

from state.store import lazy_index
from state.store.lazy import sorted_ids

SMALL = {
    "BUCKET_IDS": 4, "BUCKET_IDS_MAX": 8, "UNSORTED_IDS": 8, "UNSORTED_IDS_MAX": 32, "INSERTED_SHARE": 3, "NEAR": 2, "SMALL_COUNT": 4,
    "FEW_BUCKETS": 6,
}  # fmt: skip


def use_small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the buckets of lazy orders small, so that few ids fill many of them, and few changes are many."""
    monkeypatch.setattr(lazy_index, "UNSORTED_CHANGES_MAX", 2)
    for name, value in SMALL.items():
        monkeypatch.setattr(sorted_ids, name, value)
