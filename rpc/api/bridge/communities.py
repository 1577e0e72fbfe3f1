"""Communities, who is what in them, and who subscribes. Source: social.md §3.5-§3.8."""

from itertools import islice

from rpc.api.bridge.arguments import (
    NumberArgument,
    TextArgument,
    demand,
    existing_account,
    limit_argument,
    observer_argument,
    text_argument,
)
from rpc.records.bridge.posts import (
    CommunityItem,
    Context,
    FullCommunity,
    RoleItem,
    SubscriptionItem,
    TimeText,
    community_item,
    context,
    full_community,
    role_item,
)
from rpc.service.method import method
from state.plugins.social.communities import lists as communities_lists
from state.plugins.social.communities.payloads import ROLE_NAMES
from state.plugins.social.index import Social
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.rows import Community
from state.protocol.values.text import time_text
from state.tables import State

SUBSCRIPTIONS_MAX = 10_000
ROLES_MAX, COMMUNITIES_MAX, POPULAR_MAX, TOPICS_MAX = 1000, 100, 25, 25
SUBSCRIBERS_MAX = communities_lists.SUBSCRIBERS_MAX
SORTS = ("rank", "new", "subs")
TOPICS = ("photography", "travel", "gaming", "crypto", "music", "food")

Subscriber = tuple[str, str, str | None, TimeText]
Named = tuple[str, str]


def existing_community(kept: Social, value: object) -> Community:
    """A community that must exist."""
    row = kept.community(value) if isinstance(value, str) else None
    demand(row is not None, "community not found")
    assert row is not None
    return row


@method("bridge.get_community", plugin=COMMUNITIES)
def get_community(state: State, /, name: TextArgument, observer: TextArgument = "") -> FullCommunity:
    """A community with its figures and its team, and what the observer is in it."""
    kept = COMMUNITIES.of(state)
    viewer = observer_argument(state, observer)
    return full_community(state, kept, existing_community(kept, name), viewer)


@method("bridge.get_community_context", plugin=COMMUNITIES)
def get_community_context(state: State, /, name: TextArgument, account: TextArgument) -> Context:
    """What an account is in a community."""
    kept = COMMUNITIES.of(state)
    row = existing_community(kept, name)
    return context(kept, row.name, existing_account(state, account).name)


@method("bridge.list_community_roles", plugin=COMMUNITIES)
def list_community_roles(state: State, /, community: TextArgument, last: TextArgument = "", limit: NumberArgument = 50) -> list[RoleItem]:
    """All in a community who are not guests, by role and name, behind an account."""
    kept, most = COMMUNITIES.of(state), limit_argument(limit, ROLES_MAX)
    row = kept.community(text_argument(community, "community"))
    if row is None:
        return []
    start = kept.role_row(row.name, text_argument(last, "last")) if last else None
    demand(not last or start is not None, "invalid start")
    return [role_item(one) for one in islice(communities_lists.roles_after(kept, row.name, start), most)]


@method("bridge.list_community_titles", plugin=COMMUNITIES)
def list_community_titles(state: State, /, community: TextArgument, last: TextArgument = "", limit: NumberArgument = 50) -> list[RoleItem]:
    """All in a community who have a title, by name, behind a name."""
    kept, most = COMMUNITIES.of(state), limit_argument(limit, ROLES_MAX)
    found = communities_lists.titles(kept, text_argument(community, "community"), text_argument(last, "last"))
    return [role_item(one) for one in islice(found, most)]


@method("bridge.list_all_subscriptions", plugin=COMMUNITIES)
def list_all_subscriptions(state: State, /, account: TextArgument) -> list[SubscriptionItem]:
    """The communities that an account subscribes to with their titles, by what it is there and by rank, at most 10,000."""
    name = existing_account(state, account).name
    return [(row.name, row.title) for row in communities_lists.subscriptions(state, COMMUNITIES.of(state), name)[:SUBSCRIPTIONS_MAX]]


@method("bridge.list_subscribers", plugin=COMMUNITIES)
def list_subscribers(
    state: State, /, community: TextArgument, last: TextArgument = "", limit: NumberArgument = SUBSCRIBERS_MAX
) -> list[Subscriber]:
    """The newest subscribers of a community with role, title (null for those who never had a role) and date, behind an account."""
    kept, most = COMMUNITIES.of(state), limit_argument(limit, SUBSCRIBERS_MAX)
    name = text_argument(community, "community")
    found = []
    for one in islice(communities_lists.subscribers(kept, name, text_argument(last, "last")), most):
        role = kept.role_row(name, one.account)
        title = None if role is None else role.title
        found.append((one.account, ROLE_NAMES[0 if role is None else role.role], title, time_text(one.created)))
    return found


@method("bridge.list_communities", plugin=COMMUNITIES)
def list_communities(
    state: State,
    /,
    last: TextArgument = "",
    limit: NumberArgument = COMMUNITIES_MAX,
    query: TextArgument = None,
    sort: TextArgument = "rank",
    observer: TextArgument = None,
) -> list[CommunityItem]:
    """Communities by `rank`, age (`new`) or subscribers (`subs`), behind one; those with all words of a query in title or about."""
    kept = COMMUNITIES.of(state)
    most = limit_argument(limit, COMMUNITIES_MAX)
    demand(sort in SORTS, "invalid sort")
    viewer = observer_argument(state, observer)
    start = existing_community(kept, last) if last else None
    found = communities_lists.community_list(state, kept, sort, text_argument(query, "query"), start)
    return [community_item(kept, one, viewer) for one in islice(found, most)]


@method("bridge.list_pop_communities", plugin=COMMUNITIES)
def list_pop_communities(state: State, /, limit: NumberArgument = POPULAR_MAX) -> list[Named]:
    """The communities that most accounts have subscribed to within a month, with their titles."""
    most = limit_argument(limit, POPULAR_MAX)
    return [(row.name, row.title) for row in communities_lists.popular(state, COMMUNITIES.of(state), most)]


@method("bridge.get_trending_topics", plugin=COMMUNITIES)
def get_trending_topics(state: State, /, limit: NumberArgument = 10, observer: TextArgument = None) -> list[Named]:
    """Communities by rank with their titles, and some tags to fill up."""
    observer_argument(state, observer)
    kept, most = COMMUNITIES.of(state), limit_argument(limit, TOPICS_MAX)
    ranked = [one.row for one in communities_lists.standings(state, kept)]
    chosen = [row for name in kept.recommended if (row := kept.community(name)) is not None]
    topics = [(row.name, row.title or row.name) for row in (*chosen, *[row for row in ranked if row not in chosen])]
    return [*topics, *[(tag, f"#{tag}") for tag in TOPICS]][:most]
