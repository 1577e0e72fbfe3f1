"""The tables of the plugin `rc` (resources, pools, credits of accounts), and its data `Rc`."""

from state.effects.mana import saturated
from state.plugins.rc.prices import NO_USAGE, RESOURCES, Rates, Resource, cost, rates_of
from state.plugins.rc.usage import Usage
from state.protocol.constants import TIME_MAX
from state.store import Packed, Row, Setter, Table, Unique
from state.tables import State
from state.tables.accounts import Account
from state.tables.globals import SubsidyParams

REGENERATION_SECONDS = 432_000
REGENERATION_BLOCKS = REGENERATION_SECONDS // 3
FAR_FROM_EDGE = 2**62  # no account withdraws this much in a week, so a sum below this limit had no intermediate overflow


class RcParameters(Row):
    """The parameters of the resources. Those of new accounts come from `subsidy`, for which the witnesses vote."""

    resources: tuple[Resource, ...] = RESOURCES
    subsidy: SubsidyParams | None = None


class RcParametersTable(Table[RcParameters]):
    """Table of one row, the parameters of the resources."""


class RcPool(Row):
    """The contents of the pools of all resources, in units."""

    pools: tuple[int, ...] = NO_USAGE


class RcPools(Table[RcPool]):
    """Table of one row, the pools."""

    set_pools = Setter("pools")


class RcAccount(Row):
    """An account's credits as a manabar.

    `adjustment` is the cost of the account's creation in VESTS. It counts like VESTS, so that a new account can send transactions.
    `last_max` is the maximum at the last change of the account's VESTS. If the maximum has grown since then, the increase is added to the
    credits.
    """

    account: str = ""
    mana: int = 0
    mana_time: int = 0
    adjustment: int = 0
    last_max: int = 0


class RcAccounts(Table[RcAccount]):
    """Credits by account, empty until credits start."""

    packed = Packed()
    by_account = Unique("account")
    set_mana = Setter("mana", "mana_time")
    set_maximum = Setter("last_max", "mana")


class Rc:
    """The plugin's data. `block_usage` is the total usage of transactions since the start of the block that is being applied.

    The prices of all resources are cached, together with the pools and the regeneration from which they were computed. The prices change
    only when the pools change, after each block, and when the total of VESTS changes.
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
        """The five resources with their current parameters. Before credits start, these are the initial parameters."""
        row = self.parameters.get(0)
        return RESOURCES if row is None else row.resources

    @property
    def left(self) -> tuple[int, ...]:
        """The contents of the pools of all resources, in units. Before credits start they are zeros."""
        row = self.pools.get(0)
        return NO_USAGE if row is None else row.pools

    def price(self, state: State, usage: Usage) -> int:
        """Return the cost of a usage in credits, computed from the pools after the last block and the current total of VESTS."""
        regeneration = state.props.total_vesting_shares // REGENERATION_BLOCKS
        row = self.pools.get(0)
        assert row is not None, "credits have started"
        pools = row.pools
        # Comparing identity is enough: each change of the pools, and each undo, sets another tuple. Resources change only together with
        # pools.
        if self._rated is not pools or self._regeneration != regeneration:
            self._rates = rates_of(self.parameters.find(0).resources, pools, regeneration)
            self._rated, self._regeneration = pools, regeneration
        return cost(self._rates, usage)


def maximum_rc(account: Account, adjustment: int) -> int:
    """Return the maximum of an account's bar: its effective VESTS plus the adjustment from the account's creation."""
    most = account.effective_vests + adjustment
    return most if -FAR_FROM_EDGE < most < FAR_FROM_EDGE else step_by_step(account, adjustment)


def step_by_step(account: Account, adjustment: int) -> int:
    """Return the maximum of an account's bar, added up term by term. As in the reference, each partial sum saturates at 64 bits."""
    most = saturated(account.vesting_shares - account.delegated_vesting_shares)
    most = saturated(most + account.received_vesting_shares)
    most = saturated(most + adjustment)
    next_withdrawal = 0
    if account.next_vesting_withdrawal != TIME_MAX:
        next_withdrawal = min(account.vesting_withdraw_rate, account.to_withdraw - account.withdrawn)
    return saturated(most - next_withdrawal)
