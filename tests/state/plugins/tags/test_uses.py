"""The counts of the tags that authors use: undo, commit, and snapshots."""

import pytest
from msgspec import msgpack

from state.plugins.tags.uses import Uses, UsesPart
from state.store import Journal
from state.store.columns import CorruptData
from state.store.rows import run_steps

COUNTS = {"amy": {"art": 0, "fun": 2, "": 1}, "bob": {"fun": 3, "art": 3}}


def filled() -> Uses:
    uses = Uses(Journal())
    for author, own in COUNTS.items():
        for tag, count in own.items():
            uses.count(author, tag, count)
    return uses


def test_counts_are_listed_greatest_first_and_undone() -> None:
    uses = filled()
    assert [row.tag for row in uses.of("amy")] == ["fun", "", "art"]
    assert [row.tag for row in uses.of("bob")] == ["art", "fun"]
    assert uses.of("eve") == []
    put_back = run_steps(UsesPart(uses).copying())
    uses.count("eve", "art", 1)
    uses.count("amy", "fun", -2)
    put_back()
    assert uses.counts == COUNTS


def test_counts_are_undone() -> None:
    journal = Journal()
    uses = Uses(journal)
    uses.count("amy", "fun", 1)
    mark = journal.position()
    uses.count("amy", "fun", 1)
    uses.count("amy", "art", -1)
    uses.count("eve", "art", 1)
    assert [(row.author, row.tag, row.total_posts) for row in uses] == [("amy", "fun", 2), ("amy", "art", -1), ("eve", "art", 1)]
    journal.undo(mark)
    assert uses.counts == {"amy": {"fun": 1}}
    journal.undo(0)
    assert uses.counts == {}


@pytest.mark.parametrize("uses", [filled(), Uses(Journal())])
def test_snapshot_contains_all_counts(uses: Uses) -> None:
    other = filled()
    UsesPart(other).read(iter(list(UsesPart(uses).dump())))()
    assert list(other) == list(uses)
    assert not other.is_loading


def test_other_bytes_are_refused() -> None:
    head, chunk = UsesPart(filled()).dump()
    for chunks in ([head], [head, chunk, chunk], [head, b"x"], [msgpack.encode(3), chunk]):
        deferred = UsesPart(Uses(Journal())).read(iter(chunks))()
        assert deferred is not None
        with pytest.raises(CorruptData):
            deferred.finish()
    with pytest.raises(CorruptData):
        UsesPart(Uses(Journal())).read(iter([]))
