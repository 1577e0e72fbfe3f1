"""What may have been meant by an unknown name: one text for all errors about names. It knows no kind of name."""

from collections.abc import Iterable

NAME_LETTERS_MAX, NEAR_MAX, LISTED_MAX = 100, 3, 12


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Return the known names that are spelled most alike, three at most, the nearest first."""
    # Imported here, since only mistakes need it.
    from difflib import get_close_matches

    return get_close_matches(name[:NAME_LETTERS_MAX], list(known), NEAR_MAX, cutoff)


def alternatives(name: str, known: Iterable[str], where: str = "") -> str:
    """Return, for an error about an unknown name, the nearest ones; where none is near, all of them, or of many `where` they stand."""
    names = list(known)
    if near := closest(name, names):
        return f"did you mean {either(near)}?"
    if len(names) <= LISTED_MAX or not where:
        return f"there are {', '.join(names) or 'none'}"
    return f"{where} has all {len(names)}"


def either(names: list[str]) -> str:
    """Return names as alternatives in a sentence: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
