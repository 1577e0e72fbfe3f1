"""Finds the differences between two texts, exactly like the reference's library.

The library gives up after a second of CPU time. Here the search gives up when the work budget is used up. In both cases, the rest of the
old text is deleted and the rest of the new text is inserted as a whole.
"""

from state.effects.body_patch.budget import WorkBudget

DELETE, EQUAL, INSERT = -1, 0, 1

# One difference: its kind (DELETE, EQUAL or INSERT) and its text.
Difference = tuple[int, str]

# For texts of more characters than this, Python's search takes linear time. In shorter texts it compares at each position.
LINEAR_SEARCH_LENGTH, LINEAR_PATTERN_LENGTH = 2500, 100


def differences(old: str, new: str, budget: WorkBudget) -> list[Difference]:
    """Return the differences that turn `old` into `new`.

    The function is recursive. Each level halves the texts or the number of their differences.
    """
    if old == new:
        return [(EQUAL, old)] if old else []
    budget.spend(20 + (len(old) + len(new)) // 100)
    count = common_prefix(old, new)
    prefix, old, new = old[:count], old[count:], new[count:]
    count = common_suffix(old, new)
    suffix = ""
    if count:
        suffix, old, new = old[-count:], old[:-count], new[:-count]
    found = differences_inside(old, new, budget)
    if prefix:
        found.insert(0, (EQUAL, prefix))
    if suffix:
        found.append((EQUAL, suffix))
    while merge_once(found, budget) and budget.left > 0:
        pass
    return found


def differences_inside(old: str, new: str, budget: WorkBudget) -> list[Difference]:
    """Return the differences of two texts without a common prefix or suffix."""
    if not old:
        return [(INSERT, new)]
    if not new:
        return [(DELETE, old)]
    kind, long, short = (DELETE, old, new) if len(old) > len(new) else (INSERT, new, old)
    place = find(long, short, 0, budget)
    if place >= 0:
        return [(kind, long[:place]), (EQUAL, short), (kind, long[place + len(short) :])]
    if len(short) == 1:
        return [(DELETE, old), (INSERT, new)]
    half = half_match(long, short, budget)
    if half is not None:
        long_start, short_start, count = half
        old_start, new_start = (long_start, short_start) if kind == DELETE else (short_start, long_start)
        found = differences(old[:old_start], new[:new_start], budget)
        found.append((EQUAL, old[old_start : old_start + count]))
        found += differences(old[old_start + count :], new[new_start + count :], budget)
        return found
    middle = middle_of_path(old, new, budget)
    if middle is None:
        return [(DELETE, old), (INSERT, new)]
    x, y = middle
    return differences(old[:x], new[:y], budget) + differences(old[x:], new[y:], budget)


def half_match(long: str, short: str, budget: WorkBudget) -> tuple[int, int, int] | None:
    """Return a common substring of at least half the longer text's length as (start in long, start in short, length), or None if there is
    none.
    """
    if len(long) < 4 or len(short) * 2 < len(long):
        return None
    second = half_match_around(long, short, (len(long) + 3) // 4, budget)
    third = half_match_around(long, short, (len(long) + 1) // 2, budget)
    if second is None or third is None:
        return third or second
    return second if second[2] > third[2] else third


def half_match_around(long: str, short: str, place: int, budget: WorkBudget) -> tuple[int, int, int] | None:
    """Return a common substring of at least half of `long`, or None.

    The substring contains the quarter of `long` that begins at `place`.
    """
    seed = long[place : place + len(long) // 4]
    best = (0, 0, 0)
    at = find(short, seed, 0, budget)
    while at >= 0:
        after = common_prefix(long[place:], short[at:])
        before = common_suffix(long[:place], short[:at])
        if best[2] < before + after:
            best = (place - before, at - before, before + after)
        if not budget.spend(20 + len(long) // 50):
            break
        at = find(short, seed, at + 1, budget)
    return best if best[2] * 2 >= len(long) else None


def middle_of_path(old: str, new: str, budget: WorkBudget) -> tuple[int, int] | None:
    """Return the middle of the shortest edit path, as a position in each text.

    Return None if the texts have nothing in common, or the budget is used up. Source: Myers 1986, "An O(ND) Difference Algorithm and Its
    Variations".
    """
    width, height = len(old), len(new)
    count_max = (width + height + 1) // 2
    budget.spend((width + height) // 10)
    # The furthest paths on each diagonal, from the beginning and from the end.
    forward = Front(old, new, count_max)
    backward = Front(old[::-1], new[::-1], count_max)
    delta = width - height
    # The path that makes the last step meets the other one. With an odd number of steps this is the path from the beginning.
    is_odd = delta % 2 != 0
    for count in range(count_max):
        if budget.left <= 0:
            return None
        met = forward.advance(count, backward.reached if is_odd else None, delta, budget)
        if met is not None:
            return met[0], met[1]
        met = backward.advance(count, None if is_odd else forward.reached, delta, budget)
        if met is not None:
            # Here too, the texts are split at the end of the forward path.
            x = forward.reached[met[2]]
            return x, x - met[2] + count_max
    return None


class Front:
    """The furthest edit paths from one corner of two texts. Each advance adds one difference."""

    __slots__ = ("_end", "_new", "_offset", "_old", "_start", "reached")

    def __init__(self, old: str, new: str, count_max: int) -> None:
        self._old, self._new = old, new
        self._offset = count_max
        # By diagonal, from -count_max on: the position in the old text, -1 if no path has reached the diagonal.
        self.reached = [-1] * (2 * count_max)
        self.reached[count_max + 1] = 0
        # The number of diagonals that have left the texts.
        self._start = self._end = 0

    def advance(self, count: int, others: list[int] | None, delta: int, budget: WorkBudget) -> tuple[int, int, int] | None:
        """Extend each path by one difference, and check whether a path meets one of `others`, the paths from the other corner.

        Return the positions in both texts where they meet and the index of the other path, or None if they don't meet.
        """
        old, new, reached, offset = self._old, self._new, self.reached, self._offset
        width, height, size = len(old), len(new), len(reached)
        compared = 0
        budget.spend(3 * (count + 1))
        diagonal = self._start - count
        while diagonal <= count - self._end:
            here = offset + diagonal
            if diagonal == -count or (diagonal != count and reached[here - 1] < reached[here + 1]):
                x = reached[here + 1]
            else:
                x = reached[here - 1] + 1
            y = x - diagonal
            if x < width and y < height and old[x] == new[y]:
                equal = equal_from(old, new, x, y)
                x += equal
                y += equal
                compared += equal
            reached[here] = x
            if x > width:
                self._end += 2
            elif y > height:
                self._start += 2
            elif others is not None:
                there = offset + delta - diagonal
                if 0 <= there < size and others[there] != -1 and x >= width - others[there]:
                    return x, y, there
            diagonal += 2
        budget.spend(compared // 10)
        return None


def equal_from(old: str, new: str, x: int, y: int) -> int:
    """Return the length of the common substring at a position in each text. The first character must be equal."""
    start = x
    end = min(len(old), x + len(new) - y)
    limit = min(end, x + 16)
    while x < limit and old[x] == new[y]:
        x += 1
        y += 1
    if x == limit < end:
        x += common_prefix(old[x:], new[y:])
    return x - start


def merge_once(found: list[Difference], budget: WorkBudget) -> bool:
    """Merge adjacent differences, and move equal text out of changes. Return whether another pass is necessary."""
    budget.spend(5 * len(found))
    found[:] = joined(found)
    changed = False
    i = 1
    while i < len(found) - 1:
        (kind, text), before, after = found[i], found[i - 1], found[i + 1]
        if before[0] == after[0] == EQUAL:
            # A single change between two equal parts can take in one of them: A, +BA, C becomes +AB, AC.
            if text.endswith(before[1]):
                found[i - 1 : i + 2] = [(kind, before[1] + text[: len(text) - len(before[1])]), (EQUAL, before[1] + after[1])]
                changed = True
            elif text.startswith(after[1]):
                found[i - 1 : i + 2] = [(EQUAL, before[1] + after[1]), (kind, text[len(after[1]) :] + after[1])]
                changed = True
        i += 1
    return changed


def joined(found: list[Difference]) -> list[Difference]:
    """Return equivalent differences, with at most one deletion and one insertion between two equal parts.

    The deletion and the insertion have no common prefix or suffix. Adjacent equal parts are merged, unless a change between them has become
    empty.
    """
    out: list[Difference] = []
    changes: list[Difference] = []
    for difference in [*found, (EQUAL, "")]:
        if difference[0] != EQUAL:
            changes.append(difference)
            continue
        text = difference[1]
        if len(changes) > 1:
            deleted = "".join([part for kind, part in changes if kind == DELETE])
            inserted = "".join([part for kind, part in changes if kind == INSERT])
            kinds = {kind for kind, _ in changes}
            if len(kinds) == 2:
                count = common_prefix(inserted, deleted)
                if count:
                    if out:
                        out[-1] = (EQUAL, out[-1][1] + inserted[:count])
                    else:
                        out.append((EQUAL, inserted[:count]))
                    inserted, deleted = inserted[count:], deleted[count:]
                count = common_suffix(inserted, deleted)
                if count:
                    text = inserted[-count:] + text
                    inserted, deleted = inserted[:-count], deleted[:-count]
            if deleted:
                out.append((DELETE, deleted))
            if inserted:
                out.append((INSERT, inserted))
            out.append((EQUAL, text))
        elif changes:
            out += [changes[0], difference]
        elif out:
            out[-1] = (EQUAL, out[-1][1] + text)
        else:
            out.append(difference)
        changes = []
    if not out[-1][1]:
        out.pop()
    return out


def find(text: str, pattern: str, start: int, budget: WorkBudget) -> int:
    """Return the position of a pattern in a text from `start` on, or -1. Subtract the worst-case work from the budget."""
    places = len(text) - start - len(pattern) + 1
    if places <= 0:
        return -1
    if len(text) - start < LINEAR_SEARCH_LENGTH or len(pattern) < LINEAR_PATTERN_LENGTH:
        budget.spend(places * len(pattern) // 100)
    else:
        budget.spend(len(text) // 20)
    return text.find(pattern, start)


def common_prefix(first: str, second: str) -> int:
    """Return the length of the common prefix of two texts."""
    if not first or not second or first[0] != second[0]:
        return 0
    low, high = 1, min(len(first), len(second))
    middle = high
    while low < middle:
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
        middle = (high - low) // 2 + low
    return middle


def common_suffix(first: str, second: str) -> int:
    """Return the length of the common suffix of two texts."""
    if not first or not second or first[-1] != second[-1]:
        return 0
    low, high = 1, min(len(first), len(second))
    middle = high
    while low < middle:
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle
        middle = (high - low) // 2 + low
    return middle
