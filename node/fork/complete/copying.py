"""Copies all rows of a source: its lists page by page, then what its blocks have changed meanwhile. Then the copy follows the source until
nothing is in doubt.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from node.fork.complete.copied_state import CopiedState
from node.fork.complete.listings import ACCOUNTS, COMMENTS, READ, VOTES, WORLD, Listing, Unit, key_of
from node.fork.complete.lockstep import POLL_SECONDS, QUIET_SECONDS, Lockstep, StartAgain
from node.fork.complete.pages import About, PageFolder
from node.fork.complete.plugin_rows import PluginRows, units_of
from node.fork.complete.world import ChainReader, Head, Named
from node.fork.fetch import add_rows, counted
from node.fork.rows import Reader
from node.fork.source import Source
from node.fork.spec import read_spec, reader_of
from node.runtime.errors import NodeError
from state.portable import PORTABLE, Batch, PortableRow
from state.protocol.constants import COIN_NULL_ACCOUNT
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, Wire
from state.tables import State

ATTEMPTS_MAX = 3
BEHIND_MAX = 10_000  # blocks that an interrupted copy, or what was read, may be behind
ROUNDS_MAX = 500  # of reading again what new blocks have changed
COPY_BYTES_MAX = 8 << 30  # of replies. A larger chain doesn't fit into memory
STANDING_SECONDS = 60  # a source whose head is older makes no blocks
UNDISTURBED_TRIES_MAX = 10
DISTURBED = "notices, trades and totals of tags can include what was pending at the source when they were read"
REPORTED_ROWS = 10_000
PROXIES_MAX, ANCESTORS_MAX = 4, 65_536

Report = Callable[[str], object]


class Copied(Struct):
    """A complete copy: its state, the block to which it belongs, how many rows of which tables were read, and what can't be right."""

    state: State
    block: SignedBlock
    counts: dict[str, int]
    notes: tuple[str, ...]


async def copy_all(
    source: Source,
    folder: Path,
    plugins: Iterable[str],
    report: Report,
    spec: ChainSpec | None = None,
    now: Callable[[], float] = time.time,
) -> Copied:
    """Copy the whole state of a source. The pages are kept in `folder` until the copy is complete, so that another call resumes.

    `spec` is the source's chain spec; by default it is found out. `now` is the time by the clock of this machine.
    """
    spec = await read_spec(source) if spec is None else spec
    why = ""
    for _attempt in range(ATTEMPTS_MAX):
        copying = Copying(source, spec, PageFolder(folder), tuple(plugins), report, now)
        try:
            return await copying.run()
        except StartAgain as error:
            why = str(error)
            report(f"{why}. Reading starts again")
            copying.pages.remove()
    raise NodeError(f"{source.url} can't be copied: its rows didn't fit each other in {ATTEMPTS_MAX} attempts ({why})")


class Copying:
    """One attempt to copy a source."""

    def __init__(
        self, source: Source, spec: ChainSpec, pages: PageFolder, plugins: tuple[str, ...], report: Report, now: Callable[[], float]
    ) -> None:
        self._source, self._spec, self.pages, self._plugins, self._report, self._now = source, spec, pages, plugins, report, now
        self._reader = Reader(source.url, spec, with_ids=True)
        self._chain = ChainReader(source, self._reader, Wire(spec))
        self._lists = self._chain.lists
        self._rows_read = 0
        self._read_rows: dict[str, Batch] = {}
        self._small: dict[str, Batch] = {}
        self._patches: dict[Unit, Batch] = {}
        self._next_ids: dict[str, int] = {}
        self._plugin_rows = PluginRows(source, spec.community_prefix)
        self._named = Named()  # what was read again

    async def run(self) -> Copied:
        """Return the copy. Raises StartAgain if reading has to start again."""
        await reader_of(self._source, self._spec)  # which reads the plugins' rows
        start = await self._begin()
        self._report(f"reading all rows of {self._source.url} from block {start.number} on")
        for listing in await self._chain.small():
            await self._read(listing)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read_all, (COMMENTS, VOTES))
            nursery.start_soon(self._read_all, (ACCOUNTS,))
        head, doubted = await self._catch_up(start)
        block = await self._block(head)
        self._report(f"making the state of block {head.number}")
        batch = self._batch(doubted) | await self._chain.recent(block.number, block.timestamp)
        counts = counted([batch])
        is_standing = not doubted and self._now() - block.timestamp > STANDING_SECONDS
        if is_standing and self._plugins:
            await self._plugin_rows.read_chain({row["name"] for row in batch["accounts"]})
            is_standing = head == await self._chain.read_head()
        if is_standing:
            copy = self._loaded(batch | self._plugin_rows.batch(), self._next_ids, self._plugins)
            await Lockstep(copy, self._chain, (), self._report, is_standing=True).run()
        else:
            copy, block = await self._follow(self._loaded(batch, self._next_ids, ()), doubted, start)
        notes = dict.fromkeys((*self._reader.notes.texts, *(await reader_of(self._source)).notes.texts))
        return Copied(copy.state, block, counts, tuple(notes))

    async def _block(self, head: Head) -> SignedBlock:
        blocks = await self._chain.blocks(head.number, head.number)
        if not blocks or blocks[0].id.hex() != head.block_id:
            raise StartAgain(f"the source has switched to another branch than that of block {head.number}")
        return blocks[0]

    def _loaded(self, batch: Batch, next_ids: dict[str, int], plugins: tuple[str, ...]) -> CopiedState:
        copy = CopiedState(self._spec, plugins)
        try:
            copy.load(batch, next_ids)
        except ValueError as error:
            raise StartAgain(f"the rows that were read don't fit each other: {error}") from None
        return copy

    async def _follow(self, copy: CopiedState, doubted: set[Unit], at: Head) -> tuple[CopiedState, SignedBlock]:
        """Follow the source until nothing is in doubt. Return the copy and its head block.

        The plugins come in once the chain's own rows are right: then all transactions are applied. `at` is the block at which the plugins'
        rows were read.
        """
        self._report(f"following the source: {len(doubted)} accounts, posts and votes are in doubt")
        lockstep, is_read, tries = Lockstep(copy, self._chain, doubted, self._report), False, 0
        while True:
            is_quiet = await lockstep.run()
            head = copy.head
            if not self._plugins:
                return copy, await self._block(head)
            self._report(f"reading again the plugins' rows that {head.number - at.number} blocks have changed")
            named = await self._chain.named_in(at.number + 1, head.number)
            named.accounts |= {key[0] for table, key in lockstep.changed if table == "accounts"}
            named.comments |= {key for table, key in lockstep.changed if table in ("comments", "comment_votes")}
            lockstep.changed.clear()
            named.accounts |= self._named.accounts
            named.comments |= self._named.comments
            self._named = Named()
            names = self._plugin_rows.affected(named)
            names |= {name for name in named.words if copy.state.accounts.by_name.get(name) is not None}
            accounts, comments = [("accounts", (name,)) for name in names], [("comments", key) for key in named.comments]
            await self._plugin_rows.read_again(copy.rows_of(accounts, comments))
            await self._plugin_rows.read_chain({row.name for row in copy.state.accounts}, names if is_read else None)
            at, is_read = head, True
            if head == await self._chain.read_head():
                tries += 1
                if tries > UNDISTURBED_TRIES_MAX:
                    self._reader.notes.add(DISTURBED)
                    break
                if is_quiet or await self._is_undisturbed(head):
                    break
        next_ids = {name: table.next_id for name, table in copy.state.tables()}
        copy = self._loaded(copy.batch() | self._plugin_rows.batch(), next_ids, self._plugins)
        await Lockstep(copy, self._chain, {WORLD, *units_of(names)}, self._report, is_standing=is_quiet).run()
        copy.forget_history()
        return copy, await self._block(copy.head)

    async def _is_undisturbed(self, head: Head) -> bool:
        """Whether the block after the head has no transactions, so that none of them was pending while the head was read."""
        with trio.move_on_after(QUIET_SECONDS):
            while not (blocks := await self._chain.blocks(head.number + 1, head.number + 1)):
                await trio.sleep(POLL_SECONDS)
            return not blocks[0].transactions
        return True

    # -------------------------------------------------------------- pages

    async def _begin(self) -> Head:
        """Return the block at which reading began: that of an interrupted copy if it can go on, or the head."""
        head, about = await self._chain.read_head(), self.pages.about()
        chain_id = self._spec.chain_id.hex()
        if about is not None and (about.url, about.chain_id) == (self._source.url, chain_id):
            start = Head(about.number, about.block_id)
            if head.number - BEHIND_MAX <= start.number <= head.number and await self._is_on_branch(start):
                self._report("going on with an interrupted copy")
                return start
        self.pages.begin(About(self._source.url, chain_id, head.number, head.block_id))
        return head

    async def _is_on_branch(self, head: Head) -> bool:
        blocks = await self._chain.blocks(head.number, head.number)
        return bool(blocks) and blocks[0].id.hex() == head.block_id

    async def _read_all(self, listings: tuple[Listing, ...]) -> None:
        for listing in listings:
            await self._read(listing)

    async def _read(self, listing: Listing) -> None:
        """Read the pages of a listing that aren't in the folder."""
        found = self._read_rows[listing.table] = joined(listing, self.pages.batches(listing.table))
        start, is_done = self.pages.position(listing.table)
        if is_done:
            return
        async for records, following, is_last in self._lists.pages(listing, start):
            if self._source.byte_count > COPY_BYTES_MAX:
                raise NodeError(f"{self._source.url} can't be copied: it has more than {COPY_BYTES_MAX >> 30} GiB of rows")
            batch = self._lists.rows(listing, records)
            if listing in (ACCOUNTS, COMMENTS):
                batch |= await self._plugin_rows.read(batch) if self._plugins else {}
            self.pages.append(listing.table, batch, following, is_last=is_last)
            add_rows(found, batch)
            before, self._rows_read = self._rows_read, self._rows_read + len(records)
            if before // REPORTED_ROWS != self._rows_read // REPORTED_ROWS:
                self._report(f"{self._rows_read:,} rows, now {listing.table.replace('_', ' ')}")

    # -------------------------------------------------------------- what has changed meanwhile

    async def _catch_up(self, start: Head) -> tuple[Head, set[Unit]]:
        """Read again what the blocks after `start` can have changed, until all was read at one block. Return that block and the units that
        were read again.
        """
        at, doubted = start, set[Unit]()
        for _ in range(ROUNDS_MAX):
            head = await self._chain.read_head()
            units: set[Unit] = {WORLD}
            if head != at:
                if not at.number < head.number <= at.number + BEHIND_MAX or not await self._is_on_branch(at):
                    raise StartAgain(f"the source has switched to another branch than that of block {at.number}")
                self._report(f"reading again what {head.number - at.number} blocks have changed")
                named = await self._chain.named_in(at.number + 1, head.number)
                named.accounts |= await self._read_small()
                # Fees are paid to these accounts without naming them.
                named.accounts |= {COIN_NULL_ACCOUNT, self._spec.treasury}
                self._add_paid(named, (await self._block(head)).timestamp)
                self._named.accounts |= named.accounts
                self._named.comments |= named.comments
                units |= set(named.units(with_small=False))
                doubted |= units
            is_steady = await self._read_units(units, head)
            self._next_ids = await self._chain.next_ids()
            if is_steady and head == await self._chain.read_head():
                return head, doubted
            doubted |= units
            at = head
        raise StartAgain("the source makes blocks faster than their changes can be read")

    def _add_paid(self, named: Named, time: int) -> None:
        """Add the comments that were paid up to a time after they were read. A payout of nothing has no virtual operation."""
        for row in self._read_rows[COMMENTS.table][COMMENTS.table]:
            if row["cashout_time"] <= time:
                named.comments.add((row["author"], row["permlink"]))
                named.accounts.add(row["author"])

    async def _read_small(self) -> set[str]:
        """Read the small tables again. Return the accounts whose rows in them have changed."""
        owners: set[str] = set()
        for listing in await self._chain.small():
            before = self._small.get(listing.table) or self._read_rows[listing.table]
            now: Batch = {table: [] for table in listing.tables}
            async for records, _, _ in self._lists.pages(listing):
                for table, rows in self._lists.rows(listing, records).items():
                    now[table] += rows
            if listing.unit:
                same, other = by_key(listing.table, before[listing.table]), by_key(listing.table, now[listing.table])
                changed = [*same.items(), *other.items()]
                owners |= {row[listing.unit[0]] for key, row in changed if same.get(key) != other.get(key)}
            self._small[listing.table] = now
        return owners

    async def _read_units(self, units: set[Unit], head: Head) -> bool:
        """Read units again, and with them the proxies of accounts and the ancestors of comments. Return whether `head` was the head all the
        time.
        """
        is_steady, done, waiting = True, set[Unit](), set(units)
        for _ in range(ANCESTORS_MAX):
            following: set[Unit] = set()
            async for seen, found in self._chain.units(waiting):
                is_steady &= seen == head
                self._patches |= found
                for batch in found.values():
                    following |= {("accounts", (row["proxy"],)) for row in batch.get("accounts", ()) if row["proxy"]}
                    parents = ((row["parent_author"], row["parent_permlink"]) for row in batch.get("comments", ()) if row["parent_author"])
                    following |= {("comments", key) for key in parents}
            done |= waiting
            waiting = following - done
            if not waiting:
                break
        units |= done
        return is_steady

    # -------------------------------------------------------------- the state

    def _batch(self, doubted: set[Unit]) -> Batch:
        """Return all rows. Rows that refer to rows that aren't here are left out, and are in doubt."""
        batch: Batch = dict(self._patches[WORLD])
        for listing in READ:
            batch |= self._rows_of(listing)
        names = {row["name"] for row in batch["accounts"]}
        comments = {(row["author"], row["permlink"]) for row in batch["comments"]}
        kept: list[PortableRow] = []
        for row in batch["comments"]:
            if row["root_comment"] in comments:
                kept.append(row)
            else:
                doubted.add(("comments", (row["author"], row["permlink"])))
        if len(kept) < len(batch["comments"]):
            batch["comments"] = kept
            comments = {(row["author"], row["permlink"]) for row in kept}
            batch["comment_contents"] = [row for row in batch["comment_contents"] if row["comment"] in comments]
        votes = []
        for row in batch["comment_votes"]:
            if row["comment"] in comments and row["voter"] in names:
                votes.append(row)
            else:
                doubted.add(("comment_votes", row["comment"]))
        batch["comment_votes"] = votes
        for token in batch["smt_tokens"]:
            if token["current_supply"]:
                raise NodeError(f"{self._source.url} has tokens with balances, which no method lists")
        return batch

    def _rows_of(self, listing: Listing) -> Batch:
        """Return the rows of a listing, each once."""
        if listing.table in self._small:
            return {table: list(by_key(table, rows).values()) for table, rows in self._small[listing.table].items()}
        patched = {unit[1]: rows for unit, rows in self._patches.items() if unit[0] == listing.table}
        pages = self._read_rows.pop(listing.table, {})
        self._plugin_rows.add(pages)
        found: Batch = {}
        for table in listing.tables:
            rows = by_key(table, pages.pop(table, ())).values()
            found[table] = [row for row in rows if unit_key(listing, table, row) not in patched] if patched else list(rows)
            for some in patched.values():
                found[table] += some[table]
        return found


def joined(listing: Listing, batches: Iterable[Batch]) -> Batch:
    """Return the rows of several batches in one."""
    found: Batch = {table: [] for table in listing.tables}
    for batch in batches:
        add_rows(found, batch)
    return found


def by_key(table: str, rows: Iterable[PortableRow]) -> dict[Any, PortableRow]:
    """Return rows by their keys and, where several rows can have the same key, their ids. The last row with a key stays."""
    columns = PORTABLE[table].key
    if table in ("owner_histories", "delegation_expirations"):
        columns = (*columns, "id")
    return {tuple([row[column] for column in columns]): row for row in rows}


def unit_key(listing: Listing, table: str, row: PortableRow) -> Any:
    """Return the key of the unit of a row in a table of a listing."""
    if table == listing.table:
        return key_of(listing, row)
    return row["comment"] if listing is COMMENTS else (row["account"],)
