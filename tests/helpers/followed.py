"""In-process replicas, and servers that imitate other nodes or misbehave, for tests of nodes that follow others."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import trio

from node.app.context import NodeContext
from node.app.settings import Settings
from node.devchain.block_modes import BlockMode
from node.processor.processor import Processor
from node.replicas.follow.replica_task import new_following
from node.runtime.errors import NodeError
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.protocol.spec import ChainSpec
from tests.helpers.nodes import DEV

NOW = 1_800_000_000_000

Answer = Callable[[str, bytes], bytes]


def new_site(spec: ChainSpec = DEV, *, is_producing: bool = False, base: Path | None = None) -> NodeContext:
    """A node context without running tasks. Its clock doesn't move, so nothing is skipped for lack of time."""
    fixed: dict[str, Any] = {"plugins": (), "blocks": BlockMode("manual"), "clock": lambda: NOW, "stopwatch": lambda: 0.0}
    return NodeContext(Settings(spec=spec, base=base, is_producing=is_producing, **fixed))


class Replica:
    """The components of a node that follows an address."""

    def __init__(self, url: str, spec: ChainSpec = DEV, base: Path | None = None) -> None:
        self.context = new_site(spec, base=base)
        self.chain, self.processor = self.context.chain, Processor(self.context.chain)
        self.failures: list[NodeError] = []
        self.replica = new_following(
            url,
            self.chain,
            self.processor,
            reset=self.context.devchain.reset,
            failed=self.failures.append,
            is_trusting=False,
            clock=self.context.clock,
        )

    @property
    def head(self) -> int:
        """The number of the replica's head block."""
        return self.chain.state.props.head_block_number

    def is_like(self, other: Chain) -> bool:
        """Whether the replica has the same state as another chain."""
        mine, theirs = self.chain.state, other.state
        return mine.props.head_block_id == theirs.props.head_block_id and state_digest(mine) == state_digest(theirs)


@asynccontextmanager
async def replica_of(url: str, spec: ChainSpec = DEV, base: Path | None = None) -> AsyncIterator[Replica]:
    """Run a replica for the duration of the context."""
    replica = Replica(url, spec, base)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(replica.processor.run)
        nursery.start_soon(replica.replica.run)
        with trio.fail_after(20):
            yield replica
        nursery.cancel_scope.cancel()


async def until(is_true: Callable[[], bool]) -> None:
    with trio.fail_after(20):
        while not is_true():
            await trio.sleep(0.005)


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """Run a server that replies with `answer(request line, body)`; yields its address."""

    async def talk(stream: trio.SocketStream) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += await stream.receive_some(65536)
        head, _, body = received.partition(b"\r\n\r\n")
        size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
        while len(body) < size:
            body += await stream.receive_some(65536)
        with trio.move_on_after(10):
            with suppress(trio.BrokenResourceError):
                await stream.send_all(answer(head.split(b"\r\n")[0].decode(), body))
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, talk, listeners)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


def reply(body: bytes, status: str = "200 OK") -> bytes:
    """Return an HTTP response with `Connection: close`."""
    return b"HTTP/1.1 " + status.encode() + b"\r\nconnection: close\r\n\r\n" + body


def answers(methods: dict[str, Callable[[Any], Any]]) -> Answer:
    """Return an `Answer` that imitates an older node with only these methods. Other methods and pages are unknown to it."""

    def answer(line: str, body: bytes) -> bytes:
        if line.startswith("GET"):
            return reply(b"", "404 Not Found")
        request = json.loads(body)
        found = methods.get(request["method"])
        if found is None:
            said: Any = {"error": {"code": -32601, "message": f"Could not find method {request['method']}"}}
        else:
            said = {"result": found(request["params"])}
        return reply(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}).encode())

    return answer
