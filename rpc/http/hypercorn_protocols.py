"""Hypercorn's protocols, with checks that refuse requests that hypercorn's handlers can't process.

A request for a WebSocket raises `UpgradeRequest` and isn't passed to hypercorn. WebSockets are accepted without extensions, since a
compressed message can expand a thousandfold. Requests to upgrade to HTTP/2, which RFC 9113 §3.1 dropped, are answered over HTTP/1.1.
WebSockets over HTTP/2 are not supported.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import h2.events
import h11
import trio
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hypercorn.config import Config
from hypercorn.events import Event, RawData
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import H2ProtocolAssumedError, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.protocol.ws_stream import WSStream
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState

from rpc.http.connection import ClientEnded
from rpc.http.websocket.handshake import UpgradeRequest, asks, is_valid

# Opening and resetting a stream is cheap for the client, but not for the node. At most half of the streams, and this many more, may be
# reset.
RESETS_MAX = 50
# Number of HTTP/2 bytes to handle without a checkpoint. The limit is needed because a few bytes can contain many requests.
FRAMES_SIZE = 1 << 9
HEADER_LIST_SIZE_MAX = 1 << 16
STREAMS_MAX = 100

BLANKS_MAX = 1000

_HEAD_END = re.compile(rb"\n\r?\n")
_BLANKS = b" " * (BLANKS_MAX + 1)
_UPGRADE = b"upgrade"
_WEBSOCKET_ASCII = frozenset({b"connection", b"upgrade", b"sec-websocket-protocol", b"sec-websocket-key", b"sec-websocket-version"})
_BODY = frozenset({b"content-length", b"transfer-encoding"})
_DROPPED = frozenset({b"sec-websocket-extensions"})


Turn = Callable[[], Awaitable[None]]


class HypercornProtocol:
    """Protocol of a connection: HTTP/1.1, which can be upgraded to a WebSocket, or HTTP/2 if it is enabled."""

    def __init__(self, app: AppWrapper, config: Config, context: WorkerContext, turn: Turn, *, is_http2: bool) -> None:
        self._app, self._config, self._context = app, config, context
        self._turn = turn
        self._is_http2 = is_http2
        self._given: tuple[Any, ...] = ()
        self._spoken: H11Protocol | H2Protocol

    def begin(
        self,
        tasks: Any,
        state: ConnectionState,
        client: tuple[str, int] | None,
        server: tuple[str, int] | None,
        send: Callable[[Event], Awaitable[None]],
    ) -> None:
        """Start with HTTP/1.1 as the protocol."""
        self._given = (self._app, self._config, self._context, tasks, state, False, client, server, send)
        self._spoken = H11Protocol(*self._given)
        self._spoken.connection = _Requests(self._config.h11_max_incomplete_size, self._is_http2)  # type: ignore[assignment]

    async def handle(self, event: Event) -> None:
        """Handle received bytes or the end of the input.

        Raises ClientEnded for a protocol violation that hypercorn would tolerate, and UpgradeRequest if the connection becomes a WebSocket.
        """
        if isinstance(event, RawData) and isinstance(self._spoken, H2Protocol):
            await self._handle_frames(self._spoken, event.data)
            return
        try:
            await self._spoken.handle(event)
        except H2ProtocolAssumedError as assumed:
            await self._continue_in_http2(assumed.data)

    async def _handle_frames(self, spoken: H2Protocol, data: bytes) -> None:
        """Handle HTTP/2 frames in chunks of bytes, with checkpoints in between, since there can be thousands of tiny frames."""
        for start in range(0, len(data) or 1, FRAMES_SIZE):
            if start:
                await trio.lowlevel.checkpoint()
                await self._turn()
            await spoken.handle(RawData(data[start : start + FRAMES_SIZE]))
            await _forget_streams(spoken)

    async def _continue_in_http2(self, data: bytes) -> None:
        """Switch to HTTP/2. `data` begins with the client's preface."""
        spoken = H2Protocol(*self._given)
        spoken.connection.local_settings = Settings(
            client=False,
            initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_MAX, SettingCodes.MAX_HEADER_LIST_SIZE: HEADER_LIST_SIZE_MAX},
        )
        spoken.streams = _Streams()
        spoken.connection = _Frames(spoken.connection)  # type: ignore[assignment]
        self._spoken = spoken
        await spoken.initiate()
        await self._handle_frames(spoken, data)


class _Requests:
    """Wrapper of h11's connection for hypercorn. For a request that hypercorn can't process, it raises h11's error for invalid client
    input.
    """

    def __init__(self, head_size_max: int, is_http2: bool) -> None:
        self._connection = h11.Connection(h11.SERVER, max_incomplete_event_size=head_size_max)
        self._is_http2 = is_http2
        self.receive_data = self._connection.receive_data
        self.send = self._connection.send
        self.start_next_cycle = self._connection.start_next_cycle

    @property
    def our_state(self) -> Any:
        return self._connection.our_state

    @property
    def their_state(self) -> Any:
        return self._connection.their_state

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        return self._connection.they_are_waiting_for_100_continue

    @property
    def trailing_data(self) -> tuple[bytes, bool]:
        return self._connection.trailing_data

    def next_event(self) -> Any:
        if self._connection.their_state is h11.IDLE:
            _check_blanks(self._connection.trailing_data[0])
        event = self._connection.next_event()
        return self._checked(event) if type(event) is h11.Request else event

    def _checked(self, request: h11.Request) -> h11.Request:
        """Return the request in a form that hypercorn can process.

        Raises RemoteProtocolError if the request is refused, and UpgradeRequest if it asks for a WebSocket.
        """
        if request.http_version >= b"2":
            if self._is_http2 and (request.method, request.target) == (b"PRI", b"*"):
                return request
            raise h11.RemoteProtocolError("this version of HTTP is not served", error_status_hint=505)
        if request.method == b"CONNECT":
            raise h11.RemoteProtocolError("the node is not a proxy", error_status_hint=501)
        if {name for name, _ in request.headers} >= _BODY:
            # A proxy in front of the node could take the other one, and so find the next request elsewhere (RFC 9112 section 6.1).
            raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding together", error_status_hint=400)
        upgrades = {value.strip().lower() for name, value in request.headers if name == _UPGRADE}
        if not upgrades:
            return request
        if upgrades != {b"websocket"}:
            return _without(request, frozenset({_UPGRADE}))
        for name, value in request.headers:
            if name in _WEBSOCKET_ASCII and not value.isascii():
                raise h11.RemoteProtocolError(f"{name.decode()} is not ASCII", error_status_hint=400)
        if any(name in _BODY for name, _ in request.headers) or self._connection.trailing_data[0]:
            raise h11.RemoteProtocolError("a WebSocket's first frame came before the answer", error_status_hint=400)
        request = _without(request, _DROPPED)
        if not asks(request):
            return request
        if not is_valid(request):
            raise h11.RemoteProtocolError("the handshake of a WebSocket is broken", error_status_hint=400)
        raise UpgradeRequest(request, self._connection)


def _check_blanks(data: bytes) -> None:
    """Refuse a head with more than BLANKS_MAX blanks in a row, since h11 takes quadratic time to reject such a line."""
    end = _HEAD_END.search(data)
    head = data if end is None else data[: end.end()]
    if _BLANKS in head.replace(b"\t", b" "):
        raise h11.RemoteProtocolError("too many blanks in a row", error_status_hint=400)


def _without(request: h11.Request, dropped: frozenset[bytes]) -> h11.Request:
    """Return a copy of a request without the `dropped` headers."""
    kept = [(name, value) for name, value in request.headers if name not in dropped]
    return h11.Request(method=request.method, target=request.target, headers=kept, http_version=request.http_version)


# ------------------------------------------------------------------ HTTP/2


class _Frames:
    """Wrapper of h2's connection for hypercorn. A request that hypercorn can't process is reset. Priorities are ignored."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.resets: list[int] = []
        self._resets_seen = self._requests_seen = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def receive_data(self, data: bytes) -> list[h2.events.Event]:
        return [event for event in self._connection.receive_data(data) if self._is_passed_on(event)]

    def _is_passed_on(self, event: h2.events.Event) -> bool:
        if isinstance(event, h2.events.RequestReceived):
            self._requests_seen += 1
            if event.stream_id is None or _is_request(event.headers):
                return True
            self._connection.reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
            return False
        if isinstance(event, h2.events.StreamReset):
            self._resets_seen += 1
            if 2 * self._resets_seen > self._requests_seen + RESETS_MAX:
                raise ClientEnded("too many streams were reset")
            if event.stream_id is not None:
                self.resets.append(event.stream_id)
        return not isinstance(event, h2.events.PriorityUpdated)


class _Streams(dict[int, HTTPStream | WSStream]):
    """The open streams of an HTTP/2 connection, as hypercorn accesses them. Events of closed streams are ignored."""

    def __missing__(self, stream_id: int) -> Any:
        return _GONE


class _Gone:
    async def handle(self, event: StreamEvent) -> None:
        """Ignore an event of a stream that is already closed."""


_GONE = _Gone()


def _is_request(headers: Any) -> bool:
    """Whether the headers form a request that hypercorn can process."""
    pseudo = {bytes(name): bytes(value) for name, value in headers if name[:1] == b":"}
    method, path = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    return bool(method and path) and method.isascii() and path.isascii() and method.upper() != b"CONNECT"


async def _forget_streams(spoken: H2Protocol) -> None:
    """Close the buffers of reset streams, so that hypercorn's send task removes them."""
    frames: Any = spoken.connection
    resets, frames.resets = frames.resets, []
    for stream_id in resets:
        buffer = spoken.stream_buffers.get(stream_id)
        if buffer is not None:
            await buffer.close()
            spoken.priority.unblock(stream_id)
    if resets:
        await spoken.has_data.set()
