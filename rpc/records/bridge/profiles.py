"""Records of `bridge` for profiles of accounts, and for the relations between accounts. Source: social.md §3.8."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_encoder import Json
from rpc.records.bridge.kinds import FreeObject, Number, TextList
from state.plugins.follow.lists import follow_count
from state.plugins.follow.plugin import FOLLOW
from state.plugins.social.chain_reader import follows, ignores
from state.plugins.social.index import Social
from state.plugins.social.post_metadata import blacklists, profile_of
from state.plugins.social.scores import shown_reputation
from state.protocol.codec.kinds import AccountName, Bool, Text, Time, UInt32
from state.tables import State
from state.tables.accounts import Account, AccountMetadata

COIN_UNIT = 1000


class ProfileStatsRecord(Struct):
    """An account's stake in whole COIN (`sp`), its rank by stake, and how many accounts it follows and is followed by."""

    sp: Annotated[int, Number()]
    rank: UInt32
    following: UInt32
    followers: UInt32


class ProfileContextRecord(Struct):
    """Whether the observer follows an account. The member `muted` is present only if the observer ignores the account."""

    followed: Bool
    muted: Bool | None = None


class ProfileRecord(Struct):
    """An account with its profile. The member `context` is present only if the request has an observer."""

    id: UInt32
    name: AccountName
    created: Time
    active: Time
    post_count: UInt32
    reputation: Annotated[float, Number()]
    blacklists: TextList
    stats: ProfileStatsRecord
    metadata: Annotated[Json, FreeObject()]
    context: ProfileContextRecord | None = None


class RelationshipRecord(Struct):
    """Whether an account follows or ignores another account.

    The last three members are always false, since this node doesn't support lists that accounts can follow.
    """

    follows: Bool
    ignores: Bool
    blacklists: Bool = False
    follows_blacklists: Bool = False
    follows_muted: Bool = False


class FollowListEntryRecord(Struct):
    """An account in a follow list. The two descriptions are always empty, since this node doesn't support lists of other accounts."""

    name: AccountName
    blacklist_description: Text = ""
    muted_list_description: Text = ""


def profile(state: State, kept: Social, account: Account, observer: str) -> ProfileRecord:
    """Return the profile of an account, with its relation to the observer if there is one."""
    metadata = state.account_metadata.by_account.get(account.id) or AccountMetadata()
    reputation = shown_reputation(kept.facts.reputation(state, account.name))
    followers, following = follow_count(state, account.name) if FOLLOW.is_on(state) else (0, 0)
    props = state.props
    times = (account.created, account.last_account_update, account.last_post, account.last_root_post, account.last_vote_time)
    return ProfileRecord(
        id=account.id,
        name=account.name,
        created=account.created,
        active=max(times),
        post_count=account.post_count,
        reputation=reputation,
        blacklists=blacklists(reputation, account.name in kept.irredeemables),
        stats=ProfileStatsRecord(
            sp=account.vote_weight * props.total_vesting_fund_coin // (props.total_vesting_shares * COIN_UNIT or 1),
            rank=kept.facts.rank(state, account) or 0,
            following=following,
            followers=followers,
        ),
        metadata={"profile": profile_of(metadata.posting_json_metadata, metadata.json_metadata)},
        context=profile_context(state, observer, account.name) if observer else None,
    )


def profile_context(state: State, observer: str, account: str) -> ProfileContextRecord:
    """Return whether the observer follows or ignores an account."""
    return ProfileContextRecord(follows(state, observer, account), ignores(state, observer, account) or None)
