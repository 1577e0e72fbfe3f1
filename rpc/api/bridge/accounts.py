"""Accounts in the social index: their notifications and profiles, and the relations between them. Source: social.md §3.4, §3.8."""

from itertools import islice
from typing import Any

from rpc.api.bridge.arguments import (
    NameArgument,
    NamesArgument,
    NumberArgument,
    OtherNameArgument,
    PermlinkArgument,
    TextArgument,
    account_argument,
    demand,
    existing_account,
    limit_argument,
    number_argument,
    observer_argument,
    permlink_argument,
)
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.bridge.notifications import NotificationRecord, UnreadRecord, notification
from rpc.records.bridge.profiles import FollowListEntryRecord, ProfileRecord, RelationshipRecord, profile
from state.plugins.follow.lists import followed
from state.plugins.follow.plugin import FOLLOW
from state.plugins.follow.rows import IGNORE
from state.plugins.social.chain_reader import follows, ignores
from state.plugins.social.notifications import lists as notifications_lists
from state.plugins.social.plugin import COMMUNITIES
from state.tables import State

NOTIFICATIONS_MAX, PROFILES_MAX, FOLLOW_LIST_MAX = 100, 100, 1000
FOLLOW_TYPES = ("blacklisted", "follow_blacklist", "muted", "follow_muted")


def last_argument(value: Any) -> int:
    """Convert the argument `last_id` to the id of a notification's row. Clients count notifications from 1, and rows are counted from 0."""
    return notifications_lists.LAST if value is None else number_argument(value, "last_id") - 1


def is_community(state: State, name: str) -> bool:
    """Whether an account is a community. For a community, clients get all of its events as notifications, without a minimum score."""
    return name.startswith(state.spec.community_prefix)


@method("bridge.account_notifications", plugin=COMMUNITIES, record=NotificationRecord)
def account_notifications(
    state: State,
    show: RecordEncoder,
    /,
    account: NameArgument,
    min_score: NumberArgument = 25,
    last_id: NumberArgument = None,
    limit: NumberArgument = 100,
) -> list[Json]:
    """List the notifications of an account before `last_id`, newest first. For a community, list all of its events."""
    kept, count_max = COMMUNITIES.of(state), limit_argument(limit, NOTIFICATIONS_MAX)
    name, last = existing_account(state, account).name, last_argument(last_id)
    if is_community(state, name):
        found = notifications_lists.of_community(kept, name, last)
    else:
        found = notifications_lists.of_account(kept, name, last, number_argument(min_score, "min_score"))
    return show.each(NotificationRecord, [notification(kept, row, state.spec.brand) for row in islice(found, count_max)])


@method("bridge.post_notifications", plugin=COMMUNITIES, record=NotificationRecord)
def post_notifications(
    state: State,
    show: RecordEncoder,
    /,
    author: NameArgument,
    permlink: PermlinkArgument,
    min_score: NumberArgument = 25,
    last_id: NumberArgument = None,
    limit: NumberArgument = 100,
) -> list[Json]:
    """List the notifications about a post before `last_id`, newest first."""
    kept, count_max = COMMUNITIES.of(state), limit_argument(limit, NOTIFICATIONS_MAX)
    post = kept.post(account_argument(author), permlink_argument(permlink))
    demand(post is not None, "post id not found")
    assert post is not None
    found = notifications_lists.of_post(kept, post, last_argument(last_id), number_argument(min_score, "min_score"))
    return show.each(NotificationRecord, [notification(kept, row, state.spec.brand) for row in islice(found, count_max)])


@method("bridge.unread_notifications", plugin=COMMUNITIES, record=UnreadRecord)
def unread_notifications(state: State, show: RecordEncoder, /, account: NameArgument, min_score: NumberArgument = 25) -> Json:
    """Return the time up to which an account has read its notifications, and how many newer ones `account_notifications` would list."""
    kept, name = COMMUNITIES.of(state), existing_account(state, account).name
    if is_community(state, name):
        unread = notifications_lists.unread(kept, name, 0, as_community=True)
    else:
        unread = notifications_lists.unread(kept, name, number_argument(min_score, "min_score"))
    return show(UnreadRecord, UnreadRecord(notifications_lists.last_read(kept, name), unread))


@method("bridge.get_profile", plugin=COMMUNITIES, record=ProfileRecord)
def get_profile(state: State, show: RecordEncoder, /, account: NameArgument, observer: TextArgument = "") -> Json | None:
    """Return an account with its profile. If an observer is given, include the observer's relation to it. Return null for an unknown
    account.
    """
    viewer, name = observer_argument(state, observer), account_argument(account)
    row = state.accounts.by_name.get(name)
    return show.maybe(ProfileRecord, None if row is None else profile(state, COMMUNITIES.of(state), row, viewer))


@method("bridge.get_profiles", plugin=COMMUNITIES, record=ProfileRecord)
def get_profiles(state: State, show: RecordEncoder, /, accounts: NamesArgument, observer: TextArgument = "") -> list[Json]:
    """Return several accounts with their profiles, as `get_profile` does. Unknown accounts are omitted."""
    viewer = observer_argument(state, observer)
    demand(isinstance(accounts, list), "accounts must be an array")
    demand(len(accounts) <= PROFILES_MAX, f"too many accounts ({len(accounts)} > {PROFILES_MAX})")
    rows = [state.accounts.by_name.get(account_argument(name)) for name in accounts]
    return show.each(ProfileRecord, [profile(state, COMMUNITIES.of(state), row, viewer) for row in rows if row is not None])


@method("bridge.get_relationship_between_accounts", plugin=COMMUNITIES, record=RelationshipRecord)
def get_relationship_between_accounts(
    state: State, show: RecordEncoder, /, account1: NameArgument, account2: OtherNameArgument, observer: TextArgument = ""
) -> Json:
    """Return whether `account1` follows or ignores `account2`."""
    observer_argument(state, observer)
    one, other = existing_account(state, account1).name, existing_account(state, account2).name
    return show(RelationshipRecord, RelationshipRecord(follows(state, one, other), ignores(state, one, other)))


@method("bridge.does_user_follow_any_lists", plugin=COMMUNITIES)
def does_user_follow_any_lists(state: State, /, observer: NameArgument) -> bool:
    """Always return false, since this node doesn't support lists that accounts can follow."""
    existing_account(state, observer)
    return False


@method("bridge.get_follow_list", plugin=COMMUNITIES, record=FollowListEntryRecord)
def get_follow_list(state: State, show: RecordEncoder, /, observer: NameArgument, follow_type: TextArgument = "blacklisted") -> list[Json]:
    """List the accounts that the observer ignores, ordered by name, if `follow_type` is `muted`.

    All other lists are empty, since this node doesn't support them.
    """
    name = existing_account(state, observer).name
    demand(follow_type in FOLLOW_TYPES, f"invalid follow_type `{follow_type}`")
    if follow_type != "muted" or not FOLLOW.is_on(state):
        return []
    rows = islice(followed(state, name, "", IGNORE), FOLLOW_LIST_MAX)
    return show.each(FollowListEntryRecord, [FollowListEntryRecord(row.following) for row in rows])
