"""The target for JSON-RPC: the bytes of a request into the service of a small chain, and a proper answer out."""

from collections.abc import Iterator
from itertools import islice
from types import CoroutineType
from typing import Any

import msgspec
import trio

from rpc.caller import LOCAL
from rpc.declare.errors import internal_error
from state.chain.digest import state_digest
from state.protocol.errors import ChainError
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fuzz.target import Run
from tests.helpers.api import StubProcessor

CASE, HEIGHT = "tx_validity", 53
STEPS_MAX = 2  # blocks that one input makes
# After so many accepted inputs the state is compared with that at the start.
CHECK_EVERY = 256
INTERNAL = msgspec.json.encode(internal_error())


class ShortProcessor(StubProcessor):
    """Pushes at once; of long tasks it takes only the first steps, and it reads no files."""

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Take the first ones."""
        return sum(1 for _ in islice(steps, STEPS_MAX))

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Read nothing."""
        return 0


class Served:
    """A chain in the middle of a recorded case and the service over it; each input meets the same state."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self.player = Player(CASES / CASE, processor=ShortProcessor)
        self.player.advance(HEIGHT)
        self.chain = self.player.chain
        self.head = self.chain.state.props.head_block_id
        self.digest = state_digest(self.chain.state)
        self.moved = 0

    def answer(self, body: bytes) -> None:
        """Answer one request, check the answer, and take back what it changed."""
        reply = self.player.service.answer(body, LOCAL)
        encoded = reply if isinstance(reply, bytes) else finished(reply)
        assert INTERNAL not in encoded, encoded
        members = msgspec.json.decode(encoded)
        for member in members if isinstance(members, list) else [members]:
            assert member["jsonrpc"] == "2.0"
            assert ("error" in member) != ("result" in member)
        self._take_back()

    def _take_back(self) -> None:
        chain = self.chain
        if not chain.pending and chain.state.props.head_block_id == self.head and len(chain.forks) < 100:
            return
        self.moved += 1
        try:
            while chain.state.props.head_block_number > HEIGHT - STEPS_MAX and chain.state.props.head_block_id != self.head:
                chain.pop_block()
        except ChainError:
            pass
        chain.clear_pending()
        if chain.state.props.head_block_id != self.head or len(chain.forks) >= 100:
            self._renew()
        elif self.moved % CHECK_EVERY == 0:
            assert state_digest(chain.state) == self.digest


def finished(reply: Any) -> bytes:
    """Run what answers later to its end: without trio, as long as it waits for nothing; otherwise (batches) within it."""
    assert isinstance(reply, CoroutineType)
    if reply.__name__ == "_batch":

        async def wait() -> Any:
            return await reply

        encoded: bytes = trio.run(wait)
        return encoded
    try:
        reply.send(None)
    except StopIteration as stop:
        value: bytes = stop.value
        return value
    raise AssertionError("an answer waits for something")


def rpc() -> Run:
    """Answer requests."""
    return Served().answer
