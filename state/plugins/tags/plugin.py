"""The plugin `tags`: the tags of comments, from which lists of discussions are made. Nothing here ever refuses an operation.

An entry shows a comment as it was when it was last updated: written, voted on or paid, or something below it. In between the
comment may have changed; `get_discussions_by_*` of the reference shows the old values then, and so does this plugin.
Source: block-processing.md §7.6; rpc-api.md §6.5.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from state.effects.comments import find_comment
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.plugins.plugin import Plugin, bound
from state.plugins.tags.metadata import stored, wanted_tags
from state.plugins.tags.rows import (
    Notes,
    Place,
    StaleRoot,
    StaleRoots,
    TagCounter,
    TagCounters,
    Tagged,
    TaggedComments,
    TagRest,
    TagRests,
    added,
    contribution_of,
    fields_of,
)
from state.plugins.tags.uses import Uses, UsesPart
from state.plugins.tags.view import View
from state.protocol.constants import COIN_NULL_ACCOUNT, TIME_MAX
from state.protocol.values.asset import SBD
from state.protocol.virtual import CommentPayoutUpdate, CommentReward, Hardfork
from state.store import Noted, Table
from state.store.parts import Part, tables
from state.store.rows import shared
from state.tables import State
from state.tables.content import Comment as CommentRow

# All orders take some 5,000 bytes of a comment with three entries; they are made ahead for so many comments.
AHEAD_COMMENTS_MAX = 100_000


class Tags:
    """The plugin's data: its tables, and the view of them in which lists are read."""

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.tagged = TaggedComments(journal)
        self.rests = TagRests(journal)
        self.authors = Uses(journal)
        self.counters = TagCounters(journal)
        self.counters.insert(TagCounter())
        self.stale = StaleRoots(journal)
        self.notes = Notes(journal, Noted(journal, lambda: state.comments.next_id))
        self.view = View(self.tagged, self.rests, self.notes, journal.reads)


def install(state: State) -> Tags:
    """Make the tables and listen."""
    kept = Tags(state)
    on = state.listeners.on_operation
    on(bound(forget_deleted, kept), DeleteComment, after=False)
    on(bound(on_comment, kept), Comment)
    on(bound(on_vote, kept), Vote)
    on(bound(on_payout, kept), CommentPayoutUpdate)
    on(bound(on_reward, kept), CommentReward)
    on(bound(promote, kept), Transfer)
    on(bound(on_hardfork, kept), Hardfork)
    return kept


# ------------------------------------------------------------------ listeners


def on_comment(state: State, kept: Tags, operation: Comment) -> None:
    """After a comment was written or edited: give it the tags of its metadata. Without metadata in the operation the tags stay."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    if operation.json_metadata:
        retag(state, kept, comment)
        update_above(state, kept, comment)
    else:
        update(state, kept, comment)


def on_vote(state: State, kept: Tags, operation: Vote) -> None:
    """After a vote: show the comment as it is now, and where that may matter all above it.

    The reference updates all above on every vote. What they show is up to date as a rule, so nothing would change there; the
    exceptions are below hardfork 17, where a vote moves the payout of the whole discussion, and the stale discussions.
    """
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    refresh(state, kept, comment)
    if comment.parent_author and (state.hardfork < 17 or kept.stale.by_root.get(comment.root_comment) is not None):
        update_above(state, kept, comment)


def on_payout(state: State, kept: Tags, operation: CommentPayoutUpdate) -> None:
    """After the payout of a comment: it leaves its tags."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is not None:
        update(state, kept, comment)


def on_reward(state: State, kept: Tags, operation: CommentReward) -> None:
    """After a comment was paid: add the payout to the tags that its metadata names now, which needn't be the ones it has."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    update(state, kept, comment)
    for tag in wanted_tags(state, comment):
        rest = rest_of(kept, stored(tag))
        kept.rests.modify(rest, total_payout=rest.total_payout + operation.payout.amount)
        kept.notes.tag(rest.tag)


def promote(state: State, kept: Tags, operation: Transfer) -> None:
    """After a transfer: SBD sent to `null` with a post as memo (`@author/permlink`) promotes the post, until it is paid."""
    if operation.to != COIN_NULL_ACCOUNT or operation.amount.symbol != SBD:
        return
    parts = operation.memo.split("/")
    if len(parts) < 2 or not parts[0].startswith("@"):
        return
    comment = find_comment(state, parts[0][1:], parts[1])
    if comment is None or comment.parent_author:
        return
    row = kept.tagged.by_comment.get(comment.id)
    if row is not None and row.cashout != TIME_MAX:
        places = [(tag, number, paid + operation.amount.amount) for tag, number, paid in row.places]
        kept.tagged.modify(row, **fields_of(places))
        kept.notes.comment(comment.id)


def on_hardfork(state: State, kept: Tags, operation: Hardfork) -> None:
    """After hardfork 17, which moves the payout of every comment: no entry shows the new time yet."""
    if operation.hardfork_id == 17:
        for row in kept.tagged:
            note_stale(kept, state.comments.find(row.comment))


def forget_deleted(state: State, kept: Tags, operation: DeleteComment) -> None:
    """Before a comment is deleted: remove its entries. The sums of its tags still count it, as on the reference."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    row = kept.tagged.by_comment.get(comment.id)
    if row is not None:
        count_beyond(kept, row, row.places)
        drop(kept, row)
    if comment.parent_author:
        # Its parent has one child fewer, and shows it only with its next update.
        note_stale(kept, comment)


# ------------------------------------------------------------------ rules


def update(state: State, kept: Tags, comment: CommentRow) -> None:
    """Bring the entries of a comment, and of all above it, up to date."""
    refresh(state, kept, comment)
    update_above(state, kept, comment)


def update_above(state: State, kept: Tags, comment: CommentRow) -> None:
    """Bring the entries of all comments above a comment up to date."""
    above: CommentRow | None = comment
    while above is not None and above.parent_author:
        above = find_comment(state, above.parent_author, above.parent_permlink)
        if above is not None:
            refresh(state, kept, above)


def refresh(state: State, kept: Tags, comment: CommentRow) -> None:
    """Bring the entries of a comment up to date; remove them when it is paid."""
    row = kept.tagged.by_comment.get(comment.id)
    if row is None:
        return
    if comment.cashout_time == TIME_MAX:
        drop(kept, row)
    else:
        show(kept, row, comment)


def note_stale(kept: Tags, comment: CommentRow) -> None:
    """Mark a discussion as stale: entries in it may be out of date, and the next vote has to update all above its comment.

    The mark is never taken back: it only costs the walk upwards, which the reference does for every vote.
    """
    if kept.stale.by_root.get(comment.root_comment) is None:
        kept.stale.insert(StaleRoot(root=comment.root_comment))


def show(kept: Tags, row: Tagged, comment: CommentRow) -> None:
    """Copy the shown values of a comment that have changed to its row: mostly two of the five."""
    changes: dict[str, int] = {}
    if row.net_rshares != comment.net_rshares:
        changes["net_rshares"] = comment.net_rshares
    if row.net_votes != comment.net_votes:
        changes["net_votes"] = comment.net_votes
    if row.children != comment.children:
        changes["children"] = comment.children
    if row.active != comment.active:
        changes["active"] = comment.active
    if row.cashout != comment.cashout_time:
        changes["cashout"] = comment.cashout_time
    if changes:
        kept.tagged.modify(row, **changes)
        kept.notes.comment(comment.id)


def shown(comment: CommentRow) -> dict[str, Any]:
    """Return the values that the entries of a comment show."""
    return {
        "net_rshares": comment.net_rshares,
        "net_votes": comment.net_votes,
        "children": comment.children,
        "active": comment.active,
        # Before hardfork 17 a reply is paid with its root and has no time of its own, so its new entries come last in the order of payouts.
        "cashout": comment.cashout_time,
    }


def retag(state: State, kept: Tags, comment: CommentRow) -> None:
    """Give a comment the tags that its metadata names now.

    Entries under tags that are no longer named go, but the sums of these tags still count them: the reference corrects only the
    author's counts. Entries under tags that stay keep their number, by which ties are ordered, and their promotion. New ones
    get the next numbers, and no promotion.

    The reference does this to a paid comment as well, by its steps one after the other: it updates an entry that stays, which removes
    it, as the comment is paid; it creates a new one, which nothing removes until the next update. So an edit after the payout puts
    a comment back into lists, under its new tags only, and the discussion is stale until then.

    A tag that was cut when it was stored isn't found among the named ones: as on the reference, each edit removes its entry and makes
    a new one.
    """
    wanted = wanted_tags(state, comment)
    row = kept.tagged.by_comment.get(comment.id)
    if row is None:
        tag_first(state, kept, comment, wanted)
        return
    old = row.places
    stay = [place for place in old if place[0] in wanted]
    if comment.cashout_time == TIME_MAX:
        stay = []
        note_stale(kept, comment)
    gone = [place for place in old if place[0] not in wanted]
    known = {tag for tag, _, _ in old}
    fresh = [stored(tag) for tag in wanted if tag not in known]
    if gone:
        count_beyond(kept, row, gone)
        for tag, _, _ in gone:
            kept.authors.count(comment.author, tag, -1)
    places = tuple(stay)
    if fresh:
        first, tags = enter(kept, comment.author, fresh)
        places += tuple([(tag, number, 0) for number, tag in enumerate(tags, first)])
    if not places:
        drop(kept, row)
        return
    if places != old:
        kept.tagged.modify(row, **fields_of(places))
        kept.notes.comment(comment.id)
    show(kept, row, comment)


def tag_first(state: State, kept: Tags, comment: CommentRow, wanted: tuple[str, ...]) -> None:
    """Give a comment without entries those under its tags, if it has any."""
    if comment.cashout_time == TIME_MAX:
        note_stale(kept, comment)
    if wanted:
        first, tags = enter(kept, comment.author, [stored(tag) for tag in wanted])
        parent = parent_id(state, comment)
        kept.tagged.insert(Tagged(comment=comment.id, parent=parent, created=comment.created, tags=tags, first=first, **shown(comment)))
        kept.notes.comment(comment.id)


def enter(kept: Tags, author: str, wanted: list[str]) -> tuple[int, tuple[str, ...]]:
    """Count new entries of an author under these tags, and return the number of the first one, with the tags."""
    counter = kept.counters.find(0)
    first = counter.following
    kept.counters.modify(counter, following=first + len(wanted))
    # The text of the tag's own row: another one for each comment would take memory.
    tags = tuple([rest_of(kept, tag).tag for tag in wanted])
    for tag in tags:
        kept.authors.count(author, tag, 1)
    return first, shared(tags)


def drop(kept: Tags, row: Tagged) -> None:
    """Remove all entries of a comment."""
    kept.notes.comment(row.comment)
    kept.tagged.remove(row)


def count_beyond(kept: Tags, row: Tagged, places: Sequence[Place]) -> None:
    """Before entries are removed: let the sums of their tags count them for good, by the values that they showed last."""
    counted = contribution_of(row)
    for tag, _, _ in places:
        rest = rest_of(kept, tag)
        kept.rests.modify(rest, beyond=added(rest.beyond, counted))
        kept.notes.tag(tag)


def rest_of(kept: Tags, tag: str) -> TagRest:
    """Return the row of a tag, which is made at its first use."""
    row = kept.rests.by_tag.get(tag)
    if row is None:
        row = kept.rests.insert(TagRest(tag=tag))
        kept.notes.tag(tag)
    return row


def parent_id(state: State, comment: CommentRow) -> int:
    """Return the id of the parent of a comment, 0 for a root post.

    The first comment of a chain has the id 0 as well, so its replies pass for root posts in lists and sums, as on the reference.
    """
    if not comment.parent_author:
        return 0
    parent = find_comment(state, comment.parent_author, comment.parent_permlink)
    return 0 if parent is None else parent.id


def parts(state: State, kept: Tags) -> dict[str, Part]:
    """Return what a snapshot holds of the data."""
    return tables(kept, "tagged", "rests", "counters", "stale") | {"authors": UsesPart(kept.authors)}


def restored(kept: Tags) -> None:
    """Have the view made anew when it is next read."""
    kept.view.note_all()


def ahead(state: State, kept: Tags) -> Sequence[Callable[[], object]]:
    """Return the reads that make the view and sort all its orders, unless that takes much memory."""
    if len(kept.tagged) > AHEAD_COMMENTS_MAX:
        return ()
    tables: list[Callable[[], Table[Any]]] = [lambda: kept.view.entries, lambda: kept.view.stats]
    return [partial(first_of, table, place) for table in tables for place in range(len(table().lazy_orders))]


def first_of(table: Callable[[], Table[Any]], place: int) -> object:
    """Return the first row in one of the lazy orders of a table of the view."""
    return table().lazy_orders[place].first()


TAGS = Plugin("tags", Tags, install, serves=("tags_api",), parts=parts, passing=("notes", "view"), restored=restored, ahead=ahead)
