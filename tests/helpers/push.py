"""A dev chain behind real sockets with notices and streams, and clients that subscribe to it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.caller import LOCAL, Caller
from rpc.declare.method import METHODS
from rpc.explain.explainer import Explainer
from rpc.explorer.supply_history import SupplyHistory
from rpc.http.pages import PageReply
from rpc.http.server import serve
from rpc.jsonrpc.dispatch import Service
from rpc.push.hub import Hub
from rpc.push.session import Session
from state.chain.chain import Chain
from state.protocol.transaction import SignedBlock
from tests.helpers.based import based_chain
from tests.helpers.method_coverage import watched
from tests.helpers.nodes import START, dev_chain, make_block, trio_clock

START_MILLISECONDS = START * 1000


class PushClients:
    """A chain with its push hub and RPC service."""

    def __init__(self, *plugins: str, fork: Path | None = None) -> None:
        self.seconds = 0.0  # the time with which work is measured
        self.chain: Chain = dev_chain(*plugins) if fork is None else based_chain(fork, *plugins)
        self.hub = Hub(self.chain, trio_clock)
        self.processor = Processor(self.chain, clock=ChainClock(trio_clock), stopwatch=lambda: self.seconds)
        explainer = Explainer(self.chain, trio.current_time)
        explainer.on_refused.append(self.hub.refused)
        self.service = Service(
            watched(METHODS.values()),
            wire=self.chain.state.wire,
            plugins=plugins,
            state=self.chain.state,
            chain=self.chain,
            processor=self.processor,
            devchain=DevChain(self.chain, ChainClock(trio_clock)),
            explainer=explainer,
            series=SupplyHistory(self.chain),
            work=self.chain.state.work,
            allowances=self.processor.allowances,
        )
        self.port = 0

    def make(self, count: int = 1) -> list[SignedBlock]:
        return [make_block(self.chain) for _ in range(count)]

    def switch(self, behind: int) -> list[SignedBlock]:
        """Make the chain switch to a branch that replaces its last `behind` blocks and is one block longer. Return the blocks of that
        branch.
        """
        other = dev_chain()
        head = self.chain.state.props.head_block_number
        for number in range(1, head - behind + 1):
            block = self.chain.block_by_number(number)
            assert block is not None
            other.push_block(block)
        branch = [make_block(other, missed=1 if not i else 0) for i in range(behind + 1)]
        for block in branch:
            self.chain.push_block(block)
        assert self.chain.state.props.head_block_id == branch[-1].id
        return branch

    def session(self) -> Session:
        """Return a session without a socket."""
        return self.hub.session(lambda: True, lambda: None)

    def call(self, session: Session | None, method: str, params: Any) -> Any:
        """Return the response to a call in a session."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = self.service.answer(json.dumps(request).encode(), Caller(session=session))
        assert isinstance(reply, bytes)
        return json.loads(reply)

    async def call_and_wait(self, method: str, params: Any) -> Any:
        """Return the response to an asynchronous call without a session."""
        reply = self.service.answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode(), LOCAL)
        assert not isinstance(reply, bytes)
        return json.loads(await reply)


@asynccontextmanager
async def pushing(**options: Any) -> AsyncIterator[PushClients]:
    """Serve a chain over real sockets for the duration of the context."""
    world = PushClients()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.processor.run)
        pages = {"/health": lambda: PageReply(b"{}")}
        start = partial(serve, world.service, "127.0.0.1", 0, pages=pages, push=world.hub, **options)
        addresses: list[str] = await nursery.start(start)
        world.port = int(addresses[0].rpartition(":")[2])
        with trio.fail_after(60):
            yield world
        nursery.cancel_scope.cancel()


async def notices(session: Session, count: int) -> list[dict[str, Any]]:
    """Return the params of the next `count` notices of a session without a socket."""
    out = []
    for _ in range(count):
        with trio.fail_after(20):
            notice = await session.next()
        assert notice is not None
        session.sent()
        out.append(json.loads(b"".join(notice))["params"])
    return out


class Client:
    """The client's end of a WebSocket."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream, self.protocol = stream, WSConnection(ConnectionType.CLIENT)
        self.text = ""

    async def send(self, method: str, params: Any, *, request_id: int = 1) -> None:
        request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        await self.send_event(TextMessage(json.dumps(request)))

    async def send_event(self, event: Any) -> None:
        await self.stream.send_all(self.protocol.send(event))

    async def call(self, method: str, params: Any) -> Any:
        """Send a request and return the next message."""
        await self.send(method, params)
        return await self.receive()

    async def receive(self) -> Any:
        """Return the next message as decoded JSON, or the event received instead."""
        message = await self.receive_text()
        return json.loads(message) if isinstance(message, str) else message

    async def receive_text(self) -> Any:
        """Return the next whole message, or the event received instead."""
        while True:
            for event in self.protocol.events():
                if not isinstance(event, TextMessage):
                    return event
                self.text += event.data
                if event.message_finished:
                    whole, self.text = self.text, ""
                    return whole
            data = await self.stream.receive_some(65536)
            self.protocol.receive_data(bytes(data) or None)

    async def until_closed(self) -> CloseConnection:
        """Read until the WebSocket closes and return the closing event."""
        while not isinstance(message := await self.receive(), CloseConnection):
            pass
        return message


@asynccontextmanager
async def websocket(port: int, *headers: tuple[bytes, bytes]) -> AsyncIterator[Client]:
    """Open a WebSocket for the duration of the context."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        client = Client(stream)
        await stream.send_all(client.protocol.send(Request(host=f"127.0.0.1:{port}", target="/", extra_headers=list(headers))))
        assert isinstance(await client.receive(), AcceptConnection)
        yield client


class Lines:
    """The lines of a block stream over HTTP/1.1."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._data = b""
        self.head = b""

    async def begin(self, query: str) -> None:
        """Send the request and receive the response head."""
        await self.stream.send_all(f"GET /stream/blocks{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        while b"\r\n\r\n" not in self._data:
            self._data += await self._more()
        self.head, _, self._data = self._data.partition(b"\r\n\r\n")

    async def next(self) -> Any:
        """Return the next line as decoded JSON, or None at the end. Each HTTP chunk must contain whole lines."""
        while True:
            line, is_whole, rest = self._data.partition(b"\n")
            if is_whole:
                self._data = rest
                if line.startswith(b"{"):
                    return json.loads(line)
                if line == b"0\r":
                    return None
            else:
                self._data += await self._more()

    async def some(self, count: int) -> list[Any]:
        """Return the next `count` lines."""
        return [await self.next() for _ in range(count)]

    async def _more(self) -> bytes:
        data = bytes(await self.stream.receive_some(65536))
        assert data, "the connection ended in the middle of a line"
        return data


@asynccontextmanager
async def lines(port: int, query: str = "") -> AsyncIterator[Lines]:
    """Open a block stream for the duration of the context."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        opened = Lines(stream)
        await opened.begin(query)
        yield opened
