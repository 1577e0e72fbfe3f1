"""Accounts and the rows that belong to them: metadata, authorities, recovery, delegations, routes. Source: state-objects.md §4."""

from state.protocol.authority import Authority
from state.protocol.constants import TIME_MAX
from state.protocol.keys.keys import NULL_KEY
from state.store import ComputedKey, Ordered, Packed, Row, Setter, Table, Unique


def vote_weight(own: int, received: int, delegated: int) -> int:
    """Return the VESTS that determine the weight of an account's votes on comments. Also used as the key of `by_vote_weight`."""
    return own + received - delegated


VESTS_FIELDS = ("vesting_shares", "received_vesting_shares", "delegated_vesting_shares")


class Account(Row):
    """An account. COIN, SBD and VESTS are integers in their smallest unit. A manabar is its mana at the time of its last update.

    Before hardfork 20 `voting_mana` is a percentage in basis points (effects/early_voting.py).
    """

    name: str = ""
    memo_key: bytes = NULL_KEY
    proxy: str = ""
    last_account_update: int = 0
    created: int = 0
    mined: bool = True
    recovery_account: str = ""
    last_account_recovery: int = 0
    reset_account: str = "null"
    comment_count: int = 0
    lifetime_vote_count: int = 0
    post_count: int = 0
    can_vote: bool = True
    voting_mana: int = 0
    voting_mana_time: int = 0
    downvote_mana: int = 0
    downvote_mana_time: int = 0
    balance: int = 0
    savings_balance: int = 0
    sbd_balance: int = 0
    sbd_seconds: int = 0
    sbd_seconds_last_update: int = 0
    sbd_last_interest_payment: int = 0
    savings_sbd_balance: int = 0
    savings_sbd_seconds: int = 0
    savings_sbd_seconds_last_update: int = 0
    savings_sbd_last_interest_payment: int = 0
    savings_withdraw_requests: int = 0
    reward_coin_balance: int = 0
    reward_sbd_balance: int = 0
    reward_vesting_balance: int = 0
    reward_vesting_coin: int = 0
    vesting_shares: int = 0
    delegated_vesting_shares: int = 0
    received_vesting_shares: int = 0
    vesting_withdraw_rate: int = 0
    next_vesting_withdrawal: int = TIME_MAX
    withdrawn: int = 0
    to_withdraw: int = 0
    withdraw_routes: int = 0
    curation_rewards: int = 0
    posting_rewards: int = 0
    proxied_vsf_votes: tuple[int, int, int, int] = (0, 0, 0, 0)
    witnesses_voted_for: int = 0
    last_post: int = 0
    last_root_post: int = 0
    last_post_edit: int = 0
    last_vote_time: int = 0
    post_bandwidth: int = 0
    pending_claimed_accounts: int = 0

    @property
    def witness_vote_weight(self) -> int:
        """The weight of the account's witness votes: its own VESTS and those of accounts that use it as their proxy."""
        return self.vesting_shares + sum(self.proxied_vsf_votes)

    @property
    def vote_weight(self) -> int:
        """The VESTS that determine the weight of the account's votes on comments: own and received VESTS, less delegated VESTS."""
        return vote_weight(self.vesting_shares, self.received_vesting_shares, self.delegated_vesting_shares)

    @property
    def effective_vests(self) -> int:
        """The size of the account's voting manabar: own and received VESTS, less delegated VESTS and the next power-down payment."""
        vests = self.vesting_shares + self.received_vesting_shares - self.delegated_vesting_shares
        if self.next_vesting_withdrawal != TIME_MAX:
            vests -= min(self.vesting_withdraw_rate, self.to_withdraw - self.withdrawn)
        return vests


def is_withdrawing(next_vesting_withdrawal: int) -> bool:
    """Whether a power-down payment is scheduled."""
    return next_vesting_withdrawal != TIME_MAX


class Accounts(Table[Account]):
    """All accounts.

    Only queries read the order of lazy indices. Rules look up `by_name` only by complete names, which needs no sorting. Most accounts
    withdraw nothing, so `by_due_withdrawal`, which the rules read, excludes them: an entry takes 80 bytes.
    """

    packed = Packed()
    by_name = Ordered("name", unique=True, lazy=True)
    by_proxy = Ordered("proxy", "name", lazy=True)
    by_next_vesting_withdrawal = Ordered("next_vesting_withdrawal", "name", lazy=True)
    by_due_withdrawal = Ordered("next_vesting_withdrawal", "name", where=(is_withdrawing, "next_vesting_withdrawal"))
    by_vote_weight = Ordered(ComputedKey(vote_weight, *VESTS_FIELDS, descending=True), lazy=True)  # only the social index reads it
    set_balance = Setter("balance")
    set_sbd_balance = Setter("sbd_balance", "sbd_seconds", "sbd_seconds_last_update", "sbd_last_interest_payment")
    set_vesting_shares = Setter("vesting_shares")
    set_mana = Setter("voting_mana", "voting_mana_time", "downvote_mana", "downvote_mana_time")
    set_last_vote = Setter("last_vote_time", "voting_mana", "voting_mana_time", "downvote_mana", "downvote_mana_time")
    set_last_post = Setter("last_post", "last_post_edit", "last_root_post", "post_count", "post_bandwidth")
    set_reward_coin = Setter("reward_coin_balance")
    set_reward_sbd = Setter("reward_sbd_balance")
    set_reward_vests = Setter("reward_vesting_balance", "reward_vesting_coin")
    set_curation_rewards = Setter("curation_rewards")
    set_posting_rewards = Setter("posting_rewards")
    set_witnesses_voted_for = Setter("witnesses_voted_for")


class AccountMetadata(Row):
    """The JSON metadata that an account has published. As on the reference, some genesis accounts have no such row."""

    account: int = 0
    json_metadata: str = ""
    posting_json_metadata: str = ""


class AccountMetadataTable(Table[AccountMetadata]):
    """The metadata of accounts, keyed by account id."""

    packed = Packed()
    by_account = Unique("account")


class AccountAuthority(Row):
    """The keys and accounts that can act for an account, in each of the three roles."""

    account: str = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    last_owner_update: int = 0


class AccountAuthorities(Table[AccountAuthority]):
    """The authorities of all accounts."""

    packed = Packed()
    by_account = Unique("account")


class OwnerHistory(Row):
    """A former owner authority of an account, and the last time when it was valid."""

    account: str = ""
    previous_owner_authority: Authority = Authority()
    last_valid_time: int = 0


class OwnerHistories(Table[OwnerHistory]):
    """Former owner authorities that can still be used to recover their accounts."""

    by_account = Ordered("account", "last_valid_time")


class RecoveryRequest(Row):
    """A recovery partner's proposal of a new owner authority. The account's owner must confirm it with a former owner authority."""

    account_to_recover: str = ""
    new_owner_authority: Authority = Authority()
    expires: int = 0


class RecoveryRequests(Table[RecoveryRequest]):
    """Pending account recoveries."""

    by_account = Ordered("account_to_recover", unique=True)
    by_expiration = Ordered("expires", "account_to_recover", unique=True)


class ChangeRecoveryRequest(Row):
    """A scheduled change of the recovery partner."""

    account_to_recover: str = ""
    recovery_account: str = ""
    effective_on: int = 0


class ChangeRecoveryRequests(Table[ChangeRecoveryRequest]):
    """Pending changes of recovery partners."""

    by_account = Ordered("account_to_recover", unique=True)
    by_effective_date = Ordered("effective_on", "account_to_recover", unique=True)


class DeclineVotingRequest(Row):
    """An account's request to give up its voting rights, which takes effect after a delay."""

    account: str = ""
    effective_date: int = 0


class DeclineVotingRequests(Table[DeclineVotingRequest]):
    """Requests to give up voting rights that have not taken effect yet."""

    by_account = Ordered("account", unique=True)
    by_effective_date = Ordered("effective_date", "account", unique=True)


class VestingDelegation(Row):
    """VESTS that one account delegates to another."""

    delegator: str = ""
    delegatee: str = ""
    vesting_shares: int = 0
    min_delegation_time: int = 0


class VestingDelegations(Table[VestingDelegation]):
    """Current delegations."""

    by_delegation = Ordered("delegator", "delegatee", unique=True)


class DelegationExpiration(Row):
    """VESTS by which a delegation was reduced. They return to the delegator at `expiration`. Until then neither account can use them."""

    delegator: str = ""
    vesting_shares: int = 0
    expiration: int = 0


class DelegationExpirations(Table[DelegationExpiration]):
    """Reduced or ended delegations whose VESTS have not returned yet."""

    by_expiration = Ordered("expiration")
    by_account_expiration = Ordered("delegator", "expiration")


class WithdrawRoute(Row):
    """A route that pays a part of one account's power-down to another, as VESTS (`auto_vest`) or as COIN."""

    from_account: str = ""
    to_account: str = ""
    percent: int = 0
    auto_vest: bool = False


class WithdrawRoutes(Table[WithdrawRoute]):
    """Routes of power-downs."""

    by_withdraw_route = Ordered("from_account", "to_account", unique=True)
    by_destination = Ordered("to_account")
