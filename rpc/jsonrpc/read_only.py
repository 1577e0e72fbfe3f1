"""Answers reads in the standby, a forked copy of the process without an event loop."""

from typing import Any

from rpc.caller import Caller
from rpc.json.reader import read_json
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.eager import Completed, start_eagerly

# Members of a batch. While the standby answers one, it answers no other request, and doesn't notice the end of the process.
MEMBERS_MAX = 20


def answer_read(service: Service, body: bytes, caller: Caller) -> bytes:
    """Return the reply to a request that only reads the chain; b"" for requests that change it, that concern the process or a session, and
    for large batches.
    """
    try:
        request: Any = read_json(body, caller.is_local)
    except Exception:
        request = None  # the reply gives the error
    members = request if type(request) is list else [request]
    if len(members) > MEMBERS_MAX or not all(service.registry.only_reads(one, caller) for one in members):
        return b""
    reply = service.answer(body, caller)
    if isinstance(reply, bytes):
        return reply
    done = start_eagerly(reply)
    return done.value if isinstance(done, Completed) else b""
