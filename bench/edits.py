"""Measures edits of comments: the CPU milliseconds of ordinary edits, and of the worst known edits that fit into a transaction.

Run: .venv/bin/python -m bench.edits [name ...]         (default: all)
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from random import Random

from state.effects.body_patch import WorkBudget, edited
from state.protocol.constants import EDIT_STEPS_MAX

# The longest body in a transaction of 65,536 bytes.
BODY_MAX = 65_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROUNDS = 3

# A body, and the edits that one transaction makes to it.
Edits = tuple[str, list[str]]


def words(seed: int, length: int) -> str:
    """Return a string of random words."""
    random = Random(seed)
    return " ".join("".join(random.choices(LETTERS, k=random.randint(1, 9))) for _ in range(length // 5))[:length]


def letters(seed: int, length: int, of: str = LETTERS) -> str:
    """Return a string of random letters."""
    return "".join(Random(seed).choices(of, k=length))


def filled(hunks: Iterator[str]) -> str:
    """Join as many of the patches as fit into the body of one comment operation."""
    out, size = [], 0
    for hunk in hunks:
        size += len(hunk.encode())
        if size > BODY_MAX:
            break
        out.append(hunk)
    return "".join(out)


def replacing(old: str, places: Iterable[int]) -> Iterator[str]:
    """Yield patches that replace eight characters with six, each with four characters of context on both sides."""
    for i, p in enumerate(places):
        context, word, following = old[p : p + 4], old[p + 4 : p + 12], old[p + 12 : p + 16]
        yield f"@@ -{p + 1 - 2 * i},16 +{p + 1 - 2 * i},14 @@\n {context}\n-{word}\n+a word\n {following}\n"


def ordinary() -> Edits:
    """Three words of a 5 KB post are replaced."""
    old = words(1, 5000)
    return old, ["".join(replacing(old, (500, 1500, 2500)))]


def moved() -> Edits:
    """Three words are replaced in a post that another edit has changed in the meantime."""
    old, edits = ordinary()
    return old[:300] + "Something new. " + old[300:505] + "x" + old[505:], edits


def replaced_everywhere() -> Edits:
    """A word is replaced a thousand times in a long post."""
    old = words(2, BODY_MAX)
    return old, [filled(replacing(old, range(0, BODY_MAX - 60, 60)))]


def deletions_differ() -> Edits:
    """Thirty deletions of 2,000 characters each. The middle of each deleted text differs from the body."""
    old = words(3, BODY_MAX)
    texts = ((p, old[p : p + 800] + letters(p, 400) + old[p + 1200 : p + 2000]) for p in range(0, 60_000, 2000))
    return old, [filled(f"@@ -{p + 1},2000 +{p + 1},0 @@\n-{text}\n" for p, text in texts)]


def deletion_differs() -> Edits:
    """One deletion of 60,000 characters. Only the two ends of the deleted text occur in the body."""
    old = words(4, BODY_MAX)
    text = old[:40] + letters(4, 60_000, LETTERS + " ") + old[60_040:60_080]
    return old, [f"@@ -1,60080 +1,0 @@\n-{text}\n"]


def nowhere() -> Edits:
    """Patches whose patterns, of 32 letters, occur nowhere in the body."""
    return letters(5, BODY_MAX, "abc"), [filled(f"@@ -{p},32 +{p},0 @@\n-{letters(p, 32, 'abc')}\n" for p in range(1, 60_000, 7))]


def nowhere_short() -> Edits:
    """Patches whose patterns, of 6 letters, occur nowhere in the body."""
    return letters(6, BODY_MAX, "abc日"), [filled(f"@@ -{p} +{p} @@\n-{letters(p, 5, 'def')}a\n" for p in range(1, 60_000))]


def shortest() -> Edits:
    """The maximum number of patches. Each changes one letter."""
    return "a" * BODY_MAX, [filled(f"@@ -{1 + p % 9}+{1 + p % 9} @@\n-a\n".replace("+", " +", 1) for p in range(10_000))]


def empty() -> Edits:
    """The maximum number of patches, none of which changes anything."""
    return "a" * BODY_MAX, [filled("@@ -1 +1 @@\n" for _ in range(10_000))]


def jumping() -> Edits:
    """Patches that alternate between the start and the end of a body that earlier edits have made longer."""
    places = (1 if i % 2 else 1_000_000 for i in range(10_000))
    return "a" * 1_000_000 + "🙂", [filled(f"@@ -{p} +{p},2 @@\n-a\n+aa\n" for p in places)]


def insertions() -> Edits:
    """One patch with thousands of insertions. Its position in the body has shifted slightly."""
    old = words(7, BODY_MAX)
    return old, ["@@ -101,20 +101,20 @@\n" + f" {old[100:110]}x{old[111:120]}\n" + "+a\n" * 20_000]


def letters_deleted() -> Edits:
    """One patch with thousands of deletions of one letter. Its position in the body has shifted slightly."""
    old = letters(8, 20_000)
    return old, ["@@ -1,9 +1,9 @@\n" + "".join(f"-{letter}\n" for letter in old[:9000] + "?" + old[9001:20_000])]


def same_letter() -> Edits:
    """One deletion of thousands of equal letters. The body has some other letters in the middle of them."""
    pattern = "a" * 20_000 + "b" + "a" * 10_000 + "b" + "a" * 30_000
    return "a" * 25_000 + "c" + "a" * 40_000, [f"@@ -1,9 +1,9 @@\n-{pattern}\n"]


def halves() -> Edits:
    """A deletion and a body that mostly repeat one letter. Their halves match in thousands of ways."""
    pattern = "x" * 32 + "b" + "a" * 30_000 + "cb" + "a" * 30_000 + "y" * 32
    return "x" * 32 + "d" + "a" * 29_000 + "ef" + "a" * 29_000 + "g" + "y" * 32, [f"@@ -1,9 +1,9 @@\n-{pattern}\n"]


def shifted() -> Edits:
    """A change that fits at thousands of positions."""
    pattern = "x" * 32 + "a" * 60_000 + "y" * 32
    return "x" * 32 + "a" * 59_990 + "y" * 32, [f"@@ -1,9 +1,9 @@\n-{pattern}\n+b\n"]


def searched() -> Edits:
    """Patterns for which the search compares many characters at each position."""
    pattern = "a" * 16 + "b" + "a" * 15
    return pattern + "a" * BODY_MAX, [filled(f"@@ -{p} +{p} @@\n-{pattern}\n" for p in range(2, 400))]


def pieces() -> Edits:
    """A deletion that is split into thousands of patches, none of which matches the body."""
    return letters(9, BODY_MAX, "abc"), ["@@ -1 +1 @@\n a\n@@ -1,60000 +1,0 @@\n-" + letters(10, 60_000, "abc") + "\n"]


def pieces_equal() -> Edits:
    """A patch with much context and an insertion after every 20 characters."""
    old = words(11, 55_000)
    return old, ["@@ -1,60000 +1,0 @@\n" + "".join(f" {old[p : p + 20]}\n+a\n" for p in range(0, 50_000, 20))]


def encoded() -> Edits:
    """An insertion of percent-encoded letters."""
    return "abc", ["@@ -1 +1 @@\n+" + "%41a" * 16_000 + "\n"]


def beyond_ascii() -> Edits:
    """An insertion of letters that are dropped, because they aren't percent-encoded."""
    return "abc", ["@@ -1 +1 @@\n+" + "é" * 32_000 + "\n"]


def lines() -> Edits:
    """The maximum number of lines."""
    return "abc", ["@@ -1 +1 @@\n" + "+\n" * 32_000]


def digits() -> Edits:
    """Patches whose numbers have thousands of digits."""
    return "abc", [f"@@ -{'9' * 60_000} +1 @@\n-a\n"]


def grown() -> Edits:
    """A change of one letter in a very long body. It includes an encoded letter, which makes the node scan the complete result."""
    return "a" * 2_400_000 + "🙂", ["@@ -1,4 +1,4 @@\n-a\n+%41\n aaa\n"]


def many_operations() -> Edits:
    """Hundreds of comment operations. Each has a deletion whose text matches the body only at its ends."""
    old = letters(12, 32) + letters(13, 400, "ab") + letters(14, 32)
    return old, [f"@@ -1 +1 @@\n-{old[:32]}{letters(15, 60, 'ab')}{old[-32:]}\n"] * 300


CASES: tuple[Callable[[], Edits], ...] = (
    ordinary, moved, replaced_everywhere, deletions_differ, deletion_differs, nowhere, nowhere_short, shortest, empty, jumping, insertions,
    letters_deleted, same_letter, halves, shifted, searched, pieces, pieces_equal, encoded, beyond_ascii, lines, digits,
    grown, many_operations,
)  # fmt: skip


def measure(old: str, edits: list[str]) -> tuple[float, int]:
    """Apply the edits of one transaction in each of ROUNDS rounds. Return the milliseconds of the fastest round, and the number of work
    steps.
    """
    seconds, taken = float("inf"), 0
    for _ in range(ROUNDS):
        budget = WorkBudget(EDIT_STEPS_MAX)
        start = time.process_time()
        for body in edits:
            edited(old, body, budget)
        seconds = min(seconds, time.process_time() - start)
        taken = EDIT_STEPS_MAX - budget.left
    return seconds * 1000, taken


def main(names: list[str]) -> None:
    print(f"edits of one transaction, at most {EDIT_STEPS_MAX} steps")
    for case in CASES:
        if not names or case.__name__ in names:
            milliseconds, taken = measure(*case())
            print(f"  {case.__name__:<22} {milliseconds:9.2f} ms {taken:10} steps   {(case.__doc__ or '').strip()}")


if __name__ == "__main__":
    main(sys.argv[1:])
