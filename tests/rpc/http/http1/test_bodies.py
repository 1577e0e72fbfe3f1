"""Bodies, however their bytes arrive: chunks are read as h11 reads them."""

from random import Random

import h11
import pytest

from rpc.http.http1.bodies import ChunkedBody, ContentLengthBody, MalformedBody
from tests.rpc.http.http1.streams import BODIES, chunks, cut

ROUNDS = 3000
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
FOLLOWING = b"POST /next"


def read(body: ContentLengthBody | ChunkedBody, pieces: list[bytes]) -> tuple[bytes, bool, bytes, int]:
    """Return what was read, whether it was whole, what followed, and the status of its refusal."""
    out = b""
    try:
        for piece in pieces:
            out += body.feed(piece)
            body.check()
    except MalformedBody as error:
        return b"", False, b"", error.status
    return out, body.is_whole, body.rest, 0


def read_by_h11(pieces: list[bytes]) -> tuple[bytes, bool, bytes, int]:
    """Return the same of h11."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(HEAD)
    connection.next_event()
    out, is_whole = b"", False
    try:
        for piece in pieces:
            connection.receive_data(piece)
            while not is_whole and (event := connection.next_event()) is not h11.NEED_DATA:
                if type(event) is h11.Data:
                    out += bytes(event.data)
                is_whole = type(event) is h11.EndOfMessage
    except h11.RemoteProtocolError as error:
        return b"", False, b"", error.error_status_hint
    return out, is_whole, connection.trailing_data[0] if is_whole else b"", 0


def test_chunks_are_read_as_h11_reads_them() -> None:
    random, statuses = Random(1), set()
    for _ in range(ROUNDS):
        data = chunks(random, random.choice(BODIES), is_damaged=random.random() < 0.7) + random.choice((b"", FOLLOWING))
        pieces = cut(random, data)
        ours = read(ChunkedBody(), pieces)
        assert ours == read_by_h11(pieces), pieces
        statuses.add(ours[-1])
    assert statuses == {0, 400, 431, 501}


def test_tiny_chunks_are_read_whatever_their_number() -> None:
    data = b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n" + FOLLOWING
    assert read(ChunkedBody(), [data[i : i + 1000] for i in range(0, len(data), 1000)]) == (b"x" * 50_000, True, FOLLOWING, 0)


@pytest.mark.parametrize("size", [0, 1, 5, 7])
def test_a_size_says_where_a_body_ends(size: int) -> None:
    data = b"1234567" + FOLLOWING
    for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
        assert read(ContentLengthBody(size), pieces) == (data[:size], True, data[size:], 0)
    assert read(ContentLengthBody(size + 1), [data[:size]]) == (data[:size], False, b"", 0)
