"""The client that sends a request, described independently of the protocol."""

from typing import Any

from msgspec import Struct


class Caller(Struct, frozen=True):
    """The client that sends a request.

    `address` is the key by which the client is limited (`http.connection_limits.address_of`), or "" in the node's own process.
    `why_not_local` is the reason why the client has no local rights, or "" if it has these rights. `session` is the session of the client's
    WebSocket, if it has one.
    """

    address: str = ""
    why_not_local: str = ""
    session: Any = None

    @property
    def is_local(self) -> bool:
        """Whether the client has local rights, which allow it to call every method."""
        return not self.why_not_local

    @property
    def queue(self) -> str:
        """The client's key in fair queues: its address, or "" for a client with local rights and for the node's own work."""
        return self.address if self.why_not_local else ""


# The node itself, or a script that runs the chain in its own process.
LOCAL = Caller()
# An unknown client.
ANYBODY = Caller(why_not_local="nothing is known of the caller")
