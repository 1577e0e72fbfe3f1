"""Child process of a replica that follows a broker: writes the broker's blocks to stdout, as lines of a packed stream.

`python -m node.replicas.relay.broker_reader lines URL CHAIN FIRST` runs until its stdin is closed. `head URL CHAIN` and `id URL CHAIN N`
print one line. If the command fails, the last line contains the error.
"""

import asyncio
import sys
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from node.replicas.follow.stream_lines import read_packed
from node.replicas.relay.connection import run_connected
from node.replicas.relay.history import Joiner, Message, StreamNames, find_block, first_part, first_whole, read_message
from node.runtime.errors import NodeError
from node.runtime.optional_libraries import load_extra
from rpc.push.events import Heartbeat, StreamEnd, StreamHeader, encode_line

BATCH = 256
WAITING_SIZE_MAX = 1 << 30  # bytes of a batch; the library drops messages beyond it
LIFE_SECONDS = 5
ANSWER_SECONDS_MAX = 10


class Reader:
    """Reads a chain's blocks from a broker and writes them to a file."""

    def __init__(self, url: str, chain: str, file: BinaryIO) -> None:
        self._url, self._names, self._file = url, StreamNames(chain), file
        self._nats: Any = load_extra("nats", "nats", what="--follow nats://")
        self._api: Any = load_extra("nats.js.api", "nats", what="--follow nats://")
        self._js: Any = None
        self._height = 0

    async def run(self, what: str, number: int) -> None:
        """Connect and run one of the commands `lines`, `head` or `id`. Raises NodeError and the errors of the library."""

        async def read(connection: Any) -> None:
            await self._answer(connection, what, number)

        await run_connected(self._nats, self._url, "coind replica", read)

    async def _answer(self, connection: Any, what: str, number: int) -> None:
        self._js = connection.jetstream(timeout=ANSWER_SECONDS_MAX)
        info = await self._js.stream_info(self._names.blocks_stream)
        state, description = info.state, msgspec.json.decode(info.config.description or "{}", type=dict[str, Any])
        about = msgspec.convert({**description, "head": 0}, StreamHeader)
        self._height = (await self._read(state.last_seq)).height if state.messages else about.base
        if what == "head":
            self.write(encode_line(Heartbeat(self._height)))
            return
        # If all messages of a stream were dropped, its first sequence is greater than its last one. A new stream has neither.
        first = await first_whole(max(1, state.first_seq), state.last_seq, self._read)
        found = await find_block(number, first, state.last_seq, self._read)
        if what == "id":
            self.write(msgspec.json.encode({"id": "" if found is None else (await self._read(found)).id}))
            return
        self.write(encode_line(replace(about, head=self._height)))
        await connection.subscribe(self._names.head, cb=self._forward_heartbeat)
        if found is None and first <= state.last_seq:
            height = (await self._read(first)).height
            if height > number:
                how = "Start with a copy of another replica's --data, or with a snapshot."
                raise NodeError(f"{self._url} only has blocks from {height} on, but block {number} is needed. {how}")
            found = first if height == number - 1 or number == about.base + 1 else None
            if found is None:
                raise NodeError(f"{self._url} doesn't have block {number} yet, only those up to {self._height}")
        await self._follow(first if found is None else await first_part(found, first, self._read))

    async def _forward_heartbeat(self, message: Any) -> None:
        """Write a heartbeat that the node itself has published."""
        # Any client of the broker can publish on this subject.
        with suppress(NodeError):
            item = read_packed(message.data)
            if isinstance(item, Heartbeat):
                self.write(encode_line(item))

    async def _read(self, sequence: int) -> Message:
        raw = await self._js.get_msg(self._names.blocks_stream, sequence)
        return read_message(raw.data, raw.headers)

    async def _follow(self, sequence: int) -> None:
        config = self._api.ConsumerConfig(
            deliver_policy=self._api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=sequence,
            ack_policy=self._api.AckPolicy.NONE,
            inactive_threshold=60.0,
        )
        subscription = await self._js.pull_subscribe(
            self._names.blocks, stream=self._names.blocks_stream, config=config, pending_bytes_limit=WAITING_SIZE_MAX
        )
        joiner = Joiner()
        while True:
            try:
                messages = await subscription.fetch(BATCH, timeout=LIFE_SECONDS)
            except self._nats.errors.TimeoutError:
                messages = []  # `fetch` can also return an empty list.
            if not messages:
                info = await subscription.consumer_info()  # raises if the broker has lost the consumer
                if not info.num_pending:
                    # Sent as stale, since only the node itself can confirm that this is its head.
                    self.write(encode_line(Heartbeat(self._height, is_stale=True)))
                continue
            lines = [joiner.add(message.data, message.headers) for message in messages]
            self.write(*[line for line in lines if line is not None])
            self._height = read_message(messages[-1].data, messages[-1].headers).height

    def write(self, *lines: bytes) -> None:
        """Write lines to the output and flush it."""
        self._file.write(b"".join([line + b"\n" for line in lines]))
        self._file.flush()


async def run_until_closed(reader: Reader, what: str, number: int) -> None:
    """Run a reader until its command is done, or until stdin is closed because the node has exited."""
    work = asyncio.create_task(reader.run(what, number))
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    gone = asyncio.create_task(stream.read())
    await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if work.done():
        work.result()
    work.cancel()


def main() -> int:
    """Run the process and return its exit status."""
    what, url, chain, *rest = sys.argv[1:]
    reader = Reader(url, chain, sys.stdout.buffer)
    try:
        asyncio.run(run_until_closed(reader, what, int(rest[0]) if rest else 0))
    except BrokenPipeError:
        return 1
    except Exception as error:
        kind = type(error).__name__
        text = str(error) if isinstance(error, NodeError) else f"the broker {url}: {error or kind} ({kind})"
        if kind == "NotFoundError":
            text = f"the broker {url} has no blocks of the chain {chain}. Start a relay: coind relay --from URL --to {url}"
        reader.write(encode_line(StreamEnd(text)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
