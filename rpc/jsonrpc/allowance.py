"""Limits the work that the node does for a client's refused calls.

The work of a refused call is measured in units, which fill a leaky bucket of the client's address. When the bucket is full, further calls
from that address are refused without any work, until enough units have drained.

Callers with local rights have no such allowance. For them, only the work of each single transaction or call is limited.
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

# Units of refused work that an address may use, and units that drain from its bucket each second.
ALLOWANCE_UNITS, FORGIVEN_PER_SECOND = 20_000, 1_000
# The last refusal can take more units than remain. This debt drains at the same rate. The part above this maximum is dropped.
DEBT_UNITS_MAX = 20_000
# An address with fewer remaining units is refused without work until it has this number again.
LEFT_UNITS_MIN = 1_000
# Units that a read may take even while transactions from its address are refused.
CALL_UNITS_MIN = 100
# The work of parsing, explaining and recording a refused transaction isn't measured. For it, REFUSAL_UNITS are charged per transaction, and
# one unit per BYTES_PER_UNIT.
REFUSAL_UNITS, BYTES_PER_UNIT = 30, 100
# An IPv6 /48 contains 65,536 client addresses (/64). An eighth of the refused work of each address is also charged to its /48.
NETWORK_BITS, NETWORK_DIVISOR = 48, 8
# Maximum number of addresses with a bucket, and the number of buckets to drop at once when it is exceeded.
ADDRESSES_MAX, FORGOTTEN = 10_000, 1_000
# Minimum interval between log lines about the same address.
REPORT_SECONDS = 60
# Kind of work that is recorded for a refusal that names no kind.
ANY_KIND = "any"

_log = Log("rpc")


class _Bucket(Struct, eq=False):
    """Leaky bucket of an address: the time at which it will be empty, and the time of its last log line, in seconds of the stopwatch."""

    empty_at: float
    reported_at: float = -REPORT_SECONDS


class Allowances:
    """The allowances of all addresses. `refused` counts the units of refused work of all callers, by kind and reason.

    When an address has used up its allowance, a warning is logged, at most every REPORT_SECONDS per address.
    """

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.refused: Counter[tuple[str, str]] = Counter()
        self._stopwatch = stopwatch
        self._buckets: dict[str, _Bucket] = {}

    @property
    def limited(self) -> int:
        """The number of addresses whose work limit is currently reduced."""
        now = self._stopwatch()
        return sum(_left(bucket, now) < UNITS_MAX for bucket in self._buckets.values())

    def is_used_up(self, caller: Caller) -> bool:
        """Whether the transactions of a caller are currently refused without any work."""
        return self._limit(caller) < LEFT_UNITS_MIN

    def units_max(self, caller: Caller) -> int:
        """Return the number of units that a caller's transaction may take now. Raises RefusedTooOften if the allowance is used up."""
        # The usual case is inlined here: the address has no bucket.
        if not caller.why_not_local:
            return LOCAL_UNITS_MAX
        if self._buckets.keys().isdisjoint(charged(caller.address)):
            return UNITS_MAX
        left = self._limit(caller)
        if left < LEFT_UNITS_MIN:
            raise RefusedTooOften((LEFT_UNITS_MIN - left) / FORGIVEN_PER_SECOND)
        return left

    def call_units_max(self, caller: Caller) -> int:
        """Return the number of units that a caller's call may take now."""
        if not caller.why_not_local:
            return LOCAL_UNITS_MAX
        if self._buckets.keys().isdisjoint(charged(caller.address)):
            return UNITS_MAX
        left = self._limit(caller)
        return CALL_UNITS_MIN if left < LEFT_UNITS_MIN else left

    def charge(self, caller: Caller, units: int, error: Exception) -> None:
        """Charge a caller the units that were spent on a refused transaction or call."""
        rest = units
        # Work is counted before it is done, so the sum over all kinds can exceed the units that were spent.
        for kind, named in error.kinds.items() if isinstance(error, TooMuchWork) else ():
            self.refused[kind, type(error).__name__] += min(named, rest)
            rest -= min(named, rest)
        self.refused[ANY_KIND, type(error).__name__] += rest
        if caller.is_local:
            return
        for address, divisor in charged(caller.address).items():
            self._charge(address, units // divisor, error)

    def _charge(self, address: str, units: int, error: Exception) -> None:
        now = self._stopwatch()
        bucket = self._buckets.get(address)
        if bucket is None:
            if len(self._buckets) >= ADDRESSES_MAX:
                self._drop_buckets()
            bucket = self._buckets[address] = _Bucket(now)
        longest = (ALLOWANCE_UNITS + DEBT_UNITS_MAX) / FORGIVEN_PER_SECOND
        bucket.empty_at = min(max(bucket.empty_at, now) + units / FORGIVEN_PER_SECOND, now + longest)
        if _left(bucket, now) < LEFT_UNITS_MIN and now - bucket.reported_at >= REPORT_SECONDS:
            bucket.reported_at = now
            _log.warning("a client's allowance of refused work is used up", client=address, reason=type(error).__name__)

    def _limit(self, caller: Caller) -> int:
        if caller.is_local:
            return LOCAL_UNITS_MAX
        now = self._stopwatch()
        found = [int(_left(self._buckets[address], now)) for address in charged(caller.address) if address in self._buckets]
        return min([UNITS_MAX, *found])

    def _drop_buckets(self) -> None:
        """Drop FORGOTTEN buckets: those that became or will become empty first."""
        for address in sorted(self._buckets, key=lambda address: self._buckets[address].empty_at)[:FORGOTTEN]:
            del self._buckets[address]


@lru_cache(ADDRESSES_MAX)
def charged(address: str) -> dict[str, int]:
    """Return the buckets to which an address's refused work is charged, as a dict from bucket key to the divisor of the charged units."""
    if not address.endswith("/64"):
        return {address: 1}
    network = IPv6Network(address).supernet(new_prefix=NETWORK_BITS)
    return {address: 1, str(network): NETWORK_DIVISOR}


def refusal_units(size: int) -> int:
    """Return the units to charge for a refused transaction of `size` bytes, in addition to the work that the chain has measured."""
    return REFUSAL_UNITS + size // BYTES_PER_UNIT


def _left(bucket: _Bucket, now: float) -> float:
    return ALLOWANCE_UNITS - max(0.0, bucket.empty_at - now) * FORGIVEN_PER_SECOND
