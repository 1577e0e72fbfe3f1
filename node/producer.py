"""Produces a block in each slot of a witness whose key the node has. It must not know what is in a block.

It wakes at the times of slots, where the reference looks several times a second: both produce in the second of the slot, or not
at all. Source: block-processing.md §4.2.
"""

import enum
from collections.abc import Iterable

import structlog
import trio
from msgspec import Struct

from node.clock import Clock, system_clock
from node.processor import Processor
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.protocol.constants import COIN_100_PERCENT, COIN_BLOCK_INTERVAL
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key
from state.tables import State

ROUNDING_MILLISECONDS = 500  # a time is rounded to the nearest second, so that waking a little early doesn't miss the slot
SLOTS_COUNTED = 128  # slots that participation is counted over

_log = structlog.get_logger("producer")


class Outcome(enum.Enum):
    """The outcome of a slot; the numbers are the reference's."""

    PRODUCED = 0
    NOT_SYNCED = 1
    NOT_TIME_YET = 3
    NO_PRIVATE_KEY = 4
    LOW_PARTICIPATION = 5
    LAG = 6
    WAIT_FOR_GENESIS = 8
    EXCEPTION = 9


class Turn(Struct, frozen=True):
    """A block that is to be made now."""

    when: int
    witness: str
    secret: bytes


class Producer:
    """Produces with these secret keys, for every witness whose signing key is among them.

    Without `is_stale_allowed` it waits until the chain has reached the present, so that a node which is catching up doesn't make a
    fork. A chain of one's own has nobody to catch up with: its node goes on after any gap, for which the limit of missed blocks
    (UNDO_HISTORY_CHECK) is lifted too.
    """

    def __init__(
        self, processor: Processor, secrets: Iterable[bytes], *, is_stale_allowed: bool = False, clock: Clock = system_clock
    ) -> None:
        self._processor = processor
        self._state: State = processor.chain.state
        self._secrets = {public_key(secret): secret for secret in secrets}
        self._is_synced = is_stale_allowed
        self._skip = Skip.UNDO_HISTORY_CHECK if is_stale_allowed else Skip.NOTHING
        self._clock = clock
        self.outcome = Outcome.WAIT_FOR_GENESIS

    async def run(self) -> None:
        """Produce until cancelled."""
        while True:
            await trio.sleep(self.milliseconds_to_wait() / 1000)
            outcome = await self.produce()
            if outcome is not self.outcome:
                _log.info("producing" if outcome is Outcome.PRODUCED else "not producing", outcome=outcome.name.lower())
            self.outcome = outcome

    def milliseconds_to_wait(self) -> int:
        """Return the time until the next slot begins; never longer than a slot, in case the clock or the chain jumps."""
        now = self._clock()
        slot = slot_at_time(self._state, now // 1000)
        return min(slot_time(self._state, slot + 1) * 1000 - now, COIN_BLOCK_INTERVAL * 1000)

    async def produce(self) -> Outcome:
        """Make a block if it is time for one and the slot is ours; returns the outcome, and logs failures."""
        turn = self.turn((self._clock() + ROUNDING_MILLISECONDS) // 1000)
        if isinstance(turn, Outcome):
            return turn
        try:
            block = await self._processor.generate_block(turn.when, turn.witness, turn.secret, self._skip)
        except ChainError as error:
            _log.error("a block could not be produced", reason=error.message(self._state.spec.spell))
            return Outcome.EXCEPTION
        except Exception:
            _log.exception("a block could not be produced")
            return Outcome.EXCEPTION
        log = _log.info if block.transactions else _log.debug
        log("block", number=block.number, witness=block.witness, transactions=len(block.transactions))
        return Outcome.PRODUCED

    def turn(self, now: int) -> Turn | Outcome:
        """Return the block that is to be made at a whole second, or the reason why there is none, tested in the reference's order."""
        state = self._state
        if now < state.spec.constants.COIN_GENESIS_TIME:
            return Outcome.WAIT_FOR_GENESIS
        if not self._is_synced:
            if slot_time(state, 1) < now:
                return Outcome.NOT_SYNCED
            self._is_synced = True
        slot = slot_at_time(state, now)
        if slot == 0:
            return Outcome.NOT_TIME_YET
        witness = scheduled_witness(state, slot)
        secret = self._secrets.get(state.witness(witness).signing_key)
        if secret is None:
            return Outcome.NO_PRIVATE_KEY
        if state.props.participation_count * COIN_100_PERCENT // SLOTS_COUNTED < state.spec.required_participation:
            return Outcome.LOW_PARTICIPATION
        when = slot_time(state, slot)
        if when != now:  # the reference allows 750 ms, but compares whole seconds
            return Outcome.LAG
        return Turn(when, witness, secret)
