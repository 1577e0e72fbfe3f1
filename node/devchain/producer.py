"""The task that makes blocks by the clock: in each slot whose witness signs with a key of this node, or at a fixed interval.

The task sleeps until the time of a slot, while the reference polls several times a second. Both make a block in the first second of its
slot, or not at all. Source: block-processing.md §4.2.
"""

import enum
import math
from functools import partial

import trio
from msgspec import Struct

from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from rpc.log import Log
from state.chain.head_change import HeadChange
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.protocol.constants import COIN_100_PERCENT, COIN_BLOCK_INTERVAL
from state.protocol.errors import ChainError
from state.tables import State

ROUNDING_MILLISECONDS = 500  # rounds a time to the nearest second, so that waking a little early doesn't miss the slot
IDLE = {"instant": "when a transaction is accepted", "manual": "when asked"}
SLOTS_COUNTED = 128  # slots over which participation is counted
SLOTS_MISSED_MAX = 2  # tolerated before trouble is reported: own slots missed in a row; slots that the head is early, or the task late

_log = Log("producer")


class SlotOutcome(enum.Enum):
    """The outcome of a slot. The values are those of the reference."""

    PRODUCED = 0
    NOT_SYNCED = 1
    NOT_TIME_YET = 3
    NO_PRIVATE_KEY = 4
    LOW_PARTICIPATION = 5
    LAG = 6
    WAIT_FOR_GENESIS = 8
    EXCEPTION = 9


# Reasons why an own slot had no block. NOT_TIME_YET isn't a fault of the producer: the slot has a block, or the head is ahead of the clock.
WORDS = {
    SlotOutcome.NOT_SYNCED: "the chain is behind the clock, and waits for blocks from elsewhere",
    SlotOutcome.NO_PRIVATE_KEY: "no witness of this round signs with a key of this node",
    SlotOutcome.LOW_PARTICIPATION: "too few of the last slots had a block",
    SlotOutcome.LAG: "the node is too busy: its slots are over before it can produce",
    SlotOutcome.EXCEPTION: "the block could not be made",
}


class ScheduledBlock(Struct, frozen=True):
    """A block to make now: its time in seconds since 1970, its witness, and the secret key of the witness."""

    when: int
    witness: str
    secret: bytes


class Producer:
    """Produces blocks in the block mode of a dev chain, for every witness whose signing key the dev chain has.

    Without `is_stale_allowed` the producer waits until the head has reached the current time, so that a node that is still catching up
    doesn't create a fork. With `is_stale_allowed`, meant for a chain without other producing nodes, it produces after a gap of any length,
    and the limit of missed blocks (UNDO_HISTORY_CHECK) is lifted.

    `outcomes` counts the slots since the start by outcome.
    """

    def __init__(self, processor: Processor, devchain: DevChain, *, is_stale_allowed: bool = False) -> None:
        self._processor, self._devchain = processor, devchain
        self._state: State = processor.chain.state
        self._secrets = devchain.secrets
        self._is_synced = is_stale_allowed
        self._skip = Skip.UNDO_HISTORY_CHECK if is_stale_allowed else Skip.NOTHING
        self._clock = devchain.clock
        self._mode_changed = trio.Event()
        self._due = 0.0  # time of the next block in a mode with seconds, by trio's clock
        self.outcome = SlotOutcome.WAIT_FOR_GENESIS
        self.outcomes = dict.fromkeys(SlotOutcome, 0)
        self._reason = ""  # of the last failure
        self._missed = 0  # own slots missed in a row
        self._missed_reason = ""
        self._last_slot_ms = self._clock.machine()
        self._is_in_trouble = False
        # Last values computed while the gate was open.
        self._reported, self._next_slot = "", 0

    async def run(self) -> None:
        """Produce until cancelled."""
        self._last_slot_ms = self._clock.machine()
        self._devchain.on_mode.append(self._begin_mode)
        self._processor.chain.on_head_change.append(self._on_head_change)
        self._begin_mode()
        while True:
            self._mode_changed = trio.Event()
            await self._processor.gate.wait_open()
            with trio.move_on_after(self.milliseconds_to_wait() / 1000):
                await self._mode_changed.wait()
                continue
            await self._processor.gate.wait_open()
            # In a mixed mode a block made meanwhile has postponed this one.
            if self._devchain.mode.is_by_slots or trio.current_time() >= self._due:
                self.record_outcome(await self.produce())

    def _begin_mode(self) -> None:
        """Restart the timer for the current mode."""
        self._missed, self._last_slot_ms = 0, self._clock.machine()
        self._due = trio.current_time() + self._devchain.mode.seconds
        self._mode_changed.set()

    def _on_head_change(self, change: HeadChange) -> None:
        """Restart the timer of a mixed mode after each block."""
        if self._devchain.mode.is_instant:
            self._due = trio.current_time() + self._devchain.mode.seconds

    def milliseconds_to_wait(self) -> float:
        """Return the time until a block is due. In slot mode it is at most the length of a slot, because the clock or the chain can
        jump.
        """
        mode = self._devchain.mode
        if not mode.is_by_slots:
            return max(0.0, self._due - trio.current_time()) * 1000 if mode.seconds else math.inf
        now = self._clock()
        slot = slot_at_time(self._state, now // 1000)
        return min(slot_time(self._state, slot + 1) * 1000 - now, COIN_BLOCK_INTERVAL * 1000)

    def record_outcome(self, outcome: SlotOutcome) -> None:
        """Count a slot by its outcome. Log a missed slot, and the beginning and the end of a problem."""
        self.outcome = outcome
        self.outcomes[outcome] += 1
        self._last_slot_ms = self._clock.machine()
        if outcome is SlotOutcome.PRODUCED:
            self._missed = 0
        elif outcome in WORDS and (outcome is not SlotOutcome.NO_PRIVATE_KEY or not self.has_slots()):
            self._missed += 1
            self._missed_reason = f"{WORDS[outcome]}: {self._reason}" if outcome is SlotOutcome.EXCEPTION else WORDS[outcome]
        if outcome is SlotOutcome.LAG:
            _log.warning("slot missed", why=WORDS[outcome], head_block_number=self._state.props.head_block_number)
        trouble = self.trouble()
        if trouble and not self._is_in_trouble:
            _log.warning("not producing", why=trouble, head_block_number=self._state.props.head_block_number)
        elif self._is_in_trouble and not trouble:
            _log.info("producing again", head_block_number=self._state.props.head_block_number)
        self._is_in_trouble = bool(trouble)

    # -------------------------------------------------------------- health

    def trouble(self) -> str:
        """Return a clause with the reason why no block is produced although one is due, or ""."""
        if not self._processor.gate.is_closed:
            self._reported = self._trouble_at_rest()
        return self._reported or self._trouble_with_time()

    def _trouble_at_rest(self) -> str:
        state = self._state
        if not self._devchain.mode.is_by_slots:
            return self._missed_reason if self._missed > SLOTS_MISSED_MAX else ""
        now = self._clock() // 1000
        ahead = self._seconds_until_slot()
        if now < state.spec.constants.COIN_GENESIS_TIME:
            return f"the chain begins in {ahead} s"
        if ahead > (SLOTS_MISSED_MAX + 1) * COIN_BLOCK_INTERVAL:
            lead = state.props.time - now
            return f"the head, a block from another node, is {lead} s ahead of the clock; blocks are produced again in {ahead} s"
        return self._missed_reason if self._missed > SLOTS_MISSED_MAX else ""

    def _trouble_with_time(self) -> str:
        idle = (self._clock.machine() - self._last_slot_ms) // 1000
        if self._devchain.mode.is_by_slots and idle > (SLOTS_MISSED_MAX + 1) * COIN_BLOCK_INTERVAL:
            return f"making a block has taken {idle} s so far"
        return ""

    def idle(self) -> str:
        """Return a clause that explains why the clock makes no blocks in the current mode, or "" if it makes blocks."""
        mode = self._devchain.mode
        return "" if mode.seconds or mode.is_by_slots else f"blocks are made only {IDLE[mode.kind]} (--blocks {mode})"

    def seconds_until_next(self) -> int | None:
        """Return the seconds until the next block is due, at least 0. Return None if the mode has no timer."""
        mode = self._devchain.mode
        if not mode.is_by_slots:
            return round(max(0.0, self._due - trio.current_time())) if mode.seconds else None
        return self._seconds_until_slot()

    def _seconds_until_slot(self) -> int:
        if not self._processor.gate.is_closed:
            self._next_slot = slot_time(self._state, 1)
        return max(0, self._next_slot - self._clock() // 1000)

    def has_slots(self) -> bool:
        """Return whether a witness of this round signs with a key that this node has."""
        schedule = self._state.schedule
        names = schedule.current_shuffled_witnesses[: schedule.num_scheduled_witnesses]
        return any(self._state.witness(name).signing_key in self._secrets for name in names if name)

    # -------------------------------------------------------------- production

    async def produce(self) -> SlotOutcome:
        """Make a block if one is due and this node has a key of the slot's witness. Return the outcome. Failures are logged."""
        devchain = self._devchain
        make = devchain.make_block
        if devchain.mode.is_by_slots and devchain.next_block_time is None:
            scheduled = self.next_block((self._clock() + ROUNDING_MILLISECONDS) // 1000)
            if isinstance(scheduled, SlotOutcome):
                return scheduled
            make = partial(devchain.chain.generate_block, scheduled.when, scheduled.witness, scheduled.secret, self._skip)
        # Blocks missed during a pause are not made later.
        self._due = max(self._due + devchain.mode.seconds, trio.current_time())
        try:
            await self._processor.make_block(make)
        except ChainError as error:
            self._reason = error.message(self._state.spec.spell)
            _log.error("a block could not be produced", reason=self._reason)
            return SlotOutcome.EXCEPTION
        except Exception as error:
            self._reason = f"an internal error ({type(error).__name__}), see the log"
            _log.exception("a block could not be produced")
            return SlotOutcome.EXCEPTION
        return SlotOutcome.PRODUCED

    def next_block(self, now: int) -> ScheduledBlock | SlotOutcome:
        """Return the block to make at `now`, in seconds since 1970, or the reason why there is none. The reasons are tested in the
        reference's order.
        """
        state = self._state
        if now < state.spec.constants.COIN_GENESIS_TIME:
            return SlotOutcome.WAIT_FOR_GENESIS
        if not self._is_synced:
            if slot_time(state, 1) < now:
                return SlotOutcome.NOT_SYNCED
            self._is_synced = True
        slot = slot_at_time(state, now)
        if slot == 0:
            return SlotOutcome.NOT_TIME_YET
        witness = scheduled_witness(state, slot)
        secret = self._secrets.get(state.witness(witness).signing_key)
        if secret is None:
            return SlotOutcome.NO_PRIVATE_KEY
        if state.props.participation_count * COIN_100_PERCENT // SLOTS_COUNTED < state.spec.required_participation:
            return SlotOutcome.LOW_PARTICIPATION
        when = slot_time(state, slot)
        if when != now:  # the reference allows 750 ms, but compares whole seconds
            return SlotOutcome.LAG
        return ScheduledBlock(when, witness, secret)
