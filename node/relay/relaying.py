"""The relay: takes the packed stream of a node and puts it into JetStream, going on where it stopped.

Every block is written after the one before it or not at all (the broker compares the last message), whoever else writes or has been killed.
"""

import asyncio
import http.client
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from node.commands.client import PORTS, Client, NoNode, RefusedCall, Unreachable
from node.extras import load_extra
from node.failures import NodeError
from node.relay.history import (
    Message,
    Names,
    block_message_id,
    branch_of,
    is_in_block,
    operation_message_id,
    operation_of,
    read_message,
    undone_line,
)
from rpc.log import Log
from rpc.push.packed import Greeting, PackedBlock

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.2, 10.0
SILENCE_SECONDS_MAX = 30
PART_SIZE, LINE_SIZE_MAX = 1 << 16, 16 << 20
ACK_SECONDS_MAX = 10
AT_ONCE_MAX = 256  # messages that wait for the broker's word
COMPARED_MAX = 10_000  # blocks that are looked through for the last common one; beyond, everything is undone
DUPLICATES_SECONDS = 120
NOWHERE = 4294967295  # the number of a block that nobody reaches: such a stream says what the chain is, and waits
WRONG_LAST_SEQUENCE = 10071
NOT_FOUND = 404

_log = Log("relay")


class WrongChain(NodeError):
    """The broker has blocks of another chain."""


class Relay:
    """Relays from the node at `url` to the broker at `broker`, each stream holding at most `bytes_max` bytes, the oldest dropped first."""

    def __init__(self, url: str, broker: str, *, bytes_max: int, has_operations: bool) -> None:
        self._url, self._broker, self._bytes_max, self._has_operations = url, broker, bytes_max, has_operations
        self._client = Client(url)
        self._nats: Any = load_extra("nats", "nats", what="coind relay")
        self._api: Any = load_extra("nats.js.api", "nats", what="coind relay")
        self._errors: Any = load_extra("nats.js.errors", "nats", what="coind relay")
        self._js: Any = None
        self._names = Names("")
        self._sequence, self._height, self._id = 0, 0, ""  # of the last message in the stream of blocks
        self._edits = 0
        self._last_operation = ("", -1)

    async def run(self) -> None:
        """Relay until cancelled. Raises WrongChain."""
        pause = PAUSE_SECONDS_MIN
        while True:
            before = self._sequence
            try:
                await self._relay()
            except WrongChain:
                raise
            except (TimeoutError, NodeError, OSError, self._nats.errors.Error) as error:
                _log.warning("relaying has stopped, and begins again", reason=str(error) or type(error).__name__)
            pause = PAUSE_SECONDS_MIN if self._sequence != before else min(PAUSE_SECONDS_MAX, pause * 2)
            await asyncio.sleep(pause)

    async def _relay(self) -> None:
        """Relay until something fails."""
        connection = await self._nats.connect(self._broker, name="coind relay", allow_reconnect=False, connect_timeout=5)
        try:
            self._js = connection.jetstream(timeout=ACK_SECONDS_MAX)
            async for line in stream_lines(self._url, NOWHERE):
                greeting = read_greeting(self._url, line)
                break
            self._names = Names(greeting.name)
            await self._open_streams(greeting)
            await self._find_end()
            _log.info("relaying", url=self._url, broker=self._broker, head_block_number=self._height)
            if greeting.head < self._height or not await self._is_theirs(self._height, self._id):
                await self._compare()
            is_first = True
            async for line in stream_lines(self._url, max(1, self._height)):
                if is_first:
                    is_first = False
                    continue
                await self._take(line)
        finally:
            await connection.close()

    # -------------------------------------------------------------- the broker

    async def _open_streams(self, greeting: Greeting) -> None:
        """Make the streams where they aren't there; refuse those of another chain."""
        names, api = self._names, self._api
        chain = msgspec.json.encode({"chain_id": greeting.chain_id, "genesis": greeting.genesis, "name": greeting.name}).decode()
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
        self._sequence, self._height, self._id, self._edits = state.last_seq, 0, "", 0
        if state.messages:
            raw = await self._js.get_msg(names.blocks_stream, state.last_seq)
            self._height, self._edits = read_message(raw.data).height, len(msgspec.json.decode(raw.data).get("edits", ()))
            found = await branch_of(state.first_seq, state.last_seq, self._read, 1)
            if self._height and found and found[0][0] == self._height:
                self._id = found[0][1]
        if self._has_operations:
            info = await self._js.stream_info(names.operations_stream)
            self._last_operation = "", -1
            if info.state.messages:
                raw = await self._js.get_msg(names.operations_stream, info.state.last_seq)
                given = msgspec.json.decode(raw.data)
                if isinstance(given, dict) and "block_id" in given:
                    self._last_operation = given["block_id"], int(given["place"])

    async def _read(self, sequence: int) -> Message:
        return read_message((await self._js.get_msg(self._names.blocks_stream, sequence)).data)

    async def _write(self, line: bytes, message_id: str) -> None:
        """Write a message after the last one. Raises an error of the broker when it isn't the last one any more."""
        headers = {"Nats-Msg-Id": message_id, "Nats-Expected-Last-Subject-Sequence": str(self._sequence)}
        ack = await self._js.publish(self._names.blocks, line, headers=headers)
        if ack.duplicate:
            # The very block stands there already, and has been undone or edited since.
            headers["Nats-Msg-Id"] = f"{message_id}.{self._sequence}"
            ack = await self._js.publish(self._names.blocks, line, headers=headers)
        self._sequence = ack.seq

    # -------------------------------------------------------------- what the node says

    async def _take(self, line: bytes) -> None:
        """Relay a line of the node's stream."""
        given = msgspec.json.decode(line)
        if "undone" in given:
            await self._undo(given["undone"]["first"], given["undone"]["last"])
        elif "block" in given:
            await self._take_block(msgspec.json.decode(line, type=PackedBlock), line)
        elif "error" in given:
            raise NodeError(f"{self._url} has ended the stream: {given['error']}")

    async def _take_block(self, block: PackedBlock, line: bytes) -> None:
        message = read_message(line)
        if block.block == self._height and block.id == self._id:
            if len(block.edits) > self._edits:
                await self._write(line, block_message_id(block.id, len(block.edits)))
                self._edits = len(block.edits)
            return
        if block.block != self._height + 1 or (self._id and message.previous != self._id):
            await self._compare()
            raise NodeError(f"block {block.block} doesn't follow block {self._height} of the broker")
        if self._has_operations:
            await self._write_operations(block)
        await self._write(line, block_message_id(block.id, len(block.edits)))
        self._height, self._id, self._edits = block.block, block.id, len(block.edits)

    async def _write_operations(self, block: PackedBlock) -> None:
        """Write the operations of a block, virtual ones too, but for those that stand there since before a kill."""
        shown = await asyncio.to_thread(operations_in, self._client, block.block)
        if not await self._is_theirs(block.block, block.id):
            raise NodeError(f"block {block.block} was undone while its operations were read")
        done = self._last_operation[1] + 1 if self._last_operation[0] == block.id else 0
        for first in range(done, len(shown), AT_ONCE_MAX):
            waiting = []
            for place in range(first, min(len(shown), first + AT_ONCE_MAX)):
                name, payload = operation_of(shown[place], block.id, place)
                headers = {"Nats-Msg-Id": operation_message_id(block.id, place)}
                waiting.append(self._js.publish(self._names.kind(name), payload, headers=headers))
            await asyncio.gather(*waiting)

    async def _undo(self, first: int, last: int) -> None:
        """Say that blocks are undone."""
        first = min(first, self._height + 1)
        if first > self._height:
            return
        line = undone_line(first, max(last, self._height))
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


async def stream_lines(url: str, first: int) -> AsyncIterator[bytes]:
    """Yield the lines of a node's packed stream from a block on; the first says what the chain is. Raises Unreachable and NoNode."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port or PORTS[parts.scheme], timeout=SILENCE_SECONDS_MAX)

    def begin() -> http.client.HTTPResponse:
        connection.request("GET", f"/stream/blocks?from={first}&form=packed")
        return connection.getresponse()

    try:
        response = await asyncio.to_thread(begin)
        if response.status != http.client.OK:
            raise NoNode(f"{url} gives no packed stream of blocks (status {response.status}); is it a node of coind?")
        rest = b""
        while part := await asyncio.to_thread(response.read1, PART_SIZE):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line
            if len(rest) > LINE_SIZE_MAX:
                raise NoNode(f"a line of the stream has more than {LINE_SIZE_MAX >> 20} MiB")
        raise Unreachable(f"{url} has ended the stream")
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"{url} gives no answer ({error or type(error).__name__})") from None
    finally:
        connection.close()


def read_greeting(url: str, line: bytes) -> Greeting:
    """Return what the first line of a stream says. Raises NoNode."""
    try:
        given = msgspec.json.decode(line, type=dict[str, Greeting])
        return given["chain"]
    except (msgspec.MsgspecError, KeyError):
        raise NoNode(f"{url} doesn't say what its chain is") from None


def id_of(client: Client, number: int) -> str:
    """Return the id of a block on a node's main branch, "" without it."""
    found = client.call("block_api.get_block", {"block_num": number}).get("block")
    return str(found["block_id"]) if found else ""


def operations_in(client: Client, number: int) -> list[Any]:
    """Return the operations of a block with the virtual ones, in order."""
    try:
        given = client.call("account_history_api.get_ops_in_block", {"block_num": number, "only_virtual": False})
    except RefusedCall as error:
        how = "enable the plugin account_history there, or relay blocks alone: --no-operations"
        raise NodeError(f"the node doesn't say which operations a block has ({error.message}); {how}") from None
    return [shown for shown in given["ops"] if is_in_block(shown)]
