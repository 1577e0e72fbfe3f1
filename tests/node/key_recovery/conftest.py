"""Fixtures of the tests for key recovery."""

import pytest

from state.protocol.keys.signatures import Canonical, recover


@pytest.fixture
def plain_recoveries(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The signatures of blocks and transactions whose keys are recovered in this process, not in a worker."""
    found: list[bytes] = []

    def counted(signature: bytes, digest: bytes, canonical: Canonical) -> bytes:
        found.append(signature)
        return recover(signature, digest, canonical)

    monkeypatch.setattr("state.protocol.transaction.recover", counted)
    return found
