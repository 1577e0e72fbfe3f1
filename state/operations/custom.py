"""Custom operations: payloads that plugins interpret. Sources: operations.md §12, wire-format.md §4.1."""

from __future__ import annotations

from typing import Annotated

from state.effects.interpreters import interpret
from state.operations import checks
from state.protocol.authority import Authority
from state.protocol.codec.kinds import Codecs, CustomId, Data, Many, Names, Text, UInt16
from state.protocol.constants import COIN_CUSTOM_OP_DATA_MAX_LENGTH, COIN_CUSTOM_OP_ID_MAX_LENGTH, COIN_MAX_AUTHORITY_MEMBERSHIP
from state.protocol.errors import Refused, require
from state.protocol.operation import Needed, Operation, operation
from state.protocol.values import text
from state.tables import State

JSON_BYTES_OF_UNIT = 50  # bytes of JSON per unit of work
NOBODY = "at least one account must be specified"


@operation(15, active="required_auths")
class Custom(Operation, frozen=True):
    """Store binary data under a numeric id."""

    required_auths: Names = ()
    id: UInt16 = 0
    data: Data = b""

    def validate(self, codecs: Codecs) -> None:
        require(self.required_auths, NOBODY, condition="required_auths.size() > 0")

    def apply(self, state: State) -> None:
        require_short_data(state, self.data)
        require_members(state, len(self.required_auths), "o.required_auths.size()")


@operation(18)
class CustomJson(Operation, frozen=True):
    """Store JSON under a text id. Applications on the chain use it."""

    required_auths: Names = ()
    required_posting_auths: Names = ()
    id: CustomId = ""
    json: Text = ""

    def authorities(self, needed: Needed) -> None:
        needed.active.update(self.required_auths)
        needed.posting.update(self.required_posting_auths)

    def sole_signer(self) -> tuple[str, str]:
        posting = self.required_posting_auths
        return ("posting", posting[0]) if len(posting) == 1 and not self.required_auths else ("", "")

    def impacted(self) -> set[str]:
        return {*self.required_auths, *self.required_posting_auths}

    def validate(self, codecs: Codecs) -> None:
        require(
            self.required_auths or self.required_posting_auths,
            NOBODY,
            condition="(required_auths.size() + required_posting_auths.size()) > 0",
        )
        require_id(self.id)
        require(text.is_utf8(self.json), "JSON Metadata not formatted in UTF8", condition="fc::is_utf8(json)")
        checks.require_valid_json(self.json, "json")

    def apply(self, state: State) -> None:
        size, limit = text.size(self.json), "o.json.length() <= COIN_CUSTOM_OP_DATA_MAX_LENGTH"
        require_short(state, size, "Operation JSON must be less than ${bytes} bytes.", limit)
        require_members(state, len(self.required_auths) + len(self.required_posting_auths), "num_auths")
        state.work.spend(size // JSON_BYTES_OF_UNIT, "JSON")
        interpret(state, self)


@operation(35)
class CustomBinary(Operation, frozen=True):
    """Store binary data under a text id, signed with authorities of any kind. No longer accepted from clients."""

    required_owner_auths: Names = ()
    required_active_auths: Names = ()
    required_posting_auths: Names = ()
    required_auths: Annotated[tuple[Authority, ...], Many(Authority)] = ()
    id: CustomId = ""
    data: Data = b""

    def authorities(self, needed: Needed) -> None:
        needed.owner.update(self.required_owner_auths)
        needed.active.update(self.required_active_auths)
        needed.posting.update(self.required_posting_auths)
        needed.other.extend(self.required_auths)

    def validate(self, codecs: Codecs) -> None:
        require(
            self.required_owner_auths or self.required_active_auths or self.required_posting_auths,
            NOBODY,
            condition="(required_owner_auths.size() + required_active_auths.size() + required_posting_auths.size()) > 0",
        )
        require_id(self.id)
        for authority in self.required_auths:
            authority.validate()

    def apply(self, state: State) -> None:
        require_short_data(state, self.data)
        require(not state.is_pushing, "custom_binary_operation is deprecated", condition="false")
        require(state.hardfork >= 14, condition="d.has_hardfork( COIN_HARDFORK_0_14__317 )")
        names = len(self.required_owner_auths) + len(self.required_active_auths) + len(self.required_posting_auths)
        require_members(state, names + sum(authority.members for authority in self.required_auths), "num_auths")
        interpret(state, self)


def require_id(name: str) -> None:
    """Refuse an id that is too long. Ids decoded from the wire format are already truncated."""
    size = text.size(name)
    if size > COIN_CUSTOM_OP_ID_MAX_LENGTH:
        raise Refused(
            "Operation ID length exceeded. Max: ${max} Current: ${n}",
            condition="id.size() <= COIN_CUSTOM_OP_ID_MAX_LENGTH",
            max=COIN_CUSTOM_OP_ID_MAX_LENGTH,
            n=size,
        )


def require_members(state: State, n: int, what: str) -> None:
    """Refuse more than 40 signing accounts. Before hardfork 20 this applies only to pushed transactions."""
    if n > COIN_MAX_AUTHORITY_MEMBERSHIP and (state.hardfork >= 20 or state.is_pushing):
        raise Refused(
            "Authority membership exceeded. Max: ${max} Current: ${n}",
            condition=f"{what} <= COIN_MAX_AUTHORITY_MEMBERSHIP",
            max=COIN_MAX_AUTHORITY_MEMBERSHIP,
            n=n,
        )


def require_short_data(state: State, data: bytes) -> None:
    """Refuse long binary data in a pushed transaction."""
    limit = "o.data.size() <= COIN_CUSTOM_OP_DATA_MAX_LENGTH"
    require_short(state, len(data), "Operation data must be less than ${bytes} bytes.", limit)


def require_short(state: State, size: int, message: str, condition: str) -> None:
    """Refuse a long payload in a pushed transaction. Blocks can contain longer payloads."""
    if state.is_pushing and size > COIN_CUSTOM_OP_DATA_MAX_LENGTH:
        raise Refused(message, condition=condition, bytes=COIN_CUSTOM_OP_DATA_MAX_LENGTH)
