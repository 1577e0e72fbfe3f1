"""Kinds of fields that only `bridge` uses: real numbers, amounts of SBD as text or number, free JSON, roles.

These replies have the format of the social indexer, which differs from both JSON formats of the node. Source: social.md §3.2.
"""

from typing import Annotated, ClassVar

from rpc.declare.record_encoder import Json, ShowsRecord
from rpc.declare.record_fields import Amount
from state.plugins.social.community_payloads import ROLE_NAMES, ROLES
from state.plugins.social.rows import Role
from state.protocol.codec.kinds import Choice, Codecs, Dump, Kind, Many, Seconds, String
from state.protocol.values.asset import SBD, SBD_UNIT
from state.protocol.values.text import time_text


def sbd_number(amount: int) -> float:
    """Convert an amount of SBD from thousandths to a real number."""
    return amount / SBD_UNIT


class Number(Kind):
    """An unlimited JSON number: an integer of any size, or a real number."""

    default = 0.0


class SbdNumber(Number):
    """An amount of SBD as a real number."""

    default = 0

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return sbd_number


class SbdText(Amount):
    """A non-negative amount of SBD as text, in the format of condenser_api."""

    def __init__(self) -> None:
        super().__init__(SBD)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        letters = codecs.symbols.letters[SBD]
        # A post has five of these. A fixed width makes encoding about 15 % faster than Amount.
        return lambda amount: f"{amount // SBD_UNIT}.{amount % SBD_UNIT:03} {letters}"


class GivenTime(Seconds):
    """A time that is already text."""

    default = time_text(0)  # type: ignore[assignment]

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return None


class FreeObject(Kind):
    """A JSON object with arbitrary members."""

    default: ClassVar[Json] = {}  # type: ignore[misc]


class RoleName(Choice):
    """A role in a community, encoded as its name."""

    def __init__(self) -> None:
        super().__init__("role", *ROLES)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return ROLE_NAMES.__getitem__


class RoleRow(Kind):
    """The row of a role, encoded as an array of three texts: account, role, title."""

    default = Role()

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda row: (row.account, ROLE_NAMES[row.role], row.title)


SbdTextAmount = Annotated[int, SbdText()]
TextList = Annotated[list[str], Many(String())]
TimeText = Annotated[str, ShowsRecord(Seconds())]
