"""How each kind of field is written and read: bytes, and the two JSON forms. No chain rule, no state.

A kind is declared once and is bound to a chain by `Codecs` (codec.py), which asks it for the four functions:

    packer(codecs)          value -> bytes
    unpacker(codecs)        bytes, position -> value, position
    dumper(codecs, legacy)  value -> JSON value, or None when the value is its own JSON form
    parser(codecs, legacy)  JSON value -> value

`legacy` is the condenser's dialect (wire-format.md §5), otherwise the NAI form. Sources: wire-format.md §1.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Layout
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from state.protocol import asset as assets
from state.protocol.asset import Asset, Price
from state.protocol.convert import json_int, to_array, to_bool, to_int, to_object, to_text, to_u128
from state.protocol.errors import BadCast, OutOfRange, Refused, require
from state.protocol.keys import public_key_from_text, public_key_text
from state.protocol.text import cut, decode, encode, fixed_hex, hex_bytes, time_from_text, time_text, version_from_text, version_text

if TYPE_CHECKING:
    from state.protocol.codec import Codecs

Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes, int], tuple[Any, int]]
Dump = Callable[[Any], Any]
Parse = Callable[[Any], Any]

COUNT_BYTES_MAX = 10_485_760
LENGTHS = tuple(bytes((n,)) for n in range(128))


class Kind:
    """Base of all kinds. `layout` is a struct code for kinds of fixed size that struct reads as they are."""

    layout: str = ""
    default: Any = None

    def packer(self, codecs: Codecs) -> Pack:
        """How a value is packed."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def unpacker(self, codecs: Codecs) -> Unpack:
        """How a value is read from bytes."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        """How a value is written as JSON; None when it is its own JSON form."""
        return None

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        """How a value is read from JSON."""
        raise TypeError(f"{type(self).__name__} is only written")


# ------------------------------------------------------------------ lengths and counts


def pack_length(n: int) -> bytes:
    """A varint: unsigned LEB128, low bits first."""
    if n < 128:
        return LENGTHS[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def unpack_length(data: bytes, i: int) -> tuple[int, int]:
    """A varint of at most five bytes; bits above 2^32 are lost, as in the reference."""
    n = shift = 0
    for _ in range(5):
        byte = data[i]
        i += 1
        n |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return n & 0xFFFFFFFF, i


def unpack_count(data: bytes, i: int) -> tuple[int, int]:
    """The number of elements of a container, bounded by the bytes that are left."""
    n = data[i]
    i += 1
    if n > 127:
        n, i = unpack_length(data, i - 1)
    if n > len(data) - i:
        raise OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=n - (len(data) - i))
    return n, i


# ------------------------------------------------------------------ scalars


class Fixed(Kind):
    """A value of fixed size that `struct` reads and writes."""

    def packer(self, codecs: Codecs) -> Pack:
        return Layout("<" + self.layout).pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        layout = Layout("<" + self.layout)
        read, size = layout.unpack_from, layout.size

        def unpack(data: bytes, i: int) -> tuple[Any, int]:
            return read(data, i)[0], i + size

        return unpack


class Int(Fixed):
    """A machine integer; narrowing wraps silently, as in the reference. Written as text above 2^32-1."""

    default = 0

    def __init__(self, bits: int, signed: bool = False) -> None:
        self.bits, self.signed = bits, signed
        code = {8: "b", 16: "h", 32: "i", 64: "q"}[bits]
        self.layout = code if signed else code.upper()

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return json_int if self.bits == 64 else None

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        bits, signed = self.bits, self.signed
        top = 1 << (bits - 1)

        def parse(value: Any) -> int:
            if type(value) is int and 0 <= value < top:
                return value
            return to_int(value, bits, signed)

        return parse


class ShareAmount(Int):
    """A checked int64, read as an unsigned number and reinterpreted."""

    def __init__(self) -> None:
        super().__init__(64, signed=True)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        def parse(value: Any) -> int:
            number = to_int(value, 64, False)
            return number if number < 1 << 63 else number - (1 << 64)

        return parse


class Wide(Kind):
    """An unsigned 128-bit number: high word first, each little-endian; always text in JSON."""

    default = 0

    def packer(self, codecs: Codecs) -> Pack:
        pack = Layout("<QQ").pack
        return lambda value: pack(value >> 64, value & 0xFFFFFFFFFFFFFFFF)

    def unpacker(self, codecs: Codecs) -> Unpack:
        read = Layout("<QQ").unpack_from

        def unpack(data: bytes, i: int) -> tuple[int, int]:
            high, low = read(data, i)
            return high << 64 | low, i + 16

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return str

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return to_u128


class Flag(Kind):
    """A bool; bytes other than 0 and 1 fail."""

    default = False

    def packer(self, codecs: Codecs) -> Pack:
        return lambda value: b"\1" if value else b"\0"

    def unpacker(self, codecs: Codecs) -> Unpack:
        return lambda data, i: (flag(data[i]), i + 1)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return to_bool


def flag(byte: int) -> bool:
    """The bool that a byte stands for."""
    if byte > 1:
        raise Refused(condition="( b & ~1 ) == 0")
    return byte == 1


class Seconds(Fixed):
    """A point of time, unsigned 32-bit seconds."""

    layout = "I"
    default = 0

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return time_text

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return lambda value: time_from_text(value if type(value) is str else to_text(value))


class Choice(Fixed):
    """An enumeration, packed as 8 bytes; JSON holds the name, and takes names, indices and numeric text."""

    layout = "q"
    default = 0

    def __init__(self, title: str, *names: str) -> None:
        self.title, self.names = title, names

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        names = self.names
        return lambda value: names[value] if 0 <= value < len(names) else str(value)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        def parse(value: Any) -> int:
            if value in self.names:
                return self.names.index(value)
            text = to_text(value)
            if text.isascii() and text.isdigit() and int(text) < len(self.names):
                return int(text)
            raise BadCast("invalid name '${name}' in enum '${enum}'", name=text, enum=self.title)

        return parse


class Hash(Fixed):
    """Raw bytes of a fixed size, hex in JSON: shorter text is zero-filled on the right, longer cut."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.layout = f"{size}s"
        self.default = bytes(size)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return bytes.hex

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        size = self.size
        return lambda value: fixed_hex(value if type(value) is str else to_text(value), size)


class Key(Fixed):
    """A public key, a compressed point of 33 bytes; all zero is no key."""

    layout = "33s"
    default = bytes(33)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        prefix = codecs.spec.key_prefix
        return lambda value: public_key_text(value, prefix)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        prefix = codecs.spec.key_prefix
        return lambda value: public_key_from_text(value if type(value) is str else to_text(value), prefix)


class Release(Fixed):
    """A software version: major, hardfork and release in one number; a hardfork version has no release."""

    layout = "I"
    default = 0

    def __init__(self, mask: int = 0xFFFFFFFF) -> None:
        self.mask = mask

    def unpacker(self, codecs: Codecs) -> Unpack:
        read, mask = Layout("<I").unpack_from, self.mask
        return lambda data, i: (read(data, i)[0] & mask, i + 4)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return version_text

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        mask = self.mask
        return lambda value: version_from_text(to_text(value)) & mask


# ------------------------------------------------------------------ text and bytes


class String(Kind):
    """Text of any length: bytes that are no UTF-8 survive as surrogate escapes."""

    default = ""

    def packer(self, codecs: Codecs) -> Pack:
        return pack_text

    def unpacker(self, codecs: Codecs) -> Unpack:
        return unpack_text

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return text_from_json


def text_from_json(value: Any) -> str:
    """A text, or any other scalar as it prints."""
    return value if type(value) is str else to_text(value)


def pack_text(value: str) -> bytes:
    """A length and the bytes of a text."""
    data = encode(value)
    n = len(data)
    return (LENGTHS[n] if n < 128 else pack_length(n)) + data


def unpack_text(data: bytes, i: int) -> tuple[str, int]:
    """A text of any bytes."""
    n, i = unpack_count(data, i)
    return decode(data[i : i + n]), i + n


class Bounded(String):
    """Text that is cut to a number of bytes when it is read: account names (16), custom ids (32)."""

    def __init__(self, size: int) -> None:
        self.size = size

    def unpacker(self, codecs: Codecs) -> Unpack:
        size = self.size

        def unpack(data: bytes, i: int) -> tuple[str, int]:
            n, i = unpack_count(data, i)
            text = decode(data[i : i + n])
            return (cut(text, size) if n > size or "\0" in text else text), i + n

        return unpack

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        size = self.size

        def parse(value: Any) -> str:
            if type(value) is not str:
                value = to_text(value)
            return value if len(value) <= size and value.isascii() and "\0" not in value else cut(value, size)

        return parse


class Blob(Kind):
    """Bytes of any length, hex in JSON."""

    default = b""

    def packer(self, codecs: Codecs) -> Pack:
        return lambda value: pack_length(len(value)) + value

    def unpacker(self, codecs: Codecs) -> Unpack:
        def unpack(data: bytes, i: int) -> tuple[bytes, int]:
            n, i = unpack_count(data, i)
            return data[i : i + n], i + n

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return bytes.hex

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return lambda value: hex_bytes(to_text(value))


# ------------------------------------------------------------------ money


class SymbolKind(Kind):
    """An asset's symbol: 8 bytes for the three fixed ones, 4 for SMTs."""

    default = assets.COIN

    def packer(self, codecs: Codecs) -> Pack:
        tails, number = codecs.symbol_tails, Layout("<I").pack
        return lambda value: tails.get(value) or number(value)

    def unpacker(self, codecs: Codecs) -> Unpack:
        return codecs.unpack_symbol

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda value: {"nai": assets.nai_text(value), "decimals": assets.decimals(value)}

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return symbol_from_json


def natural(value: Any) -> bool:
    """Whether a JSON value is an unsigned integer as written."""
    return type(value) is int and 0 <= value < 1 << 64


def symbol_from_json(value: Any) -> int:
    """`{"nai": text, "decimals": number}`; everything else is refused by name."""
    require(isinstance(value, dict), "Asset symbol is expected to be an object.", condition="var.is_object()")
    for key in ("nai", "decimals"):
        require(key in value, "Expected key '${key}'.", condition="o.contains(key)", key=key)
    nai, precision = value["nai"], value["decimals"]
    require(isinstance(nai, str), "Expected a string type for value '${key}'.", condition="nai.is_string()", key="nai")
    require(natural(precision), "Expected an unsigned integer type for value '${key}'.", condition="is_uint64()", key="decimals")
    most = assets.DECIMALS_MAX
    require(precision <= most, "Expected decimals to be less than or equal to ${max}", condition="decimals <= max", max=most)
    return symbol_from_nai(nai, precision)


def symbol_from_nai(nai: str, precision: int) -> int:
    """The symbol of a NAI text, which carries a check digit."""
    require(len(nai) == 11, "Incorrect NAI string length", condition="str.length() == COIN_ASSET_SYMBOL_NAI_STRING_LENGTH - 1")
    require(nai.startswith("@@"), "Invalid NAI string prefix", condition='str[0] == "@" && str[1] == "@"')
    number = to_lexical(nai[2:], 32)
    digits, check = divmod(number, 10)
    require(
        assets.NAI_MIN <= digits <= assets.NAI_MAX,
        "NAI out of range",
        condition="(nai_data_digits >= SMT_MIN_NAI) & (nai_data_digits <= SMT_MAX_NAI)",
    )
    require(
        assets.check_digit(digits) == check,
        "Invalid check digit",
        condition="nai_check_digit == damm_checksum_8digit(nai_data_digits)",
    )
    return assets.symbol_from_digits(digits, precision)


def to_lexical(text: str, bits: int) -> int:
    """A number as boost's lexical_cast reads it into an unsigned integer: sign, digits, wrapping negatives."""
    from state.protocol.errors import LexicalCast

    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise LexicalCast
    number = int(digits)
    if number >= 1 << bits:
        raise LexicalCast
    return -number % (1 << bits) if text[0] == "-" else number


def lexical_amount(text: str) -> int:
    """The amount of a NAI asset: a signed 64-bit number as text, blanks and exponents refused."""
    from state.protocol.errors import LexicalCast

    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 400:
        raise LexicalCast
    number = -int(digits) if text[0] == "-" else int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise LexicalCast
    return number


def asset_from_nai(value: Any) -> Asset:
    """`{"amount": text, "precision": number, "nai": text}`; everything else is refused by name."""
    require(isinstance(value, dict), "Asset has to be treated as object.", condition="var.is_object()")
    require("amount" in value, "Amount field doesn't exist.", condition="v_object.contains( ASSET_AMOUNT_KEY )")
    amount = value["amount"]
    kind = "Expected a string type for value '${key}'."
    require(isinstance(amount, str), kind, condition="v_object[ ASSET_AMOUNT_KEY ].is_string()", key="amount")
    number = lexical_amount(amount)
    require(number >= 0, "Asset amount cannot be negative", condition="vo.amount >= 0")
    require("precision" in value, "Precision field doesn't exist.", condition="v_object.contains( ASSET_PRECISION_KEY )")
    precision = value["precision"]
    unsigned = "Expected an unsigned integer type for value '${key}'."
    require(natural(precision), unsigned, condition="v_object[ ASSET_PRECISION_KEY ].is_uint64()", key="precision")
    require("nai" in value, "NAI field doesn't exist.", condition="v_object.contains( ASSET_NAI_KEY )")
    nai = value["nai"]
    require(isinstance(nai, str), kind, condition="v_object[ ASSET_NAI_KEY ].is_string()", key="nai")
    return Asset(number, symbol_from_nai(nai, precision % 256))


def asset_nai(value: Asset) -> dict[str, Any]:
    """The NAI form of an asset."""
    symbol = value.symbol
    return {"amount": str(value.amount), "precision": symbol & assets.DECIMALS_MASK, "nai": assets.nai_text(symbol)}


class AssetKind(Kind):
    """An amount with its symbol; text in the condenser's dialect unless `nai_only`."""

    default = Asset()

    def __init__(self, nai_only: bool = False) -> None:
        self.nai_only = nai_only

    def packer(self, codecs: Codecs) -> Pack:
        tails, amount, both = codecs.symbol_tails, Layout("<q8s").pack, Layout("<qI").pack

        def pack(value: Asset) -> bytes:
            tail = tails.get(value.symbol)
            return amount(value.amount, tail) if tail else both(value.amount, value.symbol)

        return pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        read, symbols, symbol_at = Layout("<q").unpack_from, codecs.symbol_of_tail, codecs.unpack_symbol

        def unpack(data: bytes, i: int) -> tuple[Asset, int]:
            amount = read(data, i)[0]
            symbol = symbols.get(data[i + 8 : i + 16])
            if symbol is not None:
                return Asset(amount, symbol), i + 16
            symbol, i = symbol_at(data, i + 8)
            return Asset(amount, symbol), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.asset_text if legacy and not self.nai_only else asset_nai

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return codecs.asset_from_text if legacy and not self.nai_only else asset_from_nai


class PriceKind(Kind):
    """A price: two assets. The condenser's reader refuses an invalid one at once."""

    default = Price()

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(Asset)
        return lambda value: pack(value.base) + pack(value.quote)

    def unpacker(self, codecs: Codecs) -> Unpack:
        read = codecs.unpacker(Asset)

        def unpack(data: bytes, i: int) -> tuple[Price, int]:
            base, i = read(data, i)
            quote, i = read(data, i)
            return Price(base, quote), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.dumper(Asset, legacy)
        assert dump is not None
        return lambda value: {"base": dump(value.base), "quote": dump(value.quote)}

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read = codecs.parser(Asset, legacy)

        def parse(value: Any) -> Price:
            given = to_object(value)
            price = Price(*(read(given[key]) if key in given else Asset() for key in ("base", "quote")))
            if legacy:
                price.validate()
            return price

        return parse


class CoinFee(Struct, frozen=True):
    """The account creation fee inside chain properties: COIN, with its symbol bytes when they are not today's."""

    amount: int = 0
    symbol_bytes: bytes = b""


class CoinFeeKind(Kind):
    """`legacy_coin_asset`: historic spellings of the symbol decode and are packed again unchanged."""

    def __init__(self, nai_only: bool = False) -> None:
        self.nai_only = nai_only

    def packer(self, codecs: Codecs) -> Pack:
        today, pack = codecs.symbol_tails[assets.COIN], Layout("<q8s").pack
        return lambda value: pack(value.amount, value.symbol_bytes or today)

    def unpacker(self, codecs: Codecs) -> Unpack:
        today, read = codecs.symbol_tails[assets.COIN], Layout("<q8s").unpack_from
        letters = today[1:]
        known = {bytes((n,)) + letters for n in (1, 2, 5)} | {b"\x030.001\0\0", b"\x036.000\0\0"}

        def unpack(data: bytes, i: int) -> tuple[CoinFee, int]:
            amount, symbol = read(data, i)
            if symbol != today and symbol not in known:
                raise Refused("Cannot determine space for asset ${n}", condition="false", n=int.from_bytes(symbol, "little"))
            return CoinFee(amount, b"" if symbol == today else symbol), i + 16

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.asset_text if legacy and not self.nai_only else asset_nai
        return lambda value: dump(Asset(value.amount, assets.COIN))

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read = codecs.asset_from_text if legacy and not self.nai_only else asset_from_nai

        def parse(value: Any) -> CoinFee:
            asset = read(value)
            require(asset.symbol == assets.COIN, condition="a.symbol == COIN_SYMBOL")
            return CoinFee(asset.amount)

        return parse


# ------------------------------------------------------------------ containers


class Many(Kind):
    """A container of one kind of element; `ascending` makes it a set, which is sorted and loses duplicates when read.

    `strict` sets (proposal ids) must already be in order in JSON; in bytes they are sorted like any other.
    """

    default = ()

    def __init__(self, element: Any, ascending: bool = False, strict: bool = False) -> None:
        self.element, self.ascending, self.strict = element, ascending, strict

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(self.element)
        return lambda values: pack_length(len(values)) + b"".join([pack(value) for value in values])

    def unpacker(self, codecs: Codecs) -> Unpack:
        read, ascending = codecs.unpacker(self.element), self.ascending

        def unpack(data: bytes, i: int) -> tuple[tuple[Any, ...], int]:
            n, i = unpack_count(data, i)
            values = []
            for _ in range(n):
                value, i = read(data, i)
                values.append(value)
            return (ordered(values) if ascending and n > 1 else tuple(values)), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.dumper(self.element, legacy)
        return list if dump is None else lambda values: [dump(value) for value in values]

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read, ascending, strict = codecs.parser(self.element, legacy), self.ascending, self.strict

        def parse(value: Any) -> tuple[Any, ...]:
            values = [read(item) for item in to_array(value)]
            if strict and any(a >= b for a, b in zip(values, values[1:], strict=False)):
                raise Refused("Items should be unique and sorted", condition="false")
            return ordered(values) if ascending and len(values) > 1 else tuple(values)

        return parse


def ordered(values: list[Any]) -> tuple[Any, ...]:
    """Ascending and unique; of variants that have the same tag the first stays. Text sorts by its bytes."""
    out: dict[Any, Any] = {}
    for value in values:
        out.setdefault(sort_key(value), value)
    return tuple(out[key] for key in sorted(out))


def sort_key(value: Any) -> Any:
    """What a member of a set is sorted by."""
    if type(value) is str:
        return encode(value)
    if isinstance(value, Struct):
        return value.tag if isinstance(value, Tagged) else type(value).TAG  # type: ignore[attr-defined]
    return value


class Pairs(Kind):
    """A map, kept as a tuple of pairs in ascending order of their keys; the first of equal keys wins."""

    default = ()

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value

    def packer(self, codecs: Codecs) -> Pack:
        key, value = codecs.packer(self.key), codecs.packer(self.value)
        return lambda pairs: pack_length(len(pairs)) + b"".join([key(k) + value(v) for k, v in pairs])

    def unpacker(self, codecs: Codecs) -> Unpack:
        key, value = codecs.unpacker(self.key), codecs.unpacker(self.value)

        def unpack(data: bytes, i: int) -> tuple[tuple[Any, ...], int]:
            n, i = unpack_count(data, i)
            pairs = []
            for _ in range(n):
                k, i = key(data, i)
                v, i = value(data, i)
                pairs.append((k, v))
            return (ordered_pairs(pairs) if n > 1 else tuple(pairs)), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        key, value = codecs.dumper(self.key, legacy) or as_it_is, codecs.dumper(self.value, legacy) or as_it_is
        return lambda pairs: [[key(k), value(v)] for k, v in pairs]

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        kinds = (self.key, self.value)
        readers = [codecs.parser(kind, legacy) for kind in kinds]
        defaults = [codecs.default(kind) for kind in kinds]

        def parse(value: Any) -> tuple[Any, ...]:
            pairs = []
            for item in to_array(value):
                given = to_array(item)
                pairs.append(tuple(readers[j](given[j]) if j < len(given) else defaults[j] for j in (0, 1)))
            return ordered_pairs(pairs)

        return parse


def ordered_pairs(pairs: list[Any]) -> tuple[Any, ...]:
    """Pairs by ascending key; the first of equal keys stays."""
    out: dict[Any, Any] = {}
    for pair in pairs:
        out.setdefault(sort_key(pair[0]), pair)
    return tuple(out[key] for key in sorted(out))


def as_it_is(value: Any) -> Any:
    """The value itself."""
    return value


class Maybe(Kind):
    """An optional value: left out of JSON when unset; `null` is unset too."""

    def __init__(self, element: Any) -> None:
        self.element = element

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(self.element)
        return lambda value: b"\0" if value is None else b"\1" + pack(value)

    def unpacker(self, codecs: Codecs) -> Unpack:
        read = codecs.unpacker(self.element)
        return lambda data, i: read(data, i + 1) if flag(data[i]) else (None, i + 1)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(self.element, legacy)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read = codecs.parser(self.element, legacy)
        return lambda value: None if value is None else read(value)


class Tagged(Struct, frozen=True):
    """A member of a variant whose type doesn't say which one it is."""

    tag: int
    value: Any


class Variant(Kind):
    """One of several types: a tag and a value.

    `members` are (type name, kind); a member that is a class with a TAG is recognised by its type, all others are
    wrapped in `Tagged`. JSON is `{"type": name, "value": ...}`, in the condenser's dialect `[tag, value]` if `legacy_pairs`.
    """

    def __init__(self, *members: tuple[str, Any], legacy_pairs: bool = False) -> None:
        self.members, self.legacy_pairs = members, legacy_pairs
        first = members[0][1]
        self.default = first() if isinstance(first, type) else Tagged(0, first.default)

    def packer(self, codecs: Codecs) -> Pack:
        packers = [codecs.packer(kind) for _, kind in self.members]

        def pack(value: Any) -> bytes:
            tag, inner = untagged(value)
            return pack_length(tag) + packers[tag](inner)

        return pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        readers = [codecs.unpacker(kind) for _, kind in self.members]

        def unpack(data: bytes, i: int) -> tuple[Any, int]:
            tag, i = unpack_length(data, i)
            require(tag < len(readers), condition="tag < get_type_count()")
            value, i = readers[tag](data, i)
            return self.tagged(tag, value), i

        return unpack

    def tagged(self, tag: int, value: Any) -> Any:
        """A member's value, wrapped where its class doesn't tell the tag."""
        return value if isinstance(self.members[tag][1], type) else Tagged(tag, value)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        pairs = legacy and self.legacy_pairs
        dumpers = [codecs.dumper(kind, legacy and self.legacy_pairs) or as_it_is for _, kind in self.members]
        names = [codecs.spec.spell(name) for name, _ in self.members]

        def dump(value: Any) -> Any:
            tag, inner = untagged(value)
            body = dumpers[tag](inner)
            return [tag, body] if pairs else {"type": names[tag], "value": body}

        return dump

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        readers = [codecs.parser(kind, legacy and self.legacy_pairs) for _, kind in self.members]
        tags = {codecs.spec.spell(name): tag for tag, (name, _) in enumerate(self.members)}
        defaults = [codecs.default(kind) for _, kind in self.members]

        def parse(value: Any) -> Any:
            if legacy and self.legacy_pairs and isinstance(value, list):
                if len(value) < 2:
                    return self.tagged(0, defaults[0])
                tag, body = to_int(value[0], 64, False), value[1]
            else:
                name, body = type_and_value(value)
                tag = variant_tag(name, tags)
            require(tag < len(readers), condition="tag < get_type_count()")
            return self.tagged(tag, readers[tag](body))

        return parse


def untagged(value: Any) -> tuple[int, Any]:
    """Tag and content of a variant's value."""
    return (value.tag, value.value) if type(value) is Tagged else (type(value).TAG, value)


def type_and_value(value: Any) -> tuple[Any, Any]:
    """The two members of a variant's JSON object."""
    require(isinstance(value, dict), "Input data have to treated as object.", condition="v.is_object()")
    require("type" in value, "Type field doesn't exist.", condition='v_object.contains( "type" )')
    require("value" in value, "Value field doesn't exist.", condition='v_object.contains( "value" )')
    return value["type"], value["value"]


def variant_tag(name: Any, tags: dict[str, int]) -> int:
    """The tag of a type name; an integer (or a bool) is one itself."""
    if isinstance(name, str):
        require(name in tags, "Invalid object name: ${n}", condition="itr != to_tag.end()", n=name)
        return tags[name]
    return to_int(name, 64, False)


class Void(Struct, frozen=True):
    """The type of a variant's member that holds nothing; any object is read as one."""

    TAG = 0


# ------------------------------------------------------------------ names for annotations

Int8 = Annotated[int, Int(8, signed=True)]
Int16 = Annotated[int, Int(16, signed=True)]
Int32 = Annotated[int, Int(32, signed=True)]
Int64 = Annotated[int, Int(64, signed=True)]
UInt8 = Annotated[int, Int(8)]
UInt16 = Annotated[int, Int(16)]
UInt32 = Annotated[int, Int(32)]
UInt64 = Annotated[int, Int(64)]
UInt128 = Annotated[int, Wide()]
Share = Annotated[int, ShareAmount()]
Bool = Annotated[bool, Flag()]
Time = Annotated[int, Seconds()]
Text = Annotated[str, String()]
AccountName = Annotated[str, Bounded(16)]
CustomId = Annotated[str, Bounded(32)]
Data = Annotated[bytes, Blob()]
Hash160 = Annotated[bytes, Hash(20)]
Hash256 = Annotated[bytes, Hash(32)]
Signature = Annotated[bytes, Hash(65)]
PublicKey = Annotated[bytes, Key()]
Symbol = Annotated[int, SymbolKind()]
Version = Annotated[int, Release()]
HardforkVersion = Annotated[int, Release(0xFFFF0000)]
Names = Annotated[tuple[str, ...], Many(Bounded(16), ascending=True)]
NaiAsset = Annotated[Asset, AssetKind(nai_only=True)]
Extensions = Annotated[tuple[Any, ...], Many(Variant(("void_t", Void), legacy_pairs=True), ascending=True)]
Curve = Annotated[
    int,
    Choice(
        "steem::protocol::curve_id", "quadratic", "bounded_curation", "linear", "square_root", "convergent_linear", "convergent_square_root"
    ),
]
