"""A large block encoded in chunks has the same JSON as one encoded at once. Only one block is encoded at a time, and the latest encoded
blocks are cached.
"""

import json
from collections.abc import Callable

import pytest

from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.json.encoding import encoded
from rpc.records import large_blocks
from rpc.records.blocks import block_json
from rpc.records.large_blocks import LargeBlocks
from state.chain.chain import Chain
from state.chain.slots import scheduled_witness, slot_time
from state.operations.transfers import Transfer
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, Asset
from state.store.lazy.incremental import NotReady
from tests.helpers.api import INIT_SECRET
from tests.helpers.chains import UNSIGNED, add_account, chain_at, transaction


def made_block(chain: Chain, sizes: tuple[int, ...], memo: str = "") -> SignedBlock:
    """Make a block with transactions that contain these numbers of transfers."""
    for size in sizes:
        chain.push_transaction(
            transaction(chain, *(Transfer("alice", "bob", Asset(1, COIN), f"{memo}{size} {i}") for i in range(size))), UNSIGNED
        )
    state = chain.state
    return chain.generate_block(slot_time(state, 1), scheduled_witness(state, 1), INIT_SECRET, UNSIGNED)


@pytest.fixture
def chain() -> Chain:
    """A chain with two accounts."""
    chain = chain_at(number=1)
    for name in ("alice", "bob"):
        add_account(chain.state, name, balance=10**6)
    return chain


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_blocks, "CHUNK_ROWS", 3)
    monkeypatch.setattr(large_blocks, "KEPT_MAX", 2)
    monkeypatch.setattr("rpc.api.blocks.LARGE_SIZE", 0)


def slices(ask: Callable[[], object]) -> tuple[int, object]:
    """Return the number of chunks in which a block was encoded, and the result."""
    count = 0
    while True:
        try:
            return count, ask()
        except NotReady as unsettled:
            while unsettled.advance():
                count += 1


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("legacy", [False, True])
def test_a_block_encoded_in_chunks_is_the_same(chain: Chain, legacy: bool) -> None:
    wire, made = chain.state.wire, LargeBlocks(chain.state.wire)
    block = made_block(chain, (10, 1, 7))
    count, shown = slices(lambda: made.shown(block.id, lambda: block, legacy))
    assert count > 5
    assert json.loads(encoded(shown)) == block_json(wire, block, legacy)
    assert slices(lambda: made.shown(block.id, lambda: block, legacy)) == (0, shown)


@pytest.mark.usefixtures("_small")
def test_one_block_is_encoded_at_a_time_and_the_last_ones_are_cached(chain: Chain) -> None:
    made, read = LargeBlocks(chain.state.wire), list[int]()
    blocks = [made_block(chain, (9,), memo) for memo in "abc"]

    def ask(place: int) -> object:
        def look() -> SignedBlock:
            read.append(place)
            return blocks[place]

        return made.shown(blocks[place].id, look, False)

    with pytest.raises(NotReady) as first:
        ask(0)
    first.value.advance()
    # A caller that asks for another block first finishes the current one.
    slices(lambda: ask(1))
    assert read == [0, 1]
    assert not first.value.advance()
    assert slices(lambda: ask(0))[0] == 0
    slices(lambda: ask(2))
    slices(lambda: ask(1))
    assert read == [0, 1, 2, 1]


@pytest.mark.usefixtures("_small")
def test_an_unreadable_block_does_not_prevent_others(chain: Chain) -> None:
    made, block = LargeBlocks(chain.state.wire), made_block(chain, (9,))

    def fail() -> SignedBlock:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        slices(lambda: made.shown(b"another", fail, False))
    assert slices(lambda: made.shown(block.id, lambda: block, False))[0] > 0


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("method", ["block_api.get_block", "condenser_api.get_block"])
async def test_the_methods_return_the_same_in_chunks(chain: Chain, method: str) -> None:
    service = new_service(chain, Processor(chain), DevChain(chain, ChainClock()), ())
    for _ in range(25):
        made_block(chain, (4, 2))
    head = chain.state.props.head_block_number
    assert 2 < chain.irreversible < head
    for number in (chain.irreversible, head, head + 1):
        params = {"block_num": number} if method.startswith("block_api") else [number]
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        reply = await service.answer_in_turn(body)
        assert json.loads(reply if isinstance(reply, bytes) else await reply) == json.loads(service.answer(body))  # type: ignore[arg-type]
