"""jsonrpc and rpc: the methods of a node. What the document holds is for tests/rpc/service/describe."""

import pytest

from rpc.api.jsonrpc import Document
from rpc.service.describe.openrpc import document
from rpc.service.method import METHODS
from state.store.slices import Reads, Unsettled
from tests.helpers.fakes import fake_wire

NAMES = tuple(sorted(METHODS))[:25]


def test_the_document_is_made_in_slices_where_others_wait() -> None:
    wire, reads = fake_wire(), Reads()
    made = Document(NAMES, wire)
    slices = 0
    with pytest.raises(Unsettled) as caught:
        reads.attempt(made.read, reads)
    while caught.value.advance():
        slices += 1
    assert slices > 1
    found = reads.attempt(made.read, reads)
    assert found == document([METHODS[name] for name in NAMES], wire)
    # Without anybody who waits it is made at once.
    assert Document(NAMES, wire).read(reads) == found


def test_readers_that_wait_for_the_document_together_all_get_it() -> None:
    wire, reads = fake_wire(), Reads()
    made = Document(NAMES, wire)
    waiting = []
    for _ in range(2):
        with pytest.raises(Unsettled) as caught:
            reads.attempt(made.read, reads)
        waiting.append(caught.value)
    while waiting[0].advance():
        assert waiting[1].advance()
    assert not waiting[1].advance()
    assert reads.attempt(made.read, reads) == document([METHODS[name] for name in NAMES], wire)
