"""The method groups jsonrpc and rpc, which list the methods of a node. tests/rpc/describe tests the content of the OpenRPC document."""

import pytest

from rpc.api.jsonrpc import Document
from rpc.declare.method import METHODS
from rpc.describe.openrpc import document
from state.store.lazy.incremental import NotReady, ReadMode
from tests.helpers.fakes import fake_wire

NAMES = tuple(sorted(METHODS))[:25]


def test_the_document_is_built_in_chunks_for_incremental_reads() -> None:
    wire, read_mode = fake_wire(), ReadMode()
    made = Document(NAMES, wire)
    slices = 0
    with pytest.raises(NotReady) as caught:
        read_mode.try_read(made.read, read_mode)
    while caught.value.advance():
        slices += 1
    assert slices > 1
    found = read_mode.try_read(made.read, read_mode)
    assert found == document([METHODS[name] for name in NAMES], wire)
    # If no client is waiting, it is built at once.
    assert Document(NAMES, wire).read(read_mode) == found


def test_concurrent_readers_share_the_document() -> None:
    wire, read_mode = fake_wire(), ReadMode()
    made = Document(NAMES, wire)
    waiting = []
    for _ in range(2):
        with pytest.raises(NotReady) as caught:
            read_mode.try_read(made.read, read_mode)
        waiting.append(caught.value)
    while waiting[0].advance():
        assert waiting[1].advance()
    assert not waiting[1].advance()
    assert read_mode.try_read(made.read, read_mode) == document([METHODS[name] for name in NAMES], wire)
