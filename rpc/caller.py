"""The client of a request, independent of the protocol."""

from typing import Any

from msgspec import Struct


class Caller(Struct, frozen=True):
    """The client of a request: its limit key (`http.connection_limits.address_of`), "" in the node's own process; the reason why it has no
    local rights, "" if it has them; and the session of its WebSocket, if any.
    """

    address: str = ""
    why_not_local: str = ""
    session: Any = None

    @property
    def is_local(self) -> bool:
        """Whether it has local rights, and so may call every method."""
        return not self.why_not_local

    @property
    def queue(self) -> str:
        """Its key in the fair queue: its address, or "" (the node itself) with local rights."""
        return self.address if self.why_not_local else ""


# The node itself, or a script that has the chain in its own process.
LOCAL = Caller()
# An unknown client.
ANYBODY = Caller(why_not_local="nothing is known of the caller")
