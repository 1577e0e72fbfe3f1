"""Questions to hivemind and to coind, and the differences between their answers."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from tests.indexers.reasons import MISSING, REASONS, Difference, Times
from tests.indexers.town import Town

SORTS = ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted")
ACCOUNT_SORTS = ("blog", "feed", "posts", "comments", "replies", "payout")
LIMIT_MAX = 100
NAMED_LISTS = ("replies", "reblogged_by", "admins")  # lists of names without an order
NOTIFICATIONS = ("bridge.account_notifications", "bridge.post_notifications")
REFRESHED = ("reply", "reply_comment", "mention")  # notifications that hivemind writes when it reads the post
DISCUSSIONS = ("trending", "hot", "promoted", "created")

Question = tuple[str, dict[str, Any] | list[Any]]
Ask = Callable[[str, Any], Any]


class Tally(Struct):
    """The results of a method's calls: equal but for ids, different by listed reasons, and different."""

    calls: int = 0
    equal: int = 0
    listed: int = 0
    different: int = 0


def questions(town: Town, call: Ask) -> Iterator[Question]:
    """Yield a call of each method that hivemind serves, with the town's accounts, posts and communities."""
    yield from bridge_lists(town)
    yield from bridge_posts(town, call)
    yield from bridge_accounts(town)
    yield from bridge_communities(town)
    yield from condenser(town)


def bridge_lists(town: Town) -> Iterator[Question]:
    """Yield calls that request the ranked lists, page by page."""
    pages = ("created", "promoted", "muted")
    for sort in (*SORTS, "none"):
        for tag in ("", "all", "life", "travel", "photography", "hive-100", "x", *town.communities):
            yield "bridge.get_ranked_posts", {"sort": sort, "tag": tag, "limit": LIMIT_MAX}
        for name in town.people[:8]:
            yield "bridge.get_ranked_posts", {"sort": sort, "tag": "my", "observer": name, "limit": LIMIT_MAX}
        for author, permlink, category in town.posts[-40::4] if sort in pages else ():
            start = {"start_author": author, "start_permlink": permlink, "limit": 20}
            yield "bridge.get_ranked_posts", {"sort": sort, "tag": "", **start}
            yield "bridge.get_ranked_posts", {"sort": sort, "tag": category, **start}
    yield "bridge.get_ranked_posts", {"sort": "created", "tag": "", "limit": 101}
    yield "bridge.get_ranked_posts", {"sort": "created", "observer": "nobody-here"}
    yield "bridge.get_ranked_posts", {"tag": ""}
    yield "bridge.get_trending_topics", {}
    yield "bridge.get_trending_topics", {"limit": 25}
    yield "bridge.get_payout_stats", {}


def bridge_posts(town: Town, call: Ask) -> Iterator[Question]:
    """Yield calls about posts, comments, threads, and the notifications of posts."""
    for author, permlink, _ in [*town.posts[-400:], *town.comments[-400:], ("alice", "none", "")]:
        named = {"author": author, "permlink": permlink}
        yield "bridge.get_post", named
        yield "bridge.get_post_header", named
        yield "bridge.post_notifications", {**named, "min_score": 0, "limit": 20}
    for author, permlink, _ in [*town.posts[-200:], *town.comments[-60:], ("alice", "none", "")]:
        yield "bridge.get_discussion", {"author": author, "permlink": permlink}
    for author, permlink, _ in [*town.posts[-60:], *town.comments[-60:]]:
        content = call("condenser_api.get_content", [author, permlink])["result"]
        if content["author"]:
            yield "bridge.normalize_post", {"post": content}


def bridge_accounts(town: Town) -> Iterator[Question]:
    """Yield calls about each account: its profile, subscriptions, notifications and posts."""
    for name in [*town.people, *town.created, "initminer", "null", "nobody-here"]:
        yield "bridge.get_profile", {"account": name}
        yield "bridge.get_profile", {"account": name, "observer": "alice"}
        yield "bridge.list_all_subscriptions", {"account": name}
        yield "bridge.unread_notifications", {"account": name, "min_score": 0}
        for score in (0, 25, 60):
            yield "bridge.account_notifications", {"account": name, "min_score": score, "limit": 100}
        for sort in ACCOUNT_SORTS:
            yield "bridge.get_account_posts", {"sort": sort, "account": name, "limit": 100}
    yield "bridge.get_account_posts", {"sort": "none", "account": "alice"}
    yield "bridge.get_profile", {"account": "@alice"}
    yield "bridge.get_profile", {"account": "alice", "observer": "nobody-here"}


def bridge_communities(town: Town) -> Iterator[Question]:
    """Yield calls about communities, their roles and their subscribers."""
    for name in [*town.communities, "hive-199999", "alice"]:
        yield "bridge.get_community", {"name": name}
        for observer in (*town.people[:5], name, "nobody-here"):
            yield "bridge.get_community", {"name": name, "observer": observer}
            yield "bridge.get_community_context", {"name": name, "account": observer}
        yield "bridge.list_community_roles", {"community": name}
        yield "bridge.list_subscribers", {"community": name}
    for sort in ("rank", "new", "subs", "none"):
        yield "bridge.list_communities", {"sort": sort}
        yield "bridge.list_communities", {"sort": sort, "observer": "alice"}
        yield "bridge.list_communities", {"sort": sort, "query": "market"}
    yield "bridge.list_pop_communities", {}


def condenser(town: Town) -> Iterator[Question]:
    """Yield calls of those methods of condenser_api that hivemind serves too."""
    for name in [*town.people[:20], "nobody-here"]:
        for method in ("get_followers", "get_following"):
            for what in ("blog", "ignore"):
                yield f"condenser_api.{method}", [name, "", what, 100]
            yield f"condenser_api.{method}_by_page", [name, 0, 50, "blog"]
        yield "condenser_api.get_follow_count", [name]
        yield "condenser_api.get_blog", [name, 0, 1]
        yield "condenser_api.get_blog_entries", [name, 0, 1]
        yield "condenser_api.get_discussions_by_blog", [{"tag": name, "limit": 20}]
        yield "condenser_api.get_discussions_by_feed", [{"tag": name, "limit": 20}]
        yield "condenser_api.get_discussions_by_comments", [{"start_author": name, "limit": 20}]
        yield "condenser_api.get_replies_by_last_update", [name, "", 20]
        yield "condenser_api.get_discussions_by_author_before_date", [name, "", "2037-01-01T00:00:00", 20]
    for author, permlink, _ in [*town.posts[-60:], *town.comments[-60:], ("alice", "none", "")]:
        yield "condenser_api.get_content", [author, permlink]
        yield "condenser_api.get_content_replies", [author, permlink]
        yield "condenser_api.get_reblogged_by", [author, permlink]
    for tag in ("", "life", *town.communities[:2]):
        for sort in DISCUSSIONS:
            yield f"condenser_api.get_discussions_by_{sort}", [{"tag": tag, "limit": 20}]
        yield "condenser_api.get_post_discussions_by_payout", [{"tag": tag, "limit": 20}]
        yield "condenser_api.get_comment_discussions_by_payout", [{"tag": tag, "limit": 20}]
    yield "condenser_api.get_trending_tags", ["", 50]
    yield "condenser_api.get_account_reputations", ["", 50]
    yield "condenser_api.get_account_votes", ["alice"]
    yield "condenser_api.get_transaction", ["00" * 20]
    for path in ("trending", "/@alice", "@alice/comments", "/created/life", "none/at/all"):
        yield "condenser_api.get_state", [path]


def differences(question: Question, hivemind: Any, coind: Any, times: Times) -> Iterator[Difference]:
    """Yield the differences between two answers."""
    method, params = question
    for path, theirs, ours, inside in compare((), result_of(hivemind), result_of(coind), {}):
        yield Difference(method, params, path, theirs, ours, inside, times)


def ask(call: Ask, question: Question) -> Any:
    """Return the response to a question. The pages of notifications and of ranked posts are joined into one list, because hivemind and
    coind end pages differently.
    """
    method, params = question
    answer = call(method, params)
    if "result" in answer and isinstance(params, dict):
        page = answer["result"]
        while page and len(page) >= params.get("limit", math.inf) and (start := start_of_next(method, params, page[-1])):
            page = call(method, {**params, **start})["result"]
            answer["result"] += page
    return answer


def start_of_next(method: str, params: dict[str, Any], last: dict[str, Any]) -> dict[str, Any] | None:
    """Return the parameters that request the page after an entry. Return None if only the first page is compared."""
    if method in NOTIFICATIONS:
        return {"last_id": last["id"]}
    if method == "bridge.get_ranked_posts" and params["limit"] == LIMIT_MAX:
        return {"start_author": last["author"], "start_permlink": last["permlink"]}
    return None


def result_of(answer: Any) -> Any:
    """Return the result of a response, or its error."""
    return answer["result"] if "result" in answer else {"error": {name: answer["error"].get(name) for name in ("code", "message", "data")}}


Place = tuple[tuple[str | int, ...], Any, Any, dict[str, Any]]


def compare(path: tuple[str | int, ...], theirs: Any, ours: Any, inside: dict[str, Any]) -> Iterator[Place]:
    """Yield the places where two values differ. Lists of posts, accounts or communities are compared by the entries' names."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in [*theirs, *(name for name in ours if name not in theirs)]:
            yield from compare((*path, name), theirs.get(name, MISSING), ours.get(name, MISSING), theirs)
    elif isinstance(theirs, list) and isinstance(ours, list):
        yield from compare_lists(path, theirs, ours, inside)
    elif theirs != ours or (type(theirs), type(ours)) in {(int, bool), (bool, int)}:
        yield path, theirs, ours, inside


def compare_lists(path: tuple[str | int, ...], theirs: list[Any], ours: list[Any], inside: dict[str, Any]) -> Iterator[Place]:
    """Yield the entries that only one of two lists has, a difference in the order of the common entries, and the differences within them. A
    list of simple values is compared position by position.
    """
    if not any(isinstance(entry, dict | list) for entry in (*theirs, *ours)) and (path and path[-1]) not in NAMED_LISTS:
        for place in range(max(len(theirs), len(ours))):
            left, right = [entries[place] if place < len(entries) else MISSING for entries in (theirs, ours)]
            yield from compare((*path, place), left, right, inside)
        return
    named = [name_all(entries) for entries in (theirs, ours)]
    their, our = named
    for place, name in enumerate(their):
        if name not in our:
            yield (*path, "entry"), their[name], MISSING, {"after": len(their) - place}
    for place, name in enumerate(our):
        if name not in their:
            yield (*path, "entry"), MISSING, our[name], {"after": len(our) - place}
    common = [[name for name in entries if name in their and name in our] for entries in named]
    if common[0] != common[1]:
        yield (*path, "order"), [their[name] for name in common[0]], [our[name] for name in common[1]], inside
    for place, name in enumerate(common[0]):
        yield from compare((*path, place), their[name], our[name], inside)


def name_all(entries: list[Any]) -> dict[Any, Any]:
    """Return the entries, keyed by name. A number is added to a name that occurs again."""
    times: Counter[Any] = Counter()
    named = {}
    for place, entry in enumerate(entries):
        name = name_of(entry, place)
        times[name] += 1
        named[name, times[name]] = entry
    return named


def name_of(entry: Any, place: int) -> Any:
    """Return the name that identifies an entry of a list, or its position if it has no name."""
    if isinstance(entry, dict):
        if "msg" in entry:  # without the amount of a vote, and the time of a refresh
            time = "" if entry["type"] in REFRESHED else entry["date"]
            return entry["type"], entry["msg"].partition(" ($")[0].partition(" {")[0], entry["url"], time
        for names in (("author", "permlink"), ("follower", "following"), ("voter",), ("name",), ("account",)):
            if all(name in entry for name in names):
                return tuple(entry[name] for name in names)
    if isinstance(entry, list) and entry and isinstance(entry[0], str):
        return entry[0]
    return entry if isinstance(entry, str) else place


def reason_for(difference: Difference) -> str | None:
    """Return the name of the first listed reason that explains a difference, or None."""
    return next((reason.name for reason in REASONS if reason.explains(difference)), None)
