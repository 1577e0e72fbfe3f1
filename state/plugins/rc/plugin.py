"""Resource credits: what transactions cost, who pays, and who can't pay here. No block is refused for them; all nodes count alike.

Credits are kept per account as a manabar whose maximum follows the account's VESTS. Source: block-processing.md §5.
"""

import logging
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NoReturn

from state.effects.balances import coin_to_vests
from state.effects.mana import regenerated, saturated, truncated, used, wrapped
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.authorities import RecoverAccount
from state.operations.content import Comment, Vote
from state.operations.custom import CustomJson
from state.operations.market import LimitOrderCreate
from state.operations.mining import Pow, Pow2
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.operations.rewards import ClaimRewardBalance, ClaimRewardBalance2
from state.operations.transfers import Transfer
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.operations.witnesses import AccountWitnessVote, WitnessSetProperties
from state.plugins.rc.prices import NEW_ACCOUNTS, NO_USAGE, RESOURCES, Rates, Resource, cost, pool_after_block, priced, rates_of
from state.plugins.rc.usage import Usage, added, usage_of
from state.protocol import virtual
from state.protocol.constants import COIN_NULL_ACCOUNT, TIME_MAX
from state.protocol.errors import DivisionByZero, PluginRefused, Refused
from state.protocol.operation import Needed, Operation
from state.protocol.transaction import OPTIONAL_ACTIONS, OptionalAction, SignedBlock, SignedTransaction
from state.protocol.values.asset import COIN, VESTS, Asset
from state.store import Row, Table, Unique
from state.tables import State
from state.tables.accounts import Account
from state.tables.globals import SubsidyParams

log = logging.getLogger("coind.rc")

NAME = "rc"
REGENERATION_SECONDS = 432_000
REGENERATION_BLOCKS = REGENERATION_SECONDS // 3
MOST_NEGATIVE_PERCENT = 166  # two hours of regeneration
FIRST_ADJUSTMENT = 2_020_748_973  # VESTS that every account counts which exists when credits start
# The witness pays whichever key signs; for the others it is the field that payer_of finds as well, which takes longer.
PAYERS: dict[type[Operation], Callable[[Any], str]] = {
    WitnessSetProperties: attrgetter("owner"),
    Vote: attrgetter("voter"),
    Comment: attrgetter("author"),
    Transfer: attrgetter("from_"),
    LimitOrderCreate: attrgetter("owner"),
    AccountWitnessVote: attrgetter("account"),
    ClaimRewardBalance: attrgetter("account"),
    CustomJson: lambda operation: next(iter(operation.required_auths or operation.required_posting_auths), ""),
}
FAR_FROM_EDGE = 2**62  # no account withdraws as much in a week, so that no sum below ended at 2^63 on its way
NEGATIVE_SINCE = 1_538_211_600  # up to this head time a transaction that can't be paid costs nothing


class RcParameters(Row):
    """The resources; one row. That of new accounts follows what the witnesses agree on."""

    resources: tuple[Resource, ...] = RESOURCES
    subsidy: SubsidyParams | None = None


class RcParametersTable(Table[RcParameters]):
    """The one row of resources."""


class RcPool(Row):
    """What is left of each resource, in units; one row."""

    pools: tuple[int, ...] = NO_USAGE


class RcPools(Table[RcPool]):
    """The one row of pools."""


class RcAccount(Row):
    """An account's credits as a manabar; `adjustment` (VESTS) is what its creation cost, `last_max` the maximum known last."""

    account: str = ""
    mana: int = 0
    mana_time: int = 0
    adjustment: int = 0
    last_max: int = 0


class RcAccounts(Table[RcAccount]):
    """Credits by account."""

    by_account = Unique("account")


class Rc:
    """What the plugin keeps. `block_usage` adds up the transactions of the block that is applied now; each block starts it anew.

    `rates` are the prices for the pools `rated` and the `regeneration`, made anew when one of these has become another.
    """

    def __init__(self, state: State) -> None:
        self.parameters = RcParametersTable(state.journal)
        self.pools = RcPools(state.journal)
        self.accounts = RcAccounts(state.journal)
        self.block_usage: Usage = NO_USAGE
        self.rates: Rates = ()
        self.rated: tuple[int, ...] = ()
        self.regeneration = 0


def install(state: State) -> Rc:
    """Make the tables and listen."""
    rc = state.plugins[NAME] = Rc(state)
    state.listeners.before_block.append(start_block)
    state.listeners.after_transaction.append(charge)
    state.listeners.after_block.append(after_block)
    on = state.listeners.on_operation
    on(regenerate_before, *BEFORE, after=False)
    on(update_after, *AFTER)
    on(follow_withdrawal, WithdrawVesting)
    on(create_account, AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
    on(follow_work, Pow, Pow2)
    on(fill_pools, virtual.Hardfork)
    return rc


def plugin(state: State) -> Rc:
    """What the plugin keeps on this state."""
    rc: Rc = state.plugins[NAME]
    return rc


# ------------------------------------------------------------------ reading


def resources(state: State) -> tuple[Resource, ...]:
    """The five resources in their order, as they are priced now; the initial ones before credits start."""
    row = plugin(state).parameters.get(0)
    return RESOURCES if row is None else row.resources


def pools(state: State) -> tuple[int, ...]:
    """What is left of each resource; zeros before credits start."""
    row = plugin(state).pools.get(0)
    return NO_USAGE if row is None else row.pools


def find_rc_account(state: State, name: str) -> RcAccount | None:
    """The credits of an account as they were when they changed last."""
    return plugin(state).accounts.by_account.get(name)


def maximum_rc(account: Account, adjustment: int) -> int:
    """Return the size of an account's bar: VESTS that count, and what its creation cost."""
    most = account.effective_vests + adjustment
    return most if -FAR_FROM_EDGE < most < FAR_FROM_EDGE else step_by_step(account, adjustment)


def step_by_step(account: Account, adjustment: int) -> int:
    """Return the same where each of the reference's sums may end at the edge of 64 bits."""
    most = saturated(account.vesting_shares - account.delegated_vesting_shares)
    most = saturated(most + account.received_vesting_shares)
    most = saturated(most + adjustment)
    next_withdrawal = 0
    if account.next_vesting_withdrawal != TIME_MAX:
        next_withdrawal = min(account.vesting_withdraw_rate, account.to_withdraw - account.withdrawn)
    return saturated(most - next_withdrawal)


# ------------------------------------------------------------------ prices


def transaction_cost(state: State, trx: SignedTransaction) -> int:
    """What a transaction costs with the pools as the last block left them, in credits; nothing before credits start."""
    rc = plugin(state)
    return price(state, rc, usage_of(trx)) if rc.accounts else 0


def price(state: State, rc: Rc, usage: Usage) -> int:
    """What a usage costs now, in credits."""
    regeneration = state.props.total_vesting_shares // REGENERATION_BLOCKS
    pools = rc.pools.find(0).pools
    if rc.rated is not pools or rc.regeneration != regeneration:
        # Resources change only when pools do.
        rc.rates, rc.rated, rc.regeneration = rates_of(rc.parameters.find(0).resources, pools, regeneration), pools, regeneration
    return cost(rc.rates, usage)


# ------------------------------------------------------------------ transactions


def charge(state: State, trx: SignedTransaction) -> None:
    """Take a transaction's cost from its payer; refused only while it enters this node."""
    rc = plugin(state)
    if not rc.accounts:
        return
    usage = usage_of(trx)
    rc.block_usage = added(rc.block_usage, usage)
    name = payer(trx.operations)
    if not name:
        if state.is_pushing:
            raise told(PluginRefused("Tried to execute transaction with no resource user"))
        return
    row, account = rc.accounts.by_account.get(name), state.accounts.by_name.get(name)
    if row is not None and account is not None:
        try:
            take(state, rc, row, account, price(state, rc, usage))
        except (Refused, DivisionByZero) as error:
            # A number of the reference that leaves its bits: it gives up here, and the transaction costs nothing.
            log.debug("no credits are taken from %s: %s", name, error)


def take(state: State, rc: Rc, row: RcAccount, account: Account, price: int) -> None:
    """Regenerate an account's credits and take a price from them, down to a little below zero."""
    most, now = maximum_rc(account, row.adjustment), state.props.time
    if most < 0:
        return
    mana = regenerated(row.mana, row.mana_time, most, now, REGENERATION_SECONDS, capped=False)
    if mana >= price >= 0:
        rc.accounts.modify(row, mana=mana - price, mana_time=now)
        return
    # A price that has wrapped below zero can always be paid, and brings credits.
    if price > 0 and state.is_pushing and state.hardfork >= 20:
        # Before hardfork 20 nobody was held to credits.
        refuse(row.account, mana, price)
    if price <= 0 or now > NEGATIVE_SINCE:
        mana = used(mana, price, truncated(wrapped(-MOST_NEGATIVE_PERCENT * most), 10000))
    rc.accounts.modify(row, mana=mana, mana_time=now)


def refuse(account: str, mana: int, price: int) -> NoReturn:
    """A payer can't pay."""
    raise told(
        PluginRefused(
            "Account: ${account} has ${rc_current} RC, needs ${rc_needed} RC. Please wait to transact, or power up COIN.",
            account=account,
            rc_needed=price,
            rc_current=mana,
        )
    )


def told(refused: PluginRefused) -> PluginRefused:
    """A refusal as the reference logs it on its way, which its text shows."""
    refused.context = "rethrow"
    return refused


def payer(operations: Iterable[Operation]) -> str:
    """Whose credits a transaction takes: the first account, by role, that one of its operations needs; "" without any."""
    for operation in operations:
        field = PAYERS.get(type(operation))
        name = payer_of(operation) if field is None else field(operation)
        if name:
            return name
    return ""


def payer_of(operation: Operation) -> str:
    """The account that pays for an operation; "" when it needs none."""
    if operation.SIGNER:
        name: str = getattr(operation, operation.SIGNER)
        return name
    if isinstance(operation, RecoverAccount):
        for authority in (operation.new_owner_authority, operation.recent_owner_authority):
            for name, _ in authority.account_auths:
                return name
        return operation.account_to_recover
    needed = Needed.by((operation,))
    return min(needed.active or needed.owner or needed.posting, default="")


# ------------------------------------------------------------------ blocks


def start_block(state: State, block: SignedBlock) -> None:
    """Nothing has been used yet."""
    plugin(state).block_usage = NO_USAGE


def after_block(state: State, block: SignedBlock) -> None:
    """Start credits when it is time; then fill the pools up and take out what the block has used."""
    rc = plugin(state)
    usage = rc.block_usage
    if not rc.accounts:
        if state.props.head_block_number != state.spec.constants.RC_START_BLOCK:
            return
        start(state, rc)
        for trx in block.transactions:
            usage = added(usage, usage_of(trx))
    if state.props.total_vesting_shares <= 0:
        return
    usage = added(usage, (action_bytes(state, block), 0, 0, 0, 0))
    follow_subsidy(state, rc)
    row = rc.pools.find(0)
    left = [
        pool_after_block(resource, pool, count * resource.unit)
        for resource, pool, count in zip(rc.parameters.find(0).resources, row.pools, usage, strict=True)
    ]
    left[NEW_ACCOUNTS] = state.props.available_account_subsidies
    rc.pools.modify(row, pools=tuple(left))


def start(state: State, rc: Rc) -> None:
    """Full pools, and a full bar for every account."""
    rc.parameters.insert(RcParameters())
    rc.pools.insert(RcPool(pools=tuple(resource.pool_eq for resource in RESOURCES)))
    for account in state.accounts:
        add_account(state, rc, account, FIRST_ADJUSTMENT)


def follow_subsidy(state: State, rc: Rc) -> None:
    """Take over the parameters of account subsidies when the witnesses have agreed on others."""
    row, subsidy = rc.parameters.find(0), state.schedule.account_subsidy_rd
    if row.subsidy != subsidy:
        all_of = list(row.resources)
        all_of[NEW_ACCOUNTS] = priced(all_of[NEW_ACCOUNTS], subsidy)
        rc.parameters.modify(row, resources=tuple(all_of), subsidy=subsidy)


def action_bytes(state: State, block: SignedBlock) -> int:
    """The size of the optional actions that a block's header holds."""
    if not block.extensions:
        return 0
    pack = state.wire.codecs.packer(OptionalAction)
    return sum(
        len(pack(action))
        for extension in block.extensions
        if getattr(extension, "tag", 0) == OPTIONAL_ACTIONS
        for action in extension.value
    )


def fill_pools(state: State, operation: virtual.Hardfork) -> None:
    """Hardfork 1 changes all VESTS; hardfork 20 fills all pools but that of new accounts."""
    rc = plugin(state)
    if operation.hardfork_id == 20 and rc.accounts:
        most = [resource.max_pool for resource in resources(state)]
        most[NEW_ACCOUNTS] = 0
        rc.pools.modify(rc.pools.find(0), pools=tuple(most))


# ------------------------------------------------------------------ changes of VESTS


def add_account(state: State, rc: Rc, account: Account, adjustment: int) -> None:
    """A full bar for an account that has none."""
    most = maximum_rc(account, adjustment)
    rc.accounts.insert(RcAccount(account=account.name, mana=most, mana_time=state.head_time, adjustment=adjustment, last_max=most))


def regenerate_before(state: State, operation: Any) -> None:
    """The bars of whose VESTS may change now regenerate with the maximum that they have still."""
    rc = plugin(state)
    if not rc.accounts:
        return
    for name in BEFORE[type(operation)](state, operation):
        row, account = rc.accounts.by_account.get(name), state.accounts.by_name.get(name)
        if row is None or account is None:
            continue
        most, now = maximum_rc(account, row.adjustment), state.head_time
        if most >= 0:
            mana = regenerated(row.mana, row.mana_time, most, now, REGENERATION_SECONDS, capped=False)
            if mana != row.mana or now != row.mana_time:
                rc.accounts.modify(row, mana=mana, mana_time=now)


def update_after(state: State, operation: Any) -> None:
    """Take over the maxima after VESTS have changed; what is new comes with its credits."""
    rc = plugin(state)
    if rc.accounts:
        for name in AFTER[type(operation)](state, operation):
            follow_maximum(state, rc, name)


def follow_withdrawal(state: State, operation: WithdrawVesting) -> None:
    """A power-down that is less than before brings no credits back."""
    rc = plugin(state)
    if rc.accounts:
        follow_maximum(state, rc, operation.account, gain=False)


def follow_work(state: State, operation: Pow | Pow2) -> None:
    """A proof of work may have made its worker's account, and pays the worker or the witness."""
    rc = plugin(state)
    if not rc.accounts:
        return
    name = worker(operation)
    if rc.accounts.by_account.get(name) is None:
        add_account(state, rc, state.account(name), 0)
    follow_maximum(state, rc, name)
    follow_maximum(state, rc, state.props.current_witness)


def follow_maximum(state: State, rc: Rc, name: str, gain: bool = True) -> None:
    """Note an account's maximum; what has come to it is there as credits at once, unless there is no gain."""
    row, account = rc.accounts.by_account.get(name), state.accounts.by_name.get(name)
    if row is not None and account is not None:
        most = maximum_rc(account, row.adjustment)
        if most != row.last_max:
            added = max(wrapped(most - row.last_max), 0) if gain else 0
            rc.accounts.modify(row, last_max=most, mana=wrapped(row.mana + added))


def create_account(state: State, operation: AccountCreate | AccountCreateWithDelegation | CreateClaimedAccount) -> None:
    """A new account counts what its creation costs, as VESTS of now."""
    rc = plugin(state)
    if not rc.accounts:
        return
    fee = Asset(state.schedule.median_props.account_creation_fee) if isinstance(operation, CreateClaimedAccount) else operation.fee
    adjustment = coin_to_vests(state, fee.amount) if fee.symbol == COIN else fee.amount if fee.symbol == VESTS else 0
    add_account(state, rc, state.account(operation.new_account_name), adjustment)
    if isinstance(operation, AccountCreateWithDelegation):
        follow_maximum(state, rc, operation.creator)


def worker(operation: Pow | Pow2) -> str:
    """The account that a proof of work is for."""
    return operation.worker_account if isinstance(operation, Pow) else operation.work.input.worker_account


def accounts_in(*fields: str) -> Callable[[State, Any], tuple[str, ...]]:
    """The accounts that these fields name."""
    return lambda state, operation: tuple([getattr(operation, field) for field in fields])


def all_accounts(state: State, operation: virtual.Hardfork) -> tuple[str, ...]:
    """Hardfork 1 changes the VESTS of all accounts, no other those of any."""
    return tuple(account.name for account in state.accounts) if operation.hardfork_id == 1 else ()


def powered_up(state: State, operation: TransferToVesting) -> tuple[str, ...]:
    """Who gets the VESTS."""
    return (operation.to or operation.from_,)


Names = Callable[[State, Any], tuple[str, ...]]

# Whose VESTS an operation may change; they are looked at before and after it.
CHANGED: dict[type[Operation], Names] = {
    TransferToVesting: powered_up,
    DelegateVestingShares: accounts_in("delegator", "delegatee"),
    ClaimRewardBalance: accounts_in("account"),
    ClaimRewardBalance2: accounts_in("account"),
    virtual.AuthorReward: accounts_in("author"),
    virtual.CommentReward: accounts_in("author"),
    virtual.CurationReward: accounts_in("curator"),
    virtual.CommentBenefactorReward: accounts_in("benefactor"),
    virtual.FillVestingWithdraw: accounts_in("from_account", "to_account"),
    virtual.ReturnVestingDelegation: accounts_in("account"),
    virtual.ProducerReward: accounts_in("producer"),
    virtual.ClearNullAccountBalance: lambda state, operation: (COIN_NULL_ACCOUNT,),
    CreateProposal: accounts_in("creator", "receiver"),
    UpdateProposalVotes: accounts_in("voter"),
    RemoveProposal: accounts_in("proposal_owner"),
    virtual.Hardfork: all_accounts,
}
BEFORE: dict[type[Operation], Names] = CHANGED | {
    AccountCreateWithDelegation: accounts_in("creator"),
    WithdrawVesting: accounts_in("account"),
    SetWithdrawVestingRoute: accounts_in("from_account"),
    Pow: lambda state, operation: (worker(operation), state.props.current_witness),
    Pow2: lambda state, operation: (worker(operation), state.props.current_witness),
}
AFTER = CHANGED
