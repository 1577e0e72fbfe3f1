"""The state of a chain after a block or inside one, for scripts and notebooks: its tables, and calls of its API."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import rpc.api  # noqa: F401 - fills METHODS
from node.client import in_process
from node.client.errors import RefusedCall
from node.history.apply import BlockPoint
from node.research.errors import BeyondEnd, CallRefused, InvalidPosition
from node.research.library.blocks import Block, chosen_chain, utc_time
from node.research.library.cursor import DataCursor
from node.research.library.views import Tables
from rpc.declare.errors import DISPATCH_ERROR
from rpc.declare.method import METHODS, Method
from rpc.jsonrpc.dispatch import Service
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.protocol.spec import ChainSpec

# The context that a method can use if it only reads the state.
ASKED = frozenset({"state", "chain", "wire", "spec", "show", "service"})


class ChainState:
    """A chain at one position, read-only. `number`, `id` and `time` describe its head, `tables` are its tables, and `call` calls its API.

    If the position is inside a block (`transactions` isn't None), the head is the previous block, and the first `transactions` transactions
    of the block are applied. At the end of a `with` block the files of blocks are closed. The tables remain usable.
    """

    def __init__(self, cursor: DataCursor) -> None:
        self._cursor, self._chain, self._plugins = cursor, cursor.chain, cursor.plugins
        self._service: Service | None = None
        self.tables = Tables(cursor.chain.state)

    @property
    def chain(self) -> str:
        """The name of the chain."""
        return self._chain.state.spec.name

    @property
    def number(self) -> int:
        """The number of the head block, 0 at genesis."""
        return self._chain.state.props.head_block_number

    @property
    def id(self) -> str:
        """The id of the head block, in hex."""
        return self._chain.state.props.head_block_id.hex()

    @property
    def time(self) -> datetime:
        """The time of the head block, in UTC."""
        return utc_time(self._chain.state.props.time)

    @property
    def transactions(self) -> int | None:
        """The number of transactions of the next block that have been applied. None if the position is not inside a block."""
        return None if self._chain.pool.position is None else len(self._chain.pending)

    @property
    def digest(self) -> str:
        """The digest of the state, as printed by `coind replay`. Equal states have equal digests."""
        return state_digest(self._chain.state)

    def block(self, number: int) -> Block:
        """Return a block up to the head. Raises BeyondEnd for a later block, or for an old one that is no longer available
        (docs/library.md).
        """
        found = self._chain.block_by_number(number) if number > 0 else None
        if found is None:
            raise BeyondEnd(number, self.number)
        return Block(self._chain.state.wire, found)

    def call(self, method: str, params: Any = ()) -> Any:
        """Call a method of the API at this position, for example `call("condenser_api.get_accounts", [["alice"]])`.

        `params` is a list, or a dict of named parameters. Methods that change the chain or need a running node are not available. Raises
        CallRefused.
        """
        if (known := METHODS.get(method)) is not None and not is_asking(known):
            raise CallRefused(method, {"code": DISPATCH_ERROR, "message": "it changes the chain, or needs a running node"})
        if self._service is None:
            self._service = new_service(self._chain, self._plugins)
        try:
            return in_process.call(self._service, method, params)
        except RefusedCall as error:
            raise CallRefused(method, error.error) from None

    def __repr__(self) -> str:
        inside = "" if self.transactions is None else f" and {self.transactions} transactions of the next one"
        return f"<chain {self.chain} at block {self.number}{inside}>"

    def close(self) -> None:
        """Close the files."""
        self._cursor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ChainAt(ChainState):
    """A chain after a block or inside one, as returned by `chain_at`."""


def chain_at(
    path: str | Path,
    at: int | str | None = None,
    chain: str | Path | ChainSpec | None = None,
    *,
    plugins: Iterable[str] | None = None,
    is_checked: bool = False,
) -> ChainAt:
    """Return a chain after block `at` (0: at genesis), by default after the last block. If `at` is "100:2", return it after the first two
    transactions of block 100.

    `path` and `chain` are as in `open_blocks`. If a data folder has snapshots before `at`, the blocks are applied from the newest of these
    snapshots on. `plugins` are the names of plugins that replace those of the chain's spec; they add their tables and methods. With
    `is_checked`, signatures and authorities are also checked, which takes most of the time and leads to the same state. Raises BeyondEnd,
    RefusedBlock, UnreadableBlocks, UnknownChain and InvalidPosition.
    """
    # True is an int.
    point = None if at is None or isinstance(at, bool) else BlockPoint.parse(str(at))
    if point is None and at is not None:
        raise InvalidPosition(f'{at!r}: expected a block number, or, for example, "100:2" for two transactions of block 100')
    before, count = (None, None) if point is None else (point.whole_blocks, point.transactions)
    spec = chosen_chain(Path(path), chain)
    cursor = DataCursor(Path(path), spec, plugins, latest=before, is_checked=is_checked, has_all=True)
    try:
        cursor.lead_to(before)
        if count is not None:
            block = cursor.following()
            if count > len(block.transactions):
                raise InvalidPosition(f"block {point}: block {block.number} has {len(block.transactions)} transactions")
            cursor.apply(block, count)
        cursor.stop()
    except BaseException:
        cursor.close()
        raise
    return ChainAt(cursor)


def new_service(chain: Chain, plugins: tuple[str, ...]) -> Service:
    """Return a service with those methods that only read the state of a chain. Its clock shows the time of the head block."""
    return Service(
        [each for each in METHODS.values() if is_asking(each)],
        wire=chain.state.wire,
        plugins=plugins,
        clock=lambda: chain.state.props.time,
        read_mode=chain.state.journal.read_mode,
        state=chain.state,
        chain=chain,
    )


def is_asking(method: Method) -> bool:
    """Whether a method only reads the state of the chain."""
    return not (method.waits or method.loopback_only) and ASKED.issuperset(method.context)
