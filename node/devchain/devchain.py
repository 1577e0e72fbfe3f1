"""Drives a chain that is made for tests: makes its blocks when asked, sets its time, returns to its earlier moments, changes it by hand.

It is synchronous, and knows no task.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from node.devchain.block_modes import BlockMode, Leap, block_mode
from node.devchain.bootstrap import blocks_to_start
from node.devchain.savepoints import DevSavepoint, DevSettings, SavepointStore, read_settings
from node.runtime.clock import ChainClock
from node.runtime.errors import NodeError
from node.snapshots.dumps import dump, load
from node.storage.disk import Disk, SystemDisk
from node.storage.edit_log import EditLog
from node.version import VERSION
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.debug import GENERATED_TIME_MAX, require_bounded
from state.chain.savepoints import Savepoint
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.errors import ChainError, Refused, TransactionExpired, require
from state.protocol.keys.keys import public_key
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.values.text import time_text
from state.store.rows import run_steps

SYSTEM = SystemDisk()
TIME_JUMPS = ("missed", "produced")
# Of a leap whose slots are produced: more than sixty days. So many take half an hour.
TIME_JUMP_BLOCKS_MAX = 2_000_000

_log = Log("driver")


class DevChain:
    """Makes blocks of a chain with the secret keys of witnesses, and holds the mode and the clock by which they are made.

    `is_producing` is whether the node makes blocks by itself: otherwise the mode stays `manual`. `on_mode` is called after each change of
    the mode. The clock goes along with its blocks. It must be made while the chain is at its genesis, to which `reset` returns. `edit_log`
    is where the node writes edits by hand, if it keeps its chain in a folder.
    """

    def __init__(
        self,
        chain: Chain,
        clock: ChainClock,
        secrets: Iterable[bytes] = (),
        *,
        mode: BlockMode | None = None,
        leap: Leap = "missed",
        is_producing: bool = True,
        disk: Disk = SYSTEM,
    ) -> None:
        self.chain, self.clock = chain, clock
        self.secrets = {public_key(secret): secret for secret in secrets}
        self.is_producing = is_producing
        self.mode = (mode or BlockMode()) if is_producing else BlockMode("manual")
        self.leap: str = leap
        self.next_block_time: int | None = None  # of the next block, in seconds since 1970, when that was set by hand
        self.on_mode: list[Callable[[], None]] = []
        # Called before the chain is put to another moment, be it an earlier one or that of a dump.
        self.on_returned: list[Callable[[], None]] = []
        self.version = VERSION
        self.disk = disk
        self.edit_log: EditLog | None = None
        self.savepoints = SavepointStore()
        self._mode_at_start = self.mode
        self._genesis = chain.savepoint() if chain.state.spec.is_test else None

    # -------------------------------------------------------------- what is shown

    @property
    def time(self) -> int:
        """The time of the chain, in seconds since 1970."""
        return self.clock() // 1000

    @property
    def seconds_ahead(self) -> int:
        """How far the chain's time runs ahead of the machine's; negative when it is behind."""
        self.clock()
        return self.clock.ahead_ms // 1000

    @property
    def block_mode(self) -> str:
        """When blocks are made, as text."""
        return str(self.mode)

    @property
    def snapshots(self) -> list[int]:
        """The ids of the moments that are kept, the oldest first."""
        return self.savepoints.ids

    # -------------------------------------------------------------- making blocks

    def make_block(self) -> SignedBlock:
        """Make a block of the pending transactions: at the time that was set for it, or else in the slot of the chain's time or in the next
        one, whichever is later. Raises ChainError.

        What has been accepted must not get lost because nobody made a block for a while: then the block is given an earlier slot, in
        which no pending transaction has expired. Where one would have expired by the time that was set, a block of what waits goes first.
        """
        first, wanted = slot_time(self.chain.state, 1), self.next_block_time
        lasting = [trx.expiration for trx in self.chain.pending if trx.expiration >= first]
        if wanted is None:
            return self._make(min([self.time, *lasting]))
        if lasting and min(lasting) < wanted:
            self._make(min([self.time, *lasting]))
        return self._make(wanted)

    def mine(self, count: int) -> Iterator[None]:
        """Make blocks, one a step."""
        require_bounded(count)
        for _ in range(count):
            self.make_block()
            yield

    def require_lasting(self, trx: SignedTransaction) -> None:
        """Refuse a transaction that would have expired in the block that the mode promises whoever sends it."""
        first, head_time = slot_time(self.chain.state, 1), self.chain.state.head_time
        if self.mode.is_instant and head_time < trx.expiration < first:
            text = "the transaction expires at ${expiration}, before the next block, which is of ${next}"
            values = {"now": head_time, "expiration": time_text(trx.expiration), "next": time_text(first)}
            raise TransactionExpired(text, condition="next_block_time <= trx.expiration", **values)

    def automine(self) -> None:
        """Make a block of a transaction that was accepted, if the mode says so. It stays pending when that fails, as the log says."""
        if self.mode.is_instant:
            try:
                self.make_block()
            except ChainError as error:
                _log.warning("no block could be made at once", reason=error.message(self.chain.state.spec.spell))

    def make_first_blocks(self) -> None:
        """Make the blocks with which a fresh chain of a producing node is usable, if it has none yet. Raises ChainError."""
        if self.is_producing and not self.chain.state.props.head_block_number:
            for when in blocks_to_start(self.chain.state, self.time):
                self._make(when)

    def _make(self, time: int) -> SignedBlock:
        """Make a block in the slot of a time, or in the next one whose witness signs with a key of ours. Raises ChainError."""
        state = self.chain.state
        begun = max(1, slot_at_time(state, time))
        for slot in range(begun, begun + state.schedule.num_scheduled_witnesses):
            witness = scheduled_witness(state, slot)
            secret = self.secrets.get(state.witness(witness).signing_key)
            if secret is not None:
                break
        else:
            raise Refused("no witness of this round signs with a key of this node", condition="witness.signing_key in keys")
        when = slot_time(state, slot)
        require_in_time(when)
        block = self.chain.generate_block(when, witness, secret, Skip.UNDO_HISTORY_CHECK)
        self.clock.advance_to(when * 1000)
        self.next_block_time = None
        return block

    # -------------------------------------------------------------- modes and time

    def set_block_mode(self, text: str) -> None:
        """Make blocks in another way from now on. Raises Refused."""
        try:
            mode = block_mode(text)
        except NodeError as error:
            raise Refused("${error}", condition="block_mode", error=str(error)) from None
        stays = self.is_producing or mode.kind == "manual"
        require(stays, "the node was started with --no-produce, and makes blocks only when asked", condition="is_producing")
        self._set_mode(mode)

    def set_next_block_time(self, time: int) -> int:
        """Set the time of the next block, rounded up to a slot; returns it. Raises Refused for one before the next slot."""
        state = self.chain.state
        rounded = -(-time // COIN_BLOCK_INTERVAL) * COIN_BLOCK_INTERVAL
        first = slot_time(state, 1)
        text = "time ${time} is before the next slot, ${first}"
        require(rounded >= first, text, condition="time >= next_slot", time=time_text(time), first=time_text(first))
        require_in_time(rounded)
        self.next_block_time = rounded
        return rounded

    def advance(self, seconds: int, leap: str = "") -> Iterator[None]:
        """Let the chain's time leap, and make a block there; one block a step.

        `missed`: the slots in between have no block, but for one that takes what waits. `produced`: each has one.
        """
        leap = leap or self.leap
        require(leap in TIME_JUMPS, "${leap} is no leap; expected missed or produced", condition="leap", leap=leap)
        target_ms = self.clock() + seconds * 1000
        require_in_time(target_ms // 1000)
        if leap == "missed":
            if self.chain.pending:
                self.make_block()
                yield
            self.clock.advance_to(target_ms)
            self._make(target_ms // 1000)
            yield
            return
        slots = slot_at_time(self.chain.state, target_ms // 1000)
        text = "a leap of ${slots} produced blocks is too long, at most ${max} are made at once"
        require(slots <= TIME_JUMP_BLOCKS_MAX, text, condition="slots <= max", slots=slots, max=TIME_JUMP_BLOCKS_MAX)
        self._make(0)
        yield
        while slot_time(self.chain.state, 1) * 1000 <= target_ms:
            self._make(0)
            yield
        self.clock.advance_to(target_ms)

    def drop_pending(self) -> int:
        """Forget all transactions that wait for a block; returns how many there were."""
        count = len(self.chain.pending)
        self.chain.clear_pending()
        return count

    # -------------------------------------------------------------- earlier moments

    def snapshot(self) -> int:
        """Keep this moment, and return its id. Raises Refused."""
        return run_steps(self.snapshot_in_steps())

    def snapshot_in_steps(self) -> Generator[None, None, int]:
        """Keep this moment, and return its id, after steps between which the chain isn't moved. Raises Refused."""
        self.savepoints.require_room()
        settled, size = self._settings(), 0 if self.edit_log is None else self.edit_log.size
        savepoint = yield from self.chain.savepoint_in_steps()
        return self.savepoints.add(DevSavepoint(savepoint, settled, size))

    def revert(self, moment_id: int) -> None:
        """Return to the moment of an id, which stays; later ones are dropped. Raises Refused.

        The clock runs as far ahead as it did then, and what is set by hand is as it was.
        """
        savepoint = self.savepoints.find(moment_id)
        self._return_to(savepoint.savepoint, savepoint.edits_size)
        self.savepoints.drop_after(moment_id)
        self.apply_settings(savepoint.settings, self.clock.behind_ms)

    def reset(self) -> None:
        """Begin anew as at the start of the node, with a fresh chain. Raises Refused."""
        assert self._genesis is not None, "only chains made for tests are reset"
        self._return_to(self._genesis, 0)
        self.savepoints.drop_all()
        self.clock.start()
        self.next_block_time = None
        self.chain.impersonate()
        self._set_mode(self._mode_at_start)
        self.make_first_blocks()

    def _return_to(self, savepoint: Savepoint, edits_size: int) -> None:
        # None of the blocks may be in the block log without the edits that it depends on, whenever the process ends: those of blocks that
        # come back are written before them, and those of blocks that leave are cut off after them.
        for listener in self.on_returned:
            listener()
        if self.edit_log is not None:
            self.edit_log.restore(savepoint.edits)
        self.chain.restore(savepoint)
        if self.edit_log is not None:
            self.edit_log.cut(edits_size)

    # -------------------------------------------------------------- dumps

    def dump(self, path: str) -> int:
        """Write the chain with what drives it into a file; returns the size of the file. Raises Refused."""
        with refusing("the chain can be written"):
            return dump(self.chain, Path(path), self.disk, msgspec.json.encode(self.settled_elsewhere()))

    def load(self, path: str) -> None:
        """Put the chain where the one of a dump was, with what drives it. Raises Refused, and then nothing has changed."""
        text = "the node keeps its chain in a folder (--data); stop it, and load the dump into an empty one: coind snapshot load"
        require(self.edit_log is None, text, condition="chain.is_in_memory()")
        for listener in self.on_returned:
            listener()
        with refusing("the dump can be read"):
            settled = load(self.chain, Path(path), self.disk, self._read_settings)
        self.apply_settings(settled)
        self.clock.advance_to(self.chain.state.head_time * 1000)

    def _read_settings(self, data: bytes) -> DevSettings:
        return read_settings(data, self.clock.machine())

    def _settings(self) -> DevSettings:
        """Return what drives the chain beside what is on it."""
        self.clock()
        impersonated = self.chain.state.impersonated
        return DevSettings(
            offset_ms=self.clock.offset_ms,
            mode=self.mode,
            next_block_time=self.next_block_time,
            impersonated=tuple(sorted(impersonated.accounts)),
            is_everyone_impersonated=impersonated.is_everyone,
        )

    def settled_elsewhere(self) -> DevSettings:
        """Return what drives the chain beside what is on it, for a process that doesn't know what this machine's clock has done."""
        return replace(self._settings(), offset_ms=self.clock.ahead_ms)

    def apply_settings(self, settled: DevSettings, behind_ms: int = 0) -> None:
        """Drive the chain as it was driven at another moment; the machine's clock is now so far behind one that it has shown."""
        self.clock.set_offset(settled.offset_ms, behind_ms)
        self.next_block_time = settled.next_block_time
        # Not by `chain.impersonate`: an account may be missing, since the block that created it was undone.
        self.chain.state.impersonated.set(settled.impersonated, settled.is_everyone_impersonated)
        self._set_mode(settled.mode if self.is_producing else self.mode)

    def _set_mode(self, mode: BlockMode) -> None:
        self.mode = mode
        for listener in self.on_mode:
            listener()


@contextmanager
def refusing(condition: str) -> Iterator[None]:
    """Make a refusal of an error that is for users."""
    try:
        yield
    except NodeError as error:
        raise Refused("${error}", condition=condition, error=str(error)) from None


def require_in_time(when: int) -> None:
    """Refuse a time that is so late that times after it don't fit into 32 bits."""
    text = "second ${when} since 1970 is beyond the last that a block can have, ${max}"
    last = GENERATED_TIME_MAX - COIN_BLOCK_INTERVAL
    require(when <= last, text, condition="block_time <= max", when=when, max=last)
