"""Random input of WebSocket clients from a seed: handshakes and streams of frames, valid and invalid, some mutated and split at random. It
contains no expected replies.
"""

import random
from itertools import cycle
from operator import xor

from tests.helpers.attackers import upgrade

TEXTS = ("", "x", '{"id":1}', "ü", "€uro", "\U0001f600", "x" * 125, "x" * 126, "ü" * 70, "x" * 700, "ü" * 499)
NO_UTF8 = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"abc\xe2\x82")
CODES = (999, 1000, 1001, 1004, 1005, 1006, 1007, 1011, 1013, 1015, 1016, 2999, 3000, 4999, 5000)
TEXT, BYTES, CLOSE, PING, PONG = 1, 2, 8, 9, 10
LAST = 0x80
BYTE_BY_BYTE_SIZE_MAX = 400


def masked_frame(random: random.Random, payload: bytes, first: int, *, form: int = 0, is_masked: bool = True) -> bytes:
    """Return a masked frame. A `form` of 126 or 127 forces a length encoding that is longer than necessary."""
    size = len(payload)
    form = max(form, 0 if size < 126 else 126 if size < 65536 else 127)
    head = bytes([first, (0x80 if is_masked else 0) | (form or size)])
    head += size.to_bytes(2, "big") if form == 126 else size.to_bytes(8, "big") if form else b""
    if not is_masked:
        return head + payload
    mask = random.randbytes(4)
    return head + mask + bytes(map(xor, payload, cycle(mask)))


def _usual(random: random.Random) -> bytes:
    """Return a complete message or a control frame."""
    kind = random.choice((TEXT, TEXT, TEXT, TEXT, BYTES, PING, PONG))
    text = random.choice(TEXTS).encode()
    return masked_frame(random, text[:125] if kind > BYTES else text, LAST | kind)


def _fragments(random: random.Random) -> bytes:
    """Return a fragmented message, occasionally with control frames or an error between fragments."""
    payload = random.choice(TEXTS).encode() * random.choice((1, 1, 2))
    cuts = sorted(random.randrange(len(payload) + 1) for _ in range(random.randrange(1, 4)))
    parts = [payload[start:end] for start, end in zip([0, *cuts], [*cuts, len(payload)], strict=True)]
    out = b""
    for number, part in enumerate(parts):
        first = 0 if number else random.choice((TEXT, TEXT, BYTES))
        is_last = number == len(parts) - 1 and random.random() < 0.95
        out += masked_frame(random, part, first | (LAST if is_last else 0))
        if random.random() < 0.3:
            out += masked_frame(random, b"between", LAST | random.choice((PING, PONG)))
        if random.random() < 0.03:
            out += _usual(random)
    return out


def _closing(random: random.Random) -> bytes:
    """Return a close frame with a valid or invalid reason."""
    reason = random.choice((b"", b"bye", "tschüß".encode(), b"\xff", b"x" * 123, b"x" * 124))
    payload = random.choice((b"", b"\x03", random.choice(CODES).to_bytes(2, "big") + reason))
    return masked_frame(random, payload, LAST | CLOSE)


def _broken(random: random.Random) -> bytes:
    """Return a frame that violates a rule."""
    text = random.choice(TEXTS).encode()
    return random.choice((
        lambda: masked_frame(random, random.choice(NO_UTF8), LAST | TEXT),
        lambda: masked_frame(random, text, LAST | TEXT, is_masked=False),
        lambda: masked_frame(random, text, LAST | TEXT, form=random.choice((126, 127))),
        lambda: masked_frame(random, text, random.choice((0xC1, 0xA1, 0x91, 0xF1))),
        lambda: masked_frame(random, text, LAST | random.choice((0, 3, 7, 11, 15))),
        lambda: masked_frame(random, text[:125], PING),
        lambda: masked_frame(random, b"x" * 126, LAST | PING),
        lambda: masked_frame(random, b"x" * random.choice((1000, 1001, 3000)), LAST | random.choice((TEXT, TEXT, BYTES))),
        lambda: masked_frame(random, "ü".encode() * random.choice((999, 1000, 1001)), LAST | TEXT),
        lambda: b"\x81\xff" + (1 << 63).to_bytes(8, "big") + b"mask",
    ))()  # fmt: skip


def frames(random: random.Random) -> bytes:
    kinds = random.choices((_usual, _fragments, _closing, _broken), (12, 6, 1, 2), k=random.randrange(1, 9))
    stream = b"".join(kind(random) for kind in kinds)
    return mutated(random, stream) if random.random() < 0.3 else stream


def handshake(random: random.Random) -> bytes:
    """Return the head of a WebSocket upgrade request, sometimes invalid."""
    head = upgrade(*random.choices(_EXTRA, k=random.randrange(3)) if random.random() < 0.7 else ())
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        found, instead = random.choice(_CHANGES)
        head = head.replace(found, instead)
    if random.random() < 0.1:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" + head
    if random.random() < 0.1:
        head += masked_frame(random, b"early", LAST | TEXT)
    return mutated(random, head) if random.random() < 0.3 else head


_EXTRA = (
    "Sec-WebSocket-Protocol: a, b",
    "Sec-WebSocket-Protocol: é",
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
    "Origin: http://example.com",
    "Connection: keep-alive",
    "Upgrade: h2c",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 8",
    "Sec-WebSocket-Key: b",
    "Content-Length: 0",
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "X-Forwarded-For: 192.0.2.1",
)
_CHANGES = (
    (b"GET", b"POST"),
    (b"GET", b"get"),
    (b"GET /", b"GET /a/b?c=%20"),
    (b"GET /", b"GET /\xff"),
    (b"HTTP/1.1", b"HTTP/1.0"),
    (b"HTTP/1.1", b"HTTP/2.0"),
    (b"Host: x\r\n", b""),
    (b"Connection: Upgrade", b"Connection: keep-alive, UPGRADE"),
    (b"Connection: Upgrade", b"Connection: keep-alive"),
    (b"Connection: Upgrade", b"Connection: upgraded"),
    (b"Connection: Upgrade\r\n", b""),
    (b"Upgrade: websocket", b"Upgrade: WebSocket"),
    (b"Upgrade: websocket", b"Upgrade: websocket, h2c"),
    (b"Upgrade: websocket\r\n", b""),
    (b"Sec-WebSocket-Version: 13\r\n", b""),
    (b"Version: 13", b"Version: 12"),
    (b"Sec-WebSocket-Key: ", b"Sec-WebSocket-Key: \xff"),
    (b"Sec-WebSocket-Key", b"Sec-WebSocket-Keys"),
    (b"\r\nUpgrade", b"\r\n Upgrade"),
)


def mutated(random: random.Random, data: bytes) -> bytes:
    """Return the data with a few bytes changed, removed, repeated or inserted."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(out) + 1)
        size = random.choice((1, 1, 2, 8))
        match random.randrange(4):
            case 0:
                out[at : at + 1] = random.randbytes(1)
            case 1:
                del out[at : at + size]
            case 2:
                out[at:at] = out[at : at + size]
            case _:
                out[at:at] = random.randbytes(size)
    return bytes(out)


def pieces(random: random.Random, data: bytes) -> list[bytes]:
    """Split data as a network could: into one chunk, a few chunks, or single bytes."""
    match random.randrange(4):
        case 0:
            return [data]
        case 1 if len(data) < BYTE_BY_BYTE_SIZE_MAX:
            cuts = list(range(1, len(data)))
        case _:
            cuts = sorted(random.choices(range(1, max(2, len(data))), k=random.randrange(1, 6)))
    return [piece for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if (piece := data[start:end])]
