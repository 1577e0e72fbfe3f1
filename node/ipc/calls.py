"""Messages for a call that another process of the node answers."""

from msgspec import Struct


class Reply(Struct, frozen=True, array_like=True, tag=13):
    """The reply to a call or to a page request."""

    call: int
    body: bytes
    status: int = 200
    content_type: str = ""


class Call(Struct, frozen=True, array_like=True, tag=23):
    """A request for another process: its body and its caller. `in_session`: whether it came over a WebSocket."""

    call: int
    body: bytes
    address: str
    why_not_local: str
    in_session: bool
