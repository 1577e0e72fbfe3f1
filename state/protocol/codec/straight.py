"""Functions that read and write declared classes, generated from their fields as straight-line Python.

A loop over the fields of a class calls a function for each, and each of these calls others. That is most of the time that a small
field takes. The generator writes the loop out instead, once per class and chain, as source text that is compiled. Of

    class Payment(Struct, frozen=True):
        to: AccountName
        amount: Asset
        due: Time

it makes this packer:

    def pack_Payment(v):
        try:
            t0 = v.to.encode('utf-8', 'surrogateescape')
            n0 = len(t0)
            a1 = v.amount
            return join(((L[n0] if n0 < 128 else pack_length(n0)), t0, fixed2(a1.amount, symbols[a1.symbol], v.due)))
        except (KeyError, UnicodeEncodeError):
            return by_fields(v)

and this unpacker:

    def unpack_Payment(b, i):
        start = i
        try:
            n = b[i]
            i += 1
            if n > 16: raise Unexpected
            e = i + n
            f0 = known16[b[i:e]]
            i = e
            f1, f1s, f2, = fixed5(b, i)
            i += 20
            f1 = Asset(f1, symbols[f1s])
            return cls(f0, f1, f2), i
        except (KeyError, IndexError, StructError):
            return by_fields(b, start)

Neighbouring fields of fixed size share one call of struct (`fixed2` is `Struct("<q8sI").pack`). Short texts, bools and the chain's own
symbols are handled in line, names are looked up by their bytes (`KnownTexts`), every other kind by a call of its function.

The fast lines know only what nearly all values are like. For anything else (an SMT, a name that is cut, bytes that are wrong) they
give up, and `by_fields` starts again with the functions of the kinds, one field after the other. So each rule and each text of a
refusal stands once, in the kinds. Only the codec calls this module; it knows no operation.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from types import CodeType
from typing import Any

from msgspec import Struct

from state.protocol.codec.fields import MISSING, Field, field_default, shown_fields, wire_fields
from state.protocol.codec.kinds import AssetKind, Bounded, Codecs, Dump, Fixed, Flag, Maybe, Pack, Parse, String, Unpack, pack_length
from state.protocol.codec.kinds.base import LENGTHS
from state.protocol.values.asset import Asset
from state.protocol.values.convert import to_object

SHORT_BYTES_MAX = len(LENGTHS) - 1


def compiled(name: str, parameters: list[str], lines: list[str], names: dict[str, Any]) -> Any:
    """A function made from lines of code that may use `names`."""
    source = f"def {name}({', '.join(parameters)}):\n" + "\n".join("    " + line for line in lines)
    exec(code_of(source, f"<codec {name}>"), names)
    return names[name]


@lru_cache(2000)
def code_of(source: str, file: str) -> CodeType:
    """The code of a text. Kept, as a second chain in this process has nearly the same codecs."""
    return compile(source, file, "exec")


def attempt(lines: list[str], errors: str, otherwise: str) -> list[str]:
    """The lines, guarded: when one of these errors shows that a value is not what they expect, `otherwise` is returned."""
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
        """Write one call of struct for the neighbouring fields of fixed size that have been collected."""
        if self.layout:
            name = f"fixed{len(self.parts)}"
            self.names[name] = struct.Struct("<" + self.layout).pack
            self.parts.append(f"{name}({', '.join(self.values)})")
            self.layout, self.values = "", []

    def add(self, index: int, field: Field) -> None:
        """Write the code that packs one field."""
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
    if code.errors:  # without any, the lines can't fail, and need no second way
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
        self.may_be_past_end = False  # after a text: a slice of bytes that ends early is no error

    def flush(self) -> None:
        """Write one call of struct for the fields of fixed size that have been collected, then the lines that convert its results.

        A single byte is read without struct, which would make a tuple of it.
        """
        if [layout for _, layout in self.waiting] == ["B"]:
            self.lines += [f"{self.waiting[0][0]} = b[i]", "i += 1", *self.after]
            self.waiting, self.after = [], []
        elif self.waiting:
            layout = struct.Struct("<" + "".join(code for _, code in self.waiting))
            name = f"fixed{len(self.names)}"
            self.names[name] = layout.unpack_from
            self.lines.append(f"{', '.join(variable for variable, _ in self.waiting)}, = {name}(b, i)")
            self.lines.append(f"i += {layout.size}")
            self.lines += self.after
            self.waiting, self.after = [], []

    def add(self, target: str, kind: Any) -> None:
        """Write the code that reads one field into the variable `target`."""
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
            if self.may_be_past_end:
                # The text in front is what must be refused then, not what the function finds there.
                self.lines.append("if i > len(b): raise Unexpected")
                self.may_be_past_end = False
            self.lines.append(f"{target}, i = read_{target}(b, i)")

    def add_text(self, target: str, kind: String) -> None:
        """Write the code for a text whose length fits into one byte.

        The length is read by the same call of struct as the fields of fixed size in front of it. A longer text is rare: it is left to
        the kind, or, where the kind cuts it (`Bounded`), to `by_fields`.
        """
        self.waiting.append(("n", "B"))
        self.flush()
        self.may_be_past_end = True
        if isinstance(kind, Bounded):
            assert kind.size <= SHORT_BYTES_MAX, "a length that takes two bytes may be that of a text which isn't cut"
            self.names[f"known{kind.size}"] = kind.known
            self.lines += [f"if n > {kind.size}: raise Unexpected", "e = i + n", f"{target} = known{kind.size}[b[i:e]]", "i = e"]
        else:
            self.names[f"read_{target}"] = self.codecs.unpacker(kind)
            self.lines += [
                f"if n > {SHORT_BYTES_MAX}: {target}, i = read_{target}(b, i - 1)",
                "else:",
                "    e = i + n",
                f"    {target} = b[i:e].decode('utf-8', 'surrogateescape')",
                "    i = e",
            ]


def struct_unpacker(codecs: Codecs, cls: Any) -> Unpack:
    """The unpacker of a declared class."""
    code = UnpackCode(codecs, cls)
    fields = wire_fields(cls)
    for index, field in enumerate(fields):
        code.add(f"f{index}", field.kind)
    code.flush()
    names = [field.name for field in fields]
    # Arguments by position are faster; a class with fields of the program's own in between needs them by name.
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
        lines = ["start = i", *attempt(lines, "(KeyError, IndexError, StructError)", "by_fields(b, start)")]
    made: Unpack = compiled(f"unpack_{cls.__name__}", ["b", "i"], lines, code.names)
    return made


# ------------------------------------------------------------------ JSON


class Member(Struct, frozen=True):
    """A member of a JSON object: its name, the expression over `v` that gives its value, and the function that writes the value.

    `dump` is None for a value that is its own JSON form. An optional member is left out while the expression gives None.
    """

    key: str
    source: str
    dump: Dump | None = None
    optional: bool = False


def struct_dumper(codecs: Codecs, cls: type, legacy: bool) -> Dump:
    """The dumper of a declared class: a dictionary in the order of the fields, without the optional ones that are unset."""
    members = [
        Member(codecs.spec.spell(field.json), f"v.{field.name}", codecs.dumper(field.kind, legacy), isinstance(field.kind, Maybe))
        for field in shown_fields(cls, legacy)
    ]
    return object_dumper(cls.__name__, members + extra_members(codecs, cls, legacy))


def extra_members(codecs: Codecs, cls: type, legacy: bool) -> list[Member]:
    """The constants that a class adds in the condenser's dialect."""
    extra = getattr(cls, "LEGACY_EXTRA", {}) if legacy else {}
    return [Member(codecs.spec.spell(key), repr(value)) for key, value in extra.items()]


def object_dumper(name: str, members: list[Member]) -> Dump:
    """The function that writes a value `v` as a JSON object with these members, in their order."""
    names: dict[str, Any] = {f"dump{i}": member.dump for i, member in enumerate(members)}
    values = [member.source if member.dump is None else f"dump{i}({member.source})" for i, member in enumerate(members)]
    if any(member.optional for member in members):
        lines = ["out = {}"]
        for member, value in zip(members, values, strict=True):
            test = f"if {member.source} is not None: " if member.optional else ""
            lines.append(f"{test}out[{member.key!r}] = {value}")
        lines.append("return out")
    else:
        lines = [f"return {{{', '.join(f'{member.key!r}: {value}' for member, value in zip(members, values, strict=True))}}}"]
    made: Dump = compiled(f"dump_{name}", ["v"], lines, names)
    return made


def struct_parser(codecs: Codecs, cls: type, legacy: bool) -> Parse:
    """The parser of a declared class: fields by name in either spelling, defaults for those that are missing."""
    names: dict[str, Any] = {"cls": cls, "missing": MISSING, "to_object": to_object}
    lines = ["if type(o) is not dict: to_object(o)"]
    arguments = []
    for i, field in enumerate(wire_fields(cls)):
        names[f"parse{i}"] = codecs.parser(field.kind, legacy)
        names[f"default{i}"] = field_default(codecs, cls, field)
        arguments.append(f"{field.name}=f{i}")
        # What the condenser doesn't write it doesn't read either: the field has its default, whatever the object holds.
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
