"""`GET /stream/blocks`: an endless stream of blocks as JSON lines, over HTTP/1 and HTTP/2.

A stream holds only the piece that is being sent, so a slow client costs a connection and no memory.
"""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from urllib.parse import parse_qsl

import trio

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

# A proxy or cache that buffered the whole reply would deliver nothing.
LIVE_HEADERS = {"content-type": "application/x-ndjson", "cache-control": "no-store", "x-accel-buffering": "no"}

Turn = Callable[[], Awaitable[None]]


class BadQuery(Exception):
    """Invalid query of a stream; the text names the field."""


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


async def block_lines(
    service: Service, push: Hub, address: str, turn: Turn, first: int, *, irreversible: bool, packed: bool
) -> AsyncGenerator[bytes]:
    """Yield the pieces of a stream, and the last line when it ends, because the client is too slow or the node stops. In the packed form,
    yield a header first, and a heartbeat at least every LIFE_SECONDS. `turn` waits until the next piece may be made.
    """
    life = LIFE_SECONDS if packed else math.inf
    with push.stream(first, irreversible=irreversible, packed=packed) as stream:
        if packed:
            await service.gate.wait_open()
            yield push.header(first)
        said = trio.current_time()
        while True:
            await turn()
            piece = await _piece(service, stream, address)
            if trio.current_time() - said >= life and not stream.ended:
                await service.gate.wait_open()
                piece += push.heartbeat()
                said = trio.current_time()
            if piece:
                begun = trio.current_time()
                yield piece
                if trio.current_time() - begun > PIECE_SECONDS_MAX:
                    stream.end(TOO_SLOW)
            elif stream.ended:
                break
            else:
                with trio.move_on_at(said + life):
                    await push.wait_head_change()
        yield stream.last_line()


async def _piece(service: Service, stream: BlockStream, address: str) -> bytes:
    """Return the next piece of a stream; a large block is encoded in chunks."""
    while True:
        try:
            return await service.in_turn(stream.piece, address)
        except NotReady as unsettled:
            advance = unsettled.advance
        while await service.in_turn(advance, address):
            pass
