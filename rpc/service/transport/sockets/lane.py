"""WebSockets on their connections, from the handshake to the end: reads and sends frames, and keeps what waits within bounds. It doesn't
know what is said.
"""

from typing import Protocol

import trio
from hypercorn.config import Config

from rpc.log import Log
from rpc.service.caller import Caller
from rpc.service.transport.guests import Guest, Guests, Kind
from rpc.service.transport.intake import Intake
from rpc.service.transport.protocols import Ended
from rpc.service.transport.rights import Access
from rpc.service.transport.sockets.frames import Found, Frames, text_frame, text_head
from rpc.service.transport.sockets.handshake import Asked
from rpc.service.transport.sockets.talk import Talk
from rpc.service.transport.tasks import Limit

INTERNAL_ERROR = 1011  # the code of a WebSocket's end
# The pieces of a larger text are sent one after another.
JOINED_SIZE_MAX = 4000

_log = Log("rpc.http")


class Wire(Protocol):
    """A connection as its WebSocket sees it: bytes that come and go."""

    client: tuple[str, int]
    server: tuple[str, int]  # the node's address, as the client knows it

    async def receive(self) -> bytes:
        """Return what has arrived, once there is something and its turn has come; b"" at the end."""

    def write_at_once(self, data: bytes) -> bytes:
        """Send of a small piece what the system takes at once; returns the rest."""

    async def write(self, *pieces: bytes) -> None:
        """Send pieces; a client that doesn't take them in time is cut off."""

    async def write_whole(self, *pieces: bytes) -> None:
        """The same, and nothing of others comes in between."""


class SocketLane:
    """Serves the connections that go on as WebSockets."""

    def __init__(self, talk: Talk, access: Access, guests: Guests, intake: Intake, config: Config) -> None:
        self._talk, self._access, self._guests, self._intake, self._config = talk, access, guests, intake, config

    async def serve(self, asked: Asked, wire: Wire, guest: Guest, bugs: Limit) -> None:
        """Answer the handshake, and talk until the WebSocket ends."""
        scope = {"headers": asked.headers, "client": wire.client, "server": wire.server, "http_version": "1.1"}
        usual = self._config.response_headers("h11")
        if self._access.cors(scope) is None or not self._guests.take(guest, Kind.SOCKETS):
            await wire.write(asked.refuse(usual))
            return
        try:
            await wire.write(asked.accept(usual))
            socket = Socket(wire, guest, self._guests, self._intake, self._config.websocket_max_message_size)
            await self._run(socket, guest, self._access.caller(scope), wire.client[0], bugs)
        finally:
            self._guests.give_back(guest, Kind.SOCKETS)

    async def _run(self, socket: "Socket", guest: Guest, caller: Caller, client: str, bugs: Limit) -> None:
        """Talk; what is raised meanwhile, unless it is for the client's sake, is a bug of ours, and ends this WebSocket only."""
        try:
            await self._talk.run(guest, caller, socket)
        except* (Ended, OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            raise
        except* Exception as errors:
            if bugs.lets_through():
                _log.error("request failed", client=client, exc_info=errors, **bugs.take_left_out())
            await socket.close(INTERNAL_ERROR, "")


class Socket:
    """An open WebSocket."""

    def __init__(self, wire: Wire, guest: Guest, guests: Guests, intake: Intake, size_max: int) -> None:
        self._wire, self._guest, self._guests, self._intake = wire, guest, guests, intake
        self._frames = Frames(size_max)
        self._held = 0  # bytes of a message that has not arrived as a whole
        self._is_closed = False

    async def receive(self) -> bytes | None:
        """Return the next text, None for a message that is no text; raises trio.EndOfChannel when nothing more comes."""
        if self._frames.has_more:
            await self._give_way()
        while True:
            found, data = self._frames.next()
            if found is Found.TEXT or found is Found.BYTES:
                self._count_waiting()
                return data if found is Found.TEXT else None
            if found is Found.MORE:
                await self._receive_more()
                continue
            if data:
                await self._wire.write(data)
            if found is Found.END:
                raise trio.EndOfChannel
            if found is Found.TOO_LARGE:
                raise Ended("a message was too large")
            await self._give_way()

    async def answer(self, text: bytes) -> None:
        """Send an answer. What the system doesn't take at once is counted, and a client that leaves too much of it lying is cut off."""
        rest = self._wire.write_at_once(text_frame(text)) if not self._is_closed else b""
        if not rest:
            return
        size = len(rest)
        if not self._guests.take(self._guest, Kind.BYTES, size):
            self._guest.cut()
            await trio.lowlevel.checkpoint()
        try:
            await self._wire.write(rest)
        finally:
            self._guests.give_back(self._guest, Kind.BYTES, size)

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

    async def _give_way(self) -> None:
        """Let others have their turn where it has come: frames can be tiny, and a thousand of them must not hold up others."""
        await self._intake.enter(self._guest.address)

    async def _receive_more(self) -> None:
        self._count_waiting()
        data = await self._wire.receive()
        if not data:
            raise trio.EndOfChannel
        self._frames.feed(data)

    def _count_waiting(self) -> None:
        """Count what there is of a message that has not arrived as a whole."""
        more = self._frames.waiting_size - self._held
        if not more:
            return
        if more > 0 and not self._guests.take(self._guest, Kind.BYTES, more):
            raise Ended("no room for a message")
        if more < 0:
            self._guests.give_back(self._guest, Kind.BYTES, -more)
        self._held += more
