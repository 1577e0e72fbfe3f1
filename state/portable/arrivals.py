"""Accounts that an import adds to a partial chain.

An account is on the chain in full, light, or by name only. A light account has its own columns and authorities, but not the rows that
belong to it. An account is there by name only because another row refers to it, for example as a beneficiary or a proxy. It holds nothing
except VESTS that cover its delegations, which have no weight in votes. Nobody can sign for it.
"""

from collections import Counter
from typing import Any, Literal

from state.portable.declarations import PORTABLE, PortableRow
from state.portable.others import ALL_OTHERS, CLOSED, COIN_MAX, REWARD_COIN, REWARD_VESTS, Amounts, others
from state.portable.weights import Weights
from state.protocol.constants import COIN_NULL_ACCOUNT, COIN_SECONDS_PER_YEAR, TIME_MAX
from state.protocol.values.asset import COIN, SBD, VESTS
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata, VestingDelegation
from state.tables.partial import PartialAccount

Level = Literal["full", "light", "name"]

AMOUNTS: dict[str, int] = {
    "balance": COIN,
    "savings_balance": COIN,
    "reward_coin_balance": COIN,
    "sbd_balance": SBD,
    "savings_sbd_balance": SBD,
    "reward_sbd_balance": SBD,
    "vesting_shares": VESTS,
    "reward_vesting_balance": REWARD_VESTS,
    "reward_vesting_coin": REWARD_COIN,
}
"""The columns of accounts with amounts, and the keys of these amounts."""
SUMS = (*AMOUNTS, "curation_rewards", "posting_rewards")
# Times of the last updates of balances and mana. They can't be in the future.
PAST = (
    "sbd_seconds_last_update", "sbd_last_interest_payment", "savings_sbd_seconds_last_update", "savings_sbd_last_interest_payment",
    "voting_mana_time", "downvote_mana_time",
)  # fmt: skip
SBD_SECONDS_MAX = COIN_MAX // 100 * COIN_SECONDS_PER_YEAR
# Counters that the import computes from the rows.
COUNTERS = (
    "delegated_vesting_shares", "received_vesting_shares", "savings_withdraw_requests", "withdraw_routes", "witnesses_voted_for",
)  # fmt: skip


def account_level(state: State, name: str) -> Level | None:
    """Return how much of an account is on the chain, or None if it has no row."""
    if state.accounts.by_name.get(name) is None:
        return None
    partial = state.partial_accounts.by_account.get(name)
    return "full" if partial is None else "light" if partial.is_light else "name"


class Arrivals:
    """The accounts that an import adds, and the amounts that the import takes from `all others`."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.weights = Weights(state)
        self.amounts: Amounts = Counter()
        self.given: dict[str, PortableRow] = {}
        """The source's rows of the accounts that the import adds, by name."""
        self.completed: set[str] = set()
        """Light accounts that the import makes full."""
        self.named: list[str] = []
        """Accounts that the import added by name only."""

    def add_name(self, name: str) -> None:
        """Add an account by name only, unless it exists."""
        state = self.state
        if state.accounts.by_name.get(name) is not None:
            return
        self.weights.note(name)
        now = state.head_time
        account = state.accounts.insert(
            Account(
                name=name,
                created=now,
                mined=False,
                sbd_seconds_last_update=now,
                sbd_last_interest_payment=now,
                savings_sbd_seconds_last_update=now,
                savings_sbd_last_interest_payment=now,
                voting_mana_time=now,
                downvote_mana_time=now,
            )
        )
        state.account_metadata.insert(AccountMetadata(account=account.id))
        state.account_authorities.insert(AccountAuthority(account=name, owner=CLOSED, active=CLOSED, posting=CLOSED))
        state.partial_accounts.insert(PartialAccount(account=name))
        self.named.append(name)

    def add_account(self, row: PortableRow) -> None:
        """Add an account, or complete a partial one, without the rows that belong to it."""
        state, name = self.state, row["name"]
        is_light = row.get("is_light", False)
        level = account_level(state, name)
        if level == "full" or (level == "light" and is_light):
            return
        partial = state.partial_accounts.by_account.get(name)
        if level == "light":
            assert partial is not None, "a light account has its mark"
            self.weights.note(name)
            state.partial_accounts.remove(partial)
            self.completed.add(name)
            return
        self.add_name(name)
        partial = state.partial_accounts.by_account.find(name)
        account = state.account(name)
        self.weights.note(name)
        self.given[name] = row
        values = {column: value for column, value in row.items() if column not in ("name", "id", "is_light")}
        for column, symbol in AMOUNTS.items():
            self.amounts[symbol] += values.get(column, 0)
        # Amounts that it received here by name only stay. VESTS that covered its delegations are part of its VESTS at the source.
        self.amounts[VESTS] -= partial.vests
        for column in SUMS:
            values[column] = values.get(column, 0) + getattr(account, column)
        values["vesting_shares"] -= partial.vests
        if name == COIN_NULL_ACCOUNT:
            values["proxy"] = ""  # Its VESTS vanish without a change of votes.
        values |= {column: getattr(account, column) for column in COUNTERS} | {"proxied_vsf_votes": (0, 0, 0, 0)}
        state.accounts.modify(account, **sound(state, values))
        state.partial_accounts.remove(partial)
        if is_light:
            state.partial_accounts.insert(PartialAccount(account=name, is_light=True))

    # -------------------------------------------------------------- delegations

    def reduce_rest(self, delegator: str, delegatee: str, vests: int) -> int:
        """Reduce the delegation between an account and `all others` by VESTS whose own row is imported. Return the reduction."""
        state = self.state
        row = state.vesting_delegations.by_delegation.get(delegator, delegatee)
        if row is None:
            return 0
        part = min(vests, row.vesting_shares)
        if part == row.vesting_shares:
            state.vesting_delegations.remove(row)
        else:
            state.vesting_delegations.modify(row, vesting_shares=row.vesting_shares - part)
        self._change_others(delegator, -part)
        return part

    def add_lent(self, delegator: str, vests: int) -> None:
        """Add VESTS to the counter of a delegator, except those that were counted as delegated to `all others`."""
        account = self.state.account(delegator)
        more = vests - self.reduce_rest(delegator, ALL_OTHERS, vests)
        self.state.accounts.modify(account, delegated_vesting_shares=account.delegated_vesting_shares + more)

    def add_received(self, delegatee: str, vests: int) -> None:
        """Add VESTS to the counter of a delegatee, except those that were counted as delegated by `all others`."""
        account = self.state.account(delegatee)
        more = vests - self.reduce_rest(ALL_OTHERS, delegatee, vests)
        self.state.accounts.modify(account, received_vesting_shares=account.received_vesting_shares + more)

    def add_rests(self) -> None:
        """Insert delegations to and from `all others` for the VESTS of the added accounts that no imported row delegates."""
        state = self.state
        for name, row in self.given.items():
            account = state.account(name)
            lent = row.get("delegated_vesting_shares", 0) - account.delegated_vesting_shares
            received = row.get("received_vesting_shares", 0) - account.received_vesting_shares
            for delegator, delegatee, vests in ((name, ALL_OTHERS, lent), (ALL_OTHERS, name, received)):
                if vests > 0:
                    state.vesting_delegations.insert(VestingDelegation(delegator=delegator, delegatee=delegatee, vesting_shares=vests))
                    self._change_others(delegator, vests)
            state.accounts.modify(
                account,
                delegated_vesting_shares=account.delegated_vesting_shares + max(lent, 0),
                received_vesting_shares=account.received_vesting_shares + max(received, 0),
            )

    def _change_others(self, delegator: str, vests: int) -> None:
        """Change the counter of `all others` for a delegation between it and another account."""
        column = "delegated_vesting_shares" if delegator == ALL_OTHERS else "received_vesting_shares"
        row = others(self.state)
        self.state.accounts.modify(row, **{column: getattr(row, column) + vests})

    def cover(self, name: str) -> None:
        """Give an account the VESTS that it lacks for its delegations and its power-down."""
        state, account = self.state, self.state.account(name)
        leaving = max(account.to_withdraw - account.withdrawn, 0) if account.next_vesting_withdrawal != TIME_MAX else 0
        lack = account.delegated_vesting_shares + leaving - account.vesting_shares
        if lack <= 0:
            return
        self.weights.note(name)
        self.amounts[VESTS] += lack
        state.accounts.modify(account, vesting_shares=account.vesting_shares + lack)
        partial = state.partial_accounts.by_account.get(name)
        if partial is not None and not partial.is_light:
            # The weight of these VESTS stays with `all others`, or with a proxy that isn't known.
            first, *rest = account.proxied_vsf_votes
            state.accounts.modify(account, proxied_vsf_votes=(first - lack, *rest))
            state.partial_accounts.modify(partial, vests=partial.vests + lack)


def sound(state: State, values: dict[str, Any]) -> dict[str, Any]:
    """Replace values in an account's columns that would make a later block fail. Return the columns."""
    now = state.head_time
    for column in PAST:
        values[column] = min(values.get(column, now), now)
    for column in ("sbd_seconds", "savings_sbd_seconds"):
        values[column] = min(values.get(column, 0), SBD_SECONDS_MAX)
    left = values.get("to_withdraw", 0) - values.get("withdrawn", 0)
    if values.get("next_vesting_withdrawal", TIME_MAX) != TIME_MAX and (values.get("vesting_withdraw_rate", 0) <= 0 or left <= 0):
        values["next_vesting_withdrawal"] = TIME_MAX
    return values


assert set(AMOUNTS) < set(PORTABLE["accounts"].columns), "amounts are columns of accounts"
