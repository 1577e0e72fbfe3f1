"""Sources of a replica's blocks over HTTP: the packed stream of a node, or requests that poll the node for blocks.

A source yields batches of events. `SyncPosition` describes the replica's chain, so that it can be compared with the node's chain.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

import trio
from msgspec import Struct

from node.client.errors import NoNode, RefusedCall, TooLarge, WrongChain
from node.client.trio_http import REPLY_BYTES_MAX, Connection, connected
from node.replicas.follow.stream_lines import PARSE_ERRORS, SHOWN_MAX, read_header, read_packed
from node.runtime import former_chains
from node.runtime.errors import NodeError
from node.storage.blockfile import is_legacy
from rpc.jsonrpc.scheduler import ReplyScheduler
from rpc.push.events import Event, Heartbeat, NewBlock, StreamHeader
from rpc.push.header import genesis_fingerprint
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire
from state.protocol.values.integers import UINT32_MAX

POLL_SECONDS = 1.0
POLL_BLOCKS_MAX = 50  # blocks per request
ONE_BY_ONE_MAX = 8  # blocks per batch from a node without requests for ranges
RANGE_SIZE_MAX, BLOCK_SIZE_MAX = 16 << 20, 64 << 20  # as JSON


class SourceBehind(NodeError):
    """The other node's head is behind this node's head, or its state edits differ. The two chains have to be compared."""

    def __init__(self, text: str, *, is_all: bool = False) -> None:
        super().__init__(text)
        self.is_all = is_all  # whether no block is common


class SyncPosition(Struct, frozen=True):
    """Position of the replica's chain: the number of its head, the first block to request, and the fingerprint of the state edits before
    that block.
    """

    head: int
    first: int
    edits: str


class Source(Protocol):
    """Interface of a source of blocks: a node, or a broker that stores a node's blocks."""

    def batches(self, position: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        """Yield events and heartbeats in batches, from block `position.first` on. Raises NodeError when the source ends."""

    async def head(self) -> int:
        """Return the number of the last block."""

    async def id_of(self, number: int) -> bytes | None:
        """Return the id of a block of the main branch, or None."""


class NodeSource:
    """Source that reads the blocks of another node over HTTP.

    With `is_copied`, this node's chain begins with a complete copy of a chain that began earlier, for example of the other node's.
    """

    def __init__(self, url: str, spec: ChainSpec, wire: Wire, *, is_copied: bool = False) -> None:
        self.url, self._spec, self._wire, self._is_copied = url, spec, wire, is_copied
        self._scheduler = ReplyScheduler()

    async def batches(self, position: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        """Yield events and heartbeats in batches, from the packed stream if the node has one, else by polling."""
        async with connected(self.url, self._scheduler) as connection:
            status = await connection.open_stream(f"/stream/blocks?from={position.first}&form=packed")
            if status == 200:
                async with aclosing(connection.lines()) as lines, aclosing(self._packed(lines, position)) as batches:
                    async for batch in batches:
                        yield batch
                raise NoNode(f"{self.url} ended the stream")
            if status == 503:
                raise NoNode(f"{self.url} has too many streams")
        async with aclosing(self._polled(position)) as batches:
            async for batch in batches:
                yield batch

    async def head(self) -> int:
        """Return the number of the node's head."""
        async with connected(self.url, self._scheduler) as connection:
            return (await head_of(connection))[0]

    async def id_of(self, number: int) -> bytes | None:
        """Return the id of a block of the main branch, or None."""
        async with connected(self.url, self._scheduler) as connection:
            block = await block_of(connection, number)
            try:
                return None if block is None else bytes.fromhex(block["block_id"])
            except PARSE_ERRORS:
                raise NoNode(f"{self.url} returns block {number} without its id") from None

    # -------------------------------------------------------------- stream and polling

    async def _packed(self, lines: AsyncIterator[list[bytes]], position: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        has_header = False
        async for some in lines:
            batch: list[Event | Heartbeat] = []
            for line in some:
                if has_header:
                    batch.append(await self._scheduler.run(partial(read_packed, line)))
                    continue
                header = read_header(line)
                if self._is_copied and header.base < self._spec.base.number:
                    # Blocks show whether it's the same chain. State edits before the copy are part of it.
                    require_same_id(self.url, self._spec, header)
                    require_ahead(self.url, header, position)
                else:
                    require_same_chain(self.url, self._spec, header)
                    require_same_state(self.url, header, position)
                has_header = True
                batch.append(Heartbeat(header.head))
            yield batch

    async def _polled(self, position: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        await self._require_chain_id()
        async with connected(self.url, self._scheduler) as connection:
            following, last, most = position.first, b"", POLL_BLOCKS_MAX
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
        except PARSE_ERRORS as error:
            raise NoNode(f"{self.url} returns block {number} in an unknown format ({error})") from None
        if block.number != number:
            raise NoNode(f"{self.url} returns block {block.number} instead of block {number}")
        return NewBlock(block.number, block.id, self._wire.pack_block(block))

    async def _require_chain_id(self) -> None:
        """Raise WrongChain if the node has another chain id. A node that doesn't report its chain id is accepted, unless this node refuses
        one of its blocks later.
        """
        async with connected(self.url, self._scheduler) as connection:
            try:
                config = await either(connection, "database_api.get_config", {}, "condenser_api.get_config", [])
            except RefusedCall:
                return
        ids = [value for key, value in config.items() if key.endswith("CHAIN_ID")] if isinstance(config, dict) else []
        if ids and ids[0] != self._spec.chain_id.hex():
            raise another_chain(self.url, "another chain", str(ids[0])[:SHOWN_MAX], self._spec)


async def header_of(url: str) -> StreamHeader | None:
    """Return the header of a node's packed stream, or None if the node has no such stream. Raises NodeError."""
    async with connected(url, ReplyScheduler()) as connection:
        if await connection.open_stream(f"/stream/blocks?from={UINT32_MAX}&form=packed") == 200:
            async with aclosing(connection.lines()) as lines:
                async for some in lines:
                    return read_header(some[0])
        return None


def require_same_state(url: str, header: StreamHeader, position: SyncPosition) -> None:
    """Raise WrongChain if the state edits of the other chain are unknown. Raise SourceBehind if these edits differ from this chain's, or if
    the other chain's head is behind.
    """
    if position.first <= header.unknown_until:
        raise WrongChain(
            f"the chain of {url} came from a dump, with unknown state edits before block {header.unknown_until}. Start with the same dump"
            " (coind snapshot load)."
        )
    if header.edits != position.edits:
        raise SourceBehind("the followed chain has other state edits", is_all=True)
    require_ahead(url, header, position)


def require_ahead(url: str, header: StreamHeader, position: SyncPosition) -> None:
    """Raise SourceBehind if the other chain's head is before this chain's."""
    if header.head < position.head:
        raise SourceBehind(f"the head of {url} is block {header.head}")


def require_same_chain(url: str, spec: ChainSpec, header: StreamHeader) -> None:
    """Raise WrongChain if the other chain has another id or genesis."""
    require_same_id(url, spec, header)
    if header.genesis != genesis_fingerprint(spec) and (header.base or spec.base.number):
        theirs_text, own_text = (f"after block {number}" if number else "at genesis" for number in (header.base, spec.base.number))
        what = "with another fork file" if theirs_text == own_text else own_text
        raise WrongChain(
            f"{url} has the chain {header.name} that begins {theirs_text}, and this node's {spec.name} begins {what}."
            " Start both with the same fork file."
        )
    if header.genesis != genesis_fingerprint(spec):
        theirs, own = (header.witnesses, header.accounts), (len(spec.genesis.witness_names), len(spec.genesis.accounts))
        # A broker doesn't report the numbers.
        differs = "" if theirs in ((0, 0), own) else ": {} witnesses and {} accounts, here {} and {}".format(*theirs, *own)
        raise WrongChain(
            f"{url} has the chain {header.name} from another genesis than this node's {spec.name}{differs}. Start both with the same"
            " --chain, --witnesses, --accounts and --no-produce."
        )


def require_same_id(url: str, spec: ChainSpec, header: StreamHeader) -> None:
    """Raise WrongChain if the other chain has another id."""
    if header.chain_id != spec.chain_id.hex():
        raise another_chain(url, f"the chain {header.name}", header.chain_id, spec)


def another_chain(url: str, theirs: str, chain_id: str, spec: ChainSpec) -> WrongChain:
    """Return the error for a node with another chain id."""
    own = (
        ". A fork can follow its source if coind fork --all made it, without --keys, --witnesses and --chain-id."
        if spec.base.number
        else ". Use the same --chain for both."
    )
    advice = former_chains.advice(chain_id) or own
    return WrongChain(f"{url} has {theirs} (chain id {chain_id}) instead of {spec.name} (chain id {spec.chain_id.hex()}){advice}")


async def head_of(connection: Connection) -> tuple[int, bytes]:
    """Return the number and the id of a node's head block."""
    props = "get_dynamic_global_properties"
    given = await either(connection, f"database_api.{props}", {}, f"condenser_api.{props}", [])
    try:
        return int(given["head_block_number"]), bytes.fromhex(given["head_block_id"])
    except PARSE_ERRORS:
        raise NoNode("the node doesn't report its head") from None


async def block_of(connection: Connection, number: int) -> Any:
    """Return a block as JSON from the node, or None."""
    found = await either(connection, "block_api.get_block", {"block_num": number}, "condenser_api.get_block", [number], BLOCK_SIZE_MAX)
    return found.get("block") if isinstance(found, dict) and "previous" not in found else found


async def blocks_of(connection: Connection, first: int, count: int) -> list[Any]:
    """Request at least one and at most `count` blocks from the node, and return them as JSON. If the node has no method for a range of
    blocks, request each block separately.
    """
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
    """Return the result of a call. If the node doesn't have its method, return the result of the `other` method."""
    try:
        return await connection.call(method, params, size_max=size_max)
    except RefusedCall as error:
        if not error.is_unknown_method:
            raise
    return await connection.call(other, other_params, size_max=size_max)
