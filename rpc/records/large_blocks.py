"""Incremental JSON encoding of large blocks, since a block of 2 MB takes a quarter of a second.

One block is encoded at a time, since its objects take twenty times its bytes. A call for another block first finishes this one. The
last KEPT_MAX results are cached as bytes.
"""

from collections import OrderedDict
from collections.abc import Callable, Generator
from typing import Any, cast
from weakref import WeakKeyDictionary

from msgspec import Raw, structs

from rpc.json.encoding import encoded
from rpc.records.blocks import block_json
from state.protocol.transaction import OPERATION, SignedBlock, Wire
from state.store.lazy.incremental import CHUNK_ROWS, NotReady

LARGE_SIZE = 200_000  # bytes; encoding a smaller block takes at most 40 ms
KEPT_MAX = 4
SLICE_UNITS = 200  # approximate work of a step

# The identity of a block, and whether its JSON format is the legacy one.
Key = tuple[bytes, bool]


class LargeBlocks:
    """Cache of recently encoded large blocks of a chain, and the block that is being encoded."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._kept: OrderedDict[Key, Raw] = OrderedDict()
        self._making: tuple[Key, Generator[None, None, Raw]] | None = None

    def shown(self, known_by: bytes, read: Callable[[], SignedBlock], legacy: bool) -> dict[str, Any]:
        """Return the JSON of a block. `read` returns the block. Raises: NotReady until the JSON is complete."""
        key = known_by, legacy
        if key in self._kept:
            self._kept.move_to_end(key)
            return cast(dict[str, Any], self._kept[key])  # encoded; replies include it unchanged
        raise NotReady(lambda: self._advance(key, read))

    def _advance(self, key: Key, read: Callable[[], SignedBlock]) -> bool:
        """Encode a step. Return whether the block is still incomplete."""
        if key in self._kept:
            return False
        if self._making is None:
            self._making = key, in_slices(self._wire, read, key[1])
        making, steps = self._making
        try:
            next(steps)
        except StopIteration as end:
            self._making = None
            self._kept[making] = end.value
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        except BaseException:
            self._making = None
            raise
        return key not in self._kept


def in_slices(wire: Wire, read: Callable[[], SignedBlock], legacy: bool) -> Generator[None, None, Raw]:
    """Return the JSON of `block_json`. Yields after each step."""
    block = read()
    yield
    dump = wire.codecs.dumper(OPERATION, legacy)
    assert dump is not None
    shown = block_json(wire, structs.replace(block, transactions=()), legacy)
    transactions: list[Raw] = []
    for number, trx in enumerate(block.transactions):
        operations: list[Raw] = []
        for operation in trx.operations:
            operations.append(Raw(encoded(dump(operation))))
            if not len(operations) % CHUNK_ROWS:
                yield
        one = wire.transaction_to_json(structs.replace(trx, operations=()), legacy) | {"operations": operations}
        if legacy:
            one |= {"transaction_id": trx.id.hex(), "block_num": block.number, "transaction_num": number}
        transactions.append(Raw(encoded(one)))
        if not number % CHUNK_ROWS:
            yield
    shown["transactions"] = transactions
    shown["transaction_ids"] = [trx.id.hex() for trx in block.transactions]
    return Raw(encoded(shown))


_BY_CHAIN: WeakKeyDictionary[Wire, LargeBlocks] = WeakKeyDictionary()


def large_blocks(wire: Wire) -> LargeBlocks:
    """Return the cache of large blocks of a chain."""
    if wire not in _BY_CHAIN:
        _BY_CHAIN[wire] = LargeBlocks(wire)
    return _BY_CHAIN[wire]
