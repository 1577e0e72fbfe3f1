"""The tables of the plugin `rc`: resources, pools and the credits of accounts; and `Rc` with all of its data."""

from state.effects.mana import saturated
from state.plugins.rc.prices import NO_USAGE, RESOURCES, Rates, Resource, cost, rates_of
from state.plugins.rc.usage import Usage
from state.protocol.constants import TIME_MAX
from state.store import Row, Table, Unique
from state.tables import State
from state.tables.accounts import Account
from state.tables.globals import SubsidyParams

REGENERATION_SECONDS = 432_000
REGENERATION_BLOCKS = REGENERATION_SECONDS // 3
FAR_FROM_EDGE = 2**62  # no account withdraws as much in a week, so that no sum below ended at 2^63 on its way


class RcParameters(Row):
    """The resources, in one row. The parameters of new accounts follow those that the witnesses agree on, `subsidy`."""

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
    """An account's credits as a manabar.

    `adjustment` (VESTS) is what the creation of the account cost; it counts like VESTS, so that a new account can do something.
    `last_max` is the maximum at the last change of the account's VESTS; the difference to a new maximum is added to the credits.
    """

    account: str = ""
    mana: int = 0
    mana_time: int = 0
    adjustment: int = 0
    last_max: int = 0


class RcAccounts(Table[RcAccount]):
    """Credits by account; empty until credits start."""

    by_account = Unique("account")


class Rc:
    """The plugin's data. `block_usage` adds up the transactions of the block that is applied now; each block starts it anew.

    The prices of all resources are the same for many transactions in a row: they change with the pools, after a block, and with the
    total of VESTS. So they are kept, with the pools and the regeneration that they are for.
    """

    def __init__(self, state: State) -> None:
        self.parameters = RcParametersTable(state.journal)
        self.pools = RcPools(state.journal)
        self.accounts = RcAccounts(state.journal)
        self.block_usage: Usage = NO_USAGE
        self._rates: Rates = ()
        self._rated: tuple[int, ...] = ()
        self._regeneration = 0

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The five resources in their order, as they are priced now; the initial ones before credits start."""
        row = self.parameters.get(0)
        return RESOURCES if row is None else row.resources

    @property
    def left(self) -> tuple[int, ...]:
        """What is left of each resource, in units; zeros before credits start."""
        row = self.pools.get(0)
        return NO_USAGE if row is None else row.pools

    def price(self, state: State, usage: Usage) -> int:
        """Return what a usage costs now, in credits: with the pools as the last block left them, and the total of VESTS of now."""
        regeneration = state.props.total_vesting_shares // REGENERATION_BLOCKS
        row = self.pools.get(0)
        assert row is not None, "credits have started"
        pools = row.pools
        # Identity is enough: each change of the pools, and its undoing, puts another tuple there. Resources change only with pools.
        if self._rated is not pools or self._regeneration != regeneration:
            self._rates = rates_of(self.parameters.find(0).resources, pools, regeneration)
            self._rated, self._regeneration = pools, regeneration
        return cost(self._rates, usage)


def maximum_rc(account: Account, adjustment: int) -> int:
    """Return the size of an account's bar: its effective VESTS and the adjustment for its creation."""
    most = account.effective_vests + adjustment
    return most if -FAR_FROM_EDGE < most < FAR_FROM_EDGE else step_by_step(account, adjustment)


def step_by_step(account: Account, adjustment: int) -> int:
    """Return the size of an account's bar where each of the reference's sums may end at the edge of 64 bits."""
    most = saturated(account.vesting_shares - account.delegated_vesting_shares)
    most = saturated(most + account.received_vesting_shares)
    most = saturated(most + adjustment)
    next_withdrawal = 0
    if account.next_vesting_withdrawal != TIME_MAX:
        next_withdrawal = min(account.vesting_withdraw_rate, account.to_withdraw - account.withdrawn)
    return saturated(most - next_withdrawal)
