"""Functions that read and write declared classes, made from their fields as straight-line code.

Neighbouring fields of fixed size share one call of struct; short texts, bools and the chain's own symbols are handled in
line; everything else is a call per field. Whatever the fast code doesn't expect is done again by the kinds of the fields,
one after the other, which also say what is wrong. Only `Codecs` calls this; it knows no operation.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from state.protocol.codec.fields import Field, place_of, shown_fields, wire_fields
from state.protocol.codec.kinds import AssetKind, Bounded, Dump, Fixed, Flag, Maybe, Pack, Parse, String, Unpack, pack_length
from state.protocol.codec.kinds.base import LENGTHS
from state.protocol.codec.shown import Always
from state.protocol.values.asset import Asset
from state.protocol.values.convert import to_object

if TYPE_CHECKING:
    from state.protocol.codec.codecs import Codecs

SHORT_BYTES_MAX = len(LENGTHS) - 1
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "missing"})()


def compiled(name: str, parameters: list[str], lines: list[str], names: dict[str, Any]) -> Any:
    """A function made from lines of code that may use `names`."""
    source = f"def {name}({', '.join(parameters)}):\n" + "\n".join("    " + line for line in lines)
    exec(compile(source, f"<codec {name}>", "exec"), names)
    return names[name]


def attempt(lines: list[str], errors: str, otherwise: str) -> list[str]:
    """Lines that are left for another expression when one of these errors shows that they don't fit."""
    return ["try:", *("    " + line for line in lines), f"except {errors}:", f"    return {otherwise}"]


# ------------------------------------------------------------------ packing


class PackCode:
    """The lines of a packer, and the parts that its result is joined from."""

    def __init__(self, codecs: Codecs, prefix: bytes) -> None:
        self.codecs = codecs
        self.names: dict[str, Any] = {"L": LENGTHS, "pack_length": pack_length, "symbols": codecs.symbols.packed, "join": b"".join}
        self.lines: list[str] = []
        self.parts = [repr(prefix)] if prefix else []
        self.layout, self.values = "", list[str]()
        self.errors: set[str] = set()

    def flush(self) -> None:
        """Turn the fixed fields that wait into one call of struct."""
        if self.layout:
            name = f"fixed{len(self.parts)}"
            self.names[name] = struct.Struct("<" + self.layout).pack
            self.parts.append(f"{name}({', '.join(self.values)})")
            self.layout, self.values = "", []

    def add(self, index: int, field: Field) -> None:
        """The code for one field."""
        kind, value = field.kind, f"v.{field.name}"
        if isinstance(kind, Fixed) and kind.layout:
            self.layout += kind.layout
            self.values.append(value)
        elif type(kind) is Flag:
            self.layout += "?"
            self.values.append(value)
        elif type(kind) is AssetKind:
            self.lines += [f"a{index} = {value}"]
            self.layout += "q8s"
            self.values += [f"a{index}.amount", f"symbols[a{index}.symbol]"]
            self.errors.add("KeyError")  # an SMT, whose symbol is shorter
        elif type(kind) in (String, Bounded):
            self.lines += [f"t{index} = {value}.encode('utf-8', 'surrogateescape')", f"n{index} = len(t{index})"]
            self.flush()
            self.parts += [f"(L[n{index}] if n{index} < {len(LENGTHS)} else pack_length(n{index}))", f"t{index}"]
            self.errors.add("UnicodeEncodeError")  # a surrogate that stands for no byte
        else:
            self.flush()
            self.names[f"pack{index}"] = self.codecs.packer(kind)
            self.parts.append(f"pack{index}({value})")


def struct_packer(codecs: Codecs, cls: type, prefix: bytes = b"") -> Pack:
    """The packer of a declared class; `prefix` stands in front of its fields."""
    code = PackCode(codecs, prefix)
    fields = wire_fields(cls)
    for index, field in enumerate(fields):
        code.add(index, field)
    code.flush()
    parts = code.parts
    lines = [*code.lines, f"return {' + '.join(parts) or repr(b'')}" if len(parts) < 3 else f"return join(({', '.join(parts)}))"]
    if code.errors:
        packers = [(field.name, codecs.packer(field.kind)) for field in fields]
        code.names["by_fields"] = lambda value: prefix + b"".join([pack(getattr(value, name)) for name, pack in packers])
        lines = attempt(lines, f"({', '.join(sorted(code.errors))})", "by_fields(v)")
    made: Pack = compiled(f"pack_{cls.__name__}", ["v"], lines, code.names)
    return made


# ------------------------------------------------------------------ unpacking


class UnpackCode:
    """The lines of an unpacker: bytes `b`, position `i`."""

    def __init__(self, codecs: Codecs, cls: type) -> None:
        self.codecs = codecs
        self.names: dict[str, Any] = {"cls": cls, "Asset": Asset, "symbols": codecs.symbols.by_bytes, "Unexpected": KeyError}
        self.lines: list[str] = []
        self.waiting: list[tuple[str, str]] = []  # variable, layout
        self.after: list[str] = []

    def flush(self) -> None:
        """Turn the fixed fields that wait into one call of struct, and into what has to be done with them."""
        if self.waiting:
            layout = struct.Struct("<" + "".join(code for _, code in self.waiting))
            name = f"fixed{len(self.names)}"
            self.names[name] = layout.unpack_from
            self.lines.append(f"{', '.join(variable for variable, _ in self.waiting)}, = {name}(b, i)")
            self.lines.append(f"i += {layout.size}")
            self.lines += self.after
            self.waiting, self.after = [], []

    def add(self, target: str, kind: Any) -> None:
        """The code that reads one field into `target`."""
        if isinstance(kind, Fixed) and type(kind).unpacker is Fixed.unpacker:
            self.waiting.append((target, kind.layout))
        elif type(kind) is Flag:
            self.waiting.append((target, "B"))
            self.after += [f"if {target} > 1: raise Unexpected", f"{target} = {target} == 1"]
        elif type(kind) is AssetKind:
            self.waiting += [(target, "q"), (f"{target}s", "8s")]
            self.after.append(f"{target} = Asset({target}, symbols[{target}s])")
        elif type(kind) in (String, Bounded):
            self.add_text(target, kind)
        else:
            self.flush()
            self.names[f"read_{target}"] = self.codecs.unpacker(kind)
            self.lines.append(f"{target}, i = read_{target}(b, i)")

    def add_text(self, target: str, kind: String) -> None:
        """A text whose length fits into one byte, which is read together with the fixed fields in front of it."""
        self.waiting.append(("n", "B"))
        self.flush()
        plain = ["e = i + n", f"{target} = b[i:e].decode('utf-8', 'surrogateescape')", "i = e"]
        if isinstance(kind, Bounded):
            self.lines += [f"if n > {min(kind.size, SHORT_BYTES_MAX)}: raise Unexpected", *plain]
            self.lines.append(f"if {chr(39)}\\0{chr(39)} in {target}: raise Unexpected")
        else:
            self.names[f"read_{target}"] = self.codecs.unpacker(kind)
            self.lines += [f"if n > {SHORT_BYTES_MAX}: {target}, i = read_{target}(b, i - 1)", "else:", *("    " + line for line in plain)]


def struct_unpacker(codecs: Codecs, cls: Any) -> Unpack:
    """The unpacker of a declared class."""
    code = UnpackCode(codecs, cls)
    fields = wire_fields(cls)
    for index, field in enumerate(fields):
        code.add(f"f{index}", field.kind)
    code.flush()
    names = [field.name for field in fields]
    in_order = names == list(cls.__struct_fields__)[: len(names)]
    arguments = ", ".join(f"f{index}" if in_order else f"{name}=f{index}" for index, name in enumerate(names))
    lines = [*code.lines, f"return cls({arguments}), i"]
    if fields:
        readers = [(name, codecs.unpacker(field.kind)) for name, field in zip(names, fields, strict=True)]

        def by_fields(data: bytes, i: int) -> tuple[Any, int]:
            values = {}
            for name, read in readers:
                values[name], i = read(data, i)
            return cls(**values), i

        code.names |= {"by_fields": by_fields, "StructError": struct.error}
        lines = ["start = i", *attempt(lines, "(KeyError, StructError)", "by_fields(b, start)")]
    made: Unpack = compiled(f"unpack_{cls.__name__}", ["b", "i"], lines, code.names)
    return made


# ------------------------------------------------------------------ JSON


def struct_dumper(codecs: Codecs, cls: type, legacy: bool) -> Dump:
    """The dumper of a declared class: a dictionary in the order of the fields, without the optional ones that are unset."""
    names: dict[str, Any] = {}
    items = []
    optional = False
    for i, field in enumerate(shown_fields(cls, legacy)):
        key = codecs.spec.spell(field.json)
        if isinstance(field.kind, Always):
            items.append((key, repr(field.kind.value), ""))
            continue
        place, dump = place_of(cls, field), codecs.dumper(field.kind, legacy)
        names[f"dump{i}"] = dump
        maybe = isinstance(field.kind, Maybe)
        optional |= maybe
        items.append((key, place if dump is None else f"dump{i}({place})", place if maybe else ""))
    extra = getattr(cls, "LEGACY_EXTRA", {}) if legacy else {}
    items += [(codecs.spec.spell(key), repr(value), "") for key, value in extra.items()]
    if optional:
        lines = [f"if {test} is not None: out[{key!r}] = {value}" if test else f"out[{key!r}] = {value}" for key, value, test in items]
        lines = ["out = {}", *lines, "return out"]
    else:
        lines = [f"return {{{', '.join(f'{key!r}: {value}' for key, value, _ in items)}}}"]
    made: Dump = compiled(f"dump_{cls.__name__}", ["v"], lines, names)
    return made


def struct_parser(codecs: Codecs, cls: type, legacy: bool) -> Parse:
    """The parser of a declared class: fields by name in either spelling, defaults for those that are missing."""
    names: dict[str, Any] = {"cls": cls, "missing": MISSING, "to_object": to_object}
    lines = ["if type(o) is not dict: to_object(o)"]
    arguments = []
    for i, field in enumerate(wire_fields(cls)):
        names[f"parse{i}"] = codecs.parser(field.kind, legacy)
        names[f"default{i}"] = codecs.field_default(cls, field)
        arguments.append(f"{field.name}=f{i}")
        if legacy and field.name in getattr(cls, "LEGACY_ABSENT", ()):
            lines.append(f"f{i} = default{i}")
            continue
        spelled = codecs.spec.spell(field.json)
        lookup = f"o.get({spelled!r}, missing)"
        if spelled != field.json:
            lookup = f"o[{spelled!r}] if {spelled!r} in o else o.get({field.json!r}, missing)"
        lines += [f"x = {lookup}", f"f{i} = default{i} if x is missing else parse{i}(x)"]
    made: Parse = compiled(f"parse_{cls.__name__}", ["o"], [*lines, f"return cls({', '.join(arguments)})"], names)
    return made
