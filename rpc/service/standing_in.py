"""Answers requests in a copy of the process that has no loop: only those that read, each at once."""

from typing import Any

from rpc.service.beginning import Done, begin
from rpc.service.envelope import Service
from rpc.service.reading import read_json

_IN_SESSION = object()


def answer_read(service: Service, body: bytes, local: bool, why_not_local: str, in_session: bool) -> bytes:
    """Return the answer to a request that only reads the chain; b"" for one that changes it, or speaks of the process or a session."""
    session = _IN_SESSION if in_session else None
    try:
        request: Any = read_json(body, local)
    except Exception:
        request = None  # whose answer says so
    if not all(service.only_reads(one, session) for one in (request if type(request) is list else [request])):
        return b""
    reply = service.answer(body, local, why_not_local, session)
    if isinstance(reply, bytes):
        return reply
    done = begin(reply)
    return done.value if isinstance(done, Done) else b""
