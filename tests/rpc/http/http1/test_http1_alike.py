"""The fast path answers all input like hypercorn alone, however the bytes are split into pieces.

`STREAMS=10000 bin/test tests/rpc/http/http1/test_http1_alike.py` tries that many streams.
"""

import os
from random import Random

import pytest
import trio

from rpc.http.access import AccessPolicy
from tests.helpers.log_capture import capture_logs
from tests.rpc.http.http1.streams import stream
from tests.rpc.http.http1.twins import Twins

STREAMS = int(os.environ.get("STREAMS", "800"))
# One stream in so many may be a race, in which what a client gets depends on what hypercorn's tasks come to first: the next bytes, or the
# answer. There are two: bytes that follow a request with `Connection: close` (they are refused with 400, unless that has been answered),
# and the rest of a body of a request that is refused by its head (if it has arrived, the connection stays).
RACES_SHARE = 100
REFUSED_AFTER_CLOSE = b"HTTP/1.1 400 \r\ncontent-length: 0\r\ndate: X\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("origins", [None, ("http://a.example",)])
async def test_damaged_streams_get_the_same_answers(origins: tuple[str, ...] | None) -> None:
    twins, random, races = Twins(AccessPolicy(origins=origins)), Random(STREAMS), 0
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(twins.run)
            for number in range(STREAMS // 2):
                pieces = stream(random)
                is_slow = number % 2 == 0
                ours, theirs = [
                    await twins.outcome(pieces, has_fast_path=has_fast_path, is_slow=is_slow) for has_fast_path in (True, False)
                ]
                if ours != theirs and not is_slow:
                    races += 1
                    ours, theirs = [
                        await twins.outcome(pieces, has_fast_path=has_fast_path, is_slow=True) for has_fast_path in (True, False)
                    ]
                if ours != theirs and ours.sent.endswith(REFUSED_AFTER_CLOSE) and not (ours.is_open or theirs.is_open):
                    races += 1
                    continue
                assert ours == theirs, (number, pieces)
            nursery.cancel_scope.cancel()
    assert races <= STREAMS // 2 // RACES_SHARE
    assert logs == []
