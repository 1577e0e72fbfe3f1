"""The order in which the processor's queued jobs are run."""

import trio
import trio.testing

from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.caller import Caller
from state.protocol.transaction import SignedBlock
from tests.helpers.nodes import dev_chain, make_block, transfer


async def test_clients_take_turns_and_a_block_comes_first(nursery: trio.Nursery) -> None:
    chain = dev_chain()
    make_block(chain)
    processor = Processor(chain, clock=ChainClock(lambda: 2**41))
    made = [transfer(chain, str(i)) for i in range(20)]
    # The transactions that were pending before the block was made.
    before: list[bytes] = []

    def make() -> SignedBlock:
        before.extend(trx.id for trx in chain.pending)
        return make_block(chain)

    async with trio.open_nursery() as pushing:
        for place, trx in enumerate(made):
            address = "192.0.2.1" if place < 18 else "192.0.2.2"
            pushing.start_soon(processor.push_transaction, trx, Caller(address, "a test"))
            await trio.testing.wait_all_tasks_blocked()
        pushing.start_soon(processor.make_block, make)
        await trio.testing.wait_all_tasks_blocked()
        assert processor.queue_length == 21
        nursery.start_soon(processor.run)
    assert before == []
    turns = [made[0], made[18], made[1], made[19], *made[2:18]]
    assert [trx.id for trx in chain.pending] == [trx.id for trx in turns]
    assert processor.queue_length == 0
