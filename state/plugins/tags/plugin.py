"""The plugin `tags`: tags of comments, for lists of discussions. It never refuses an operation.

An entry contains the values of its comment at the last update. An update happens when the comment, or a comment below it, is written, voted
on or paid. If the comment has changed since, `get_discussions_by_*` returns the old values, as on the reference.
Source: block-processing.md §7.6; rpc-api.md §6.5.
"""

from collections.abc import Callable, Sequence
from functools import partial

from state.effects.comments import find_comment
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.plugins.plugin import Plugin, bound
from state.plugins.tags import rows, view
from state.plugins.tags.index import Tags, parent_id, rest_of, shown
from state.plugins.tags.metadata import stored, wanted_tags
from state.plugins.tags.portable import export_rows, import_rows
from state.plugins.tags.uses import UsesPart
from state.protocol.constants import COIN_NULL_ACCOUNT, TIME_MAX
from state.protocol.values.asset import SBD
from state.protocol.virtual import CommentPayoutUpdate, CommentReward, Hardfork
from state.store.rows import shared
from state.store.serializers import SnapshotPart, tables
from state.tables import State
from state.tables.content import Comment as CommentRow

# On startup, the lists of all comments are sorted only up to this number of comments with tags.
AHEAD_COMMENTS_MAX = 100_000
WARM_LISTS: tuple[tuple[view.TagSort, view.Group], ...] = (
    *((sort, 0) for sort in (view.TRENDING, view.HOT, view.CREATED, view.ACTIVE, view.VOTES, view.CHILDREN, view.PROMOTED)),
    (view.CASHOUT, view.ALL),
    (view.PAYOUT, view.POSTS),
    (view.PAYOUT, view.REPLIES),
)


def install(state: State) -> Tags:
    """Create the plugin's tables and register its listeners."""
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
    """Set the tags of a comment after it was written or edited. An edit without metadata doesn't change the tags."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    if operation.json_metadata:
        retag(state, kept, comment)
    else:
        refresh(state, kept, comment)
    update_above(state, kept, comment)


def on_vote(state: State, kept: Tags, operation: Vote) -> None:
    """Update the entries of a comment after a vote."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is not None:
        update(state, kept, comment)


def on_payout(state: State, kept: Tags, operation: CommentPayoutUpdate) -> None:
    """Remove the entries of a comment after its payout."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is not None:
        update(state, kept, comment)


def on_reward(state: State, kept: Tags, operation: CommentReward) -> None:
    """Add the payout of a comment to the totals of the tags in its current metadata. These can differ from the tags of its entries."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    tags = current_tags(state, kept, comment)
    update(state, kept, comment)
    for tag in tags:
        rest = rest_of(kept, tag)
        kept.rests.set_total_payout(rest, rest.total_payout + operation.payout.amount)
        kept.dirty_totals.add(rest.id)


def promote(state: State, kept: Tags, operation: Transfer) -> None:
    """Promote a post until its payout, after a transfer of SBD to `null` with the post as memo (`@author/permlink`)."""
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
        kept.tagged.modify(row, **rows.fields_of(places))
        kept.dirty.add(comment.id)


def on_hardfork(state: State, kept: Tags, operation: Hardfork) -> None:
    """Mark all discussions as stale after hardfork 17, which moves the payout of every comment."""
    if operation.hardfork_id == 17:
        for row in kept.tagged:
            mark_stale(kept, state.comments.find(row.comment))


def forget_deleted(state: State, kept: Tags, operation: DeleteComment) -> None:
    """Remove the entries of a comment before the comment is deleted. The totals of its tags still include it, as on the reference."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None:
        return
    row = kept.tagged.by_comment.get(comment.id)
    if row is not None:
        count_beyond(kept, row, row.places)
        drop(kept, row)
    if comment.parent_author:
        # The entries of the parent contain the smaller number of children only after their next update.
        mark_stale(kept, comment)


# ------------------------------------------------------------------ rules


def update(state: State, kept: Tags, comment: CommentRow) -> None:
    """Update the entries of a comment after a vote or payout. If this can change its ancestors' entries, update these as well.

    The reference updates all ancestors each time. The entries of ancestors are normally up to date already. There are two exceptions:
    stale discussions, and the time before hardfork 17, when a vote or payout moves the payout of the whole discussion.
    """
    refresh(state, kept, comment)
    if comment.parent_author and (state.hardfork < 17 or kept.stale.by_root.get(comment.root_comment) is not None):
        update_above(state, kept, comment)


def update_above(state: State, kept: Tags, comment: CommentRow) -> None:
    """Update the entries of all ancestors of a comment."""
    above: CommentRow | None = comment
    while above is not None and above.parent_author:
        above = find_comment(state, above.parent_author, above.parent_permlink)
        if above is not None:
            refresh(state, kept, above)


def refresh(state: State, kept: Tags, comment: CommentRow) -> None:
    """Update the entries of a comment, or remove them if it is paid out."""
    row = kept.tagged.by_comment.get(comment.id)
    if row is None:
        return
    if comment.cashout_time == TIME_MAX:
        drop(kept, row)
    else:
        show(kept, row, comment)


def mark_stale(kept: Tags, comment: CommentRow) -> None:
    """Mark a discussion as stale. The entries of the discussion can be out of date, so each vote in it updates all ancestors of the comment
    that is voted on.

    The mark is permanent. Its only cost is the walk to the root, which the reference does for every vote.
    """
    if kept.stale.by_root.get(comment.root_comment) is None:
        kept.stale.insert(rows.StaleRoot(root=comment.root_comment))


def show(kept: Tags, row: rows.Tagged, comment: CommentRow) -> None:
    """Copy the values of a comment to the comment's row in this plugin, if one of them has changed."""
    shown = comment.net_rshares, comment.net_votes, comment.children, comment.active, comment.cashout_time
    if (row.net_rshares, row.net_votes, row.children, row.active, row.cashout) != shown:
        kept.tagged.set_shown(row, *shown)
        kept.dirty.add(comment.id)


def current_tags(state: State, kept: Tags, comment: CommentRow) -> list[str]:
    """Return the tags in a comment's current metadata, truncated.

    The metadata of a comment that is due was written days ago, and is no longer in memory. It is read only if the tags of the comment's
    entries can differ from it: without entries, with equal ones after truncation, and in stale discussions, since an edit of a paid comment
    drops entries under tags that it retains.
    """
    row = kept.tagged.by_comment.get(comment.id)
    if row is None or len(set(row.tags)) < len(row.tags) or kept.stale.by_root.get(comment.root_comment) is not None:
        return [stored(tag) for tag in wanted_tags(state, comment)]
    named = [tag for tag in row.tags if tag]
    return ["", *named] if comment.net_rshares >= 0 else named


def retag(state: State, kept: Tags, comment: CommentRow) -> None:
    """Set the tags of a comment to those of its current metadata.

    Entries under dropped tags are removed, but the totals of these tags still include them, since the reference corrects only the author's
    counts. Entries under retained tags retain their number, which breaks ties, and their promotion. New entries get the next numbers and no
    promotion.

    The reference also does this for a paid comment. Updating a retained entry removes it, since the comment is paid. A new entry remains
    until the next update. An edit after the payout therefore lists a comment again, only under its new tags, and makes the discussion
    stale.

    A tag that was truncated when it was stored never equals a tag of the metadata, so each edit replaces its entry, as on the reference.
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
        mark_stale(kept, comment)
    gone = [place for place in old if place[0] not in wanted]
    known = {tag for tag, _, _ in old}
    fresh = [stored(tag) for tag in wanted if tag not in known]
    if gone:
        count_beyond(kept, row, gone)
        kept.authors.count(state.account(comment.author).id, [tag for tag, _, _ in gone], -1)
    places = tuple(stay)
    if fresh:
        first, tags = enter(state, kept, comment.author, fresh)
        places += tuple([(tag, number, 0) for number, tag in enumerate(tags, first)])
    if not places:
        drop(kept, row)
        return
    if places != old:
        kept.tagged.modify(row, **rows.fields_of(places))
        kept.dirty.add(comment.id)
    show(kept, row, comment)


def tag_first(state: State, kept: Tags, comment: CommentRow, wanted: tuple[str, ...]) -> None:
    """Create the entries of a comment that has no entries yet, if it has tags."""
    if comment.cashout_time == TIME_MAX:
        mark_stale(kept, comment)
    if wanted:
        first, tags = enter(state, kept, comment.author, [stored(tag) for tag in wanted])
        parent = parent_id(state, comment)
        kept.tagged.insert(
            rows.Tagged(comment=comment.id, parent=parent, created=comment.created, tags=tags, first=first, **shown(comment))
        )
        kept.dirty.add(comment.id)


def enter(state: State, kept: Tags, author: str, wanted: list[str]) -> tuple[int, tuple[str, ...]]:
    """Number new entries for these tags, and count them for the author. Return the number of the first entry, and the tags."""
    counter = kept.counters.find(0)
    first = counter.following
    kept.counters.set_following(counter, first + len(wanted))
    # Share the string of the tag's row to save memory.
    tags = tuple([rest_of(kept, tag).tag for tag in wanted])
    kept.authors.count(state.account(author).id, tags, 1)
    return first, shared(tags)


def drop(kept: Tags, row: rows.Tagged) -> None:
    """Remove all entries of a comment."""
    kept.dirty.add(row.comment)
    kept.tagged.remove(row)


def count_beyond(kept: Tags, row: rows.Tagged, places: Sequence[rows.Place]) -> None:
    """Before entries are removed, add their last values to the totals of their tags permanently."""
    counted = rows.contribution_of(row)
    for tag, _, _ in places:
        rest = rest_of(kept, tag)
        kept.rests.modify(rest, beyond=rows.added(rest.beyond, counted))
        kept.dirty_totals.add(rest.id)


def parts(state: State, kept: Tags) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data."""
    return tables(kept, "tagged", "rests", "counters", "stale") | {"authors": UsesPart(kept.authors)}


def restored(kept: Tags) -> None:
    """Discard the view, so that the next read rebuilds it."""
    kept.view.mark_all()


def warm_up_reads(state: State, kept: Tags) -> Sequence[Callable[[], object]]:
    """Return the reads that build the view and sort it in all its orders, or no reads if they would take too much memory."""
    if len(kept.tagged) > AHEAD_COMMENTS_MAX:
        return ()
    lists = [partial(kept.view.entries, sort, "", group) for sort, group in WARM_LISTS]
    return *lists, lambda: kept.view.trending("")


TAGS = Plugin(
    "tags",
    Tags,
    install,
    serves=("tags_api",),
    parts=parts,
    unsaved=("dirty", "dirty_totals", "view"),
    on_restored=restored,
    import_rows=import_rows,
    export_rows=export_rows,
    warm_up_reads=warm_up_reads,
)
