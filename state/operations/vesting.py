"""Vesting: power-up, power-down and its routes, delegations. Sources: operations.md §6; wire-format.md §4.1."""

from __future__ import annotations

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, coin_to_vests, create_vesting
from state.effects.delegations import lend, lendable, take_back
from state.effects.mana import wrapped
from state.effects.treasury import is_closed_treasury, require_sbd_for_treasury
from state.operations.checks import require_account_name, require_optional_account_name
from state.protocol import constants
from state.protocol.codec.kinds import AccountName, Bool, Codecs, UInt16
from state.protocol.errors import require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, VESTS, Asset, is_smt, is_vesting
from state.tables import State
from state.tables.accounts import Account, VestingDelegation, WithdrawRoute

POWER_MIN_FEES = 10  # before hardfork 20: minimum VESTS for a power-down, in account creation fees


@operation(3, active="from_", protected="from_")
class TransferToVesting(Operation, frozen=True):
    """Power up: convert liquid funds to vesting shares, of the sender or of another account."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()

    def impacted(self) -> set[str]:
        return {self.from_, self.to or self.from_}

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_)
        symbol = self.amount.symbol
        require(
            symbol == COIN or (is_smt(symbol) and not is_vesting(symbol)),
            "Amount must be COIN or SMT liquid",
            condition="amount.symbol == COIN_SYMBOL || ( amount.symbol.space() == asset_symbol_type::smt_nai_space "
            "&& amount.symbol.is_vesting() == false )",
        )
        require_optional_account_name(self.to)
        require(self.amount.amount > 0, "Must transfer a nonzero amount", condition="amount.amount > 0")

    def apply(self, state: State) -> None:
        source, target = state.account(self.from_), state.account(self.to or self.from_)
        # The rule checks `to` as given, so a power-up of the treasury itself, with an empty `to`, is not refused.
        require_sbd_for_treasury(state, self.to, self.amount)

        adjust_balance(state, source, -self.amount.amount, self.amount.symbol)
        create_vesting(state, target, self.amount.amount, self.amount.symbol)


@operation(4, active="account", protected="account")
class WithdrawVesting(Operation, frozen=True):
    """Power down: pay out vesting shares in weekly parts. An amount of 0 stops the power-down."""

    account: AccountName = ""
    vesting_shares: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require(self.vesting_shares.symbol == VESTS, "Amount must be VESTS", condition="is_asset_type( vesting_shares, VESTS_SYMBOL)")

    def apply(self, state: State) -> None:
        account, shares = state.account(self.account), self.vesting_shares.amount
        if shares < 0:
            require(
                state.props.head_block_number <= state.spec.constants.NEGATIVE_WITHDRAW_REFUSED_AFTER_BLOCK,
                "Cannot withdraw negative VESTS. account: ${account}, vests:${vests}",
                condition="false",
                account=self.account,
                vests=self.vesting_shares,
            )
            # On the public chain a negative amount initially had no effect.
            return
        too_little = "Account does not have sufficient Coin Power for withdraw."
        require(account.vesting_shares >= 0, too_little, condition="account.vesting_shares >= asset( 0, VESTS_SYMBOL )")
        require(
            share(account.vesting_shares - account.delegated_vesting_shares) >= shares,
            too_little,
            condition="account.vesting_shares - account.delegated_vesting_shares >= o.vesting_shares",
        )
        if 1 <= state.hardfork < 20 and not account.mined:
            # In hardforks 1 to 19 an account created by another account could not power down its initial VESTS.
            self._require_power(state, account)
        rate = withdraw_rate(state, shares)
        # Since hardfork 5 the rate must change.
        require(
            rate != account.vesting_withdraw_rate or state.hardfork < 5,
            "This operation would not change the vesting withdraw rate.",
            condition="account.vesting_withdraw_rate != new_vesting_withdraw_rate",
        )

        state.accounts.modify(
            account,
            vesting_withdraw_rate=rate,
            next_vesting_withdrawal=state.head_time + constants.COIN_VESTING_WITHDRAW_INTERVAL_SECONDS if shares else constants.TIME_MAX,
            to_withdraw=shares,
            withdrawn=0,
        )

    def _require_power(self, state: State, account: Account) -> None:
        """Refuse an account whose VESTS are worth at most ten creation fees. Since hardfork 16 it can still stop a power-down."""
        fee = state.schedule.median_props.account_creation_fee
        least = wrapped(coin_to_vests(state, fee) * POWER_MIN_FEES)
        require(
            account.vesting_shares > least or (state.hardfork >= 16 and self.vesting_shares.amount == 0),
            "Account registered by another account requires 10x account creation fee worth of Coin Power before it can be powered down.",
            condition="account.vesting_shares > min_vests || "
            "( _db.has_hardfork( COIN_HARDFORK_0_16__562 ) && o.vesting_shares.amount == 0 )",
        )


@operation(20, active="from_account", impacted=("from_account", "to_account"), protected="from_account")
class SetWithdrawVestingRoute(Operation, frozen=True):
    """Route a percentage of an account's power-down payments to another account."""

    from_account: AccountName = ""
    to_account: AccountName = ""
    percent: UInt16 = 0
    auto_vest: Bool = False

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_account)
        require_account_name(self.to_account)
        require(
            self.percent <= constants.COIN_100_PERCENT,
            "Percent must be valid coin percent",
            condition="0 <= percent && percent <= COIN_100_PERCENT",
        )

    def apply(self, state: State) -> None:
        source = state.account(self.from_account)
        state.account(self.to_account)
        routes = state.withdraw_routes
        route = routes.by_withdraw_route.get(self.from_account, self.to_account)
        require(
            not is_closed_treasury(state, self.to_account),
            "Cannot withdraw vesting to ${s}",
            condition="o.to_account != COIN_TREASURY_ACCOUNT",
            s=self.to_account,
        )
        if route is None:
            require(self.percent != 0, "Cannot create a 0% destination.", condition="o.percent != 0")
            require(
                source.withdraw_routes < constants.COIN_MAX_WITHDRAW_ROUTES,
                "Account already has the maximum number of routes.",
                condition="from_account.withdraw_routes < COIN_MAX_WITHDRAW_ROUTES",
            )

        if route is None:
            routes.insert(
                WithdrawRoute(from_account=source.name, to_account=self.to_account, percent=self.percent, auto_vest=self.auto_vest)
            )
            state.accounts.modify(source, withdraw_routes=source.withdraw_routes + 1)
        elif self.percent == 0:
            routes.remove(route)
            state.accounts.modify(source, withdraw_routes=source.withdraw_routes - 1)
        else:
            routes.modify(route, percent=self.percent, auto_vest=self.auto_vest)
        require(
            sum(route.percent for route in routes.by_withdraw_route.equal(source.name)) <= constants.COIN_100_PERCENT,
            "More than 100% of vesting withdrawals allocated to destinations.",
            condition="total_percent <= COIN_100_PERCENT",
        )


@operation(40, active="delegator", impacted=("delegator", "delegatee"))
class DelegateVestingShares(Operation, frozen=True):
    """Delegate vesting shares to another account. The amount is the new total of the delegation."""

    delegator: AccountName = ""
    delegatee: AccountName = ""
    vesting_shares: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.delegator)
        require_account_name(self.delegatee)
        require(self.delegator != self.delegatee, "You cannot delegate VESTS to yourself", condition="delegator != delegatee")
        shares = self.vesting_shares
        require(shares.symbol == VESTS, "Delegation must be VESTS", condition="is_asset_type( vesting_shares, VESTS_SYMBOL )")
        require(shares.amount >= 0, "Delegation cannot be negative", condition="vesting_shares >= asset( 0, VESTS_SYMBOL )")

    def apply(self, state: State) -> None:
        delegator, delegatee = state.account(self.delegator), state.account(self.delegatee)
        delegations = state.vesting_delegations
        old = delegations.by_delegation.get(self.delegator, self.delegatee)
        available = lendable(state, delegator)
        shares = self.vesting_shares.amount
        if old is None:
            self._require_available(shares, available)
            require_minimum(state, shares, "Account must delegate a minimum of ${v}", "op.vesting_shares >= min_delegation")

            delegations.insert(
                VestingDelegation(
                    delegator=self.delegator, delegatee=self.delegatee, vesting_shares=shares, min_delegation_time=state.head_time
                )
            )
            lend(state, delegator, delegatee, shares)
        elif shares >= old.vesting_shares:
            more = shares - old.vesting_shares
            require_difference(state, more, "increase")
            self._require_available(more, available)

            lend(state, delegator, delegatee, more)
            delegations.modify(old, vesting_shares=shares)
        else:
            less = old.vesting_shares - shares
            if shares > 0:
                require_difference(state, less, "decrease")
                text = "Delegation must be removed or leave minimum delegation amount of ${v}"
                require_minimum(state, shares, text, "op.vesting_shares >= min_delegation")

            take_back(state, old, delegatee, shares)

    def _require_available(self, shares: int, available: tuple[int, int]) -> None:
        """Refuse a delegation that exceeds what a manabar of the delegator allows.

        `available` is the limit by each of the two bars. Before hardfork 21 there is one bar, and both limits are equal.
        """
        for kind, free in zip(("mana", "downvote mana"), available, strict=True):
            require(
                free >= shares,
                f"Account ${{acc}} does not have enough {kind} to delegate. required: ${{r}} available: ${{a}}",
                condition=f"available_{'downvote_' if kind != 'mana' else ''}shares >= op.vesting_shares",
                acc=self.delegator,
                r=Asset(shares, VESTS),
                a=Asset(free, VESTS),
            )


# ------------------------------------------------------------------ checks


def withdraw_rate(state: State, shares: int) -> int:
    """Return the VESTS to power down per week: at least 1, but 0 for a power-down of 0."""
    if shares == 0:
        return 0
    if state.hardfork >= 23:
        weeks = constants.COIN_VESTING_WITHDRAW_INTERVALS_HF_23
    elif state.hardfork >= 16:
        # A quarter of a year in hardforks 16 to 22, two years before.
        weeks = constants.COIN_VESTING_WITHDRAW_INTERVALS
    else:
        weeks = constants.COIN_VESTING_WITHDRAW_INTERVALS_PRE_HF_16
    rate = max(shares // weeks, 1)
    # Since hardfork 21 the rate is rounded up; before, a remainder took an additional week.
    return rate + 1 if state.hardfork >= 21 and rate * weeks < shares else rate


def require_minimum(state: State, shares: int, text: str, condition: str) -> None:
    """Refuse a delegation worth less than a third of the creation fee. Before hardfork 20 the minimum was ten of the smaller fees."""
    fee = state.schedule.median_props.account_creation_fee
    least = coin_to_vests(state, fee // 3 if state.hardfork >= 20 else share(fee * 10))
    require(shares >= least, text, condition=condition, v=Asset(least, VESTS))


def require_difference(state: State, difference: int, kind: str) -> None:
    """Refuse to change a delegation by less than a thirtieth of the creation fee. Before hardfork 20 the minimum was one fee."""
    fee = state.schedule.median_props.account_creation_fee
    least = coin_to_vests(state, fee // 30 if state.hardfork >= 20 else fee)
    require(
        difference >= least,
        f"Coin Power {kind} is not enough of a difference. min_update: ${{min}}",
        condition="delta >= min_update",
        min=Asset(least, VESTS),
    )
