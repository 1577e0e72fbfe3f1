"""Custom operations: payloads that the chain carries and plugins read. Declarations and what can be refused without state;
sources: operations.md §12, wire-format.md §4.1.
"""

from __future__ import annotations

from typing import Annotated

from state.operations import checks
from state.protocol import text
from state.protocol.authority import Authority
from state.protocol.codec import Codecs
from state.protocol.constants import COIN_CUSTOM_OP_ID_MAX_LENGTH
from state.protocol.errors import require
from state.protocol.kinds import CustomId, Data, Many, Names, Text, UInt16
from state.protocol.operation import Needed, Operation, operation

NOBODY = "at least one account must be specified"


@operation(15, active="required_auths")
class Custom(Operation, frozen=True):
    """Bytes under a number."""

    required_auths: Names = ()
    id: UInt16 = 0
    data: Data = b""

    def validate(self, codecs: Codecs) -> None:
        require(self.required_auths, NOBODY, condition="required_auths.size() > 0")


@operation(18)
class CustomJson(Operation, frozen=True):
    """JSON under a name; what applications on the chain are made of."""

    required_auths: Names = ()
    required_posting_auths: Names = ()
    id: CustomId = ""
    json: Text = ""

    def authorities(self, needed: Needed) -> None:
        needed.active.update(self.required_auths)
        needed.posting.update(self.required_posting_auths)

    def validate(self, codecs: Codecs) -> None:
        require(
            self.required_auths or self.required_posting_auths,
            NOBODY,
            condition="(required_auths.size() + required_posting_auths.size()) > 0",
        )
        require_id(self.id)
        require(text.is_utf8(self.json), "JSON Metadata not formatted in UTF8", condition="fc::is_utf8(json)")
        checks.require_valid_json(self.json, "json")


@operation(35)
class CustomBinary(Operation, frozen=True):
    """Bytes under a name, with authorities of any kind; no longer accepted from clients."""

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


def require_id(name: str) -> None:
    """An id is not too long; what was read from the wire has been cut."""
    size = text.size(name)
    require(
        size <= COIN_CUSTOM_OP_ID_MAX_LENGTH,
        "Operation ID length exceeded. Max: ${max} Current: ${n}",
        condition="id.size() <= COIN_CUSTOM_OP_ID_MAX_LENGTH",
        max=COIN_CUSTOM_OP_ID_MAX_LENGTH,
        n=size,
    )
