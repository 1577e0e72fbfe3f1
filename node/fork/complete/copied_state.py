"""The state of a copy: it applies the source's blocks by the rules, and takes the source's rows where its own differ.

A row that was read can include the effects of the source's pending transactions, or belong to another block than other rows. A transaction
whose rows are wrong can then be refused here. It is left out, and the rows that it names are read again.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from node.fork.complete.listings import LISTINGS, WORLD, Listing, Unit, UnitKey, key_of
from node.fork.complete.world import Head
from node.runtime.errors import NodeError
from state.chain.blocks import apply_beginning, apply_end
from state.chain.changes import RowChange, changes_since
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED, Skip
from state.chain.transactions import apply_transaction
from state.plugins.account_history import ACCOUNT_HISTORY
from state.plugins.follow.lists import known_reputations
from state.plugins.rc.plugin import RC
from state.plugins.registry import enable
from state.portable import PORTABLE, Batch, Portable, PortableRow, import_world
from state.portable.exports import exported_rows, shown_lines
from state.protocol.errors import ChainError
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.store import Row, Table
from state.tables import State
from state.tables.globals import TransactionRecord

WORLD_TABLES = ("global_properties", "witness_schedules", "feed_histories", "hardfork_properties", "reward_funds", "nai_pools", "rc/pools")
SKIPPED = TRUSTED & ~Skip.MERKLE_CHECK
TABLE_LISTINGS: dict[str, Listing] = {table: listing for listing in LISTINGS.values() for table in listing.tables}
# The rows of a unit, by table: the function returns those whose key in the first table of the listing is the unit's key.
OF_UNIT: dict[str, Callable[[State, Any], Iterable[Row | None]]] = {
    "accounts": lambda state, key: [state.accounts.by_name.get(*key)],
    "account_metadata": lambda state, key: [
        None if (row := state.accounts.by_name.get(*key)) is None else state.account_metadata.by_account.get(row.id)
    ],
    "account_authorities": lambda state, key: [state.account_authorities.by_account.get(*key)],
    "witnesses": lambda state, key: [state.witnesses.by_name.get(*key)],
    "witness_votes": lambda state, key: state.witness_votes.by_account_witness.equal(*key),
    "owner_histories": lambda state, key: state.owner_histories.by_account.equal(*key),
    "recovery_requests": lambda state, key: state.recovery_requests.by_account.equal(*key),
    "change_recovery_requests": lambda state, key: state.change_recovery_requests.by_account.equal(*key),
    "decline_voting_requests": lambda state, key: state.decline_voting_requests.by_account.equal(*key),
    "vesting_delegations": lambda state, key: state.vesting_delegations.by_delegation.equal(*key),
    "delegation_expirations": lambda state, key: state.delegation_expirations.by_account_expiration.equal(*key),
    "withdraw_routes": lambda state, key: state.withdraw_routes.by_withdraw_route.equal(*key),
    "limit_orders": lambda state, key: state.limit_orders.by_account.equal(*key),
    "convert_requests": lambda state, key: state.convert_requests.by_owner.equal(*key),
    "escrows": lambda state, key: state.escrows.by_from_id.equal(*key),
    "savings_withdraws": lambda state, key: state.savings_withdraws.by_from_rid.equal(*key),
    "proposals": lambda state, key: (row for row in state.proposals.by_creator.equal(*key) if not row.removed),
    "proposal_votes": lambda state, key: state.proposal_votes.by_voter_proposal.equal(*key),
    "comments": lambda state, key: [state.comments.by_permlink.get(*key)],
    "comment_contents": lambda state, key: [
        None if (row := state.comments.by_permlink.get(*key)) is None else state.comment_contents.by_comment.get(row.id)
    ],
    "comment_votes": lambda state, key: (
        () if (row := state.comments.by_permlink.get(*key)) is None else state.comment_votes.of_comment.of(row.id)
    ),
    "rc/accounts": lambda state, key: [RC.of(state).accounts.by_account.get(*key)],
    "reputation/rows": lambda state, key: [] if (kept := known_reputations(state)) is None else [kept.by_account.get(*key)],
    "smt_tokens": lambda state, key: state.smt_tokens,
    "smt_icos": lambda state, key: state.smt_icos,
    "smt_emissions": lambda state, key: state.smt_emissions,
    "smt_contributions": lambda state, key: state.smt_contributions,
}


class BlockUnusable(NodeError):
    """A block of the source can't be applied to the copy."""


class Applied(Struct):
    """The result of a block: the units with rows that it changed, and the transactions that were left out."""

    units: set[Unit]
    left_out: list[SignedTransaction]


class CopiedState:
    """The state of a copy, which was read at some block."""

    def __init__(self, spec: ChainSpec, plugins: Iterable[str] = ()) -> None:
        self.state = new_state(spec, prepare=lambda state: enable(state, plugins))
        self.tables: dict[str, Table[Any]] = dict(self.state.tables())
        reputations = known_reputations(self.state)
        if reputations is not None:
            self.tables["reputation/rows"] = reputations
        if (rc := RC.find(self.state)) is not None:
            self.tables |= {"rc/accounts": rc.accounts, "rc/pools": rc.pools}
        self._names = {id(table): name for name, table in self.tables.items()}

    def load(self, batch: Batch, next_ids: dict[str, int]) -> None:
        """Replace the state by the rows of a batch. `next_ids` are the ids of the next new rows. Raises ValueError."""
        state = self.state
        import_world(state, batch, is_complete=True)
        for name, next_id in next_ids.items():
            if name in self.tables:
                self.tables[name].skip_ids(next_id)
        state.journal.commit(state.journal.position())
        for number, time in enumerate(state.hardforks.processed_hardforks):
            state.hardfork_times[number] = time
        state.position.block = state.props.head_block_number

    def batch(self) -> Batch:
        """Return all rows of the state's own tables, with their ids."""
        return {name: self._with_ids(list(table.scan()), PORTABLE[name]) for name, table in self.state.tables() if name in PORTABLE}

    def _with_ids(self, rows: list[Row], portable: Portable) -> list[PortableRow]:
        found = []
        for row in rows:
            for exported in exported_rows(self.state, [row], portable):
                found.append(exported | {"id": row.id})
        return found

    def rows_of(self, *units: Iterable[Unit]) -> Batch:
        """Return the rows of several units."""
        found: Batch = {}
        for unit in chain.from_iterable(units):
            for table, rows in self.rows(unit).items():
                found.setdefault(table, []).extend(rows)
        return found

    @property
    def head(self) -> Head:
        """The block to which the state belongs."""
        return Head(self.number, self.state.props.head_block_id.hex())

    @property
    def number(self) -> int:
        """The number of the block to which the state belongs."""
        return self.state.props.head_block_number

    def apply(self, block: SignedBlock) -> Applied:
        """Apply a block. A transaction that is refused is left out. Raises BlockUnusable, and then changes nothing."""
        state, left_out = self.state, []
        mark = state.journal.position()
        try:
            apply_beginning(state, block, 0, SKIPPED)
            for trx in block.transactions:
                before = state.journal.position()
                try:
                    apply_transaction(state, trx, SKIPPED)
                except ChainError:
                    state.journal.undo(before)
                    left_out.append(trx)
                    if state.transactions.by_trx_id.get(trx.id) is None:
                        state.transactions.insert(TransactionRecord(trx_id=trx.id, expiration=trx.expiration))
                state.position.trx_in_block += 1
            apply_end(state, block, SKIPPED)
        except (ChainError, AssertionError, ArithmeticError) as error:
            state.journal.undo(mark)
            why = error.message(state.spec.spell) if isinstance(error, ChainError) else str(error)
            raise BlockUnusable(f"block {block.number} can't be applied to the copy: {why}") from None
        return Applied(self._units(mark), left_out)

    def forget_history(self) -> None:
        """Drop the histories of accounts, which have only the operations since the state was loaded."""
        plugin, state = ACCOUNT_HISTORY, self.state
        if not plugin.is_on(state):
            return
        state.journal.commit(state.journal.position())
        fresh = new_state(state.spec, prepare=plugin.enable)
        empty = plugin.parts(fresh, plugin.of(fresh))
        for name, part in plugin.parts(state, plugin.of(state)).items():
            part.read(empty[name].dump())()

    def undo(self, mark: int) -> None:
        """Undo all changes since a position of the journal."""
        self.state.journal.undo(mark)

    def _units(self, mark: int) -> set[Unit]:
        """Return the units with rows that were changed since a position of the journal."""
        changes = list(changes_since(self.state, mark))
        comments = {change.row.id: (change.row.author, change.row.permlink) for change in changes if change.name == "comments"}  # type: ignore[attr-defined]
        units = (self._unit(change, comments) for change in changes)
        return {unit for unit in units if unit is not None}

    def _unit(self, change: RowChange, comments: dict[int, tuple[str, str]]) -> Unit | None:
        """Return the unit of a changed row, or None if methods show no such row. `comments` are the keys of changed comments."""
        name = self._names.get(id(change.table), "")
        if name in WORLD_TABLES:
            return WORLD
        listing = TABLE_LISTINGS.get(name)
        if listing is None:
            return None
        row: Any = change.row
        if not listing.unit:
            return listing.table, ()
        match name:
            case "account_metadata":
                return listing.table, (self.state.accounts.find(row.account).name,)
            case "account_authorities":
                return listing.table, (row.account,)
            case "comment_contents" | "comment_votes":
                comment = self.state.comments.get(row.comment)
                key = comments.get(row.comment) if comment is None else (comment.author, comment.permlink)
                return None if key is None else (listing.table, key)
        return listing.table, tuple([getattr(row, column) for column in listing.unit])

    def rows(self, unit: Unit) -> Batch:
        """Return the rows of a unit as portable rows."""
        return {table: exported_rows(self.state, self._rows(table, unit), PORTABLE[table]) for table in self._tables_of(unit)}

    def _tables_of(self, unit: Unit) -> list[str]:
        """Return the tables with rows of a unit."""
        return [name for name in (WORLD_TABLES if unit == WORLD else LISTINGS[unit[0]].tables) if name in self.tables]

    def _rows(self, table: str, unit: Unit) -> list[Row]:
        if unit == WORLD:
            return list(self.tables[table])
        return [row for row in OF_UNIT[table](self.state, unit[1]) if row is not None]

    def differs(self, unit: Unit, batch: Batch) -> bool:
        """Whether methods would show other rows of a unit than those of a batch."""
        ours = self.rows(unit)
        return any(lines(table, ours[table]) != lines(table, batch.get(table, [])) for table in ours)

    def differing(self, listing: Listing, batch: Batch) -> set[Unit]:
        """Return the units of a listing whose rows differ from those of a batch, which has all of them."""
        table = listing.table
        ours = exported_rows(self.state, self.tables[table], PORTABLE[table])
        if table == "proposals":
            ours = [row for row in ours if not row["removed"]]
        if lines(table, ours) == lines(table, batch[table]):
            return set()
        rows: dict[UnitKey, tuple[list[PortableRow], list[PortableRow]]] = {}
        for at, some in enumerate((ours, batch[table])):
            for row in some:
                rows.setdefault(key_of(listing, row), ([], []))[at].append(row)
        return {(table, key) for key, (own, other) in rows.items() if lines(table, own) != lines(table, other)}

    def ids(self, unit: Unit) -> list[int]:
        """Return the ids of a unit's rows in the first table of its listing, ascending."""
        return sorted(row.id for row in self._rows(unit[0], unit))

    def renumber(self, unit: Unit, batch: Batch) -> None:
        """Give the rows of a unit the ids that those of a batch with the same keys have."""
        name = unit[0]
        table, portable = self.tables[name], PORTABLE[name]
        ours = self._rows(name, unit)
        ids = {tuple([row[column] for column in portable.key]): row["id"] for row in batch[name]}
        moved = []
        for row, exported in zip(ours, exported_rows(self.state, ours, portable), strict=True):
            row_id = ids.get(tuple([exported[column] for column in portable.key]))
            if row_id is not None and row_id != row.id:
                moved.append((row_id, row))
        for _, row in moved:
            table.remove(row)
        for row_id, row in moved:
            table.insert_at(row_id, replace(row, id=-1))

    def adopt(self, unit: Unit, batch: Batch) -> None:
        """Replace the rows of a unit by those of a batch. Hidden columns of rows that are here stay. Raises ChainError or ValueError if the
        rows don't fit the others; the rows are then as before.
        """
        with self.state.journal.session():
            for table in self._tables_of(unit):
                self._adopt(table, self._rows(table, unit), batch.get(table, []))

    def _adopt(self, name: str, ours: list[Row], theirs: list[PortableRow]) -> None:
        table, portable = self.tables[name], PORTABLE[name]
        left: dict[Any, list[Row]] = {}
        for row, portable_row in zip(ours, exported_rows(self.state, ours, portable), strict=True):
            left.setdefault(tuple(portable_row[column] for column in portable.key), []).append(row)
        for given in theirs:
            same = left.get(tuple(given[column] for column in portable.key))
            values = {column: given[column] for column in portable.shown if column in given}
            own_key = None
            for column, reference in portable.references.items():
                found = reference.id_of(self.state, values[column])
                if found is None and reference.table is type(table) and tuple(given[name] for name in portable.key) == values[column]:
                    own_key = column
                    found = -1
                if found is None:
                    raise ValueError(f"a row of {name} refers to {values[column]!r}, which isn't here")
                values[column] = found
            if same:
                row = same.pop(0)
                changed = {column: value for column, value in values.items() if getattr(row, column) != value}
                if changed:
                    table.modify(row, **changed)
            else:
                row = table.insert_at(given.get("id", table.next_id), portable.row(**values))
                if own_key is not None:
                    table.modify(row, **{own_key: row.id})
        for rows in left.values():
            for row in rows:
                self._remove(name, table, row)

    def _remove(self, name: str, table: Table[Any], row: Row) -> None:
        if name == "comments":
            for vote in self.state.comment_votes.of_comment.of(row.id):
                self.state.comment_votes.remove(vote)
        table.remove(row)


def lines(table: str, rows: list[PortableRow]) -> list[bytes]:
    """Return what methods show of rows, in a comparable form. Columns that are left out have their defaults."""
    portable = PORTABLE[table]
    defaults = {column: getattr(portable.row(), column) for column in portable.shown if column not in portable.key}
    return sorted(shown_lines(portable, [defaults | row for row in rows]))
