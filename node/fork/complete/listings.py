"""The methods of database_api that list all rows of the tables, and how their pages follow each other."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from msgspec import Struct

from node.client.errors import RefusedCall
from node.fork.rows import Reader
from node.fork.source import Call, Source, SourceSilent, SourceWrong
from state.portable import Batch, PortableRow

ROWS_OF_PAGE = 1000
ROWS_OF_PAGE_MIN = 10
ROWS_OF_UNIT = 20
ROWS_MAX = 50_000_000  # of a table
UNITS_OF_CALL = 100
STARTS_TRIED_MAX = 200  # starts of a page, if the rows before it have been removed
TIME_MIN = "1970-01-01T00:00:00"

Record = dict[str, Any]
UnitKey = tuple[Any, ...]
"""The key that the rows of a unit share: the name of an account, or the author and the permlink of a comment."""
Unit = tuple[str, UnitKey]
"""Rows that are read together: the table of a listing, and their key. Without a key, they are all rows of the listing."""
WORLD: Unit = ("world", ())
"""The rows that a chain has once, and its reward funds."""


class Listing(Struct, frozen=True, kw_only=True):
    """A method that lists all rows of `table`, and of the other tables whose rows its records contain (`others`).

    `key` is the member of the result with the records. `members` are the paths of the members of a record that are the start of the page
    after it, and `blank` is the start of the first page. `unit` are the columns of the key of a unit, whose rows are adjacent in the list;
    without them, all rows are one unit. `finds` is a method that returns units by their keys, with the name of its argument and the member
    of its result.
    """

    table: str
    method: str
    key: str
    order: str
    members: tuple[str, ...]
    blank: tuple[Any, ...]
    others: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()
    finds: tuple[str, str, str] | None = None
    options: dict[str, str] = {}

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables with rows in the records."""
        return (self.table, *self.others)

    def call(self, start: tuple[Any, ...], limit: int) -> Call:
        """Return the call for the page that begins at a key."""
        if self.table == "reputation/rows":
            return self.method, [start[0], 1]
        args: dict[str, Any] = {"start": list(start) if len(self.members) > 1 else start[0], "limit": limit}
        if self.order:
            args["order"] = self.order
        return self.method, args | self.options

    def start_after(self, record: Record) -> tuple[Any, ...]:
        """Return the key of a record: the start of the page that begins with it."""
        found = []
        for path in self.members:
            value: Any = record
            for member in path.split("."):
                value = value[member]
            found.append(value)
        return tuple(found)


def _owned(table: str, name: str, key: str, order: str, members: str, *blank: Any, **rest: Any) -> Listing:
    """Return a listing whose units are all rows of an account. The first member of a record's key is its name."""
    column = members.split()[0]
    return _database(table, name, key, order, members, *blank, unit=(f"{column}_" if column == "from" else column,), **rest)


def _database(table: str, name: str, key: str, order: str, members: str, *blank: Any, **rest: Any) -> Listing:
    return Listing(
        table=table, method=f"database_api.list_{name}", key=key, order=order, members=tuple(members.split()), blank=blank, **rest
    )


ASCENDING = {"order_direction": "ascending", "status": "all"}
SMALL: tuple[Listing, ...] = (
    _owned("witnesses", "witnesses", "witnesses", "by_name", "owner", "", finds=("database_api.find_witnesses", "owners", "witnesses")),
    _owned("witness_votes", "witness_votes", "votes", "by_account_witness", "account witness", "", ""),
    _owned("owner_histories", "owner_histories", "owner_auths", "", "account last_valid_time", "", TIME_MIN),
    _owned("recovery_requests", "account_recovery_requests", "requests", "by_account", "account_to_recover", ""),
    _owned("change_recovery_requests", "change_recovery_account_requests", "requests", "by_account", "account_to_recover", ""),
    _owned("decline_voting_requests", "decline_voting_rights_requests", "requests", "by_account", "account", ""),
    _owned("vesting_delegations", "vesting_delegations", "delegations", "by_delegation", "delegator delegatee", "", ""),
    _owned(
        "delegation_expirations",
        "vesting_delegation_expirations",
        "delegations",
        "by_account_expiration",
        "delegator expiration id",
        "",
        TIME_MIN,
        0,
    ),
    _owned("withdraw_routes", "withdraw_vesting_routes", "routes", "by_withdraw_route", "from_account to_account", "", ""),
    _owned("limit_orders", "limit_orders", "orders", "by_account", "seller orderid", "", 0),
    _owned("convert_requests", "sbd_conversion_requests", "requests", "by_account", "owner requestid", "", 0),
    _owned("escrows", "escrows", "escrows", "by_from_id", "from escrow_id", "", 0),
    _owned("savings_withdraws", "savings_withdrawals", "withdrawals", "by_from_id", "from request_id", "", 0),
    _owned("proposals", "proposals", "proposals", "by_creator", "creator proposal_id", "", 0, options=ASCENDING),
    _owned(
        "proposal_votes", "proposal_votes", "proposal_votes", "by_voter_proposal", "voter proposal.proposal_id", "", 0, options=ASCENDING
    ),
)
"""The tables that a source has few rows of, compared with accounts and posts."""
TOKENS: tuple[Listing, ...] = (
    _database("smt_tokens", "smt_tokens", "tokens", "by_symbol", "token.liquid_symbol", {}, others=("smt_icos",)),
    _database("smt_emissions", "smt_token_emissions", "token_emissions", "by_symbol_time", "symbol schedule_time"),
    _database("smt_contributions", "smt_contributions", "contributions", "by_symbol_contributor", "symbol contributor contribution_id"),
)
COMMENTS = _database(
    "comments",
    "comments",
    "comments",
    "by_permlink",
    "author permlink",
    "",
    "",
    others=("comment_contents",),
    unit=("author", "permlink"),
    finds=("database_api.find_comments", "comments", "comments"),
)
VOTES = _database("comment_votes", "votes", "votes", "by_comment_voter", "author permlink voter", "", "", "", unit=("comment",))
ACCOUNTS = _database(
    "accounts",
    "accounts",
    "accounts",
    "by_name",
    "name",
    "",
    others=("account_metadata", "account_authorities"),
    unit=("name",),
    finds=("database_api.find_accounts", "accounts", "accounts"),
)
CREDITS = Listing(
    table="rc/accounts",
    method="rc_api.find_rc_accounts",
    key="rc_accounts",
    order="",
    members=("account",),
    blank=("",),
    unit=("account",),
    finds=("rc_api.find_rc_accounts", "accounts", "rc_accounts"),
)
REPUTATIONS = Listing(
    table="reputation/rows",
    method="condenser_api.get_account_reputations",
    key="",
    order="",
    members=("account",),
    blank=("",),
    unit=("account",),
)
PLUGINS = (CREDITS, REPUTATIONS)
"""The rows of plugins that are compared while blocks are applied. They are not read by pages of these listings."""
READ = (*SMALL, *TOKENS, COMMENTS, VOTES, ACCOUNTS)
LISTINGS = {listing.table: listing for listing in (*READ, *PLUGINS)}


def key_of(listing: Listing, row: PortableRow) -> UnitKey:
    """Return the key of the unit of a row in `listing.table`: that of votes is the author and the permlink of the comment."""
    key = tuple([row[column] for column in listing.unit])
    return key[0] if key and isinstance(key[0], tuple) else key


class ListReader:
    """Reads the lists of a source as portable rows with ids."""

    def __init__(self, source: Source, reader: Reader) -> None:
        self.source, self._reader = source, reader

    def rows(self, listing: Listing, records: Sequence[Record]) -> Batch:
        """Return the rows in records of a listing."""
        batch: Batch = {table: [] for table in listing.tables}
        method, read = listing.method, self._reader.parts
        for at, record in enumerate(records):
            member = f"{listing.key}[{at}]"
            match listing.table:
                case "accounts":
                    parts = read("accounts", method, record, member)
                    row, name = parts["row"], parts["row"]["name"]
                    batch["accounts"].append(row)
                    batch["account_metadata"].append({"account": name, **parts["metadata"]})
                    batch["account_authorities"].append({"account": name, **parts["authority"]})
                case "comments":
                    parts = read("comments", method, record, member)
                    row, root = parts["row"], parts["root"]
                    row["root_comment"] = (root["author"], root["permlink"])
                    batch["comments"].append(row)
                    batch["comment_contents"].append({"comment": (row["author"], row["permlink"]), **parts["texts"]})
                case "comment_votes":
                    parts = read("comment_votes", method, record, member)
                    comment = parts["comment"]
                    key = {"comment": (comment["author"], comment["permlink"]), "voter": parts["extras"]["voter"]}
                    batch["comment_votes"].append(key | parts["row"])
                case "proposal_votes":
                    parts = read("proposal_votes", method, record, member)
                    batch["proposal_votes"].append(parts["row"] | {"proposal_id": parts["proposal.row"]["proposal_id"]})
                case "smt_tokens":
                    batch["smt_tokens"].append(self._reader.row("smt_tokens", method, record.get("token"), f"{member}.token"))
                    if record.get("ico") is not None:
                        batch["smt_icos"].append(self._reader.row("smt_icos", method, record["ico"], f"{member}.ico"))
                case table:
                    batch[table].append(self._reader.row(table, method, record, member))
        return batch

    async def pages(
        self, listing: Listing, start: tuple[Any, ...] | None = None
    ) -> AsyncIterator[tuple[list[Record], tuple[Any, ...], bool]]:
        """Yield the records of a listing page by page, from the page that begins at `start` on, each page with the start of the next, and
        whether it is the last.
        """
        limit, count = ROWS_OF_PAGE, 0
        starts = [listing.blank if start is None else start]
        ends: set[str] = set()
        while True:
            records, limit = await self._page(listing, starts, limit)
            is_last = len(records) < limit
            fresh = records[1:] if records and self._start(listing, records, 0) == starts[-1] else records
            if not fresh and not is_last:
                raise self.source.wrong(listing.method, listing.key, "the page doesn't go on from its start")
            count += len(fresh)
            if count > ROWS_MAX:
                raise self.source.wrong(listing.method, listing.key, f"there are more than {ROWS_MAX} rows")
            if fresh:
                starts = [self._start(listing, records, at) for at in range(max(0, len(records) - STARTS_TRIED_MAX), len(records))]
                if repr(starts[-1]) in ends:
                    raise self.source.wrong(listing.method, listing.key, "its pages begin again")
                ends.add(repr(starts[-1]))
            yield fresh, starts[-1], is_last
            if is_last:
                return

    def _start(self, listing: Listing, records: list[Record], at: int) -> tuple[Any, ...]:
        try:
            return listing.start_after(records[at])
        except (LookupError, TypeError):
            raise self.source.wrong(listing.method, f"{listing.key}[{at}]", "a member of its key is missing") from None

    async def _page(self, listing: Listing, starts: list[tuple[Any, ...]], limit: int) -> tuple[list[Record], int]:
        """Return the page that begins at the last of `starts`, and the limit with which it was read.

        A start is refused if its row has been removed, and earlier ones are tried. Pages that are too large are read with a smaller limit.
        """
        while True:
            method, args = listing.call(starts[-1], limit)
            try:
                return self._reader.items(method, await self.source.call(method, args), listing.key, limit), limit
            except RefusedCall:
                if len(starts) == 1:
                    raise
                starts.pop()
            except (SourceWrong, SourceSilent):
                if limit <= ROWS_OF_PAGE_MIN:
                    raise
                limit = max(ROWS_OF_PAGE_MIN, limit // 4)

    def unit_calls(self, units: Sequence[Unit]) -> Iterator[tuple[list[Unit], Call]]:
        """Yield calls that together return the rows of units, each with its units. `answers` reads their results."""
        found: dict[str, list[Unit]] = {}
        for unit in units:
            listing = LISTINGS[unit[0]]
            if listing.finds is not None:
                found.setdefault(unit[0], []).append(unit)
            elif listing.unit:
                yield [unit], listing.call((*unit[1], *listing.blank[len(unit[1]) :]), ROWS_OF_UNIT)
            else:
                yield [unit], listing.call(listing.blank, ROWS_OF_PAGE)
        for table, some in found.items():
            finds = LISTINGS[table].finds
            assert finds is not None
            for at in range(0, len(some), UNITS_OF_CALL):
                part = some[at : at + UNITS_OF_CALL]
                yield part, (finds[0], {finds[1]: [key[0] if len(key) == 1 else list(key) for _, key in part]})

    def answers(self, units: list[Unit], result: Any) -> dict[Unit, Batch] | None:
        """Return the rows of units from the result of their call, or None if a unit has more rows than the call returns."""
        listing = LISTINGS[units[0][0]]
        if isinstance(result, RefusedCall):
            if listing is not VOTES:
                raise result
            # The comment whose votes were asked for doesn't exist.
            return {unit: {table: [] for table in listing.tables} for unit in units}
        key, limit = (listing.finds[2], ROWS_OF_PAGE) if listing.finds else (listing.key, ROWS_OF_UNIT if listing.unit else ROWS_OF_PAGE)
        if listing is REPUTATIONS:
            limit = 1
        records = self._reader.items(listing.method, result, key, limit)
        found: dict[Unit, Batch] = {unit: {table: [] for table in listing.tables} for unit in units}
        for record in records:
            batch = self.rows(listing, [record])
            unit = (listing.table, key_of(listing, batch[listing.table][0]))
            if unit in found:
                for table, rows in batch.items():
                    found[unit][table] += rows
            elif listing.finds is None:
                return found
        is_long = len(records) >= limit and listing.finds is None and listing is not REPUTATIONS
        return None if is_long else found

    async def unit(self, unit: Unit) -> Batch:
        """Return the rows of a unit that has many, page by page."""
        listing = LISTINGS[unit[0]]
        batch: Batch = {table: [] for table in listing.tables}
        start = (*unit[1], *listing.blank[len(unit[1]) :]) if listing.unit else None
        async for records, _, _ in self.pages(listing, start):
            for record in records:
                rows = self.rows(listing, [record])
                if key_of(listing, rows[listing.table][0]) != unit[1]:
                    return batch
                for table, some in rows.items():
                    batch[table] += some
        return batch
