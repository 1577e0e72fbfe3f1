"""Reads of communities with their pending payouts and ranks, and reads of roles and subscribers. Source: social.md §2.7, §3.5-§3.8."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from heapq import nsmallest
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct

from state.effects.voting import payable_reward_pool
from state.plugins.social.community_payloads import ADMIN, GUEST, MOD
from state.plugins.social.index import Social
from state.plugins.social.root_posts import community_of
from state.plugins.social.rows import Community, Role, Subscription
from state.protocol.constants import DAY_SECONDS
from state.protocol.values.asset import SBD_UNIT
from state.tables import State

POPULAR_SECONDS = 30 * DAY_SECONDS
SUBSCRIBERS_MAX = 250
TEAM_MAX = 1000
ADMINS_MAX = 1000
COUNTED_CHUNK = 5000  # posts per step of an incremental count
PAYOUT_ROWS_MAX = 250
LATE_COUNTS_MAX = 2  # maximum number of consecutive incremental counts that are out of date when they end


class PayoutTotals(Struct):
    """Pending payouts in a community, or of an author outside communities: sum in SBD, number of posts, number of authors."""

    payout: int = 0
    posts: int = 0
    authors: int = 0

    @property
    def rounded(self) -> int:
        """The sum in whole SBD, rounded half up."""
        return (self.payout + SBD_UNIT // 2) // SBD_UNIT


class PayoutTotalsIndex(Struct):
    """Payout totals of each community, and of each author outside communities.

    `largest` contains the PAYOUT_ROWS_MAX authors with the largest sums, largest first, each as (negated sum, name with @, posts). `total`
    is the sum over communities and authors, `blogs` the sum over authors only.
    """

    communities: dict[str, PayoutTotals]
    authors: dict[str, PayoutTotals]
    largest: list[tuple[int, str, int]] = []
    total: int = 0
    blogs: int = 0


class CommunityRank(Struct):
    """A community with its payout totals and its rank, from 1."""

    row: Community
    figure: PayoutTotals
    rank: int


def figures(state: State, kept: Social) -> PayoutTotalsIndex:
    """Return the current payout totals. They are recomputed only if posts, the reward fund or the price have changed."""
    key = counted_from(state, kept)
    if kept.counted is None or kept.counted[0] != key:
        # If posts change all the time, each incremental count is out of date when it ends. After LATE_COUNTS_MAX of them, count without
        # interruption.
        if kept.late_counts < LATE_COUNTS_MAX:
            state.journal.read_mode.raise_if_large(len(kept.view.unpaid()), lambda: count_some(state, kept))
        kept.counted = key, counted(state, kept)
    kept.counting, kept.late_counts = None, 0
    found: PayoutTotalsIndex = kept.counted[1]
    return found


def counted_from(state: State, kept: Social) -> tuple[Any, ...]:
    """Return a value that changes whenever the totals can change: the version of the view of posts, and the reward fund with the price."""
    # Its version changes when the view is refreshed.
    kept.view.refresh()
    return kept.view.version, payable_reward_pool(state)


def count_some(state: State, kept: Social) -> bool:
    """Start an incremental computation of payout totals, or do its next step. Return whether more steps remain."""
    if kept.counting is None:
        key = counted_from(state, kept)
        if kept.counted is not None and kept.counted[0] == key:
            return False  # another read has counted in the meantime
        kept.counting = key, counting(state, kept)
    key, steps = kept.counting
    try:
        next(steps)
    except StopIteration as end:
        kept.counted, kept.counting = (key, end.value), None
        kept.late_counts += 1
        return False
    return True


def counted(state: State, kept: Social) -> PayoutTotalsIndex:
    """Compute the payout totals of all unpaid posts and replies without interruption."""
    steps = counting(state, kept)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: PayoutTotalsIndex = end.value
            return found


def counting(state: State, kept: Social) -> Generator[None, None, PayoutTotalsIndex]:
    """Compute the payout totals of all posts and replies that are unpaid now. Yield after each step.

    The state can change between steps. Then the result is not used, since its key has changed (`figures`).
    """
    worth, earning = kept.facts.worth(state), kept.facts.earning
    unpaid = kept.view.unpaid()
    comments = list(unpaid)
    found = PayoutTotalsIndex({}, {})
    authors: set[tuple[str, str]] = set()
    for first in range(0, len(comments), COUNTED_CHUNK):
        yield
        for comment in comments[first : first + COUNTED_CHUNK]:
            row, place = state.comments.peek(comment), unpaid.get(comment)
            if row is None or place is None:
                continue
            author, community = place[0], community_of(place[1])
            figures, name = (found.communities, community) if community else (found.authors, author)
            figure = figures.get(name)
            if figure is None:
                figure = figures[name] = PayoutTotals()
            figure.payout += row.total_payout_value + row.curator_payout_value + worth(earning(state, row))
            figure.posts += 1
            if (community, author) not in authors:
                authors.add((community, author))
                figure.authors += 1
    yield from add_up(found)
    return found


def add_up(found: PayoutTotalsIndex) -> Generator[None, None, None]:
    """Compute the sums over all totals, and the authors with the largest ones. Yield after each step."""
    every = iter(found.authors.items())
    while some := list(islice(every, COUNTED_CHUNK)):
        yield
        found.blogs += sum([one.payout for _, one in some])
        # There can be far more authors than PAYOUT_ROWS_MAX.
        found.largest = nsmallest(PAYOUT_ROWS_MAX, found.largest + [(-one.payout, f"@{name}", one.posts) for name, one in some])
    found.total = found.blogs + sum([one.payout for one in found.communities.values()])


def standings(state: State, kept: Social) -> list[CommunityRank]:
    """Return all communities, ordered by rank."""
    counted = figures(state, kept).communities
    ordered = sorted(((row, counted.get(row.name, PayoutTotals())) for row in kept.communities), key=lambda pair: standing_key(*pair))
    return [CommunityRank(row, figure, rank) for rank, (row, figure) in enumerate(ordered, 1)]


def standing_key(row: Community, figure: PayoutTotals) -> tuple[int, int, int, int, bool, int]:
    """Return the sort key of a community's rank: rounded payouts, authors, posts, subscribers, whether it has a title, and age."""
    return -figure.rounded, -figure.authors, -figure.posts, -row.subscribers, not row.title, row.account


# ------------------------------------------------------------------ roles and subscriptions


def roles(kept: Social, community: str) -> Iterator[Role]:
    """Yield all roles other than guest, ordered by role and name."""
    return (row for row in kept.roles.by_rank.equal(community) if row.role != GUEST)


def roles_after(kept: Social, community: str, last: Role | None) -> Iterator[Role]:
    """Yield the roles after the role `last`, ordered by role and name. If `last` is None, yield all roles."""
    if last is None:
        return roles(kept, community)
    rows = kept.roles.by_rank.after(community, last.role, last.account)
    return (row for row in takewhile(lambda row: row.community == community, rows) if row.role != GUEST)


def team(kept: Social, community: str) -> list[Role]:
    """Return the roles of mods, admins and the owner, ordered by role and name."""
    return list(islice(takewhile(lambda row: row.role >= MOD, kept.roles.by_rank.equal(community)), TEAM_MAX))


def admins(kept: Social, community: str) -> list[str]:
    """Return the admins of a community, ordered by name."""
    return [row.account for row in islice(kept.roles.by_rank.equal(community, ADMIN), ADMINS_MAX)]


def titles(kept: Social, community: str, last: str) -> Iterator[Role]:
    """Yield the roles that have a title in a community, ordered by account name, from the first one after `last`."""
    rows = takewhile(lambda row: row.community == community, kept.roles.by_name.after(community, last))
    return (row for row in rows if row.title)


def subscribers(kept: Social, community: str, last: str) -> Iterator[Subscription]:
    """Yield at most 250 subscribers of a community, newest first. If `last` is given, start after that account."""
    rows: Iterable[Subscription] = islice(kept.subscriptions.by_community.equal(community), SUBSCRIBERS_MAX)
    row = kept.subscriptions.by_pair.get(community, last) if last else None
    return (one for one in rows if row is None or one.id < row.id)


def subscriptions(state: State, kept: Social, account: str) -> list[Community]:
    """Return the communities to which an account subscribes, ordered by its role there, then by rank."""
    mine = {row.community for row in kept.subscriptions.by_account.equal(account)}
    ranked = [standing.row for standing in standings(state, kept) if standing.row.name in mine]
    return sorted(ranked, key=lambda row: -kept.role(row.name, account))


def popular(state: State, kept: Social, limit: int) -> list[Community]:
    """Return the communities with the most new subscribers within a month."""
    since = state.head_time - POPULAR_SECONDS
    rows = takewhile(lambda row: row.created > since, kept.subscriptions.by_created)
    counts = Counter(row.community for row in rows)
    found = [(-count, row.account, row) for name, count in counts.items() if (row := kept.community(name)) is not None]
    return [row for _, _, row in sorted(found, key=lambda entry: entry[:2])[:limit]]


# ------------------------------------------------------------------ lists of communities


def community_list(state: State, kept: Social, sort: str, query: str, last: Community | None) -> Iterator[CommunityRank]:
    """Yield the communities that contain all words of a query, starting after `last`.

    The order is by rank, age (`new`) or number of subscribers (`subs`).
    """
    found = standings(state, kept)
    if sort == "new":
        found.sort(key=lambda one: (-one.row.created, one.row.account))
    elif sort == "subs":
        found.sort(key=lambda one: (-one.row.subscribers, one.row.account))
    place = 0 if last is None else next((i for i, one in enumerate(found, 1) if one.row is last), len(found))
    words = query.lower().split()
    return (one for one in found[place:] if has_words(one.row, words))


def has_words(row: Community, words: list[str]) -> bool:
    """Whether a community's title and `about` contain all of these words."""
    if not words:
        return True
    text = f"{row.title} {row.about}".lower()
    return all(word in text for word in words)


class PayoutRow(Struct):
    """Pending payouts of a community, or of an author outside communities (`authors` is None)."""

    url: str
    label: str
    payout: int
    posts: int
    authors: int | None


class PayoutRows(Struct):
    """The rows with the largest payouts, and two sums of payouts: over all rows, and over the rows of authors."""

    largest: list[PayoutRow]
    total: int
    blogs: int


def payout_rows(state: State, kept: Social, most: int) -> PayoutRows:
    """Return the rows of the `most` (up to PAYOUT_ROWS_MAX) communities and authors with the largest payouts, largest first."""
    found = figures(state, kept)
    rows = [PayoutRow(url, url, -payout, posts, None) for payout, url, posts in found.largest]
    for name, one in found.communities.items():
        community = kept.community(name)
        assert community is not None, "communities stay"
        rows.append(PayoutRow(name, community.title or name, one.payout, one.posts, one.authors))
    return PayoutRows(sorted(rows, key=lambda row: (-row.payout, row.url))[:most], found.total, found.blogs)
