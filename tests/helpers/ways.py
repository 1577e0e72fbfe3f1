"""Clients with a common interface for HTTP/1.1, HTTP/2 and WebSocket, each with one connection, and nodes in the test's process."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import Any, Protocol, TextIO

import h2.config
import h2.connection
import h2.events
import h11
import trio
from wsproto.events import TextMessage

from node.app.banner import Announcer, ForkSummary
from node.app.context import NodeContext
from node.app.node import serve_chain
from node.app.settings import Settings
from node.devchain.block_modes import BlockMode
from node.runtime.address import Address
from node.storage.datafolder import DataFolder
from state.protocol.spec import ChainSpec
from tests.helpers.nodes import DEV, transfer
from tests.helpers.push import websocket

SECONDS_MAX = 60
RECEIVE_SIZE = 65536


class Transport(Protocol):
    """A client connection to a node."""

    async def post(self, value: Any) -> Any:
        """Send a request and return the response, both as JSON values."""


async def call(way: Transport, method: str, params: Any = ()) -> Any:
    """Return the response to a call."""
    return await way.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


async def result(way: Transport, method: str, params: Any = ()) -> Any:
    """Return the result of a call."""
    answer = await call(way, method, params)
    assert "result" in answer, answer
    return answer["result"]


def host_of(stream: trio.SocketStream) -> str:
    """Return the remote address of a connection, for the Host header."""
    return "{}:{}".format(*stream.socket.getpeername())


class Http1:
    """A keep-alive HTTP/1.1 connection."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream, self._http, self._host = stream, h11.Connection(h11.CLIENT), host_of(stream)

    async def post(self, value: Any) -> Any:
        body = json.dumps(value).encode()
        asked = h11.Request(method="POST", target="/", headers=[("host", self._host), ("content-length", str(len(body)))])
        pieces = [self._http.send(event) or b"" for event in (asked, h11.Data(data=body), h11.EndOfMessage())]
        await self._stream.send_all(b"".join(pieces))
        answer = b""
        while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                self._http.receive_data(bytes(await self._stream.receive_some(RECEIVE_SIZE)))
            elif isinstance(event, h11.Data):
                answer += event.data
        self._http.start_next_cycle()
        return json.loads(answer)


class Http2:
    """An HTTP/2 connection."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream, self._host = stream, host_of(stream)
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._http.initiate_connection()

    async def post(self, value: Any) -> Any:
        body, number, answer = json.dumps(value).encode(), self._http.get_next_available_stream_id(), b""
        self._http.send_headers(number, [(":method", "POST"), (":path", "/"), (":scheme", "http"), (":authority", self._host)])
        self._http.send_data(number, body, end_stream=True)
        while True:
            await self._stream.send_all(self._http.data_to_send())
            data = bytes(await self._stream.receive_some(RECEIVE_SIZE))
            assert data, "the connection ended without an answer"
            for event in self._http.receive_data(data):
                if isinstance(event, h2.events.DataReceived):
                    answer += event.data
                    self._http.acknowledge_received_data(event.flow_controlled_length, number)
                elif isinstance(event, h2.events.StreamEnded):
                    return json.loads(answer)


class Socket:
    """A WebSocket. `notices` are the notices received while it waited for responses."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.notices: list[Any] = []

    async def post(self, value: Any) -> Any:
        await self._client.stream.send_all(self._client.protocol.send(TextMessage(json.dumps(value))))
        while "method" in (message := await self._client.receive()):
            self.notices.append(message["params"])
        return message

    async def notice(self) -> Any:
        return self.notices.pop(0) if self.notices else (await self._client.receive())["params"]


Open = Callable[[int], AbstractAsyncContextManager[Transport]]


@asynccontextmanager
async def http1(port: int) -> AsyncIterator[Http1]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield Http1(stream)


@asynccontextmanager
async def http2(port: int) -> AsyncIterator[Http2]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield Http2(stream)


@asynccontextmanager
async def socket(port: int) -> AsyncIterator[Socket]:
    async with websocket(port) as client:
        yield Socket(client)


WAYS: tuple[Open, ...] = (http1, http2, socket)


# ------------------------------------------------------------------ nodes


class RecordingAnnouncer(Announcer, frozen=True):
    """An announcer that passes the addresses of a node to a function instead of printing them."""

    tell: Callable[[list[str]], None] = print

    def announce(
        self, spec: ChainSpec, addresses: list[str], blocks: str, out: TextIO | None = None, *, fork: ForkSummary | None = None
    ) -> None:
        self.tell(addresses)


class InProcessNode:
    """A node in this process."""

    def __init__(self, site: NodeContext) -> None:
        self.context, self.chain, self.port = site, site.chain, 0
        self._scope, self._ended = trio.CancelScope(), trio.Event()
        self._memos = count()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def run(self) -> None:
        """Run the node until it ends or `end` is called."""
        settings = self.context.settings
        wire = self.chain.state.wire
        folder = None if settings.data is None else DataFolder(settings.data, settings.spec, wire, settings.disk, fork=settings.base)
        try:
            with self._scope:
                await serve_chain(self.context, folder)
        finally:
            if folder is not None:
                folder.close()
        self._ended.set()

    async def end(self) -> None:
        """End the node as a kill would, without a shutdown."""
        self._scope.cancel()
        await self._ended.wait()

    def transfer(self, memo: str = "") -> tuple[str, Any]:
        """Return the id and JSON of a new transfer of 0.001 from alice to bob."""
        trx = transfer(self.chain, memo or str(next(self._memos)))
        return trx.id.hex(), self.chain.state.wire.transaction_to_json(trx, legacy=True)

    async def pending(self, trx_id: str) -> None:
        """Wait until a transaction is pending."""
        with trio.fail_after(SECONDS_MAX):
            while trx_id not in [trx.id.hex() for trx in self.chain.pending]:
                await trio.sleep(0.001)


@asynccontextmanager
async def node_here(port: int = 0, **options: Any) -> AsyncIterator[InProcessNode]:
    """Run a node in this process that makes blocks only on request. When the context ends, the node ends without a shutdown."""
    answers = trio.Event()

    def tell(addresses: list[str]) -> None:
        here.port = int(addresses[0].rpartition(":")[2])
        answers.set()

    given: dict[str, Any] = {"spec": DEV, "plugins": (), "blocks": BlockMode("manual"), "is_producing": "follow" not in options, **options}
    where = Address("127.0.0.1", port)
    here = InProcessNode(NodeContext(Settings(http=where, is_http2=True, announcer=RecordingAnnouncer(tell=tell), **given)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(here.run)
        with trio.fail_after(SECONDS_MAX):
            await answers.wait()
            yield here
        nursery.cancel_scope.cancel()
