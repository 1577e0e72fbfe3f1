"""Posts as they are ranked, and lists of them in all orders. It is made from the chain and from the rows of the index, brought up to
date when it is read, and changes nothing of them; undoing is no concern of it, because what was undone is noted as changed.
Source: social.md §2.2, §2.3, §3.3.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from state.effects.comments import payout_time
from state.plugins.social.facts import Facts, rshares_of
from state.plugins.social.posts.texts import post_tags
from state.plugins.social.rows import SocialPost, SocialPosts
from state.plugins.social.scores import hot, is_low, trend
from state.protocol.constants import TIME_MAX
from state.store import Journal
from state.tables import State
from state.tables.content import Comment

EVERYTHING, COMMUNITIES = "", "/"  # No tag has a slash.
DUE_SECONDS = 43_200  # The payouts of so much time are one list.
LISTS_MAX = 1024
REBUILD_SHARE = 8  # A list is sorted anew when more than one entry in so many has changed.

Entry = tuple[float, int]  # What a list is sorted by, negated, and the post's id.


def community_scope(name: str) -> str:
    """Where the lists of a community stand."""
    return COMMUNITIES + name


class Changed:
    """Which posts and authors have changed since somebody looked; an undone change is one as well."""

    def __init__(self, journal: Journal) -> None:
        self.posts: set[int] = set()
        self.authors: set[str] = set()
        self._record = journal.record

    def post(self, comment: int) -> None:
        """A post has changed."""
        self.posts.add(comment)
        self._record((note_again, self.posts, comment))

    def author(self, name: str) -> None:
        """An author's reputation may have changed."""
        self.authors.add(name)
        self._record((note_again, self.authors, name))


def note_again(changed: set[Any], what: Any) -> None:
    """The undoing of a change."""
    changed.add(what)


class Ranked(Struct, gc=False):
    """A post with all that any list asks of it. `earning` is what its payout goes by."""

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
    trend: float
    hot: float
    scopes: tuple[str, ...]


Key = Callable[[Ranked, str], float | None]
"""What a list in a scope sorts a post by, the greatest first; None leaves it out."""


class RankedList:
    """The posts of one scope in one order: entries, sorted; what has changed is sorted in at the next read."""

    def __init__(self, key: Callable[[Ranked], float | None], members: Iterable[Ranked]) -> None:
        self._key = key
        self._places = {post.comment: (-value, post.comment) for post in members if (value := key(post)) is not None}
        self._entries: list[Entry] = sorted(self._places.values())
        self.changed: set[int] = set()

    def entries(self, ranked: dict[int, Ranked]) -> list[Entry]:
        """All entries, up to date; nobody else may change them."""
        if self.changed:
            self._settle(ranked)
        return self._entries

    def _settle(self, ranked: dict[int, Ranked]) -> None:
        places, entries = self._places, self._entries
        anew = len(self.changed) * REBUILD_SHARE > len(entries)
        for comment in self.changed:
            post = ranked.get(comment)
            value = None if post is None else self._key(post)
            new = None if value is None else (-value, comment)
            old = places.pop(comment, None)
            if new is not None:
                places[comment] = new
            if new == old or anew:
                continue
            if old is not None:
                del entries[bisect_left(entries, old)]
            if new is not None:
                insort(entries, new)
        if anew:
            self._entries = sorted(places.values())
        self.changed.clear()


class View:
    """All posts as they are ranked now, by scope, with the lists that somebody has asked for."""

    def __init__(self, state: State, posts: SocialPosts, changed: Changed) -> None:
        self._state, self._posts, self._changed = state, posts, changed
        self._ranked: dict[int, Ranked] = {}
        self._members: dict[tuple[str, bool], set[int]] = {}
        self._by_author: dict[str, set[int]] = {}
        self._low: set[str] = set()
        self._lists: dict[tuple[str, str, int], RankedList] = {}
        self._lists_of: dict[str, dict[tuple[str, str, int], RankedList]] = {}
        self.version = 0

    def __len__(self) -> int:
        """How many lists are kept."""
        return len(self._lists)

    def ranked(self, facts: Facts) -> dict[int, Ranked]:
        """All posts by id, up to date; nobody else may change them."""
        if self._changed.posts or self._changed.authors:
            self._settle(facts)
        return self._ranked

    def members(self, facts: Facts, scope: str, is_unpaid: bool) -> Iterator[Ranked]:
        """The unpaid, or the paid, posts of a scope, in no order."""
        ranked = self.ranked(facts)
        return (ranked[comment] for comment in self._members.get((scope, is_unpaid), ()))

    def entries(self, facts: Facts, scope: str, order: "Order", bucket: int = 0) -> list[Entry]:
        """A list of a scope; the one that nobody has asked for the longest time goes when there are too many."""
        ranked = self.ranked(facts)
        name = (scope, order.name, bucket)
        found = self._lists.pop(name, None)
        if found is None:
            if (scope, True) not in self._members and (scope, False) not in self._members:
                return []  # Nobody can fill the lists with names that are no tags.
            if len(self._lists) >= LISTS_MAX:
                self._forget(next(iter(self._lists)))
            found = RankedList(order.bound(scope, bucket), self._candidates(scope, order))
            self._lists_of.setdefault(scope, {})[name] = found
        self._lists[name] = found
        return found.entries(ranked)

    def _candidates(self, scope: str, order: "Order") -> Iterator[Ranked]:
        for is_unpaid in (True,) if order.only_unpaid else (True, False):
            for comment in self._members.get((scope, is_unpaid), ()):
                yield self._ranked[comment]

    def _forget(self, name: tuple[str, str, int]) -> None:
        del self._lists[name]
        lists = self._lists_of[name[0]]
        del lists[name]
        if not lists:
            del self._lists_of[name[0]]

    # -------------------------------------------------------------- taking over what has changed

    def _settle(self, facts: Facts) -> None:
        self.version += 1
        for author in self._changed.authors:
            self._note_low(facts, author)
        self._changed.authors.clear()
        for comment in self._changed.posts:
            self._take_over(facts, comment)
        self._changed.posts.clear()

    def _note_low(self, facts: Facts, author: str) -> None:
        """All posts of an author change with his standing."""
        low = is_low(facts.reputation(self._state, author))
        if low != (author in self._low):
            (self._low.add if low else self._low.discard)(author)
            self._changed.posts |= self._by_author.get(author, set())

    def _take_over(self, facts: Facts, comment: int) -> None:
        old, new = self._ranked.get(comment), self._made(facts, comment)
        if old == new:
            return
        if old is not None:
            self._leave(old)
        if new is not None:
            self._enter(new)
        scopes = dict.fromkeys((old.scopes if old else ()) + (new.scopes if new else ()))
        for scope in scopes:
            for ranked_list in self._lists_of.get(scope, {}).values():
                ranked_list.changed.add(comment)

    def _leave(self, post: Ranked) -> None:
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

    def _enter(self, post: Ranked) -> None:
        self._ranked[post.comment] = post
        for scope in post.scopes:
            self._members.setdefault((scope, post.is_unpaid), set()).add(post.comment)
        if post.is_unpaid:
            self._by_author.setdefault(post.author, set()).add(post.comment)

    def _made(self, facts: Facts, comment: int) -> Ranked | None:
        """A post as it is now; None when it is gone."""
        row, post = self._state.comments.get(comment), self._posts.by_comment.get(comment)
        if row is None or post is None or post.is_deleted:
            return None
        state = self._state
        rshares = rshares_of(state, row)
        at = payout_time(state, row)
        paid = at == TIME_MAX
        is_gray = post.is_muted if post.community else row.author in self._low
        return Ranked(
            comment=comment,
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
            trend=trend(rshares, row.created),
            hot=hot(rshares, row.created),
            scopes=scopes_of(state, row, post),
        )


def scopes_of(state: State, comment: Comment, post: SocialPost) -> tuple[str, ...]:
    """The scopes that a post is in: everything, its community, its tags; a reply has its category only."""
    scopes = [EVERYTHING]
    if post.community:
        scopes += [COMMUNITIES, community_scope(post.community)]
    if post.is_reply:
        scopes += [comment.category] if comment.category else []
    else:
        content = state.comment_contents.by_comment.get(comment.id)
        scopes += post_tags(comment.category, "" if content is None else content.json_metadata)
    return tuple(dict.fromkeys(scopes))


# ------------------------------------------------------------------ orders


class Order(Struct, frozen=True):
    """An order of posts. `in_payouts` says that the key is what posts earn, whose worth decides."""

    name: str
    key: Key
    only_unpaid: bool = False
    in_payouts: bool = False
    by_due: bool = False

    def bound(self, scope: str, bucket: int) -> Callable[[Ranked], float | None]:
        """The key of one list; of one by due time, for the payouts of one stretch of time."""
        key = self.key
        if self.by_due:
            return lambda post: key(post, scope) if post.payout_at // DUE_SECONDS == bucket else None
        return lambda post: key(post, scope)


def _tagged(post: Ranked, scope: str) -> bool:
    """Whether a post has the tag; replies have none."""
    return scope == EVERYTHING or not post.is_reply


def _of_category(post: Ranked, scope: str) -> bool:
    return scope in (EVERYTHING, post.category)


def _is_visible_root(post: Ranked) -> bool:
    return not post.is_reply and not post.is_muted


TAG_ORDERS = {
    order.name: order
    for order in (
        Order("trending", lambda p, scope: p.trend if p.is_unpaid and not p.is_reply else None, only_unpaid=True),
        Order("hot", lambda p, scope: p.hot if p.is_unpaid and not p.is_reply else None, only_unpaid=True),
        Order("created", lambda p, scope: p.comment if not p.is_reply else None),
        Order("promoted", lambda p, s: p.promoted if p.is_unpaid and p.promoted > 0 and _tagged(p, s) else None, only_unpaid=True),
        Order(
            "payout",
            lambda p, scope: p.earning if p.is_unpaid and _of_category(p, scope) else None,
            only_unpaid=True,
            in_payouts=True,
            by_due=True,
        ),
        Order(
            "payout_comments",
            lambda p, scope: p.earning if p.is_unpaid and p.is_reply and _of_category(p, scope) else None,
            only_unpaid=True,
            in_payouts=True,
        ),
        Order(
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
        Order("trending", lambda p, scope: p.trend if _is_visible_root(p) else None),
        Order("hot", lambda p, scope: p.hot if _is_visible_root(p) else None),
        Order("created", lambda p, scope: p.created if _is_visible_root(p) else None),
        Order(
            "promoted",
            lambda p, scope: p.promoted if p.is_unpaid and p.promoted > 0 and _is_visible_root(p) else None,
            only_unpaid=True,
        ),
        Order(
            "payout",
            lambda p, scope: p.earning if p.is_unpaid and not p.is_muted else None,
            only_unpaid=True,
            in_payouts=True,
            by_due=True,
        ),
        Order("muted", lambda p, scope: p.earning if p.is_unpaid and p.is_muted else None, only_unpaid=True, in_payouts=True),
    )
}
