"""HTTP and WebSocket from the client's point of view: a real server on a free port, and real sockets."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
import trio
from wsproto.events import BytesMessage, CloseConnection, TextMessage
from wsproto.utilities import ProtocolError

from rpc.declare.arguments import Text
from rpc.declare.method import Method, method
from rpc.http import asgi_app, listener, pages
from rpc.http.access import AccessPolicy
from rpc.http.asgi_app import AsgiApp
from rpc.http.connection_limits import ClientUsage, ConnectionLimiter, ConnectionLimits, limits_for
from rpc.http.listener import address
from rpc.http.pages import PageReply
from rpc.http.server import serve
from rpc.json import reader
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.memory import LOCAL_SIZE_MAX, MemoryLimiter
from tests.conftest import CASES, ROOT, read_json_lines
from tests.helpers.attackers import DATA, h2_frame, h2_request, h2_start, head
from tests.helpers.fakes import fake_wire
from tests.helpers.push import websocket

pytestmark = pytest.mark.usefixtures("both_paths")

HEALTH = {"head_block_number": 7, "time": "2020-01-01T00:00:00", "chain": "dev"}
PAGES = {"/health": lambda: PageReply(json.dumps(HEALTH).encode())}
PING = b'{"jsonrpc":"2.0","method":"a_api.echo","params":{"text":"x"},"id":1}'
PONG = {"jsonrpc": "2.0", "result": "x", "id": 1}

Answer = tuple[int, dict[str, str], bytes]


class Waiting:
    """Events of a call of the method `wait`: it has begun, it can continue, it has ended."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.ended = trio.Event(), trio.Event(), trio.Event()
        self.cancelled = False


@pytest.fixture(autouse=True)
def large_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept the request LARGE from clients without local rights, although it exceeds their limit."""
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", reader.BODY_SIZE_MAX)


def service(waiting: Waiting | None = None, memory: MemoryLimiter | None = None) -> Service:
    """Return a service with three methods: a normal one, a local-only one, and one that waits."""
    registry: dict[str, Method] = {}

    @method("a_api.echo", registry=registry)
    def echo(state: None, text: Text) -> str:
        """Return the argument."""
        return text

    @method("debug_node_api.local", loopback_only=True, registry=registry)
    def local(state: None) -> bool:
        """Return True. Only local clients can call this."""
        return True

    @method("a_api.wait", registry=registry)
    async def wait(processor: Waiting) -> str:
        """Wait until the test lets the method continue."""
        processor.begun.set()
        try:
            await processor.go_on.wait()
        except trio.Cancelled:
            processor.cancelled = True
            raise
        finally:
            processor.ended.set()
        return "done"

    return Service(registry.values(), wire=fake_wire(), state=None, processor=waiting, memory=memory)


@asynccontextmanager
async def server(
    waiting: Waiting | None = None, bounds: ConnectionLimits | None = None, memory: MemoryLimiter | None = None, **options: Any
) -> AsyncIterator[int]:
    """Run a server for the duration of the context; yields its port."""
    async with trio.open_nursery() as nursery:
        start = partial(serve, service(waiting, memory), "127.0.0.1", 0, pages=PAGES, bounds=bounds, **options)
        binds: list[str] = await nursery.start(start)
        with trio.fail_after(30):
            yield int(binds[0].rpartition(":")[2])
        nursery.cancel_scope.cancel()


def exchange(port: int, verb: str = "POST", path: str = "/", body: bytes | None = PING, headers: dict[str, str] | None = None) -> Answer:
    """Send a request over a new connection. Return the status, the headers and the body of the reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(verb, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


async def ask(port: int, *given: Any, **named: Any) -> Answer:
    """Run `exchange` in a thread."""
    return await trio.to_thread.run_sync(partial(exchange, port, *given, **named))


# ------------------------------------------------------------------ HTTP


async def test_every_verb_and_path_is_a_call() -> None:
    async with server() as port:
        for verb in ("POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"):
            status, headers, body = await ask(port, verb)
            assert (status, headers["content-type"], json.loads(body)) == (200, "application/json", PONG)
        for path in ("/rpc", "/a/b/c", "/?x=1", "//", "/%00", "/%ff", "/health", "/health/", "*"):
            assert json.loads((await ask(port, "POST", path))[2]) == PONG
        status, _, body = await ask(port, "HEAD")
        assert (status, body) == (200, b"")
        status, _, body = await ask(port, "GET", "/", None)
        error = json.loads(body)["error"]
        assert (status, error["code"], error["message"]) == (200, -32000, "End Of File:stringstream")
        assert "/health" in error["data"]["hint"]


async def test_recorded_headers_verbs_and_paths_are_accepted() -> None:
    """The statuses equal those of the recorded requests with other headers, methods and paths. A reply has a body exactly if the recorded
    reply has one.
    """
    seen = 0
    async with server() as port:
        for event in read_json_lines(CASES / "rpc_envelope" / "http.jsonl.gz"):
            if 184 <= event["step"] <= 214:
                seen += 1
                status, headers, body = await ask(port, event["method"], event["path"], event["request"].encode(), headers=event["headers"])
                assert (status, headers["content-type"]) == (event["status"], event["content_type"])
                assert bool(body) == bool(event["body"])
    assert seen == 31


async def test_connections_persist_and_foreign_pages_can_call() -> None:
    def twice(port: int) -> list[Answer]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        answers = []
        for _ in range(2):
            connection.request("POST", "/", PING, {"Origin": "http://example.com"})
            reply = connection.getresponse()
            answers.append((reply.status, dict(reply.getheaders()), reply.read()))
        connection.close()
        return answers

    async with server() as port:
        for status, headers, body in await trio.to_thread.run_sync(twice, port):
            assert (status, json.loads(body)) == (200, PONG)
            assert headers["access-control-allow-origin"] == "*"
            assert "server" not in headers


async def test_health_is_a_page() -> None:
    async with server() as port:
        status, headers, body = await ask(port, "GET", "/health", None)
        assert (status, headers["content-type"], json.loads(body)) == (200, "application/json", HEALTH)
        status, _, body = await ask(port, "HEAD", "/health", None)
        assert (status, body) == (200, b"")


@pytest.mark.parametrize("host", ["a" * 64 + ".example", ".", "[a", "\xe4", ""])
async def test_pages_are_served_for_every_host(host: str) -> None:
    async with server() as port:
        assert (await ask(port, "GET", "/health", None, headers={"Host": host}))[0] == 200


async def test_a_page_with_a_bug_is_an_internal_error() -> None:
    def broken() -> PageReply:
        raise ZeroDivisionError

    status: list[int] = []

    async def send(event: dict[str, Any]) -> None:
        status.append(event.get("status", 0))

    received = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if received:
            return received.pop()
        return await trio.sleep_forever()

    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": "/health", "raw_path": b"/health", "query_string": b"", "headers": [],
        "http_version": "1.1", "scheme": "http", "root_path": "", "asgi": {}, "client": None, "server": None,
        "state": {"usage": ClientUsage("", False, lambda: None)},
    }  # fmt: skip
    await AsgiApp(service(), {"/health": broken}, ConnectionLimiter(limits_for()), AccessPolicy())(scope, receive, send)
    assert status[0] == 500


async def test_large_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", 1_000_000)
    monkeypatch.setattr(asgi_app, "DRAIN_SIZE_MAX", 4_000_000)
    async with server() as port:
        fitting = PING + b" " * (1_000_000 - len(PING))
        assert json.loads((await ask(port, body=fitting))[2]) == PONG
        for size in (1_000_001, 3_000_000):
            status, _, body = await ask(port, body=b" " * size, headers={"Host": "x"})
            assert (status, body[:41]) == (413, b"a request may have at most 1000000 bytes,")
            # Clients with local rights can send larger bodies.
            status, _, body = await ask(port, body=b" " * size)
            assert (status, b"End Of File" in body) == (200, True)
        assert (await ask(port))[0] == 200

        chunked = (
            head("POST / HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") + b"f4240\r\n" + b" " * 1_000_000 + b"\r\n1\r\n \r\n0\r\n\r\n"
        )
        assert (await talk(port, chunked)).startswith(b"HTTP/1.1 413")


async def test_request_with_two_lengths_is_refused_and_ends_its_connection() -> None:
    async with server() as port:
        both = head("POST / HTTP/1.1", "Host: x", "Content-Length: 5", "Transfer-Encoding: chunked")
        reply = await talk(port, both + b"0\r\n\r\n" + head("GET /health HTTP/1.1", "Host: x"))
        assert reply.startswith(b"HTTP/1.1 400")
        assert reply.count(b"HTTP/1.1 ") == 1


async def test_unfinished_body_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi_app, "BODY_SECONDS_MAX", 0.1)
    async with server() as port:
        assert (await talk(port, head("POST / HTTP/1.1", "Host: x", "Content-Length: 5") + b"{")).startswith(b"HTTP/1.1 408")
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(head("POST / HTTP/1.1", "Host: x", "Content-Length: 500") + b"{")
        await stream.aclose()
        assert (await ask(port))[0] == 200


async def test_excess_requests_are_refused() -> None:
    waiting = Waiting()
    async with server(waiting, ConnectionLimits(100, 1, 100)) as port, trio.open_nursery() as nursery:
        nursery.start_soon(partial(ask, port, body=b'{"jsonrpc":"2.0","method":"a_api.wait"}'))
        await waiting.begun.wait()
        assert (await ask(port))[0] == 503
        assert (await ask(port, "GET", "/health", None))[0] == 200
        waiting.go_on.set()
        await waiting.ended.wait()
        with trio.fail_after(20):
            while (await ask(port))[0] != 200:
                await trio.sleep(0.01)


async def test_disconnect_cancels_a_waiting_call() -> None:
    waiting = Waiting()
    async with server(waiting) as port:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        body = b'{"jsonrpc":"2.0","method":"a_api.wait"}'
        await stream.send_all(head("POST / HTTP/1.1", "Host: x", f"Content-Length: {len(body)}") + body)
        await waiting.begun.wait()
        assert json.loads((await ask(port))[2]) == PONG
        await stream.aclose()
        await waiting.ended.wait()
        assert waiting.cancelled


async def test_waiting_calls_are_answered() -> None:
    waiting = Waiting()
    waiting.go_on.set()
    async with server(waiting) as port:
        assert json.loads((await ask(port, body=b'{"jsonrpc":"2.0","method":"a_api.wait"}'))[2])["result"] == "done"
        batch = await ask(port, body=b"[" + PING + b',{"jsonrpc":"2.0","method":"a_api.wait","id":2}]')
        assert [reply["id"] for reply in json.loads(batch[2])] == [1, 2]


async def test_shutdown_waits_for_requests() -> None:
    stop, waiting = trio.Event(), Waiting()
    answers: list[Answer] = []

    async def late(port: int) -> None:
        answers.append(await ask(port, body=b'{"jsonrpc":"2.0","method":"a_api.wait"}'))

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            run = partial(serve, service(waiting), "127.0.0.1", 0, pages=PAGES, shutdown=stop.wait)
            binds: list[str] = await nursery.start(run)
            nursery.start_soon(late, int(binds[0].rpartition(":")[2]))
            await waiting.begun.wait()
            stop.set()
            await trio.sleep(0.05)
            waiting.go_on.set()
    assert json.loads(answers[0][2])["result"] == "done"


async def test_connection_close_is_honoured_for_pages() -> None:
    async with server() as port:
        for verb in ("GET", "HEAD", "POST"):
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await stream.send_all(head(f"{verb} /health HTTP/1.1", "Host: x", "Connection: close"))
                with trio.fail_after(20):
                    answer = b"".join([data async for data in stream])  # to the end
                    assert answer.startswith(b"HTTP/1.1 200")


async def test_page_request_with_a_large_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", 1_000_000)
    async with server() as port:
        assert (await ask(port, "GET", "/health", b" " * 1_000_000, headers={"Host": "x"}))[0] == 200
        assert (await ask(port, "GET", "/health", b" " * 1_000_001, headers={"Host": "x"}))[0] == 413


async def test_request_memory_of_an_address_is_limited() -> None:
    waiting = Waiting()
    async with server(waiting, memory=MemoryLimiter(local_size_max=2_000_000)) as port, trio.open_nursery() as nursery:
        call = b'{"jsonrpc":"2.0","method":"a_api.wait"}'
        large = PING + b" " * (600_000 - len(PING))
        nursery.start_soon(partial(ask, port, body=call + b" " * (600_000 - len(call))))
        await waiting.begun.wait()
        answer = await ask(port, body=large)
        assert (answer[0], b"of 2000000 bytes" in answer[2]) == (503, True)
        assert (await ask(port, body=PING.replace(b"x", b"x" * 150_000)))[0] == 200
        assert (await ask(port, body=PING.replace(b"x", b"x" * 300_000)))[0] == 503
        waiting.go_on.set()
        with trio.fail_after(20):
            while (await ask(port, body=large))[0] != 200:
                await trio.sleep(0.01)


async def test_request_memory_is_counted_per_proxied_address() -> None:
    waiting, memory = Waiting(), MemoryLimiter(2_000_000)
    async with server(waiting, memory=memory) as port, trio.open_nursery() as nursery:
        large = b'{"jsonrpc":"2.0","method":"a_api.wait"}' + b" " * 400_000
        nursery.start_soon(partial(ask, port, body=large, headers={"X-Forwarded-For": "10.0.0.1"}))
        await waiting.begun.wait()
        for address, status in (("10.0.0.1", 503), ("10.0.0.2", 200)):
            assert (await ask(port, body=PING + b" " * 500_000, headers={"X-Forwarded-For": address}))[0] == status
        assert (await ask(port, body=PING + b" " * 1_500_000))[0] == 200
        waiting.go_on.set()
    assert memory.used() == {"bytes": (0, LOCAL_SIZE_MAX), "remote_bytes": (0, 2_000_000)}


@pytest.mark.parametrize("is_http2", [False, True])
async def test_oversized_body_is_dropped(monkeypatch: pytest.MonkeyPatch, is_http2: bool) -> None:
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", 30_000)
    memory = MemoryLimiter()
    async with server(memory=memory, is_http2=is_http2) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:

        async def holds(size: int) -> None:
            with trio.fail_after(20):
                while memory.used()["remote_bytes"][0] != size:
                    await trio.sleep(0.01)

        if is_http2:
            await stream.send_all(h2_start() + h2_request(1, is_whole=False))
            pieces = [h2_frame(DATA, 1, b" " * 10_000)] * 4
        else:
            await stream.send_all(head("POST / HTTP/1.1", "Host: x", "Content-Length: 100000"))
            pieces = [b" " * 10_000] * 4
        for piece, size in zip(pieces, (10_000, 20_000, 30_000, 0), strict=True):
            await stream.send_all(piece)
            await holds(size)


async def test_unfinished_body_is_evicted_for_a_complete_one() -> None:
    async with server(memory=MemoryLimiter(2_000_000)) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        large = PING + b" " * (600_000 - len(PING))
        await stream.send_all(head("POST / HTTP/1.1", "Host: x", "Content-Length: 600001") + large)
        await trio.sleep(0.2)
        assert (await ask(port, body=large, headers={"Host": "x"}))[0] == 200
        assert await rest(stream) == b""


async def test_endless_body_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", 100_000)
    monkeypatch.setattr(asgi_app, "DRAIN_SIZE_MAX", 200_000)
    async with server(bounds=ConnectionLimits(100, 1, 100)) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head("POST / HTTP/1.1", "Host: x", "Content-Length: 999999999"))
        with pytest.raises(trio.BrokenResourceError), trio.fail_after(20):
            await stream.send_all(b" " * 100_000_000)
        assert json.loads((await ask(port))[2]) == PONG


LARGE = PING.replace(b'"x"', b'"' + b"x" * 20_000_000 + b'"')


async def send_without_reading(port: int) -> trio.SocketStream:
    """Send a request with a large reply, and don't read the reply. Return the connection."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    await stream.send_all(head("POST / HTTP/1.1", "Host: x", f"Content-Length: {len(LARGE)}") + LARGE)
    await trio.sleep(0.2)
    return stream


@pytest.mark.parametrize("how", ["shutdown", "cancel"])
async def test_client_that_does_not_read_does_not_delay_shutdown(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "GRACE_SECONDS_MAX", 0.2)
    stop = trio.Event()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            run = partial(serve, service(), "127.0.0.1", 0, pages=PAGES, shutdown=stop.wait)
            binds: list[str] = await nursery.start(run)
            async with await send_without_reading(int(binds[0].rpartition(":")[2])):
                stop.set() if how == "shutdown" else nursery.cancel_scope.cancel()
                await trio.sleep(0.5)


async def test_full_server_evicts_the_oldest_connection() -> None:
    async with server(bounds=ConnectionLimits(4, 4, 4)) as port:
        first, second = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(2)]
        await trio.sleep(0.1)
        assert json.loads((await ask(port))[2]) == PONG
        with trio.fail_after(20):
            assert await first.receive_some(1) == b""
        await second.send_all(head("GET /health HTTP/1.1", "Host: x"))
        assert (await second.receive_some(9999)).startswith(b"HTTP/1.1 200")


async def test_busy_connections_are_not_evicted() -> None:
    waiting = Waiting()
    async with server(waiting, ConnectionLimits(2, 2, 2)) as port, trio.open_nursery() as nursery:
        nursery.start_soon(partial(ask, port, body=b'{"jsonrpc":"2.0","method":"a_api.wait"}'))
        await waiting.begun.wait()
        with pytest.raises(OSError):
            await ask(port)
        waiting.go_on.set()
        await waiting.ended.wait()
        assert not waiting.cancelled


async def test_pages_in_local_browsers_have_no_local_rights() -> None:
    async with server() as port:
        body = b'{"jsonrpc":"2.0","method":"debug_node_api.local"}'
        assert json.loads((await ask(port, body=body))[2])["result"] is True
        assert "error" in json.loads((await ask(port, body=body, headers={"Origin": "http://example.com"}))[2])


def test_addresses() -> None:
    assert address("127.0.0.1", 8090) == "127.0.0.1:8090"
    assert address("::1", 8090) == "[::1]:8090"


def test_page_modules_are_imported_on_first_use() -> None:
    code = "import sys, rpc.http.server; sys.exit('quart' in sys.modules or 'flask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


async def rest(stream: trio.SocketStream) -> bytes:
    """Return all bytes received until the connection ends."""
    data = bytearray()
    with trio.fail_after(30), suppress(trio.BrokenResourceError):
        while more := await stream.receive_some(1 << 20):
            data += more
    return bytes(data)


async def talk(port: int, request: bytes) -> bytes:
    """Send raw bytes over a new connection, and return the first bytes of the reply."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request)
        return bytes(await stream.receive_some(65536))


# ------------------------------------------------------------------ WebSocket


async def test_frames_are_answered_in_order() -> None:
    async with server() as port, websocket(port) as client:
        for i in range(20):
            await client.send_event(TextMessage(PING.replace(b":1}", b":%d}" % i).decode()))
        assert [(await client.receive())["id"] for _ in range(20)] == list(range(20))
        await client.send_event(TextMessage("x" * 200_000))
        assert (await client.receive())["error"]["code"] == -32000
        await client.send_event(BytesMessage(PING))
        assert await client.receive_text() == "error: string payload expected"
        await client.send_event(TextMessage(PING.decode().replace('"x"', '"' + "ü" * 300_000 + '"')))
        assert (await client.receive())["result"] == "ü" * 300_000


async def test_waiting_broadcast_does_not_delay_other_frames() -> None:
    waiting = Waiting()
    async with server(waiting) as port, websocket(port) as client:
        await client.send_event(TextMessage('{"jsonrpc":"2.0","method":"a_api.wait","id":"w"}'))
        await client.send_event(TextMessage(PING.decode()))
        assert await client.receive() == PONG
        waiting.go_on.set()
        assert await client.receive() == {"jsonrpc": "2.0", "result": "done", "id": "w"}


async def test_closed_websocket_cancels_a_waiting_call() -> None:
    waiting = Waiting()
    async with server(waiting) as port:
        async with websocket(port) as client:
            await client.send_event(TextMessage('{"jsonrpc":"2.0","method":"a_api.wait","id":"w"}'))
            await waiting.begun.wait()
            await client.send_event(CloseConnection(1000))
            assert isinstance(await client.receive(), CloseConnection)
        await waiting.ended.wait()
        assert waiting.cancelled
        assert (await ask(port))[0] == 200


async def test_excess_websockets_are_refused() -> None:
    async with server(bounds=ConnectionLimits(100, 100, 1)) as port:
        async with websocket(port):
            with pytest.raises((AssertionError, ProtocolError)):
                async with websocket(port):
                    pass
        with trio.fail_after(20):
            while not await opens(port):
                await trio.sleep(0.01)


async def opens(port: int, *headers: tuple[bytes, bytes]) -> bool:
    """Whether the server accepts a WebSocket with these headers."""
    try:
        async with websocket(port, *headers):
            return True
    except (AssertionError, ProtocolError):
        return False


async def test_pages_in_local_browsers_have_no_local_rights_over_websocket() -> None:
    asked = '{"jsonrpc":"2.0","method":"debug_node_api.local"}'
    results: list[Callable[[Any], bool]] = [lambda reply: "result" in reply, lambda reply: "error" in reply]
    async with server() as port:
        headers: list[list[tuple[bytes, bytes]]] = [[], [(b"origin", b"http://example.com")]]
        for given, fits in zip(headers, results, strict=True):
            async with websocket(port, *given) as client:
                await client.send_event(TextMessage(asked))
                assert fits(await client.receive())


def test_slow_page_is_cached_longer() -> None:
    made: list[int] = []

    def page() -> PageReply:
        made.append(0)
        begun = time.thread_time()
        while time.thread_time() - begun < 0.02:
            pass
        return PageReply(b"%d" % len(made))

    kept = pages.CachedPage(page)
    assert {kept().body for _ in range(100)} == {b"1"}
    time.sleep(2 * 0.02 * pages.PAGE_KEPT_TIMES)
    assert kept().body == b"2"


async def test_idle_connections_start_no_tasks() -> None:
    async with server() as port:
        await ask(port, "GET", "/health", None)
        tasks = trio.lowlevel.current_statistics().tasks_living
        streams = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(200)]
        assert (await ask(port, "GET", "/health", None))[0] == 200
        assert trio.lowlevel.current_statistics().tasks_living < tasks + 20
        await streams[100].send_all(head("GET /health HTTP/1.1", "Host: x"))
        assert (await streams[100].receive_some(100)).startswith(b"HTTP/1.1 200")
        for stream in streams:
            await stream.aclose()
