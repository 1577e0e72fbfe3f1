"""The reasons of known differences between hivemind's answers and coind's. docs/indexers.md describes them."""

import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from tests.indexers.town import REWRITTEN

MISSING = "(missing)"
# The step of a score in single precision, which hivemind stores: of trend below 8192, of hot below 262144.
STEPS = {"trending": 2.0**-11, "hot": 2.0**-6}
SCALES = {"trending": 240_000, "hot": 10_000}


class Times(Struct, frozen=True):
    """Times of the chain: at the end of hivemind's first sync, at the end of its sync of many blocks, and at the head."""

    first_sync: str
    sync: str
    head: str

    def days_ago(self, days: int) -> str:
        """Return the time `days` days before the time of the head."""
        return (datetime.fromisoformat(self.head) - timedelta(days)).isoformat()


class Difference(Struct, frozen=True):
    """A value in the answer to a call that differs between hivemind and coind. `path` is its position in the answer."""

    method: str
    params: Any
    path: tuple[str | int, ...]
    hivemind: Any
    coind: Any
    inside: dict[str, Any]  # hivemind's object with the field
    times: Times

    @property
    def field(self) -> str:
        """The path without list positions, joined by dots."""
        return ".".join(str(part) for part in self.path if not isinstance(part, int))

    @property
    def last(self) -> str:
        """The last part of the path."""
        return str(self.path[-1]) if self.path else ""

    @property
    def entry(self) -> dict[str, Any]:
        """The list entry that only one of the two answers contains."""
        found: dict[str, Any] = self.coind if self.hivemind == MISSING else self.hivemind
        return found

    @property
    def is_bridge(self) -> bool:
        return self.method.startswith("bridge.")


PAGE_END = 5  # last entries of a page, which can differ if other entries are at other positions


class Reason(Struct, frozen=True):
    """A reason for differences: its name, and a function that returns whether it explains a difference."""

    name: str
    explains: Callable[[Difference], bool]


# ------------------------------------------------------------------ both


def is_id(found: Difference) -> bool:
    return found.last in ("post_id", "id") and found.hivemind != MISSING != found.coind


def is_pending(found: Difference) -> bool:
    """Payouts of unpaid posts differ, and so do numbers and orders that depend on them."""
    if found.method == "bridge.get_payout_stats":
        return found.field in ("items", "total", "blogs", "items.order")
    is_by_payout = isinstance(found.params, dict) and found.params.get("sort") in ("payout", "payout_comments", "muted")
    if found.last == "order":
        return is_by_payout and all(is_falling([post["payout"] for post in posts]) for posts in (found.hivemind, found.coind))
    if found.method == "bridge.get_ranked_posts" and found.last == "entry":
        # Other posts follow the one at which the page starts.
        return is_by_payout and "start_author" in found.params
    if found.last == "sum_pending":
        return bool(abs(found.hivemind - found.coind) <= max(3, found.coind))
    return found.last in ("payout", "pending_payout_value") and not found.inside.get("is_paidout")


def is_falling(values: list[float]) -> bool:
    return values == sorted(values, reverse=True)


def is_community_order(found: Difference) -> bool:
    """The order of communities by rank differs, because it depends on their pending payouts."""
    if found.method == "bridge.get_trending_topics":
        return found.last == "order"
    return found.method == "bridge.list_communities" and found.last == "order" and found.params["sort"] == "rank"


def is_old_rank(found: Difference) -> bool:
    """Ranks of accounts differ, and so do the scores that depend on them."""
    if found.field == "stats.rank":
        return True
    return found.last == "score" and found.coind - found.hivemind == 50


def is_price(found: Difference) -> bool:
    """The stake in STEEM differs slightly, because hivemind reads the price of VESTS only every twenty blocks."""
    return found.field == "stats.sp" and math.isclose(found.hivemind, found.coind, rel_tol=1e-3)


# ------------------------------------------------------------------ notifications


def is_first_sync(found: Difference) -> bool:
    """hivemind lacks a notification from a block of its first sync."""
    return bool(
        found.last == "entry" and found.hivemind == MISSING and "msg" in found.coind and found.coind["date"] <= found.times.first_sync
    )


def is_refresh(found: Difference) -> bool:
    """Some data of replies and mentions differs: the time, the score of a mention, and which of them are notified. That depends on the
    text, and on the accounts that the receiver ignores, which can have changed when hivemind reads the post.
    """
    if found.last == "entry" and "msg" in found.entry:
        is_before = found.entry["type"] in ("reply", "reply_comment") and found.entry["date"] <= found.times.sync
        return bool(is_before or found.entry["type"] == "mention")
    if found.last == "score":  # which depends on the number of mentions in the text
        return bool(found.inside.get("type") == "mention")
    return found.last == "date" and found.inside.get("type") in ("reply", "reply_comment", "mention")


def is_vote_amount(found: Difference) -> bool:
    """The amount that a vote adds to the payout differs in its notification. hivemind computes it when it next refreshes the post."""
    if found.last == "entry" and "msg" in found.entry:
        # One below the threshold on the other side, or one that hivemind computed when the post was already paid.
        is_small, is_paid = found.entry["score"] <= 50, found.hivemind == MISSING and found.entry["date"] <= found.times.sync
        return bool(found.entry["type"] == "vote" and (is_small or is_paid))
    return found.inside.get("type") == "vote" and found.last in ("msg", "score")


def is_notification_order(found: Difference) -> bool:
    """The order of notifications differs within one block or one refresh."""
    return bool(found.last == "order" and "msg" in found.hivemind[0])


def is_escape(found: Difference) -> bool:
    """hivemind escapes slashes and characters beyond ASCII in the JSON of properties."""
    if found.inside.get("type") != "set_props" or found.last != "msg":
        return False
    theirs, ours = [json.loads(text.partition(" set properties ")[2]) for text in (found.hivemind, found.coind)]
    return bool(theirs == ours)


# ------------------------------------------------------------------ communities


def is_date_form(found: Difference) -> bool:
    return isinstance(found.hivemind, str) and isinstance(found.coind, str) and found.hivemind.replace(" ", "T", 1) == found.coind


def is_context(found: Difference) -> bool:
    return found.field.endswith(("context.role", "context.title", "context.subscribed")) and found.hivemind == MISSING


def is_subscription(found: Difference) -> bool:
    return found.method == "bridge.list_all_subscriptions" and len(found.path) == 2 and found.coind == MISSING


# ------------------------------------------------------------------ posts


def is_precision(found: Difference) -> bool:
    """The order of posts differs, but their scores are equal in single precision."""
    sort = found.params.get("sort") if isinstance(found.params, dict) else None
    if found.last != "order" or sort not in STEPS:
        return False
    scores = [[score(post, SCALES[sort]) for post in posts] for posts in (found.hivemind, found.coind)]
    return all(abs(theirs - ours) <= STEPS[sort] for theirs, ours in zip(*scores, strict=True))


def score(post: dict[str, Any], scale: int) -> float:
    """Return the score by which hivemind's lists order a post."""
    weight = post["net_rshares"] / 1e7
    created = datetime.fromisoformat(post["created"] + "+00:00").timestamp()
    return math.copysign(math.log10(max(abs(weight), 1)), 1 if weight > 0 else -1) + created / scale


def is_old(found: Difference) -> bool:
    """hivemind's lists leave out posts of a community that are older than seven days (D11)."""
    is_missing = found.method == "bridge.get_ranked_posts" and found.last == "entry" and found.hivemind == MISSING
    return bool(is_missing and found.coind["created"] < found.times.days_ago(7))


def is_rewritten(found: Difference) -> bool:
    """Posts that were deleted and written again keep their ids in hivemind, and have new ones on the chain, so the order by id differs.
    hivemind's lists of a tag can lack them, because a payout that is due replaces the update that would write their tags.
    """
    if found.method == "bridge.get_ranked_posts" and found.last == "entry":
        is_single_page = "start_author" in found.params
        if found.coind == MISSING:  # at the end of a page, in the place of one that was written again
            return bool(is_single_page and found.inside["after"] <= PAGE_END)
        return bool((found.params["tag"] or is_single_page) and found.coind["title"] == REWRITTEN)
    if found.last != "order" or "permlink" not in found.hivemind[0]:
        return False
    orders = [
        [(post["author"], post["permlink"]) for post in posts if post["title"] != REWRITTEN] for posts in (found.hivemind, found.coind)
    ]
    return orders[0] == orders[1]


def is_unordered(found: Difference) -> bool:
    """hivemind doesn't order a list, or doesn't order its equal values."""
    is_feed = found.method == "bridge.get_account_posts" and found.params["sort"] in ("blog", "feed")
    if is_feed and found.last == "entry":  # the last ones of a page
        return bool(found.inside["after"] <= 10)
    if found.last != "order":
        return False
    if found.field.endswith(("reblogged_by.order", "admins.order")):
        return True
    if is_feed:
        return True
    if found.method == "bridge.list_communities":
        return bool(found.params["sort"] == "subs")
    return (
        found.field.endswith("replies.order")
        or found.field == "team.order"
        or found.method in ("bridge.list_subscribers", "bridge.list_all_subscriptions")
    )


def is_normalized(found: Difference) -> bool:
    if found.method != "bridge.normalize_post":
        return False
    if found.last in ("blacklists", "community"):
        return bool(found.hivemind == MISSING)
    if found.last == "author_role":
        return {found.hivemind, found.coind} in ({"mod", "admin"}, {"owner", "admin"})
    if found.last == "promoted":  # that of the chain, which counts root posts only
        return True
    return found.field == "stats.is_pinned" or (found.last == "community_title" and found.hivemind == "")


def is_lost_recount(found: Difference) -> bool:
    """The number of replies below a post differs. hivemind doesn't recount it if a reply in between has another change in the same
    block.
    """
    return found.last == "children" and MISSING not in (found.hivemind, found.coind) and max(found.hivemind, found.coind) > 1


# ------------------------------------------------------------------ answers


def is_unread(found: Difference) -> bool:
    """The number of unread notifications differs, because some notifications exist only on one side."""
    return found.field == "unread"


def is_shared_cache(found: Difference) -> bool:
    """hivemind doesn't find a deleted post after another method has cached that it doesn't exist."""
    return found.method == "bridge.post_notifications" and found.field == "" and "post id not found" in str(found.hivemind)


def is_broken(found: Difference) -> bool:
    return found.method == "bridge.list_pop_communities" and "cutoff" in str(found.hivemind)


def is_text(found: Difference) -> bool:
    """The text of an error depends on the version of Python, or on the order of a Python set."""
    if found.last == "msg" and str(found.hivemind).startswith("error: missing keys: "):
        return sorted(found.hivemind) == sorted(found.coind)
    return found.field == "error.data" and "lacking default value" in str(found.hivemind)


# ------------------------------------------------------------------ condenser_api

# Methods whose answers have another form or content at the chain's node, or that it doesn't serve (social.md §4.1).
CHAIN_METHODS = {
    f"condenser_api.{name}"
    for name in (
        "get_blog",
        "get_blog_entries",
        "get_reblogged_by",
        "get_account_reputations",
        "get_trending_tags",
        "get_account_votes",
        "get_transaction",
        "get_state",
    )
}


def is_chain_method(found: Difference) -> bool:
    return found.method in CHAIN_METHODS


def is_chain_list(found: Difference) -> bool:
    """Lists of condenser_api have other entries or another order, or the answer for a missing object differs."""
    return not found.is_bridge and (found.last in ("entry", "order") or found.field in ("", "error") or "error" in found.path)


def is_chain_member(found: Difference) -> bool:
    """Only one of the two answers of condenser_api has a member."""
    return not found.is_bridge and MISSING in (found.hivemind, found.coind)


def is_chain_value(found: Difference) -> bool:
    """A member has another format or another meaning in coind, which answers condenser_api like a node of the chain."""
    if found.is_bridge:
        return False
    theirs, ours = found.hivemind, found.coind
    match found.last:
        case "json_metadata":
            return bool(metadata(theirs) == metadata(ours))
        case "last_payout" | "cashout_time":
            return {theirs[:4], ours[:4]} == {"1969", "1970"}
        case "reputation":  # of a voter when the post was last refreshed
            return True
        case "author_reputation":  # hivemind computes it from two decimals
            return math.isclose(int(theirs), int(ours), rel_tol=0.01) or abs(int(ours)) < 2 * 10**9
        case "percent":
            return bool(theirs == str(ours))
        case "net_rshares":  # the chain clears it at the payout
            return str(theirs) == ours or (int(ours) == 0 and found.inside["cashout_time"].startswith("1969"))
    return found.field.endswith("what") or found.last in ("body_length", "promoted")


def metadata(text: str) -> Any:
    """Return the parsed metadata of a post without the images, which hivemind normalizes. Return {} unless the metadata is a JSON
    object.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if name != "image"} if isinstance(found, dict) else {}


REASONS: tuple[Reason, ...] = (
    Reason("ids", is_id),
    Reason("pending payouts", is_pending),
    Reason("ranks of communities", is_community_order),
    Reason("ranks of accounts", is_old_rank),
    Reason("price of VESTS", is_price),
    Reason("first sync", is_first_sync),
    Reason("amounts of votes", is_vote_amount),
    Reason("replies and mentions", is_refresh),
    Reason("escapes", is_escape),
    Reason("order of notifications", is_notification_order),
    Reason("form of dates", is_date_form),
    Reason("context", is_context),
    Reason("subscriptions", is_subscription),
    Reason("single precision", is_precision),
    Reason("older posts", is_old),
    Reason("posts written again", is_rewritten),
    Reason("no order", is_unordered),
    Reason("normalize_post", is_normalized),
    Reason("children", is_lost_recount),
    Reason("unread", is_unread),
    Reason("shared cache", is_shared_cache),
    Reason("no such method or query", is_broken),
    Reason("texts of errors", is_text),
    Reason("methods of the chain", is_chain_method),
    Reason("lists of the chain", is_chain_list),
    Reason("members of the chain", is_chain_member),
    Reason("values of the chain", is_chain_value),
)
