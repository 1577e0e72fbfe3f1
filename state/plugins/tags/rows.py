"""The tables of the plugin `tags` (tagged comments, additional totals of tags), and the scores.

A comment has one row, with the values of all its entries at their last update. The reference has a row per tag. Here view.py reads the
values of the entries from this row. Source: block-processing.md §7.6; rpc-api.md §6.5.2.
"""

from collections.abc import Sequence
from math import log10
from typing import Any

from state.effects.mana import truncated
from state.protocol.constants import TIME_MAX
from state.protocol.values.integers import WORD32
from state.store import Ordered, Row, Setter, Table, Unique

SCORE_UNIT = 10_000_000  # rshares
HOT_SECONDS, TRENDING_SECONDS = 10_000, 480_000

Place = tuple[str, int, int]
"""A tag of a comment, the number of its entry, and the amount paid to promote it, in SBD."""
Contribution = tuple[int, int, int, int]
"""Summands of an entry for the sums of its tag: net votes, root posts, replies, the integer part of its trending score."""
NOTHING: Contribution = (0, 0, 0, 0)


class Tagged(Row):
    """A comment with its tags, in the order of the tags' numbers. `parent` is the id of the comment that it replies to, 0 for a post.

    `numbered` contains the number of the entry and the promotion for each tag. It is empty for nearly all comments, whose numbers are
    consecutive from `first`, without promotion. A tuple per tag would take 200 more bytes per comment.
    """

    comment: int = 0
    parent: int = 0
    created: int = 0
    active: int = 0
    cashout: int = TIME_MAX
    children: int = 0
    net_rshares: int = 0
    net_votes: int = 0
    tags: tuple[str, ...] = ()
    first: int = 0
    numbered: tuple[tuple[int, int], ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """The tags of the comment, each with the number of its entry and the amount of its promotion."""
        if self.numbered:
            return tuple([(tag, number, paid) for tag, (number, paid) in zip(self.tags, self.numbered, strict=True)])
        return tuple([(tag, number, 0) for number, tag in enumerate(self.tags, self.first)])


def fields_of(places: Sequence[Place]) -> dict[str, Any]:
    """Return the values of the row fields that encode these tags with their entry numbers and promotions."""
    first = places[0][1]
    is_plain = all(number == following and not paid for following, (_, number, paid) in enumerate(places, first))
    numbered = () if is_plain else tuple([(number, paid) for _, number, paid in places])
    return {"tags": tuple([tag for tag, _, _ in places]), "first": first, "numbered": numbered}


class TaggedComments(Table[Tagged]):
    """All comments with tags."""

    by_comment = Unique("comment")
    by_parent = Ordered("parent", lazy=True)
    set_shown = Setter("net_rshares", "net_votes", "children", "active", "cashout")


class TagRest(Row):
    """Additional totals of a tag that is or was used: its payouts in SBD, and in `beyond` the last values of removed entries.

    The reference adds up the totals of a tag entry by entry, but doesn't subtract an entry that an edit or a deletion removes.
    """

    tag: str = ""
    total_payout: int = 0
    beyond: Contribution = NOTHING


class TagRests(Table[TagRest]):
    """Additional totals of all tags that are or were used."""

    by_tag = Unique("tag")
    by_name = Ordered("tag", lazy=True)
    set_total_payout = Setter("total_payout")


class TagCounter(Row):
    """The number that the next entry gets."""

    following: int = 0


class TagCounters(Table[TagCounter]):
    """Table of one row, the counter."""

    set_following = Setter("following")


class StaleRoot(Row):
    """A discussion, by the id of its root, with entries that can be out of date.

    An entry stays out of date until a comment below its comment is updated.
    """

    root: int = 0


class StaleRoots(Table[StaleRoot]):
    """All stale discussions: those with deleted replies or with edits after the payout, and all discussions from before hardfork 17."""

    by_root = Unique("root")


def score(net_rshares: int, created: int, seconds: int) -> float:
    """Return the base-10 logarithm of the votes plus the time in units of `seconds`. Ten times the votes count as much as `seconds` of
    time.
    """
    units = truncated(net_rshares, SCORE_UNIT)
    order = log10(max(abs(units), 1))
    return (order if units > 0 else -order) + created / seconds


def hot(net_rshares: int, created: int) -> float:
    """Return the score of the order `hot`."""
    return score(net_rshares, created, HOT_SECONDS)


def trending(net_rshares: int, created: int) -> float:
    """Return the score of the order `trending`."""
    return score(net_rshares, created, TRENDING_SECONDS)


def contribution_of(row: Tagged) -> Contribution:
    """Return the amounts that each entry of a comment adds to the totals of its tag.

    The reference converts the score to 32 bits. In C the conversion of a negative score is undefined; here its result is 0.
    """
    whole = max(int(trending(row.net_rshares, row.created)), 0) % WORD32
    is_post = row.parent == 0
    return row.net_votes, int(is_post), int(not is_post), whole


def added(some: Contribution, more: Contribution) -> Contribution:
    """Return the sum of two contributions."""
    return some[0] + more[0], some[1] + more[1], some[2] + more[2], some[3] + more[3]


def less(some: Contribution, other: Contribution) -> Contribution:
    """Return the difference of two contributions."""
    return some[0] - other[0], some[1] - other[1], some[2] - other[2], some[3] - other[3]
