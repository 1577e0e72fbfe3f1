"""In-memory log of the newest refused transactions. They are stored as bytes, and their number and total size are limited."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from rpc.explain.case import Explanation
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction, Wire

REFUSED_MAX = 1000
REFUSED_BYTES_MAX = 16_000_000  # total size of the log
TRANSACTION_BYTES_MAX = 100_000  # larger transactions are recorded without their content
MESSAGE_MAX = 1000  # characters
ENTRY_BYTES = 500  # memory of a record without its strings

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class RefusedRecord(Struct, frozen=True):
    """A refused transaction. `content` is its packed bytes, or the received JSON if it couldn't be parsed."""

    time: int
    head_block_number: int
    id: bytes | None
    content: bytes
    message: str
    explain: bytes

    @property
    def size(self) -> int:
        """Approximate memory use of this record, in bytes."""
        return len(self.content) + len(self.message) + len(self.explain) + ENTRY_BYTES


def encoded(given: Any) -> bytes:
    """Encode a JSON value. Return b"" for null, and for values whose strings aren't valid UTF-8."""
    try:
        return b"" if given is None else _encode(given)
    except UnicodeEncodeError:
        return b""


class RefusedTransactionLog:
    """Log of the newest refused transactions."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._kept: deque[RefusedRecord] = deque()
        self.size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(
        self, time: int, head: int, trx: SignedTransaction | None, given: Any, error: ChainError, explanation: Explanation | None
    ) -> None:
        """Add a refused transaction. `given` is the received JSON if it couldn't be parsed."""
        if trx is None:
            content = encoded(given)
        else:
            content = b"" if trx.size > TRANSACTION_BYTES_MAX else self._wire.pack_transaction(trx)
        message = error.message(self._wire.spec.spell)[:MESSAGE_MAX]
        content = content if len(content) <= TRANSACTION_BYTES_MAX else b""
        entry = RefusedRecord(time, head, None if trx is None else trx.id, content, message, _encode(explanation))
        self._kept.append(entry)
        self.size += entry.size
        while len(self._kept) > REFUSED_MAX or self.size > REFUSED_BYTES_MAX:
            self.size -= self._kept.popleft().size

    def newest(self, limit: int) -> Iterator[tuple[RefusedRecord, Any, Any]]:
        """Yield the newest `limit` records, newest first. Each item is a record with its transaction and its explanation as JSON values
        (None if missing).
        """
        for entry in list(self._kept)[: -limit - 1 : -1] if limit else []:
            yield entry, self._shown(entry), _decode(entry.explain)

    def _shown(self, entry: RefusedRecord) -> Any:
        if not entry.content:
            return None
        if entry.id is None:
            return _decode(entry.content)
        return self._wire.transaction_to_json(self._wire.unpack_transaction(entry.content))
