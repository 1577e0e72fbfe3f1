"""A broker in the test's process, with the subset of NATS and JetStream that relays and readers need, and a node for them. Both use
asyncio.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from node.replicas.relay.history import Joiner
from rpc.caller import LOCAL
from tests.helpers.push import PushClients

Headers = dict[str, str]
WRONG_LAST_SEQUENCE = {"code": 400, "err_code": 10071, "description": "wrong last sequence"}
NOT_FOUND = {"code": 404, "err_code": 10059, "description": "stream not found"}
NO_MESSAGE = {"code": 404, "err_code": 10037, "description": "no message found"}
LONG_AGO = "2026-01-01T00:00:00Z"


class Stored(Struct):
    """A stored message of a stream."""

    subject: str
    data: bytes
    headers: Headers


class Stream:
    """A stream with its messages by sequence number."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, self.first, self.last = config, 1, 0
        self.messages: dict[int, Stored] = {}
        self.ids: dict[str, int] = {}

    def info(self) -> dict[str, Any]:
        """Return the stream info of JetStream."""
        state = {"messages": len(self.messages), "bytes": 0, "first_seq": self.first, "last_seq": self.last, "consumer_count": 0}
        return {"config": self.config, "state": state, "created": LONG_AGO}

    def stores_subject(self, subject: str) -> bool:
        """Whether the stream stores messages of this subject."""
        return any(subject == own or (own.endswith("*") and subject.startswith(own[:-1])) for own in self.config["subjects"])

    def add(self, message: Stored) -> dict[str, Any]:
        """Store a message and return the publish acknowledgement."""
        message_id = message.headers.get("Nats-Msg-Id", "")
        if message_id in self.ids:
            return {"seq": self.ids[message_id], "duplicate": True}
        expected = message.headers.get("Nats-Expected-Last-Subject-Sequence")
        if expected is not None and int(expected) != (self.last if self.messages else 0):
            return {"error": WRONG_LAST_SEQUENCE}
        self.last += 1
        self.messages[self.last] = message
        if message_id:
            self.ids[message_id] = self.last
        return {"seq": self.last}

    def drop(self, before: int) -> None:
        """Drop the messages with sequence numbers below `before`."""
        for number in range(self.first, before):
            self.messages.pop(number, None)
        self.first = max(self.first, before)

    def whole(self) -> list[Any]:
        """Return the decoded JSON messages, with split messages joined."""
        joiner = Joiner()
        joined = [joiner.add(each.data, each.headers) for each in self.messages.values()]
        return [json.loads(data) for data in joined if data is not None]


class Broker:
    """A NATS broker. `before` is called before each message is stored; if it returns False, all connections end and the message is lost."""

    def __init__(self, max_payload: int = 1 << 20) -> None:
        self.streams: dict[str, Stream] = {}
        self.max_payload = max_payload
        self.before: Callable[[Stored], bool] = lambda message: True
        self.clients: set[_Client] = set()
        self.changed = asyncio.Event()
        self.consumers: dict[str, tuple[Stream, list[int]]] = {}
        self.url = ""

    def end_connections(self) -> None:
        """End all connections, as a crash of the broker would. Stored messages stay."""
        for client in list(self.clients):
            client.writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client connection until it ends."""
        client = _Client(self, writer)
        self.clients.add(client)
        client.write_line(
            b"INFO " + json.dumps({"max_payload": self.max_payload, "headers": True, "proto": 1, "version": "2.12.0"}).encode()
        )
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while line := await reader.readline():
                await client.handle_line(line.decode().split(), reader)
        self.clients.discard(client)
        writer.close()

    def publish(self, subject: str, data: bytes, headers: Headers, reply: str) -> None:
        """Handle a published message: a JetStream request, a message for a stream, or one for plain subscribers."""
        if subject.startswith("$JS.API."):
            if (said := self.answer(subject.removeprefix("$JS.API."), data, reply)) is not None:
                self.give(reply, json.dumps({"type": ""} | said).encode())
            return
        for name, stream in self.streams.items():
            if stream.stores_subject(subject):
                message = Stored(subject, data, headers)
                if not self.before(message):
                    self.end_connections()
                    return
                self.give(reply, json.dumps({"stream": name} | stream.add(message)).encode())
                changed, self.changed = self.changed, asyncio.Event()
                changed.set()
        self.give(subject, data)

    def give(self, subject: str, data: bytes, headers: Headers | None = None, reply: str = "") -> None:
        """Send a message to all matching subscribers."""
        for client in list(self.clients):
            client.give(subject, data, headers, reply)

    def answer(self, subject: str, data: bytes, reply: str) -> dict[str, Any] | None:
        """Return the response to a JetStream API request, or None if it is sent later."""
        what, _, name = subject.rpartition(".")
        asked = json.loads(data) if data else {}
        if what == "STREAM.CREATE":
            self.streams[name] = Stream(asked)
            return self.streams[name].info()
        if what.startswith("CONSUMER."):
            return self.handle_consumer_request(subject.split("."), asked, reply)
        stream = self.streams.get(name)
        if stream is None:
            return {"error": NOT_FOUND}
        if what == "STREAM.PURGE":
            stream.drop(asked["seq"])
            return {"success": True, "purged": 0}
        if what == "STREAM.MSG.GET":
            found = stream.messages.get(asked["seq"])
            return {"error": NO_MESSAGE} if found is None else {"message": message_json(asked["seq"], found)}
        return stream.info()

    def handle_consumer_request(self, words: list[str], asked: dict[str, Any], reply: str) -> dict[str, Any] | None:
        """Handle a consumer request: create a consumer, describe it, or fetch its next messages."""
        if words[1] == "CREATE":
            name = words[3]
            stream = self.streams[words[2]]
            self.consumers[name] = stream, [max(stream.first, asked["config"].get("opt_start_seq", 1))]
        else:
            name = words[-1]
        stream, place = self.consumers[name]
        if words[1:3] == ["MSG", "NEXT"]:
            task = asyncio.ensure_future(self.deliver_batch(stream, place, asked, reply))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            return None
        config = {"deliver_policy": "by_start_sequence"}
        waiting = max(0, stream.last + 1 - place[0])
        return {"name": name, "stream_name": "", "config": config, "created": LONG_AGO, "num_pending": waiting}

    async def deliver_batch(self, stream: Stream, place: list[int], asked: dict[str, Any], reply: str) -> None:
        """Send the next messages of a batch to a consumer. Wait until the request expires if there are none yet, then send a status 404 or
        408.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if asked.get("no_wait") else asked.get("expires", 0) / 1e9):
                while place[0] > stream.last:
                    await self.changed.wait()
        count = min(asked["batch"], stream.last + 1 - place[0])
        for _ in range(count):
            message = stream.messages[place[0]]
            self.give(reply, message.data, message.headers, f"$JS.ACK.s.c.1.{place[0]}.{place[0]}.0.0")
            place[0] += 1
        if count < asked["batch"]:
            self.give(reply, b"", {"": "404 No Messages" if asked.get("no_wait") else "408 Request Timeout"})


class _Client:
    """The broker's end of a client connection."""

    def __init__(self, broker: Broker, writer: asyncio.StreamWriter) -> None:
        self.broker, self.writer = broker, writer
        self.subjects: dict[str, str] = {}

    def write_line(self, line: bytes) -> None:
        """Write a line unless the connection is closing."""
        if not self.writer.is_closing():
            self.writer.write(line + b"\r\n")

    async def handle_line(self, words: list[str], reader: asyncio.StreamReader) -> None:
        """Handle a line of the client, and read the payload that follows it."""
        match words:
            case ["PING"]:
                self.write_line(b"PONG")
            case ["SUB", subject, *_, number]:
                self.subjects[number] = subject
            case ["UNSUB", number, *_]:
                self.subjects.pop(number, None)
            case ["PUB" | "HPUB" as verb, subject, *reply_and_sizes]:
                *before, size = reply_and_sizes
                head_size = int(before.pop()) if verb == "HPUB" else 0
                assert int(size) <= self.broker.max_payload, "the client must respect max_payload"
                body = (await reader.readexactly(int(size) + 2))[:-2]
                headers = dict(line.split(": ", 1) for line in body[:head_size].decode().split("\r\n") if ": " in line)
                self.broker.publish(subject, body[head_size:], headers, before[0] if before else "")

    def give(self, subject: str, data: bytes, headers: Headers | None, reply: str) -> None:
        """Send the message to the client if one of its subscriptions matches the subject."""
        for number, wanted in self.subjects.items():
            if subject == wanted or (wanted.endswith("*") and subject.startswith(wanted[:-1])):
                head = b"" if headers is None else encode_headers(headers)
                sizes = f"{len(head)} {len(head) + len(data)}" if head else str(len(data))
                self.write_line(f"{'H' if head else ''}MSG {subject} {number} {reply} {sizes}\r\n".encode() + head + data)


def encode_headers(headers: Headers) -> bytes:
    """Encode headers for the wire. The value of the empty name becomes the status."""
    lines = [f"{name}: {value}" for name, value in headers.items() if name]
    return "\r\n".join([f"NATS/1.0 {headers.get('', '')}".strip(), *lines, "", ""]).encode()


def message_json(number: int, message: Stored) -> dict[str, Any]:
    """Return a stored message as in a response of STREAM.MSG.GET."""
    head = b64encode(encode_headers(message.headers)).decode()
    return {"subject": message.subject, "seq": number, "data": b64encode(message.data).decode(), "hdrs": head, "time": LONG_AGO}


@asynccontextmanager
async def broker_running(max_payload: int = 1 << 20) -> AsyncIterator[Broker]:
    """Run a broker for the duration of the context."""
    broker = Broker(max_payload)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    broker.url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield broker
    finally:
        server.close()
        broker.end_connections()


def node_world(fork: Path | None = None) -> PushClients:
    """A chain with the account history plugin, which records operations."""
    return PushClients("account_history", fork=fork)


class NodeServer:
    """A node that answers calls and streams its blocks. `calls` lists the called methods. Call `wake` after its chain has changed."""

    def __init__(self) -> None:
        self.world = node_world()
        self.calls: list[str] = []
        self.url = ""
        self._news = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    def wake(self) -> None:
        """Wake the streams: each sends its new blocks and a heartbeat."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    def end_streams(self) -> None:
        for writer in list(self._writers):
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection, one request after another."""
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while line := await reader.readline():
                size = 0
                while (header := await reader.readline()).strip():
                    if header.lower().startswith(b"content-length:"):
                        size = int(header.split(b":")[1])
                body = await reader.readexactly(size)
                if line.startswith(b"POST"):
                    self.calls.append(json.loads(body)["method"])
                    answer = self.world.service.answer(body, LOCAL)
                    assert isinstance(answer, bytes)
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
                else:
                    await self._stream(int(line.split(b"from=")[1].split(b"&")[0]), writer)
        self._writers.discard(writer)
        writer.close()

    async def _stream(self, first: int, writer: asyncio.StreamWriter) -> None:
        hub = self.world.hub
        with hub.stream(first, irreversible=False, packed=True) as stream:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + hub.header(first))
            while not writer.is_closing():
                news = self._news
                while piece := stream.piece():
                    writer.write(piece)
                writer.write(hub.heartbeat())
                await writer.drain()
                await news.wait()


@asynccontextmanager
async def node_running() -> AsyncIterator[NodeServer]:
    """Run a node for the duration of the context."""
    node = NodeServer()
    server = await asyncio.start_server(node.serve, "127.0.0.1", 0)
    node.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield node
    finally:
        server.close()
        node.end_streams()
        node.wake()
