"""What the tags plugin keeps in the journal: comments with their tags, and what tags count beyond them. No rule is here but the scores.

A comment has one row with what all its tags show of it, as it was when the tags were last updated: the reference has a row
for each tag. Source: block-processing.md §7.6; rpc-api.md §6.5.2.
"""

from math import log10
from typing import Any

from state.effects.mana import truncated
from state.protocol.constants import TIME_MAX
from state.store import Journal, Ordered, Row, Table, Unique

SCORE_UNIT = 10_000_000  # rshares
HOT_SECONDS, TRENDING_SECONDS = 10_000, 480_000
WORD32 = 2**32

Place = tuple[str, int, int]  # A tag, the number of its entry, and what was paid to promote it, in SBD.
Contribution = tuple[int, int, int, int]  # What an entry adds to its tag: net votes, root posts, replies, whole trending score.
NOTHING: Contribution = (0, 0, 0, 0)


class Tagged(Row):
    """A comment that has tags; `parent` is the id of the comment that it replies to, 0 for a post. `tags` is in the order of numbers."""

    comment: int = 0
    parent: int = 0
    created: int = 0
    active: int = 0
    cashout: int = TIME_MAX
    children: int = 0
    net_rshares: int = 0
    net_votes: int = 0
    tags: tuple[Place, ...] = ()


class TaggedComments(Table[Tagged]):
    """All comments that have tags."""

    by_comment = Unique("comment")


class TagRest(Row):
    """A tag that was ever used, with what it counts beyond the entries that it has: those that edits and deletions have taken
    away, and all payouts, in SBD."""

    tag: str = ""
    total_payout: int = 0
    beyond: Contribution = NOTHING


class TagRests(Table[TagRest]):
    """All tags that were ever used."""

    by_tag = Unique("tag")


class AuthorTag(Row):
    """How often an author has used a tag."""

    author: str = ""
    tag: str = ""
    total_posts: int = 0


class AuthorTags(Table[AuthorTag]):
    """All tags of all authors."""

    by_pair = Unique("author", "tag")
    by_author = Ordered("author", "-total_posts", "tag", lazy=True)


class TagCounter(Row):
    """The number that the next entry gets; one row."""

    following: int = 0


class TagCounters(Table[TagCounter]):
    """The one counter."""


class StaleRoot(Row):
    """A discussion, by its root's id, in which a comment may show what it no longer is until something below it changes."""

    root: int = 0


class StaleRoots(Table[StaleRoot]):
    """Such discussions; at most as many as there are with deleted replies."""

    by_root = Unique("root")


class Notes:
    """Which comments and tags have changed since somebody looked; an undone change is one as well."""

    def __init__(self, journal: Journal) -> None:
        self.comments: set[int] = set()
        self.tags: set[str] = set()
        self._record = journal.record

    def comment(self, comment: int) -> None:
        """A comment's row has changed."""
        self.comments.add(comment)
        self._record((again, self.comments, comment))

    def tag(self, tag: str) -> None:
        """A tag's row has changed."""
        self.tags.add(tag)
        self._record((again, self.tags, tag))


def again(notes: set[Any], what: Any) -> None:
    """The undoing of a change."""
    notes.add(what)


# ------------------------------------------------------------------ scores


def score(net_rshares: int, created: int, seconds: int) -> float:
    """The order of magnitude of the votes, and the age: ten times the votes weigh as much as so many seconds."""
    units = truncated(net_rshares, SCORE_UNIT)
    order = log10(max(abs(units), 1))
    return (order if units > 0 else -order) + created / seconds


def hot(net_rshares: int, created: int) -> float:
    """The score by which posts are hot."""
    return score(net_rshares, created, HOT_SECONDS)


def trending(net_rshares: int, created: int) -> float:
    """The score by which posts are trending."""
    return score(net_rshares, created, TRENDING_SECONDS)


def contribution_of(row: Tagged) -> Contribution:
    """What each entry of a comment adds to its tag. A negative score counts nothing."""
    whole = max(int(trending(row.net_rshares, row.created)), 0) % WORD32
    is_post = row.parent == 0
    return row.net_votes, int(is_post), int(not is_post), whole


def added(some: Contribution, more: Contribution) -> Contribution:
    """Both together."""
    return some[0] + more[0], some[1] + more[1], some[2] + more[2], some[3] + more[3]


def less(some: Contribution, other: Contribution) -> Contribution:
    """One without the other."""
    return some[0] - other[0], some[1] - other[1], some[2] - other[2], some[3] - other[3]
