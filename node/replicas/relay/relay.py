"""The relay: writes the packed stream of a node to JetStream, and after a restart continues after the last message in the broker.

With each write, the broker compares the sequence of its last message with the one that the relay expects. A block is therefore only ever
written after its predecessor, even if there are several relays, or after a kill.
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
AT_ONCE_MAX, AT_ONCE_SIZE_MAX = 256, 4 << 20  # unacknowledged messages, and their bytes
# A larger message is split into parts. By default brokers accept messages of 1 MB, including headers.
MESSAGE_SIZE_MAX, HEADERS_SIZE_MAX, MESSAGE_SIZE_MIN = 1 << 18, 4096, 1024
COMPARED_MAX = 10_000  # blocks to search for the last common one; without one, all blocks are undone
DUPLICATES_SECONDS = 120
HEADER_ONLY = 4294967295  # an unreachable block number: a stream from there only sends its header
WRONG_LAST_SEQUENCE = 10071
NOT_FOUND = 404

_log = Log("relay")


class Relay:
    """Relay from the node at `url` to `broker`. Each stream in the broker holds at most `bytes_max` bytes and drops its oldest messages
    first.
    """

    def __init__(self, url: str, broker: str, *, bytes_max: int, has_operations: bool, counters: RelayCounters | None = None) -> None:
        self.counters = counters or RelayCounters()
        self._url, self._broker, self._bytes_max, self._has_operations = url, broker, bytes_max, has_operations
        self._client = Client(url)
        self._nats: Any = load_extra("nats", "nats", what="coind relay")
        self._api: Any = load_extra("nats.js.api", "nats", what="coind relay")
        self._errors: Any = load_extra("nats.js.errors", "nats", what="coind relay")
        self._connection: Any = None
        self._js: Any = None
        self._names, self._base = StreamNames(""), 0
        self._sequence, self._last = 0, Message(0)  # of the last message in the stream of blocks
        self._id = ""  # of the last block in the stream
        self._message_size = MESSAGE_SIZE_MAX
        self._last_operation = ("", -1)
        self._finished_operation = ("", -1)  # the last operation of a block whose operations are all in the broker

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
                _log.warning("relay interrupted, reconnecting", reason=str(error) or type(error).__name__)
            pause = PAUSE_SECONDS_MIN if self._sequence != before else min(PAUSE_SECONDS_MAX, pause * 2)
            await asyncio.sleep(pause)

    async def _relay(self, connection: Any) -> None:
        """Relay over a connection to the broker until an error occurs."""
        self._connection, self._js = connection, connection.jetstream(timeout=ACK_SECONDS_MAX)
        self._message_size = min(MESSAGE_SIZE_MAX, connection.max_payload - HEADERS_SIZE_MAX)
        if self._message_size < MESSAGE_SIZE_MIN:
            least = MESSAGE_SIZE_MIN + HEADERS_SIZE_MAX
            raise NodeError(f"{self._broker} accepts messages of {connection.max_payload} bytes. Set its max_payload to {least} or more.")
        async with aclosing(stream_lines(self._url, HEADER_ONLY)) as lines:
            header = read_header(await anext(lines))
        self._names, self._base = StreamNames(header.name), header.base
        await self._open_streams(header)
        await self._find_end()
        await self._publish_head(header.head)
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
        """Create the streams that are missing. Raises WrongChain for streams of another chain."""
        names, api = self._names, self._api
        about = {"chain_id": header.chain_id, "genesis": header.genesis, "name": header.name}
        chain = msgspec.json.encode(about | ({"base": header.base} if header.base else {})).decode()
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
                what = f"{self._broker}: its stream {name} is of another chain, {info.config.description}, but {self._url} has {chain}"
                raise WrongChain(f"{what}. Use another broker, or delete the stream.")

    async def _find_end(self) -> None:
        """Find the last block and the last operation in the broker."""
        names = self._names
        state = (await self._js.stream_info(names.blocks_stream)).state
        # A stream that has dropped all its messages, for example for a block larger than itself, has no last message.
        self._sequence, self._last, self._id = 0, Message(self._base), ""
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
        """Write a block after the last message, in parts if it is large. Parts that the broker already has are not written again."""
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
        """Write a message after the last one. If another client has written a message meanwhile, raise an error of the library."""
        headers = {"Nats-Msg-Id": message_id, "Nats-Expected-Last-Subject-Sequence": str(self._sequence)} | self._header_of(part)
        ack = await self._js.publish(self._names.blocks, line, headers=headers)
        if ack.duplicate:
            # The same block is already stored and was undone or edited since, or some of its parts are stored with other messages after
            # them.
            headers["Nats-Msg-Id"] = f"{message_id}.{self._sequence}"
            ack = await self._js.publish(self._names.blocks, line, headers=headers)
        self._sequence = ack.seq

    def _header_of(self, part: MessagePart | None) -> dict[str, str]:
        """Return the header of a part, and count the part. The header of a message that isn't split is empty."""
        if part is None:
            return {}
        self.counters.parts += 1
        return {PART_HEADER: msgspec.json.encode(part).decode()}

    async def _publish_head(self, head: int, *, is_stale: bool = False) -> None:
        """Publish the node's head for the readers. No stream stores it, since it is valid only for a moment."""
        self.counters.node_head = head
        if head <= self._height:
            self.counters.succeed()
        await self._connection.publish(self._names.head, encode_line(Heartbeat(head, is_stale)))

    # -------------------------------------------------------------- lines of the node

    async def _take(self, line: bytes) -> None:
        """Process a line of the node's stream: write its block to the broker, or publish its heartbeat."""
        item = read_packed(line)
        if isinstance(item, BlocksRemoved):
            await self._undo(item.first, item.last)
        elif isinstance(item, Heartbeat):
            await self._publish_head(item.head, is_stale=item.is_stale)
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
        """Write the operations of a block, including virtual ones, but not those that are already in the broker."""
        if self._last_operation == self._finished_operation and self._last_operation[0] == block.id:
            return  # Asking again would cost the node work.
        shown = await asyncio.to_thread(operations_in, self._client, block.height)
        if not await self._is_theirs(block.height, block.id):
            raise NodeError(f"block {block.height} was undone while its operations were read")
        done = self._last_operation[1] + 1 if self._last_operation[0] == block.id else 0
        waiting: list[Any] = []
        size = 0
        for index in range(done, len(shown)):
            name, payload = operation_of(shown[index], block.id, index)
            subject, message_id = self._names.kind(name), operation_message_id(block.id, index)
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
        """Write a message that removes the blocks `first` to `last`."""
        first = min(first, self._height + 1)
        if first > self._height:
            return
        line = encode_line(BlocksRemoved(first, max(last, self._height)))
        if self._has_operations:
            await self._js.publish(self._names.undone, line)
        await self._write(line, f"undone-{first}-{self._height}.{self._sequence}")
        if first == self._base + 1:
            # Older messages are useless now, and would mislead a reader's search by block number.
            await self._js.purge_stream(self._names.blocks_stream, seq=self._sequence)
        await self._find_end()

    async def _is_theirs(self, number: int, block_id: str) -> bool:
        """Whether the node has the block on its main branch. True for the chain's base (0 at genesis), the state before the first block."""
        return number <= self._base or await asyncio.to_thread(id_of, self._client, number) == block_id

    async def _compare(self) -> None:
        """Undo the blocks that are not on the node's main branch, because the node switched, reverted or was reset while no relay ran."""
        state = (await self._js.stream_info(self._names.blocks_stream)).state
        branch = await branch_of(state.first_seq, state.last_seq, self._read, COMPARED_MAX)
        step, index, common = 1, 0, self._base
        while index < len(branch):
            number, block_id = branch[index]
            if await self._is_theirs(number, block_id):
                common = number
                break
            index, step = index + step, step * 2
        _log.info("the node left the broker's branch", last_common_block=common)
        await self._undo(common + 1, self._height)


# ------------------------------------------------------------------ the node


async def stream_lines(url: str, first: int) -> AsyncGenerator[bytes]:
    """Yield the header of a node's packed stream, then its lines from block `first` on. Raises Unreachable and NoNode."""
    client = Client(url)
    try:
        status = await asyncio.to_thread(client.open_stream, f"/stream/blocks?from={first}&form=packed")
        if status != HTTPStatus.OK:
            raise NoNode(f"{url} has no packed stream of blocks (status {status}). Use the address of a coind node.")
        lines = client.lines()
        while some := await asyncio.to_thread(next, lines, None):
            for line in some:
                yield line
        raise Unreachable(f"{url} ended the stream")
    finally:
        client.close()


def last_operation(data: bytes, part: MessagePart | None) -> tuple[str, int]:
    """Return the block id and the position of the operation in a message. If the message is a part but not the last, the position is that
    of the previous operation. Return ("", -1) for a message without an operation.
    """
    if part is not None:
        block_id, _, index = part.of.rpartition("-")
        return block_id, int(index) - (part.offset + len(data) < part.size)
    given = msgspec.json.decode(data)
    is_operation = isinstance(given, dict) and "block_id" in given
    return (given["block_id"], int(given["place"])) if is_operation else ("", -1)


def id_of(client: Client, number: int) -> str:
    """Return the id of a block on a node's main branch, or "". The block itself, which can be large, is not requested."""
    found = client.call("block_api.get_block_header", {"block_num": number + 1})
    if not found:
        props = client.call("database_api.get_dynamic_global_properties", {})
        if props["head_block_number"] == number:
            return str(props["head_block_id"])
        # A new block can have arrived between the two calls.
        found = client.call("block_api.get_block_header", {"block_num": number + 1})
    return str(found["previous"]) if found else ""


def operations_in(client: Client, number: int) -> list[Any]:
    """Return the operations of a block in order, including virtual ones."""
    try:
        given = client.call("account_history_api.get_ops_in_block", {"block_num": number, "only_virtual": False})
    except RefusedCall as error:
        how = "Enable the plugin account_history there, or relay only blocks: --no-operations"
        raise NodeError(f"the node doesn't return the operations of a block ({error.message}). {how}") from None
    return [shown for shown in given["ops"] if is_in_block(shown)]
