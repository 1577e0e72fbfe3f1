"""The codec of a chain: functions that read and write each declared type, made from its fields as straight-line code.

`Codecs(spec)` binds the kinds of kinds.py to a chain's symbols, key prefix and spelling. Functions are made on first use
and kept. A declared type is a msgspec Struct whose wire fields carry a kind (`AccountName`, `Asset`, `UInt16`, ...) in
wire order; fields without one are the program's own and stay off the wire. In the condenser's dialect a type may add
constants (LEGACY_EXTRA) and leave out fields (LEGACY_ABSENT). It knows no operation and no state.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from state.protocol import asset as assets
from state.protocol.asset import Asset, Price
from state.protocol.convert import to_object, to_text
from state.protocol.errors import ChainError, OutOfRange, ParseError, Refused, require
from state.protocol.kinds import (
    AssetKind,
    Bounded,
    CoinFee,
    CoinFeeKind,
    Dump,
    Fixed,
    Flag,
    Int,
    Kind,
    Maybe,
    Pack,
    Parse,
    PriceKind,
    String,
    Unpack,
    as_it_is,
    asset_from_nai,
)
from state.protocol.shown import Always, At

if TYPE_CHECKING:
    from state.protocol.spec import ChainSpec

LITTLE = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "missing"})()
BUILT_IN: dict[Any, Kind] = {Asset: AssetKind(), Price: PriceKind(), CoinFee: CoinFeeKind()}
FRACTION = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?\Z", re.ASCII)


class Field(Struct, frozen=True):
    """One wire field of a declared type: its name in Python, its name in JSON (product form), and its kind."""

    name: str
    json: str
    kind: Any


def wire_fields(cls: type) -> list[Field]:
    """The fields of a declared type that go over the wire, in order."""
    hints = get_type_hints(cls, include_extras=True)
    out = []
    for name in cls.__struct_fields__:  # type: ignore[attr-defined]
        kind = kind_of_hint(hints[name])
        if kind is not None:
            out.append(Field(name, name.rstrip("_"), kind))
    return out


def kind_of_hint(hint: Any) -> Any:
    """The kind of an annotation: that of an `Annotated`, a declared class itself, `Maybe` of an optional one, or None."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Kind):
            return extra
    if hint in BUILT_IN:
        return BUILT_IN[hint]
    if isinstance(hint, type) and issubclass(hint, Struct) and get_origin(hint) is None:
        return hint
    arguments = get_args(hint)
    if len(arguments) == 2 and arguments[1] is type(None):
        inner = kind_of_hint(arguments[0])
        return None if inner is None else Maybe(inner)
    return None


class Codecs:
    """All functions of one chain that read and write declared types. `of` may be a kind or a declared class."""

    def __init__(self, spec: ChainSpec) -> None:
        self.spec = spec
        letters = {assets.COIN: spec.coin_symbol, assets.SBD: spec.debt_symbol, assets.VESTS: spec.vests_symbol}
        self.symbol_text = letters
        self.symbol_from_text = {text: symbol for symbol, text in letters.items()}
        self.symbol_tails = {s: bytes((assets.decimals(s),)) + text.encode().ljust(7, b"\0") for s, text in letters.items()}
        self.symbol_of_tail = {tail: symbol for symbol, tail in self.symbol_tails.items()}
        self._first_halves = {tail[:4] for tail in self.symbol_of_tail}
        self._made: dict[tuple[str, Any], Any] = {}

    # -------------------------------------------------------------- the four functions of a type

    def packer(self, of: Any) -> Pack:
        """value -> bytes."""
        made: Pack = self._make("pack", of, lambda kind: kind.packer(self), self._struct_packer)
        return made

    def unpacker(self, of: Any) -> Unpack:
        """bytes, position -> value, position. May run past the end: callers check with `whole`, or catch by `reading`."""
        made: Unpack = self._make("unpack", of, lambda kind: kind.unpacker(self), self._struct_unpacker)
        return made

    def dumper(self, of: Any, legacy: bool = False) -> Dump | None:
        """value -> JSON value; None when a value is its own JSON form."""
        made: Dump | None = self._make(
            f"dump{legacy:d}", of, lambda kind: kind.dumper(self, legacy), lambda cls: self._struct_dumper(cls, legacy)
        )
        return made

    def parser(self, of: Any, legacy: bool = False) -> Parse:
        """JSON value -> value; raises a ChainError for everything that it doesn't take."""
        made: Parse = self._make(
            f"parse{legacy:d}", of, lambda kind: kind.parser(self, legacy), lambda cls: self._struct_parser(cls, legacy)
        )
        return made

    def default(self, of: Any) -> Any:
        """The value of a field that is left out."""
        if isinstance(of, CoinFeeKind):
            return CoinFee(self.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE)
        if isinstance(of, Kind):
            return of.default
        if of in BUILT_IN:
            return BUILT_IN[of].default
        return of(**{f.name: self.field_default(of, f) for f in wire_fields(of)})

    def field_default(self, cls: Any, field: Field) -> Any:
        """The declared default of a field, or else that of its kind."""
        position = cls.__struct_fields__.index(field.name) - len(cls.__struct_fields__) + len(cls.__struct_defaults__)
        declared = cls.__struct_defaults__[position] if position >= 0 else MISSING
        return declared if isinstance(declared, (int, str, bytes, tuple, Struct, type(None))) else self.default(field.kind)

    def _make(self, what: str, of: Any, from_kind: Callable[[Kind], Any], from_class: Callable[[type], Any]) -> Any:
        key = (what, of)
        if key not in self._made:
            of = BUILT_IN.get(of, of) if isinstance(of, type) else of
            self._made[key] = from_kind(of) if isinstance(of, Kind) else from_class(of)
        return self._made[key]

    # -------------------------------------------------------------- whole values

    def pack(self, value: Any) -> bytes:
        """The bytes of a declared value."""
        return self.packer(type(value))(value)

    def unpack(self, of: Any, data: bytes, exact: bool = False) -> Any:
        """A value from bytes; what is left over is ignored unless `exact`. Bad bytes end in one ChainError."""
        value, end = reading(self.unpacker(of), data, 0)
        require(not exact or end == len(data), "bytes are left over", condition="ds.remaining() == 0")
        return value

    def dump(self, value: Any, legacy: bool = False) -> Any:
        """The JSON form of a declared value."""
        return (self.dumper(type(value), legacy) or as_it_is)(value)

    def blank(self, of: Any, legacy: bool = False) -> Any:
        """The JSON form of a type with nothing in it; optional fields are left out."""
        if isinstance(of, Always):
            return of.value
        if isinstance(of, At):
            return self.blank(of.kind, legacy)
        if isinstance(of, Kind) or of in BUILT_IN:
            return (self.dumper(of, legacy) or as_it_is)(self.default(of))
        fields = [field for field in shown_fields(of, legacy) if not isinstance(field.kind, Maybe)]
        return {self.spec.spell(field.json): self.blank(field.kind, legacy) for field in fields}

    # -------------------------------------------------------------- symbols and the condenser's asset text

    def unpack_symbol(self, data: bytes, i: int) -> tuple[int, int]:
        """A symbol of 8 bytes if its first half is one of the chain's, otherwise an SMT's 4."""
        head = data[i : i + 4]
        if len(head) < 4:
            raise OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=4 - len(head))
        if head in self._first_halves:
            symbol = self.symbol_of_tail.get(data[i : i + 8])
            require(symbol is not None, condition="raw symbol bytes are known")
            assert symbol is not None
            return symbol, i + 8
        symbol = int.from_bytes(head, "little")
        assets.require_symbol(symbol)
        require(symbol not in assets.LEGACY_SYMBOLS, condition="symbol is in SMT space")
        return symbol, i + 4

    def asset_text(self, asset: Asset) -> str:
        """`1.000 COIN`; a negative amount has its sign in front (rpc-api.md §9.3), an SMT prints as UNKN."""
        places = assets.decimals(asset.symbol)
        digits = str(abs(asset.amount)).rjust(places + 1, "0")
        number = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        sign = "-" if asset.amount < 0 else ""
        return f"{sign}{number} {self.symbol_text.get(asset.symbol, 'UNKN')}"

    def asset_from_text(self, value: Any) -> Asset:
        """The condenser's text of an asset; an object is read as the NAI form."""
        if isinstance(value, dict):
            return asset_from_nai(value)
        text = (value if type(value) is str else to_text(value)).strip(" \t\r\n")
        number, blank, rest = text.partition(" ")
        require(blank, condition="space_pos != std::string::npos")
        symbol = self.symbol_from_text.get(rest.lstrip(" \t"))
        require(symbol is not None, "Cannot parse asset symbol", condition="false")
        assert symbol is not None
        match = FRACTION.match(number)
        fraction = match[3] if match else number.partition(".")[2]
        require(len(fraction or "") == assets.decimals(symbol), "Incorrect decimal places", condition="decimal places")
        if match is None or not (match[2] or fraction):
            raise ParseError("Couldn't parse int64_t")
        amount = int(match[2] + fraction) if len(number) <= 40 else assets.INT64_MAX + 1
        amount = -amount if match[1] == "-" else amount
        if not -assets.INT64_MAX - 1 <= amount <= assets.INT64_MAX:
            raise ParseError("Couldn't parse int64_t")
        return Asset(amount, symbol)

    # -------------------------------------------------------------- code for declared classes

    def _struct_packer(self, cls: type) -> Pack:
        """Neighbouring fields of fixed size share one call of struct; everything else is one call each."""
        names: dict[str, Any] = {}
        parts: list[str] = []
        values: list[str] = []
        layout = ""

        def flush() -> None:
            nonlocal layout
            if layout:
                name = f"fixed{len(names)}"
                names[name] = struct.Struct("<" + layout).pack
                parts.append(f"{name}({', '.join(values)})")
                layout = ""
                values.clear()

        for i, field in enumerate(wire_fields(cls)):
            kind = field.kind
            if isinstance(kind, Fixed) and kind.layout:
                layout += kind.layout
                values.append(f"v.{field.name}")
                continue
            flush()
            names[f"pack{i}"] = self.packer(kind)
            parts.append(f"pack{i}(v.{field.name})")
        flush()
        body = " + ".join(parts) if len(parts) < 4 else f"join(({', '.join(parts)}))"
        names["join"] = b"".join
        made: Pack = compiled(f"pack_{cls.__name__}", ["v"], [f"return {body or repr(b'')}"], names)
        return made

    def _struct_unpacker(self, cls: type) -> Unpack:
        names: dict[str, Any] = {"cls": cls}
        lines: list[str] = []
        pending: list[tuple[str, str, int]] = []  # variable, layout, size

        def flush() -> None:
            if pending:
                layout = struct.Struct("<" + "".join(code for _, code, _ in pending))
                name = f"fixed{len(names)}"
                names[name] = layout.unpack_from
                lines.append(f"{', '.join(variable for variable, _, _ in pending)}, = {name}(b, i)")
                lines.append(f"i += {layout.size}")
                pending.clear()

        fields = wire_fields(cls)
        for j, field in enumerate(fields):
            kind = field.kind
            if type(kind) in (Int,) or (isinstance(kind, Fixed) and type(kind).unpacker is Fixed.unpacker):
                pending.append((f"f{j}", kind.layout, 0))
                continue
            flush()
            lines += self._unpack_lines(kind, f"f{j}", names)
        flush()
        arguments = ", ".join(f"{field.name}=f{j}" for j, field in enumerate(fields))
        if [field.name for field in fields] == list(cls.__struct_fields__)[: len(fields)]:  # type: ignore[attr-defined]
            arguments = ", ".join(f"f{j}" for j in range(len(fields)))
        lines.append(f"return cls({arguments}), i")
        made: Unpack = compiled(f"unpack_{cls.__name__}", ["b", "i"], lines, names)
        return made

    def _unpack_lines(self, kind: Any, target: str, names: dict[str, Any]) -> list[str]:
        """Code that reads one field: short texts and bools in line, the rest by a call."""
        if type(kind) is Flag:
            names["flag"] = Flag().unpacker(self)
            return [f"{target}, i = flag(b, i)"]
        name = f"read_{target}"
        names[name] = self.unpacker(kind)
        if type(kind) in (String, Bounded):
            most = min(kind.size, 127) if isinstance(kind, Bounded) else 127
            plain = f"{target} = str(b[i + 1 : i + 1 + n], 'utf-8', 'surrogateescape')"
            check = [f"if {chr(39)}\\0{chr(39)} in {target}: {target}, i = {name}(b, i)", "else: i += n + 1"]
            rest = check if isinstance(kind, Bounded) else ["i += n + 1"]
            return [
                "n = b[i]",
                f"if n > {most}: {target}, i = {name}(b, i)",
                "else:",
                f"    {plain}",
                *("    " + line for line in rest),
            ]
        return [f"{target}, i = {name}(b, i)"]

    def _struct_dumper(self, cls: type, legacy: bool) -> Dump:
        names: dict[str, Any] = {}
        items = []
        optional = False
        for i, field in enumerate(shown_fields(cls, legacy)):
            if isinstance(field.kind, Always):
                items.append((self.spec.spell(field.json), repr(field.kind.value), ""))
                continue
            place, dump = place_of(cls, field), self.dumper(field.kind, legacy)
            names[f"dump{i}"] = dump
            maybe = isinstance(field.kind, Maybe)
            optional |= maybe
            items.append((self.spec.spell(field.json), place if dump is None else f"dump{i}({place})", place if maybe else ""))
        extra = getattr(cls, "LEGACY_EXTRA", {}) if legacy else {}
        items += [(self.spec.spell(key), repr(value), "") for key, value in extra.items()]
        if optional:
            lines = [f"if {test} is not None: out[{key!r}] = {value}" if test else f"out[{key!r}] = {value}" for key, value, test in items]
            lines = ["out = {}", *lines, "return out"]
        else:
            lines = [f"return {{{', '.join(f'{key!r}: {value}' for key, value, _ in items)}}}"]
        made: Dump = compiled(f"dump_{cls.__name__}", ["v"], lines, names)
        return made

    def _struct_parser(self, cls: type, legacy: bool) -> Parse:
        names: dict[str, Any] = {"cls": cls, "missing": MISSING, "to_object": to_object}
        lines = ["if type(o) is not dict: to_object(o)"]
        arguments = []
        for i, field in enumerate(wire_fields(cls)):
            names[f"parse{i}"] = self.parser(field.kind, legacy)
            names[f"default{i}"] = self.field_default(cls, field)
            arguments.append(f"{field.name}=f{i}")
            if legacy and field.name in getattr(cls, "LEGACY_ABSENT", ()):
                lines.append(f"f{i} = default{i}")
                continue
            spelled = self.spec.spell(field.json)
            lookup = f"o.get({spelled!r}, missing)"
            if spelled != field.json:
                lookup = f"o[{spelled!r}] if {spelled!r} in o else o.get({field.json!r}, missing)"
            lines += [f"x = {lookup}", f"f{i} = default{i} if x is missing else parse{i}(x)"]
        made: Parse = compiled(f"parse_{cls.__name__}", ["o"], [*lines, f"return cls({', '.join(arguments)})"], names)
        return made


def shown_fields(cls: type, legacy: bool) -> list[Field]:
    """The wire fields of a declared type that one of the JSON forms has; a class names what is absent from either."""
    absent = getattr(cls, "LEGACY_ABSENT" if legacy else "APPBASE_ABSENT", ())
    return [field for field in wire_fields(cls) if field.name not in absent]


def place_of(cls: type, field: Field) -> str:
    """Where a dumper reads a field of `v`: its attribute, below the attribute `ROOT` if the class has one, or at its path."""
    if isinstance(field.kind, At):
        path = field.kind.path
    else:
        root = getattr(cls, "ROOT", "")
        path = f"{root}.{field.name}" if root else field.name
    return f"v.{path}" if path else "v"


def compiled(name: str, parameters: list[str], lines: list[str], names: dict[str, Any]) -> Any:
    """A function made from lines of code that may use `names`."""
    source = f"def {name}({', '.join(parameters)}):\n" + "\n".join("    " + line for line in lines)
    exec(compile(source, f"<codec {name}>", "exec"), names)
    return names[name]


def reading(unpack: Unpack, data: bytes, i: int) -> tuple[Any, int]:
    """Run an unpacker; whatever bad bytes make it raise, and reading past the end, is one ChainError."""
    try:
        value, end = unpack(data, i)
    except ChainError:
        raise
    except (IndexError, struct.error):
        raise past_end(data, len(data) + 1) from None
    except (ValueError, OverflowError, TypeError) as error:
        raise Refused("bytes can't be read", condition=str(error)[:100]) from None
    if end > len(data):
        raise past_end(data, end)
    return value, end


def past_end(data: bytes, end: int) -> OutOfRange:
    """The error of reading beyond the bytes given."""
    return OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=end - len(data))
