"""Source of blocks from a broker. A child process reads them, since the broker's library needs asyncio."""

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.util import find_spec
from typing import Any

import msgspec
import trio

from node.client.http import RECEIVE_BYTES
from node.client.lines import LineSplitter
from node.replicas.follow.sources import SyncPosition, require_same_chain
from node.replicas.follow.stream_lines import BadLine, StreamEnded, read_header, read_packed
from node.runtime.errors import NodeError
from node.runtime.install_location import own_environment
from node.runtime.optional_libraries import install_hint
from rpc.push.events import Event, Heartbeat
from state.protocol.spec import ChainSpec

COMMAND = (sys.executable, "-P", "-m", "node.replicas.relay.broker_reader")


class BrokerSource:
    """Source that reads a chain's blocks from a broker, to which a relay writes them."""

    def __init__(self, url: str, spec: ChainSpec) -> None:
        if find_spec("nats") is None:
            raise NodeError(f"--follow nats:// needs nats, which isn't installed. Install it: {install_hint('nats')}")
        self._url, self._spec = url, spec

    async def batches(self, position: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        """Yield events and heartbeats in batches."""
        has_header = False
        async with aclosing(self._lines("lines", str(position.first))) as batches:
            async for some in batches:
                batch: list[Event | Heartbeat] = []
                for line in some:
                    batch.append(read_packed(line) if has_header else self._begin(line))
                    has_header = True
                yield batch
        raise NodeError(f"the process that reads {self._url} ended")

    async def head(self) -> int:
        """Return the number of the last block in the broker."""
        return int((await self._answer("head"))["head"])

    async def id_of(self, number: int) -> bytes | None:
        """Return the id of a block, including blocks that were undone since, or None if the broker doesn't have it."""
        return bytes.fromhex((await self._answer("id", str(number)))["id"]) or None

    def _begin(self, line: bytes) -> Heartbeat:
        """Check the stream's header, and return the head block that it names as a heartbeat."""
        header = read_header(line)
        require_same_chain(self._url, self._spec, header)
        return Heartbeat(header.head, is_stale=True)

    async def _answer(self, *words: str) -> dict[str, Any]:
        async with aclosing(self._lines(*words)) as batches:
            async for lines in batches:
                return decoded(lines[0])
        raise NodeError(f"the process that reads {self._url} doesn't answer")

    async def _lines(self, what: str, *rest: str) -> AsyncGenerator[list[bytes]]:
        """Run a child process with the command `what`, and yield the lines that it writes until it exits."""
        command = [*COMMAND, what, self._url, self._spec.name, *rest]
        environment = own_environment()
        # In a new session, so that a signal of the terminal doesn't end the child. Only this process ends it.
        process = await trio.lowlevel.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert process.stdout is not None
        try:
            splitter = LineSplitter()
            while True:
                with trio.fail_at(splitter.latest(trio.current_time())):
                    part = bytes(await process.stdout.receive_some(RECEIVE_BYTES))
                if not part:
                    return
                if lines := splitter.add(part):
                    yield lines
        except trio.TooSlowError:
            raise NodeError(f"the process that reads {self._url} is silent") from None
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
            await trio.aclose_forcefully(process.stdout)


def decoded(line: bytes) -> dict[str, Any]:
    """Decode a line of the child process. Raises NodeError, including if the line reports an error."""
    try:
        given = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise BadLine(line, error) from None
    if "error" in given:
        raise StreamEnded(str(given["error"]))
    return given
