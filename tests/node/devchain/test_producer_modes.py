"""The producer in block modes that don't follow slots, and after time jumps."""

import pytest
import trio
from trio.testing import MockClock

from node.devchain.producer import SlotOutcome
from rpc.declare.errors import PushFailed
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.errors import Refused, TransactionExpired
from state.protocol.transaction import SignedTransaction
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import START, make_block, transfer
from tests.node.devchain.test_producer import Yard


class Driven(Yard):
    """A chain that already has its first blocks, whose processor makes a block after each transaction if the mode is instant."""

    def __init__(self, clock: MockClock, mode: str, nursery: trio.Nursery | None = None) -> None:
        super().__init__(clock)
        self.processor.before_accepting.append(self.devchain.require_lasting)
        self.processor.on_accepted.append(self.devchain.automine)
        self.devchain.make_first_blocks()
        self.devchain.set_block_mode(mode)
        self.made.clear()
        if nursery is not None:
            self.start(nursery)


async def test_short_intervals_run_ahead_of_the_clock(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "interval:0.5", nursery)
    await trio.sleep(2.1)
    assert [round(at, 2) for at, _ in yard.made] == [0.5, 1.0, 1.5, 2.0]
    assert [when for _, when in yard.made] == [3, 6, 9, 12]


async def test_long_intervals_miss_slots(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "interval:10", nursery)
    await trio.sleep(31)
    assert [when for _, when in yard.made] == [9, 18, 30]


async def test_manual_mode_produces_no_blocks(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "manual", nursery)
    await trio.sleep(3600)
    assert yard.made == []
    assert yard.producer.trouble() == ""
    same_as_golden(yard.producer.idle())
    assert yard.producer.seconds_until_next() is None
    yard.devchain.set_block_mode("interval")
    await trio.sleep(4)
    assert [when for _, when in yard.made] == [3603]
    assert yard.producer.outcome is SlotOutcome.PRODUCED


async def test_instant_mode_produces_a_block_per_transaction(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "instant", nursery)
    await trio.sleep(100)
    trx = transfer(yard.chain)
    await yard.processor.push_transaction(trx)
    head = yard.chain.head
    assert head is not None
    assert [each.id for each in head.transactions] == [trx.id]
    # The block is earlier than the chain's time: an accepted transaction must not expire only because no block was made.
    assert head.timestamp == START + 60
    inclusion = await yard.processor.wait_for(transfer(yard.chain, "again"))
    assert inclusion.block_num == 27
    with pytest.raises(PushFailed):
        await yard.processor.push_transaction(trx)
    assert yard.chain.state.props.head_block_number == 27


@pytest.mark.parametrize("mode", ["instant", "mixed:60"])
async def test_a_transaction_that_expires_before_the_next_block_is_refused(
    nursery: trio.Nursery, autojump_clock: MockClock, mode: str
) -> None:
    yard = Driven(autojump_clock, mode, nursery)
    await yard.processor.push_transaction(transfer(yard.chain))
    head, seconds = yard.chain.head, COIN_BLOCK_INTERVAL
    with pytest.raises(PushFailed) as refused:
        await yard.processor.push_transaction(transfer(yard.chain, "late", seconds - 1))
    assert isinstance(refused.value.error, TransactionExpired)
    assert (yard.chain.head, list(yard.chain.pending)) == (head, [])
    await yard.processor.push_transaction(transfer(yard.chain, "in time", seconds))
    assert not yard.chain.pending
    yard.devchain.set_block_mode("manual")
    await yard.processor.push_transaction(transfer(yard.chain, "late", seconds - 1))


async def test_mixed_mode_produces_on_transactions_and_intervals(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "mixed:5", nursery)
    await trio.sleep(3)
    await yard.processor.push_transaction(transfer(yard.chain))
    await trio.sleep(8)
    assert [round(at, 2) for at, _ in yard.made] == [3, 8]


async def test_a_failed_instant_block_leaves_the_transaction_pending(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "instant")
    yard.devchain.secrets.clear()
    yard.start(nursery)
    await yard.processor.push_transaction(transfer(yard.chain))
    assert (len(yard.chain.pending), yard.made) == (1, [])


async def test_production_continues_after_a_time_jump(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "interval", nursery)
    await trio.sleep(4)
    await yard.processor.run_steps(yard.devchain.advance(86_400))
    await trio.sleep(6)
    assert [when for _, when in yard.made] == [3, 86_403, 86_406, 86_409]
    assert yard.producer.trouble() == ""


async def test_the_next_block_time_also_moves_the_clock(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Driven(autojump_clock, "interval", nursery)
    await trio.sleep(1)
    yard.devchain.set_next_block_time(START + 1000)
    await trio.sleep(6)
    assert [when for _, when in yard.made] == [1002, 1005]


async def test_a_transaction_that_would_expire_by_the_next_block_time_gets_an_earlier_block(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    yard = Driven(autojump_clock, "instant", nursery)
    yard.devchain.set_next_block_time(START + 90_000)
    trx = transfer(yard.chain)
    await yard.processor.push_transaction(trx)
    head = yard.chain.head
    assert head is not None
    before = yard.chain.block_by_number(head.number - 1)
    assert before is not None
    assert [one.id for one in before.transactions] == [trx.id]
    assert before.timestamp <= trx.expiration < head.timestamp == START + 90_000


async def test_a_pushed_block_does_not_move_the_clock(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard, other = Driven(autojump_clock, "manual"), Driven(autojump_clock, "manual")
    yard.start(nursery)
    before = yard.devchain.time
    await yard.processor.push_block(make_block(other.chain))
    assert yard.chain.state.head_time == before + 3
    assert yard.devchain.time == before


async def waited(yard: Yard, trx: SignedTransaction) -> str:
    """Push a transaction, and wait for the block that includes it. Return the reason why the call is refused."""
    try:
        await yard.processor.wait_for(trx)
    except Refused as error:
        return error.message()
    return ""


@pytest.mark.parametrize("how", ["revert", "reset", "drop"])
async def test_waiting_for_a_dropped_transaction_is_refused(nursery: trio.Nursery, autojump_clock: MockClock, how: str) -> None:
    yard = Driven(autojump_clock, "manual", nursery)
    number = yard.devchain.snapshot()
    errors: list[str] = []

    async def wait() -> None:
        errors.append(await waited(yard, transfer(yard.chain)))

    nursery.start_soon(wait)
    await trio.sleep(1)
    assert yard.processor.waiting == 1
    work = {
        "revert": lambda: yard.devchain.revert(number),
        "reset": yard.devchain.reset,
        "drop": lambda: yard.devchain.drop_pending() and None,
    }[how]
    await yard.processor.in_turn(work)
    await trio.sleep(0)
    assert yard.processor.waiting == 0
    await trio.sleep(1)
    assert "the transaction was dropped" in errors[0]
