"""Answers reads in the standby, which is a forked copy of the process without an event loop."""

from typing import Any

from rpc.caller import Caller
from rpc.declare.demand import NotHere
from rpc.json.reader import read_json
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.eager import Completed, start_eagerly

# Maximum size of a batch. While the standby answers a batch, it answers nothing else and can't detect that the main process has ended.
MEMBERS_MAX = 20


def answer_read(service: Service, body: bytes, caller: Caller) -> bytes:
    """Return the reply to a request that only reads the chain. Return b"" if a standby process can't answer the request.

    A standby can't answer large batches, requests that change the chain, requests about the process or a session, and requests that need
    something of the source of a fork.
    """
    try:
        request: Any = read_json(body, caller.is_local)
    except Exception:
        request = None  # the reply will contain the error
    members = request if type(request) is list else [request]
    if len(members) > MEMBERS_MAX or not all(service.registry.only_reads(one, caller) for one in members):
        return b""
    reply = service.answer(body, caller)
    if isinstance(reply, bytes):
        return reply
    try:
        done = start_eagerly(reply)
    except NotHere:
        return b""
    return done.value if isinstance(done, Completed) else b""
