"""Queries of all methods that read plugins, over everything that is on a chain, and replies without ids."""

from collections.abc import Iterator
from typing import Any

from state.plugins.social.plugin import COMMUNITIES
from state.protocol.keys.keys import public_key_text
from state.tables import State

Query = dict[str, Any]

ACCOUNT_LISTS = ("blog", "feed", "posts", "comments", "replies", "payout")
RANKED = ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted")
TAG_ORDERS = ("trending", "hot", "created", "active", "votes", "children", "promoted", "cashout")
TIMES = ("1970-01-01T00:00:00", "2037-01-01T00:00:00")


def queries(state: State) -> Iterator[Query]:
    """Yield the queries as events, which `Player.ask` takes."""
    for method, params in calls(state):
        yield {"method": method, "params": params}


def calls(state: State) -> Iterator[tuple[str, Any]]:
    """Yield the methods with their parameters."""
    names = [account.name for account in state.accounts]
    yield "condenser_api.get_account_reputations", ["", 1000]
    yield "rc_api.find_rc_accounts", {"accounts": names[:1000]}
    yield "rc_api.get_resource_pool", {}
    yield "rc_api.get_resource_params", {}
    for name in names:
        yield from of_account(state, name)
    for comment in state.comments:
        place = {"author": comment.author, "permlink": comment.permlink}
        yield "bridge.get_post", place
        yield "bridge.post_notifications", place | {"min_score": 0}
        yield "condenser_api.get_content", [comment.author, comment.permlink]
        if not comment.parent_author:
            yield "follow_api.get_reblogged_by", place
    tags = ["", *sorted({tag.tag for tag in state.plugins["tags"].rests if tag.tag})]
    for tag in tags[:20]:
        for order in TAG_ORDERS:
            yield f"condenser_api.get_discussions_by_{order}", [{"tag": tag, "limit": 100}]
    yield "condenser_api.get_trending_tags", ["", 100]
    yield from of_communities(state)
    yield from of_market()


def of_account(state: State, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the calls about an account."""
    yield "follow_api.get_followers", {"account": name, "type": "undefined"}
    yield "follow_api.get_following", {"account": name, "type": "undefined"}
    yield "follow_api.get_follow_count", {"account": name}
    for method in ("get_blog", "get_feed", "get_blog_entries", "get_feed_entries"):
        yield f"condenser_api.{method}", [name, 0, 500]
    yield "condenser_api.get_blog_authors", [name]
    yield "condenser_api.get_tags_used_by_author", [name]
    authority = state.account_authorities.by_account.get(name)
    if authority is not None:
        keys = [key for role in (authority.owner, authority.active, authority.posting) for key, _ in role.key_auths]
        yield "condenser_api.get_key_references", [[public_key_text(key, state.spec.key_prefix) for key in keys]]
    for sort in ACCOUNT_LISTS:
        yield "bridge.get_account_posts", {"sort": sort, "account": name, "limit": 100}
    yield "bridge.account_notifications", {"account": name, "min_score": 0}
    yield "bridge.unread_notifications", {"account": name}
    yield "bridge.get_profile", {"account": name}
    yield "bridge.list_all_subscriptions", {"account": name}


def of_communities(state: State) -> Iterator[tuple[str, Any]]:
    """Yield the calls about communities and ranked posts."""
    names = [community.name for community in COMMUNITIES.of(state).communities]
    for name in names:
        yield "bridge.get_community", {"name": name}
        for method in ("list_community_roles", "list_community_titles", "list_subscribers"):
            yield f"bridge.{method}", {"community": name}
    for tag in ("", "all", *names):
        for sort in RANKED:
            if not (tag and sort == "payout_comments"):
                yield "bridge.get_ranked_posts", {"sort": sort, "tag": tag, "limit": 100}
    for sort in ("rank", "new", "subs"):
        yield "bridge.list_communities", {"sort": sort}
    yield "bridge.list_pop_communities", {}
    yield "bridge.get_payout_stats", {}


def of_market() -> Iterator[tuple[str, Any]]:
    """Yield the calls about the market."""
    for seconds in (15, 60, 300, 3600, 86400):
        yield "condenser_api.get_market_history", [seconds, *TIMES]
    yield "condenser_api.get_trade_history", [*TIMES, 1000]
    for method in ("get_volume", "get_ticker"):
        yield f"condenser_api.{method}", []


def without_ids(value: Any) -> Any:
    """Return a reply without ids."""
    if isinstance(value, dict):
        return {name: without_ids(member) for name, member in value.items() if name not in ("id", "post_id")}
    if isinstance(value, list):
        return [without_ids(member) for member in value]
    return value
