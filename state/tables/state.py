"""The state of a chain: all tables, the undo journal, the chain spec and the listeners."""

import functools
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

from msgspec import Struct

from state.protocol.constants import EDIT_STEPS_MAX
from state.protocol.errors import UnknownKey, require
from state.protocol.operation import Needed, Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import ZERO_ID, SignedBlock, SignedTransaction, Wire
from state.protocol.work import PAUSE_UNITS, Work
from state.store import Journal, Table
from state.store.rows import Copying, specialize_assignments
from state.tables import accounts, content, globals, market, partial, payments, proposals, smt, texts, witnesses

ACCEPTED_MAX = 100_000
PARTIAL_TABLES = ("partial_accounts", "outside_witness_votes", "outside_proposal_votes")
Batch = dict[str, list[dict[str, Any]]]  # of portable rows
UNDO_UNITS = PAUSE_UNITS + 1  # units of work per UNDO_CHUNK records, so that a job can be interrupted after each
BLOCKS_BETWEEN_LOOKS = 1000  # blocks between two checks for unread orders, whose memory is freed


def no_operations(number: int, index: int, size: int, check: int) -> tuple[bytes, tuple[Operation, ...]]:
    """Placeholder for `State.operations_of`, used until a chain sets the attribute."""
    raise AssertionError("the state belongs to no chain with blocks")


class OperationPosition(Struct, gc=False):
    """Position of the operation that is being applied (block-processing.md §7.1), for listeners."""

    trx_id: bytes = ZERO_ID
    block: int = 0
    trx_in_block: int = 0
    op_in_trx: int = 0
    virtual_op: int = 0
    # Remaining work budget of the transaction for body patches.
    edit_steps: int = EDIT_STEPS_MAX


specialize_assignments(OperationPosition)


class ByClass(dict[type, tuple[Callable[[Any, Any], None], ...]]):
    """Operation listeners by operation class. On the first lookup of a class, its listeners are selected from `asked`."""

    def __init__(self, asked: list[tuple[Any, type | None]]) -> None:
        super().__init__()
        self._asked = asked

    def __missing__(self, cls: type) -> tuple[Callable[[Any, Any], None], ...]:
        found = self[cls] = tuple(listener for listener, wanted in self._asked if wanted is None or wanted is cls)
        return found


class Listeners:
    """Functions called before or after blocks, transactions and operations, in the order of registration.

    The chain and the enabled plugins register them. An operation listener names its operation classes, or none for all, including virtual
    operations.
    """

    def __init__(self) -> None:
        self.before_block: list[Callable[[Any, SignedBlock], None]] = []
        self.after_block: list[Callable[[Any, SignedBlock], None]] = []
        self.before_transaction: list[Callable[[Any, SignedTransaction], None]] = []
        self.after_transaction: list[Callable[[Any, SignedTransaction], None]] = []
        self.irreversible: list[Callable[[Any, int], None]] = []
        # Called before and after a state edit of the VESTS or authorities of an account (state/chain/state_edits.py), with the account's
        # name.
        self.before_edit: list[Callable[[Any, str], None]] = []
        self.after_edit: list[Callable[[Any, str], None]] = []
        # Functions of plugins that import and export their portable rows (state/portable).
        self.on_import: list[Callable[[Batch], None]] = []
        self.on_export: list[Callable[[], Batch]] = []
        self._operations: tuple[list[tuple[Any, type | None]], list[tuple[Any, type | None]]] = ([], [])
        # The same listeners by class, selected once per class.
        self.before_operation, self.after_operation = ByClass(self._operations[False]), ByClass(self._operations[True])

    def on_operation(self, listener: Callable[[Any, Any], None], *classes: type[Operation], after: bool = True) -> None:
        """Call `listener(state, operation)` after (or before) each operation of these classes.

        Without classes, call it for all operations.
        """
        self._operations[after].extend((listener, cls) for cls in classes or (None,))
        (self.after_operation if after else self.before_operation).clear()

    def watch_operations(self, listener: Callable[[Any, Any], None]) -> None:
        """Call a listener before each operation and before all other listeners, so that an error in another listener can't prevent the
        call.
        """
        self._operations[False].insert(0, (listener, None))
        self.before_operation.clear()

    def unwatch_operations(self, listener: Callable[[Any, Any], None]) -> None:
        """Remove a listener that `watch_operations` added."""
        self._operations[False].remove((listener, None))
        self.before_operation.clear()


class Impersonated:
    """The accounts of a test chain whose transactions need no signatures.

    `accepted` contains the ids of transactions that were accepted without a required signature, oldest first, at most ACCEPTED_MAX. They
    remain valid after impersonation ends, when they are applied again after another block or on another branch. `is_on` is False if neither
    accounts nor accepted ids need to be checked.
    """

    __slots__ = ("accepted", "accounts", "is_everyone", "is_on")

    def __init__(self) -> None:
        self.accounts: frozenset[str] = frozenset()
        self.is_everyone = False
        self.accepted: dict[bytes, None] = {}
        self.is_on = False

    def set(self, accounts: Iterable[str], is_everyone: bool) -> None:
        """Impersonate exactly these accounts, or all accounts if `is_everyone`."""
        self.accounts, self.is_everyone = frozenset(accounts), is_everyone
        self.is_on = bool(self.accounts or is_everyone or self.accepted)

    def left(self, needed: Needed) -> Needed:
        """Return the required authorities (`needed`) without the authorities of impersonated accounts."""
        if self.is_everyone:
            return Needed(set(), set(), set(), [])
        names = self.accounts
        return Needed(needed.posting - names, needed.active - names, needed.owner - names, needed.other)

    def accept(self, trx_id: bytes) -> None:
        """Record a transaction that was accepted without a required signature."""
        self.accepted[trx_id] = None
        self.is_on = True
        if len(self.accepted) > ACCEPTED_MAX:
            del self.accepted[next(iter(self.accepted))]


class Pushing:
    """Context manager that sets `State.is_pushing`. Written as a generator, it would take 2 % of a transfer's time."""

    __slots__ = ("_state",)

    def __init__(self, state: "State") -> None:
        self._state = state

    def __enter__(self) -> None:
        require(not self._state.is_pushing, condition="transactions are pushed one at a time")
        self._state.is_pushing = True

    def __exit__(self, *error: object) -> None:
        self._state.is_pushing = False


class State:
    """All tables of one chain. `props`, `schedule`, `feed`, `hardforks` and `nai_pool` are the single rows of their tables.

    A row stays the same object while it is in its table, and undo restores its values. These attributes, and references that rules hold,
    therefore never become stale.
    """

    # Set by `find_single_rows`. `set_props(field=value, ...)` modifies the global properties. It is bound to their row, because each block
    # calls it often.
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
        self.position = OperationPosition()
        self.work = Work()
        self.wire.codecs.spend = self.work.spend
        self.journal.on_undone = lambda: self.work.undo(UNDO_UNITS)
        self.listeners = Listeners()
        # A copy, because set_hardfork changes the times of the first five hardforks. As in the reference, the times belong to this node and
        # not to the state: popping a block doesn't restore them.
        self.hardfork_times = list(spec.hardfork_times)
        # True only during push_transaction (block-processing.md §2.7), when this node's soft rules apply, and some rules are enforced
        # before the hardfork that makes them binding. The reference's name for this is `is_producing`.
        self.is_pushing = False
        self.impersonated = Impersonated()
        # Returns the time of a block of the main branch by number, or None if there is no such block. Set by the chain, which has the
        # blocks.
        self.time_of_block: Callable[[int], int | None] = lambda number: None
        # Returns the id and operations of a transaction of the main branch, by block number, position in the block, and the number of
        # bytes from its start to the end of the block.
        self.operations_of: Callable[[int, int, int, int], tuple[bytes, tuple[Operation, ...]]] = no_operations
        # The data of enabled plugins by plugin name (`Plugin.of` returns it typed), and their interpreters of custom operations by id.
        self.plugins: dict[str, Any] = {}
        self.interpreters: dict[str, Callable[[Any, Any], None]] = {}
        # For in-memory copies of the state: functions that copy the data of plugins, and functions called after everything is restored.
        self.keepers: list[Callable[[], Copying]] = []
        self.on_restored: list[Callable[[], None]] = []

        self.global_properties = globals.GlobalPropertiesTable(journal)
        self.accounts = accounts.Accounts(journal)
        self.account_metadata = accounts.AccountMetadataTable(journal)
        self.account_authorities = accounts.AccountAuthorities(journal)
        self.witnesses = witnesses.Witnesses(journal)
        self.transactions = globals.TransactionRecords(journal)
        self.block_summaries = globals.BlockSummaries(journal)
        self.witness_schedules = globals.WitnessScheduleTable(journal)
        self.comments = content.Comments(journal)
        self.comment_contents = texts.CommentContents(journal)
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
        self.partial_accounts = partial.PartialAccounts(journal)
        self.outside_witness_votes = partial.OutsideWitnessVotesTable(journal)
        self.outside_proposal_votes = partial.OutsideProposalVotesTable(journal)

    # -------------------------------------------------------------- rows that most rules need

    # Getters implemented in C, since rules read these more than ten times per transaction.
    hardfork: int = property(attrgetter("hardforks.last_hardfork"), doc="The number of the last applied hardfork.")  # type: ignore[assignment]
    head_time: int = property(  # type: ignore[assignment]
        attrgetter("props.time"), doc="The time of the head block: while a block's transactions are applied, that of the previous block."
    )

    def account(self, name: str) -> accounts.Account:
        """Return the account with this name. Raises UnknownKey."""
        row = self.accounts.by_name.get(name)
        if row is None:
            raise UnknownKey(kind="account", key=(name,))
        return row

    def authority(self, name: str) -> accounts.AccountAuthority:
        """Return the authorities of an account. Raises UnknownKey."""
        row = self.account_authorities.by_account.get(name)
        if row is None:
            raise UnknownKey(kind="authority", key=(name,))
        return row

    def witness(self, owner: str) -> witnesses.Witness:
        """Return the witness with this name. Raises UnknownKey."""
        row = self.witnesses.by_name.get(owner)
        if row is None:
            raise UnknownKey(kind="witness", key=(owner,))
        return row

    def find_single_rows(self) -> None:
        """Set the attributes that refer to single rows. Call it after all rows have been replaced."""
        self.props = next(iter(self.global_properties))
        self.set_props = functools.partial(self.global_properties.modify, self.props)
        self.feed = next(iter(self.feed_histories))
        self.hardforks = next(iter(self.hardfork_properties))
        self.schedule = next(iter(self.witness_schedules))
        self.nai_pool = next(iter(self.nai_pools))

    def tables(self) -> Iterator[tuple[str, Table[Any]]]:
        """Yield the tables with their names, in the order of `__init__`. Those of partial chains are only yielded on such a chain."""
        omitted = () if self.spec.is_partial else PARTIAL_TABLES
        return ((name, value) for name, value in vars(self).items() if isinstance(value, Table) and name not in omitted)

    def release_indices(self, number: int) -> None:
        """Free the memory of unread lazy indices. Call this for each block `number` that becomes irreversible; it acts every
        BLOCKS_BETWEEN_LOOKS.
        """
        if not number % BLOCKS_BETWEEN_LOOKS:
            for _, table in self.tables():
                table.release_indices()
            self.journal.read_mode.memory.end_period()

    def pushing(self) -> Pushing:
        """Return a context manager for pushing a transaction, during which the rules for new transactions apply."""
        return Pushing(self)
