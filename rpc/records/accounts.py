"""R-account: an account with its authorities and metadata, in both JSON formats, and its extended form in condenser_api.

Source: rpc-api.md §2.2, §4.4.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from msgspec import Struct

from rpc.declare.record_fields import Big, CoinAmount, ConstantField, DebtAmount, FieldPath, VestsAmount, Whole
from state.plugins.follow.lists import known_reputations
from state.plugins.reputation import reputation_of
from state.protocol.authority import Authority
from state.protocol.codec.kinds import AccountName, Bool, Bounded, Many, PublicKey, Text, Time, UInt32, UInt128
from state.protocol.constants import COIN_100_PERCENT, COIN_MAX_ACCOUNT_WITNESS_VOTES, COIN_VOTING_MANA_REGENERATION_SECONDS
from state.tables import State
from state.tables import accounts as tables

NEW_MANA_HARDFORK = 20
NO_AUTHORITY = tables.AccountAuthority()
NO_METADATA = tables.AccountMetadata()
# Number of authority members for which one unit of work pays. Keys are more expensive, since they are encoded as text.
NAMES_OF_UNIT, KEYS_OF_UNIT = 10, 2

Nothing = Annotated[list[Any], ConstantField([])]


class AccountView(Struct):
    """The object from which account records are read: the account's row, its authority and metadata, and the chain state for everything
    else.
    """

    row: tables.Account
    authority: tables.AccountAuthority
    metadata: tables.AccountMetadata
    state: State

    @property
    def is_smt(self) -> bool:
        """Whether the account controls a token."""
        return next(self.state.smt_tokens.by_control_account.equal(self.row.name), None) is not None

    @property
    def vesting_balance(self) -> int:
        """Always 0: the reference has this member but never fills it."""
        return 0

    @property
    def witness_votes(self) -> list[str]:
        """The names of the witnesses that the account votes for, in ascending order."""
        votes = self.state.witness_votes.of_account.of(self.row.name)
        return sorted([vote.witness for vote in votes])[:COIN_MAX_ACCOUNT_WITNESS_VOTES]

    @property
    def reputation(self) -> int:
        """The account's reputation, or 0 if no reputation plugin is enabled."""
        known = known_reputations(self.state)
        return 0 if known is None else reputation_of(known, self.row.name)

    @property
    def voting_power(self) -> int:
        """The voting mana as of the account's last vote, in 1/10000 of the maximum. Clients that don't support manabars read it."""
        row = self.row
        if row.voting_mana_time < self.state.spec.hardfork_times[NEW_MANA_HARDFORK]:
            return row.voting_mana
        vests = row.effective_vests
        if vests <= 0:
            return 0
        power = min(COIN_100_PERCENT, COIN_100_PERCENT * row.voting_mana // vests)
        elapsed = max(0, row.voting_mana_time - row.last_vote_time)
        return power - min(power, COIN_100_PERCENT * elapsed // COIN_VOTING_MANA_REGENERATION_SECONDS)


def account_view(state: State, row: tables.Account) -> AccountView:
    """Return the view from which `AccountRecord` and `ExtendedAccountRecord` are read."""
    authority = state.account_authorities.by_account.get(row.name) or NO_AUTHORITY
    metadata = state.account_metadata.by_account.get(row.id) or NO_METADATA
    names = keys = 0
    for role in (authority.owner, authority.active, authority.posting):
        names += len(role.account_auths)
        keys += len(role.key_auths)
    state.work.spend(names // NAMES_OF_UNIT + keys // KEYS_OF_UNIT, "members of authorities")
    return AccountView(row, authority, metadata, state)


def account_views(state: State, names: list[str]) -> Iterator[AccountView]:
    """Yield the views of the accounts with these names. Unknown names are omitted."""
    by_name = state.accounts.by_name
    return (account_view(state, row) for name in names if (row := by_name.get(name)) is not None)


class VotingManaRecord(Struct):
    """The manabar for upvotes, read from an account's row."""

    current_mana: Annotated[int, FieldPath("voting_mana", Whole())]
    last_update_time: Annotated[int, FieldPath("voting_mana_time", UInt32)]


class DownvoteManaRecord(Struct):
    """The manabar for downvotes, read from an account's row."""

    current_mana: Annotated[int, FieldPath("downvote_mana", Whole())]
    last_update_time: Annotated[int, FieldPath("downvote_mana_time", UInt32)]


class AccountRecord(Struct):
    """An account (R-account), read from an `AccountView`. The members for the bandwidth rules of release 0.20.2 are no longer updated."""

    ROOT: ClassVar[str] = "row"
    LEGACY_ABSENT = ("last_post_edit", "is_smt")
    APPBASE_ABSENT = (
        "voting_power",
        "average_bandwidth",
        "lifetime_bandwidth",
        "last_bandwidth_update",
        "average_market_bandwidth",
        "lifetime_market_bandwidth",
        "last_market_bandwidth_update",
    )

    id: UInt32
    name: AccountName
    owner: Annotated[Authority, FieldPath("authority.owner", Authority)]
    active: Annotated[Authority, FieldPath("authority.active", Authority)]
    posting: Annotated[Authority, FieldPath("authority.posting", Authority)]
    memo_key: PublicKey
    json_metadata: Annotated[str, FieldPath("metadata.json_metadata", Text)]
    posting_json_metadata: Annotated[str, FieldPath("metadata.posting_json_metadata", Text)]
    proxy: AccountName
    last_owner_update: Annotated[int, FieldPath("authority.last_owner_update", Time)]
    last_account_update: Time
    created: Time
    mined: Bool
    recovery_account: AccountName
    last_account_recovery: Time
    reset_account: AccountName
    comment_count: UInt32
    lifetime_vote_count: UInt32
    post_count: UInt32
    can_vote: Bool
    voting_manabar: Annotated[VotingManaRecord, FieldPath("row", VotingManaRecord)]
    downvote_manabar: Annotated[DownvoteManaRecord, FieldPath("row", DownvoteManaRecord)]
    voting_power: Annotated[int, FieldPath("voting_power", UInt32)]
    balance: CoinAmount
    savings_balance: CoinAmount
    sbd_balance: DebtAmount
    sbd_seconds: UInt128
    sbd_seconds_last_update: Time
    sbd_last_interest_payment: Time
    savings_sbd_balance: DebtAmount
    savings_sbd_seconds: UInt128
    savings_sbd_seconds_last_update: Time
    savings_sbd_last_interest_payment: Time
    savings_withdraw_requests: UInt32
    reward_sbd_balance: DebtAmount
    reward_coin_balance: CoinAmount
    reward_vesting_balance: VestsAmount
    reward_vesting_coin: CoinAmount
    vesting_shares: VestsAmount
    delegated_vesting_shares: VestsAmount
    received_vesting_shares: VestsAmount
    vesting_withdraw_rate: VestsAmount
    next_vesting_withdrawal: Time
    withdrawn: Big
    to_withdraw: Big
    withdraw_routes: UInt32
    curation_rewards: Big
    posting_rewards: Big
    proxied_vsf_votes: Annotated[tuple[int, ...], Many(Whole())]
    witnesses_voted_for: UInt32
    last_post: Time
    last_root_post: Time
    last_post_edit: Time
    last_vote_time: Time
    post_bandwidth: UInt32
    pending_claimed_accounts: Big
    is_smt: Annotated[bool, FieldPath("is_smt", Bool)]
    average_bandwidth: Annotated[int, ConstantField(0)]
    lifetime_bandwidth: Annotated[int, ConstantField(0)]
    last_bandwidth_update: Annotated[str, ConstantField("1970-01-01T00:00:00")]
    average_market_bandwidth: Annotated[int, ConstantField(0)]
    lifetime_market_bandwidth: Annotated[int, ConstantField(0)]
    last_market_bandwidth_update: Annotated[str, ConstantField("1970-01-01T00:00:00")]


class ExtendedAccountRecord(AccountRecord):
    """An account in the extended form of condenser_api (R-account). `vesting_balance` is always 0, and the histories are always empty."""

    vesting_balance: Annotated[int, FieldPath("vesting_balance", CoinAmount)]
    reputation: Annotated[int, FieldPath("reputation", Whole())]
    transfer_history: Nothing
    market_history: Nothing
    post_history: Nothing
    vote_history: Nothing
    other_history: Nothing
    witness_votes: Annotated[list[str], FieldPath("witness_votes", Many(Bounded(16)))]
    tags_usage: Nothing
    guest_bloggers: Nothing
