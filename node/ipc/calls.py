"""A call that another process of the node answers, and the answer."""

from msgspec import Struct


class Reply(Struct, frozen=True, array_like=True, tag=13):
    """The answer to a call or to a question for a page."""

    call: int
    body: bytes
    status: int = 200
    content_type: str = ""


class Call(Struct, frozen=True, array_like=True, tag=23):
    """A request that the owner has to answer: its body, and its caller, with whether it came by a WebSocket."""

    call: int
    body: bytes
    address: str
    why_not_local: str
    in_session: bool
