"""Serves WebSockets from the handshake to the end: receives and sends frames, and counts buffered bytes towards the memory limit."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import trio
from hypercorn.config import Config

from rpc.caller import Caller
from rpc.http.access import AccessPolicy
from rpc.http.connection import SEND_AT_ONCE_SIZE, ClientEnded
from rpc.http.connection_limits import ClientResource, ClientUsage, ConnectionLimiter
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import LogLimit
from rpc.http.websocket.frames import FrameEvent, Frames, text_frame, text_head
from rpc.http.websocket.handshake import UpgradeRequest
from rpc.http.websocket.rpc_session import TRY_AGAIN_LATER, RpcSession
from rpc.json.reader import size_max
from rpc.jsonrpc.memory import MemoryReservation, Overloaded
from rpc.log import Log

INTERNAL_ERROR = 1011  # close code
# The reason may have at most 123 bytes, the maximum for a close frame.
NO_ROOM = "the memory limit (%d bytes in total) is reached; send less at once, take the replies, and try again"
# If a text is larger than this, in bytes, its chunks are sent one after another instead of being joined. A frame's header has 10 bytes.
JOINED_SIZE_MAX = SEND_AT_ONCE_SIZE - 10

_log = Log("http")


class ByteChannel(Protocol):
    """Interface that a WebSocket uses to access its connection."""

    client: tuple[str, int]
    server: tuple[str, int]  # the address at which the client sees the node

    async def receive(self) -> bytes:
        """Return the next bytes once they are admitted, or b"" at the end of the input."""

    def try_write(self, data: bytes) -> bytes:
        """Send as much of a small chunk as the operating system accepts without waiting. Return the rest."""

    async def write(self, *pieces: bytes) -> None:
        """Send chunks. Disconnect a client that receives too slowly."""

    async def write_whole(self, *pieces: bytes) -> None:
        """Send several chunks, with no other output between them. Disconnect a client that receives too slowly."""


class WebSocketServer:
    """Serves connections after their upgrade to a WebSocket."""

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

    async def serve(self, request: UpgradeRequest, wire: ByteChannel, usage: ClientUsage, bugs: LogLimit) -> None:
        """Answer the handshake, and run the session until the WebSocket ends."""
        scope = {"headers": request.headers, "client": wire.client, "server": wire.server, "http_version": "1.1"}
        usual = self._config.response_headers("h11")
        if self._access.cors(scope) is None or not self._limiter.acquire(usage, ClientResource.SOCKETS):
            await wire.write(request.refuse(usual))
            return
        try:
            await wire.write(request.accept(usual))
            caller = self._access.caller(scope)
            reserve = partial(self._rpc_session.memory.reserve, caller, usage)
            with reserve() as held:
                socket = WebSocketConnection(wire, usage, self._input_scheduler, size_max(caller.is_local), held, reserve)
                try:
                    await self._run(socket, usage, caller, wire.client[0], bugs)
                finally:
                    socket.drop_input()
        finally:
            self._limiter.release(usage, ClientResource.SOCKETS)

    async def _run(self, socket: "WebSocketConnection", usage: ClientUsage, caller: Caller, client: str, bugs: LogLimit) -> None:
        """Run the session. If an exception isn't the client's fault, it is logged and ends only this WebSocket."""
        try:
            await self._rpc_session.run(usage, caller, socket)
        except* (ClientEnded, OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            raise
        except* Exception as errors:
            if bugs.is_allowed():
                _log.error("request failed", client=client, exc_info=errors, **bugs.pop_suppressed())
            await socket.close(INTERNAL_ERROR, "")


class WebSocketConnection:
    """An open WebSocket. `held` is the reserved memory of a fragmented message, and `reserve` creates a reservation for a reply."""

    def __init__(
        self,
        wire: ByteChannel,
        usage: ClientUsage,
        input_scheduler: FairInputScheduler,
        message_size_max: int,
        held: MemoryReservation,
        reserve: Callable[[], MemoryReservation],
    ) -> None:
        self._wire, self._usage, self._input_scheduler, self._held, self._reserve = wire, usage, input_scheduler, held, reserve
        self._frames = Frames(message_size_max)
        self._is_closed = False

    async def receive(self) -> bytes | None:
        """Return the next text message, or None for a binary message. Raises trio.EndOfChannel at the end of the input.

        The memory of a fragmented message stays reserved until the next call.
        """
        self._held.release()
        if self._frames.has_more:
            await self._wait_for_input()
        while True:
            event, data = self._frames.next()
            if event is FrameEvent.TEXT or event is FrameEvent.BYTES:
                return data if event is FrameEvent.TEXT else None
            if event is FrameEvent.MORE:
                await self._receive_more()
                continue
            if data:
                await self._wire.write(data)
            if event is FrameEvent.END:
                raise trio.EndOfChannel
            if event is FrameEvent.TOO_LARGE:
                raise ClientEnded("a message was too large")
            await self._wait_for_input()

    async def answer(self, text: bytes) -> None:
        """Send a reply. Unsent bytes and large replies count towards the memory limit. A client that exceeds the limit is disconnected."""
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
        """Send a text message. Disconnect a client that receives too slowly. Large texts are not copied."""
        if self._is_closed:
            return
        size = sum(map(len, pieces))
        if size <= JOINED_SIZE_MAX:
            await self._wire.write(text_frame(b"".join(pieces)))
        else:
            await self._wire.write_whole(text_head(size), *pieces)

    async def close(self, code: int, reason: str) -> None:
        """Send a close frame. After that, nothing more can be sent."""
        self._is_closed = True
        await self._wire.write(self._frames.close(code, reason))

    def drop_input(self) -> None:
        """Drop all received bytes at the end of the WebSocket, because an exception can keep this object alive until the garbage collector
        runs.
        """
        self._frames.drop()

    async def _wait_for_input(self) -> None:
        """Wait until the input scheduler admits the next frame. Frames can be tiny, and a thousand of them must not delay other clients."""
        await self._input_scheduler.wait(self._usage.address)

    async def _receive_more(self) -> None:
        await self._count_waiting()
        data = await self._wire.receive()
        if not data:
            raise trio.EndOfChannel
        self._frames.feed(data)

    async def _count_waiting(self) -> None:
        """Count the received part of an incomplete message towards the memory limit."""
        more = self._frames.waiting_size - self._held.size
        if not more:
            return
        try:
            self._held.add(more)
        except Overloaded as error:
            await self.close(TRY_AGAIN_LATER, NO_ROOM % error.values["max"])
            raise ClientEnded("no room for a message") from None
