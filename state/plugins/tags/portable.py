"""Portable rows of the plugin `tags`: totals of tags, tags of authors, and the comments that have entries.

The tags of a comment are derived from its metadata, and the values of its entries from its row.
"""

from state.effects.comments import find_comment
from state.plugins.plugin import ranged
from state.plugins.tags import rows
from state.plugins.tags.index import Tags, parent_id, rest_of, shown
from state.plugins.tags.metadata import stored, wanted_tags
from state.plugins.tags.view import TagStats
from state.portable import Batch, Portable, declare
from state.portable.exports import exported_rows
from state.protocol.constants import TIME_MAX
from state.protocol.values.integers import INT64_MAX, INT64_MIN, UINT128_MAX, WORD32
from state.store import Row
from state.store.rows import shared
from state.tables import State
from state.tables.content import Comment


class TaggedRow(Row):
    """The portable row of a comment that has entries, with the amount paid to promote it, in SBD."""

    author: str = ""
    permlink: str = ""
    promoted: int = 0


class AuthorTagRow(Row):
    """The portable row of the number of an author's comments with a tag."""

    author: str = ""
    tag: str = ""
    total_posts: int = 0


TAGGED = declare("tags/tagged", Portable(row=TaggedRow, key=("author", "permlink")))
AUTHORS = declare("tags/authors", Portable(row=AuthorTagRow, key=("author", "tag")))
TOTALS = declare("tags/totals", Portable(row=TagStats, key=("tag",)))


def import_rows(state: State, kept: Tags, batch: Batch) -> None:
    """Add the entries of the comments of the batch, and the given totals and counts.

    Without rows of comments that have entries, each unpaid comment has entries. Counts of an author that aren't given are those of the
    author's comments in the batch. Totals of a tag that aren't given are those of the entries.
    """
    comments = [comment for values in batch.get("comments", ()) if (comment := find_comment(state, values["author"], values["permlink"]))]
    given = {(values["author"], values["permlink"]): values.get("promoted", 0) for values in batch.get("tags/tagged", ())}
    known = "tags/tagged" in batch
    counted = import_authors(state, kept, batch, {comment.author for comment in comments})
    ranged(given.values(), 0, INT64_MAX)
    before = totals(kept) if comments else {}
    fresh: list[rows.Tagged] = []
    counts: dict[str, list[str]] = {}
    for comment in sorted(comments, key=lambda comment: comment.id):
        if kept.tagged.by_comment.get(comment.id) is not None:
            continue
        place = comment.author, comment.permlink
        tags = tags_of(state, comment)
        if tags and comment.author not in counted:
            counts.setdefault(comment.author, []).extend(map(stored, tags))
        if tags and (place in given if known else comment.cashout_time != TIME_MAX):
            fresh.append(add_entries(state, kept, comment, tags, given.get(place, 0)))
    for author, written in counts.items():
        kept.authors.count(state.account(author).id, written, 1)
    import_totals(kept, batch, before, fresh)


def tags_of(state: State, comment: Comment) -> tuple[str, ...]:
    """Return the tags of a comment that comes in, without metadata none.

    The votes when it was last written decide on the universal tag. At first they are 0, and few comments are edited after votes against
    them.
    """
    content = state.comment_contents.by_comment.get(comment.id)
    if content is None or not content.json_metadata:
        return ()
    tags = wanted_tags(state, comment)
    return tags if comment.net_rshares >= 0 or comment.last_update != comment.created else ("", *tags)


def add_entries(state: State, kept: Tags, comment: Comment, tags: tuple[str, ...], promoted: int) -> rows.Tagged:
    """Add the entries of a comment under the next numbers."""
    counter = kept.counters.find(0)
    first = counter.following
    kept.counters.modify(counter, following=first + len(tags))
    names = shared(tuple([rest_of(kept, stored(tag)).tag for tag in tags]))
    row = rows.Tagged(
        comment=comment.id, parent=parent_id(state, comment), created=comment.created, tags=names, first=first, **shown(comment)
    )
    if promoted:
        row.numbered = tuple([(number, promoted) for number in range(first, first + len(names))])
    kept.dirty.add(comment.id)
    return kept.tagged.insert(row)


def import_authors(state: State, kept: Tags, batch: Batch, authors: set[str]) -> set[str]:
    """Add the counts of authors that have none. Return those of `authors` whose counts were given, now or before."""
    uses = batch.get("tags/authors", ())
    given = {values["author"] for values in uses}
    accounts = {name: account.id for name in given | authors if (account := state.accounts.by_name.get(name)) is not None}
    known = {name for name, account in accounts.items() if kept.authors.of(account)}
    for values in uses:
        row = AuthorTagRow(**values)
        ranged((row.total_posts,), 0, WORD32 - 1)
        if row.author in accounts and row.author not in known:
            kept.authors.count(accounts[row.author], (row.tag,), row.total_posts)
    return given | known


def import_totals(kept: Tags, batch: Batch, before: dict[str, rows.Contribution], fresh: list[rows.Tagged]) -> None:
    """Set the given totals of tags. Other totals don't change if they can include the new entries, because they were given before."""
    live: dict[str, rows.Contribution] = {}
    for row in fresh:
        counted = rows.contribution_of(row)
        for tag in row.tags:
            live[tag] = rows.added(live.get(tag, rows.NOTHING), counted)
    for tag, counted in live.items():
        if all(total >= part for total, part in zip(before.get(tag, rows.NOTHING)[1:], counted[1:], strict=True)):
            add_beyond(kept, rest_of(kept, tag), rows.less(rows.NOTHING, counted))
    for values in batch.get("tags/totals", ()):
        total = TagStats(**values)
        ranged((total.net_votes, total.total_payout), INT64_MIN, INT64_MAX)
        ranged((total.top_posts, total.comments), 0, WORD32 - 1)
        ranged((total.total_trending,), 0, UINT128_MAX)
        rest = rest_of(kept, total.tag)
        kept.rests.modify(rest, total_payout=total.total_payout)
        add_beyond(kept, rest, rows.less(sums_of(total), sums_of(kept.view.totals(rest))))


def add_beyond(kept: Tags, rest: rows.TagRest, change: rows.Contribution) -> None:
    """Add to the totals of a tag what its entries don't contain."""
    kept.rests.modify(rest, beyond=rows.added(rest.beyond, change))
    kept.dirty_totals.add(rest.id)


def totals(kept: Tags) -> dict[str, rows.Contribution]:
    """Return the current totals of all tags."""
    return {stats.tag: sums_of(stats) for stats in kept.view.all_totals()}


def sums_of(stats: TagStats) -> rows.Contribution:
    """Return the sums over the entries of a tag, present and removed."""
    return stats.net_votes, stats.top_posts, stats.comments, stats.total_trending


def export_rows(state: State, kept: Tags) -> Batch:
    """Return the portable rows of the plugin's data."""
    tagged = []
    for row in kept.tagged:
        comment = state.comments.find(row.comment)
        tagged.append(TaggedRow(author=comment.author, permlink=comment.permlink, promoted=row.places[0][2]))
    authors = [
        AuthorTagRow(author=state.accounts.find(author).name, tag=tag, total_posts=count)
        for author, counts in kept.authors
        for tag, count in counts.items()
    ]
    return {
        "tags/tagged": exported_rows(state, tagged, TAGGED),
        "tags/authors": exported_rows(state, authors, AUTHORS),
        "tags/totals": exported_rows(state, kept.view.all_totals(), TOTALS),
    }
