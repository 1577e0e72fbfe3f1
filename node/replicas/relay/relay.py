"""The relay: takes the packed stream of a node and puts it into JetStream, going on where it stopped.

Every block is written after the one before it or not at all (the broker compares the last message), whoever else writes or has been killed.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec.structs import replace

from node.client.errors import NoNode, RefusedCall, Unreachable, WrongChain
from node.client.http import Client
from node.replicas.follow.stream_lines import read_header, read_packed
from node.replicas.relay.connection import run_connected
from node.replicas.relay.history import (
    PART_HEADER,
    Message,
    MessagePart,
    StreamNames,
    block_message_id,
    branch_of,
    is_in_block,
    message_of,
    operation_message_id,
    operation_of,
    parts_of,
    read_message,
    read_part,
    whole_of,
)
from node.replicas.relay.metrics import RelayCounters
from node.runtime.errors import NodeError
from node.runtime.optional_libraries import load_extra
from rpc.log import Log
from rpc.push.events import BlocksRemoved, Heartbeat, StreamHeader, encode_line

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.2, 10.0
ACK_SECONDS_MAX = 10
AT_ONCE_MAX, AT_ONCE_SIZE_MAX = 256, 4 << 20  # messages that wait for the broker's word, and their bytes
# A larger message comes in parts. Brokers take messages of 1 MB, their headers included, unless they are set up otherwise.
MESSAGE_SIZE_MAX, HEADERS_SIZE_MAX, MESSAGE_SIZE_MIN = 1 << 18, 4096, 1024
COMPARED_MAX = 10_000  # blocks that are looked through for the last common one; beyond, everything is undone
DUPLICATES_SECONDS = 120
NOWHERE = 4294967295  # the number of a block that nobody reaches: such a stream says what the chain is, and waits
WRONG_LAST_SEQUENCE = 10071
NOT_FOUND = 404

_log = Log("relay")


class Relay:
    """Relays from the node at `url` to the broker at `broker`, each stream holding at most `bytes_max` bytes, the oldest dropped first."""

    def __init__(self, url: str, broker: str, *, bytes_max: int, has_operations: bool, counters: RelayCounters | None = None) -> None:
        self.counters = counters or RelayCounters()
        self._url, self._broker, self._bytes_max, self._has_operations = url, broker, bytes_max, has_operations
        self._client = Client(url)
        self._nats: Any = load_extra("nats", "nats", what="coind relay")
        self._api: Any = load_extra("nats.js.api", "nats", what="coind relay")
        self._errors: Any = load_extra("nats.js.errors", "nats", what="coind relay")
        self._connection: Any = None
        self._js: Any = None
        self._names = StreamNames("")
        self._sequence, self._last = 0, Message(0)  # of the last message in the stream of blocks
        self._id = ""  # of the block that the stream ends with
        self._message_size = MESSAGE_SIZE_MAX
        self._last_operation = ("", -1)
        self._finished_operation = ("", -1)  # the last one of a block all of whose operations are in the broker

    async def run(self) -> None:
        """Relay until cancelled. Raises WrongChain."""
        pause = PAUSE_SECONDS_MIN
        while True:
            before = self._sequence
            try:
                await run_connected(self._nats, self._broker, "coind relay", self._relay)
            except WrongChain:
                raise
            except (TimeoutError, NodeError, OSError, self._nats.errors.Error) as error:
                self.counters.errors[type(error).__name__] += 1
                _log.warning("relaying has stopped, and begins again", reason=str(error) or type(error).__name__)
            pause = PAUSE_SECONDS_MIN if self._sequence != before else min(PAUSE_SECONDS_MAX, pause * 2)
            await asyncio.sleep(pause)

    async def _relay(self, connection: Any) -> None:
        """Relay by a connection to the broker until something fails."""
        self._connection, self._js = connection, connection.jetstream(timeout=ACK_SECONDS_MAX)
        self._message_size = min(MESSAGE_SIZE_MAX, connection.max_payload - HEADERS_SIZE_MAX)
        if self._message_size < MESSAGE_SIZE_MIN:
            least = MESSAGE_SIZE_MIN + HEADERS_SIZE_MAX
            raise NodeError(f"{self._broker} takes messages of {connection.max_payload} bytes; {least} is the least (max_payload)")
        async with aclosing(stream_lines(self._url, NOWHERE)) as lines:
            header = read_header(await anext(lines))
        self._names = StreamNames(header.name)
        await self._open_streams(header)
        await self._find_end()
        await self._pass_on(header.head)
        _log.info("relaying", url=self._url, broker=self._broker, head_block_number=self._height)
        if header.head < self._height or not await self._is_theirs(self._height, self._id):
            await self._compare()
        async with aclosing(stream_lines(self._url, max(1, self._height))) as lines:
            await anext(lines)
            async for line in lines:
                await self._take(line)

    @property
    def _height(self) -> int:
        return self._last.height

    # -------------------------------------------------------------- the broker

    async def _open_streams(self, header: StreamHeader) -> None:
        """Make the streams where they aren't there; refuse those of another chain."""
        names, api = self._names, self._api
        chain = msgspec.json.encode({"chain_id": header.chain_id, "genesis": header.genesis, "name": header.name}).decode()
        wanted = [(names.blocks_stream, [names.blocks])]
        if self._has_operations:
            wanted.append((names.operations_stream, [names.operations, names.undone]))
        for name, subjects in wanted:
            try:
                info = await self._js.stream_info(name)
            except self._errors.NotFoundError:
                config = api.StreamConfig(
                    name=name,
                    subjects=subjects,
                    description=chain,
                    max_bytes=self._bytes_max,
                    discard=api.DiscardPolicy.OLD,
                    storage=api.StorageType.FILE,
                    duplicate_window=DUPLICATES_SECONDS,
                )
                info = await self._js.add_stream(config)
            if info.config.description != chain:
                what = f"{self._broker}: its stream {name} is of another chain, {info.config.description}, and {self._url} has {chain}"
                raise WrongChain(f"{what}; use another broker, or delete the stream")

    async def _find_end(self) -> None:
        """Find the last block that is in the broker, and the last operation."""
        names = self._names
        state = (await self._js.stream_info(names.blocks_stream)).state
        # Of a stream that has dropped all its messages, as when a block is larger than it, no message is the last one.
        self._sequence, self._last, self._id = 0, Message(0), ""
        if state.messages:
            self._sequence = state.last_seq
            self._last = await self._read(state.last_seq)
            found = await branch_of(state.first_seq, state.last_seq, self._read, 1)
            if self._height and found and found[0][0] == self._height:
                self._id = found[0][1]
        self.counters.head, self.counters.head_time = self._height, self._last.time or self.counters.head_time
        if self._has_operations:
            info = await self._js.stream_info(names.operations_stream)
            self._last_operation = "", -1
            if info.state.messages:
                raw = await self._js.get_msg(names.operations_stream, info.state.last_seq)
                self._last_operation = last_operation(raw.data, read_part(raw.headers))

    async def _read(self, sequence: int) -> Message:
        raw = await self._js.get_msg(self._names.blocks_stream, sequence)
        return read_message(raw.data, raw.headers)

    async def _write_block(self, message: Message, line: bytes) -> None:
        """Write a block after the last message, in parts where it is large; parts of it that are there already are not written again."""
        message_id = block_message_id(message.id, message.edits)
        if len(line) <= self._message_size:
            await self._write(line, message_id)
        else:
            whole, last = whole_of(line, message_id, message, self._height), self._last
            if last.part is not None and whole.is_like(last.part):
                whole = replace(whole, offset=last.end % whole.size)
            for part, data in parts_of(line, whole, self._message_size):
                await self._write(data, f"{message_id}:{part.offset}", part)
        self._last, self._id = message, message.id
        self.counters.blocks += 1
        self.counters.head, self.counters.head_time = message.height, message.time
        self.counters.succeed()

    async def _write(self, line: bytes, message_id: str, part: MessagePart | None = None) -> None:
        """Write a message after the last one. Raises an error of the broker when it isn't the last one any more."""
        headers = {"Nats-Msg-Id": message_id, "Nats-Expected-Last-Subject-Sequence": str(self._sequence)} | self._header_of(part)
        ack = await self._js.publish(self._names.blocks, line, headers=headers)
        if ack.duplicate:
            # The very block stands there already, and has been undone or edited since; or parts of it, which something came after.
            headers["Nats-Msg-Id"] = f"{message_id}.{self._sequence}"
            ack = await self._js.publish(self._names.blocks, line, headers=headers)
        self._sequence = ack.seq

    def _header_of(self, part: MessagePart | None) -> dict[str, str]:
        """Return the header that says what a message is a part of, and count it; nothing for a whole one."""
        if part is None:
            return {}
        self.counters.parts += 1
        return {PART_HEADER: msgspec.json.encode(part).decode()}

    async def _pass_on(self, head: int, *, is_stale: bool = False) -> None:
        """Tell the readers what the node says of its head. It stands in no stream: it means something at this moment only."""
        self.counters.node_head = head
        if head <= self._height:
            self.counters.succeed()
        await self._connection.publish(self._names.head, encode_line(Heartbeat(head, is_stale)))

    # -------------------------------------------------------------- what the node says

    async def _take(self, line: bytes) -> None:
        """Relay a line of the node's stream."""
        item = read_packed(line)
        if isinstance(item, BlocksRemoved):
            await self._undo(item.first, item.last)
        elif isinstance(item, Heartbeat):
            await self._pass_on(item.head, is_stale=item.is_stale)
        else:
            await self._take_block(message_of(item), line)

    async def _take_block(self, block: Message, line: bytes) -> None:
        if block.height == self._height and block.id == self._id:
            if block.edits > self._last.edits:
                await self._write_block(block, line)
            return
        if block.height != self._height + 1 or (self._id and block.previous != self._id):
            await self._compare()
            raise NodeError(f"block {block.height} doesn't follow block {self._height} of the broker")
        self.counters.begin(block.id)
        if self._has_operations:
            await self._write_operations(block)
        await self._write_block(block, line)

    async def _write_operations(self, block: Message) -> None:
        """Write the operations of a block, virtual ones too, but for those that stand there since before a kill."""
        if self._last_operation == self._finished_operation and self._last_operation[0] == block.id:
            return  # The node works for each question.
        shown = await asyncio.to_thread(operations_in, self._client, block.height)
        if not await self._is_theirs(block.height, block.id):
            raise NodeError(f"block {block.height} was undone while its operations were read")
        done = self._last_operation[1] + 1 if self._last_operation[0] == block.id else 0
        waiting: list[Any] = []
        size = 0
        for place in range(done, len(shown)):
            name, payload = operation_of(shown[place], block.id, place)
            subject, message_id = self._names.kind(name), operation_message_id(block.id, place)
            size += len(payload)
            if len(waiting) == AT_ONCE_MAX or size > AT_ONCE_SIZE_MAX or len(payload) > self._message_size:
                await asyncio.gather(*waiting)
                waiting, size = [], 0
            if len(payload) <= self._message_size:
                waiting.append(self._js.publish(subject, payload, headers={"Nats-Msg-Id": message_id}))
                continue
            for part, data in parts_of(payload, whole_of(payload, message_id), self._message_size):
                headers = {"Nats-Msg-Id": f"{message_id}:{part.offset}"} | self._header_of(part)
                await self._js.publish(subject, data, headers=headers)
        await asyncio.gather(*waiting)
        self.counters.operations += len(shown) - done
        self._finished_operation = self._last_operation = block.id, len(shown) - 1

    async def _undo(self, first: int, last: int) -> None:
        """Say that blocks are undone."""
        first = min(first, self._height + 1)
        if first > self._height:
            return
        line = encode_line(BlocksRemoved(first, max(last, self._height)))
        if self._has_operations:
            await self._js.publish(self._names.undone, line)
        await self._write(line, f"undone-{first}-{self._height}.{self._sequence}")
        if first == 1:
            # What was before is of no use to anybody, and a reader finds a block by its number among what is there.
            await self._js.purge_stream(self._names.blocks_stream, seq=self._sequence)
        await self._find_end()

    async def _is_theirs(self, number: int, block_id: str) -> bool:
        """Whether the node has a block on its main branch; nothing is there before the first."""
        return not number or await asyncio.to_thread(id_of, self._client, number) == block_id

    async def _compare(self) -> None:
        """Undo what the node's branch doesn't have: it has switched, gone back or begun anew while nobody relayed."""
        state = (await self._js.stream_info(self._names.blocks_stream)).state
        branch = await branch_of(state.first_seq, state.last_seq, self._read, COMPARED_MAX)
        step, place, common = 1, 0, 0
        while place < len(branch):
            number, block_id = branch[place]
            if await self._is_theirs(number, block_id):
                common = number
                break
            place, step = place + step, step * 2
        _log.info("the node has left the branch that the broker has", last_common_block=common)
        await self._undo(common + 1, self._height)


# ------------------------------------------------------------------ the node


async def stream_lines(url: str, first: int) -> AsyncGenerator[bytes]:
    """Yield the lines of a node's packed stream from a block on; the first says what the chain is. Raises Unreachable and NoNode."""
    client = Client(url)
    try:
        status = await asyncio.to_thread(client.open_stream, f"/stream/blocks?from={first}&form=packed")
        if status != HTTPStatus.OK:
            raise NoNode(f"{url} gives no packed stream of blocks (status {status}); is it a node of coind?")
        lines = client.lines()
        while some := await asyncio.to_thread(next, lines, None):
            for line in some:
                yield line
        raise Unreachable(f"{url} has ended the stream")
    finally:
        client.close()


def last_operation(data: bytes, part: MessagePart | None) -> tuple[str, int]:
    """Return the id of the block and the place of the last operation that is whole with a message, ("", -1) for one that is of none."""
    if part is not None:
        block_id, _, place = part.of.rpartition("-")
        return block_id, int(place) - (part.offset + len(data) < part.size)
    given = msgspec.json.decode(data)
    is_operation = isinstance(given, dict) and "block_id" in given
    return (given["block_id"], int(given["place"])) if is_operation else ("", -1)


def id_of(client: Client, number: int) -> str:
    """Return the id of a block on a node's main branch, "" without it. It is asked for without the block, which may be large."""
    found = client.call("block_api.get_block_header", {"block_num": number + 1})
    if not found:
        props = client.call("database_api.get_dynamic_global_properties", {})
        if props["head_block_number"] == number:
            return str(props["head_block_id"])
        # Another block may have come in between.
        found = client.call("block_api.get_block_header", {"block_num": number + 1})
    return str(found["previous"]) if found else ""


def operations_in(client: Client, number: int) -> list[Any]:
    """Return the operations of a block with the virtual ones, in order."""
    try:
        given = client.call("account_history_api.get_ops_in_block", {"block_num": number, "only_virtual": False})
    except RefusedCall as error:
        how = "enable the plugin account_history there, or relay blocks alone: --no-operations"
        raise NodeError(f"the node doesn't say which operations a block has ({error.message}); {how}") from None
    return [shown for shown in given["ops"] if is_in_block(shown)]
