"""`GET /stream/blocks`: an endless stream of blocks as JSON lines, over HTTP/1 and HTTP/2.

Only the chunk that is being sent is in memory. A slow client therefore occupies a connection, but no memory.
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
# The stream ends if the client takes longer than this to receive a chunk. A client that receives nothing for `connection.SEND_SECONDS_MAX`
# is disconnected.
PIECE_SECONDS_MAX = 30
# Maximum interval between heartbeats in packed streams, in seconds. A heartbeat contains the number of the head block.
LIFE_SECONDS = 5
TOO_SLOW = "the reader is too slow"

# A proxy or cache that buffers the whole response would never deliver it.
LIVE_HEADERS = {"content-type": "application/x-ndjson", "cache-control": "no-store", "x-accel-buffering": "no"}

Turn = Callable[[], Awaitable[None]]


class BadQuery(Exception):
    """Raised for an invalid query string of a stream. The message names the parameter."""


def read_query(query: bytes) -> tuple[int | None, bool, bool]:
    """Parse the query string of a stream.

    Return the number of the first block (None: the next block), whether only irreversible blocks are requested, and whether the packed form
    is requested.
    """
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
    """Yield the chunks of a stream. When the stream ends, because the client is too slow or the node stops, the last line gives the reason.

    A packed stream begins with a header and has a heartbeat at least every LIFE_SECONDS. `turn` waits until the scheduler admits the next
    chunk.
    """
    heartbeat_seconds = LIFE_SECONDS if packed else math.inf
    with push.stream(first, irreversible=irreversible, packed=packed) as stream:
        if packed:
            await service.gate.wait_open()
            yield push.header(first)
        last_heartbeat = trio.current_time()
        while True:
            await turn()
            chunk = await _next_chunk(service, stream, address)
            if trio.current_time() - last_heartbeat >= heartbeat_seconds and not stream.ended:
                await service.gate.wait_open()
                chunk += push.heartbeat()
                last_heartbeat = trio.current_time()
            if chunk:
                start = trio.current_time()
                yield chunk
                if trio.current_time() - start > PIECE_SECONDS_MAX:
                    stream.end(TOO_SLOW)
            elif stream.ended:
                break
            else:
                with trio.move_on_at(last_heartbeat + heartbeat_seconds):
                    await push.wait_head_change()
        yield stream.last_line()


async def _next_chunk(service: Service, stream: BlockStream, address: str) -> bytes:
    """Return the next chunk of a stream. A large block is encoded in steps."""
    while True:
        try:
            return await service.in_turn(stream.piece, address)
        except NotReady as not_ready:
            advance = not_ready.advance
        while await service.in_turn(advance, address):
            pass
