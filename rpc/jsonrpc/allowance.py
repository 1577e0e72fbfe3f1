"""How much refused work this node does for a client: the units of work that were spent on refusals count against the client's address, and
are forgiven with time (a leaky bucket). A client that has used up its allowance is refused at once for a while.

Callers with local rights have no allowance: only the work of each of their transactions and calls is limited.
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

# Units of refused work that an address may cause, and how many of them are forgiven each second.
ALLOWANCE_UNITS, FORGIVEN_PER_SECOND = 20_000, 1_000
# The last refusal may take more than is left. Such a debt is forgiven at the same rate; beyond this bound it is forgotten.
DEBT_UNITS_MAX = 20_000
# An address with less left is refused without work until it has so much again.
LEFT_UNITS_MIN = 1_000
# What a call that reads may take even then.
CALL_UNITS_MIN = 100
# Reading, explaining and keeping a refused transaction is work that nobody counts: it is charged by the transaction, and by its bytes.
REFUSAL_UNITS, BYTES_OF_UNIT = 30, 100
# A /48 of IPv6 has 65,536 addresses of clients (/64). Refused work of each also counts against the network, an eighth of its units.
NETWORK_BITS, NETWORK_PART = 48, 8
# Addresses that are known, and how many of them are forgotten together when there are more.
ADDRESSES_MAX, FORGOTTEN = 10_000, 1_000
# How often an address that goes on is reported.
REPORT_SECONDS = 60
# The kind of work where a refusal doesn't say it.
ANY_KIND = "any"

_log = Log("rpc")


class _Bucket(Struct, eq=False):
    """The allowance of an address: when all is forgiven, and when it was last reported as used up, in seconds of the stopwatch."""

    full_at: float
    reported_at: float = -REPORT_SECONDS


class Allowances:
    """The allowances of all addresses; `refused` counts the units of refused work by kind and reason, of all callers.

    An address whose allowance is used up is logged, and again after REPORT_SECONDS if it goes on.
    """

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.refused: Counter[tuple[str, str]] = Counter()
        self._stopwatch = stopwatch
        self._buckets: dict[str, _Bucket] = {}

    @property
    def limited(self) -> int:
        """How many addresses have a lower limit than usual now."""
        now = self._stopwatch()
        return sum(_left(bucket, now) < UNITS_MAX for bucket in self._buckets.values())

    def is_used_up(self, caller: Caller) -> bool:
        """Whether the transactions of a caller are refused without work now."""
        return self._limit(caller) < LEFT_UNITS_MIN

    def units_max(self, caller: Caller) -> int:
        """Return how many units a transaction of a caller may take now. Raises RefusedTooOften."""
        # Nearly every transaction and every call ends here, so that it costs no second function.
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
        """Count the units that were spent on what was refused with an error."""
        rest = units
        # A refusal counts work before it is done, so that its kinds can add up to more than was spent.
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
        """Forget the addresses whose allowance is whole again first."""
        for address in sorted(self._buckets, key=lambda address: self._buckets[address].full_at)[:FORGOTTEN]:
            del self._buckets[address]


@lru_cache(ADDRESSES_MAX)
def charged(address: str) -> dict[str, int]:
    """Return what refused work of a client's address counts against, and the divisor of its units there."""
    if not address.endswith("/64"):
        return {address: 1}
    network = IPv6Network(address).supernet(new_prefix=NETWORK_BITS)
    return {address: 1, str(network): NETWORK_PART}


def refusal_units(size: int) -> int:
    """Return what a refused transaction of so many bytes takes beside the work that the chain has counted."""
    return REFUSAL_UNITS + size // BYTES_OF_UNIT


def _left(bucket: _Bucket, now: float) -> float:
    return ALLOWANCE_UNITS - max(0.0, bucket.full_at - now) * FORGIVEN_PER_SECOND
