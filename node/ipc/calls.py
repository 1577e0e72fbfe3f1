"""Messages that forward a request to another process of the node, and its reply."""

from typing import Self

from msgspec import Struct

from rpc.caller import Caller

IN_SESSION = object()


class Reply(Struct, frozen=True, array_like=True, tag=13):
    """The reply to a call or to a page request."""

    call: int
    body: bytes
    status: int = 200
    content_type: str = ""


class Call(Struct, frozen=True, array_like=True, tag=23):
    """A request that another process of the node answers: its body and its caller. `in_session` is whether it arrived over a WebSocket."""

    call: int
    body: bytes
    address: str
    why_not_local: str
    in_session: bool

    @classmethod
    def of(cls, call: int, body: bytes, caller: Caller) -> Self:
        """Return the message that forwards a client's request. `call` is its number."""
        return cls(call, body, caller.address, caller.why_not_local, caller.session is not None)

    @property
    def caller(self) -> Caller:
        """The client of the request. Its session can only be compared with None, since the real session is in the other process."""
        return Caller(self.address, self.why_not_local, IN_SESSION if self.in_session else None)
