"""Communities: their statistics, roles, titles and subscribers. Source: social.md §3.5-§3.8."""

from itertools import islice
from typing import Annotated

from rpc.api.bridge.arguments import (
    CommunityArgument,
    NameArgument,
    NumberArgument,
    TextArgument,
    demand,
    existing_account,
    limit_argument,
    observer_argument,
    text_argument,
)
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.bridge.communities import (
    ROLE,
    CommunityContextRecord,
    FullCommunityRecord,
    ListedCommunityRecord,
    context_of,
    full_community,
    listed_community,
)
from rpc.records.bridge.kinds import FormattedTime
from state.plugins.social.communities import lists as communities_lists
from state.plugins.social.community_payloads import ROLE_NAMES
from state.plugins.social.index import Social
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.rows import Community
from state.protocol.values.text import time_text
from state.tables import State

SUBSCRIPTIONS_MAX = 10_000
ROLES_MAX, COMMUNITIES_MAX, POPULAR_MAX, TOPICS_MAX = 1000, 100, 25, 25
SUBSCRIBERS_MAX = communities_lists.SUBSCRIBERS_MAX
SORTS = ("rank", "new", "subs")
TOPICS = ("photography", "travel", "gaming", "crypto", "newsteem", "music", "food")
BRAND_TOPIC = "newsteem"  # contains the reference's brand

RoleJson = Annotated[tuple[str, str, str], ShowsRecord(ROLE)]
Subscriber = tuple[str, str, str | None, FormattedTime]
Named = tuple[str, str]


def existing_community(kept: Social, value: object) -> Community:
    """Return the community with this name, or refuse the call if there is none."""
    row = kept.community(value) if isinstance(value, str) else None
    demand(row is not None, "community not found")
    assert row is not None
    return row


@method("bridge.get_community", plugin=COMMUNITIES, record=FullCommunityRecord)
def get_community(state: State, show: RecordEncoder, /, name: CommunityArgument, observer: TextArgument = "") -> Json:
    """Return a community with its statistics, its team, and the observer's role in it."""
    kept = COMMUNITIES.of(state)
    row = existing_community(kept, name)
    return show(FullCommunityRecord, full_community(state, kept, row, observer_argument(state, observer)))


@method("bridge.get_community_context", plugin=COMMUNITIES, record=CommunityContextRecord)
def get_community_context(state: State, show: RecordEncoder, /, name: CommunityArgument, account: NameArgument) -> Json:
    """Return an account's role and title in a community, and whether it subscribes to the community."""
    kept = COMMUNITIES.of(state)
    row = existing_community(kept, name)
    return show(CommunityContextRecord, context_of(kept, row.name, existing_account(state, account).name))


@method("bridge.list_community_roles", plugin=COMMUNITIES)
def list_community_roles(
    state: State, show: RecordEncoder, /, community: CommunityArgument, last: TextArgument = "", limit: NumberArgument = 50
) -> list[RoleJson]:
    """List the accounts with a role other than guest in a community, as (name, role, title), ordered by role and name.

    The list starts after the account `last`.
    """
    kept, most = COMMUNITIES.of(state), limit_argument(limit, ROLES_MAX)
    row = kept.community(text_argument(community, "community"))
    if row is None:
        return []
    start = kept.role_row(row.name, text_argument(last, "last")) if last else None
    demand(not last or start is not None, "invalid start")
    return show.each(ROLE, islice(communities_lists.roles_after(kept, row.name, start), most))


@method("bridge.list_community_titles", plugin=COMMUNITIES)
def list_community_titles(
    state: State, show: RecordEncoder, /, community: CommunityArgument, last: TextArgument = "", limit: NumberArgument = 50
) -> list[RoleJson]:
    """List the accounts with a title in a community, as (name, role, title), ordered by name. The list starts after the account `last`."""
    kept, most = COMMUNITIES.of(state), limit_argument(limit, ROLES_MAX)
    found = communities_lists.titles(kept, text_argument(community, "community"), text_argument(last, "last"))
    return show.each(ROLE, islice(found, most))


@method("bridge.list_all_subscriptions", plugin=COMMUNITIES)
def list_all_subscriptions(state: State, /, account: NameArgument) -> list[Named]:
    """List at most 10,000 communities to which an account subscribes, with their titles.

    The communities are ordered by the account's role in each, then by rank.
    """
    name = existing_account(state, account).name
    return [(row.name, row.title) for row in communities_lists.subscriptions(state, COMMUNITIES.of(state), name)[:SUBSCRIPTIONS_MAX]]


@method("bridge.list_subscribers", plugin=COMMUNITIES)
def list_subscribers(
    state: State, /, community: CommunityArgument, last: TextArgument = "", limit: NumberArgument = SUBSCRIBERS_MAX
) -> list[Subscriber]:
    """List the subscribers of a community, newest first, as (name, role, title, date). The list starts after the account `last`.

    The title is null for an account that has never had a role.
    """
    kept, most = COMMUNITIES.of(state), limit_argument(limit, SUBSCRIBERS_MAX)
    name = text_argument(community, "community")
    found = []
    for one in islice(communities_lists.subscribers(kept, name, text_argument(last, "last")), most):
        role = kept.role_row(name, one.account)
        title = None if role is None else role.title
        found.append((one.account, ROLE_NAMES[0 if role is None else role.role], title, time_text(one.created)))
    return found


@method("bridge.list_communities", plugin=COMMUNITIES, record=ListedCommunityRecord)
def list_communities(
    state: State,
    show: RecordEncoder,
    /,
    last: TextArgument = "",
    limit: NumberArgument = COMMUNITIES_MAX,
    query: TextArgument = None,
    sort: TextArgument = "rank",
    observer: TextArgument = None,
) -> list[Json]:
    """List communities, ordered by rank (`rank`), newest first (`new`), or most subscribers first (`subs`).

    The list starts after the community `last`. With a query, only communities whose title and description contain all of its words are
    listed.
    """
    kept = COMMUNITIES.of(state)
    most = limit_argument(limit, COMMUNITIES_MAX)
    demand(sort in SORTS, "invalid sort")
    viewer = observer_argument(state, observer)
    start = existing_community(kept, last) if last else None
    found = communities_lists.community_list(state, kept, sort, text_argument(query, "query"), start)
    return show.each(ListedCommunityRecord, [listed_community(kept, one, viewer) for one in islice(found, most)])


@method("bridge.list_pop_communities", plugin=COMMUNITIES)
def list_pop_communities(state: State, /, limit: NumberArgument = POPULAR_MAX) -> list[Named]:
    """List the communities with the most new subscribers in the last month, with their titles."""
    most = limit_argument(limit, POPULAR_MAX)
    return [(row.name, row.title) for row in communities_lists.popular(state, COMMUNITIES.of(state), most)]


@method("bridge.get_trending_topics", plugin=COMMUNITIES)
def get_trending_topics(state: State, /, limit: NumberArgument = 10, observer: TextArgument = None) -> list[Named]:
    """List communities with their titles, ordered by rank. If there are fewer than `limit`, a fixed list of tags is appended."""
    observer_argument(state, observer)
    kept, most = COMMUNITIES.of(state), limit_argument(limit, TOPICS_MAX)
    ranked = [one.row for one in communities_lists.standings(state, kept)]
    chosen = [row for name in kept.recommended if (row := kept.community(name)) is not None]
    topics = [(row.name, row.title or row.name) for row in (*chosen, *[row for row in ranked if row not in chosen])]
    tags = [tag for tag in TOPICS if tag != BRAND_TOPIC or state.spec.brand == "steem"]
    return [*topics, *[(tag, f"#{tag}") for tag in tags]][:most]
