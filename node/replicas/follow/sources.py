"""Where a node that follows another one takes its blocks from, over HTTP: its packed stream, or block by block.

A source yields batches of events; how the node compares its chain with the other one's it is told by `SyncPosition`.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

import trio
from msgspec import Struct

from node.client.errors import NoNode, RefusedCall, TooLarge, WrongChain
from node.client.trio_http import REPLY_BYTES_MAX, Connection, connected
from node.replicas.follow.stream_lines import SHOWN_MAX, STRANGE, read_header, read_packed
from node.runtime.errors import NodeError
from node.storage.blockfile import is_legacy
from rpc.jsonrpc.scheduler import ReplyScheduler
from rpc.push.events import Event, Heartbeat, NewBlock, StreamHeader
from rpc.push.header import genesis_fingerprint
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

POLL_SECONDS = 1.0
POLL_BLOCKS_MAX = 50  # blocks that are asked for at once
ONE_BY_ONE_MAX = 8  # blocks that are held of a node which shows one at a time
RANGE_SIZE_MAX, BLOCK_SIZE_MAX = 16 << 20, 64 << 20  # as JSON


class SourceBehind(NodeError):
    """The other node's head is before ours, or its edits before that are others: the chains have to be compared."""

    def __init__(self, text: str, *, is_all: bool = False) -> None:
        super().__init__(text)
        self.is_all = is_all  # whether nothing of ours can be kept


class SyncPosition(Struct, frozen=True):
    """Where our chain is: the number of its head, the first block that is asked for, and the fingerprint of edits before that."""

    head: int
    first: int
    edits: str


class Source(Protocol):
    """A node, or something that has a node's blocks."""

    def batches(self, place: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        """Yield what comes, from block `install_location.first` on. Raises NodeError when it ends."""

    async def head(self) -> int:
        """Return the number of the last block that is there."""

    async def id_of(self, number: int) -> bytes | None:
        """Return the id of a block of the main branch; None without it."""


class NodeSource:
    """Another node, over HTTP."""

    def __init__(self, url: str, spec: ChainSpec, wire: Wire) -> None:
        self.url, self._spec, self._wire = url, spec, wire
        self._scheduler = ReplyScheduler()

    async def batches(self, place: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        """Yield what comes by the best way that the node knows."""
        async with connected(self.url, self._scheduler) as connection:
            status = await connection.open_stream(f"/stream/blocks?from={place.first}&form=packed")
            if status == 200:
                async with aclosing(connection.lines()) as lines, aclosing(self._packed(lines, place)) as batches:
                    async for batch in batches:
                        yield batch
                raise NoNode(f"{self.url} has ended the stream")
            if status == 503:
                raise NoNode(f"{self.url} has no room for another stream")
        async with aclosing(self._polled(place)) as batches:
            async for batch in batches:
                yield batch

    async def head(self) -> int:
        """Return the number of the node's head."""
        async with connected(self.url, self._scheduler) as connection:
            return (await head_of(connection))[0]

    async def id_of(self, number: int) -> bytes | None:
        """Return the id of a block of the main branch; None without it."""
        async with connected(self.url, self._scheduler) as connection:
            block = await block_of(connection, number)
            try:
                return None if block is None else bytes.fromhex(block["block_id"])
            except STRANGE:
                raise NoNode(f"{self.url} shows block {number} without its id") from None

    # -------------------------------------------------------------- the two ways

    async def _packed(self, lines: AsyncIterator[list[bytes]], place: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        has_header = False
        async for some in lines:
            batch: list[Event | Heartbeat] = []
            for line in some:
                if has_header:
                    batch.append(await self._scheduler.run(partial(read_packed, line)))
                    continue
                header = read_header(line)
                require_same_chain(self.url, self._spec, header)
                require_same_state(self.url, header, place)
                has_header = True
                batch.append(Heartbeat(header.head))
            yield batch

    async def _polled(self, place: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        await self._require_chain_id()
        async with connected(self.url, self._scheduler) as connection:
            following, last, most = place.first, b"", POLL_BLOCKS_MAX
            while True:
                number, head_id = await head_of(connection)
                if number < following - 1:
                    raise SourceBehind(f"the head of {self.url} is block {number}")
                if number == following - 1 and last and head_id != last:
                    raise SourceBehind(f"the head of {self.url} is another block {number}")
                if following > number:
                    yield [Heartbeat(number)]
                while following <= number:
                    count = min(most, number + 1 - following)
                    batch: list[Event | Heartbeat] = [Heartbeat(number)]
                    try:
                        blocks = await blocks_of(connection, following, count)
                    except TooLarge:
                        if count == 1:
                            raise
                        most = count // 2
                        await connection.open()
                        continue
                    for block in blocks:
                        batch.append(event := await self._scheduler.run(partial(self._event, block, following)))
                        following, last = following + 1, event.id
                    yield batch
                await trio.sleep(POLL_SECONDS)

    def _event(self, shown: Any, number: int) -> NewBlock:
        try:
            block = self._wire.block_from_json(shown, is_legacy(shown))
        except STRANGE as error:
            raise NoNode(f"{self.url} shows block {number} in a form that can't be read ({error})") from None
        if block.number != number:
            raise NoNode(f"{self.url} answers with block {block.number} in place of block {number}")
        return NewBlock(block.number, block.id, self._wire.pack_block(block))

    async def _require_chain_id(self) -> None:
        """Refuse a node of another chain; one that doesn't say which it has is believed until a block is refused."""
        async with connected(self.url, self._scheduler) as connection:
            try:
                config = await either(connection, "database_api.get_config", {}, "condenser_api.get_config", [])
            except RefusedCall:
                return
        ids = [value for key, value in config.items() if key.endswith("CHAIN_ID")] if isinstance(config, dict) else []
        if ids and ids[0] != self._spec.chain_id.hex():
            raise another_chain(self.url, f"the chain id {str(ids[0])[:SHOWN_MAX]}", self._spec)


def require_same_state(url: str, header: StreamHeader, place: SyncPosition) -> None:
    """Refuse a chain of our id and genesis whose edits are unknown, or which stands differently. Raises WrongChain and Behind."""
    if place.first <= header.unknown_until:
        raise WrongChain(
            f"the chain of {url} was changed by hand before block {header.unknown_until}, and came from a dump, so that nobody knows how:"
            " begin with the same dump (coind snapshot load)"
        )
    if header.edits != place.edits:
        raise SourceBehind("the followed chain was changed by hand in another way", is_all=True)
    if header.head < place.head:
        raise SourceBehind(f"the head of {url} is block {header.head}")


def require_same_chain(url: str, spec: ChainSpec, header: StreamHeader) -> None:
    """Refuse a chain of another id or genesis. Raises WrongChain."""
    if header.chain_id != spec.chain_id.hex():
        raise another_chain(url, f"the chain {header.name} (chain id {header.chain_id})", spec)
    if header.genesis != genesis_fingerprint(spec):
        own = f"{1 + len(spec.genesis.witnesses)} witnesses and {len(spec.genesis.accounts)} accounts"
        # A broker doesn't say how many there are.
        theirs = f": {header.witnesses} witnesses and {header.accounts} accounts, here {own}" if header.witnesses else ""
        raise WrongChain(
            f"{url} has the chain {header.name} from another genesis than this node's {spec.name}{theirs}; start both with the same"
            " --chain, --witnesses and --accounts"
        )


def another_chain(url: str, theirs: str, spec: ChainSpec) -> WrongChain:
    """Return the error of two chains with different ids."""
    return WrongChain(f"{url} has {theirs}, and this node {spec.name} (chain id {spec.chain_id.hex()}); name the same one with --chain")


async def head_of(connection: Connection) -> tuple[int, bytes]:
    """Return number and id of a node's head."""
    props = "get_dynamic_global_properties"
    given = await either(connection, f"database_api.{props}", {}, f"condenser_api.{props}", [])
    try:
        return int(given["head_block_number"]), bytes.fromhex(given["head_block_id"])
    except STRANGE:
        raise NoNode("the node doesn't say what its head is") from None


async def block_of(connection: Connection, number: int) -> Any:
    """Return a block as the node shows it, None without it."""
    found = await either(connection, "block_api.get_block", {"block_num": number}, "condenser_api.get_block", [number], BLOCK_SIZE_MAX)
    return found.get("block") if isinstance(found, dict) and "previous" not in found else found


async def blocks_of(connection: Connection, first: int, count: int) -> list[Any]:
    """Return blocks as the node shows them, at least one; as many at once as it can."""
    if count > 1:
        try:
            asked = {"starting_block_num": first, "count": count}
            given = await connection.call("block_api.get_block_range", asked, size_max=RANGE_SIZE_MAX)
            if isinstance(given, dict) and isinstance(given.get("blocks"), list) and given["blocks"]:
                blocks: list[Any] = given["blocks"][:count]
                return blocks
        except RefusedCall as error:
            if not error.is_unknown_method:
                raise
    blocks = [await block_of(connection, number) for number in range(first, first + min(count, ONE_BY_ONE_MAX))]
    if None in blocks:
        blocks = blocks[: blocks.index(None)]
    if not blocks:
        raise NoNode(f"the node doesn't have block {first}")
    return blocks


async def either(connection: Connection, method: str, params: Any, other: str, other_params: Any, size_max: int = REPLY_BYTES_MAX) -> Any:
    """Return the result of a call, or of another one where the node doesn't know the first."""
    try:
        return await connection.call(method, params, size_max=size_max)
    except RefusedCall as error:
        if not error.is_unknown_method:
            raise
    return await connection.call(other, other_params, size_max=size_max)
