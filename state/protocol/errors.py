"""The class tree of the chain's refusals, with the reference's codes, names and texts.

Clients match the text of an error. A text is written once, with coind's names of the tokens and with `${key}` placeholders. The chain's
spelling and the values are inserted only for a reply (`message`). Source: rpc-api.md §1.7, §1.8.
"""

import re
from collections.abc import Callable
from typing import ClassVar, TypeVar

Spell = Callable[[str], str]
Value = TypeVar("Value")

PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def as_written(text: str) -> str:
    """Return the text unchanged, with the product's word `coin` instead of a chain's brand."""
    return text


class ChainError(Exception):
    """Base of refusals, which are expected errors reported to the client. A refusal leaves the state unchanged.

    `text` can contain `${key}` placeholders for `values`. `condition` is the failed expression of the reference, which precedes the text of
    an assertion. `context` is the reference's description of the current step. `frames` are such descriptions with placeholders and their
    values, innermost first. `operation` is the index of the refused operation, None if the transaction as a whole is refused.
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
        """The description of the error's class, with which every message starts."""
        return self.WHAT

    @property
    def format(self) -> str:
        """The text with unfilled placeholders, which clients receive as `format` of the first stack frame."""
        return self.text

    def message(self, spell: Spell = as_written) -> str:
        """Return the whole text for clients. `spell` replaces the product's word by the chain's brand."""
        text = fill(spell(self.format), self.values, spell)
        outer = "".join(fill(spell(format_), values, spell) for format_, values in self.frames)
        return f"{spell(self.what)}:{text}{spell(self.context)}{outer}"

    def __str__(self) -> str:
        return self.message()


def fill(text: str, values: dict[str, object], spell: Spell = as_written) -> str:
    """Replace each `${key}` in a string with its value. Placeholders inside values are not replaced."""
    return PLACEHOLDER.sub(lambda match: shown(values[match[1]], spell) if match[1] in values else match[0], text)


def shown(value: object, spell: Spell = as_written) -> str:
    """Format a value for a message: bools as JSON, errors as their message, others by `str` (assets in NAI form)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, ChainError):
        return value.message(spell)
    return str(value)


# ------------------------------------------------------------------ reading


class BadCast(ChainError):
    """A JSON value has the wrong type."""

    CODE, NAME, WHAT = 7, "bad_cast_exception", "Bad Cast"


class ParseError(ChainError):
    """A text can't be parsed."""

    CODE, NAME, WHAT = 4, "parse_error_exception", "Parse Error"


class EndOfFile(ChainError):
    """A text ends too early."""

    CODE, NAME, WHAT = 11, "eof_exception", "End Of File"


class OutOfRange(ChainError):
    """The bytes end too early, or a number is out of range."""

    CODE, NAME, WHAT = 8, "out_of_range_exception", "Out of Range"


def cut_short(size: int, left: int, method: str = "read") -> OutOfRange:
    """Return the reference's error for `size` bytes that end within a value. `left` is the number of bytes that remain for the last read.

    The count in the text depends only on `left`, not on the number of missing bytes.
    """
    return OutOfRange("${method} datastream of length ${len} over by ${over}", method=method, len=size, over=1 - left)


class Wrapped(ChainError):
    """An error that the reference reports as a wrapped standard exception. The exception's text takes the place of the error's class."""

    CODE, NAME = 13, "St9exception"

    def __init__(self, what: str, /, **values: object) -> None:
        super().__init__("${what}: ")
        self.values = {"what": what, **values}

    @property
    def what(self) -> str:
        return str(self.values["what"])


class LexicalCast(Wrapped):
    """A number in a text can't be parsed."""

    NAME = "N5boost10wrapexceptINS_16bad_lexical_castEEE"

    def __init__(self) -> None:
        super().__init__("bad lexical cast: source type value could not be interpreted as target")


class UnknownKey(Wrapped):
    """Refusal because an object doesn't exist. `fields` and `key` identify the missing object. `kind` is its type if the fields don't imply
    it.

    The reference's text contains none of these values; explanations of refusals use them.
    """

    NAME = "N5boost10wrapexceptISt12out_of_rangeEE"

    def __init__(self, *, kind: str = "", fields: tuple[str, ...] = (), key: tuple[object, ...] = ()) -> None:
        super().__init__("unknown key")
        self.kind, self.fields, self.key = kind, fields, key


class BadDay(Wrapped):
    """The day of a date isn't in its month."""

    NAME = "N5boost10wrapexceptINS_9gregorian16bad_day_of_monthEEE"


class BadMonth(Wrapped):
    """The month of a date isn't in 1 to 12."""

    NAME = "N5boost10wrapexceptINS_9gregorian9bad_monthEEE"


class BadYear(Wrapped):
    """The year of a date is out of the supported range."""

    NAME = "N5boost10wrapexceptINS_9gregorian8bad_yearEEE"


class DivisionByZero(Wrapped):
    """A rule divides an unsigned 128-bit number by zero."""

    NAME = "N5boost10wrapexceptISt14overflow_errorEE"

    def __init__(self) -> None:
        super().__init__("Division by zero.")


class NoSuchPlace(Wrapped):
    """A character beyond the end of a text was read."""

    NAME = "St12out_of_range"


class NotUnique(Wrapped):
    """Two rows would have the same key in a unique index."""

    NAME = "N5boost10wrapexceptISt11logic_errorEE"


# ------------------------------------------------------------------ rules


class Refused(ChainError):
    """An assertion of the reference failed. If the assertion has a condition, it precedes the text in the message."""

    CODE, NAME, WHAT = 10, "assert_exception", "Assert Exception"

    @property
    def format(self) -> str:
        return f"{self.condition}: {self.text}" if self.condition else self.text


class IntegerOverflow(ChainError):
    """A number exceeds the 64-bit range."""

    CODE, NAME, WHAT = 19, "overflow_exception", "Integer Overflow"


class IntegerUnderflow(ChainError):
    """A number falls below the 64-bit range."""

    CODE, NAME, WHAT = 20, "underflow_exception", "Integer Underflow"


class InvalidTransaction(ChainError):
    """A transaction can't be applied, independent of its operations."""

    CODE, NAME, WHAT = 4030000, "transaction_exception", "transaction validation exception"


class TransactionExpired(InvalidTransaction):
    """The expiration of a transaction has passed or is too far in the future."""

    CODE, NAME, WHAT = 4030100, "transaction_expiration_exception", "transaction expiration exception"


class WrongReferenceBlock(InvalidTransaction):
    """The reference block of a transaction differs from the block with that number on this chain."""

    CODE, NAME, WHAT = 4030200, "transaction_tapos_exception", "transaction tapos exception"


class AuthorityError(InvalidTransaction):
    """The signatures of a transaction aren't those that its operations require."""


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
    """A block whose parent is unknown."""

    CODE, NAME, WHAT = 4080000, "unlinkable_block_exception", "unlinkable block"


class UnknownHardfork(ChainError):
    """The witnesses voted for a hardfork that this node doesn't have."""

    CODE, NAME, WHAT = 4090000, "unknown_hardfork_exception", "chain attempted to apply unknown hardfork"


class PluginRefused(ChainError):
    """A plugin's soft rule refuses a transaction on this node."""

    CODE, NAME, WHAT = 4100000, "plugin_exception", "plugin exception"


def require(ok: object, text: str = "", /, *, condition: str = "", **values: object) -> None:
    """Raise Refused unless `ok` is true. The chain's rules use this function for their checks."""
    if not ok:
        raise Refused(text, condition=condition, **values)


def existing(value: Value | None, text: str = "", /, *, condition: str = "", **values: object) -> Value:
    """Return the value, or raise Refused if it is None."""
    if value is None:
        raise Refused(text, condition=condition, **values)
    return value


class UnreadableBlock(Exception):
    """Error for an irreversible block that can't be read, or that lacks an operation, because the file of the chain's blocks is damaged.
    `number` is the block's number.

    This is not a refusal: what needs the block can be valid.
    """

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number


class NotCanonical(Exception):
    """Raised for bytes that differ from the packed form of the value decoded from them (wire-format.md §1.2)."""
