"""The transactions that wait for a block: how much memory they hold, whose they are, and in which order they get into a block.

Nobody can crowd others out. An account may hold as much as all accounts leave free, and a little also when they leave nothing; and when not
everything fits into the next block, accounts take turns by what each has in the block already.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import overload

from state.protocol.errors import ChainError, Refused
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction
from state.protocol.work import BLOCK_UNITS_MAX

PENDING_SIZE_MAX = 128 * 2**20  # bytes of memory, as `held_size` estimates them
# Beyond that, for accounts that hold little. Who holds as much as is left leaves half of it, so that some twenty accounts leave nothing.
KEPT_SIZE, LITTLE_SIZE = 16 * 2**20, 16 * 2**10
OPERATION_SIZE = 650  # bytes that an operation and its effects hold
POSTPONED_MAX = 5  # of an account, before the others of it wait for a later block; the reference's limit for all accounts together


Held = tuple[int, str]
"""The bytes of memory that a waiting transaction holds, and the account that it counts for."""


class Pending(Sequence[SignedTransaction]):
    """The waiting transactions in the order in which they came, and the estimated bytes of memory that they hold."""

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

    def append(self, trx: SignedTransaction, held: Held | None = None) -> None:
        """Add a transaction, whether there is room or not; `held` is what `require_room` has returned for it."""
        size, account = held or held_by(trx)
        self._transactions.append(trx)
        self.size += size
        self._sizes[account] = self._sizes.get(account, 0) + size

    def has_room(self, size: int) -> bool:
        """Whether the limit for all transactions leaves room for one more of this size in memory."""
        return self.size + size <= PENDING_SIZE_MAX + KEPT_SIZE

    def require_room(self, trx: SignedTransaction) -> Held:
        """Return what a transaction holds; refuse one whose account would hold more than what is free then, unless that is little."""
        size, account = held_by(trx)
        held = self._sizes.get(account, 0) + size
        free = PENDING_SIZE_MAX - self.size - size
        if held > free and (held > LITTLE_SIZE or not self.has_room(size)):
            raise Refused(
                "The transactions of ${account} that wait for a block would hold ${held} bytes of memory, and an account may hold as much "
                "as is left: all hold ${all} of ${max} bytes. Send it again when blocks have taken some of them",
                condition="held <= free",
                account=account,
                held=held,
                all=self.size,
                max=PENDING_SIZE_MAX,
            )
        return size, account


class FairOrder:
    """Transactions in the order in which a block that can't take all of them takes them.

    The next one is the oldest of the account of which the block has least; what isn't in the block doesn't count. One that isn't taken,
    since it doesn't fit or is refused, is passed over, and an account with more than POSTPONED_MAX of them is left out, so that the work
    doesn't grow with the number of those that wait.
    """

    def __init__(self, transactions: Iterable[SignedTransaction], room: int) -> None:
        self._room = room
        queues: dict[str, list[SignedTransaction]] = {}
        for trx in transactions:
            queues.setdefault(first_signer(trx), []).append(trx)
        # Of each account: its share of the block, its place in the order of arrival, and its transactions, the newest first.
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
                # A block has two bounds, bytes and work: a transaction counts by its part of either.
                share += trx.size * BLOCK_UNITS_MAX + trx.units * self._room
            else:
                self._postponed[place] += 1
            if queue and self._postponed[place] <= POSTPONED_MAX:
                heappush(self._accounts, (share, place, queue))

    def take(self) -> None:
        """Say of the last transaction that it is in the block."""
        self._is_taken = True


def held_by(trx: SignedTransaction) -> Held:
    """Return what a waiting transaction holds."""
    return held_size(trx), first_signer(trx)


def held_size(trx: SignedTransaction) -> int:
    """Return about how many bytes of memory a waiting transaction holds with its effects."""
    return 5 * trx.size // 2 + OPERATION_SIZE * len(trx.operations)


def first_signer(trx: SignedTransaction) -> str:
    """Return the account that a transaction counts for: the first one, by name, whose authority its first operation needs; "" for none."""
    operation = trx.operations[0] if trx.operations else None
    if operation is None:
        return ""
    if operation.SIGNER:
        name: str = getattr(operation, operation.SIGNER)
        return name
    try:
        needed = Needed.by((operation,))
    except ChainError:  # it can't be read, and is going to be refused
        return ""
    return min(needed.posting | needed.active | needed.owner, default="")
