"""The arguments of an operation's command, derived from the fields that the operation declares.

Required fields are positional arguments, in wire order. The other fields are options.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from node.cli.tx.field_texts import BadText, Context, describe, is_nested, parse
from node.runtime.errors import NodeError
from state.protocol.codec.fields import MISSING, field_default, wire_fields
from state.protocol.codec.kinds import Flag, Many, Maybe, Variant, Void
from state.protocol.operation import Needed, Operation
from state.protocol.values.asset import Asset

SHOWN_CHARACTERS_MAX = 80
# Text fields that can be omitted. An account name can be omitted if the empty name has its own meaning.
LEFT_OUT = frozenset({
    "memo", "json_metadata", "posting_json_metadata", "json_meta", "title", "parent_author", "extensions", "account_update.memo_key"
})  # fmt: skip
SIGNERS = "required_"
# The declared default of an order's expiration, the end of time, is refused since hardfork 20. The maximum is 28 days.
DEFAULTS = {"limit_order_create.expiration": "+27d", "limit_order_create2.expiration": "+27d"}
ROLES = ("owner", "active", "posting")


@dataclass(frozen=True)
class FieldArgument:
    """A field of an operation as an argument of its command. `default_text` is shown instead of the declared default."""

    name: str
    json: str
    kind: Any
    is_required: bool
    default: Any
    default_text: str | None

    @property
    def is_flag(self) -> bool:
        """Whether the field is a boolean. Its option then takes no value."""
        return isinstance(self.kind, Flag)

    @property
    def option(self) -> str:
        """The name of the option."""
        return "--" + self.json.replace("_", "-")

    @property
    def label(self) -> str:
        """The name of the argument in help texts and errors."""
        return self.json.replace("_", "-").upper() if self.is_required else self.option

    @property
    def is_repeated(self) -> bool:
        """Whether the option can be given several times, for example for a list of names."""
        return not self.is_required and isinstance(self.kind, Many) and not is_nested(self.kind.element)

    @property
    def is_hidden(self) -> bool:
        """Whether the help omits the field. It omits extensions that no operation uses today."""
        return isinstance(self.kind, Many) and isinstance(self.kind.element, Variant) and self.kind.element.default == Void()

    @property
    def description(self) -> str:
        """The description of the field's type."""
        return describe(self.kind)


def arguments(cls: type[Operation]) -> list[FieldArgument]:
    """Return the fields of an operation as arguments, in wire order."""
    return [
        FieldArgument(
            name=field.name,
            json=field.json,
            kind=field.kind,
            is_required=is_required(cls, field.name, field.json, field.kind),
            default=declared_default(cls, field.name),
            default_text=DEFAULTS.get(f"{cls.NAME}.{field.json}"),
        )
        for field in wire_fields(cls)
    ]


def is_required(cls: type[Operation], name: str, json: str, kind: Any) -> bool:
    """Whether a field must be given: it isn't optional, and its declared default is only the empty value of its type."""
    if isinstance(kind, Maybe | Flag) or json in LEFT_OUT or f"{cls.NAME}.{json}" in LEFT_OUT:
        return False
    if json.startswith(SIGNERS):
        # Which of several lists contains the signer depends on the role.
        return False
    declared = declared_default(cls, name)
    if isinstance(declared, Asset):
        return declared.amount == 0
    if declared is MISSING:
        return False
    return bool(declared == (kind() if isinstance(kind, type) else kind.default))


def declared_default(cls: Any, name: str) -> Any:
    """Return the declared default of a field. Return MISSING if the default comes from a factory, since it then depends on the chain."""
    position = cls.__struct_fields__.index(name) - len(cls.__struct_fields__) + len(cls.__struct_defaults__)
    found = cls.__struct_defaults__[position] if position >= 0 else MISSING
    return MISSING if type(found).__module__ == "msgspec._core" and type(found).__name__ == "Factory" else found


def build_operation(cls: type[Operation], given: Mapping[str, Any], context: Context) -> Operation:
    """Build an operation from its arguments, keyed by field name. The arguments are strings, booleans for flags, or sequences of strings
    for lists. Raises NodeError.
    """
    values: dict[str, Any] = {}
    fields = {field.name: field for field in wire_fields(cls)}
    for argument in arguments(cls):
        text = given.get(argument.name)
        if text is None:
            text = argument.default_text
        if text is None:
            values[argument.name] = field_default(context.codecs, cls, fields[argument.name])
        elif argument.is_flag:
            values[argument.name] = bool(text)
        else:
            values[argument.name] = value_of(argument, text, context)
    return cls(**values)


def value_of(argument: FieldArgument, text: Any, context: Context) -> Any:
    """Parse the value of an argument. Raises NodeError, which names the argument."""
    if not isinstance(text, str):
        text = ",".join(text) if len(text) != 1 else text[0]
    try:
        return parse(argument.kind, text, context)
    except BadText as error:
        shown = text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "..."
        raise NodeError(f"{argument.label} {shown!r}: {error}") from None


def signers_words(cls: type[Operation]) -> str:
    """Describe whose authority must sign an operation. Return "" if that depends on several fields."""
    if not cls.SIGNER:
        return ""
    field = next(field for field in wire_fields(cls) if field.name == cls.SIGNER)
    try:
        needed = Needed.by((cls(**{cls.SIGNER: "x"}),))
    except Exception:
        return ""
    role = next((role for role in ROLES if getattr(needed, role)), "")
    return f"Signed with the {role} authority of {field.json.replace('_', '-').upper()}." if role else ""
