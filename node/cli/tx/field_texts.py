"""Command line syntax of each kind of field: a description of its type, and a parser for its values.

Parsers refuse values that the chain would change, for example by truncating a long name or wrapping a number.
"""

import json
import re
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from node.cli.times import moment
from node.runtime.errors import NodeError
from state.protocol.authority import Authority, key_authority
from state.protocol.codec.fields import shown_fields
from state.protocol.codec.kinds import (
    AssetKind,
    Blob,
    Bounded,
    Codecs,
    Flag,
    Hash,
    Int,
    Key,
    Many,
    Maybe,
    Pairs,
    PriceKind,
    Seconds,
    String,
    SymbolKind,
    Wide,
    asset_from_nai,
)
from state.protocol.codec.kinds.containers import sort_key, sorted_unique
from state.protocol.errors import ChainError
from state.protocol.keys.keys import secret_from_wif
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset, Price
from state.protocol.values.integers import INT64_MAX
from state.protocol.values.text import size

NAME_BYTES = 16
PUBLIC_KEY = Key()
PERCENT = re.compile(r"(-?)(\d{1,3})(?:\.(\d{1,2}))?%", re.ASCII)
NUMBER = re.compile(r"[+-]?\d{1,39}", re.ASCII)
AMOUNT = re.compile(r"(\d{1,16})(?:\.(\d{1,12}))? ([A-Z]{1,8}|@@\d{9})", re.ASCII)
NAI_SYMBOL = re.compile(r"(@@\d{9})[./](\d{1,2})", re.ASCII)
AMOUNT_FORM = 'an amount with its symbol, for example "1.000 COIN"'


PROPERTIES: dict[str, Any] = {
    "key": Key(),
    "new_signing_key": Key(),
    "account_creation_fee": AssetKind(),
    "maximum_block_size": Int(32),
    "sbd_interest_rate": Int(16),
    "sbd_exchange_rate": PriceKind(),
    "url": String(),
    "account_subsidy_budget": Int(32, signed=True),
    "account_subsidy_decay": Int(32),
}
"""The types of the packed values of witness_set_properties, by name (operations.md §7.2)."""


@dataclass(frozen=True)
class Context:
    """What the parsers need to know: the codecs of the chain, and its current time."""

    codecs: Codecs
    now: int


class BadText(Exception):
    """Error for a malformed string. The message contains the expected form."""


@singledispatch
def describe(kind: object) -> str:
    """Describe a kind of field for the help text."""
    return "JSON"


@describe.register
def _class_words(kind: type) -> str:
    if kind is Authority:
        return "authority: a public key, or JSON"
    return "JSON object with " + ", ".join(field.json for field in shown_fields(kind, True))


@describe.register
def _bounded_words(kind: Bounded) -> str:
    return "account name" if kind.size == NAME_BYTES else f"text of at most {kind.size} bytes"


@describe.register
def _int_words(kind: Int) -> str:
    low, high = bounds(kind)
    return f"number from {low} to {high}" + (", or percent, for example 50%" if kind.bits == 16 else "")


@describe.register
def _hash_words(kind: Hash) -> str:
    return f"{kind.size} bytes in hex"


@describe.register
def _maybe_words(kind: Maybe) -> str:
    return describe(kind.element)


@describe.register
def _many_words(kind: Many) -> str:
    return "JSON list" if is_nested(kind.element) else f"{describe(kind.element)}; separate several by commas"


for _of, _words in (
    (String, "text"),
    (AssetKind, 'amount, for example "1.000 COIN"'),
    (PriceKind, 'price, for example "0.250 SBD/1.000 COIN"'),
    (SymbolKind, "symbol, for example COIN or @@100000006.3"),
    (Key, "public key"),
    (Seconds, "time, for example 2026-01-31T12:00:00 or +1h"),
    (Flag, "yes or no"),
    (Wide, "number up to 2^128-1"),
    (Blob, "bytes in hex"),
    (Pairs, 'JSON object, for example {"key": "TST...", "url": "https://..."}'),
):
    describe.register(_of, lambda kind, text=_words: text)


def is_nested(kind: Any) -> bool:
    """Whether a value of this kind contains other values. A list of such values can't be separated by commas."""
    return isinstance(kind, type) or not isinstance(kind, Bounded | String | Int | Key | AssetKind)


def bounds(kind: Int) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer field."""
    half = 1 << (kind.bits - 1)
    return (-half, half - 1) if kind.signed else (0, 2 * half - 1)


def parse(kind: Any, text: str, context: Context) -> Any:
    """Parse the string given for a field of this kind. Raises BadText."""
    try:
        return read_kind(kind, text, context)
    except ChainError:
        raise BadText(expected(kind, context)) from None
    except NodeError as error:
        raise BadText(str(error)) from None


def expected(kind: Any, context: Context) -> str:
    """Describe the form that a string must have. For keys it includes the chain's prefix, because a wrong prefix is the most frequent
    mistake.
    """
    inner = kind.element if isinstance(kind, Maybe) else kind
    prefix = f" that starts with {context.codecs.spec.key_prefix}" if isinstance(inner, Key) or inner is Authority else ""
    return f"expected {'a public key' if prefix else describe(kind)}{prefix}"


def require_public_key(name: str, text: str, codecs: Codecs) -> None:
    """Raise NodeError unless an argument is a public key. If the user gave a private key by mistake, the message doesn't contain it."""
    try:
        parse(Key(), text.strip(), Context(codecs, 0))
    except BadText as error:
        given = "a private key" if is_private_key(text.strip()) else repr(text)
        raise NodeError(f"{name} is {given}, {error}") from None


def is_private_key(text: str) -> bool:
    """Whether a string is a private key in wallet import format."""
    try:
        secret_from_wif(text)
    except ChainError:
        return False
    return True


@singledispatch
def read_kind(kind: Any, text: str, context: Context) -> Any:
    """Parse a string according to its kind. For kinds without their own syntax, the string is JSON in the condenser's form."""
    return read_json(kind, text, context)


@read_kind.register
def read_declared(kind: type, text: str, context: Context) -> Any:
    """Parse the JSON of a field whose type is a declared class. For an authority, a single public key is accepted too."""
    if kind is Authority and not text.lstrip().startswith("{"):
        return key_authority(context.codecs.parser(PUBLIC_KEY)(text))
    return read_json(kind, text, context)


@read_kind.register
def read_maybe(kind: Maybe, text: str, context: Context) -> Any:
    """Parse an optional value."""
    return read_kind(kind.element, text, context)


@read_kind.register
def read_many(kind: Many, text: str, context: Context) -> Any:
    """Parse plain values separated by commas, or a JSON list."""
    if text.lstrip().startswith("["):
        return read_json(kind, text, context) if is_nested(kind.element) else read_listed(kind, text, context)
    if is_nested(kind.element):
        raise BadText(f"expected {describe(kind)}")
    items = [part.strip() for part in text.split(",")] if text.strip() else []
    return collected(kind, [read_kind(kind.element, item, context) for item in items])


def read_listed(kind: Many, text: str, context: Context) -> Any:
    """Parse a JSON list of plain values, each with the syntax of a single value."""
    given = parsed_json(text)
    if not isinstance(given, list):
        raise BadText("expected a JSON list")
    values = [read_kind(kind.element, item if isinstance(item, str) else json.dumps(item), context) for item in given]
    return collected(kind, values)


def collected(kind: Many, values: list[Any]) -> tuple[Any, ...]:
    """Return the values of a list as a tuple. If the list is a set, sort the values in the chain's order and drop duplicates."""
    return sorted_unique(values, sort_key) if kind.ascending or kind.strict else tuple(values)


@read_kind.register
def read_properties(kind: Pairs, text: str, context: Context) -> Any:
    """Parse witness properties: a JSON object of names and values, which are packed here, or a JSON list of pairs whose values are already
    packed, in hex.
    """
    if not text.lstrip().startswith("{"):
        return read_json(kind, text, context)
    given = parsed_json(text)
    pairs = []
    for name, value in given.items():
        if name not in PROPERTIES:
            raise BadText(f"unknown property {name!r}, expected {', '.join(PROPERTIES)}")
        of = PROPERTIES[name]
        packed = context.codecs.packer(of)(read_kind(of, value if isinstance(value, str) else json.dumps(value), context))
        pairs.append([name, packed.hex()])
    return context.codecs.parser(kind)(pairs)


@read_kind.register
def read_bounded(kind: Bounded, text: str, context: Context) -> str:
    """Parse a string whose length is limited. The chain would truncate a longer one, so it is refused."""
    if size(text) > kind.size:
        raise BadText(f"expected at most {kind.size} bytes")
    if "\0" in text:
        raise BadText("expected a text without a NUL")
    return text


@read_kind.register
def read_text(kind: String, text: str, context: Context) -> str:
    """Return a string, which can have any length."""
    return text


@read_kind.register
def read_int(kind: Int, text: str, context: Context) -> int:
    """Parse an integer. For a 16-bit field it can also be in percent, since such fields contain basis points."""
    low, high = bounds(kind)
    percent = PERCENT.fullmatch(text)
    if percent and kind.bits == 16:
        number = int(percent[2]) * 100 + int((percent[3] or "").ljust(2, "0"))
        number = -number if percent[1] else number
    elif NUMBER.fullmatch(text):
        number = int(text)
    else:
        raise BadText(f"expected a {describe(kind)}")
    if not low <= number <= high:
        raise BadText(f"expected a {describe(kind)}")
    return number


@read_kind.register
def read_wide(kind: Wide, text: str, context: Context) -> int:
    """Parse a 128-bit integer."""
    if not NUMBER.fullmatch(text) or not 0 <= int(text) < 1 << 128:
        raise BadText(f"expected a {describe(kind)}")
    return int(text)


@read_kind.register
def read_asset(kind: AssetKind, text: str, context: Context) -> Asset:
    """Parse an amount. It is text that ends with a symbol of the chain or a NAI, or JSON in the NAI form. Missing decimals are zeros."""
    if text.lstrip().startswith("{"):
        return asset_from_nai(parsed_json(text))
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise BadText(f"expected {AMOUNT_FORM}{misspelt(text.strip())}")
    whole, fraction, name = match[1], match[2] or "", match[3]
    symbol = fixed_symbol(name, context) if not name.startswith("@@") else nai_symbol(name, len(fraction))
    places = assets.decimals(symbol)
    if len(fraction) > places:
        raise BadText(f"expected at most {places} decimals of {name}")
    amount = int(whole + fraction.ljust(places, "0"))
    if amount > INT64_MAX:
        raise BadText("expected an amount of at most 64 bits")
    return Asset(amount, symbol)


def misspelt(text: str) -> str:
    """Return a hint on a common mistake in an amount, which is appended to the error, or ""."""
    if text.startswith("-"):
        return ", of zero or more"
    if AMOUNT.fullmatch(text.upper()):
        return ": symbols are in capitals"
    if "," in text:
        return ", with a decimal point and no thousands separators"
    return ""


def fixed_symbol(name: str, context: Context) -> int:
    """Return the chain's symbol with this name. Raises BadText."""
    letters = context.codecs.symbols.letters
    for symbol, spelled in letters.items():
        if spelled == name:
            return symbol
    raise BadText(f"{name} is not a symbol of this chain, which has {', '.join(letters.values())}")


def nai_symbol(nai: str, places: int) -> int:
    """Return the symbol that has this NAI and `places` decimals."""
    return asset_from_nai({"amount": "0", "precision": places, "nai": nai}).symbol


@read_kind.register
def read_symbol(kind: SymbolKind, text: str, context: Context) -> int:
    """Parse a symbol, given by its name on the chain, by a NAI and the number of decimals, or as JSON."""
    if text.lstrip().startswith("{"):
        symbol: int = context.codecs.parser(kind)(parsed_json(text))
        return symbol
    match = NAI_SYMBOL.fullmatch(text)
    return nai_symbol(match[1], int(match[2])) if match else fixed_symbol(text, context)


@read_kind.register
def read_price(kind: PriceKind, text: str, context: Context) -> Price:
    """Parse a price, given as two amounts separated by a slash, or as JSON with `base` and `quote`."""
    if text.lstrip().startswith("{"):
        return price_of(parsed_json(text), context)
    base, slash, quote = text.partition("/")
    if not slash:
        raise BadText(f"expected a {describe(kind)}")
    return Price(read_asset(AssetKind(), base, context), read_asset(AssetKind(), quote, context))


def price_of(given: Any, context: Context) -> Price:
    """Convert the JSON object of a price. Each of its amounts is text or in the NAI form."""
    if not isinstance(given, dict) or set(given) != {"base", "quote"}:
        raise BadText("expected a JSON object with base and quote")
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (given["base"], given["quote"])]
    base, quote = (read_asset(AssetKind(), text, context) for text in texts)
    return Price(base, quote)


@read_kind.register
def read_flag(kind: Flag, text: str, context: Context) -> bool:
    """Parse a boolean, which can be a single value or an element of a list."""
    if text not in ("true", "false"):
        raise BadText("expected true or false")
    return text == "true"


@read_kind.register
def read_time(kind: Seconds, text: str, context: Context) -> int:
    """Parse a time."""
    return moment(text, context.now)


@read_kind.register
def read_hash(kind: Hash, text: str, context: Context) -> bytes:
    """Parse a hash, given as hex digits. None of the digits can be omitted."""
    data = read_blob(Blob(), text, context)
    if len(data) != kind.size:
        raise BadText(f"expected {describe(kind)}")
    return data


@read_kind.register
def read_blob(kind: Blob, text: str, context: Context) -> bytes:
    """Parse bytes in hex."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise BadText("expected bytes in hex, two digits each") from None


@read_kind.register
def read_key(kind: Key, text: str, context: Context) -> bytes:
    """Parse a public key."""
    key: bytes = context.codecs.parser(kind)(text)
    return key


def read_json(kind: Any, text: str, context: Context) -> Any:
    """Parse JSON in the condenser's form. Unknown fields are refused, since the chain would ignore them."""
    given = parsed_json(text)
    require_members(kind, given, context)
    return context.codecs.parser(kind, True)(given)


def require_members(kind: Any, given: Any, context: Context) -> None:
    """Raise BadText unless the JSON of a declared type is an object that has only known fields."""
    if not isinstance(kind, type):
        return
    if not isinstance(given, dict):
        raise BadText(f"expected a {describe(kind)}")
    spell = context.codecs.spec.spell
    known = [field.json for field in shown_fields(kind, True)]
    extra = getattr(kind, "LEGACY_EXTRA", {})
    for name in given:
        if name not in known and name not in extra and name not in map(spell, known):
            raise BadText(f"unknown member {name!r}, expected {', '.join(known)}")


def parsed_json(text: str) -> Any:
    """Decode a JSON string. Raises BadText."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadText(f"expected JSON: {error}") from None
