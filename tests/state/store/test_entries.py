"""The sorted entries of an index, compared with a plain list: fast paths at both ends, splits and joins of chunks, and the index of
positions.
"""

from bisect import insort

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.store.entries import Entries

LOAD = 4  # Lists split beyond twice as many and join below half as many, so that short walks do both.

Step = tuple[str, int]


@given(st.lists(st.tuples(st.sampled_from(["add", "end", "remove", "front", "place"]), st.integers(0, 60)), max_size=120))
def test_entries_behave_like_a_sorted_list(steps: list[Step]) -> None:
    plain: list[tuple[int, ...]] = [(number,) for number in range(0, 60, 3)]
    entries = Entries(plain)
    entries._reset(LOAD)
    for step, offset in steps:
        number = offset + plain[-1][0] if step == "end" and plain else offset
        if step in ("add", "end") and (number,) not in plain:
            entries.add((number,))
            insort(plain, (number,))
        elif step in ("remove", "front") and plain:
            entry = plain.pop(0 if step == "front" else number % len(plain))
            entries.remove(entry)
        elif step == "place":
            # The first read by position builds an index of positions, which later changes update.
            assert entries.bisect_left((number,)) == sum(entry < (number,) for entry in plain)
            if plain:
                assert entries[number % len(plain)] == plain[number % len(plain)]
        entries._check()
        assert list(entries) == plain


@pytest.mark.parametrize("there", [[], [1], [1, 2, 3]])
def test_a_refused_change_has_no_effect(there: list[int]) -> None:
    entries = Entries([(number,) for number in there])
    with pytest.raises(ValueError, match="not in list"):
        entries.remove((9,))
    if there:
        with pytest.raises(TypeError):
            entries.add(("text",))
    entries._check()
    assert list(entries) == [(number,) for number in there]
