"""WebSockets on their connections, from the handshake to the end: reads and sends frames, and keeps what waits within bounds. It doesn't
know what is said.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import trio
from hypercorn.config import Config

from rpc.caller import Caller
from rpc.http.access import AccessPolicy
from rpc.http.connection import ClientEnded
from rpc.http.connection_limits import ClientResource, ClientUsage, ConnectionLimiter
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import LogLimit
from rpc.http.websocket.frames import FrameEvent, Frames, text_frame, text_head
from rpc.http.websocket.handshake import UpgradeRequest
from rpc.http.websocket.rpc_session import TRY_AGAIN_LATER, RpcSession
from rpc.json.reader import size_max
from rpc.jsonrpc.memory import MemoryReservation, Overloaded
from rpc.log import Log

INTERNAL_ERROR = 1011  # the code of a WebSocket's end
# It may have 123 bytes.
NO_ROOM = "an address may hold what all leave free of %d bytes: send less at once, take the replies, and try again"
# The pieces of a larger text are sent one after another.
JOINED_SIZE_MAX = 4000

_log = Log("http")


class ByteChannel(Protocol):
    """A connection as its WebSocket sees it: bytes that come and go."""

    client: tuple[str, int]
    server: tuple[str, int]  # the node's address, as the client knows it

    async def receive(self) -> bytes:
        """Return what has arrived, once there is something and its turn has come; b"" at the end."""

    def try_write(self, data: bytes) -> bytes:
        """Send of a small piece what the system takes at once; returns the rest."""

    async def write(self, *pieces: bytes) -> None:
        """Send pieces; a client that doesn't take them in time is cut off."""

    async def write_whole(self, *pieces: bytes) -> None:
        """The same, and nothing of others comes in between."""


class WebSocketServer:
    """Serves the connections that go on as WebSockets."""

    def __init__(
        self, rpc_session: RpcSession, access: AccessPolicy, limiter: ConnectionLimiter, input_scheduler: FairInputScheduler, config: Config
    ) -> None:
        self._rpc_session, self._access, self._limiter, self._input_scheduler, self._config = (
            rpc_session,
            access,
            limiter,
            input_scheduler,
            config,
        )

    async def serve(self, asked: UpgradeRequest, wire: ByteChannel, usage: ClientUsage, bugs: LogLimit) -> None:
        """Answer the handshake, and talk until the WebSocket ends."""
        scope = {"headers": asked.headers, "client": wire.client, "server": wire.server, "http_version": "1.1"}
        usual = self._config.response_headers("h11")
        if self._access.cors(scope) is None or not self._limiter.acquire(usage, ClientResource.SOCKETS):
            await wire.write(asked.refuse(usual))
            return
        try:
            await wire.write(asked.accept(usual))
            caller = self._access.caller(scope)
            reserve = partial(self._rpc_session.memory.reserve, caller, usage)
            with reserve() as held:
                socket = WebSocketConnection(wire, usage, self._input_scheduler, size_max(caller.is_local), held, reserve)
                await self._run(socket, usage, caller, wire.client[0], bugs)
        finally:
            self._limiter.release(usage, ClientResource.SOCKETS)

    async def _run(self, socket: "WebSocketConnection", usage: ClientUsage, caller: Caller, client: str, bugs: LogLimit) -> None:
        """Talk; what is raised meanwhile, unless it is for the client's sake, is a bug of ours, and ends this WebSocket only."""
        try:
            await self._rpc_session.run(usage, caller, socket)
        except* (ClientEnded, OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            raise
        except* Exception as errors:
            if bugs.is_allowed():
                _log.error("request failed", client=client, exc_info=errors, **bugs.pop_suppressed())
            await socket.close(INTERNAL_ERROR, "")


class WebSocketConnection:
    """An open WebSocket. `held` is what a message that comes in pieces holds, `reserve` returns the same for an answer."""

    def __init__(
        self,
        wire: ByteChannel,
        usage: ClientUsage,
        input_scheduler: FairInputScheduler,
        most: int,
        held: MemoryReservation,
        reserve: Callable[[], MemoryReservation],
    ) -> None:
        self._wire, self._usage, self._input_scheduler, self._held, self._reserve = wire, usage, input_scheduler, held, reserve
        self._frames = Frames(most)
        self._is_closed = False

    async def receive(self) -> bytes | None:
        """Return the next text, None for a message that is no text; raises trio.EndOfChannel when nothing more comes.

        A message that has come in pieces counts as held until the next one is asked for.
        """
        self._held.release()
        if self._frames.has_more:
            await self._wait_for_input()
        while True:
            found, data = self._frames.next()
            if found is FrameEvent.TEXT or found is FrameEvent.BYTES:
                return data if found is FrameEvent.TEXT else None
            if found is FrameEvent.MORE:
                await self._receive_more()
                continue
            if data:
                await self._wire.write(data)
            if found is FrameEvent.END:
                raise trio.EndOfChannel
            if found is FrameEvent.TOO_LARGE:
                raise ClientEnded("a message was too large")
            await self._wait_for_input()

    async def answer(self, text: bytes) -> None:
        """Send an answer. What the system doesn't take at once is counted, and a client that leaves too much of it lying is cut off."""
        if self._is_closed:
            return
        is_small = len(text) <= JOINED_SIZE_MAX
        pieces = [self._wire.try_write(text_frame(text))] if is_small else [text_head(len(text)), text]
        if not pieces[-1]:
            return
        with self._reserve() as held:
            try:
                held.add(sum(map(len, pieces)))
            except Overloaded:
                self._usage.abort()
                await trio.lowlevel.checkpoint()
            await self._wire.write_whole(*pieces)

    async def send(self, *pieces: bytes) -> None:
        """Send a text; a client that doesn't take it in time is cut off. Of a large one nothing is copied."""
        if self._is_closed:
            return
        size = sum(map(len, pieces))
        if size <= JOINED_SIZE_MAX:
            await self._wire.write(text_frame(b"".join(pieces)))
        else:
            await self._wire.write_whole(text_head(size), *pieces)

    async def close(self, code: int, reason: str) -> None:
        """Say that this is the end; nothing can be sent after it."""
        self._is_closed = True
        await self._wire.write(self._frames.close(code, reason))

    async def _wait_for_input(self) -> None:
        """Let others have their turn where it has come: frames can be tiny, and a thousand of them must not hold up others."""
        await self._input_scheduler.wait(self._usage.address)

    async def _receive_more(self) -> None:
        await self._count_waiting()
        data = await self._wire.receive()
        if not data:
            raise trio.EndOfChannel
        self._frames.feed(data)

    async def _count_waiting(self) -> None:
        """Count what there is of a message that has not arrived as a whole."""
        more = self._frames.waiting_size - self._held.size
        if not more:
            return
        try:
            self._held.add(more)
        except Overloaded as error:
            await self.close(TRY_AGAIN_LATER, NO_ROOM % error.values["max"])
            raise ClientEnded("no room for a message") from None
