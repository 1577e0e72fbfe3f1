"""The client that sends a request, independent of the protocol."""

from typing import Any

from msgspec import Struct


class Caller(Struct, frozen=True):
    """The client that sends a request. `address` is its limit key (`http.connection_limits.address_of`), "" in the node's own process.
    `why_not_local` is the reason why it has no local rights, "" if it has them. `session` is that of its WebSocket, if any.
    """

    address: str = ""
    why_not_local: str = ""
    session: Any = None

    @property
    def is_local(self) -> bool:
        """Whether the client has local rights: it may call every method."""
        return not self.why_not_local

    @property
    def queue(self) -> str:
        """The client's key in the fair queue: its address, or "" (shared with the node itself) with local rights."""
        return self.address if self.why_not_local else ""


# The node itself, or a script that runs the chain in its own process.
LOCAL = Caller()
# An unknown client.
ANYBODY = Caller(why_not_local="nothing is known of the caller")
