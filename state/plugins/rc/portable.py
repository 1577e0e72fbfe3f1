"""Portable rows of the plugin `rc`: the resources, their pools, and the credits of accounts."""

from state.plugins.plugin import ranged
from state.plugins.rc.accounts import FIRST_ADJUSTMENT, add_account
from state.plugins.rc.prices import RESOURCES
from state.plugins.rc.rows import REGENERATION_SECONDS, Rc, RcAccount, RcParameters, RcPool, maximum_rc
from state.portable import Batch, Portable, declare
from state.portable.exports import exported_rows
from state.protocol.constants import DAY_SECONDS
from state.protocol.values.integers import INT64_MAX, INT64_MIN, WORD64
from state.tables import State

RC_HARDFORK = 20
SHIFT_MAX = 255
ADJUSTMENT_MAX = 2**56  # with more, a bar that nobody uses for years would overflow
AHEAD_SECONDS = 365 * DAY_SECONDS

PARAMETERS = declare(
    "rc/parameters",
    Portable(row=RcParameters, hidden={"subsidy": "the witnesses' parameters for new accounts, which the next block sets"}),
)
POOLS = declare("rc/pools", Portable(row=RcPool))
ACCOUNTS = declare(
    "rc/accounts",
    Portable(
        row=RcAccount,
        key=("account",),
        hidden={"last_max": "the maximum at the last change of the account's VESTS, computed from its current VESTS"},
    ),
)


def import_rows(state: State, rc: Rc, batch: Batch) -> None:
    """Start credits if the batch has pools, or if they have started on a chain like this. Add the credits of accounts.

    An account of the batch whose credits aren't given gets a full bar, like one that existed when credits started.
    """
    if not rc.accounts.next_id and not start(state, rc, batch):
        return
    arrived = {values["name"] for values in batch.get("accounts", ())}
    for values in batch.get("rc/accounts", ()):
        row = RcAccount(**values)
        ranged((row.mana,), INT64_MIN, INT64_MAX)
        ranged((row.adjustment,), -ADJUSTMENT_MAX, ADJUSTMENT_MAX)
        account, known = state.accounts.by_name.get(row.account), rc.accounts.by_account.get(row.account)
        if account is None or (known is not None and row.account not in arrived):
            continue
        # A later time would make the chain refuse the account's transactions until then.
        row.mana_time = min(row.mana_time, state.head_time)
        row.last_max = maximum_rc(account, row.adjustment)
        if not can_regenerate(row, state.head_time):
            row.mana, row.mana_time = row.last_max, state.head_time
        arrived.discard(row.account)
        if known is not None:
            # It was here by name only, or without the rows that belong to it.
            rc.accounts.remove(known)
        rc.accounts.insert(row)
    for name in sorted(arrived):
        account = state.accounts.by_name.get(name)
        if account is not None and rc.accounts.by_account.get(name) is None:
            add_account(state, rc, account, FIRST_ADJUSTMENT)


def can_regenerate(row: RcAccount, now: int) -> bool:
    """Whether the bar can be computed within a year.

    It can't if it regenerates more than 64 bits. The chain would refuse operations of the account, and blocks that pay it.
    """
    return row.last_max * (now + AHEAD_SECONDS - row.mana_time) // REGENERATION_SECONDS <= INT64_MAX


def start(state: State, rc: Rc, batch: Batch) -> bool:
    """Add the resources and their pools. Return False if credits haven't started on the chain of the batch."""
    pools, parameters = batch.get("rc/pools"), batch.get("rc/parameters")
    if pools and not any(pools[0].get("pools", ())):  # shown before credits start
        pools = None
    if not pools and (state.hardfork < RC_HARDFORK or state.props.head_block_number < state.spec.rc_start_block):
        return False
    resources = RcParameters(**parameters[0]) if parameters else RcParameters()
    pool = RcPool(**pools[0]) if pools else RcPool(pools=tuple(resource.pool_eq for resource in resources.resources))
    names = [resource.name for resource in resources.resources]
    if names != [resource.name for resource in RESOURCES] or len(pool.pools) != len(names):
        raise ValueError("other resources than those of this family of chains")
    for one in resources.resources:
        ranged((one.shift, one.decay_shift), 0, SHIFT_MAX)
        ranged((one.unit, one.budget, one.pool_eq, one.max_pool, one.decay, one.coeff_a, one.coeff_b, one.min_decay), 0, WORD64 - 1)
    ranged(pool.pools, INT64_MIN, INT64_MAX)
    rc.parameters.insert(resources)
    rc.pools.insert(pool)
    return True


def export_rows(state: State, rc: Rc) -> Batch:
    """Return the portable rows of the plugin's data."""
    return {
        "rc/parameters": exported_rows(state, rc.parameters, PARAMETERS),
        "rc/pools": exported_rows(state, rc.pools, POOLS),
        "rc/accounts": exported_rows(state, rc.accounts, ACCOUNTS),
    }
