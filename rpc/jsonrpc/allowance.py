"""Limits the refused work that the node does for a client: units of work spent on refusals count against the client's address in a leaky
bucket. A client that has used up its allowance is refused without work for a while.

Callers with local rights have no allowance. Only the work of each of their transactions and calls is limited.
"""

from collections import Counter
from functools import lru_cache
from ipaddress import IPv6Network

from msgspec import Struct

from rpc.caller import Caller
from rpc.declare.errors import RefusedTooOften
from rpc.jsonrpc.scheduler import Stopwatch
from rpc.log import Log
from state.protocol.work import LOCAL_UNITS_MAX, UNITS_MAX, TooMuchWork

# Units of refused work that an address may cause, and units that are forgiven each second.
ALLOWANCE_UNITS, FORGIVEN_PER_SECOND = 20_000, 1_000
# The last refusal may take more units than are left. The debt is forgiven at the same rate; a debt above this limit is dropped.
DEBT_UNITS_MAX = 20_000
# An address with fewer units left is refused without work until it has this many again.
LEFT_UNITS_MIN = 1_000
# Units that a read may take even then.
CALL_UNITS_MIN = 100
# Parsing, explaining and recording a refused transaction isn't measured. It is charged per transaction, and per byte.
REFUSAL_UNITS, BYTES_PER_UNIT = 30, 100
# An IPv6 /48 contains 65,536 client addresses (/64). An eighth of the refused work of each also counts against the /48.
NETWORK_BITS, NETWORK_PART = 48, 8
# Addresses with a bucket, and how many buckets are dropped together above that.
ADDRESSES_MAX, FORGOTTEN = 10_000, 1_000
# Interval between log lines about the same address.
REPORT_SECONDS = 60
# The kind of work if a refusal doesn't name it.
ANY_KIND = "any"

_log = Log("rpc")


class _Bucket(Struct, eq=False):
    """Allowance of an address: the time when all is forgiven, and of the last log line, in seconds of the stopwatch."""

    full_at: float
    reported_at: float = -REPORT_SECONDS


class Allowances:
    """Allowances of all addresses. `refused` counts the units of refused work of all callers, by kind and reason.

    An address whose allowance is used up is logged, at most every REPORT_SECONDS.
    """

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.refused: Counter[tuple[str, str]] = Counter()
        self._stopwatch = stopwatch
        self._buckets: dict[str, _Bucket] = {}

    @property
    def limited(self) -> int:
        """The number of addresses whose limit is currently reduced."""
        now = self._stopwatch()
        return sum(_left(bucket, now) < UNITS_MAX for bucket in self._buckets.values())

    def is_used_up(self, caller: Caller) -> bool:
        """Whether the transactions of a caller are currently refused without work."""
        return self._limit(caller) < LEFT_UNITS_MIN

    def units_max(self, caller: Caller) -> int:
        """Return how many units a transaction of a caller may take now. Raises: RefusedTooOften if its allowance is used up."""
        # The case of nearly every transaction and call is inlined here.
        if not caller.why_not_local:
            return LOCAL_UNITS_MAX
        if self._buckets.keys().isdisjoint(charged(caller.address)):
            return UNITS_MAX
        left = self._limit(caller)
        if left < LEFT_UNITS_MIN:
            raise RefusedTooOften((LEFT_UNITS_MIN - left) / FORGIVEN_PER_SECOND)
        return left

    def call_units_max(self, caller: Caller) -> int:
        """Return how many units a call of a caller may take now."""
        if not caller.why_not_local:
            return LOCAL_UNITS_MAX
        if self._buckets.keys().isdisjoint(charged(caller.address)):
            return UNITS_MAX
        left = self._limit(caller)
        return CALL_UNITS_MIN if left < LEFT_UNITS_MIN else left

    def charge(self, caller: Caller, units: int, error: Exception) -> None:
        """Charge the units that were spent on a refused transaction or call."""
        rest = units
        # Work is counted before it is done, so the kinds can add up to more than was spent.
        for kind, named in error.kinds.items() if isinstance(error, TooMuchWork) else ():
            self.refused[kind, type(error).__name__] += min(named, rest)
            rest -= min(named, rest)
        self.refused[ANY_KIND, type(error).__name__] += rest
        if caller.is_local:
            return
        for address, part in charged(caller.address).items():
            self._charge(address, units // part, error)

    def _charge(self, address: str, units: int, error: Exception) -> None:
        now = self._stopwatch()
        bucket = self._buckets.get(address)
        if bucket is None:
            if len(self._buckets) >= ADDRESSES_MAX:
                self._forget()
            bucket = self._buckets[address] = _Bucket(now)
        most = (ALLOWANCE_UNITS + DEBT_UNITS_MAX) / FORGIVEN_PER_SECOND
        bucket.full_at = min(max(bucket.full_at, now) + units / FORGIVEN_PER_SECOND, now + most)
        if _left(bucket, now) < LEFT_UNITS_MIN and now - bucket.reported_at >= REPORT_SECONDS:
            bucket.reported_at = now
            _log.warning("a client's allowance of refused work is used up", client=address, reason=type(error).__name__)

    def _limit(self, caller: Caller) -> int:
        if caller.is_local:
            return LOCAL_UNITS_MAX
        now = self._stopwatch()
        found = [int(_left(self._buckets[address], now)) for address in charged(caller.address) if address in self._buckets]
        return min([UNITS_MAX, *found])

    def _forget(self) -> None:
        """Drop the buckets that are, or will be, full again first."""
        for address in sorted(self._buckets, key=lambda address: self._buckets[address].full_at)[:FORGOTTEN]:
            del self._buckets[address]


@lru_cache(ADDRESSES_MAX)
def charged(address: str) -> dict[str, int]:
    """Return the buckets that refused work of an address counts against, each with the divisor of its units."""
    if not address.endswith("/64"):
        return {address: 1}
    network = IPv6Network(address).supernet(new_prefix=NETWORK_BITS)
    return {address: 1, str(network): NETWORK_PART}


def refusal_units(size: int) -> int:
    """Return the units charged for a refused transaction of `size` bytes, in addition to the work that the chain has counted."""
    return REFUSAL_UNITS + size // BYTES_PER_UNIT


def _left(bucket: _Bucket, now: float) -> float:
    return ALLOWANCE_UNITS - max(0.0, bucket.full_at - now) * FORGIVEN_PER_SECOND
