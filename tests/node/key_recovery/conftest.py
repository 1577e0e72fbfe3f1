"""Fixtures for key recovery."""

import pytest

from state.protocol.keys.signatures import Canonical, recover


@pytest.fixture
def plain_recoveries(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The signatures whose keys this process recovers for blocks and transactions."""
    found: list[bytes] = []

    def counted(signature: bytes, digest: bytes, canonical: Canonical) -> bytes:
        found.append(signature)
        return recover(signature, digest, canonical)

    monkeypatch.setattr("state.protocol.transaction.recover", counted)
    return found
