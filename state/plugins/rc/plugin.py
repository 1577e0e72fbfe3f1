"""The plugin `rc`, resource credits: what transactions cost, who pays, and what this node refuses for lack of credits.

All nodes count credits alike, but no block is refused for them: a transaction that its payer can't afford is refused by the node
that it is sent to, and is charged as far as it goes when a block has it all the same. Source: block-processing.md §5.
"""

import logging
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NoReturn

from state.effects.mana import regenerated, truncated, used, wrapped
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.authorities import RecoverAccount
from state.operations.content import Comment, Vote
from state.operations.custom import CustomJson
from state.operations.market import LimitOrderCreate
from state.operations.mining import Pow, Pow2
from state.operations.rewards import ClaimRewardBalance
from state.operations.transfers import Transfer
from state.operations.vesting import WithdrawVesting
from state.operations.witnesses import AccountWitnessVote, WitnessSetProperties
from state.plugins.plugin import Plugin, bound
from state.plugins.rc.accounts import (
    BEFORE,
    CHANGED,
    add_account,
    on_creation,
    on_withdrawal,
    on_work,
    regenerate,
    regenerate_before,
    update_after,
    update_maximum,
)
from state.plugins.rc.prices import NEW_ACCOUNTS, NO_USAGE, RESOURCES, pool_after_block, priced
from state.plugins.rc.rows import REGENERATION_SECONDS, Rc, RcAccount, RcParameters, RcPool, maximum_rc
from state.plugins.rc.usage import added, usage_of
from state.protocol import virtual
from state.protocol.constants import COIN_100_PERCENT
from state.protocol.errors import DivisionByZero, PluginRefused, Refused
from state.protocol.operation import Needed, Operation
from state.protocol.transaction import OPTIONAL_ACTIONS, OptionalAction, SignedBlock, SignedTransaction
from state.store.parts import Part, tables
from state.tables import State
from state.tables.accounts import Account

log = logging.getLogger("coind.rc")

MOST_NEGATIVE_PERCENT = 166  # hundredths of a percent of the maximum: two hours of regeneration
FIRST_ADJUSTMENT = 2_020_748_973  # VESTS that are counted for every account that exists when credits start
# The witness pays whichever key signs. The others are frequent: their field gives what payer_of finds as well, in less time.
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
NEGATIVE_SINCE = 1_538_211_600  # up to this head time, 2018-09-29, a transaction that can't be paid costs nothing


def install(state: State) -> Rc:
    """Make the tables and listen."""
    rc = Rc(state)
    state.listeners.before_block.append(bound(start_block, rc))
    state.listeners.after_transaction.append(bound(charge, rc))
    state.listeners.after_block.append(bound(after_block, rc))
    state.listeners.before_edit.append(bound(regenerate, rc))
    state.listeners.after_edit.append(bound(update_maximum, rc))
    on = state.listeners.on_operation
    on(bound(regenerate_before, rc), *BEFORE, after=False)
    on(bound(update_after, rc), *CHANGED)
    on(bound(on_withdrawal, rc), WithdrawVesting)
    on(bound(on_creation, rc), AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
    on(bound(on_work, rc), Pow, Pow2)
    on(bound(fill_pools, rc), virtual.Hardfork)
    return rc


# ------------------------------------------------------------------ transactions


def charge(state: State, rc: Rc, trx: SignedTransaction) -> None:
    """After a transaction: take its cost from its payer. Refuse it only while it enters this node, never in a block."""
    if not rc.accounts.next_id:  # credits haven't started
        return
    usage = usage_of(trx)
    rc.block_usage = added(rc.block_usage, usage)
    name = payer(trx.operations)
    if not name:
        if state.is_pushing:
            raise rethrown(PluginRefused("Tried to execute transaction with no resource user"))
        return
    row, account = rc.accounts.by_account.get(name), state.accounts.by_name.get(name)
    if row is not None and account is not None:
        try:
            take(state, rc, row, account, rc.price(state, usage))
        except (Refused, DivisionByZero) as error:
            # A number of the reference that leaves its bits: it gives up here, and the transaction costs nothing.
            log.debug("no credits are taken from %s: %s", name, error)


def take(state: State, rc: Rc, row: RcAccount, account: Account, price: int) -> None:
    """Regenerate an account's credits and take a price from them.

    An account that has enough just pays. One that hasn't:
    - is refused, if the transaction is being sent to this node. Before hardfork 20 credits are counted but bind nobody.
    - pays in a block as much as it can, down to a little below zero. A block may hold such a transaction: its producer may count
      otherwise, or not at all. The floor bounds how long the account has to wait then, whatever the price was.
    - pays nothing in a block up to NEGATIVE_SINCE, the time from which on the reference lets credits go below zero; its
      credits regenerate all the same.
    """
    most, now = maximum_rc(account, row.adjustment), state.props.time
    if most < 0:
        # The reference's listener fails here, which ends the listener and nothing else.
        return
    mana = regenerated(row.mana, row.mana_time, most, now, REGENERATION_SECONDS, False)
    if mana >= price >= 0:
        rc.accounts.modify(row, mana=mana - price, mana_time=now)
        return
    # A price that has wrapped below zero can always be paid, and brings credits.
    if price > 0 and state.is_pushing and state.hardfork >= 20:
        refuse(row.account, mana, price)
    if price <= 0 or now > NEGATIVE_SINCE:
        # The product is a 64-bit one in the reference, and wraps for a maximum above 5.5e16.
        mana = used(mana, price, truncated(wrapped(-MOST_NEGATIVE_PERCENT * most), COIN_100_PERCENT))
    rc.accounts.modify(row, mana=mana, mana_time=now)


def refuse(account: str, mana: int, price: int) -> NoReturn:
    """Raise the refusal of a payer with too few credits."""
    raise rethrown(
        PluginRefused(
            "Account: ${account} has ${rc_current} RC, needs ${rc_needed} RC. Please wait to transact, or power up COIN.",
            account=account,
            rc_needed=price,
            rc_current=mana,
        )
    )


def rethrown(refused: PluginRefused) -> PluginRefused:
    """Return a refusal with the mark of having been caught and thrown again in the reference, which clients see in its text."""
    refused.context = "rethrow"
    return refused


def payer(operations: Iterable[Operation]) -> str:
    """Return the account that pays for a transaction: the payer of the first operation that has one; "" without any."""
    for operation in operations:
        field = PAYERS.get(type(operation))
        name = payer_of(operation) if field is None else field(operation)
        if name:
            return name
    return ""


def payer_of(operation: Operation) -> str:
    """Return the account that pays for an operation: the first one whose active, owner or posting authority it needs; "" without any."""
    if operation.SIGNER:
        name: str = getattr(operation, operation.SIGNER)
        return name
    if isinstance(operation, RecoverAccount):
        # It is signed with two authorities, none of which belongs to a role of an account.
        for authority in (operation.new_owner_authority, operation.recent_owner_authority):
            for name, _ in authority.account_auths:
                return name
        return operation.account_to_recover
    needed = Needed.by((operation,))
    return min(needed.active or needed.owner or needed.posting, default="")


# ------------------------------------------------------------------ blocks


def start_block(state: State, rc: Rc, block: SignedBlock) -> None:
    """Before a block: nothing has been used in it yet, whatever pending transactions have added up."""
    rc.block_usage = NO_USAGE


def after_block(state: State, rc: Rc, block: SignedBlock) -> None:
    """After a block: start credits when it is time; then refill the pools and take out what the block has used."""
    usage = rc.block_usage
    if not rc.accounts.next_id:
        if state.props.head_block_number != state.spec.constants.RC_START_BLOCK:
            return
        start(state, rc)
        # `charge` adds nothing up before the start, but this block counts already.
        for trx in block.transactions:
            usage = added(usage, usage_of(trx))
    if state.props.total_vesting_shares <= 0:
        return
    usage = added(usage, (action_bytes(state, block), 0, 0, 0, 0))
    adopt_subsidy(state, rc)
    row = rc.pools.find(0)
    left = [
        pool_after_block(resource, pool, count * resource.unit)
        for resource, pool, count in zip(rc.parameters.find(0).resources, row.pools, usage, strict=True)
    ]
    # Accounts are counted by consensus; their pool is a copy of what is left there.
    left[NEW_ACCOUNTS] = state.props.available_account_subsidies
    rc.pools.modify(row, pools=tuple(left))


def start(state: State, rc: Rc) -> None:
    """Start credits: pools at their equilibrium, and a full bar for every account."""
    rc.parameters.insert(RcParameters())
    rc.pools.insert(RcPool(pools=tuple(resource.pool_eq for resource in RESOURCES)))
    for account in state.accounts:
        add_account(state, rc, account, FIRST_ADJUSTMENT)


def adopt_subsidy(state: State, rc: Rc) -> None:
    """Adopt the parameters of account subsidies when the witnesses have agreed on others."""
    row, subsidy = rc.parameters.find(0), state.schedule.account_subsidy_rd
    if row.subsidy != subsidy:
        all_of = list(row.resources)
        all_of[NEW_ACCOUNTS] = priced(all_of[NEW_ACCOUNTS], subsidy)
        rc.parameters.modify(row, resources=tuple(all_of), subsidy=subsidy)


def action_bytes(state: State, block: SignedBlock) -> int:
    """Return the packed size of the optional actions that a block's header holds."""
    if not block.extensions:
        return 0
    pack = state.wire.codecs.packer(OptionalAction)
    return sum(
        len(pack(action))
        for extension in block.extensions
        if getattr(extension, "tag", 0) == OPTIONAL_ACTIONS
        for action in extension.value
    )


def fill_pools(state: State, rc: Rc, operation: virtual.Hardfork) -> None:
    """After hardfork 20: fill all pools but that of new accounts."""
    if operation.hardfork_id == 20 and rc.accounts.next_id:
        most = [resource.max_pool for resource in rc.resources]
        most[NEW_ACCOUNTS] = 0
        rc.pools.modify(rc.pools.find(0), pools=tuple(most))


def parts(state: State, kept: Rc) -> dict[str, Part]:
    """Return what a snapshot holds of the data."""
    return tables(kept, "parameters", "pools", "accounts")


RC = Plugin("rc", Rc, install, serves=("rc_api",), parts=parts, passing=("block_usage", "_rates", "_rated", "_regeneration"))
