"""Answers requests in a copy of the process that has no loop: only those that read, each at once."""

from typing import Any

from rpc.caller import Caller
from rpc.json.reader import read_json
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.eager import Completed, start_eagerly

# Members of a batch. While one is answered nobody else is, and the copy doesn't see that the process has ended.
MEMBERS_MAX = 20


def answer_read(service: Service, body: bytes, caller: Caller) -> bytes:
    """Return the answer to a request that only reads the chain; b"" for one that changes it, or speaks of the process or a session, and for
    a large batch.
    """
    try:
        request: Any = read_json(body, caller.is_local)
    except Exception:
        request = None  # the answer says what is wrong with the body
    members = request if type(request) is list else [request]
    if len(members) > MEMBERS_MAX or not all(service.only_reads(one, caller) for one in members):
        return b""
    reply = service.answer(body, caller)
    if isinstance(reply, bytes):
        return reply
    done = start_eagerly(reply)
    return done.value if isinstance(done, Completed) else b""
