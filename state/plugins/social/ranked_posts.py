"""Materialized view of ranked posts: the unpaid posts by scope, and lists of posts in all orders.

The view is derived from the chain and the rows of the index, and updated when it is read. It has no undo records: undoing a change marks
the post as changed again. Posts have no objects here: the values by which lists sort are read from their rows.
Source: social.md §2.2, §2.3, §3.3.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

from msgspec import Struct

from state.effects.comments import payout_time
from state.plugins.social.chain_reader import ChainReader, rshares_of
from state.plugins.social.root_posts import COMMUNITIES, EVERYTHING, RootPosts, community_scopes, root_scopes
from state.plugins.social.rows import SocialPost, SocialPosts
from state.plugins.social.scores import hot, is_low, trend
from state.protocol.constants import TIME_MAX
from state.store import DirtyMarks
from state.store.lazy.incremental import CHUNK_ROWS, process_some
from state.store.lazy.memory import QueryData
from state.store.lazy.order_cache import OrderCache
from state.store.lazy.sorted_ids import Computed
from state.store.rows import shared
from state.tables import State
from state.tables.content import Comment

BYTES_PER_POST = 600  # of the sets and dictionaries that contain an unpaid post
DUE_SECONDS = 43_200  # length of a bucket, a period with a separate list of the payouts due in it

Entry = tuple[float, int]
"""The negated sort value of a list, and the id of the post. So the largest value comes first, then the oldest post."""


class RankedPosts(QueryData):
    """The unpaid posts by scope, the ids of all root posts by scope, and a cache of lists.

    A ranked list contains the posts of one scope (everything, a community, a tag) in one order (trending, hot, created, ...). Every vote
    changes the scores of its post, and therefore the post's position in one list per scope and order. Few of these lists are ever read, so
    nothing is sorted when a post changes. The post is only marked as changed. The next read marks the changed posts in the lists of their
    scopes, and the requested list processes its changes (`state.store.LazyOrder`).

    Most posts are paid, and only few lists contain them. They are read only if one of these lists is requested (`RootPosts`).
    """

    def __init__(self, state: State, posts: SocialPosts, changed: DirtyMarks, facts: Callable[[], ChainReader]) -> None:
        super().__init__()
        self._state, self._posts, self._changed, self._facts = state, posts, changed, facts
        self._memory = state.journal.read_mode.memory
        self._orders = OrderCache(state.journal.read_mode)
        self.version = 0
        self._is_stale = True
        self._known: dict[int, tuple[str, tuple[str, ...]]] = {}  # the author and scopes of each unpaid post
        self._unpaid: dict[str, set[int]] = {}
        self._by_author: dict[str, set[int]] = {}
        self._low: set[str] = set()  # authors of unpaid posts
        self._roots: RootPosts | None = None

    def __len__(self) -> int:
        """Return the number of cached lists."""
        return len(self._orders)

    @property
    def memory_size(self) -> int:
        """The approximate memory of the unpaid posts, in bytes."""
        return len(self._known) * BYTES_PER_POST

    def drop(self) -> None:
        """Implement `QueryData.drop`."""
        self.mark_all()

    def refresh(self) -> None:
        """Bring the view up to date."""
        read_mode = self._state.journal.read_mode
        read_mode.memory.used(self, read_mode.is_incremental)
        changed, comments = self._changed, self._state.comments
        if self._is_stale or changed.rows.count_unread() > 2 * len(comments.by_due_payout) + CHUNK_ROWS:
            self.mark_all()
            self._is_stale = False
            changed.names.clear()
            changed.rows.restart(self._unpaid_comments(), len(comments.by_due_payout if self._state.hardfork >= 17 else comments))
        if changed.rows or changed.names:
            read_mode.raise_if_large(len(changed.rows) + len(changed.names), self._refresh_chunk)
            while self._refresh_chunk():
                pass

    def unpaid(self) -> Mapping[int, tuple[str, tuple[str, ...]]]:
        """Return the author and the scopes of each unpaid post and reply, by id. The caller must not change the result."""
        self.refresh()
        return self._known

    def unpaid_of(self, author: str) -> Set[int]:
        """Return the ids of an author's unpaid posts and replies. The caller must not change or retain them."""
        self.refresh()
        return self._by_author.get(author, set())

    def entries(self, scope: str, order: "PostSort", bucket: int = 0) -> Sequence[Entry]:
        """Return the up-to-date list of a scope in a sort order.

        The caller must not retain the list, since the next change can replace it.
        """
        self.refresh()
        ids: Iterable[int] = self._unpaid.get(scope, ()) if order.only_unpaid else self._root_posts().ids(scope)
        if not ids:
            # Otherwise a client could fill the cache with requests for unused tags.
            return []
        return self._orders.refreshed(scope, (order.name, bucket), lambda: (self._entry_of(order, scope, bucket), ids))

    def newest_roots(self, scope: str, before: int | None) -> Iterator[int]:
        """Yield the ids of the root posts in a scope that are below `before`, if it is given, largest first."""
        self.refresh()
        return self._root_posts().newest_first(scope, before)

    def _root_posts(self) -> RootPosts:
        if self._roots is None:
            self._roots = RootPosts(self._posts, self._state.journal.read_mode, self._drop_roots)
        self._roots.refresh()
        return self._roots

    def _drop_roots(self) -> None:
        if self._roots is not None:
            self._memory.remove(self._roots)
            self._roots = None

    def _entry_of(self, order: "PostSort", scope: str, bucket: int) -> Computed:
        """Return the function that converts a post to its entry in the list of a scope, or to None if the list excludes the post.

        A list by due time contains the payouts of one period, its bucket. Clients ask for posts that will be paid soon. Finding these in a
        single list by payout would require a scan of all other posts.
        """
        find_post, find_row = self._posts.by_comment.peek, self._state.comments.peek
        key, by_due, only_unpaid = order.key, order.by_due, order.only_unpaid

        def entry_of(comment: int) -> Entry | None:
            if only_unpaid and comment not in self._unpaid.get(scope, ()):
                return None
            post, row = find_post(comment), find_row(comment)
            if post is None or row is None or post.is_deleted:
                return None
            if by_due and bucket != self.bucket_of(row):
                return None
            if not only_unpaid and scope not in community_scopes(post):
                return None
            value = key(self, row, post, scope)
            return None if value is None else (-value, comment)

        return entry_of

    # -------------------------------------------------------------- values of posts

    def trend(self, row: Comment, post: SocialPost) -> float:
        """Return the score of a post for the order `trending`."""
        return trend(self._rshares(row, post), row.created)

    def hot(self, row: Comment, post: SocialPost) -> float:
        """Return the score of a post for the order `hot`."""
        return hot(self._rshares(row, post), row.created)

    def _rshares(self, row: Comment, post: SocialPost) -> int:
        return rshares_of(self._state, row) if post.rshares is None else post.rshares

    def earning(self, row: Comment) -> int:
        """Return the rshares from which the payout of a post is computed."""
        return self._facts().earning(self._state, row)

    def bucket_of(self, row: Comment) -> int:
        """Return the period of DUE_SECONDS in which an unpaid post is paid. Before hardfork 17 it can change without a mark, and is 0."""
        return row.cashout_time // DUE_SECONDS if self._state.hardfork >= 17 else 0

    def is_gray(self, row: Comment, post: SocialPost) -> bool:
        """Whether an unpaid post is gray: muted in its community, or by an author with a low reputation."""
        return post.is_muted if post.community else row.author in self._low

    # -------------------------------------------------------------- processing changes

    def mark_all(self) -> None:
        """Mark all rows as replaced. The next read recomputes everything."""
        self._is_stale = True
        self._known, self._unpaid, self._by_author, self._low = {}, {}, {}, set()
        self._memory.remove(self)
        self._drop_roots()
        self._orders.clear()
        self.version += 1

    def undo_mark_all(self, _: None) -> None:
        """Mark all rows as replaced when such a mark is undone."""
        self.mark_all()

    def _unpaid_comments(self) -> Iterator[list[int]]:
        """Yield the ids of all unpaid comments, and before hardfork 17, when a reply is paid with its root, of all comments."""
        comments = self._state.comments
        if self._state.hardfork < 17:
            for begin in range(0, comments.next_id, CHUNK_ROWS):
                yield [row.id for row in comments.rows_between(begin, begin + CHUNK_ROWS)]
            return
        due, last = comments.by_due_payout, (0, -1)
        while found := [(row.cashout_time, row.id) for row in islice(due.after(*last), CHUNK_ROWS)]:
            last = found[-1]
            yield [row_id for _, row_id in found]

    def _refresh_chunk(self) -> bool:
        """Process at most CHUNK_ROWS changed authors, which can mark more posts. If no author is left, process as many changed posts.

        Return whether any author or post is left.
        """
        self.version += 1
        authors, posts = self._changed.names, self._changed.rows
        if authors:
            process_some(authors, CHUNK_ROWS, self._update_low)
        else:
            posts.process(CHUNK_ROWS, self._take_over)
        self._memory.resized(self)
        return bool(authors or posts)

    def _update_low(self, author: str) -> None:
        """Mark all unpaid posts of an author as changed when the author's reputation becomes low or stops being low (`is_gray`)."""
        posts = self._by_author.get(author)
        if posts is not None and self._is_low(author) != (author in self._low):
            self._low ^= {author}
            self._changed.rows.ids.update(posts)

    def _is_low(self, author: str) -> bool:
        return is_low(self._facts().reputation(self._state, author))

    def _take_over(self, comment: int) -> None:
        """Update the scopes of a post, and mark it in the lists of its old and new scopes."""
        row, post = self._state.comments.peek(comment), self._posts.by_comment.peek(comment)
        old, new = self._known.get(comment), None
        if row is not None and post is not None and not post.is_deleted and payout_time(self._state, row) != TIME_MAX:
            # The row's own id object: the other one can be a copy, which would stay in memory.
            comment, new = row.id, (post.author, scopes_of(row, post))
        if new != old:
            if old is not None:
                self._leave(comment, *old)
            if new is not None:
                self._enter(comment, *new)
        if self._orders:
            roots = () if post is None or post.is_reply else root_scopes(post)
            for scope in dict.fromkeys((*(old[1] if old else ()), *(new[1] if new else roots))):
                self._orders.mark(scope, comment)
        if self._roots is not None:
            self._roots.update(comment)
            if post is None and old is None and self._roots.contains(comment):
                # The creation of a paid post was undone. Its scopes are no longer known.
                self._drop_roots()
                self._orders.clear()

    def _leave(self, comment: int, author: str, scopes: tuple[str, ...]) -> None:
        del self._known[comment]
        for scope in scopes:
            members = self._unpaid[scope]
            members.discard(comment)
            if not members:
                del self._unpaid[scope]
        by_author = self._by_author[author]
        by_author.discard(comment)
        if not by_author:
            del self._by_author[author]
            self._low.discard(author)

    def _enter(self, comment: int, author: str, scopes: tuple[str, ...]) -> None:
        self._known[comment] = author, scopes
        for scope in scopes:
            try:
                self._unpaid[scope].add(comment)
            except KeyError:
                self._unpaid[scope] = {comment}
        try:
            self._by_author[author].add(comment)
        except KeyError:
            self._by_author[author] = {comment}
            if self._is_low(author):
                self._low.add(author)


def scopes_of(row: Comment, post: SocialPost) -> tuple[str, ...]:
    """Return the scopes of a post: everything, its community, and its tags. The only tag of a reply is its category."""
    if not post.is_reply:
        return shared(root_scopes(post))
    category = row.category
    tags = (category,) if category and COMMUNITIES not in category else ()
    return shared((EVERYTHING, *community_scopes(post), *tags))


# ------------------------------------------------------------------ orders


Key = Callable[[RankedPosts, Comment, SocialPost, str], float | None]
"""A function from a post and a scope to the sort value in the scope's list, largest first, or None to exclude the post."""


class PostSort(Struct, frozen=True):
    """Sort order of posts.

    `only_unpaid`: lists contain only unpaid posts. `in_payouts`: the sort key is the earning, which reads convert to the payout. `by_due`:
    each period of DUE_SECONDS has a list of the posts whose payout is due in it. `by_id`: lists contain all root posts, newest first, and
    aren't sorted.
    """

    name: str
    key: Key = lambda view, row, post, scope: row.id
    only_unpaid: bool = True
    in_payouts: bool = False
    by_due: bool = False
    by_id: bool = False


def _tagged(post: SocialPost, scope: str) -> bool:
    """Whether a post is listed under a tag. A reply isn't, because it has a category but no tags."""
    return scope == EVERYTHING or not post.is_reply


def _of_category(row: Comment, scope: str) -> bool:
    return scope in (EVERYTHING, row.category)


def _is_visible_root(post: SocialPost) -> bool:
    return not post.is_reply and not post.is_muted


TAG_ORDERS = {
    order.name: order
    for order in (
        PostSort("trending", lambda view, row, post, scope: None if post.is_reply else view.trend(row, post)),
        PostSort("hot", lambda view, row, post, scope: None if post.is_reply else view.hot(row, post)),
        PostSort("created", only_unpaid=False, by_id=True),
        PostSort("promoted", lambda view, row, post, scope: post.promoted if post.promoted > 0 and _tagged(post, scope) else None),
        PostSort(
            "payout",
            lambda view, row, post, scope: view.earning(row) if _of_category(row, scope) else None,
            in_payouts=True,
            by_due=True,
        ),
        PostSort(
            "payout_comments",
            lambda view, row, post, scope: view.earning(row) if post.is_reply and _of_category(row, scope) else None,
            in_payouts=True,
        ),
        PostSort(
            "muted",
            lambda view, row, post, scope: view.earning(row) or None if view.is_gray(row, post) and _tagged(post, scope) else None,
            in_payouts=True,
        ),
    )
}
COMMUNITY_ORDERS = {
    order.name: order
    for order in (
        PostSort("trending", lambda view, row, post, scope: view.trend(row, post) if _is_visible_root(post) else None, only_unpaid=False),
        PostSort("hot", lambda view, row, post, scope: view.hot(row, post) if _is_visible_root(post) else None, only_unpaid=False),
        PostSort("created", lambda view, row, post, scope: row.created if _is_visible_root(post) else None, only_unpaid=False),
        PostSort("promoted", lambda view, row, post, scope: post.promoted if post.promoted > 0 and _is_visible_root(post) else None),
        PostSort("payout", lambda view, row, post, scope: None if post.is_muted else view.earning(row), in_payouts=True, by_due=True),
        PostSort("muted", lambda view, row, post, scope: view.earning(row) if post.is_muted else None, in_payouts=True),
    )
}
