"""What can be observed of a node from outside: changes of the main branch, sent transactions, and replies. The node must be consistent with
it.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection
from typing import Literal

from msgspec import Struct, field

from state.chain.head_change import HeadChange
from state.protocol.spec import Base
from state.protocol.transaction import SignedBlock, SignedTransaction

# A client's view of a transaction: no reply yet, pending, refused, in a block, or expired while a call waited for it.
Answer = Literal["lost", "accepted", "refused", "included", "expired"]


# Kinds that depend on earlier transactions of their account: on a post, or on the time of the last one.
DEPENDENT = ("post", "reply", "vote")


class Broken(AssertionError):
    """The node has broken a guarantee."""


def demand(condition: object, text: str) -> None:
    """Raise Broken unless a condition holds."""
    if not condition:
        raise Broken(text)


class Seen(Struct, frozen=True):
    """A block of the main branch and the simulated time at which it became the head, in seconds."""

    block: SignedBlock
    at: float


class Sent(Struct):
    """A sent transaction: the time it was sent (`sent_at`), the time of the reply (`at`), and the number of the node's life that replied
    (`life`).
    """

    trx: SignedTransaction
    kind: str
    answer: Answer = "lost"
    life: int = 0
    at: float = 0.0
    sent_at: float = 0.0
    seen_at: float = 0.0  # the last time it was in a block or pending
    is_dropped: bool = False


class Branch:
    """The main branch during one life of the node, as the chain's listeners see it after each write to the log. It begins after `base`.

    `where` is the block number of each transaction in the branch, `popped` the time at which each block was undone, `switched_at` the time
    of the last switch or -1. `rivals` are the blocks that the node didn't make.
    """

    def __init__(self, now: Callable[[], float], rivals: Collection[bytes], base: Base) -> None:
        self.base = base
        self.seen: list[Seen] = []
        self.where: dict[bytes, int] = {}
        self.popped: dict[bytes, float] = {}
        self.switched_at = -1.0
        self.switches = 0
        self.undone: tuple[SignedBlock, ...] = ()  # the blocks undone by the last switch, newest first
        self._now = now
        self._rivals = rivals

    def move(self, move: HeadChange) -> None:
        """Record a change of the head."""
        before = len(self.seen)
        for block in move.popped:
            self._pop(block)
        for block in move.applied:
            self._apply(block)
        demand(not move.popped or len(self.seen) > before, "the chain has switched to a branch that isn't longer")
        self.switches += bool(move.popped)
        self.undone = tuple(move.popped) or self.undone

    def _pop(self, block: SignedBlock) -> None:
        demand(self.seen and self.seen[-1].block.id == block.id, f"block {block.number} was undone and is not the head")
        self.seen.pop()
        for trx in block.transactions:
            del self.where[trx.id]
        self.switched_at = self._now()
        self.popped[block.id] = self.switched_at

    def _apply(self, block: SignedBlock) -> None:
        demand(block.previous == self.head_id, f"block {block.number} doesn't follow the head")
        demand(block.number == self.height + 1, f"block {block.number} has a wrong number")
        self.seen.append(Seen(block, self._now()))
        for trx in block.transactions:
            demand(trx.id not in self.where, f"block {block.number} repeats a transaction")
            self.where[trx.id] = block.number

    def is_too_late(self, since: float, expiration: int) -> bool:
        """Return whether every block that the node has made since `since` came after the transaction's expiration."""
        first = bisect_right(self.seen, since, key=lambda seen: seen.at)
        own = [seen.block for seen in self.seen[first:] if seen.block.id not in self._rivals]
        return all(block.timestamp > expiration for block in own)

    def has_reference(self, trx: SignedTransaction) -> bool:
        """Return whether the branch contains the transaction's reference block."""
        number = self.height - (self.height - trx.ref_block_num) % 65536
        return number <= self.base.number or int.from_bytes(self.block(number).id[4:8], "little") == trx.ref_block_prefix

    def has_lost_reference(self, trx: SignedTransaction, since: float) -> bool:
        """Return whether the transaction's reference block was undone at or after `since`, even if it is in the branch again."""
        prefix = trx.ref_block_prefix
        return any(int.from_bytes(block_id[4:8], "little") == prefix and at >= since for block_id, at in self.popped.items())

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self._now()

    @property
    def head_id(self) -> bytes:
        """The id of the head block; zeros at genesis."""
        return self.seen[-1].block.id if self.seen else self.base.block_id

    @property
    def height(self) -> int:
        """The number of the head block."""
        return self.base.number + len(self.seen)

    def block(self, number: int) -> SignedBlock:
        """Return the block with this number."""
        return self.seen[number - self.base.number - 1].block

    def has(self, block_id: bytes) -> bool:
        """Whether the branch contains a block."""
        number = int.from_bytes(block_id[:4], "big")
        return self.base.number < number <= self.height and self.block(number).id == block_id


class Counts(Struct):
    """The number of transactions with each outcome. `lost` ones were pending or unanswered when the node ended."""

    sent: int = 0
    applied: int = 0
    pending: int = 0
    refused: int = 0
    expired: int = 0
    dropped: int = 0
    lost: int = 0


class Ledger:
    """All transactions that clients have sent.

    Transactions with a final outcome are counted and dropped, which bounds the memory of long runs.
    """

    def __init__(self) -> None:
        self.open: list[Sent] = []
        self.counts = Counts()
        self._settled = Counts()

    def send(self, trx: SignedTransaction, kind: str, now: float) -> Sent:
        """Record a transaction before it is sent. The caller adds the reply to the returned record later."""
        sent = Sent(trx, kind, sent_at=now)
        self.open.append(sent)
        return sent

    def check(self, branch: Branch, pending: Collection[bytes], head_time: int, irreversible: int, life: int) -> None:
        """Assert that each transaction has the outcome that the node's reply announced, and count the transactions by outcome."""
        total = Counts()
        left = []
        for sent in self.open:
            fate, is_final = fate_of(sent, branch, pending, head_time, irreversible, life)
            counts = self._settled if is_final else total
            setattr(counts, fate, getattr(counts, fate) + 1)
            counts.sent += 1
            if not is_final:
                left.append(sent)
        self.open = left
        for name in Counts.__struct_fields__:
            setattr(total, name, getattr(total, name) + getattr(self._settled, name))
        self.counts = total
        parts = total.applied + total.pending + total.refused + total.expired + total.dropped + total.lost
        demand(parts == total.sent, f"{total} don't add up")


def fate_of(sent: Sent, branch: Branch, pending: Collection[bytes], head_time: int, irreversible: int, life: int) -> tuple[str, bool]:
    """Return the outcome of a transaction, and whether the outcome is final. Raises Broken if it contradicts the node's reply."""
    number = branch.where.get(sent.trx.id)
    is_pending = sent.trx.id in pending
    is_over = sent.trx.expiration <= head_time
    name = f"the {sent.kind} {sent.trx.id.hex()}, {sent.answer} at {sent.at:.3f} s"
    if number is not None or is_pending:
        sent.seen_at = branch.now
    if number is not None:
        demand(sent.answer != "refused", f"{name}, is in block {number}")
        demand(not is_pending, f"{name}, is in block {number} and pending")
        return "applied", number <= irreversible
    if sent.answer == "refused":
        demand(not is_pending, f"{name}, is pending")
        return "refused", is_over
    if is_pending:
        return "pending", False
    if sent.answer == "lost" or sent.life != life:
        return ("expired" if is_over else "lost"), is_over
    if is_over and branch.is_too_late(max(sent.at, sent.seen_at), sent.trx.expiration):
        return "expired", True
    # A later branch can contain its reference block again, but the transaction remains dropped.
    sent.is_dropped = sent.is_dropped or may_be_dropped(sent, branch)
    demand(sent.is_dropped, f"{name}, is neither in a block nor pending")
    return "dropped", is_over


def may_be_dropped(sent: Sent, branch: Branch) -> bool:
    """Return whether a switch can have invalidated a pending transaction, by undoing its reference block or transactions that it depends
    on.
    """
    since = max(sent.sent_at, sent.seen_at)
    if branch.switched_at < since:
        return False
    return sent.kind in DEPENDENT or not branch.has_reference(sent.trx) or branch.has_lost_reference(sent.trx, since)


class Figures(Struct):
    """Totals of a run, or of several runs."""

    minutes: float = 0.0
    processor_seconds: float = 0.0
    runs: int = 0
    blocks: int = 0
    requests: int = 0
    scenes: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    applied: int = 0
    pending: int = 0
    refused: int = 0
    expired: int = 0
    dropped: int = 0
    lost: int = 0
    lives: int = 0
    switches: int = 0
    restarts_compared: int = 0
    snapshots_compared: int = 0

    def add(self, other: "Figures") -> None:
        """Add the totals of another run."""
        for name in self.__struct_fields__:
            if name != "scenes":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        for scene, count in other.scenes.items():
            self.scenes[scene] = self.scenes.get(scene, 0) + count

    def count(self, scene: str) -> None:
        """Count a scene or another event."""
        self.scenes[scene] = self.scenes.get(scene, 0) + 1
