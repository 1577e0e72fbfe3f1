"""Requests that crashed earlier versions of the node, sent to a real server with and without HTTP/2. Each can end only its own
connection.
"""

import json
import struct
from contextlib import suppress
from functools import partial

import pytest
import trio

from rpc.http import connection
from rpc.http.asgi_app import AsgiApp
from rpc.http.connection_limits import ConnectionLimits
from rpc.http.hypercorn_protocols import RESETS_MAX
from rpc.json import reader
from tests.helpers.attackers import (
    DATA,
    END_STREAM,
    HEADERS,
    ONE_SHOT,
    RESET,
    Target,
    h2_call,
    h2_frame,
    h2_request,
    h2_start,
    h2c,
    head,
    shoot,
    upgrade,
    ws_frame,
)
from tests.helpers.log_capture import capture_logs
from tests.rpc.http.test_asgi_app import LARGE, PING, PONG, ask, rest, server

pytestmark = pytest.mark.usefixtures("both_paths")

QUIET_SECONDS = 2.0


@pytest.fixture(autouse=True)
def large_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept the request LARGE from clients without local rights, although it exceeds their limit."""
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", reader.BODY_SIZE_MAX)


async def _note(begun: list[object], scope: object) -> None:
    begun.append(scope)


async def shot(port: int, request: bytes) -> bytes:
    """Send raw bytes over a new connection and return the reply."""
    return await trio.to_thread.run_sync(shoot, Target(port), request, QUIET_SECONDS)


@pytest.mark.parametrize("is_http2", [False, True])
async def test_hostile_requests_end_only_their_connections(is_http2: bool) -> None:
    answers: dict[str, bytes] = {}

    async def attack(port: int, name: str) -> None:
        answers[name] = await shot(port, ONE_SHOT[name])

    with capture_logs() as lines:
        async with server(is_http2=is_http2) as port:
            async with trio.open_nursery() as nursery:
                for name in ONE_SHOT:
                    nursery.start_soon(attack, port, name)
            assert json.loads((await ask(port))[2]) == PONG
            assert (await ask(port, "GET", "/health", None))[0] == 200
    assert [line for line in lines if line["event"] == "request failed"] == []
    assert len(lines) <= connection.ENDED_LOGGED_MAX
    for name, answer in answers.items():
        if name.startswith("h2 "):
            assert answer.startswith(b"\x00\x00" if is_http2 else b"HTTP/1.1 505"), name
        elif name.startswith("h2c"):
            assert answer.startswith(b"HTTP/1.1 200"), name
        else:
            assert answer.startswith(b"HTTP/1.1 ") or name in ("HTTP large chunk", "nothing"), name


async def test_http2_upgrade_is_answered_in_http1() -> None:
    async with server(is_http2=True) as port:
        answer = await shot(port, h2c("AAMAAABkAAQCAAAAAAIAAAAA").replace(b"GET /", b"GET /health"))
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"upgrade" not in answer.lower()


async def test_http2_is_served_if_enabled() -> None:
    async with server(is_http2=True) as port:
        answer = await shot(port, h2_start() + h2_call(1, PING) + h2_request(3, method=b"GET", path=b"/health"))
        assert json.dumps(PONG).replace(" ", "").encode() in answer
        assert b"head_block_number" in answer


async def test_reset_streams_do_not_affect_others() -> None:
    async with server(is_http2=True) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(h2_start())
        for first in range(1, 4400, 40):
            reset = [h2_request(each, is_whole=False) + h2_frame(RESET, each, struct.pack(">I", 8)) for each in range(first, first + 20, 2)]
            calls = [h2_call(each, PING) for each in range(first + 20, first + 40, 2)]
            await stream.send_all(b"".join([*reset, *calls]))
            answer = b""
            with trio.fail_after(20):
                while answer.count(b'"result":"x"') < 10:
                    answer += await stream.receive_some(65536)


async def test_many_reset_streams_end_their_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(AsgiApp, "_http", lambda self, scope, receive, send: _note(begun, scope))
    async with server(is_http2=True) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(h2_start())
        with trio.fail_after(20), suppress(trio.BrokenResourceError):
            for each in range(1, 20_000, 2):
                await stream.send_all(h2_request(each, is_whole=False) + h2_frame(RESET, each, struct.pack(">I", 8)))
            while await stream.receive_some(65536):
                pass
    assert 0 < len(begun) <= 2 * RESETS_MAX


async def test_data_for_an_answered_stream_is_dropped() -> None:
    async with server(is_http2=True) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        # A body that exceeds the limits is answered while it is still arriving.
        await stream.send_all(h2_start() + h2_request(1, is_whole=False, method=b"FOO", path=b"/"))
        await stream.send_all(h2_frame(DATA, 1, b" ") * 50 + h2_frame(DATA, 1, PING, END_STREAM) + h2_frame(RESET, 1, bytes(4)))
        await stream.send_all(h2_frame(HEADERS, 3, b"\x82\x84\x86\x41\x01x", 5))
        answer = b""
        with trio.fail_after(20):
            while b"End Of File" not in answer:
                answer += await stream.receive_some(65536)


async def test_head_of_spaces_is_refused_quickly() -> None:
    # h11 would take more than half a minute to parse it.
    async with server() as port:
        for method in ("POST", "GET"):
            answer = await shot(port, f"{method} / HTTP/1.1\r\nHost: x\r\nX:".encode() + b" " * 60_000 + b"\0\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 400")
        body = b"{}" + b" " * 60_000
        assert (await ask(port, "FOO", body=body))[0] == (await ask(port, body=body))[0] == 200


async def test_refused_websocket_is_closed() -> None:
    async with server(bounds=ConnectionLimits(100, 100, 100)) as port:
        for request in (upgrade().replace(b"13", b"12"), upgrade() + ws_frame(b"x")):
            with trio.fail_after(20):
                assert (await trio.to_thread.run_sync(shoot, Target(port), request, 5.0)).startswith(b"HTTP/1.1 400")


async def test_stalled_reader_is_disconnected_over_every_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_SECONDS_MAX", 0.2)
    large = LARGE
    requests = {
        "HTTP/1.1": head("POST / HTTP/1.1", "Host: x", f"Content-Length: {len(large)}") + large,
        "WebSocket": ws_frame(large),
        "HTTP/2, window 0": h2_start(window=0) + h2_call(1, PING),
    }
    async with server(is_http2=True) as port:
        for name, request in requests.items():
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                if name == "WebSocket":
                    await stream.send_all(upgrade())
                    assert (await stream.receive_some(4096)).startswith(b"HTTP/1.1 101")
                await stream.send_all(request)
                await trio.lowlevel.wait_readable(stream.socket)
                await trio.sleep(1)
                assert len(await rest(stream)) < len(LARGE), name


async def test_slow_reader_is_disconnected_eventually(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_SECONDS_MAX", 0.5)
    monkeypatch.setattr(connection, "SEND_RATE_MIN", 1e12)
    async with server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head("POST / HTTP/1.1", "Host: x", f"Content-Length: {len(LARGE)}") + LARGE)
        taken = 0
        with trio.fail_after(20):
            try:
                while data := await stream.receive_some(10_000):
                    taken += len(data)
                    await trio.sleep(0.005)
            except trio.BrokenResourceError:
                pass
        assert taken < len(LARGE)


async def test_idle_connections_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rpc.http.server.IDLE_SECONDS_MAX", 0.1)
    async with server() as port:
        for first in (b"", b"POST / HTT", head("GET /health HTTP/1.1", "Host: x")):
            assert await trio.to_thread.run_sync(partial(shoot, Target(port), first, 5.0)) is not None
        with trio.fail_after(20):
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                assert await stream.receive_some(1) == b""
