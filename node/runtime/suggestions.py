"""Suggestions for misspelt names in error messages."""

from collections.abc import Iterable

NAME_LETTERS_MAX, NEAR_MAX, LISTED_MAX = 100, 3, 12


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Return up to three known names with the most similar spelling, the most similar first."""
    # Imported here, because only errors need it.
    from difflib import get_close_matches

    return get_close_matches(name[:NAME_LETTERS_MAX], list(known), NEAR_MAX, cutoff)


def alternatives(name: str, known: Iterable[str], where: str = "") -> str:
    """Return a clause for an error about an unknown name: the most similar names or, if none is similar, all known names. If these are too
    many, the clause says `where` they are listed.
    """
    names = list(known)
    if near := closest(name, names):
        return f"did you mean {either(near)}?"
    if len(names) <= LISTED_MAX or not where:
        return f"there are {', '.join(names) or 'none'}"
    return f"{where} has all {len(names)}"


def either(names: list[str]) -> str:
    """Join names as alternatives: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
