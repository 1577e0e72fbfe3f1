"""Edits of bodies: the results must equal those of the reference's library, and their work is limited."""

import json
import time
from collections.abc import Callable
from random import Random

import pytest
from diff_match_patch import diff_match_patch
from hypothesis import given
from hypothesis import strategies as st

from bench import edits as worst
from state.effects.body_patch import WorkBudget, edited
from state.effects.body_patch.diff import differences
from state.effects.body_patch.parser import percent_decoded
from state.effects.body_patch.pieces import text_after, text_before
from state.protocol.constants import EDIT_STEPS_MAX
from tests.conftest import ROOT

# Old body, edit, new body: edits from the recorded cases and made-up ones. Other ports of the library give different results for most of
# the latter.
VECTORS: list[tuple[str, str, str]] = json.loads((ROOT / "tests" / "vectors" / "edits.json").read_text())
LETTERS = "ab \n.é🙂\x01\x04"


def patched(old: str, body: str) -> str:
    """Return the body that results from an edit, without a limit on work."""
    return edited(old, body, WorkBudget(10**9))


def test_edits_give_the_results_of_the_reference_library() -> None:
    assert [(old, body) for old, body, new in VECTORS if patched(old, body) != new] == []


def test_ordinary_edits_need_few_steps() -> None:
    for old, body, new in VECTORS[:50]:
        assert edited(old, body, WorkBudget(EDIT_STEPS_MAX // 10)) == new


# ------------------------------------------------------------------ small ones

OLD = "The quick brown fox"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("@@ -1,13 +1,12 @@\n The \n-quick\n+slow\n  bro\n", "The slow brown fox"),
        ("\n\n@@ -1,4 +1,2 @@\n-The \n+A \n", "A quick brown fox"),
        ("@@ -1 +1 @@\n-T\n+t", "the quick brown fox"),
        ("@@ -0,0 +1,6 @@\n+Hello \n", "Hello The quick brown fox"),
        ("@@ -16,4 +16,5 @@\n  fo\n-x\n+es\n@@ -1,3 +1,3 @@\n-T\n+t\n\n he\n", "the quick brown foes"),
        # Without a patch that can be parsed, the edit itself is the new text.
        ("new", "new"),
        ("\n", "\n"),
        ("@@ this is no patch", "@@ this is no patch"),
        ("@@ -1,3 +1,3\n-The\n", "@@ -1,3 +1,3\n-The\n"),
        ("@@ -1,3 +1,3 @@\n*bad\n", "@@ -1,3 +1,3 @@\n*bad\n"),
        ("@@ -1,3 +1,3 @@\n-%zz\n", "@@ -1,3 +1,3 @@\n-%zz\n"),
        ("@@ -1,3 +1,3 @@\n-The%4\n", "@@ -1,3 +1,3 @@\n-The%4\n"),
        # A patch that doesn't match changes nothing.
        ("@@ -1,3 +1,3 @@\n-xyzxyz\n+a\n", OLD),
    ],
)
def test_edits(body: str, result: str) -> None:
    assert patched(OLD, body) == result


def test_characters_beyond_the_first_plane_vanish() -> None:
    assert patched("abc", "@@ -1,3 +1,5 @@\n-abc\n+a%F0%9F%99%82c%E2%82%AC\n") == "ac€"


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("plain + 100", "plain + 100"),
        ("%41%c3%A9%e2%82%ac", "Aé€"),
        ("%F0%9F%99%82", "\ud83d\ude42"),
        # Characters that are not percent-encoded are treated as bytes: they are dropped, or combine with other bytes.
        ("xéy", "xy"),
        ("Ã©", "é"),
        ("日本", ""),
        # Invalid sequences are dropped, and decoding resumes at the byte that made them invalid.
        ("%C3A%E2%82B%F0%9FC%80D", "ABCD"),
        ("%C3", ""),
    ],
)
def test_percent_decoding(text: str, decoded: str) -> None:
    assert percent_decoded(text) == decoded


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000 + "4294967297"])
def test_numbers_of_any_length_are_read(digits: str) -> None:
    assert patched("abcdefghijkl", f"@@ -1,3 +{digits},3 @@\n abc\n+x\n def\n") == "abcxdefghijkl"


def test_a_patch_beyond_the_end_makes_the_edit_a_new_text() -> None:
    """The patch deletes the text and the padding around it, so the padding can't be removed afterwards. The edit then becomes the new
    text.
    """
    body = "@@ -1,4 +1 @@\n-%01%02%03%04abc%01%02%03%04\n"
    assert patched("abc", body) == body


# ------------------------------------------------------------------ bounds


@pytest.mark.parametrize("case", worst.CASES, ids=lambda case: case.__name__)
def test_the_worst_edits_end(case: Callable[[], worst.Edits]) -> None:
    """With the limit on steps, these edits take at most 50 ms (bench/edits.py). In the reference's library some of them take minutes."""
    old, edits = case()
    assert sum(len(body.encode()) for body in edits) <= 65_536
    budget = WorkBudget(EDIT_STEPS_MAX)
    start = time.process_time()
    once = [edited(old, body, budget) for body in edits]
    assert time.process_time() - start < 1
    again = WorkBudget(EDIT_STEPS_MAX)
    assert [edited(old, body, again) for body in edits] == once
    assert again.left == budget.left


def test_a_thousand_patches_of_a_long_body_are_all_applied() -> None:
    old, edits = worst.replaced_everywhere()
    budget = WorkBudget(EDIT_STEPS_MAX)
    assert edited(old, edits[0], budget).count("a word") == edits[0].count("@@ -")
    assert budget.left > EDIT_STEPS_MAX // 2


def test_patches_for_which_no_steps_are_left_are_left_out() -> None:
    body = "@@ -1,7 +1,7 @@\n-abc\n+xyz\n defg\n@@ -8,8 +8,8 @@\n hijk\n-l\n+L\n mno\n"
    results = [edited("abcdefghijklmno", body, WorkBudget(count)) for count in (0, 25, 100)]
    assert results == ["abcdefghijklmno", "xyzdefghijklmno", "xyzdefghijkLmno"]


def test_patches_of_a_body_that_has_grown_too_long_are_left_out() -> None:
    body = "@@ -1,4 +1,4 @@\n-a\n+b\n aaa\n"
    for length, first in ((2_000_000, "b"), (2_600_000, "a")):
        new = edited("a" * length, body, WorkBudget(EDIT_STEPS_MAX))
        assert (len(new), new[0]) == (length, first)


def test_a_diff_that_runs_out_of_steps_deletes_and_inserts() -> None:
    """The reference gives up in the same way after one second. The common start and end of both texts are found before."""
    random = Random(1)
    old, new = ("".join(random.choices("abcd", k=300)) for _ in range(2))
    assert len(differences(old, new, WorkBudget(10**9))) > 100
    assert differences("<" + old + ">", "<" + new + ">", WorkBudget(50)) == [(0, "<"), (-1, old), (1, new), (0, ">")]


# ------------------------------------------------------------------ any text


@given(st.text(LETTERS, max_size=80), st.text(LETTERS, max_size=80), st.integers(0, 10_000))
def test_differences_lead_from_one_text_to_the_other(old: str, new: str, count: int) -> None:
    found = differences(old, new, WorkBudget(count))
    assert (text_before(found), text_after(found)) == (old, new)


@given(st.text("ab \n.é", max_size=200), st.text("ab \n.é", max_size=200))
def test_patches_of_clients_are_applied(old: str, new: str) -> None:
    library = diff_match_patch()
    patches = library.patch_make(old, new)
    body = library.patch_toText(patches)
    assert not patches or patched(old, body) == new


HUNKS = st.builds(
    lambda place, lengths, lines: f"@@ -{place}{lengths[0]} +{place}{lengths[1]} @@\n" + "".join(f"{line}\n" for line in lines),
    st.integers(0, 2**33),
    st.tuples(*[st.sampled_from(["", ",0", ",9", ",99", ",4294967295"])] * 2),
    st.lists(st.builds(str.__add__, st.sampled_from("-+ "), st.text("ab%0149F", max_size=90)), max_size=5),
)


@given(st.text(LETTERS, max_size=200), st.lists(HUNKS, max_size=4).map("".join) | st.text("@-+ ,1%a\n"), st.integers(0, 20_000))
def test_any_edit_ends_in_a_text(old: str, body: str, count: int) -> None:
    budget = WorkBudget(count)
    new = edited(old, body, budget)
    assert new.encode().decode() == new
    assert edited(old, body, WorkBudget(count)) == new
