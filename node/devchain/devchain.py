"""Controls a dev chain: makes blocks on request, moves its time, saves and restores dev snapshots, writes and loads dumps.

The code is synchronous and runs in jobs of the processor.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from node.devchain import funding
from node.devchain.block_modes import BlockMode, Leap, block_mode
from node.devchain.savepoints import DevSavepoint, DevSettings, SavepointStore, read_settings
from node.runtime.clock import ChainClock
from node.runtime.errors import NodeError
from node.snapshots.dumps import dump, load
from node.storage.disk import Disk, SystemDisk
from node.storage.edit_log import EditLog
from node.version import VERSION
from rpc.fork import Fork
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.debug import GENERATED_TIME_MAX, require_bounded
from state.chain.savepoints import Savepoint
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.protocol.constants import COIN_BLOCK_INTERVAL, DAY_SECONDS
from state.protocol.errors import ChainError, Refused, TransactionExpired, require
from state.protocol.keys.keys import public_key
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.values.text import time_text
from state.store.rows import run_steps

SYSTEM = SystemDisk()
ROWS_PER_UNIT = 10  # that are restored in a unit of work
TIME_JUMPS = ("missed", "produced")
# With any number of witnesses a block is irreversible 21 blocks later. Block 21 begins the first round with all of them.
FIRST_BLOCKS = 25
# Blocks of a time jump with produced slots: more than sixty days, which take half an hour.
TIME_JUMP_BLOCKS_MAX = 2_000_000
# A longer gap between two blocks, almost as long as the claims on the reward fund decay, gets blocks in between.
GAP_SECONDS_MAX, BRIDGE_SECONDS = 14 * DAY_SECONDS, 5 * DAY_SECONDS

_log = Log("devchain")


class DevChain:
    """A chain with its block mode and clock. Makes blocks with the secret keys of witnesses.

    `is_producing` is whether the node makes blocks by itself; if not, the mode stays `manual`. `on_mode` is called after each change of the
    mode. Each block advances the clock. A `DevChain` must be created while the chain is at its start (genesis or base), because `reset`
    restores that state. `edit_log` stores state edits if the node has a data folder.
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
        self.next_block_time: int | None = None  # in seconds since 1970, if it was set by a request
        self.on_mode: list[Callable[[], None]] = []
        # Called before the chain is restored from a savepoint or replaced by a dump.
        self.before_restore: list[Callable[[], None]] = []
        self.version = VERSION
        self.fork: Fork | None = None  # the origin of a forked chain, and the fetches from its source
        self.disk = disk
        self.edit_log: EditLog | None = None
        self.savepoints = SavepointStore()
        self._mode_at_start = self.mode
        self._genesis = chain.savepoint() if chain.state.spec.is_test else None

    # -------------------------------------------------------------- values for replies

    @property
    def time(self) -> int:
        """The time of the chain, in seconds since 1970."""
        return self.clock() // 1000

    @property
    def seconds_ahead(self) -> int:
        """The chain's time minus the machine's time, in seconds; negative if the chain is behind."""
        self.clock()
        return self.clock.ahead_ms // 1000

    @property
    def block_mode(self) -> str:
        """The block mode as a string."""
        return str(self.mode)

    @property
    def snapshots(self) -> list[int]:
        """The ids of the dev snapshots, the oldest first."""
        return self.savepoints.ids

    # -------------------------------------------------------------- making blocks

    def make_block(self) -> SignedBlock:
        """Make a block of the pending transactions. Raises ChainError.

        The block's slot is that of `next_block_time` if it is set, else the slot of the chain's time or the slot after the head, whichever
        is later. An accepted transaction must not expire only because no block was made for a while. If a pending transaction would expire,
        the block gets an earlier slot, in which no pending transaction has expired. If a pending transaction would expire before
        `next_block_time`, an additional block with the pending transactions is made first.
        """
        first, wanted = slot_time(self.chain.state, 1), self.next_block_time
        lasting = [trx.expiration for trx in self.chain.pending if trx.expiration >= first]
        if wanted is None:
            return self._make(min([self.time, *lasting]))
        if lasting and min(lasting) < wanted:
            self._make(min([self.time, *lasting]))
        return self._make(wanted)

    def mine(self, count: int) -> Iterator[None]:
        """Make `count` blocks, one per step of the iterator."""
        require_bounded(count)
        for _ in range(count):
            self.make_block()
            yield

    def require_lasting(self, trx: SignedTransaction) -> None:
        """In the modes instant and mixed, refuse a transaction that would expire before the block that is made for it."""
        first, head_time = slot_time(self.chain.state, 1), self.chain.state.head_time
        if self.mode.is_instant and head_time < trx.expiration < first:
            text = "the transaction expires at ${expiration}, before the next block, which is of ${next}"
            values = {"now": head_time, "expiration": time_text(trx.expiration), "next": time_text(first)}
            raise TransactionExpired(text, condition="next_block_time <= trx.expiration", **values)

    def automine(self) -> None:
        """Make a block after an accepted transaction if the mode is instant. A failure is logged, and the transaction stays pending."""
        if self.mode.is_instant:
            try:
                self.make_block()
            except ChainError as error:
                _log.warning("automine failed, the transaction stays pending", reason=error.message(self.chain.state.spec.spell))

    def make_first_blocks(self) -> None:
        """If the chain of a producing node has no blocks, make its first blocks, in the latest slots up to the current time. Raises
        ChainError.

        Clients refer to the head or to a block shortly before it, compute expirations from the head's time, and read irreversible blocks.
        None of that works at the genesis, whose time is long ago. If the genesis doesn't create the accounts of the spec, these blocks
        create them. If the node was killed meanwhile, its next start creates the missing accounts in further blocks. A chain that begins
        after a block of another chain gets one block, because edits need a block of this chain.
        """
        state = self.chain.state
        if not self.is_producing:
            return
        if self.chain.base and state.props.head_block_number == self.chain.base:
            self._make(self.time)
        elif not state.props.head_block_number:
            count = max(FIRST_BLOCKS, state.spec.last_funding_block)
            # A chain whose genesis is in the future, or only a few slots ago, gets its first slots.
            last = max(slot_at_time(state, self.time), count)
            self._make(slot_time(state, last - count + 1))
            for _ in range(count - 1):
                self._make(slot_time(state, 1))
        while funding.has_missing_accounts(state):
            self._make(slot_time(state, 1))

    def _make(self, time: int) -> SignedBlock:
        """Make a block in the slot at `time`, or in the next slot whose witness signs with a key of this node. Raises ChainError.

        As long as accounts of the spec are missing that blocks must create, each block creates the next few of them.
        """
        state = self.chain.state
        self._bridge_gap(time)
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
        own = self._funding(when) if funding.has_missing_accounts(state) else ()
        block = self.chain.generate_block(when, witness, secret, Skip.UNDO_HISTORY_CHECK, own)
        self.clock.advance_to(when * 1000)
        self.next_block_time = None
        return block

    def _bridge_gap(self, time: int) -> None:
        """If the claims on the reward fund would wrap below zero in a block at `time`, make blocks between the head and that time.

        The rules subtract claims in proportion to the time between two blocks: all of them after 15 days, and more than all after a longer
        gap. Posts would then no longer be paid.
        """
        state = self.chain.state
        gap = time - state.head_time
        if state.props.head_block_number and gap > GAP_SECONDS_MAX and any(fund.recent_claims for fund in state.reward_funds):
            steps, begun = gap // BRIDGE_SECONDS, state.head_time
            for number in range(1, steps):
                self._make(begun + number * gap // steps)

    def _funding(self, when: int) -> tuple[SignedTransaction, ...]:
        """Return the transactions of the block at `when` that create the next missing accounts of the spec. Raises Refused."""
        genesis = self.chain.state.spec.genesis
        secret = self.secrets.get(genesis.witness_settings(genesis.witness).key)
        if secret is None:
            text = "${witness} creates the accounts of the chain spec, and witness_keys doesn't have its key"
            raise Refused(text, condition="genesis.witness_key in witness_keys", witness=genesis.witness)
        return funding.funding_transactions(self.chain.state, secret, when)

    # -------------------------------------------------------------- modes and time

    def set_block_mode(self, text: str) -> None:
        """Change the block mode. Raises Refused."""
        try:
            mode = block_mode(text)
        except NodeError as error:
            raise Refused("${error}", condition="block_mode", error=str(error)) from None
        stays = self.is_producing or mode.kind == "manual"
        require(stays, "the node was started with --no-produce, and makes blocks only when asked", condition="is_producing")
        self._set_mode(mode)

    def set_next_block_time(self, time: int) -> int:
        """Set the time of the next block. Return the time, rounded up to a slot. Raises Refused if it is before the next slot."""
        state = self.chain.state
        rounded = -(-time // COIN_BLOCK_INTERVAL) * COIN_BLOCK_INTERVAL
        first = slot_time(state, 1)
        text = "time ${time} is before the next slot, ${first}"
        require(rounded >= first, text, condition="time >= next_slot", time=time_text(time), first=time_text(first))
        require_in_time(rounded)
        self.next_block_time = rounded
        return rounded

    def advance(self, seconds: int, leap: str = "") -> Iterator[None]:
        """Move the chain's time forward by `seconds` and make a block at the new time. Each step of the iterator makes one block.

        `leap` determines what happens to the skipped slots. With `missed` they have no blocks, except one for the pending transactions
        and those that bridge a long gap. With `produced` each has a block.
        """
        leap = leap or self.leap
        require(leap in TIME_JUMPS, "${leap} is not a leap mode; expected missed or produced", condition="leap", leap=leap)
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
        """Drop all pending transactions. Return their number."""
        count = len(self.chain.pending)
        self.chain.clear_pending()
        return count

    # -------------------------------------------------------------- dev snapshots

    def snapshot(self) -> int:
        """Take a dev snapshot and return its id. Raises Refused."""
        return run_steps(self.snapshot_in_steps())

    def snapshot_in_steps(self) -> Generator[None, None, int]:
        """Take a dev snapshot in steps and return its id. The chain must not change between the steps. Raises Refused."""
        self.savepoints.require_room()
        settings, size = self._settings(), 0 if self.edit_log is None else self.edit_log.size
        savepoint = yield from self.chain.savepoint_in_steps()
        return self.savepoints.add(DevSavepoint(savepoint, settings, size))

    def revert(self, snapshot_id: int) -> None:
        """Restore a dev snapshot. The dev snapshot can be restored again. Dev snapshots that were taken later are dropped. Raises Refused.

        The offset of the clock, the block mode, the time of the next block and the impersonated accounts are also restored.
        """
        savepoint = self.savepoints.find(snapshot_id)
        self._restore(savepoint.savepoint, savepoint.edits_size)
        self.savepoints.drop_after(snapshot_id)
        self.apply_settings(savepoint.settings, self.clock.behind_ms)

    def reset(self) -> None:
        """Restore the genesis and the settings with which the node started, and make the first blocks. Raises Refused."""
        assert self._genesis is not None, "only test chains are reset"
        self._restore(self._genesis, 0)
        self.savepoints.drop_all()
        self.clock.start()
        self.next_block_time = None
        self.chain.impersonate()
        self._set_mode(self._mode_at_start)
        self.make_first_blocks()

    def _restore(self, savepoint: Savepoint, edits_size: int) -> None:
        self._announce_restore()
        # No block may be in the block log without the edits it depends on, even if the process is killed. So the edits of blocks that
        # return are written before the blocks, and the edits of removed blocks are cut off after them.
        for listener in self.before_restore:
            listener()
        if self.edit_log is not None:
            self.edit_log.restore(savepoint.edits)
        self.chain.restore(savepoint)
        if self.edit_log is not None:
            self.edit_log.cut(edits_size)

    def _announce_restore(self) -> None:
        """Announce work in proportion to the size of the state."""
        state = self.chain.state
        state.work.announce(sum(len(table) for _, table in state.tables()) // ROWS_PER_UNIT)

    # -------------------------------------------------------------- dumps

    def dump(self, path: str) -> int:
        """Write the chain and its settings into a file. Return the file's size in bytes. Raises Refused."""
        with refusing("the chain can be written"):
            return dump(self.chain, Path(path), self.disk, msgspec.json.encode(self.portable_settings()))

    def load(self, path: str) -> None:
        """Replace the chain and its settings with those of a dump. Raises Refused, in which case nothing has changed."""
        text = "the node keeps its chain in a folder (--data); stop it, and load the dump into an empty one: coind snapshot load"
        require(self.edit_log is None, text, condition="chain.is_in_memory()")
        self._announce_restore()
        for listener in self.before_restore:
            listener()
        with refusing("the dump can be read"):
            settings = load(self.chain, Path(path), self.disk, self._read_settings)
        self.apply_settings(settings)
        self.clock.advance_to(self.chain.state.head_time * 1000)

    def _read_settings(self, data: bytes) -> DevSettings:
        return read_settings(data, self.clock.machine())

    def _settings(self) -> DevSettings:
        """Return the settings of the dev chain, which are not part of the state."""
        self.clock()
        impersonated = self.chain.state.impersonated
        return DevSettings(
            offset_ms=self.clock.offset_ms,
            mode=self.mode,
            next_block_time=self.next_block_time,
            impersonated=tuple(sorted(impersonated.accounts)),
            is_everyone_impersonated=impersonated.is_everyone,
        )

    def portable_settings(self) -> DevSettings:
        """Return the settings for another process. Their clock offset includes the correction for jumps of this machine's clock."""
        return replace(self._settings(), offset_ms=self.clock.ahead_ms)

    def apply_settings(self, settings: DevSettings, behind_ms: int = 0) -> None:
        """Apply the settings of a savepoint, a dump or another process. `behind_ms` is the clock's correction for jumps of this machine's
        clock.
        """
        self.clock.set_offset(settings.offset_ms, behind_ms)
        self.next_block_time = settings.next_block_time
        # Not by `chain.impersonate`, which refuses missing accounts: the block that created one may be undone.
        self.chain.state.impersonated.set(settings.impersonated, settings.is_everyone_impersonated)
        self._set_mode(settings.mode if self.is_producing else self.mode)

    def _set_mode(self, mode: BlockMode) -> None:
        self.mode = mode
        for listener in self.on_mode:
            listener()


@contextmanager
def refusing(condition: str) -> Iterator[None]:
    """Convert a NodeError of the `with` block into Refused, with this condition."""
    try:
        yield
    except NodeError as error:
        raise Refused("${error}", condition=condition, error=str(error)) from None


def require_in_time(when: int) -> None:
    """Refuse a block time that is so late that times computed from it don't fit into 32 bits."""
    text = "second ${when} since 1970 is beyond the last that a block can have, ${max}"
    last = GENERATED_TIME_MAX - COIN_BLOCK_INTERVAL
    require(when <= last, text, condition="block_time <= max", when=when, max=last)
