"""`Tags`, the data of the plugin `tags`: its tables, and the view that lists read."""

from typing import Any

from state.effects.comments import find_comment
from state.plugins.tags import rows
from state.plugins.tags.uses import Uses
from state.plugins.tags.view import TagView
from state.store.lazy.dirty import DirtyRows
from state.tables import State
from state.tables.content import Comment as CommentRow


class Tags:
    """The plugin's data: its tables, and the view that lists read."""

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.tagged = rows.TaggedComments(journal)
        self.rests = rows.TagRests(journal)
        self.authors = Uses(journal)
        self.counters = rows.TagCounters(journal)
        self.counters.insert(rows.TagCounter())
        self.stale = rows.StaleRoots(journal)
        self.dirty = DirtyRows(journal.record, lambda: state.comments.next_id)
        self.dirty_totals = DirtyRows(journal.record, lambda: self.rests.next_id)
        self.view = TagView(self.tagged, self.rests, self.dirty, self.dirty_totals, journal.read_mode)


def shown(comment: CommentRow) -> dict[str, Any]:
    """Return the values of a comment that are copied to its row in this plugin."""
    return {
        "net_rshares": comment.net_rshares,
        "net_votes": comment.net_votes,
        "children": comment.children,
        "active": comment.active,
        # Before hardfork 17 a reply has no payout time, since it is paid with its root. So its new entries come last when ordered by payout
        # time.
        "cashout": comment.cashout_time,
    }


def rest_of(kept: Tags, tag: str) -> rows.TagRest:
    """Return the row with a tag's payouts and the last values of its removed entries. The row is created on first use."""
    row = kept.rests.by_tag.get(tag)
    if row is None:
        row = kept.rests.insert(rows.TagRest(tag=tag))
        kept.dirty_totals.add(row.id)
    return row


def parent_id(state: State, comment: CommentRow) -> int:
    """Return the id of the parent of a comment, 0 for a root post.

    The first comment of a chain also has id 0, so its replies count as root posts in lists and totals, as on the reference.
    """
    if not comment.parent_author:
        return 0
    parent = find_comment(state, comment.parent_author, comment.parent_permlink)
    return 0 if parent is None else parent.id
