"""Generates random byte streams of HTTP/1.1 clients, valid and damaged, split into chunks."""

from itertools import pairwise
from random import Random

from tests.helpers.attackers import PREFACE

PORT = 8090
ECHO = b'{"jsonrpc":"2.0","method":"a_api.echo","params":{"text":"x"},"id":1}'
BODIES = (
    ECHO,
    b'{"jsonrpc":"2.0","method":"a_api.wait","id":2}',
    b'{"jsonrpc":"2.0","method":"debug_node_api.local","id":3}',
    b"[" + ECHO + b',{"jsonrpc":"2.0","method":"a_api.wait","id":4}]',
    b'{"jsonrpc":"2.0","method":"a_api.long","id":5}',
    b'{"jsonrpc":"2.0","method":"a_api.bug","id":6}',
    b"",
    b"{",
    b"\xff" * 5,
    b" " * 3000,
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
)
HOSTS = (b"127.0.0.1:8090", b"localhost:8090", b"x", b"", b"a b", b"\xff", b"127.0.0.1:8090, x")
HEADERS = (
    b"Content-Type: application/json", b"Accept: */*", b"User-Agent: a client / 1.0 (of a test)", b"Connection: close",
    b"Connection: keep-alive", b"connection: Close", b"Connection: keep-alive, close", b"Connection: foo", b"Connection: , close",
    b"Expect: 100-continue", b"expect: 100-Continue", b"Expect: x", b"Expect: 100-continue, x", b"Origin: http://a.example",
    b"Origin: http://b.example", b"X-Forwarded-For: 10.0.0.1", b"sec-fetch-site: none", b"Sec-Fetch-Site: cross-site", b"Via: x",
    b"Upgrade: websocket", b"Upgrade: h2c", b"Connection: Upgrade", b"Content-Encoding: gzip", b"Trailer: x", b"TE: trailers",
    b"X_Real_IP: 1", b"X:", b"X: ", b"X:\ta\t", b"X: a  b", b"X: a\tb", b"X : a", b" X: a", b"\tX: a", b": a", b"X", b"X\xe9: a",
    b"X: \xe9",
    b"X: \x00", b"X: \x01", b"X: \x7f", b"X: a\rb", b"X: a\nb", b"X: a\r\n b", b"X: a\x0bb", b"X: \x85\xa0", b"(x): a", b"X;y: a",
    b"Host: y", b"host: 127.0.0.1:8090", b"Content-Length: 5", b"Content-Length: 0", b"Content-Length: 68", b"Content-Length: +68",
    b"Content-Length: 68, 68", b"Content-Length: 0x44", b"Content-Length: 068", b"Content-Length:", b"Content-Length: -1",
    b"Content-Length: 99999999999999999999999", b"Content-Length: 6 8", b"Content_Length: 68", b"Content-Length : 68",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: Chunked", b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: identity", b"Transfer-Encoding: xchunked", b"Transfer-Encoding:", b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:\x0bchunked", b"X: " + b"a" * 9000, b"X: " + b" " * 300, b"Cookie: " + b"b" * 4000,
)  # fmt: skip
METHODS = (b"GET", b"HEAD", b"OPTIONS", b"PUT", b"post", b"POSTS", b"PO ST", b"CONNECT", b"PRI", b"DELETE", b"", b"P\xd6ST", b"\r\nPOST")
TARGETS = (b"/rpc", b"/health", b"*", b"/a b", b"", b"/\xe9", b"/%00", b"http://x/", b"/stream/blocks", b"//", b"/?a=b#c", b"x:80", b"/\t")
VERSIONS = (b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.2", b"HTTP/0.9", b"HTTP/11", b"http/1.1", b"", b"HTTP/1.1 ", b" HTTP/1.1", b"HTTP/1.1x")
GARBAGE = (
    b"\r\n",
    b"\n",
    b"\x00",
    b"\x16\x03\x01",
    b"POST",
    b"POST ",
    b"POST / HTTP/1.1\r\nHost: x\r\n",
    PREFACE,
    b"x" * 17_000,
    b"0\r\n\r\n",
)


def stream(random: Random) -> list[bytes]:
    """Return the chunks of a stream with a few requests, some of which may be invalid or damaged."""
    count = random.choice((1, 1, 2, 3, 5))
    requests = [request(random, damages=random.choice((0, 0, 1, 1, 2))) for _ in range(count)]
    if random.random() < 0.1:
        requests.insert(random.randrange(count + 1), random.choice(GARBAGE))
    data = b"".join(requests)
    if random.random() < 0.15:
        data = _damaged(random, data)
    return cut(random, data)


def request(random: Random, damages: int) -> bytes:
    """Return a request with `damages` random deviations from a normal one."""
    method, target, version, host = b"POST", b"/", b"HTTP/1.1", random.choice(HOSTS[:2])
    body = random.choice(BODIES)
    headers = [random.choice(HEADERS[:5]) for _ in range(random.choice((0, 1, 1, 2)))]
    if random.random() < 0.1:
        headers.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    else:
        headers.append(b"%s: %d" % (random.choice((b"Content-Length", b"content-length")), len(body)))
    for _ in range(damages):
        kind = random.random()
        if kind < 0.6:
            headers.insert(random.randrange(len(headers) + 1), random.choice(HEADERS))
        elif kind < 0.66:
            method = random.choice(METHODS)
        elif kind < 0.72:
            target = random.choice(TARGETS)
        elif kind < 0.78:
            version = random.choice(VERSIONS)
        elif kind < 0.84:
            host = random.choice(HOSTS)
        elif kind < 0.9:
            del headers[random.randrange(len(headers) + 1) :]
        elif kind < 0.95:
            body = body[: random.randrange(len(body) + 1)]
        else:
            body += random.choice(BODIES)
    lines = [b" ".join((method, target, version)), b"Host: " + host, *headers]
    if damages and random.random() < 0.05:
        del lines[1]
    end = random.choice((b"\n", b"\r", b"\r\r\n")) if damages and random.random() < 0.05 else b"\r\n"
    return end.join(lines) + b"\r\n\r\n" + body


def _damaged(random: Random, data: bytes) -> bytes:
    """Return the bytes with a few of them changed, inserted, removed or repeated."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(out) + 1)
        kind = random.randrange(4)
        if kind == 0 and at < len(out):
            out[at] = random.choice(b"\r\n \t:0aZ\x00\xff;,")
        elif kind == 1:
            out[at:at] = random.choice((b"\r", b"\n", b" ", b"\r\n", b"0", b"\x00", b":", b"\t"))
        elif kind == 2:
            del out[at : at + random.choice((1, 1, 2, 10))]
        else:
            out[at:at] = out[at : at + random.choice((1, 5, 30))]
    return bytes(out)


def cut(random: Random, data: bytes) -> list[bytes]:
    """Split bytes into chunks: one, a few at random positions, or single bytes in the middle."""
    how = random.random()
    if how < 0.3 or not data:
        return [data]
    if how < 0.4:
        start = random.randrange(len(data))
        single = data[start : start + 60]
        return [piece for piece in (data[:start], *(single[i : i + 1] for i in range(len(single))), data[start + 60 :]) if piece]
    places = sorted({0, len(data), *(random.randrange(len(data) + 1) for _ in range(random.choice((1, 2, 5, 10))))})
    return [data[a:b] for a, b in pairwise(places)]
