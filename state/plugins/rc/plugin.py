"""The plugin `rc`, resource credits: charges transactions to their payers, and refuses transactions whose payer lacks credits.

All nodes count credits in the same way, but no block is refused for a lack of credits. A transaction is refused only by the node that
receives it from a client. If a block includes it, the payer is charged as far as possible. Source: block-processing.md §5.
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
from state.plugins.rc import accounts
from state.plugins.rc.portable import export_rows, import_rows
from state.plugins.rc.prices import NEW_ACCOUNTS, NO_USAGE, RESOURCES, pool_after_block, priced
from state.plugins.rc.rows import REGENERATION_SECONDS, Rc, RcAccount, RcParameters, RcPool, maximum_rc
from state.plugins.rc.usage import added, usage_of
from state.protocol import virtual
from state.protocol.constants import COIN_100_PERCENT
from state.protocol.errors import DivisionByZero, PluginRefused, Refused
from state.protocol.operation import Needed, Operation
from state.protocol.transaction import OPTIONAL_ACTIONS, OptionalAction, SignedBlock, SignedTransaction
from state.store.serializers import SnapshotPart, tables
from state.tables import State
from state.tables.accounts import Account

log = logging.getLogger("coind.rc")

MOST_NEGATIVE_PERCENT = 166  # hundredths of a percent of the maximum, two hours of regeneration
# For witness_set_properties the owner pays, even if another key signs. The other operations are frequent, and this is faster than payer_of.
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
NEGATIVE_SINCE = 1_538_211_600  # 2018-09-29; up to this head time, a transaction that its payer can't afford costs nothing


def install(state: State) -> Rc:
    """Create the plugin's tables and register its listeners."""
    rc = Rc(state)
    state.listeners.before_block.append(bound(start_block, rc))
    state.listeners.after_transaction.append(bound(charge, rc))
    state.listeners.after_block.append(bound(after_block, rc))
    state.listeners.before_edit.append(bound(accounts.regenerate, rc))
    state.listeners.after_edit.append(bound(accounts.update_maximum, rc))
    on = state.listeners.on_operation
    on(bound(accounts.regenerate_before, rc), *accounts.BEFORE, after=False)
    on(bound(accounts.update_after, rc), *accounts.CHANGED)
    on(bound(accounts.on_withdrawal, rc), WithdrawVesting)
    on(bound(accounts.on_creation, rc), AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
    on(bound(accounts.on_work, rc), Pow, Pow2)
    on(bound(fill_pools, rc), virtual.Hardfork)
    return rc


def charge(state: State, rc: Rc, trx: SignedTransaction) -> None:
    """Subtract the cost of an applied transaction from its payer's credits.

    Raises: PluginRefused if the transaction is being pushed and the payer lacks credits. Never raises in a block.
    """
    if not rc.accounts.next_id:  # credits haven't started
        return
    usage = usage_of(trx)
    if not state.is_pushing:
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
            # An overflow in the reference's arithmetic ends the charging, so the transaction costs nothing.
            log.debug("no credits are taken from %s: %s", name, error)


def take(state: State, rc: Rc, row: RcAccount, account: Account, price: int) -> None:
    """Regenerate an account's credits and subtract a price from them.

    If an account lacks credits:
    - A pushed transaction is refused, starting with hardfork 20. Before, credits are only counted.
    - In a block the account pays as much as it can, down to a little below zero. A block can include such a transaction, since its
      producer can count differently or not at all. The floor limits the time until the account recovers.
    - In a block up to NEGATIVE_SINCE, before which the reference doesn't allow credits below zero, the account pays nothing. Its
      credits regenerate nevertheless.
    """
    most, now = maximum_rc(account, row.adjustment), state.props.time
    if most < 0:
        # The reference's listener fails here, without an effect on the transaction.
        return
    mana = regenerated(row.mana, row.mana_time, most, now, REGENERATION_SECONDS, False)
    if mana >= price >= 0:
        rc.accounts.set_mana(row, mana - price, now)
        return
    # A price that has wrapped below zero always succeeds, and adds credits.
    if price > 0 and state.is_pushing and state.hardfork >= 20:
        refuse(row.account, mana, price)
    if price <= 0 or now > NEGATIVE_SINCE:
        # In the reference the product has 64 bits, and wraps for a maximum above 5.5e16.
        mana = used(mana, price, truncated(wrapped(-MOST_NEGATIVE_PERCENT * most), COIN_100_PERCENT))
    rc.accounts.set_mana(row, mana, now)


def refuse(account: str, mana: int, price: int) -> NoReturn:
    """Raise the refusal for a payer that lacks credits."""
    raise rethrown(
        PluginRefused(
            "Account: ${account} has ${rc_current} RC, needs ${rc_needed} RC. Please wait to transact, or power up COIN.",
            account=account,
            rc_needed=price,
            rc_current=mana,
        )
    )


def rethrown(refused: PluginRefused) -> PluginRefused:
    """Mark a refusal as one that the reference catches and rethrows, which changes its text."""
    refused.context = "rethrow"
    return refused


def payer(operations: Iterable[Operation]) -> str:
    """Return the payer of the first operation that has one, or "" if none has."""
    for operation in operations:
        field = PAYERS.get(type(operation))
        name = payer_of(operation) if field is None else field(operation)
        if name:
            return name
    return ""


def payer_of(operation: Operation) -> str:
    """Return the first account whose active, owner or posting authority an operation requires, or "" if it requires none."""
    if operation.SIGNER:
        name: str = getattr(operation, operation.SIGNER)
        return name
    if isinstance(operation, RecoverAccount):
        # It requires two authorities that belong to no role of an account.
        for authority in (operation.new_owner_authority, operation.recent_owner_authority):
            for name, _ in authority.account_auths:
                return name
        return operation.account_to_recover
    needed = Needed.by((operation,))
    return min(needed.active or needed.owner or needed.posting, default="")


def start_block(state: State, rc: Rc, block: SignedBlock) -> None:
    """Reset the usage before a block, since pending transactions that were applied again have increased it."""
    rc.block_usage = NO_USAGE


def after_block(state: State, rc: Rc, block: SignedBlock) -> None:
    """Start credits at block `rc_start_block`. After each later block, refill the pools and subtract the block's usage from them."""
    usage = rc.block_usage
    if not rc.accounts.next_id:
        if state.props.head_block_number != state.spec.rc_start_block:
            return
        start(state, rc)
        # Before the start `charge` adds up no usage, but the usage of this block is subtracted from the pools.
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
    # Consensus counts new accounts itself. Their pool is a copy of the number that consensus still allows.
    left[NEW_ACCOUNTS] = state.props.available_account_subsidies
    rc.pools.set_pools(row, tuple(left))


def start(state: State, rc: Rc) -> None:
    """Start credits, with pools at their equilibrium and a full bar for every account."""
    rc.parameters.insert(RcParameters())
    rc.pools.insert(RcPool(pools=tuple(resource.pool_eq for resource in RESOURCES)))
    for account in state.accounts.scan():
        accounts.add_account(state, rc, account, accounts.FIRST_ADJUSTMENT)


def adopt_subsidy(state: State, rc: Rc) -> None:
    """If the witnesses have changed the parameters of subsidised accounts, apply these to the pool of new accounts."""
    row, subsidy = rc.parameters.find(0), state.schedule.account_subsidy_rd
    if row.subsidy != subsidy:
        all_of = list(row.resources)
        all_of[NEW_ACCOUNTS] = priced(all_of[NEW_ACCOUNTS], subsidy)
        rc.parameters.modify(row, resources=tuple(all_of), subsidy=subsidy)


def action_bytes(state: State, block: SignedBlock) -> int:
    """Return the packed size in bytes of the optional actions in a block's header."""
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
    """After hardfork 20, fill all resource pools, except the pool of new accounts, which becomes empty."""
    if operation.hardfork_id == 20 and rc.accounts.next_id:
        most = [resource.max_pool for resource in rc.resources]
        most[NEW_ACCOUNTS] = 0
        rc.pools.modify(rc.pools.find(0), pools=tuple(most))


def parts(state: State, kept: Rc) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data."""
    return tables(kept, "parameters", "pools", "accounts")


RC = Plugin(
    "rc",
    Rc,
    install,
    serves=("rc_api",),
    parts=parts,
    unsaved=("block_usage", "_rates", "_rated", "_regeneration"),
    import_rows=import_rows,
    export_rows=export_rows,
)
