"""Reads of posts: ranked lists, lists of an account, and discussions. Source: social.md §3.3, §3.8."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice, takewhile

from msgspec import Struct

from state.effects.comments import payout_time
from state.plugins.follow.lists import followed as relations_of
from state.plugins.follow.plugin import FOLLOW
from state.plugins.follow.rows import BLOG
from state.plugins.social.chain_reader import Worth, payout_of
from state.plugins.social.index import Social
from state.plugins.social.ranked_posts import COMMUNITY_ORDERS, DUE_SECONDS, TAG_ORDERS, Entry, PostSort
from state.plugins.social.root_posts import COMMUNITIES, EVERYTHING, community_scope
from state.plugins.social.rows import Reblog, SocialPost
from state.protocol.constants import DAY_SECONDS
from state.tables import State
from state.tables.content import Comment

DUE_FROM, DUE_TO = 12 * 3600, 36 * 3600  # seconds from now; lists by payout contain the posts whose payout is due between these times
PINNED_ORDERS = ("trending", "created")
PINS_MAX = 100
FEED_SECONDS = 30 * DAY_SECONDS
ANSWERED_MAX = 10_000
DISCUSSION_POSTS_MAX, DISCUSSION_DEPTH_MAX = 500, 50


class Scope(Struct, frozen=True):
    """The posts that a list is made of: those of the ranked lists `names` (a tag, communities, or all posts), and the available sort
    orders.

    `community` is set for a list of a single community, which starts with its pinned posts.
    """

    names: tuple[str, ...]
    of_communities: bool
    community: str = ""

    @property
    def orders(self) -> dict[str, PostSort]:
        """The sort orders in which the posts of the scope can be listed, keyed by name."""
        return COMMUNITY_ORDERS if self.of_communities else TAG_ORDERS


def scope_of(kept: Social, tag: str, observer: str) -> Scope:
    """Return the scope of a `tag` argument: "" means all posts, `my` the observer's communities, `all` every community.

    Other values are names of communities or tags.
    """
    if tag == "my":
        mine = kept.subscriptions.by_account.equal(observer) if observer else ()
        return Scope(tuple([community_scope(row.community) for row in mine]), True)
    if tag == "all":
        return Scope((COMMUNITIES,), True)
    if kept.community(tag) is not None:
        return Scope((community_scope(tag),), True, tag)
    return Scope((tag or EVERYTHING,), False)


def ranked_posts(state: State, kept: Social, scope: Scope, sort: str, limit: int, start: Comment | None) -> list[int]:
    """Return the ids of the posts of a scope in a sort order. If `start` is given, return only the posts after it.

    The lists of several scopes are merged lazily. The first page of a community starts with its pinned posts, which don't count towards the
    limit.
    """
    order, worth = scope.orders[sort], kept.facts.worth(state)
    if order.by_id:
        [name] = scope.names
        return list(islice(kept.view.newest_roots(name, None if start is None else start.id), limit))
    first = None if start is None else start_entry(state, kept, order, start, worth)
    buckets = due_buckets(state.head_time) if order.by_due and state.hardfork >= 17 else (0,)
    walks = [walk(kept.view.entries(name, order, bucket), order, worth, first) for name in scope.names for bucket in buckets]
    entries: Iterator[Entry] = walks[0] if len(walks) == 1 else merge(*walks)
    if sort == "muted" and not scope.of_communities:
        # Entries contain negated payouts, and this list contains only payouts above 0. Earnings above 0 can be worth less than the smallest
        # unit.
        entries = takewhile(lambda entry: entry[0] < 0, entries)
    found = (comment for _, comment in entries)
    if order.by_due:
        earliest, latest = state.head_time + DUE_FROM, state.head_time + DUE_TO
        found = (comment for comment in found if earliest <= payout_time(state, state.comments.find(comment)) <= latest)
    # Later pages list pinned posts again at their normal positions, as on the reference.
    if start is not None or not scope.community or sort not in PINNED_ORDERS:
        return list(islice(found, limit))
    pins = [row.comment for row in islice(kept.posts.by_pin.equal(scope.community), PINS_MAX)]
    return pins + list(islice((comment for comment in found if comment not in pins), limit))


def due_buckets(now: int) -> range:
    """Return the time buckets of the payouts that are due soon. There is a separate list of posts for each bucket (ranked_posts.py)."""
    return range((now + DUE_FROM) // DUE_SECONDS, (now + DUE_TO) // DUE_SECONDS + 1)


def start_entry(state: State, kept: Social, order: PostSort, start: Comment, worth: Worth) -> Entry:
    """Return the entry of a post in a sort order, whether or not the post is listed there."""
    if order.in_payouts:
        return -payout_of(state, kept.facts, start, worth).total, start.id
    post = kept.posts.by_comment.find(start.id)
    match order.name:
        case "trending":
            value = kept.view.trend(start, post)
        case "hot":
            value = kept.view.hot(start, post)
        case "promoted":
            value = post.promoted
        case _:
            value = start.created
    return -value, start.id


# ------------------------------------------------------------------ walking through a list


def walk(entries: Sequence[Entry], order: PostSort, worth: Worth, start: Entry | None) -> Iterator[Entry]:
    """Yield the entries of a list after the entry `start`."""
    if order.in_payouts:
        return by_payout(entries, worth, start)
    return from_place(entries, 0 if start is None else bisect_right(entries, start))


def from_place(entries: Sequence[Entry], place: int, end: int | None = None) -> Iterator[Entry]:
    """Yield the entries from index `place` to index `end` of a list, or to the list's end."""
    return (entries[i] for i in range(place, len(entries) if end is None else end))


def by_payout(entries: Sequence[Entry], worth: Worth, start: Entry | None) -> Iterator[Entry]:
    """Convert a list ordered by earnings to a list ordered by payout, and yield its entries after `start`.

    Lists are sorted by earnings, in rshares, since payouts change with the fund in every block. A payout grows with the earnings, but is
    rounded, and posts with equal payouts are ordered by id. The list is therefore read in ranges of equal payout. Each range is found by
    bisection and sorted by id.
    """

    def payout(entry: Entry) -> int:
        return -worth(int(-entry[0]))

    place, after = 0, None
    if start is not None:
        place, after = bisect_left(entries, start[0], key=payout), start
    while place < len(entries):
        paid = payout(entries[place])
        end = place + 1
        if end < len(entries) and payout(entries[end]) == paid:
            end = bisect_right(entries, paid, lo=end, key=payout)
        for entry in same_payout(entries, place, end):
            if after is None or (paid, entry[1]) > after:
                yield paid, entry[1]
        place = end


def same_payout(entries: Sequence[Entry], place: int, end: int) -> Iterable[Entry]:
    """Return the entries between two positions, which have the same payout, ordered by id.

    Entries without earnings are already sorted by id, and make up most of the entries without a payout. Only the entries with earnings are
    sorted here.
    """
    unearned = bisect_left(entries, (0, -1), place, end)
    if unearned == place:
        return from_place(entries, place, end)
    some = sorted(entries[place:unearned], key=by_id)
    return merge(some, from_place(entries, unearned, end), key=by_id)


def by_id(entry: Entry) -> int:
    """Return the post id of an entry, as a sort key."""
    return entry[1]


# ------------------------------------------------------------------ the posts of an account


class ListedPost(Struct):
    """A post in a blog or a feed, with the time at which it was added and the accounts that have reblogged it."""

    comment: Comment
    created: int
    reblogged_by: tuple[str, ...] = ()


def own_posts(state: State, kept: Social, account: str, *, is_reply: bool, start: Comment | None) -> Iterator[Comment]:
    """Yield an account's posts, or its replies, newest first, from `start` on."""
    index = kept.posts.by_author
    rows = index.equal(account, is_reply) if start is None else index.starting(account, is_reply, start.id)
    return (state.comments.find(row.comment) for row in takewhile(lambda row: (row.author, row.is_reply) == (account, is_reply), rows))


def replies_to(state: State, kept: Social, account: str, start: Comment | None) -> Iterator[Comment]:
    """Yield the replies to an account's newest 10,000 posts and replies. The newest replies come first, from the reply `start` on."""
    index = kept.posts.by_parent_author
    rows = index.equal(account) if start is None else index.starting(account, start.id)
    oldest = oldest_answered(state, kept, account)
    for row in takewhile(lambda row: row.parent_author == account, rows):
        comment = state.comments.find(row.comment)
        if oldest:
            parent = state.comments.by_permlink.get(comment.parent_author, comment.parent_permlink)
            if parent is None or parent.id < oldest:
                continue
        yield comment


def oldest_answered(state: State, kept: Social, account: str) -> int:
    """Return the id of the oldest among an account's newest 10,000 posts and replies, 0 if it has fewer."""
    row = state.accounts.by_name.get(account)
    # The chain's count never falls, so only the busiest accounts need the search.
    if row is None or row.post_count < ANSWERED_MAX:
        return 0
    kinds = [(-row.comment for row in kept.posts.by_author.equal(account, is_reply)) for is_reply in (False, True)]
    return -next(islice(merge(*kinds), ANSWERED_MAX - 1, None), 0)


def unpaid_posts(state: State, kept: Social, account: str, start: Comment | None) -> list[Comment]:
    """Return an account's unpaid posts and replies after `start`, ordered by payout."""
    worth = kept.facts.worth(state)
    unpaid = kept.view.unpaid_of(account)
    found = [(-payout_of(state, kept.facts, state.comments.find(comment), worth).total, comment) for comment in unpaid]
    if start is not None:
        place = (-payout_of(state, kept.facts, start, worth).total, start.id)
        found = [entry for entry in found if entry > place]
    return [state.comments.find(comment) for _, comment in sorted(found)]


def valid_reblog(state: State, kept: Social, reblog: Reblog) -> tuple[SocialPost, Comment] | None:
    """Return the post of a reblog, or None if that post was deleted after the reblog, even if a new post has the same permlink."""
    post = kept.posts.find(reblog.post)
    comment = None if post.is_deleted else state.comments.get(post.comment)
    return None if comment is None or comment.created > reblog.created else (post, comment)


def posts_of(state: State, kept: Social, account: str, *, of_communities: bool) -> Iterator[ListedPost]:
    """Yield an account's own posts, newest first. Posts in communities are excluded unless `of_communities` is set."""
    for row in kept.posts.by_author.equal(account, False):
        if of_communities or not row.community:
            comment = state.comments.find(row.comment)
            yield ListedPost(comment, comment.created)


def reblogs_of(state: State, kept: Social, account: str) -> Iterator[ListedPost]:
    """Yield the posts that an account has reblogged, newest first."""
    for reblog in kept.reblogs.by_account.equal(account):
        found = valid_reblog(state, kept, reblog)
        if found is not None:
            yield ListedPost(found[1], reblog.created, (account,))


def by_age(shown: ListedPost) -> tuple[int, int]:
    """Return the sort key of posts in blogs and feeds, newest first."""
    return -shown.created, -shown.comment.id


def blog(state: State, kept: Social, account: str) -> Iterator[ListedPost]:
    """Yield an account's posts outside communities and its reblogs, newest first. A post in both is yielded once, at its newer time."""
    seen: set[int] = set()
    for shown in merge(posts_of(state, kept, account, of_communities=False), reblogs_of(state, kept, account), key=by_age):
        if shown.comment.id not in seen:
            seen.add(shown.comment.id)
            yield shown


def feed(state: State, kept: Social, account: str) -> Iterator[ListedPost]:
    """Yield the posts and reblogs of the last month by the accounts that an account follows, newest first.

    A post that was added several times is listed once, at its earliest time, with all its reblogs.
    """
    since = state.head_time - FEED_SECONDS
    followed = {row.following for row in relations_of(state, account, "", BLOG)} if FOLLOW.is_on(state) else set()
    walks = []
    for name in sorted(followed):
        for one in (posts_of(state, kept, name, of_communities=True), reblogs_of(state, kept, name)):
            walks.append(takewhile(lambda shown: shown.created >= since, one))
    entries: dict[int, ListedPost] = {}
    seen: set[int] = set()
    for shown in merge(*walks, key=by_age):
        comment = shown.comment
        if comment.id not in entries:
            entries[comment.id] = feed_entry(kept, comment, followed, since)
        if comment.id not in seen and shown.created == entries[comment.id].created:
            seen.add(comment.id)
            yield entries[comment.id]


def feed_entry(kept: Social, comment: Comment, followed: set[str], since: int) -> ListedPost:
    """Return a post as a feed contains it.

    The entry's time is the earliest time at which a followed account wrote or reblogged the post. The entry contains only reblogs by
    followed accounts.
    """
    rows = [row for row in kept.reblogs.by_post.equal(kept.posts.by_comment.find(comment.id).id) if row.account in followed]
    reblogs = [row for row in rows if row.created >= max(since, comment.created)]
    times = [row.created for row in reblogs] + ([comment.created] if comment.author in followed and comment.created >= since else [])
    return ListedPost(comment, min(times), tuple([row.account for row in reblogs if row.account != comment.author]))


# ------------------------------------------------------------------ discussions


def discussion(state: State, kept: Social, top: Comment) -> dict[int, list[Comment]]:
    """Return the replies to a comment and to each of its descendants, in breadth-first order. The keys are the ids of the comments that are
    replied to.

    The result contains at most 500 comments, and is at most 50 levels deep.
    """
    found: dict[int, list[Comment]] = {top.id: []}
    level: deque[tuple[Comment, int]] = deque([(top, 1)])
    while level:
        comment, depth = level.popleft()
        if depth >= DISCUSSION_DEPTH_MAX:
            continue
        for child in state.comments.by_parent.equal(comment.author, comment.permlink):
            if len(found) >= DISCUSSION_POSTS_MAX:
                return found
            if child.author in kept.irredeemables:
                continue
            found[child.id] = []
            found[comment.id].append(child)
            level.append((child, depth + 1))
    return found
