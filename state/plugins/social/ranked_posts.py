"""Materialized view of ranked posts: all posts with their scores, and lists of them in all orders.

The view is derived from the chain and the rows of the index, and updated when it is read. It has no undo records: undoing a change marks
the post as changed again. Source: social.md §2.2, §2.3, §3.3.
"""

from collections.abc import Callable, Iterator, Sequence, Set

from msgspec import Struct

from state.effects.comments import payout_time
from state.plugins.social.chain_reader import ChainReader, rshares_of
from state.plugins.social.post_metadata import post_tags
from state.plugins.social.rows import SocialPost, SocialPosts
from state.plugins.social.scores import hot, is_low, trend
from state.protocol.constants import TIME_MAX
from state.store import DirtyMarks, LazyOrder
from state.store.lazy.incremental import CHUNK_ROWS, process_some
from state.store.rows import shared
from state.tables import State
from state.tables.content import Comment

# Scopes other than tags. Their slash distinguishes them from tags, since scopes_of drops tags that contain a slash.
EVERYTHING, COMMUNITIES = "", "/"
DUE_SECONDS = 43_200  # length of a bucket, a period with a separate list of the payouts due in it
LISTS_MAX = 1024

Entry = tuple[float, int]
"""The negated sort value of a list, and the id of the post. So the largest value comes first, then the oldest post."""


def community_scope(name: str) -> str:
    """Return the scope of a community."""
    return COMMUNITIES + name


class RankedPost(Struct, gc=False):
    """A post with all values by which lists filter, sort or add up posts.

    `earning` is the rshares that determine its payout, `banked` the SBD of earlier payouts.
    """

    comment: int
    author: str
    community: str
    category: str
    is_reply: bool
    is_unpaid: bool
    is_muted: bool
    is_gray: bool
    created: int
    payout_at: int
    promoted: int
    earning: int
    banked: int
    trend: float
    hot: float
    scopes: tuple[str, ...]


Key = Callable[[RankedPost, str], float | None]
"""A function from a post and a scope to the sort value in the scope's list, largest first, or None to exclude the post."""


class RankedPosts:
    """All ranked posts by scope, and a cache of lists.

    A ranked list contains the posts of one scope (everything, a community, a tag) in one order (trending, hot, created, ...). Every vote
    changes the scores of its post, and therefore the post's position in one list per scope and order. Few of these lists are ever read, so
    nothing is sorted when a post changes. The post is only marked as changed. The next read ranks the changed posts once and marks them in
    the lists of their scopes, and the requested list processes its changes (`state.store.LazyOrder`). A list is created on its first read.
    Above LISTS_MAX lists, the least recently read one is dropped.
    """

    def __init__(self, state: State, posts: SocialPosts, changed: DirtyMarks) -> None:
        self._state, self._posts, self._changed = state, posts, changed
        self._is_stale = False
        self._ranked: dict[int, RankedPost] = {}
        self._members: dict[tuple[str, bool], set[int]] = {}
        self._by_author: dict[str, set[int]] = {}
        self._low: set[str] = set()
        self._lists: dict[tuple[str, str, int], LazyOrder] = {}
        self._lists_of: dict[str, dict[tuple[str, str, int], LazyOrder]] = {}
        self.version = 0

    def __len__(self) -> int:
        """Return the number of cached lists."""
        return len(self._lists)

    def ranked(self, facts: ChainReader) -> dict[int, RankedPost]:
        """Return the up-to-date posts, keyed by id. The caller must not change them."""
        if self._is_stale:
            self._mark_all()
        changed = self._changed
        if changed.rows or changed.names:
            self._state.journal.read_mode.raise_if_large(len(changed.rows) + len(changed.names), lambda: self._refresh(facts, CHUNK_ROWS))
            while self._refresh(facts, CHUNK_ROWS):
                pass
        return self._ranked

    def members(self, facts: ChainReader, scope: str, is_unpaid: bool) -> Iterator[RankedPost]:
        """Yield the posts of a scope that are unpaid (`is_unpaid`) or paid, unordered."""
        ranked = self.ranked(facts)
        return (ranked[comment] for comment in self._members.get((scope, is_unpaid), ()))

    @property
    def unpaid(self) -> int:
        """The number of posts and replies that were unpaid when the view was last read."""
        return len(self._members.get((EVERYTHING, True), ()))

    def unpaid_of(self, facts: ChainReader, author: str) -> Set[int]:
        """Return the ids of an author's unpaid posts and replies. The caller must not change or retain them."""
        self.ranked(facts)
        return self._by_author.get(author, set())

    def entries(self, facts: ChainReader, scope: str, order: "PostSort", bucket: int = 0) -> Sequence[Entry]:
        """Return the up-to-date list of a scope in a sort order.

        The caller must not retain the list, since the next change can replace it.
        """
        self.ranked(facts)
        name = (scope, order.name, bucket)
        found = self._lists.pop(name, None)
        if found is None:
            if (scope, True) not in self._members and (scope, False) not in self._members:
                # Otherwise a client could evict all lists with requests for unused tags.
                return []
            if len(self._lists) >= LISTS_MAX:
                self._forget(next(iter(self._lists)))
            found = LazyOrder(order.entry_of(self._ranked, scope, bucket), self._candidates(scope, order), self._state.journal.read_mode)
            self._lists_of.setdefault(scope, {})[name] = found
        self._lists[name] = found
        entries: Sequence[Entry] = found.refreshed()
        return entries

    def _candidates(self, scope: str, order: "PostSort") -> Iterator[int]:
        """Yield the ids of the posts in a scope that a list with this sort order can contain."""
        for is_unpaid in (True,) if order.only_unpaid else (True, False):
            yield from self._members.get((scope, is_unpaid), ())

    def _forget(self, name: tuple[str, str, int]) -> None:
        del self._lists[name]
        lists = self._lists_of[name[0]]
        del lists[name]
        if not lists:
            del self._lists_of[name[0]]

    # -------------------------------------------------------------- processing changes

    def mark_all(self) -> None:
        """Mark all rows as replaced. The next read recomputes everything."""
        self._is_stale = True

    def _mark_all(self) -> None:
        """Mark all posts and authors as changed, including those that no longer exist."""
        self._is_stale = False
        self._changed.rows.add_all(self._ranked)
        self._changed.names.update(self._low, {post.author for post in self._posts})

    def _refresh(self, facts: ChainReader, most: int) -> bool:
        """Process at most `most` changed authors, which can mark more posts. If no author is left, process at most `most` changed posts.

        Return whether any author or post is left.
        """
        self.version += 1
        authors, posts = self._changed.names, self._changed.rows
        if authors:
            process_some(authors, most, lambda author: self._mark_low(facts, author))
        else:
            posts.process(most, lambda comment: self._take_over(facts, comment))
        return bool(authors or posts)

    def _mark_low(self, facts: ChainReader, author: str) -> None:
        """Mark all unpaid posts of an author as changed when the author's reputation becomes low or stops being low (`is_gray`).

        Paid posts can retain the old value, since only a sort order of unpaid posts reads it.
        """
        low = is_low(facts.reputation(self._state, author))
        if low != (author in self._low):
            (self._low.add if low else self._low.discard)(author)
            self._changed.rows.ids.update(self._by_author.get(author, ()))

    def _take_over(self, facts: ChainReader, comment: int) -> None:
        old, new = self._ranked.get(comment), self._made(facts, comment)
        if old == new:
            return
        if old is not None:
            self._remove(old)
        if new is not None:
            self._insert(new)
        scopes = dict.fromkeys((old.scopes if old else ()) + (new.scopes if new else ()))
        for scope in scopes:
            for entries in self._lists_of.get(scope, {}).values():
                entries.dirty.add(comment)

    def _remove(self, post: RankedPost) -> None:
        del self._ranked[post.comment]
        for scope in post.scopes:
            members = self._members[scope, post.is_unpaid]
            members.discard(post.comment)
            if not members:
                del self._members[scope, post.is_unpaid]
        if post.is_unpaid:
            by_author = self._by_author[post.author]
            by_author.discard(post.comment)
            if not by_author:
                del self._by_author[post.author]

    def _insert(self, post: RankedPost) -> None:
        self._ranked[post.comment] = post
        for scope in post.scopes:
            self._members.setdefault((scope, post.is_unpaid), set()).add(post.comment)
        if post.is_unpaid:
            self._by_author.setdefault(post.author, set()).add(post.comment)

    def _made(self, facts: ChainReader, comment: int) -> RankedPost | None:
        """Return a post with its current values, or None if the post is deleted."""
        row, post = self._state.comments.get(comment), self._posts.by_comment.get(comment)
        if row is None or post is None or post.is_deleted:
            return None
        state = self._state
        rshares = rshares_of(state, row)
        at = payout_time(state, row)
        paid = at == TIME_MAX
        is_gray = post.is_muted if post.community else row.author in self._low
        return RankedPost(
            comment=row.id,
            author=row.author,
            community=post.community,
            category=row.category,
            is_reply=post.is_reply,
            is_unpaid=not paid,
            is_muted=post.is_muted,
            is_gray=is_gray,
            created=row.created,
            payout_at=row.last_payout if paid else at,
            promoted=post.promoted,
            earning=facts.earning(state, row),
            banked=row.total_payout_value + row.curator_payout_value,
            trend=trend(rshares, row.created),
            hot=hot(rshares, row.created),
            scopes=scopes_of(state, row, post),
        )


def scopes_of(state: State, comment: Comment, post: SocialPost) -> tuple[str, ...]:
    """Return the scopes of a post: everything, its community, and its tags. The only tag of a reply is its category.

    Tags with a slash are dropped. Otherwise an author could add a post to a community's lists by a tag that equals the community's scope. A
    list of such a tag can't be requested anyway.
    """
    scopes = [EVERYTHING]
    if post.community:
        scopes += [COMMUNITIES, community_scope(post.community)]
    if post.is_reply:
        tags = [comment.category] if comment.category else []
    else:
        content = state.comment_contents.by_comment.get(comment.id)
        tags = post_tags(comment.category, "" if content is None else content.json_metadata)
    scopes += [tag for tag in tags if COMMUNITIES not in tag]
    return shared(tuple(dict.fromkeys(scopes)))


# ------------------------------------------------------------------ orders


class PostSort(Struct, frozen=True):
    """Sort order of posts.

    `in_payouts`: the sort key is the earning, which reads convert to the payout. `by_due`: each period of DUE_SECONDS has a list of the
    posts whose payout is due in it.
    """

    name: str
    key: Key
    only_unpaid: bool = False
    in_payouts: bool = False
    by_due: bool = False

    def entry_of(self, ranked: dict[int, RankedPost], scope: str, bucket: int) -> Callable[[int], Entry | None]:
        """Return the function that converts a post to its entry in the list of a scope, or to None if the list excludes the post.

        A list by due time contains the payouts of one period, its bucket. Clients ask for posts that will be paid soon. Finding these in a
        single list by payout would require a scan of all other posts.
        """
        key, by_due = self.key, self.by_due

        def entry_of(comment: int) -> Entry | None:
            post = ranked.get(comment)
            if post is None or (by_due and post.payout_at // DUE_SECONDS != bucket):
                return None
            value = key(post, scope)
            return None if value is None else (-value, comment)

        return entry_of


def _tagged(post: RankedPost, scope: str) -> bool:
    """Whether a post is listed under a tag. A reply isn't, because it has a category but no tags."""
    return scope == EVERYTHING or not post.is_reply


def _of_category(post: RankedPost, scope: str) -> bool:
    return scope in (EVERYTHING, post.category)


def _is_visible_root(post: RankedPost) -> bool:
    return not post.is_reply and not post.is_muted


TAG_ORDERS = {
    order.name: order
    for order in (
        PostSort("trending", lambda p, scope: p.trend if p.is_unpaid and not p.is_reply else None, only_unpaid=True),
        PostSort("hot", lambda p, scope: p.hot if p.is_unpaid and not p.is_reply else None, only_unpaid=True),
        PostSort("created", lambda p, scope: p.comment if not p.is_reply else None),
        PostSort("promoted", lambda p, s: p.promoted if p.is_unpaid and p.promoted > 0 and _tagged(p, s) else None, only_unpaid=True),
        PostSort(
            "payout",
            lambda p, scope: p.earning if p.is_unpaid and _of_category(p, scope) else None,
            only_unpaid=True,
            in_payouts=True,
            by_due=True,
        ),
        PostSort(
            "payout_comments",
            lambda p, scope: p.earning if p.is_unpaid and p.is_reply and _of_category(p, scope) else None,
            only_unpaid=True,
            in_payouts=True,
        ),
        PostSort(
            "muted",
            lambda p, scope: p.earning if p.is_unpaid and p.is_gray and p.earning > 0 and _tagged(p, scope) else None,
            only_unpaid=True,
            in_payouts=True,
        ),
    )
}
COMMUNITY_ORDERS = {
    order.name: order
    for order in (
        PostSort("trending", lambda p, scope: p.trend if _is_visible_root(p) else None),
        PostSort("hot", lambda p, scope: p.hot if _is_visible_root(p) else None),
        PostSort("created", lambda p, scope: p.created if _is_visible_root(p) else None),
        PostSort(
            "promoted", lambda p, scope: p.promoted if p.is_unpaid and p.promoted > 0 and _is_visible_root(p) else None, only_unpaid=True
        ),
        PostSort(
            "payout", lambda p, scope: p.earning if p.is_unpaid and not p.is_muted else None, only_unpaid=True, in_payouts=True, by_due=True
        ),
        PostSort("muted", lambda p, scope: p.earning if p.is_unpaid and p.is_muted else None, only_unpaid=True, in_payouts=True),
    )
}
