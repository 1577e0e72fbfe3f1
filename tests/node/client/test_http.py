"""The blocking HTTP client for nodes: results, the content of refusals, and clear errors if the other side isn't a node."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from node.client import http as module
from node.client import lines as module_of_lines
from node.client.errors import NoNode, RefusedCall, Unreachable
from node.client.http import Client
from node.client.urls import parts_of
from node.runtime.errors import NodeError
from tests.helpers.golden import fails
from tests.helpers.stub_server import StubServer, answering


@pytest.fixture
def server() -> Iterator[StubServer]:
    with answering() as running:
        yield running


def test_calls_share_one_connection(server: StubServer) -> None:
    server.results = {"a.b": lambda params: params, "a.c": None}
    client = Client(server.url)
    assert client.call("a.b", [1, "x"]) == [1, "x"]
    assert client.call("a.c") is None
    assert [method for method, _ in server.calls] == ["a.b", "a.c"]
    client.close()


def test_a_refusal_carries_the_error_of_the_node(server: StubServer) -> None:
    server.errors = {
        "a.b": {"code": -32000, "message": "no", "data": {"explain": {"why": "because"}, "hint": "do this"}},
        "a.c": {"code": -32601, "message": "Could not find API a", "data": "text"},
    }
    client = Client(server.url)
    with fails(RefusedCall) as refused:
        client.call("a.b")
    assert refused.value.explain == {"why": "because"}
    assert refused.value.hint == "do this"
    assert not refused.value.is_unknown_method
    with pytest.raises(RefusedCall) as refused:
        client.call("a.c")
    assert refused.value.is_unknown_method
    assert refused.value.explain == {}
    assert refused.value.hint == ""
    client.close()


def test_a_closed_connection_is_reopened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with listening.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"result":1}')

        client = Client(f"127.0.0.1:{listening.getsockname()[1]}")
        for _ in range(2):
            thread = threading.Thread(target=answer)
            thread.start()
            assert client.call("a.b") == 1
            thread.join()
        client.close()


@pytest.mark.parametrize("raw", [b"<html>hello</html>", b"[]", b"{}", b"", b"\xff\xfe", b'{"result":' + b"[" * 200_000])
def test_another_program_is_not_a_node(server: StubServer, raw: bytes) -> None:
    server.raw = raw
    with fails(NoNode):
        Client(server.url).call("a.b")


def test_the_size_of_a_reply_is_bounded(server: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLY_BYTES_MAX", 100)
    server.results = {"a.b": "x" * 100}
    with fails(NoNode):
        Client(server.url).call("a.b")


def test_an_unreachable_node_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with fails(Unreachable):
            Client(url).call("a.b")
    with pytest.raises(Unreachable):
        Client("http://nowhere.invalid:1").call("a.b")


def test_a_silent_node_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, fails(Unreachable):
        Client(f"127.0.0.1:{silent.getsockname()[1]}").call("a.b", seconds_max=0.1)


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "http://x:99999", "http://x:0", "ht tp://x", "http://x/\n", "http://[x", "http://a..b", "x" * 64]
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with fails(NodeError):
        parts_of(url)


def test_addresses_are_parsed() -> None:
    assert parts_of("localhost:8090").hostname == "localhost"
    assert parts_of("https://api.example.org/rpc?x=1").path == "/rpc"
    assert parts_of("http://[::1]:8090").port == 8090


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: x\r\n"),
    ],
    ids=["body", "status", "header", "chunk", "trailer"],
)
def test_a_slow_reply_times_out(begin: bytes, part: bytes) -> None:
    """Each single byte arrives within the timeout, but the complete reply would take hours, or never end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection = listening.accept()[0]
            with connection, contextlib.suppress(OSError):
                connection.sendall(begin)
                # If the client had no limit, the test would end here and fail.
                for _ in range(1000):
                    connection.sendall(part)
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        start = time.monotonic()
        with fails(Unreachable):
            Client(f"127.0.0.1:{listening.getsockname()[1]}").call("a.b", seconds_max=0.5)
        assert time.monotonic() - start < 30


def test_a_silent_stream_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_lines, "SILENCE_SECONDS_MAX", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = Client(f"127.0.0.1:{listening.getsockname()[1]}")

        def begin() -> None:
            begun.append(listening.accept()[0])
            begun[0].sendall(b"HTTP/1.1 200 OK\r\n\r\none\ntwo\nthr")

        begun: list[socket.socket] = []
        thread = threading.Thread(target=begin)
        thread.start()
        assert client.open_stream("/stream") == 200
        lines = client.lines()
        assert next(lines) == [b"one", b"two"]
        with fails(Unreachable):
            next(lines)
        thread.join()
        begun[0].close()
