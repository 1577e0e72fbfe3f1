"""Parsing of request heads on the fast path. Ambiguous heads, which two parsers could read differently, are handed to hypercorn."""

import pytest

from rpc.http.http1.heads import HEAD_SIZE_MAX, RequestHead, may_begin, read_head

HOST = b"Host: x"
SIZED = b"Content-Length: 5"


def head(*lines: bytes, start: bytes = b"POST / HTTP/1.1") -> bytes:
    return b"\r\n".join([start, *lines, b"", b""])


def test_valid_heads_are_parsed() -> None:
    read = read_head(head(b"hOST: a b ", b"X:", b"X:\t1  2\t", SIZED, start=b"POST /a?b HTTP/1.1"))
    assert read == RequestHead([(b"host", b"a b"), (b"x", b""), (b"x", b"1  2"), (b"content-length", b"5")], 5, is_last=False, waits=False)
    read = read_head(head(HOST, SIZED, b"Connection: Close", b"Expect: 100-Continue"))
    assert read is not None
    assert (read.size, read.is_last, read.waits) == (5, True, True)
    kept = read_head(head(HOST, b"Content-Length: 0", b"connection: keep-alive"))
    assert kept is not None
    assert (kept.size, kept.is_last) == (0, False)


@pytest.mark.parametrize(
    "lines",
    [
        [HOST], [SIZED], [HOST, HOST, SIZED], [HOST, SIZED, SIZED], [HOST, SIZED, b"Transfer-Encoding: chunked"],
        [HOST, b"Transfer-Encoding: chunked"], [HOST, b"Content-Length: 05"], [HOST, b"Content-Length: +5"],
        [HOST, b"Content-Length: 5, 5"],
        [HOST, b"Content-Length: "], [HOST, b"Content-Length: -5"], [HOST, b"Content-Length: 0x5"], [HOST, b"Content-Length: " + b"9" * 20],
        [HOST, SIZED, b"Upgrade: h2c"], [HOST, SIZED, b"Connection: upgrade"], [HOST, SIZED, b"Connection: close, x"],
        [HOST, SIZED, b"Connection: close", b"Connection: close"], [HOST, SIZED, b"Expect: x"], [HOST, SIZED, b"X : 1"],
        [HOST, SIZED, b" X: 1"],
        [HOST, SIZED, b"X: 1", b" 2"], [HOST, SIZED, b"X"], [HOST, SIZED, b": 1"], [HOST, SIZED, b"X: \x00"], [HOST, SIZED, b"X: \x0b"],
        [HOST, SIZED, b"X: a\rb"], [HOST, SIZED, b"X: a\nb: c"], [HOST, SIZED, b"X\xe9: 1"], [HOST, SIZED, b"X: " + b"1" * HEAD_SIZE_MAX],
    ],
)  # fmt: skip
def test_ambiguous_headers_are_left_to_hypercorn(lines: list[bytes]) -> None:
    assert read_head(head(*lines)) is None


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1", b"post / HTTP/1.1", b"POST  / HTTP/1.1", b"POST /  HTTP/1.1", b"POST / HTTP/1.0", b"POST / HTTP/1.1 ", b"POST /",
        b"POST /a b HTTP/1.1", b"POST /\xe9 HTTP/1.1", b"POST / http/1.1", b"\r\nPOST / HTTP/1.1", b"POST\t/ HTTP/1.1", b"PRI * HTTP/2.0",
    ],
)  # fmt: skip
def test_other_first_lines_are_left_to_hypercorn(start: bytes) -> None:
    assert read_head(head(HOST, SIZED, start=start)) is None


def test_partial_head_is_kept_only_if_it_can_become_valid() -> None:
    whole = head(HOST, SIZED)
    assert all(may_begin(whole[:size]) for size in range(1, len(whole) - 1))
    for data in (
        b"G",
        b"POSTS",
        b"\r",
        b"\x16",
        b"POST / HTTP/1.1\nHost: x\n\n",
        b"POST / HTTP/1.1\n\r\n",
        b"POST /" + b"a" * HEAD_SIZE_MAX,
    ):
        assert not may_begin(data)
