"""The child process of a node that follows a broker: writes the broker's blocks to standard output, as lines of a packed stream.

`python -m node.relay.reading lines URL CHAIN FIRST` goes on until its standard input is closed; `head URL CHAIN` and `id URL CHAIN N`
answer with one line. The last line may be an error.
"""

import asyncio
import sys
from typing import Any

import msgspec

from node.extras import load_extra
from node.failures import NodeError
from node.relay.history import Message, Names, find_block, read_message

BATCH = 256
LIFE_SECONDS = 5
ANSWER_SECONDS_MAX = 10


class Reader:
    """A reader of a chain's blocks in a broker."""

    def __init__(self, url: str, chain: str) -> None:
        self._url, self._names = url, Names(chain)
        self._nats: Any = load_extra("nats", "nats", what="--follow nats://")
        self._api: Any = load_extra("nats.js.api", "nats", what="--follow nats://")
        self._js: Any = None
        self._height = 0

    async def run(self, what: str, number: int) -> None:
        """Connect and answer. Raises NodeError and the errors of the broker."""
        connection = await self._nats.connect(self._url, name="coind replica", allow_reconnect=False, connect_timeout=5)
        try:
            self._js = connection.jetstream(timeout=ANSWER_SECONDS_MAX)
            info = await self._js.stream_info(self._names.blocks_stream)
            state = info.state
            last = (await self._read(state.last_seq)).height if state.messages else 0
            if what == "head":
                write({"head": last})
                return
            place = await find_block(number, state.first_seq, state.last_seq, self._read) if state.messages else None
            if what == "id":
                write({"id": "" if place is None else (await self._read(place)).id})
                return
            write({"about": msgspec.json.decode(info.config.description or "null"), "head": last})
            if place is None and state.messages:
                first = (await self._read(state.first_seq)).height
                if first > number:
                    how = "begin with a copy of another replica's --data, or with a snapshot"
                    raise NodeError(f"{self._url} has blocks from {first} on only, and block {number} is needed; {how}")
                place = state.first_seq if first == number - 1 or number == 1 else None
                if place is None:
                    raise NodeError(f"{self._url} doesn't have block {number} yet, only those up to {last}")
            await self._follow(place or max(1, state.first_seq))
        finally:
            await connection.close()

    async def _read(self, sequence: int) -> Message:
        return read_message((await self._js.get_msg(self._names.blocks_stream, sequence)).data)

    async def _follow(self, sequence: int) -> None:
        config = self._api.ConsumerConfig(
            deliver_policy=self._api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=sequence,
            ack_policy=self._api.AckPolicy.NONE,
            inactive_threshold=60.0,
        )
        subscription = await self._js.pull_subscribe(self._names.blocks, stream=self._names.blocks_stream, config=config)
        while True:
            try:
                messages = await subscription.fetch(BATCH, timeout=LIFE_SECONDS)
            except self._nats.errors.TimeoutError:
                info = await subscription.consumer_info()  # an error when the broker has lost it
                if not info.num_pending:
                    write({"head": self._height})
                continue
            sys.stdout.buffer.write(b"".join([message.data + b"\n" for message in messages]))
            sys.stdout.buffer.flush()
            self._height = read_message(messages[-1].data).height


def write(line: Any) -> None:
    """Write a line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


async def run_until_closed(reader: Reader, what: str, number: int) -> None:
    """Run a reader until it is done, or until the standard input is closed: then the node has gone."""
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
    """Run the process; returns its status."""
    what, url, chain, *rest = sys.argv[1:]
    try:
        asyncio.run(run_until_closed(Reader(url, chain), what, int(rest[0]) if rest else 0))
    except BrokenPipeError:
        return 1
    except Exception as error:
        kind = type(error).__name__
        text = str(error) if isinstance(error, NodeError) else f"the broker {url}: {error or kind} ({kind})"
        if kind == "NotFoundError":
            text = f"the broker {url} has no blocks of the chain {chain}; start a relay: coind relay --from URL --to {url}"
        write({"error": text})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
