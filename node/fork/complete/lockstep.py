"""Makes a copy equal to its source while the source makes blocks.

The copy applies each block of the source by the rules, and the rows that the block changed are read again at once. Rows that are equal to
the copy's are verified. A row in doubt takes the source's value whenever the two differ, and stays in doubt until later reads agree: a read
can include the effects of pending transactions, but not each time. A verified row that differs is probably right, because of the same
effects; it gets into doubt if it differs after several blocks.
"""

from collections import deque
from collections.abc import Callable, Iterable

import trio
from msgspec import Struct

from node.fork.complete.copied_state import BlockUnusable, CopiedState
from node.fork.complete.listings import SMALL, WORLD, Listing, Unit
from node.fork.complete.plugin_rows import units_of
from node.fork.complete.world import ChainReader, Head, Named
from node.runtime.errors import NodeError
from state.chain.invariants import InvariantBroken, validate_invariants
from state.portable import Batch
from state.protocol.constants import COIN_MAX_PROXY_RECURSION_DEPTH, COIN_NULL_ACCOUNT
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock

POLL_SECONDS = 0.3
QUIET_SECONDS = 15  # a source without a block for this time makes none
LOCKSTEP_SECONDS_MAX = 1800
BLOCKS_AT_ONCE = 1_000
AGREEING_READS = 2
DIFFERING_READS_MAX = 4
CLEAN_BLOCKS = 2
UNDONE_MAX = 200
FAILURES_MAX = 3
REFERRED = ("accounts", "comments")  # their ids are in other rows
SMALL_ROWS_MAX = 50_000  # rows of small tables that are all compared at the end


class StartAgain(NodeError):
    """The copy can't be made equal to the source. Reading starts again."""


class Doubt(Struct):
    """A unit that can differ from the source's: the block of the copy at which it took the source's rows or agreed last, and how many reads
    have agreed.
    """

    since: int
    agreed: int = 0
    reads: int = 0  # that agreed, also at the same block
    is_changed: bool = False  # by a later block


class Position(Struct, frozen=True):
    """A block of the copy, the position of the journal and the ids of the next new rows before it, and the units that it changed."""

    block: SignedBlock
    mark: int
    units: set[Unit]
    next_ids: dict[str, int]


class Lockstep:
    """Keeps a copy in step with its source until nothing is in doubt. A source that is standing has made no blocks while it was read."""

    def __init__(
        self, copy: CopiedState, chain: ChainReader, doubted: Iterable[Unit], report: Callable[[str], object], *, is_standing: bool = False
    ) -> None:
        self._copy, self._chain, self._report = copy, chain, report
        self.doubts = {unit: Doubt(copy.number) for unit in doubted}
        self.changed: set[Unit] = set()  # by blocks
        self._misfits: set[int] = set()  # blocks that could not be applied completely
        self._differing: dict[Unit, int] = {}
        self._fresh: set[Unit] = set()  # changed since they were read last
        self._positions: deque[Position] = deque(maxlen=UNDONE_MAX)
        self._clean_blocks = self._failures = 0
        self._shifts: dict[str, int] = {}  # differences of the ids of rows that the last block made
        self._shifted = b""
        self._tokens: set[Unit] = set()
        self._is_standing = is_standing

    async def run(self) -> bool:
        """Follow the source until the copy is equal to it at the copy's head. Return whether the source makes no blocks.

        Raises StartAgain, and NodeError if it takes too long.
        """
        start = latest = trio.current_time()
        self._tokens = {(listing.table, ()) for listing in await self._chain.small() if not listing.unit}
        while trio.current_time() - start <= LOCKSTEP_SECONDS_MAX:
            if await self._follow(await self._chain.read_head()):
                latest = trio.current_time()
            is_quiet = self._is_standing or trio.current_time() - latest > QUIET_SECONDS
            if await self._compare() and self._is_equal(is_quiet) and await self._is_done():
                return is_quiet
            await trio.sleep(POLL_SECONDS)
        raise NodeError(
            f"the copy isn't equal to its source after {LOCKSTEP_SECONDS_MAX // 60} minutes: {len(self.doubts)} rows are in doubt"
        )

    # -------------------------------------------------------------- blocks

    async def _follow(self, head: Head) -> bool:
        """Apply the source's blocks up to its head. Return whether there were any."""
        state = self._copy.state
        if head == self._copy.head:
            return False
        if head.number <= self._copy.number:
            self._undo_to(head.number - 1)
        blocks = await self._chain.blocks(self._copy.number + 1, min(head.number, self._copy.number + BLOCKS_AT_ONCE))
        for block in blocks:
            if block.previous != state.props.head_block_id:
                # The source has switched to another branch. The earlier blocks of that branch are read next.
                self._undo_to(block.number - 2)
                return True
            self._apply(block)
        return bool(blocks)

    def _apply(self, block: SignedBlock) -> None:
        mark = self._copy.state.journal.position()
        next_ids = {name: table.next_id for name, table in self._copy.tables.items()}
        try:
            applied = self._copy.apply(block)
        except BlockUnusable as error:
            self._failures += 1
            if self._failures > FAILURES_MAX:
                raise StartAgain(str(error)) from None
            self._misfits.add(block.number)
            return
        self._failures = 0
        self._positions.append(Position(block, mark, applied.units, next_ids))
        self._copy.state.journal.commit(self._positions[0].mark)
        self._fresh |= applied.units | {WORLD}
        self.changed |= applied.units
        for unit in applied.units & self.doubts.keys():
            self.doubts[unit].is_changed = True
        self._clean_blocks = 0 if applied.left_out else self._clean_blocks + 1
        if applied.left_out:
            self._misfits.add(block.number)
            self._report(f"block {block.number}: {len(applied.left_out)} transactions don't fit what was read, which is read again")

    def _undo_to(self, number: int) -> None:
        """Undo the blocks after a number. What they changed gets into doubt. Raises StartAgain if the blocks can't be undone."""
        units: set[Unit] = {WORLD}
        while self._copy.number > number:
            if not self._positions:
                raise StartAgain(f"the source has switched to a branch that doesn't contain block {self._copy.number} of the copy")
            position = self._positions.pop()
            self._copy.undo(position.mark)
            units |= position.units
        self._clean_blocks = 0
        # Changes between these blocks, when the copy took rows of the source, are undone as well.
        self._doubt(units | self.doubts.keys() | self._fresh | self._differing.keys())

    def _doubt(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self.doubts[unit] = Doubt(self._copy.number)
            self._differing.pop(unit, None)

    # -------------------------------------------------------------- rows

    async def _compare(self) -> bool:
        """Read the units that are in doubt or were changed, and compare them. Return whether all were read at the copy's head."""
        for number in self._misfits:
            self._doubt(self._units_of(await self._chain.named_in(number, number)))
        self._misfits.clear()
        wanted = {*self.doubts, *self._fresh, *self._differing}
        if not wanted:
            return True
        ours = self._copy.head
        async for head, found in self._chain.units(wanted):
            if head != ours:
                return False
            for unit, batch in found.items():
                self._judge(unit, batch)
        if self._shifts:
            self._apply_shifts()
            self._fresh |= wanted
            return False
        return True

    def _units_of(self, named: Named) -> set[Unit]:
        """Return the units with rows that transactions can change which name these accounts and comments."""
        state = self._copy.state
        named.accounts |= {COIN_NULL_ACCOUNT, state.spec.treasury}
        for name in list(named.accounts):
            row = state.accounts.by_name.get(name)
            for _ in range(COIN_MAX_PROXY_RECURSION_DEPTH):
                if row is None or not row.proxy:
                    break
                named.accounts.add(row.proxy)
                row = state.accounts.by_name.get(row.proxy)
        for key in list(named.comments):
            comment = state.comments.by_permlink.get(*key)
            while comment is not None and comment.parent_author:
                parent = comment.parent_author, comment.parent_permlink
                named.comments.add(parent)
                comment = state.comments.by_permlink.get(*parent)
        units = {WORLD, *self._tokens, *named.units(with_small=True)}
        return units | (units_of(named.accounts) if "rc/accounts" in self._copy.tables else set())

    def _apply_shifts(self) -> None:
        """Apply the last block again, so that its new rows get the ids that they have at the source."""
        position = self._positions.pop()
        self._copy.undo(position.mark)
        for name, shift in self._shifts.items():
            table = self._copy.tables[name]
            table.next_id = max(position.next_ids[name] + shift, 1 + max((row.id for row in table.scan()), default=-1))
        self._shifts.clear()
        self._shifted = position.block.id
        self._apply(position.block)

    def _has_other_ids(self, unit: Unit, batch: Batch) -> bool:
        """Whether rows that are equal have other ids than at the source. If the last block made them, it will be applied again."""
        theirs = sorted([row["id"] for row in batch.get(unit[0], ()) if "id" in row])
        ours = self._copy.ids(unit) if theirs else []
        if ours == theirs:
            return False
        last = self._positions[-1] if self._positions else None
        if last is not None and unit in last.units and self._shifted != last.block.id:
            for own, other in zip(ours, theirs, strict=False):
                if own != other and own >= last.next_ids[unit[0]]:
                    self._shifts[unit[0]] = other - own
                    return False
        return unit[0] not in REFERRED

    async def _compare_small(self) -> bool:
        """Compare all small tables. Return whether they are equal, and were read at the copy's head."""
        ours = self._copy.head
        found: list[tuple[Listing, Batch]] = []
        next_ids = await self._chain.next_ids()
        for listing in await self._chain.small():
            batch: Batch = {listing.table: []}
            async for records, _, _ in self._chain.lists.pages(listing):
                batch[listing.table] += self._chain.lists.rows(listing, records)[listing.table]
            found.append((listing, batch))
        if await self._chain.read_head() != ours:
            return False
        differing = [unit for listing, batch in found for unit in self._copy.differing(listing, batch)]
        self._doubt(differing)
        if differing:
            return False
        for name in next_ids.keys() & self._copy.tables.keys():
            # The source's ids include those of pending rows, the copy's perhaps those of rows that it took and dropped.
            table = self._copy.tables[name]
            table.next_id = max(min(table.next_id, next_ids[name]), 1 + max((row.id for row in table.scan()), default=-1))
        return True

    def _judge(self, unit: Unit, batch: Batch) -> None:
        """Compare the rows of a unit with the source's rows as of the copy's head."""
        self._fresh.discard(unit)
        doubt = self.doubts.get(unit)
        number = self._copy.number
        if not self._copy.differs(unit, batch):
            self._differing.pop(unit, None)
            if unit != WORLD and self._has_other_ids(unit, batch):
                self._copy.renumber(unit, batch)
                self.doubts[unit] = Doubt(number)
                return
            if doubt is not None:
                doubt.reads += 1
                if number > doubt.since:
                    doubt.agreed, doubt.since = doubt.agreed + 1, number
                    if doubt.is_changed or doubt.agreed >= AGREEING_READS:
                        del self.doubts[unit]
            return
        if doubt is None:
            self._differing[unit] = self._differing.get(unit, 0) + 1
            if self._differing[unit] < DIFFERING_READS_MAX:
                return
            del self._differing[unit]
        self.doubts[unit] = Doubt(number)
        try:
            self._copy.adopt(unit, batch)
        except (ChainError, ValueError):
            # It refers to rows that aren't here yet. They are in doubt as well.
            self._clean_blocks = 0

    # -------------------------------------------------------------- the end

    def _is_equal(self, is_quiet: bool) -> bool:
        """Whether nothing is in doubt at the copy's head. A quiet source makes no blocks."""
        if self.doubts and not (is_quiet and all(doubt.reads > 1 for doubt in self.doubts.values())):
            return False
        if self._differing:
            return False
        return is_quiet or self._clean_blocks >= CLEAN_BLOCKS

    async def _is_done(self) -> bool:
        """Whether the small tables are equal as well, and the rows fit each other. Raises StartAgain if they don't."""
        is_large = sum(len(self._copy.tables[listing.table]) for listing in SMALL) > SMALL_ROWS_MAX
        if not self._is_standing and not is_large and not await self._compare_small():
            return False
        try:
            validate_invariants(self._copy.state)
        except InvariantBroken as error:
            raise StartAgain(f"the rows that were read don't fit each other: {error}") from None
        return True
