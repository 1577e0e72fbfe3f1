"""Generates the tables of the keys of a chain spec, and of the chain's constants, from their declarations."""

from datetime import UTC, datetime
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from bin.docs.cells import code, table
from node.specs.tables import EXPECTED, KNOWN_KEYS, SpecTable
from state.protocol.spec import BUILDS, BuildConstants

TIME_ENDS = "_TIME"
LISTS = ("genesis.accounts", "genesis.price_history", "genesis.witnesses")


def spec_table() -> str:
    """Return the table of all keys except the constants."""
    rows = []
    for place, cls in KNOWN_KEYS.items():
        if cls is BuildConstants:
            continue
        shown = next((place.replace(key, f"{key}[]") for key in LISTS if place.startswith(key)), place)
        hints = get_type_hints(cls, include_extras=True)
        for field in fields(cls):
            key = f"{shown}.{field.name}" if shown else field.name
            rows.append([code(key), description(hints[field.name]), value_text(hints[field.name]), default_of(cls, field)])
    return table(["key", "meaning", "value", "default"], rows)


def default_of(cls: type[Struct], field: FieldInfo) -> str:
    """Return the default of a key, or `required` if it has none. The default of the key `name` is the file's name."""
    if cls is SpecTable and field.name == "name":
        return "the file's"
    if field.required:
        return "required"
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    if value in (None, [], {}, "") or isinstance(value, Struct):  # nothing, or a table without keys
        return ""
    return code(f'"{value}"' if isinstance(value, str) else str(value).lower())


def metas(hint: Any) -> list[Meta]:
    """Return the `Meta` annotations of a type, innermost first. For an optional type, include those of the type without None."""
    if get_origin(hint) is Annotated:
        return [*metas(get_args(hint)[0]), *(each for each in hint.__metadata__ if isinstance(each, Meta))]
    return [each for part in get_args(hint) if part is not type(None) for each in metas(part)] if type(None) in get_args(hint) else []


def description(hint: Any) -> str:
    """Return the declared description of a key."""
    return next(each.description for each in reversed(metas(hint)) if each.description)


def value_text(hint: Any) -> str:
    """Describe the values that a key accepts."""
    said = metas(hint)
    pattern = next((each.pattern for each in said if each.pattern), None)
    if pattern is not None:
        return EXPECTED[pattern]
    plain = bare(hint)
    if plain is int:
        least = next((each.ge for each in said if each.ge is not None), None)
        most = next((each.le for each in said if each.le is not None), None)
        return f"number, {least:,} to {most:,}" if most is not None else f"number, at least {least}" if least is not None else "number"
    return {bool: "true or false", str: "string", list: "list", tuple: "list"}.get(plain, "table")


def bare(hint: Any) -> Any:
    """Return the type of a hint, without its annotations, None and type parameters."""
    if get_origin(hint) is Annotated:
        return bare(get_args(hint)[0])
    if type(None) in get_args(hint):
        return bare(next(each for each in get_args(hint) if each is not type(None)))
    return get_origin(hint) or hint


def constants_table() -> str:
    """Return the table of the chain's constants, with their values in each build of the reference."""
    hints = get_type_hints(BuildConstants, include_extras=True)
    rows = [
        [
            code(field.name),
            description(hints[field.name]),
            *(constant_text(field.name, getattr(build, field.name)) for build in BUILDS.values()),
        ]
        for field in fields(BuildConstants)
    ]
    return table(["constant", "meaning", *BUILDS], rows)


def constant_text(name: str, value: Any) -> str:
    """Return the value of a constant in the form of a spec file."""
    if name == "COIN_BLOCKCHAIN_VERSION":
        return code(f"{value >> 24}.{value >> 16 & 255}.{value & 65535}")
    if name == "HARDFORK_TIMES":
        return f"{len(value)} times"
    if name.endswith(TIME_ENDS) and value:
        return code(datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return f"{value:,}" if not isinstance(value, bool) else code(str(value).lower())
