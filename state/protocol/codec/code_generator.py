"""Functions that read and write declared classes, generated from their fields as straight-line Python.

A loop over the fields of a class would call a function for each field, which calls others, and that takes most of the time of a small
field. The generator unrolls the loop instead, once per class and chain, into source text that is compiled. For

    class Payment(Struct, frozen=True):
        to: AccountName
        amount: Asset
        due: Time

it generates this packer:

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

Adjacent fields of fixed size share one call of struct (`fixed2` is `Struct("<q8sI").pack`). Short texts, bools and the chain's own symbols
are handled inline, names are looked up by their bytes (`KnownTexts`), and other kinds use a call of their function.

The generated lines handle only the common values. For others (an SMT, a name that is too long, invalid bytes) they raise, and `by_fields`
starts again with the functions of the kinds, field by field. So each rule and each text of a refusal exists once, in the kinds.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from types import CodeType
from typing import Any

from msgspec import Struct

from state.protocol.codec.fields import MISSING, Field, field_default, shown_fields, wire_fields
from state.protocol.codec.kinds import (
    AssetKind,
    Bounded,
    Codecs,
    Dump,
    Fixed,
    Flag,
    Kind,
    Many,
    Maybe,
    Pack,
    Parse,
    String,
    Unpack,
    pack_length,
)
from state.protocol.codec.kinds.base import LENGTHS
from state.protocol.values.asset import Asset
from state.protocol.values.convert import to_object

SHORT_BYTES_MAX = len(LENGTHS) - 1


def compile_function(name: str, parameters: list[str], lines: list[str], names: dict[str, Any]) -> Any:
    """Compile a function from lines of code. `names` are its globals."""
    source = f"def {name}({', '.join(parameters)}):\n" + "\n".join("    " + line for line in lines)
    exec(code_of(source, f"<codec {name}>"), names)
    return names[name]


@lru_cache(2000)
def code_of(source: str, file: str) -> CodeType:
    """Compile source text. Cached, because the codecs of another chain in this process are nearly the same."""
    return compile(source, file, "exec")


def with_fallback(lines: list[str], errors: str, fallback: str) -> list[str]:
    """Wrap lines in a `try`. If unexpected values cause one of `errors`, the code returns the expression `fallback`."""
    return ["try:", *("    " + line for line in lines), f"except {errors}:", f"    return {fallback}"]


# ------------------------------------------------------------------ packing


class PackCode:
    """Generated code of a packer: its lines, and the expressions whose results are joined to the packed bytes."""

    def __init__(self, codecs: Codecs, prefix: bytes) -> None:
        self.codecs = codecs
        self.names: dict[str, Any] = {"L": LENGTHS, "pack_length": pack_length, "symbols": codecs.symbols.packed, "join": b"".join}
        self.lines: list[str] = []
        self.parts = [repr(prefix)] if prefix else []
        self.layout, self.values = "", list[str]()
        self.errors: set[str] = set()

    def flush(self) -> None:
        """Emit code that packs all collected fields of fixed size with a single call of the module `struct`."""
        if self.layout:
            name = f"fixed{len(self.parts)}"
            self.names[name] = struct.Struct("<" + self.layout).pack
            self.parts.append(f"{name}({', '.join(self.values)})")
            self.layout, self.values = "", []

    def add(self, index: int, field: Field) -> None:
        """Emit the code that packs one field."""
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
            self.errors.add("UnicodeEncodeError")  # a surrogate that escapes no byte
        else:
            self.flush()
            self.names[f"pack{index}"] = self.codecs.packer(kind)
            self.parts.append(f"pack{index}({value})")


def struct_packer(codecs: Codecs, cls: type, prefix: bytes = b"") -> Pack:
    """Generate the packer of a declared class. The packer writes `prefix` before the fields."""
    code = PackCode(codecs, prefix)
    fields = wire_fields(cls)
    for index, field in enumerate(fields):
        code.add(index, field)
    code.flush()
    parts = code.parts
    lines = [*code.lines, f"return {' + '.join(parts) or repr(b'')}" if len(parts) < 3 else f"return join(({', '.join(parts)}))"]
    if code.errors:  # Without any, the lines can't fail and need no fallback.
        packers = [(field.name, codecs.packer(field.kind)) for field in fields]
        code.names["by_fields"] = lambda value: prefix + b"".join([pack(getattr(value, name)) for name, pack in packers])
        lines = with_fallback(lines, f"({', '.join(sorted(code.errors))})", "by_fields(v)")
    made: Pack = compile_function(f"pack_{cls.__name__}", ["v"], lines, code.names)
    return made


# ------------------------------------------------------------------ unpacking


class UnpackCode:
    """Generated code of an unpacker. Its parameters are `b` (bytes) and `i` (position)."""

    def __init__(self, codecs: Codecs, cls: type) -> None:
        self.codecs = codecs
        self.names: dict[str, Any] = {"cls": cls, "Asset": Asset, "symbols": codecs.symbols.by_bytes, "Unexpected": KeyError}
        self.lines: list[str] = []
        self.waiting: list[tuple[str, str]] = []  # variable, layout
        self.after: list[str] = []
        self.may_be_past_end = False  # after a text, because a slice that ends early raises no error

    def flush(self) -> None:
        """Emit code that unpacks all collected fields of fixed size with a single call of the module `struct`, and converts the results.

        A single byte is read without struct, which would create a tuple.
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
        """Emit the code that reads one field into the variable `target`."""
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
                # In this case the preceding text must be refused, and not the value that the function would read here.
                self.lines.append("if i > len(b): raise Unexpected")
                self.may_be_past_end = False
            if type(kind) is Many:  # often empty
                self.lines += [f"if b[i]: {target}, i = read_{target}(b, i)", "else:", f"    {target} = ()", "    i += 1"]
            else:
                self.lines.append(f"{target}, i = read_{target}(b, i)")

    def add_text(self, target: str, kind: String) -> None:
        """Emit the code for a text whose length fits in one byte.

        The call of struct for the preceding fields of fixed size also reads the length. Longer texts are rare. They are read by the kind's
        function, or by `by_fields` if the kind truncates them (`Bounded`).
        """
        self.waiting.append(("n", "B"))
        self.flush()
        self.may_be_past_end = True
        if isinstance(kind, Bounded):
            assert kind.size <= SHORT_BYTES_MAX, "a bounded text must have a length of one byte"
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
    """Generate the unpacker of a declared class."""
    code = UnpackCode(codecs, cls)
    fields = wire_fields(cls)
    for index, field in enumerate(fields):
        code.add(f"f{index}", field.kind)
    code.flush()
    names = [field.name for field in fields]
    # Positional arguments are faster. A class with internal fields between wire fields needs keyword arguments.
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
        lines = ["start = i", *with_fallback(lines, "(KeyError, IndexError, StructError)", "by_fields(b, start)")]
    made: Unpack = compile_function(f"unpack_{cls.__name__}", ["b", "i"], lines, code.names)
    return made


# ------------------------------------------------------------------ JSON


class Member(Struct, frozen=True):
    """A member of a JSON object: its name, an expression over `v` for its value, and the dumper of the value.

    `dump` is None if the value is used as JSON unchanged. If `dump_source` isn't empty, it is used instead of a call of `dump`
    (`Kind.dump_source`). An optional member is omitted if its value is None.
    """

    key: str
    source: str
    dump: Dump | None = None
    dump_source: str = ""
    optional: bool = False

    def code(self, dump: str) -> str:
        """Return the expression for the JSON form of the value. `dump` is the dumper's name in the generated code."""
        if self.dump_source:
            return self.dump_source.replace("$value", self.source).replace("$dump", dump)
        return self.source if self.dump is None else f"{dump}({self.source})"


def member_of(codecs: Codecs, key: str, source: str, kind: Any, legacy: bool) -> Member:
    """Describe a member whose value is of a kind or of a declared class."""
    dump_source = kind.dump_source(codecs, legacy) if isinstance(kind, Kind) else ""
    return Member(codecs.spec.spell(key), source, codecs.dumper(kind, legacy), dump_source, isinstance(kind, Maybe))


def struct_dumper(codecs: Codecs, cls: type, legacy: bool) -> Dump:
    """Generate the dumper of a declared class. It returns a dict of the fields in order, without unset optional fields."""
    members = [member_of(codecs, field.json, f"v.{field.name}", field.kind, legacy) for field in shown_fields(cls, legacy)]
    return object_dumper(cls.__name__, members + extra_members(codecs, cls, legacy))


def extra_members(codecs: Codecs, cls: type, legacy: bool) -> list[Member]:
    """Return the constant members that the condenser's JSON form of a class adds."""
    extra = getattr(cls, "LEGACY_EXTRA", {}) if legacy else {}
    return [Member(codecs.spec.spell(key), repr(value)) for key, value in extra.items()]


def object_dumper(name: str, members: list[Member]) -> Dump:
    """Generate the function that writes a value `v` as a JSON object with these members, in order."""
    names: dict[str, Any] = {f"dump{i}": member.dump for i, member in enumerate(members)}
    values = [member.code(f"dump{i}") for i, member in enumerate(members)]
    if any(member.optional for member in members):
        lines = ["out = {}"]
        for member, value in zip(members, values, strict=True):
            test = f"if {member.source} is not None: " if member.optional else ""
            lines.append(f"{test}out[{member.key!r}] = {value}")
        lines.append("return out")
    else:
        lines = [f"return {{{', '.join(f'{member.key!r}: {value}' for member, value in zip(members, values, strict=True))}}}"]
    made: Dump = compile_function(f"dump_{name}", ["v"], lines, names)
    return made


def struct_parser(codecs: Codecs, cls: type, legacy: bool) -> Parse:
    """Generate the parser of a declared class, which converts a JSON object to an instance.

    The parser accepts both spellings of a field's name, and fills in defaults for missing fields.
    """
    names: dict[str, Any] = {"cls": cls, "missing": MISSING, "to_object": to_object}
    lines = ["if type(o) is not dict: to_object(o)"]
    arguments = []
    for i, field in enumerate(wire_fields(cls)):
        names[f"parse{i}"] = codecs.parser(field.kind, legacy)
        names[f"default{i}"] = field_default(codecs, cls, field)
        arguments.append(f"{field.name}=f{i}")
        # The condenser doesn't read fields that it doesn't write. They get their defaults, even if the object contains them.
        if legacy and field.name in getattr(cls, "LEGACY_ABSENT", ()):
            lines.append(f"f{i} = default{i}")
            continue
        spelled = codecs.spec.spell(field.json)
        lookup = f"o.get({spelled!r}, missing)"
        if spelled != field.json:
            lookup = f"o[{spelled!r}] if {spelled!r} in o else o.get({field.json!r}, missing)"
        lines += [f"x = {lookup}", f"f{i} = default{i} if x is missing else parse{i}(x)"]
    made: Parse = compile_function(f"parse_{cls.__name__}", ["o"], [*lines, f"return cls({', '.join(arguments)})"], names)
    return made
