"""Human-readable differences between two states, to find where two nodes diverged."""

from ast import literal_eval
from collections.abc import Iterator

from state.snapshot.image import parts_of
from state.tables import State

TEXT_MAX = 200


def differences(first: State, second: State, rows_max: int) -> Iterator[str]:
    """Yield a line for each part in which the states differ, then the differing fields of up to `rows_max` differing rows of that part."""
    ones, others = parts_of(first), parts_of(second)
    for name in dict.fromkeys((*ones, *others)):
        if name not in ones or name not in others:
            yield f"{name}: only in the {'first' if name in ones else 'second'}"
            continue
        left, right = dict(ones[name].entries()), dict(others[name].entries())
        keys = [key for key in dict.fromkeys((*left, *right)) if left.get(key) != right.get(key)]
        if not keys:
            continue
        yield f"{name}: {len(keys)} of {len(left | right)} entries differ"
        for key in keys[:rows_max]:
            yield from _row(str(key), left.get(key), right.get(key))
        if len(keys) > rows_max:
            yield f"  and {len(keys) - rows_max} more"


def _row(key: str, left: dict[str, str] | None, right: dict[str, str] | None) -> Iterator[str]:
    if left is None or right is None:
        row = right if left is None else left
        fields = ", ".join(f"{field} {_readable(text)}" for field, text in (row or {}).items())
        yield f"  {key}: only in the {'second' if left is None else 'first'}: {_short(fields)}"
        return
    for field in dict.fromkeys((*left, *right)):
        if left.get(field) != right.get(field):
            yield f"  {key}.{field}: {_short(_readable(left.get(field, '')))} | {_short(_readable(right.get(field, '')))}"


def _readable(text: str) -> str:
    """Format a value's text for reading. Bytes become hex, as in ids."""
    if not text.startswith(("b'", 'b"')):
        return text
    try:
        value = literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    return value.hex() if isinstance(value, bytes) else text


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}... ({len(text)} characters)"
