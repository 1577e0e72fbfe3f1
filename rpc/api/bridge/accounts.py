"""Accounts in the social index: what they are told, what they say of themselves, and what they are to each other.
Source: social.md §3.4, §3.8.
"""

from itertools import islice
from typing import Any, TypedDict

from rpc.api.bridge.arguments import (
    NumberArgument,
    TextArgument,
    TextsArgument,
    account_argument,
    demand,
    existing_account,
    limit_argument,
    number_argument,
    observer_argument,
    permlink_argument,
)
from rpc.records.bridge.posts import NotificationItem, Profile, TimeText, notification_item, profile
from rpc.service.method import method
from state.plugins.follow.lists import followed
from state.plugins.follow.plugin import FOLLOW
from state.plugins.follow.rows import IGNORE
from state.plugins.social.facts import follows, ignores
from state.plugins.social.notifications import lists as notifications_lists
from state.plugins.social.plugin import COMMUNITIES
from state.protocol.values.text import time_text
from state.tables import State

NOTIFICATIONS_MAX, PROFILES_MAX, FOLLOW_LIST_MAX = 100, 100, 1000
FOLLOW_TYPES = ("blacklisted", "follow_blacklist", "muted", "follow_muted")


class Unread(TypedDict):
    """Up to when notifications were read, and how many were not."""

    lastread: TimeText
    unread: int


class Relationship(TypedDict):
    """What an account is to another. Nobody follows lists here."""

    follows: bool
    ignores: bool
    blacklists: bool
    follows_blacklists: bool
    follows_muted: bool


class FollowListItem(TypedDict):
    """An account on a list, and how the list describes itself."""

    name: str
    blacklist_description: str
    muted_list_description: str


def last_argument(value: Any) -> int:
    """The row before which a list goes on: notifications are shown by numbers that begin with 1."""
    return notifications_lists.LAST if value is None else number_argument(value, "last_id") - 1


def is_communitys(state: State, name: str) -> bool:
    """Whether an account is told all that happens in the community of its name, whatever it scores."""
    return name.startswith(state.spec.community_prefix)


@method("bridge.account_notifications", plugin=COMMUNITIES)
def account_notifications(
    state: State, /, account: TextArgument, min_score: NumberArgument = 25, last_id: NumberArgument = None, limit: NumberArgument = 100
) -> list[NotificationItem]:
    """What an account was told, the newest first, before a notification; of a community, all that happened in it."""
    kept, most = COMMUNITIES.of(state), limit_argument(limit, NOTIFICATIONS_MAX)
    name, last = existing_account(state, account).name, last_argument(last_id)
    if is_communitys(state, name):
        found = notifications_lists.of_community(kept, name, last)
    else:
        found = notifications_lists.of_account(kept, name, last, number_argument(min_score, "min_score"))
    return [notification_item(kept, row) for row in islice(found, most)]


@method("bridge.post_notifications", plugin=COMMUNITIES)
def post_notifications(
    state: State,
    /,
    author: TextArgument,
    permlink: TextArgument,
    min_score: NumberArgument = 25,
    last_id: NumberArgument = None,
    limit: NumberArgument = 100,
) -> list[NotificationItem]:
    """All that happened to a post, the newest first, before a notification."""
    kept, most = COMMUNITIES.of(state), limit_argument(limit, NOTIFICATIONS_MAX)
    post = kept.post(account_argument(author), permlink_argument(permlink))
    demand(post is not None, "post id not found")
    assert post is not None
    found = notifications_lists.of_post(kept, post, last_argument(last_id), number_argument(min_score, "min_score"))
    return [notification_item(kept, row) for row in islice(found, most)]


@method("bridge.unread_notifications", plugin=COMMUNITIES)
def unread_notifications(state: State, /, account: TextArgument, min_score: NumberArgument = 25) -> Unread:
    """Up to when an account has read its notifications, and how many of those that account_notifications tells are newer."""
    kept, name = COMMUNITIES.of(state), existing_account(state, account).name
    if is_communitys(state, name):
        unread = notifications_lists.unread(kept, name, 0, as_community=True)
    else:
        unread = notifications_lists.unread(kept, name, number_argument(min_score, "min_score"))
    return {"lastread": time_text(notifications_lists.last_read(kept, name)), "unread": unread}


@method("bridge.get_profile", plugin=COMMUNITIES)
def get_profile(state: State, /, account: TextArgument, observer: TextArgument = "") -> Profile | None:
    """An account with what it says of itself, and what it is to the observer; null when there is none."""
    viewer, name = observer_argument(state, observer), account_argument(account)
    row = state.accounts.by_name.get(name)
    return None if row is None else profile(state, COMMUNITIES.of(state), row, viewer)


@method("bridge.get_profiles", plugin=COMMUNITIES)
def get_profiles(state: State, /, accounts: TextsArgument, observer: TextArgument = "") -> list[Profile]:
    """The same of several accounts; unknown ones are left out."""
    viewer = observer_argument(state, observer)
    demand(isinstance(accounts, list), "accounts must be an array")
    demand(len(accounts) <= PROFILES_MAX, f"too many accounts ({len(accounts)} > {PROFILES_MAX})")
    rows = [state.accounts.by_name.get(account_argument(name)) for name in accounts]
    return [profile(state, COMMUNITIES.of(state), row, viewer) for row in rows if row is not None]


@method("bridge.get_relationship_between_accounts", plugin=COMMUNITIES)
def get_relationship_between_accounts(
    state: State, /, account1: TextArgument, account2: TextArgument, observer: TextArgument = ""
) -> Relationship:
    """What an account is to another."""
    observer_argument(state, observer)
    one, other = existing_account(state, account1).name, existing_account(state, account2).name
    return {
        "follows": follows(state, one, other),
        "ignores": ignores(state, one, other),
        "blacklists": False,
        "follows_blacklists": False,
        "follows_muted": False,
    }


@method("bridge.does_user_follow_any_lists", plugin=COMMUNITIES)
def does_user_follow_any_lists(state: State, /, observer: TextArgument) -> bool:
    """Never: there are no lists to follow."""
    existing_account(state, observer)
    return False


@method("bridge.get_follow_list", plugin=COMMUNITIES)
def get_follow_list(state: State, /, observer: TextArgument, follow_type: TextArgument = "blacklisted") -> list[FollowListItem]:
    """Whom an account ignores (`muted`), by name; there are no other lists."""
    name = existing_account(state, observer).name
    demand(follow_type in FOLLOW_TYPES, f"invalid follow_type `{follow_type}`")
    if follow_type != "muted" or not FOLLOW.is_on(state):
        return []
    rows = islice(followed(state, name, "", IGNORE), FOLLOW_LIST_MAX)
    return [{"name": row.following, "blacklist_description": "", "muted_list_description": ""} for row in rows]
