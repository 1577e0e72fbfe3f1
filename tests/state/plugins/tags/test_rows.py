"""The scores of posts in the tags plugin, and the marking of rows as dirty."""

from math import isclose

from state.plugins.tags.rows import Tagged, contribution_of, hot, trending
from state.store import DirtyMarks, Journal


def test_scores() -> None:
    created = 1_606_780_800
    assert isclose(hot(10**9, created), 2 + created / 10_000)
    assert isclose(trending(-(10**9), created), -2 + created / 480_000)
    assert hot(9_999_999, created) == hot(-9_999_999, created) == hot(0, created) == created / 10_000


def test_a_negative_score_counts_nothing() -> None:
    row = Tagged(net_rshares=-(10**18), created=0, net_votes=-3)
    assert contribution_of(row) == (-3, 1, 0, 0)
    assert contribution_of(Tagged(net_rshares=10**9, created=480_000, parent=5)) == (0, 0, 1, 3)


def test_an_undone_change_is_dirty() -> None:
    journal = Journal()
    notes = DirtyMarks(journal.record, lambda: 5)
    notes.rows.process(5, lambda comment: None)
    mark = journal.position()
    notes.row(1)
    notes.name("art")
    notes.rows.ids.clear()
    notes.names.clear()
    journal.undo(mark)
    assert (notes.rows.ids, notes.names) == ({1}, {"art"})
