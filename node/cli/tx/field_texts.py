"""How each kind of field is written on a command line: the words for its type, and the reader of its text.

Readers refuse what would not arrive as it was written: where the chain cuts a long name or wraps a number, a command says no.
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
from state.protocol.codec.kinds.containers import ordered, sort_key
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
AMOUNT_FORM = 'an amount with its symbol, as "1.000 COIN"'


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
"""What the packed values of witness_set_properties hold, by name (operations.md §7.2)."""


@dataclass(frozen=True)
class Context:
    """What texts are read with: the codecs of the chain, and its time."""

    codecs: Codecs
    now: int


class BadText(Exception):
    """A text can't be read; the message says what was expected."""


@singledispatch
def words(kind: object) -> str:
    """Return the words for a kind of field, as help shows them."""
    return "JSON"


@words.register
def _class_words(kind: type) -> str:
    if kind is Authority:
        return "authority: a public key, or JSON"
    return "JSON object with " + ", ".join(field.json for field in shown_fields(kind, True))


@words.register
def _bounded_words(kind: Bounded) -> str:
    return "account name" if kind.size == NAME_BYTES else f"text of at most {kind.size} bytes"


@words.register
def _int_words(kind: Int) -> str:
    low, high = bounds(kind)
    return f"number from {low} to {high}" + (", or percent as 50%" if kind.bits == 16 else "")


@words.register
def _hash_words(kind: Hash) -> str:
    return f"{kind.size} bytes in hex"


@words.register
def _maybe_words(kind: Maybe) -> str:
    return words(kind.element)


@words.register
def _many_words(kind: Many) -> str:
    return "JSON list" if is_nested(kind.element) else f"{words(kind.element)}; several with commas between"


for _of, _words in (
    (String, "text"),
    (AssetKind, 'amount, as "1.000 COIN"'),
    (PriceKind, 'price, as "0.250 SBD/1.000 COIN"'),
    (SymbolKind, "symbol, as COIN or @@100000006.3"),
    (Key, "public key"),
    (Seconds, "time, as 2026-01-31T12:00:00 or +1h"),
    (Flag, "yes or no"),
    (Wide, "number up to 2^128-1"),
    (Blob, "bytes in hex"),
    (Pairs, 'JSON object by name, as {"key": "TST...", "url": "https://..."}'),
):
    words.register(_of, lambda kind, text=_words: text)


def is_nested(kind: Any) -> bool:
    """Whether a value of this kind holds others, so that a list of them can't be written with commas."""
    return isinstance(kind, type) or not isinstance(kind, Bounded | String | Int | Key | AssetKind)


def bounds(kind: Int) -> tuple[int, int]:
    """Return the least and the greatest value of an integer. A share is 64 bits with a sign; the chain refuses negative ones."""
    half = 1 << (kind.bits - 1)
    return (-half, half - 1) if kind.signed else (0, 2 * half - 1)


def read(kind: Any, text: str, context: Context) -> Any:
    """Return the value that a text stands for. Raises BadText."""
    try:
        return read_kind(kind, text, context)
    except ChainError:
        raise BadText(expected(kind, context)) from None
    except NodeError as error:
        raise BadText(str(error)) from None


def expected(kind: Any, context: Context) -> str:
    """Return what a text that can't be read should have been; of keys with the chain's prefix, which is what most often is wrong."""
    inner = kind.element if isinstance(kind, Maybe) else kind
    prefix = f" that starts with {context.codecs.spec.key_prefix}" if isinstance(inner, Key) or inner is Authority else ""
    return f"expected {'a public key' if prefix else words(kind)}{prefix}"


def require_public_key(name: str, text: str, codecs: Codecs) -> None:
    """Read the public key of an argument. Raises NodeError, which doesn't repeat a private key that was given by mistake."""
    try:
        read(Key(), text.strip(), Context(codecs, 0))
    except BadText as error:
        given = "a private key" if is_private_key(text.strip()) else repr(text)
        raise NodeError(f"{name} is {given}; {error}") from None


def is_private_key(text: str) -> bool:
    """Whether a text is a private key in wallet import format."""
    try:
        secret_from_wif(text)
    except ChainError:
        return False
    return True


@singledispatch
def read_kind(kind: Any, text: str, context: Context) -> Any:
    """Return the value of a text by its kind; anything that has no form of its own is JSON as the condenser writes it."""
    return read_json(kind, text, context)


@read_kind.register
def read_declared(kind: type, text: str, context: Context) -> Any:
    """Read JSON of a declared class; an authority may be one public key."""
    if kind is Authority and not text.lstrip().startswith("{"):
        return key_authority(context.codecs.parser(PUBLIC_KEY)(text))
    return read_json(kind, text, context)


@read_kind.register
def read_maybe(kind: Maybe, text: str, context: Context) -> Any:
    """Read a value that may be left out."""
    return read_kind(kind.element, text, context)


@read_kind.register
def read_many(kind: Many, text: str, context: Context) -> Any:
    """Read plain values with commas between them, or a JSON list."""
    if text.lstrip().startswith("["):
        return read_json(kind, text, context) if is_nested(kind.element) else read_listed(kind, text, context)
    if is_nested(kind.element):
        raise BadText(f"expected {words(kind)}")
    items = [part.strip() for part in text.split(",")] if text.strip() else []
    return collected(kind, [read_kind(kind.element, item, context) for item in items])


def read_listed(kind: Many, text: str, context: Context) -> Any:
    """Return the values of a JSON list of plain values, each of which is read as if it stood there alone."""
    given = parsed_json(text)
    if not isinstance(given, list):
        raise BadText("expected a JSON list")
    values = [read_kind(kind.element, item if isinstance(item, str) else json.dumps(item), context) for item in given]
    return collected(kind, values)


def collected(kind: Many, values: list[Any]) -> tuple[Any, ...]:
    """Return the values of a list; those of a set in the chain's order, each once."""
    return ordered(values, sort_key) if kind.ascending or kind.strict else tuple(values)


@read_kind.register
def read_properties(kind: Pairs, text: str, context: Context) -> Any:
    """Read witness properties by name and pack them; a list of pairs has them packed already, in hex."""
    if not text.lstrip().startswith("{"):
        return read_json(kind, text, context)
    given = parsed_json(text)
    pairs = []
    for name, value in given.items():
        if name not in PROPERTIES:
            raise BadText(f"there is no property {name!r}; expected {', '.join(PROPERTIES)}")
        of = PROPERTIES[name]
        packed = context.codecs.packer(of)(read_kind(of, value if isinstance(value, str) else json.dumps(value), context))
        pairs.append([name, packed.hex()])
    return context.codecs.parser(kind)(pairs)


@read_kind.register
def read_bounded(kind: Bounded, text: str, context: Context) -> str:
    """Read a text that the chain would cut."""
    if size(text) > kind.size:
        raise BadText(f"expected at most {kind.size} bytes")
    if "\0" in text:
        raise BadText("expected a text without a NUL")
    return text


@read_kind.register
def read_text(kind: String, text: str, context: Context) -> str:
    """Read a text of any length."""
    return text


@read_kind.register
def read_int(kind: Int, text: str, context: Context) -> int:
    """Read a number; one of 16 bits may be in percent, since those count in basis points."""
    low, high = bounds(kind)
    percent = PERCENT.fullmatch(text)
    if percent and kind.bits == 16:
        number = int(percent[2]) * 100 + int((percent[3] or "").ljust(2, "0"))
        number = -number if percent[1] else number
    elif NUMBER.fullmatch(text):
        number = int(text)
    else:
        raise BadText(f"expected a {words(kind)}")
    if not low <= number <= high:
        raise BadText(f"expected a {words(kind)}")
    return number


@read_kind.register
def read_wide(kind: Wide, text: str, context: Context) -> int:
    """Read a number of 128 bits."""
    if not NUMBER.fullmatch(text) or not 0 <= int(text) < 1 << 128:
        raise BadText(f"expected a {words(kind)}")
    return int(text)


@read_kind.register
def read_asset(kind: AssetKind, text: str, context: Context) -> Asset:
    """Read an amount: text of the chain's symbols or a NAI, or the JSON of the NAI form. Missing decimals are zeros."""
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
        raise BadText("expected a smaller amount: it has more than 64 bits")
    return Asset(amount, symbol)


def misspelt(text: str) -> str:
    """Return what is wrong with an amount where that is easily overlooked, to follow what was expected."""
    if text.startswith("-"):
        return ", of zero or more"
    if AMOUNT.fullmatch(text.upper()):
        return ": symbols are in capitals"
    if "," in text:
        return ", with a point before the decimals and nothing between thousands"
    return ""


def fixed_symbol(name: str, context: Context) -> int:
    """Return the symbol of these letters on the chain."""
    letters = context.codecs.symbols.letters
    for symbol, spelled in letters.items():
        if spelled == name:
            return symbol
    raise BadText(f"{name} is no symbol of this chain; it has {', '.join(letters.values())}")


def nai_symbol(nai: str, places: int) -> int:
    """Return the symbol of a NAI with so many decimals."""
    return asset_from_nai({"amount": "0", "precision": places, "nai": nai}).symbol


@read_kind.register
def read_symbol(kind: SymbolKind, text: str, context: Context) -> int:
    """Read a symbol: letters of the chain, a NAI with its decimals, or JSON."""
    if text.lstrip().startswith("{"):
        symbol: int = context.codecs.parser(kind)(parsed_json(text))
        return symbol
    match = NAI_SYMBOL.fullmatch(text)
    return nai_symbol(match[1], int(match[2])) if match else fixed_symbol(text, context)


@read_kind.register
def read_price(kind: PriceKind, text: str, context: Context) -> Price:
    """Read a price: two amounts with a slash between them, or the JSON of its base and quote."""
    if text.lstrip().startswith("{"):
        return price_of(parsed_json(text), context)
    base, slash, quote = text.partition("/")
    if not slash:
        raise BadText(f"expected a {words(kind)}")
    return Price(read_asset(AssetKind(), base, context), read_asset(AssetKind(), quote, context))


def price_of(given: Any, context: Context) -> Price:
    """Return the price of a JSON object whose assets are in either form."""
    if not isinstance(given, dict) or set(given) != {"base", "quote"}:
        raise BadText("expected a JSON object with base and quote")
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (given["base"], given["quote"])]
    base, quote = (read_asset(AssetKind(), text, context) for text in texts)
    return Price(base, quote)


@read_kind.register
def read_flag(kind: Flag, text: str, context: Context) -> bool:
    """Read a yes or no where it stands in a list or alone."""
    if text not in ("true", "false"):
        raise BadText("expected true or false")
    return text == "true"


@read_kind.register
def read_time(kind: Seconds, text: str, context: Context) -> int:
    """Read a point of time."""
    return moment(text, context.now)


@read_kind.register
def read_hash(kind: Hash, text: str, context: Context) -> bytes:
    """Read a hash with all of its bytes."""
    data = read_blob(Blob(), text, context)
    if len(data) != kind.size:
        raise BadText(f"expected {words(kind)}")
    return data


@read_kind.register
def read_blob(kind: Blob, text: str, context: Context) -> bytes:
    """Read bytes in hex."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise BadText("expected bytes in hex, two digits each") from None


@read_kind.register
def read_key(kind: Key, text: str, context: Context) -> bytes:
    """Read a public key."""
    key: bytes = context.codecs.parser(kind)(text)
    return key


def read_json(kind: Any, text: str, context: Context) -> Any:
    """Read JSON, in the form of the condenser; members that the type doesn't have are refused, since they would be passed over."""
    given = parsed_json(text)
    require_members(kind, given, context)
    return context.codecs.parser(kind, True)(given)


def require_members(kind: Any, given: Any, context: Context) -> None:
    """Refuse JSON that isn't an object where one is needed, or has members that a declared type doesn't know."""
    if not isinstance(kind, type):
        return
    if not isinstance(given, dict):
        raise BadText(f"expected a {words(kind)}")
    spell = context.codecs.spec.spell
    known = [field.json for field in shown_fields(kind, True)]
    extra = getattr(kind, "LEGACY_EXTRA", {})
    for name in given:
        if name not in known and name not in extra and name not in map(spell, known):
            raise BadText(f"it has a member {name!r}; expected {', '.join(known)}")


def parsed_json(text: str) -> Any:
    """Return the value of a JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadText(f"expected JSON: {error}") from None
