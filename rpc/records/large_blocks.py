"""Encodes large blocks as JSON in steps, since encoding a 2 MB block takes a quarter of a second.

Only one block is encoded at a time, since the Python objects of a block need twenty times the memory of its bytes. A call for another block
first finishes the block in progress. The newest KEPT_MAX results are cached as bytes.
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
SLICE_UNITS = 200  # approximate units of work per step

# Cache key of a block: the bytes that identify it, and whether the JSON format is the legacy one.
Key = tuple[bytes, bool]


class LargeBlocks:
    """Encodes large blocks of a chain, one at a time, and caches the newest results."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._kept: OrderedDict[Key, Raw] = OrderedDict()
        self._making: tuple[Key, Generator[None, None, Raw]] | None = None

    def shown(self, known_by: bytes, read: Callable[[], SignedBlock], legacy: bool) -> dict[str, Any]:
        """Return the JSON of the block that `read` returns and `known_by` identifies. Raises NotReady until the JSON is complete."""
        key = known_by, legacy
        if key in self._kept:
            self._kept.move_to_end(key)
            return cast(dict[str, Any], self._kept[key])  # already encoded; it is copied into replies unchanged
        raise NotReady(lambda: self._advance(key, read))

    def _advance(self, key: Key, read: Callable[[], SignedBlock]) -> bool:
        """Do one step of encoding. Return whether the requested block is still incomplete."""
        if key in self._kept:
            return False
        if self._making is None:
            self._making = key, encode_in_steps(self._wire, read, key[1])
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


def encode_in_steps(wire: Wire, read: Callable[[], SignedBlock], legacy: bool) -> Generator[None, None, Raw]:
    """Encode a block in steps, yielding after each one. Return the same JSON as `block_json`."""
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
    """Return the chain's cache of encoded large blocks."""
    if wire not in _BY_CHAIN:
        _BY_CHAIN[wire] = LargeBlocks(wire)
    return _BY_CHAIN[wire]
