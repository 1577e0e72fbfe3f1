"""Parsing and building WebSocket frames, regardless of how the bytes are split into chunks."""

from itertools import combinations_with_replacement
from random import Random

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import TextMessage

from rpc.http.websocket.frames import FrameEvent, Frames, text_frame, unmasked
from tests.helpers.attackers import ws_frame
from tests.helpers.socket_streams import LAST, PING, masked_frame

SIZE_MAX = 1000


def read(frames: Frames, *pieces: bytes) -> list[tuple[FrameEvent, bytes]]:
    """Feed chunks one after another and return the resulting events."""
    found = []
    for piece in pieces:
        frames.feed(piece)
        while (each := frames.next())[0] is not FrameEvent.MORE:
            if each[0] is not FrameEvent.NOTHING:
                found.append(each)
    return found


@pytest.mark.parametrize("mask", [b"\x81\x81\x81\x81", b"\x81\xfe\x00\x7e", b"\x00\x00\x00\x00", b"\x09\x8a\x88\x80"])
def test_frames_split_anywhere_are_parsed_alike(mask: bytes) -> None:
    """Frames are parsed correctly wherever they are split, even if the rest of a split frame looks like the start of another one."""

    class Masks(Random):
        def randbytes(self, n: int) -> bytes:
            return mask[:n]

    texts = [b"a" * 126, b"b", b"", b"c" * 5, b"d" * 127]
    stream = b"".join(masked_frame(Masks(), text, 0x81) for text in texts[:3])
    stream += masked_frame(Masks(), b"ping", LAST | PING) + b"".join(masked_frame(Masks(), text, 0x81) for text in texts[3:])
    expected = [(FrameEvent.TEXT, text) for text in texts]
    expected.insert(3, (FrameEvent.ANSWER, b"\x8a\x04ping"))
    assert read(Frames(SIZE_MAX), stream) == expected
    assert read(Frames(SIZE_MAX), *(bytes([byte]) for byte in stream)) == expected
    heads = [*range(12), *range(126, 160), *range(len(stream) - 138, len(stream) - 120)]
    for first, second in combinations_with_replacement(heads, 2):
        assert read(Frames(SIZE_MAX), *filter(None, (stream[:first], stream[first:second], stream[second:]))) == expected


def test_size_limit_applies_to_single_and_fragmented_texts() -> None:
    for size, found in ((SIZE_MAX, FrameEvent.TEXT), (SIZE_MAX + 1, FrameEvent.TOO_LARGE)):
        text = b"x" * size
        assert read(Frames(SIZE_MAX), ws_frame(text))[0][0] is found
        assert read(Frames(SIZE_MAX), ws_frame(text[:1], is_last=False) + ws_frame(text[1:], 0))[0][0] is found
    assert read(Frames(SIZE_MAX), ws_frame(b"x" * (SIZE_MAX + 1))) == [(FrameEvent.TOO_LARGE, b"\x88\x02\x03\xf1")]  # 1009


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 125, 126, 127, 65535, 65536, 65537])
def test_frames_match_wsproto(size: int) -> None:
    text = bytes(32 + i % 90 for i in range(size))
    client = Connection(ConnectionType.CLIENT)
    client.receive_data(text_frame(text))
    assert "".join(event.data for event in client.events() if isinstance(event, TextMessage)).encode() == text
    assert read(Frames(1 << 20), client.send(TextMessage(text.decode()))) == [(FrameEvent.TEXT, text)]
    mask = b"\x12\x34\x56\x78"
    assert unmasked(mask, unmasked(mask, text)) == text


def test_buffered_bytes_are_counted() -> None:
    frames = Frames(SIZE_MAX)
    read(frames, ws_frame(b"x" * 10, is_last=False), ws_frame("ü".encode() * 5, 0, is_last=False), ws_frame(b"", 9))
    assert frames.waiting_size == 20
    assert read(frames, ws_frame(b"", 0)) == [(FrameEvent.TEXT, b"x" * 10 + "ü".encode() * 5)]
    assert frames.waiting_size == 0


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (ws_frame(b"\xff"), 1007),
        (ws_frame(b"\xc3", is_last=False) + ws_frame(b"a", 0), 1007),
        (ws_frame(b"", 3), 1002),
        (ws_frame(b"", 0), 1002),
        (ws_frame(b"x", is_last=False) + ws_frame(b"y"), 1002),
        (ws_frame(b"x" * 126, PING), 1002),
        (ws_frame(b"x", PING, is_last=False), 1002),
        (text_frame(b"not masked"), 1002),
        (ws_frame(b"\x03", 8), 1002),
        (ws_frame((999).to_bytes(2, "big"), 8), 1002),
        (ws_frame((1000).to_bytes(2, "big") + b"\xff", 8), 1007),
    ],
)
def test_close_code_names_the_violation(frame: bytes, code: int) -> None:
    frames = Frames(SIZE_MAX)
    ((found, said),) = read(frames, frame + ws_frame(b"after"))
    assert (found, said[:1], said[2:4]) == (FrameEvent.END, b"\x88", code.to_bytes(2, "big"))
    assert frames.close(1000) == b""


def test_no_frame_is_sent_after_the_close() -> None:
    frames = Frames(SIZE_MAX)
    assert frames.close(1013, "why") == b"\x88\x05\x03\xf5why"
    assert frames.close(1011) == b""
