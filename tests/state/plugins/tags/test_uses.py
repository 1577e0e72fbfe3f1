"""The counts of the tags that authors use: undo, commit, and snapshots."""

import pytest
from msgspec import msgpack

from state.plugins.tags.uses import PACKED_TAGS_MAX, Uses, UsesPart
from state.store import Journal
from state.store.columns import CorruptData
from state.store.rows import run_steps

AMY, BOB, EVE, TED = 1, 2, 70, 71  # ids of accounts
COUNTS = {
    AMY: {"art": 0, "fun": 2, "": 1},
    BOB: {"fun": 3, "art": 3},
    TED: {f"tag-{n}": 1 for n in range(PACKED_TAGS_MAX + 1)},
}


def filled() -> Uses:
    uses = Uses(Journal())
    for author, own in COUNTS.items():
        for tag, count in own.items():
            uses.count(author, [tag], count)
    return uses


def test_counts_are_listed_greatest_first_and_undone() -> None:
    uses = filled()
    assert [row.tag for row in uses.of(AMY)] == ["fun", "", "art"]
    assert [row.tag for row in uses.of(BOB)] == ["art", "fun"]
    assert (uses.of(EVE), len(uses.of(TED))) == ([], PACKED_TAGS_MAX + 1)
    put_back = run_steps(UsesPart(uses).copying())
    for _ in range(2):
        uses.count(EVE, ["art"], 1)
        uses.count(AMY, ["fun"], -2)
        uses.count(TED, ["tag-0", "art"], 1)
        put_back()
        assert dict(uses) == COUNTS


@pytest.mark.parametrize("author", [AMY, TED])
def test_counts_are_undone(author: int) -> None:
    journal = Journal()
    uses = Uses(journal)
    uses.count(author, COUNTS[author], 1)
    mark, before = journal.position(), dict.fromkeys(COUNTS[author], 1)
    more = [f"more-{n}" for n in range(PACKED_TAGS_MAX)]
    uses.count(author, ["fun"], 1)
    uses.count(author, more, -1)
    uses.count(EVE, ["art"], 1)
    assert dict(uses) == {author: before | {"fun": before.get("fun", 0) + 1} | dict.fromkeys(more, -1), EVE: {"art": 1}}
    journal.undo(mark)
    assert dict(uses) == {author: before}
    journal.undo(0)
    assert (dict(uses), len(uses.counts)) == ({}, 0)


def test_tags_that_are_not_utf_8_are_counted() -> None:
    uses = Uses(Journal())
    uses.count(AMY, ["art", "\udc80"], 1)
    uses.count(AMY, ["art"], 1)
    assert uses.of(AMY) == [("art", 2), ("\udc80", 1)]


@pytest.mark.parametrize("uses", [filled(), Uses(Journal())])
def test_snapshot_contains_all_counts(uses: Uses) -> None:
    other = filled()
    UsesPart(other).read(iter(list(UsesPart(uses).dump())))()
    assert list(other) == list(uses)
    assert not other.is_loading


def test_other_bytes_are_refused() -> None:
    head, chunk = UsesPart(filled()).dump()
    for chunks in ([head], [head, chunk, chunk], [head, b"x"], [msgpack.encode(4), chunk]):
        deferred = UsesPart(Uses(Journal())).read(iter(chunks))()
        assert deferred is not None
        with pytest.raises(CorruptData):
            deferred.finish()
    with pytest.raises(CorruptData):
        UsesPart(Uses(Journal())).read(iter([]))
