"""Kinds of fields that only `bridge` uses: real numbers, SBD amounts as text or number, arbitrary JSON objects, roles.

The replies of `bridge` have the format of the social indexer, which differs from both JSON formats of the node. Source: social.md §3.2.
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
    """Convert an SBD amount from thousandths to a real number of SBD."""
    return amount / SBD_UNIT


class Number(Kind):
    """A JSON number without bounds: an integer of any size, or a real number."""

    default = 0.0


class SbdNumber(Number):
    """An SBD amount as a real number."""

    default = 0

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return sbd_number


class SbdText(Amount):
    """An SBD amount as text, in the format of condenser_api."""

    def __init__(self) -> None:
        super().__init__(SBD)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return super().dumper(codecs, True)

    def dump_source(self, codecs: Codecs, legacy: bool) -> str:
        return super().dump_source(codecs, True)


class PreformattedTime(Seconds):
    """A time that is already formatted as text in the value."""

    default = time_text(0)  # type: ignore[assignment]

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return None


class FreeObject(Kind):
    """A JSON object with arbitrary members."""

    default: ClassVar[Json] = {}  # type: ignore[misc]


class RoleName(Choice):
    """An account's role in a community, encoded as its name."""

    def __init__(self) -> None:
        super().__init__("role", *ROLES)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return ROLE_NAMES.__getitem__


class RoleRow(Kind):
    """A row of the roles table, encoded as an array of three strings: account, role and title."""

    default = Role()

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda row: (row.account, ROLE_NAMES[row.role], row.title)


SbdTextAmount = Annotated[int, SbdText()]
TextList = Annotated[list[str], Many(String())]
FormattedTime = Annotated[str, ShowsRecord(Seconds())]
