"""`RootPosts`: the ids of all root posts by scope, for lists that contain paid posts."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import islice

from state.plugins.social.rows import SocialPost, SocialPosts
from state.protocol.values.integers import UINT32_MAX
from state.store.lazy.incremental import ReadMode
from state.store.lazy.memory import QueryData
from state.store.packed_integers import UINT32

EVERYTHING, COMMUNITIES = "", "/"
"""Scopes other than tags. The slash distinguishes them from tags, since the tags of a post contain no slash."""
SOURCE_ROWS = 2000  # ids of the table per step of the first read
FOLLOWING_ROWS = 20
BYTES_PER_ID, BYTES_PER_SCOPE = 5, 300
NONE = array(UINT32)


def community_scope(name: str) -> str:
    """Return the scope of a community."""
    return COMMUNITIES + name


def root_scopes(post: SocialPost) -> tuple[str, ...]:
    """Return the scopes of a root post: everything, its community, and its tags."""
    return (EVERYTHING, *community_scopes(post), *post.tags)


def community_scopes(post: SocialPost) -> tuple[str, ...]:
    """Return the scopes that a post has because of its community: all communities, and this one."""
    return (COMMUNITIES, community_scope(post.community)) if post.community else ()


def community_of(scopes: tuple[str, ...]) -> str:
    """Return the community in the scopes of a post, "" if there is none."""
    return scopes[2].removeprefix(COMMUNITIES) if COMMUNITIES in scopes[1:2] else ""


class RootPosts(QueryData):
    """Ids of root posts in ascending order, by scope. They are read from the table in one pass, in steps, at the first read of any scope.

    An id takes 4 bytes per scope. A scope can contain ids of posts that are deleted or have lost the tag. `newest_first` drops those that
    it finds.
    """

    def __init__(self, posts: SocialPosts, read_mode: ReadMode, drop_all: Callable[[], None]) -> None:
        super().__init__()
        self._posts, self._read_mode, self._drop_all = posts, read_mode, drop_all
        self._count = 0  # of ids in all scopes
        self._ids: dict[str, array[int]] = {}
        self._next_row = 0  # the rows below are read
        self._last = -1  # the last id that was appended
        self._changed: set[int] = set()  # posts to add when all rows are read

    @property
    def memory_size(self) -> int:
        """The approximate memory in bytes."""
        return self._count * BYTES_PER_ID + len(self._ids) * BYTES_PER_SCOPE

    def drop(self) -> None:
        """Implement `QueryData.drop`."""
        self._drop_all()

    def refresh(self) -> None:
        """Read all rows that aren't yet read."""
        self._read_mode.memory.used(self, self._read_mode.is_incremental)
        unread = max(self._posts.next_id - self._next_row, len(self._changed))
        if unread:
            self._read_mode.raise_if_large(unread, self._read_chunk)
            while self._read_chunk():
                pass

    def _read_chunk(self) -> bool:
        """Read the next rows of the table. Return whether more are left."""
        begin, self._next_row = self._next_row, max(self._next_row, min(self._next_row + SOURCE_ROWS, self._posts.next_id))
        read = list(self._posts.rows_between(begin, self._next_row + FOLLOWING_ROWS))
        fresh: list[SocialPost] = []
        least = UINT32_MAX
        for post in reversed(read):
            comment = post.comment
            # A new post with the permlink of a deleted one has the row of the deleted one, and so a larger id than the following rows.
            is_next = self._last < comment <= least
            least = min(least, comment)
            if post.is_reply or post.is_deleted or post.id >= self._next_row:
                continue
            if is_next:
                fresh.append(post)
            else:
                self._changed.add(comment)
        if fresh:
            self._last = fresh[0].comment
        fresh.reverse()
        ids = self._ids
        ids.setdefault(EVERYTHING, array(UINT32)).extend([post.comment for post in fresh])
        self._count += len(fresh)
        for post in fresh:
            scopes = (*community_scopes(post), *post.tags) if post.community else post.tags
            self._count += len(scopes)
            for scope in scopes:
                try:
                    ids[scope].append(post.comment)
                except KeyError:
                    ids[scope] = array(UINT32, (post.comment,))
        self._read_mode.memory.resized(self)
        if self._next_row < self._posts.next_id:
            return True
        for comment in list(islice(self._changed, SOURCE_ROWS)):
            self._changed.remove(comment)
            self.update(comment)
        return bool(self._changed)

    def update(self, comment: int) -> None:
        """Add a post to its scopes, after it changed."""
        if self._next_row < self._posts.next_id:
            self._changed.add(comment)
            return
        post = self._posts.by_comment.peek(comment)
        if post is None or post.is_reply or post.is_deleted:
            return
        for scope in root_scopes(post):
            ids = self.ids(scope)
            place = bisect_left(ids, comment)
            if place == len(ids):
                self._ids.setdefault(scope, array(UINT32)).append(comment)
            elif ids[place] != comment:
                ids.insert(place, comment)
            else:
                continue
            self._count += 1

    def ids(self, scope: str) -> "array[int]":
        """Return the ids of a scope. The caller must not change or retain them."""
        return self._ids.get(scope, NONE)

    def contains(self, comment: int) -> bool:
        """Whether a scope can contain this id."""
        ids = self.ids(EVERYTHING)
        place = bisect_left(ids, comment)
        return comment in self._changed or (place < len(ids) and ids[place] == comment)

    def newest_first(self, scope: str, before: int | None) -> Iterator[int]:
        """Yield the ids of the posts in a scope that are below `before`, if it is given, largest first."""
        ids, find = self.ids(scope), self._posts.by_comment.peek
        for place in range((len(ids) if before is None else bisect_left(ids, before)) - 1, -1, -1):
            comment = ids[place]
            post = find(comment)
            if post is None or post.is_reply or post.is_deleted or scope not in root_scopes(post):
                del ids[place]
            else:
                yield comment
