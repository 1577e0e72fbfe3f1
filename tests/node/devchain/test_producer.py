"""The schedule of the producer under trio's mock clock: when it wakes, what it produces, and the reasons why it produces nothing."""

from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from node.devchain.devchain import DevChain
from node.devchain.producer import SLOTS_MISSED_MAX, Producer, ScheduledBlock, SlotOutcome
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import Skip
from state.protocol.errors import Refused
from state.protocol.keys.keys import secret_from_seed
from state.protocol.spec import ChainSpec
from tests.helpers.golden import same_as_golden
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import DEV, SECRET, START, make_block, transfer, trio_clock


class Yard:
    """A chain with its processor and its producer, on trio's mock clock. That clock advances only when no task can run."""

    def __init__(self, clock: MockClock, spec: ChainSpec = DEV, *, stale: bool = True, secret: bytes = SECRET) -> None:
        assert clock.autojump_threshold == 0
        self.chain = Chain(new_state(spec))
        self.clock = ChainClock(trio_clock)
        self.processor = Processor(self.chain, clock=self.clock)
        self.devchain = DevChain(self.chain, self.clock, [secret])
        self.producer = Producer(self.processor, self.devchain, is_stale_allowed=stale)
        self.made: list[tuple[float, int]] = []
        self.chain.on_head_change.append(
            lambda move: self.made.extend((trio.current_time(), block.timestamp - START) for block in move.applied)
        )

    def start(self, nursery: trio.Nursery) -> None:
        """Start the processor and the producer."""
        nursery.start_soon(self.processor.run)
        nursery.start_soon(self.producer.run)


async def test_a_block_is_produced_in_every_slot(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    await trio.sleep(1.3)
    yard = Yard(autojump_clock)
    yard.start(nursery)
    await trio.sleep(13)
    assert [when for _, when in yard.made] == [3, 6, 9, 12]
    assert all(0 <= at - when < 0.002 for at, when in yard.made)
    assert yard.producer.outcome is SlotOutcome.PRODUCED
    assert yard.chain.state.props.head_block_number == 4


async def test_the_producer_sleeps_between_slots(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    asked: list[float] = []
    produce = yard.producer.produce

    async def counted() -> SlotOutcome:
        asked.append(trio.current_time())
        return await produce()

    monkeypatch.setattr(yard.producer, "produce", counted)
    yard.start(nursery)
    await trio.sleep(300)
    assert 99 <= len(asked) <= 101
    assert len(yard.made) >= 99


async def test_pending_transactions_are_in_the_next_block(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    yard.start(nursery)
    await trio.sleep(4)
    inclusion = await yard.processor.wait_for(transfer(yard.chain))
    assert (inclusion.block_num, inclusion.trx_num, inclusion.expired) == (2, 0, False)
    assert trio.current_time() == pytest.approx(6, abs=0.002)


async def test_a_chain_ahead_of_the_clock_waits(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    make_block(yard.chain, (START + 60 - DEV.constants.COIN_GENESIS_TIME) // 3)
    ahead = yard.made.pop()[1]
    assert ahead > 60
    yard.start(nursery)
    await trio.sleep(10)
    assert yard.producer.outcome is SlotOutcome.NOT_TIME_YET
    assert yard.made == []
    await trio.sleep(ahead)
    assert yard.made[0][1] == ahead + 3


async def test_a_late_start_misses_slots(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    with trio.move_on_after(7):
        async with trio.open_nursery() as first:
            yard.start(first)
    await trio.sleep(60)
    nursery.start_soon(yard.processor.run)
    nursery.start_soon(yard.producer.run)
    await trio.sleep(4)
    assert [when for _, when in yard.made] == [3, 6, 69]


async def test_slot_outcomes_are_those_of_the_reference(autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    turn = yard.producer.next_block
    assert turn(DEV.constants.COIN_GENESIS_TIME - 1) is SlotOutcome.WAIT_FOR_GENESIS
    assert turn(START) == ScheduledBlock(START, "initminer", SECRET)
    assert turn(START + 1) is SlotOutcome.LAG
    assert turn(START + 2) is SlotOutcome.LAG
    make_block(yard.chain, (START - DEV.constants.COIN_GENESIS_TIME) // 3 - 1)
    assert turn(START) is SlotOutcome.NOT_TIME_YET
    assert turn(START + 2) is SlotOutcome.NOT_TIME_YET
    assert turn(START + 3) == ScheduledBlock(START + 3, "initminer", SECRET)


async def test_the_clock_is_rounded_to_the_nearest_second(autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    made = []
    for milliseconds in (-501, -500, 0, 499, 500):
        now = (START + 3) * 1000 + milliseconds
        devchain = DevChain(yard.chain, ChainClock(lambda now=now: now), [SECRET])  # type: ignore[misc]
        producer = Producer(yard.processor, devchain, is_stale_allowed=True)
        made.append(producer.next_block((now + 500) // 1000))
    due = ScheduledBlock(START + 3, "initminer", SECRET)
    assert made == [SlotOutcome.LAG, due, due, due, SlotOutcome.LAG]


async def test_a_stale_chain_gets_no_blocks_unless_allowed(autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock, stale=False)
    assert yard.producer.next_block(START) is SlotOutcome.NOT_SYNCED
    make_block(yard.chain, (START - DEV.constants.COIN_GENESIS_TIME) // 3 - 1)
    assert yard.producer.next_block(START + 3) == ScheduledBlock(START + 3, "initminer", SECRET)
    # After the head has reached the current time once, gaps are allowed.
    assert yard.producer.next_block(START + 30) == ScheduledBlock(START + 30, "initminer", SECRET)


async def test_without_the_witness_key_no_block_is_produced(autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock, secret=secret_from_seed("somebody else"))
    assert yard.producer.next_block(START) is SlotOutcome.NO_PRIVATE_KEY


async def test_low_participation_stops_production(autojump_clock: MockClock) -> None:
    spec = msgspec.structs.replace(DEV, required_participation=3300)
    yard = Yard(autojump_clock, spec)
    assert yard.producer.next_block(START) == ScheduledBlock(START, "initminer", SECRET)
    yard.chain.state.set_props(participation_count=42)
    assert yard.producer.next_block(START) is SlotOutcome.LOW_PARTICIPATION
    yard.chain.state.set_props(participation_count=43)
    assert yard.producer.next_block(START) == ScheduledBlock(START, "initminer", SECRET)


async def test_production_continues_after_a_failure(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    yard = Yard(autojump_clock)

    def bug(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(yard.chain, "generate_block", bug)
        yard.start(nursery)
        await trio.sleep(4)
        outcomes = [yard.producer.outcome]
    await trio.sleep(3)
    assert [*outcomes, yard.producer.outcome] == [SlotOutcome.EXCEPTION, SlotOutcome.PRODUCED]


async def test_a_stale_chain_needs_no_undo_history(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    yard = Yard(autojump_clock)
    skips: list[int] = []
    generate = yard.chain.generate_block

    def recorded(when: int, witness: str, secret: bytes, skip: int = 0) -> object:
        skips.append(skip)
        return generate(when, witness, secret, skip)

    monkeypatch.setattr(yard.chain, "generate_block", recorded)
    yard.start(nursery)
    await trio.sleep(4)
    assert skips == [Skip.UNDO_HISTORY_CHECK]


# ------------------------------------------------------------------ what others see of it


def events(lines: list[Any], *names: str) -> list[Any]:
    """Return the log lines of these events."""
    return [line for line in lines if line["event"] in names]


async def test_a_time_jump_is_reported_at_once_and_logged_once(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    producer = yard.producer
    with capture_logs() as lines:
        yard.start(nursery)
        await trio.sleep(4)
        assert producer.trouble() == ""
        make_block(yard.chain, 20)
        same_as_golden(producer.trouble())
        assert producer.seconds_until_next() == 65
        await trio.sleep(56)
        await trio.sleep(13)
        assert producer.trouble() == ""
    assert [line["event"] for line in events(lines, "not producing", "producing again")] == ["not producing", "producing again"]
    same_as_golden(events(lines, "not producing")[0]["why"])
    assert [(line["log_level"], line["head_block_number"]) for line in events(lines, "not producing")] == [("warning", 2)]
    assert [when for _, when in yard.made[-2:]] == [69, 72]


async def test_before_genesis_the_trouble_names_the_start_time(autojump_clock: MockClock) -> None:
    genesis = DEV.constants.COIN_GENESIS_TIME
    yard = Yard(autojump_clock)
    producer = Producer(yard.processor, DevChain(yard.chain, ChainClock(lambda: (genesis - 60) * 1000), [SECRET]), is_stale_allowed=True)
    same_as_golden(producer.trouble())


async def test_three_consecutive_failures_are_reported(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    yard = Yard(autojump_clock)

    def refuse(*_: object) -> None:
        raise Refused("no blocks today")

    seen = []
    with monkeypatch.context() as patched, capture_logs() as lines:
        patched.setattr(yard.chain, "generate_block", refuse)
        yard.start(nursery)
        for _ in range(3):
            await trio.sleep(3.1)
            seen.append(yard.producer.trouble())
    assert seen == ["", "", "the block could not be made: Assert Exception:no blocks today"]
    assert len(events(lines, "not producing")) == 1
    await trio.sleep(3)
    assert yard.producer.trouble() == ""
    assert yard.producer.outcomes[SlotOutcome.EXCEPTION] == 3
    assert yard.producer.outcomes[SlotOutcome.PRODUCED] == 1


@pytest.mark.parametrize(
    "outcome",
    [
        SlotOutcome.LAG,
        SlotOutcome.LOW_PARTICIPATION,
        SlotOutcome.NOT_SYNCED,
    ],
)
async def test_each_reason_has_a_message(autojump_clock: MockClock, outcome: SlotOutcome) -> None:
    producer = Yard(autojump_clock).producer
    with capture_logs() as lines:
        for _ in range(SLOTS_MISSED_MAX + 1):
            assert producer.trouble() == ""
            producer.record_outcome(outcome)
    same_as_golden(producer.trouble())
    assert len(events(lines, "not producing")) == 1
    assert len(events(lines, "slot missed")) == (SLOTS_MISSED_MAX + 1 if outcome is SlotOutcome.LAG else 0)
    producer.record_outcome(SlotOutcome.PRODUCED)
    assert producer.trouble() == ""


async def test_slots_of_other_witnesses_are_not_reported(autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    for _ in range(10):
        yard.producer.record_outcome(SlotOutcome.NO_PRIVATE_KEY)
        yard.producer.record_outcome(SlotOutcome.NOT_TIME_YET)
    assert yard.producer.has_slots()
    assert yard.producer.trouble() == ""
    stranger = Yard(autojump_clock, secret=secret_from_seed("somebody else")).producer
    for _ in range(SLOTS_MISSED_MAX + 1):
        stranger.record_outcome(SlotOutcome.NO_PRIVATE_KEY)
    same_as_golden(stranger.trouble())


async def test_a_block_that_takes_too_long_is_reported(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    yard = Yard(autojump_clock)
    nursery.start_soon(yard.producer.run)  # the processor doesn't run, so the jobs of the producer stay queued
    await trio.sleep(9)
    assert yard.producer.trouble() == ""
    await trio.sleep(1)
    same_as_golden(yard.producer.trouble())
