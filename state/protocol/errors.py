"""What the chain refuses, as one tree of named reasons; nothing here knows any state.

The text of an error is what clients match. It is written once, in product spelling and with `${key}` placeholders, and
is spelled and filled in only when a client is answered (`message`). Source: rpc-api.md §1.7, §1.8.
"""

import re
from collections.abc import Callable
from typing import ClassVar

Spell = Callable[[str], str]

PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def as_written(text: str) -> str:
    """The spelling that changes nothing: product form."""
    return text


class ChainError(Exception):
    """The chain refuses: expected in normal operation, reported to the client, changes nothing.

    `text` may hold `${key}` placeholders for `values`. `condition` is the expression that failed, put in front of the
    text the way the reference does for assertions. `context` is what the reference was doing, `frames` the same where it
    names values: texts with placeholders, and their values, from the inside out. `operation` is the index of the operation that is
    refused; None where the transaction as a whole is.
    """

    CODE: ClassVar[int] = 0
    NAME: ClassVar[str] = "exception"
    WHAT: ClassVar[str] = "unspecified"

    def __init__(self, text: str = "", /, *, condition: str = "", **values: object) -> None:
        super().__init__(text, condition)
        self.text = text
        self.condition = condition
        self.values = values
        self.context = ""
        self.frames: list[tuple[str, dict[str, object]]] = []
        self.operation: int | None = None

    @property
    def what(self) -> str:
        """The class of the error in words; the first part of every message."""
        return self.WHAT

    @property
    def format(self) -> str:
        """The text with its placeholders, as the `format` of the first stack frame has it."""
        return self.text

    def message(self, spell: Spell = as_written) -> str:
        """The whole text as clients see it, spelled for a chain."""
        text = fill(spell(self.format), self.values, spell)
        outer = "".join(fill(spell(format_), values, spell) for format_, values in self.frames)
        return f"{spell(self.what)}:{text}{spell(self.context)}{outer}"

    def __str__(self) -> str:
        return self.message()


def fill(text: str, values: dict[str, object], spell: Spell = as_written) -> str:
    """Replace each `${key}` of a text by its value; a `${key}` inside a value stays."""
    return PLACEHOLDER.sub(lambda match: shown(values[match[1]], spell) if match[1] in values else match[0], text)


def shown(value: object, spell: Spell = as_written) -> str:
    """Return a value as messages show it: a text as it is, anything else as it prints (assets print as their NAI form)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, ChainError):
        return value.message(spell)
    return str(value)


# ------------------------------------------------------------------ reading


class BadCast(ChainError):
    """A JSON value has a kind that its place doesn't take."""

    CODE, NAME, WHAT = 7, "bad_cast_exception", "Bad Cast"


class ParseError(ChainError):
    """A text can't be read as what it should be."""

    CODE, NAME, WHAT = 4, "parse_error_exception", "Parse Error"


class EndOfFile(ChainError):
    """A text ends too early."""

    CODE, NAME, WHAT = 11, "eof_exception", "End Of File"


class OutOfRange(ChainError):
    """Bytes end too early, or a number doesn't fit."""

    CODE, NAME, WHAT = 8, "out_of_range_exception", "Out of Range"


def cut_short(size: int, left: int, method: str = "read") -> OutOfRange:
    """Return the reference's error for `size` bytes that end within a value, at a read that finds only `left` of those it needs.

    It counts from the byte before the end, whatever the number of missing bytes is.
    """
    return OutOfRange("${method} datastream of length ${len} over by ${over}", method=method, len=size, over=1 - left)


class Wrapped(ChainError):
    """A failure that the reference reports through a wrapped standard exception: its text stands for its class."""

    CODE, NAME = 13, "St9exception"

    def __init__(self, what: str, /, **values: object) -> None:
        super().__init__("${what}: ")
        self.values = {"what": what, **values}

    @property
    def what(self) -> str:
        return str(self.values["what"])


class LexicalCast(Wrapped):
    """A number inside a text can't be read."""

    NAME = "N5boost10wrapexceptINS_16bad_lexical_castEEE"

    def __init__(self) -> None:
        super().__init__("bad lexical cast: source type value could not be interpreted as target")


class UnknownKey(Wrapped):
    """An object that must exist doesn't exist: the one with this `key` in these `fields`, of the `kind` that the fields don't show.

    The reference's text names none of it; an explanation does.
    """

    NAME = "N5boost10wrapexceptISt12out_of_rangeEE"

    def __init__(self, *, kind: str = "", fields: tuple[str, ...] = (), key: tuple[object, ...] = ()) -> None:
        super().__init__("unknown key")
        self.kind, self.fields, self.key = kind, fields, key


class BadDay(Wrapped):
    """A date's day isn't one of its month."""

    NAME = "N5boost10wrapexceptINS_9gregorian16bad_day_of_monthEEE"


class BadMonth(Wrapped):
    """A date's month isn't one of the year."""

    NAME = "N5boost10wrapexceptINS_9gregorian9bad_monthEEE"


class BadYear(Wrapped):
    """A date's year is out of the range that is known."""

    NAME = "N5boost10wrapexceptINS_9gregorian8bad_yearEEE"


class DivisionByZero(Wrapped):
    """A rule divides an unsigned 128-bit number by zero."""

    NAME = "N5boost10wrapexceptISt14overflow_errorEE"

    def __init__(self) -> None:
        super().__init__("Division by zero.")


class NoSuchPlace(Wrapped):
    """A character after the end of a text is asked for."""

    NAME = "St12out_of_range"


class NotUnique(Wrapped):
    """Two rows would have the same key in a unique index."""

    NAME = "N5boost10wrapexceptISt11logic_errorEE"


# ------------------------------------------------------------------ rules


class Refused(ChainError):
    """A rule refuses: an assertion of the reference, whose condition stands in front of the text. Other refusals have no condition."""

    CODE, NAME, WHAT = 10, "assert_exception", "Assert Exception"

    @property
    def format(self) -> str:
        return f"{self.condition}: {self.text}" if self.condition else self.text


class IntegerOverflow(ChainError):
    """A number becomes greater than 64 bits hold."""

    CODE, NAME, WHAT = 19, "overflow_exception", "Integer Overflow"


class IntegerUnderflow(ChainError):
    """A number becomes smaller than 64 bits hold."""

    CODE, NAME, WHAT = 20, "underflow_exception", "Integer Underflow"


class InvalidTransaction(ChainError):
    """A transaction can't be applied, whatever its operations do."""

    CODE, NAME, WHAT = 4030000, "transaction_exception", "transaction validation exception"


class TransactionExpired(InvalidTransaction):
    """Its expiration has passed, or lies too far ahead."""

    CODE, NAME, WHAT = 4030100, "transaction_expiration_exception", "transaction expiration exception"


class WrongReferenceBlock(InvalidTransaction):
    """The block that it refers to is not the one that this chain has there."""

    CODE, NAME, WHAT = 4030200, "transaction_tapos_exception", "transaction tapos exception"


class AuthorityError(InvalidTransaction):
    """Its signatures are not the ones that its operations need."""


class MissingActiveAuthority(AuthorityError):
    CODE, NAME, WHAT = 3010000, "tx_missing_active_auth", "missing required active authority"


class MissingOwnerAuthority(AuthorityError):
    CODE, NAME, WHAT = 3020000, "tx_missing_owner_auth", "missing required owner authority"


class MissingPostingAuthority(AuthorityError):
    CODE, NAME, WHAT = 3030000, "tx_missing_posting_auth", "missing required posting authority"


class MissingOtherAuthority(AuthorityError):
    CODE, NAME, WHAT = 3040000, "tx_missing_other_auth", "missing required other authority"


class IrrelevantSignature(AuthorityError):
    CODE, NAME, WHAT = 3050000, "tx_irrelevant_sig", "irrelevant signature included"


class DuplicateSignature(AuthorityError):
    CODE, NAME, WHAT = 3060000, "tx_duplicate_sig", "duplicate signature included"


class InvalidBlock(ChainError):
    """A block can't be applied."""

    CODE, NAME, WHAT = 4020000, "block_validate_exception", "block validation exception"


class UnlinkableBlock(InvalidBlock):
    """A block whose parent is not known."""

    CODE, NAME, WHAT = 4080000, "unlinkable_block_exception", "unlinkable block"


class UnknownHardfork(ChainError):
    """The witnesses voted in a hardfork that this node doesn't have."""

    CODE, NAME, WHAT = 4090000, "unknown_hardfork_exception", "chain attempted to apply unknown hardfork"


class PluginRefused(ChainError):
    """A soft rule of this node says no."""

    CODE, NAME, WHAT = 4100000, "plugin_exception", "plugin exception"


def require(ok: object, text: str = "", /, *, condition: str = "", **values: object) -> None:
    """Refuse with an assertion unless `ok`; the one way in which rules say no."""
    if not ok:
        raise Refused(text, condition=condition, **values)


class NotCanonical(Exception):
    """Bytes that packing wouldn't give: reading them and packing the value again changes them (wire-format.md §1.2)."""
