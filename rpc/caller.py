"""Who makes a request. It knows no protocol and no method."""

from typing import Any

from msgspec import Struct


class Caller(Struct, frozen=True):
    """The client of a request: the address that stands for it (`http.guests.address_of`), "" in the node's own process; why it has no
    local rights, "" when it has them; and the session of its WebSocket, None elsewhere.
    """

    address: str = ""
    why_not_local: str = ""
    session: Any = None

    @property
    def is_local(self) -> bool:
        """Whether it has local rights: it may call every method."""
        return not self.why_not_local

    @property
    def queue(self) -> str:
        """The address by whose turn it is served: programs with local rights have that of the node itself."""
        return self.address if self.why_not_local else ""


# The node itself, and whoever has the chain in a process of its own.
LOCAL = Caller()
# Of whom nothing is known.
ANYBODY = Caller(why_not_local="nothing is known of the caller")
