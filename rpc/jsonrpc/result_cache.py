"""Cache of the encoded results of reads. Many clients ask for the same values, which change only when the chain changes."""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from rpc.json.encoding import encoded
from state.store.sized_cache import SizedCache

# Limits of the cached results, of one reply, and of the params of a call, in bytes.
CACHED_SIZE_MAX, REPLY_SIZE_MAX, PARAMS_SIZE_MAX = 8 << 20, 1 << 16, 256
ENTRY_SIZE = 400  # memory of an entry in addition to its bytes
_BEGIN, _END = b'{"jsonrpc":"2.0","result":', b',"id":'

Call = tuple[str, bytes]  # the method's name, and the call's encoded params


class ResultCache:
    """Results of methods that depend only on the chain, with the units of work that they took.

    `changes` returns a number that increases before each change of the chain. All results are dropped then, or if they use too much memory.
    """

    def __init__(self, changes: Callable[[], int]) -> None:
        self._changes = changes
        self._results: SizedCache[Call, tuple[Raw, int]] = SizedCache(CACHED_SIZE_MAX)
        self._change = -1

    def call_of(self, name: str, params: Any) -> Call:
        """Return the key of a call. It is only valid for a call that is made at once."""
        if self._change != (change := self._changes()):
            self._results.clear()
            self._change = change
        return name, encoded(params)

    def find(self, call: Call, units_max: int) -> Raw | None:
        """Return the result of a call, or None if it isn't cached or took more than `units_max` units of work."""
        found = self._results.get(call)
        return found[0] if found is not None and found[1] <= units_max else None

    def add(self, call: Call, reply: bytes, units: int) -> None:
        """Add the result that a reply contains, unless it is large."""
        if len(reply) > REPLY_SIZE_MAX or len(call[1]) > PARAMS_SIZE_MAX:
            return
        # In a string, the quotes of `_END` would be escaped.
        result = Raw(reply[len(_BEGIN) : reply.rindex(_END)])
        self._results.add(call, (result, units), len(reply) + len(call[1]) + ENTRY_SIZE)
