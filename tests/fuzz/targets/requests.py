"""The target for JSON-RPC: raw requests to the service of a small chain, which must return valid responses."""

from collections.abc import Iterator
from itertools import islice
from types import CoroutineType
from typing import Any

import msgspec
import trio

from rpc.caller import LOCAL
from rpc.declare.errors import internal_error
from rpc.jsonrpc.batch import BatchRunner
from state.chain.digest import state_digest
from state.protocol.errors import ChainError
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fuzz.target import Run
from tests.helpers.api import StubProcessor

CASE, HEIGHT = "tx_validity", 53
STEPS_MAX = 2  # number of blocks that an input can make
# After this number of accepted inputs the state is compared with the initial one.
CHECK_EVERY = 256
INTERNAL = msgspec.json.encode(internal_error())


class ShortProcessor(StubProcessor):
    """A processor that pushes immediately, runs only the first steps of long jobs, and reads no files."""

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Run the first steps and return their number."""
        return sum(1 for _ in islice(steps, STEPS_MAX))

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Return 0 without reading the file."""
        return 0


class Served:
    """A chain at a block of a recorded case, and its service. Each input starts from the same state."""

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
        """Answer a request, check the response, and undo its changes."""
        reply = self.player.service.answer(body, LOCAL)
        encoded = reply if isinstance(reply, bytes) else run_reply(reply)
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


def run_reply(reply: Any) -> bytes:
    """Run an asynchronous reply to its end: directly if it doesn't block, or within trio if it is a batch."""
    assert isinstance(reply, CoroutineType)
    if reply.__qualname__ == BatchRunner.answer.__qualname__:

        async def wait() -> Any:
            return await reply

        encoded: bytes = trio.run(wait)
        return encoded
    try:
        reply.send(None)
    except StopIteration as stop:
        value: bytes = stop.value
        return value
    raise AssertionError("a reply blocks")


def rpc() -> Run:
    """Return a target that answers requests."""
    return Served().answer
