"""Updates the credits of accounts when their VESTS change, and gives credits to new accounts.

The maximum of an account's credits depends on its VESTS. Before an operation changes them, the credits regenerate with the old maximum.
After it, the new maximum is stored, and an increase is added to the credits. Source: block-processing.md §5.5, §5.6.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from state.effects.balances import coin_to_vests
from state.effects.mana import regenerated, wrapped
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.mining import Pow, Pow2
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.operations.rewards import ClaimRewardBalance, ClaimRewardBalance2
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.plugins.rc.rows import REGENERATION_SECONDS, Rc, RcAccount, maximum_rc
from state.protocol import virtual
from state.protocol.constants import COIN_NULL_ACCOUNT
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, VESTS, Asset
from state.tables import State
from state.tables.accounts import Account

FIRST_ADJUSTMENT = 2_020_748_973  # adjustment in VESTS of every account that exists when credits start


def add_account(state: State, rc: Rc, account: Account, adjustment: int) -> None:
    """Give an account without a bar a full one. `adjustment` is added to the bar's maximum."""
    most = maximum_rc(account, adjustment)
    rc.accounts.insert(RcAccount(account=account.name, mana=most, mana_time=state.head_time, adjustment=adjustment, last_max=most))


def regenerate_before(state: State, rc: Rc, operation: Any) -> None:
    """Regenerate the bars of all accounts whose VESTS an operation can change, before it is applied."""
    if not rc.accounts.next_id:  # credits haven't started. Reading an attribute is faster than the table's length, here and below.
        return
    for name in BEFORE[type(operation)](state, operation):
        regenerate(state, rc, name)


def regenerate(state: State, rc: Rc, name: str) -> None:
    """Regenerate the bar of an account with its current maximum."""
    row, account = rc.accounts.by_account.get(name), state.accounts.by_name.get(name)
    if row is None or account is None:
        return
    most, now = maximum_rc(account, row.adjustment), state.head_time
    if most >= 0:
        # Unlike for voting mana, the elapsed time has no cap, since a bar below zero takes more than five days to fill.
        mana = regenerated(row.mana, row.mana_time, most, now, REGENERATION_SECONDS, capped=False)
        if mana != row.mana or now != row.mana_time:
            rc.accounts.set_mana(row, mana, now)


def update_after(state: State, rc: Rc, operation: Any) -> None:
    """Update the maxima of all accounts whose VESTS an operation can change, after it was applied."""
    if rc.accounts.next_id:
        for name in CHANGED[type(operation)](state, operation):
            update_maximum(state, rc, name)


def on_withdrawal(state: State, rc: Rc, operation: WithdrawVesting) -> None:
    """Store the new maximum, which excludes the next payment, after a power-down was set.

    If a smaller power-down increases the maximum, no credits are added. Otherwise alternating large and small power-downs would create
    credits.
    """
    if rc.accounts.next_id:
        update_maximum(state, rc, operation.account, gain=False)


def on_work(state: State, rc: Rc, operation: Pow | Pow2) -> None:
    """After a proof of work, update the worker, whose account can be new, and the witness, because the reward goes to one of the two."""
    if not rc.accounts.next_id:
        return
    name = worker(operation)
    if rc.accounts.by_account.get(name) is None:
        add_account(state, rc, state.account(name), 0)
    update_maximum(state, rc, name)
    update_maximum(state, rc, state.props.current_witness)


def update_maximum(state: State, rc: Rc, name: str, gain: bool = True) -> None:
    """Store an account's new maximum, and add an increase to the credits unless `gain` is false."""
    row, account = rc.accounts.by_account.get(name), state.accounts.by_name.get(name)
    if row is not None and account is not None:
        most = maximum_rc(account, row.adjustment)
        if most != row.last_max:
            grown = max(wrapped(most - row.last_max), 0) if gain else 0
            rc.accounts.set_maximum(row, most, wrapped(row.mana + grown))


def on_creation(state: State, rc: Rc, operation: AccountCreate | AccountCreateWithDelegation | CreateClaimedAccount) -> None:
    """Give a created account a full bar. The bar's maximum includes the creation fee in VESTS at the current price."""
    if not rc.accounts.next_id:
        return
    fee = Asset(state.schedule.median_props.account_creation_fee) if isinstance(operation, CreateClaimedAccount) else operation.fee
    adjustment = coin_to_vests(state, fee.amount) if fee.symbol == COIN else fee.amount if fee.symbol == VESTS else 0
    add_account(state, rc, state.account(operation.new_account_name), adjustment)
    if isinstance(operation, AccountCreateWithDelegation):
        update_maximum(state, rc, operation.creator)


def worker(operation: Pow | Pow2) -> str:
    """Return the worker account of a proof of work."""
    return operation.worker_account if isinstance(operation, Pow) else operation.work.input.worker_account


def accounts_in(*fields: str) -> Callable[[State, Any], tuple[str, ...]]:
    """Return a function that returns the values of these account fields of an operation."""
    get: Callable[[Any], Any] = attrgetter(*fields)
    if len(fields) == 1:
        return lambda state, operation: (get(operation),)
    return lambda state, operation: get(operation)


def all_accounts(state: State, operation: virtual.Hardfork) -> tuple[str, ...]:
    """Return all accounts for hardfork 1, which splits VESTS, and no accounts for other hardforks."""
    return tuple(account.name for account in state.accounts) if operation.hardfork_id == 1 else ()


def powered_up(state: State, operation: TransferToVesting) -> tuple[str, ...]:
    """Return the account that receives the VESTS of a power-up."""
    return (operation.to or operation.from_,)


Names = Callable[[State, Any], tuple[str, ...]]

# Accounts whose VESTS an operation can change. Their bars regenerate before the operation and get the new maximum after it.
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
# Operations and the accounts whose bars regenerate before them. After the added operations, another listener or none runs.
BEFORE: dict[type[Operation], Names] = CHANGED | {
    AccountCreateWithDelegation: accounts_in("creator"),
    WithdrawVesting: accounts_in("account"),
    SetWithdrawVestingRoute: accounts_in("from_account"),
    Pow: lambda state, operation: (worker(operation), state.props.current_witness),
    Pow2: lambda state, operation: (worker(operation), state.props.current_witness),
}
