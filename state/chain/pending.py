"""Pending transactions: their memory, the accounts that they are charged to, and their order in a block.

An account can't crowd others out: it can use at most as much memory as remains free, and a small reserve when nothing is free. If not all
transactions fit into the next block, the account with the smallest share of the block comes first.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import overload

from state.protocol.errors import ChainError, Refused
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction
from state.protocol.work import BLOCK_UNITS_MAX

PENDING_SIZE_MAX = 128 * 2**20  # bytes of memory, as `held_by` estimates them
# The size of the additional reserve, and the total memory up to which an account can use the reserve, in bytes. An account can hold as much
# as it leaves free, so about twenty accounts at this limit leave nothing free.
KEPT_SIZE, LITTLE_SIZE = 16 * 2**20, 16 * 2**10
OPERATION_SIZE = 650  # bytes of memory of an operation and its effects
POSTPONED_MAX = 5  # transactions of one account; the reference has this limit for all accounts together


HeldSizes = tuple[int, str]
"""The memory of a pending transaction in bytes, and the account that it counts for."""


class Pending(Sequence[SignedTransaction]):
    """The pending transactions in order of arrival. `size` is their estimated memory in bytes."""

    def __init__(self, transactions: Iterable[SignedTransaction] = ()) -> None:
        self._transactions: list[SignedTransaction] = []
        self.size = 0
        self._sizes: dict[str, int] = {}
        for trx in transactions:
            self.append(trx)

    def __len__(self) -> int:
        return len(self._transactions)

    def __iter__(self) -> Iterator[SignedTransaction]:
        return iter(self._transactions)

    @overload
    def __getitem__(self, at: int) -> SignedTransaction: ...
    @overload
    def __getitem__(self, at: slice) -> list[SignedTransaction]: ...
    def __getitem__(self, at: int | slice) -> SignedTransaction | list[SignedTransaction]:
        return self._transactions[at]

    def append(self, trx: SignedTransaction, held: HeldSizes | None = None) -> None:
        """Add a transaction without checking for room. `held` is the result of `require_room` for it."""
        size, account = held or held_by(trx)
        self._transactions.append(trx)
        self.size += size
        self._sizes[account] = self._sizes.get(account, 0) + size

    def has_room(self, size: int) -> bool:
        """Whether a transaction that takes `size` bytes of memory still fits, if it can also use the reserve."""
        return self.size + size <= PENDING_SIZE_MAX + KEPT_SIZE

    def require_room(self, trx: SignedTransaction) -> HeldSizes:
        """Return a transaction's memory, and the account that it is charged to.

        Refuse the transaction if the account would hold more than the free memory and can't use the reserve.
        """
        size, account = held_by(trx)
        held = self._sizes.get(account, 0) + size
        free = PENDING_SIZE_MAX - self.size - size
        if held > free and (held > LITTLE_SIZE or not self.has_room(size)):
            raise Refused(
                "The pending transactions of ${account} would use ${held} bytes of memory, more than is free: all pending transactions use "
                "${all} of ${max} bytes. Send it again after the next blocks",
                condition="held <= free",
                account=account,
                held=held,
                all=self.size,
                max=PENDING_SIZE_MAX,
            )
        return size, account


class FairOrder:
    """Order of transactions for a block that can't include all of them.

    The next transaction is the oldest of the account with the smallest share of the block. A transaction that is not taken, because it
    doesn't fit or is refused, adds nothing to the share. An account with more than POSTPONED_MAX such transactions is skipped from then on,
    which bounds the work.
    """

    def __init__(self, transactions: Iterable[SignedTransaction], room: int) -> None:
        self._room = room
        queues: dict[str, list[SignedTransaction]] = {}
        for trx in transactions:
            queues.setdefault(first_signer(trx), []).append(trx)
        # Per account: its share of the block, its position in order of arrival, and its transactions, newest first.
        self._accounts = [(0, place, queue[::-1]) for place, queue in enumerate(queues.values())]
        heapify(self._accounts)
        self._postponed = [0] * len(self._accounts)
        self._is_taken = False

    def __iter__(self) -> Iterator[SignedTransaction]:
        while self._accounts:
            share, place, queue = heappop(self._accounts)
            trx = queue.pop()
            self._is_taken = False
            yield trx
            if self._is_taken:
                # A block has two limits, bytes and work. The share is the sum of both fractions.
                share += trx.size * BLOCK_UNITS_MAX + trx.units * self._room
            else:
                self._postponed[place] += 1
            if queue and self._postponed[place] <= POSTPONED_MAX:
                heappush(self._accounts, (share, place, queue))

    def take(self) -> None:
        """Mark the last yielded transaction as included in the block."""
        self._is_taken = True


def held_by(trx: SignedTransaction) -> HeldSizes:
    """Return the estimated memory of a pending transaction with its effects, in bytes, and the account that it is charged to."""
    return 5 * trx.size // 2 + OPERATION_SIZE * len(trx.operations), first_signer(trx)


def first_signer(trx: SignedTransaction) -> str:
    """Return the account that a transaction is charged to.

    This is the alphabetically first account whose authority the first operation needs, or "" if there is none.
    """
    operation = trx.operations[0] if trx.operations else None
    if operation is None:
        return ""
    if operation.SIGNER:
        name: str = getattr(operation, operation.SIGNER)
        return name
    try:
        needed = Needed.by((operation,))
    except ChainError:  # unreadable, so the transaction will be refused
        return ""
    return min(needed.posting | needed.active | needed.owner, default="")
