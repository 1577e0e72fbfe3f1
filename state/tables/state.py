"""The state of a chain: all its tables with the journal, the chain spec and the listeners. It knows nothing of what changes them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from msgspec import Struct

from state.protocol.constants import EDIT_STEPS_MAX
from state.protocol.errors import UnknownKey, require
from state.protocol.operation import Needed, Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import ZERO_ID, SignedBlock, SignedTransaction, Wire
from state.protocol.work import Work
from state.store import Journal, Table
from state.store.rows import Keeping
from state.tables import accounts, content, globals, market, payments, proposals, smt, witnesses

ACCEPTED_MAX = 100_000
UNDO_UNITS = 50  # for UNDO_CHUNK records
BLOCKS_BETWEEN_LOOKS = 1000  # after so many, orders that nobody reads give back their memory


def no_operations(number: int, index: int, size: int) -> tuple[bytes, tuple[Operation, ...]]:
    """Find no operations: what stands in `State.operations_of` before a chain has set it."""
    raise AssertionError("no chain keeps blocks")


class Coordinates(Struct):
    """The place in the chain of the operation that is being applied (block-processing.md §7.1); listeners store it."""

    trx_id: bytes = ZERO_ID
    block: int = 0
    trx_in_block: int = 0
    op_in_trx: int = 0
    virtual_op: int = 0
    # The work that edits may still take in the transaction.
    edit_steps: int = EDIT_STEPS_MAX


class ByClass(dict[type, tuple[Callable[[Any, Any], None], ...]]):
    """The listeners to operations, by class of operation: chosen from those `asked` when a class is first looked up."""

    def __init__(self, asked: list[tuple[Any, type | None]]) -> None:
        super().__init__()
        self._asked = asked

    def __missing__(self, cls: type) -> tuple[Callable[[Any, Any], None], ...]:
        found = self[cls] = tuple(listener for listener, wanted in self._asked if wanted is None or wanted is cls)
        return found


class Listeners:
    """The functions that are called around blocks, transactions and operations, in the order in which they were added.

    The chain and the enabled plugins add them. A listener of operations names the classes that it wants, or none for all;
    virtual operations count as well.
    """

    def __init__(self) -> None:
        self.before_block: list[Callable[[Any, SignedBlock], None]] = []
        self.after_block: list[Callable[[Any, SignedBlock], None]] = []
        self.before_transaction: list[Callable[[Any, SignedTransaction], None]] = []
        self.after_transaction: list[Callable[[Any, SignedTransaction], None]] = []
        self.irreversible: list[Callable[[Any, int], None]] = []
        # Around an edit by hand of the VESTS or the authorities of an account (state/chain/edits.py), with the account's name.
        self.before_edit: list[Callable[[Any, str], None]] = []
        self.after_edit: list[Callable[[Any, str], None]] = []
        self._operations: tuple[list[tuple[Any, type | None]], list[tuple[Any, type | None]]] = ([], [])
        # The same by class: chosen once for each, then looked up without a call.
        self.before_operation, self.after_operation = ByClass(self._operations[False]), ByClass(self._operations[True])

    def on_operation(self, listener: Callable[[Any, Any], None], *classes: type[Operation], after: bool = True) -> None:
        """Have `listener(state, operation)` called after (or before) each operation of these classes; without any, of all."""
        self._operations[after].extend((listener, cls) for cls in classes or (None,))
        (self.after_operation if after else self.before_operation).clear()

    def watch_operations(self, listener: Callable[[Any, Any], None]) -> None:
        """Have a listener called before each operation, and before all other listeners: none of them can keep it from being called."""
        self._operations[False].insert(0, (listener, None))
        self.before_operation.clear()

    def unwatch_operations(self, listener: Callable[[Any, Any], None]) -> None:
        """Call a listener of `watch_operations` no more."""
        self._operations[False].remove((listener, None))
        self.before_operation.clear()


class Impersonated:
    """The accounts whose transactions need no signatures, on a chain made for tests; `is_on` is whether there is anything to ask here.

    `accepted` are the ids of transactions that were accepted with less than they need, at most ACCEPTED_MAX, the oldest first: they
    are applied again, after another block or on another branch, and stay valid when impersonation has ended.
    """

    __slots__ = ("accepted", "accounts", "is_everyone", "is_on")

    def __init__(self) -> None:
        self.accounts: frozenset[str] = frozenset()
        self.is_everyone = False
        self.accepted: dict[bytes, None] = {}
        self.is_on = False

    def set(self, accounts: Iterable[str], is_everyone: bool) -> None:
        """Impersonate these accounts and no others, or everyone."""
        self.accounts, self.is_everyone = frozenset(accounts), is_everyone
        self.is_on = bool(self.accounts or is_everyone or self.accepted)

    def left(self, needed: Needed) -> Needed:
        """Return what is needed of accounts that aren't impersonated."""
        if self.is_everyone:
            return Needed(set(), set(), set(), [])
        names = self.accounts
        return Needed(needed.posting - names, needed.active - names, needed.owner - names, needed.other)

    def accept(self, trx_id: bytes) -> None:
        """Note a transaction that was accepted with less than it needs."""
        self.accepted[trx_id] = None
        self.is_on = True
        if len(self.accepted) > ACCEPTED_MAX:
            del self.accepted[next(iter(self.accepted))]


class Pushing:
    """The time in which a transaction enters this node, as a context: made of a generator it would take 2 % of a transfer's time."""

    __slots__ = ("_state",)

    def __init__(self, state: "State") -> None:
        self._state = state

    def __enter__(self) -> None:
        require(not self._state.is_pushing, condition="transactions are pushed one at a time")
        self._state.is_pushing = True

    def __exit__(self, *error: object) -> None:
        self._state.is_pushing = False


class State:
    """All tables of one chain. `props`, `schedule`, `feed`, `hardforks` and `nai_pool` are the only rows of their tables.

    A row object stays the same for as long as it is in its table, and undoing changes it back, so these attributes and
    references that rules hold never go stale.
    """

    # Set by `find_single_rows`. `set_props(field=value, ...)` changes global properties: a function that is made for the row, as each
    # block calls it often.
    set_props: Callable[..., None]
    props: globals.GlobalProperties
    schedule: globals.WitnessSchedule
    feed: globals.FeedHistory
    hardforks: globals.HardforkProperties
    nai_pool: smt.NaiPool

    def __init__(self, spec: ChainSpec) -> None:
        self.spec = spec
        self.wire = Wire(spec)
        self.journal = journal = Journal()
        self.here = Coordinates()
        self.work = Work()
        self.wire.codecs.spend = self.work.spend
        self.journal.on_undone = lambda: self.work.undo(UNDO_UNITS)
        self.listeners = Listeners()
        # A copy, since set_hardfork moves the times of the first five. As in the reference they are this node's own memory
        # and not part of the state: popping a block leaves them as they are.
        self.hardfork_times = list(spec.hardfork_times)
        # True only while push_transaction works (block-processing.md §2.7). The reference calls this `is_producing`: soft rules
        # of this node apply then, and rules that a later hardfork makes binding are kept already.
        self.is_pushing = False
        self.impersonated = Impersonated()
        # The time of a block of the main branch, None for a block that isn't there. The chain, which keeps the blocks, sets it.
        self.time_of_block: Callable[[int], int | None] = lambda number: None
        # Id and operations of a transaction of the main branch: by block, place there, and bytes from its beginning to the block's end.
        self.operations_of: Callable[[int, int, int], tuple[bytes, tuple[Operation, ...]]] = no_operations
        # The data of enabled plugins, by plugin name; `Plugin.of` gives it back with its type. And their interpreters of custom
        # operations, by id.
        self.plugins: dict[str, Any] = {}
        self.interpreters: dict[str, Callable[[Any, Any], None]] = {}
        # For checkpoints: functions that keep what plugins hold and return what puts it back, and functions that are called when
        # everything has been put back.
        self.keepers: list[Callable[[], Keeping]] = []
        self.on_put_back: list[Callable[[], None]] = []

        self.global_properties = globals.GlobalPropertiesTable(journal)
        self.accounts = accounts.Accounts(journal)
        self.account_metadata = accounts.AccountMetadataTable(journal)
        self.account_authorities = accounts.AccountAuthorities(journal)
        self.witnesses = witnesses.Witnesses(journal)
        self.transactions = globals.TransactionRecords(journal)
        self.block_summaries = globals.BlockSummaries(journal)
        self.witness_schedules = globals.WitnessScheduleTable(journal)
        self.comments = content.Comments(journal)
        self.comment_contents = content.CommentContents(journal)
        self.comment_votes = content.CommentVotes(journal)
        self.witness_votes = witnesses.WitnessVotes(journal)
        self.limit_orders = market.LimitOrders(journal)
        self.feed_histories = globals.FeedHistoryTable(journal)
        self.convert_requests = market.ConvertRequests(journal)
        self.liquidity_rewards = market.LiquidityRewards(journal)
        self.hardfork_properties = globals.HardforkPropertiesTable(journal)
        self.withdraw_routes = accounts.WithdrawRoutes(journal)
        self.owner_histories = accounts.OwnerHistories(journal)
        self.recovery_requests = accounts.RecoveryRequests(journal)
        self.change_recovery_requests = accounts.ChangeRecoveryRequests(journal)
        self.escrows = payments.Escrows(journal)
        self.savings_withdraws = payments.SavingsWithdraws(journal)
        self.decline_voting_requests = accounts.DeclineVotingRequests(journal)
        self.reward_funds = globals.RewardFunds(journal)
        self.vesting_delegations = accounts.VestingDelegations(journal)
        self.delegation_expirations = accounts.DelegationExpirations(journal)
        self.required_actions = smt.PendingRequiredActions(journal)
        self.optional_actions = smt.PendingOptionalActions(journal)
        self.proposals = proposals.Proposals(journal)
        self.proposal_votes = proposals.ProposalVotes(journal)
        self.smt_tokens = smt.SmtTokens(journal)
        self.regular_balances = smt.RegularBalances(journal)
        self.rewards_balances = smt.RewardsBalances(journal)
        self.nai_pools = smt.NaiPoolTable(journal)
        self.smt_emissions = smt.SmtEmissions(journal)
        self.smt_contributions = smt.SmtContributions(journal)
        self.smt_icos = smt.SmtIcos(journal)

    # -------------------------------------------------------------- rows that most rules need

    # Getters made in C, since rules read these more than ten times a transaction.
    hardfork: int = property(attrgetter("hardforks.last_hardfork"), doc="The number of the last hardfork that has been applied.")  # type: ignore[assignment]
    head_time: int = property(  # type: ignore[assignment]
        attrgetter("props.time"), doc="The time of the head block; while a block's transactions are applied that is the block before it."
    )

    def account(self, name: str) -> accounts.Account:
        """Return the account of this name, or refuse an unknown one."""
        row = self.accounts.by_name.get(name)
        if row is None:
            raise UnknownKey(kind="account", key=(name,))
        return row

    def authority(self, name: str) -> accounts.AccountAuthority:
        """Return the authorities of an account, or refuse one that has none."""
        row = self.account_authorities.by_account.get(name)
        if row is None:
            raise UnknownKey(kind="authority", key=(name,))
        return row

    def witness(self, owner: str) -> witnesses.Witness:
        """Return the witness of this name, or refuse an unknown one."""
        row = self.witnesses.by_name.get(owner)
        if row is None:
            raise UnknownKey(kind="witness", key=(owner,))
        return row

    def find_single_rows(self) -> None:
        """Point the attributes for the rows of tables with one row at these, after all rows have been replaced."""
        self.props = next(iter(self.global_properties))
        self.set_props = partial(self.global_properties.modify, self.props)
        self.feed = next(iter(self.feed_histories))
        self.hardforks = next(iter(self.hardfork_properties))
        self.schedule = next(iter(self.witness_schedules))
        self.nai_pool = next(iter(self.nai_pools))

    def tables(self) -> Iterator[tuple[str, Table[Any]]]:
        """Yield all tables with their names, in the order of `__init__`."""
        return ((name, value) for name, value in vars(self).items() if isinstance(value, Table))

    def let_go(self, number: int) -> None:
        """When block `number` has become irreversible: every now and then give back the memory of orders that nobody reads."""
        if not number % BLOCKS_BETWEEN_LOOKS:
            for _, table in self.tables():
                table.let_go()

    def pushing(self) -> Pushing:
        """Return a context that marks the time in which a transaction enters this node, and the rules for that apply."""
        return Pushing(self)
