"""`GET /stream/blocks`: an endless stream of blocks as JSON lines, over HTTP/1 and HTTP/2.

A stream holds only the piece that is being sent, so a slow client costs a connection and no memory.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

import trio

from rpc.http import connection
from rpc.http.access import Headers
from rpc.http.connection_limits import ClientUsage
from rpc.jsonrpc.dispatch import Service
from rpc.push.hub import Hub
from rpc.push.stream import BlockStream
from state.protocol.values.integers import UINT32_MAX
from state.store.lazy.incremental import NotReady

PATH = "/stream/blocks"
QUERY_LENGTH_MAX = 200
# The stream of a client that takes longer for one piece is ended; a client that takes nothing for `connection.SEND_SECONDS_MAX` is
# disconnected.
PIECE_SECONDS_MAX = 30
# Interval between heartbeats, with the number of the head, in packed streams.
LIFE_SECONDS = 5
TOO_SLOW = "the reader is too slow"

_TYPE = (b"content-type", b"application/x-ndjson")
# A proxy or cache that buffered the whole reply would deliver nothing.
_LIVE = ((b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Turn = Callable[[], Awaitable[None]]


class BadQuery(Exception):
    """Invalid query of a stream; the text names the field."""


async def show_stream(
    service: Service, push: Hub, usage: ClientUsage, turn: Turn, scope: Scope, receive: Receive, send: Send, headers: Headers
) -> str:
    """Send a stream until the client disconnects, is too slow, or the node stops. Return why the request was refused, or "".

    `turn` waits until the next piece may be made.
    """
    try:
        first, irreversible, packed = read_query(scope["query_string"])
    except BadQuery as error:
        return str(error)
    await service.gate.wait_open()
    first = push.next_number if first is None else first
    with push.stream(first, irreversible=irreversible, packed=packed) as stream:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
            await _send(usage, send, {"type": "http.response.start", "status": 200, "headers": [_TYPE, *_LIVE, *headers]}, 0)
            if packed:
                await service.gate.wait_open()
                header = push.header(first)
                await _send(usage, send, {"type": "http.response.body", "body": header, "more_body": True}, len(header))
            await _run(service, push, usage, turn, stream, send, LIFE_SECONDS if packed else math.inf)
            nursery.cancel_scope.cancel()
    return ""


def read_query(query: bytes) -> tuple[int | None, bool, bool]:
    """Return the first block of a query (None: the next block), whether it wants only irreversible blocks, and whether the packed form."""
    if len(query) > QUERY_LENGTH_MAX:
        raise BadQuery(f"the query may have at most {QUERY_LENGTH_MAX} characters")
    first, irreversible, packed = None, False, False
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name == "from":
            if not (value.isascii() and value.isdigit() and 1 <= int(value) <= UINT32_MAX):
                raise BadQuery(f"from must be the number of a block, from 1 to {UINT32_MAX}")
            first = int(value)
        elif name == "irreversible":
            if value not in ("true", "false"):
                raise BadQuery("irreversible must be true or false")
            irreversible = value == "true"
        elif name == "form":
            if value not in ("json", "packed"):
                raise BadQuery("form must be json or packed")
            packed = value == "packed"
        else:
            raise BadQuery("a stream takes from=N, irreversible=true and form=packed")
    return first, irreversible, packed


async def _run(service: Service, push: Hub, usage: ClientUsage, turn: Turn, stream: BlockStream, send: Send, life: float) -> None:
    """Send the pieces of a stream until it ends, then its last line; and a heartbeat at least every `life` seconds."""
    said = trio.current_time()
    while True:
        await turn()
        piece = await _piece(service, stream, usage.address)
        if trio.current_time() - said >= life and not stream.ended:
            await service.gate.wait_open()
            piece += push.heartbeat()
            said = trio.current_time()
        if piece:
            begun = trio.current_time()
            await _send(usage, send, {"type": "http.response.body", "body": piece, "more_body": True}, len(piece))
            if trio.current_time() - begun > PIECE_SECONDS_MAX:
                stream.end(TOO_SLOW)
        elif stream.ended:
            break
        else:
            with trio.move_on_at(said + life):
                await push.wait_head_change()
    last = stream.last_line()
    await _send(usage, send, {"type": "http.response.body", "body": last}, len(last))


async def _piece(service: Service, stream: BlockStream, address: str) -> bytes:
    """Return the next piece of a stream; a large block is encoded in chunks."""
    while True:
        try:
            return await service.in_turn(stream.piece, address)
        except NotReady as unsettled:
            advance = unsettled.advance
        while await service.in_turn(advance, address):
            pass


async def _send(usage: ClientUsage, send: Send, event: dict[str, Any], size: int) -> None:
    """Send an event. Disconnect a client that doesn't take it in time."""
    with trio.move_on_after(connection.SEND_SECONDS_MAX + size / connection.SEND_RATE_MIN) as patience:
        await send(event)
    if patience.cancelled_caught:
        usage.abort()
        await trio.lowlevel.checkpoint()


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    """Discard all input of the client, and end the stream when it disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
