"""Publishes chain events to subscriptions and block streams.

The hub listens to the chain only while there is a subscription or a stream. The task that changes the chain encodes each JSON text once for
all of them. The tasks of the connections send it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import trio
from msgspec import Raw

from rpc.declare.arguments import APPBASE
from rpc.declare.record_encoder import RecordEncoder
from rpc.explain.case import Explanation
from rpc.json.encoding import encoded
from rpc.log import Log
from rpc.push.events import BlocksRemoved, Heartbeat, encode_line, new_block
from rpc.push.header import stream_header
from rpc.push.operations import OperationCollector, impacted
from rpc.push.session import ENTRY_SIZE, FULL, Session, SharedNotice, Subscription, Topic
from rpc.push.stream import BlockStream
from rpc.records.blocks import block_json
from rpc.records.history import AppliedOperationRecord
from rpc.records.large_blocks import LARGE_SIZE, SLICE_UNITS, encode_in_steps, large_blocks
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.chain.state_edits import StateEdit
from state.plugins.operation_log import OperationRecord
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, SignedTransaction, block_number
from state.protocol.values.integers import WORD32
from state.protocol.values.text import time_text
from state.tables import State

# Maximum number of notices of irreversible blocks at once, since thousands of blocks can become irreversible at once. The remaining notices
# follow at the next head changes.
IRREVERSIBLE_AT_ONCE_MAX = 100
# Maximum total size of all queued notices, in bytes. A text that is in several queues counts once.
HELD_SIZE_MAX = 128_000_000
# Limits of the cache with the JSON of the newest blocks, for streams that haven't read them yet.
TEXTS_KEPT_MAX = 64  # blocks
TEXTS_KEPT_SIZE_MAX = 16_000_000  # bytes

STOPPING = "the node is stopping"
BROKEN = "the node could not make a notice, see its log"

_OF_OPERATIONS = (Topic.operations,)
_OF_TRANSACTIONS = (Topic.transactions, Topic.pending)
_log = Log("push")


class Hub:
    """Publishes the events of one chain to all subscriptions and streams of a node.

    `clock` returns milliseconds since 1970. `is_stale` returns whether newer blocks may exist that this node doesn't have.
    """

    def __init__(self, chain: Chain, clock: Callable[[], int], is_stale: Callable[[], bool] = lambda: False) -> None:
        self._chain, self._clock, self._is_stale = chain, clock, is_stale
        self._wire = chain.state.wire
        self._show_operation = RecordEncoder(self._wire, APPBASE).by(AppliedOperationRecord)
        self._subscriptions: dict[Topic, dict[Subscription, None]] = {kind: {} for kind in Topic}
        # Subscriptions to operations, keyed by each account in their filter.
        self._by_account: dict[str, dict[Subscription, None]] = {}
        self._of_all_accounts: dict[Subscription, None] = {}
        self._streams: set[BlockStream] = set()
        self._packed_streams: set[BlockStream] = set()
        # Cached lines by block id: the edits and the indices of accepted transactions that the line contains, and the line itself.
        self._packed_lines: dict[bytes, tuple[object, bytes]] = {}
        # A function that is called with each refusal, encoded as JSON.
        self.on_refusal: Callable[[bytes], None] | None = None
        self._collector = OperationCollector(chain.state)
        self._is_watching = False
        self._irreversible = 0
        self._news = trio.Event()
        self._texts: dict[bytes, bytes] = {}
        self._texts_size = 0
        self.held_size = 0

    @property
    def count(self) -> int:
        """The number of subscriptions."""
        return sum(map(len, self._subscriptions.values()))

    @property
    def next_number(self) -> int:
        """The number that the next block will have."""
        return self._last() + 1

    # -------------------------------------------------------------- subscriptions and streams

    def session(self, take: Callable[[], bool], give_back: Callable[[], None]) -> Session:
        """Return the session of a new WebSocket."""
        return Session(self, take, give_back)

    def add(self, subscription: Subscription) -> None:
        """Register a subscription, so that it gets the notices of its topic."""
        kind = subscription.kind
        before = self._counts()
        self._subscriptions[kind][subscription] = None
        if kind is Topic.operations:
            for subscriptions in self._indexes_of(subscription):
                subscriptions[subscription] = None
        self._attach(before)

    def remove(self, subscription: Subscription) -> None:
        """Unregister a subscription, so that it gets no more notices."""
        kind = subscription.kind
        before = self._counts()
        del self._subscriptions[kind][subscription]
        if kind is Topic.operations:
            for subscriptions in self._indexes_of(subscription):
                del subscriptions[subscription]
            for name in subscription.filter.accounts:
                if not self._by_account[name]:
                    del self._by_account[name]
        self._attach(before)

    def _indexes_of(self, subscription: Subscription) -> list[dict[Subscription, None]]:
        """Return the dicts in which a subscription to operations is registered: one for each account of its filter, or the dict for all
        accounts.
        """
        accounts = subscription.filter.accounts
        return [self._by_account.setdefault(name, {}) for name in accounts] if accounts else [self._of_all_accounts]

    @contextmanager
    def stream(self, first: int, *, irreversible: bool, packed: bool = False) -> Iterator[BlockStream]:
        """Context manager that opens a stream of the blocks from number `first` on, and closes it on exit. Blocks up to the base of the
        chain are skipped.
        """
        last, line = (lambda: self._chain.irreversible) if irreversible else self._last, self._packed_line if packed else self._line
        stream = BlockStream(max(first, self._chain.base + 1), last, line, has_before=packed)
        before = self._counts()
        self._streams.add(stream)
        if packed:
            self._packed_streams.add(stream)
        self._attach(before)
        try:
            yield stream
        finally:
            before = self._counts()
            self._streams.discard(stream)
            self._packed_streams.discard(stream)
            self._attach(before)

    def header(self, first: int) -> bytes:
        """Return the first line of a packed stream."""
        return encode_line(stream_header(self._chain, first)) + b"\n"

    def heartbeat(self) -> bytes:
        """Return a line with the number of the head block, for packed streams."""
        return encode_line(Heartbeat(self._last(), self._is_stale())) + b"\n"

    async def wait_head_change(self) -> None:
        """Wait until the head changes or the node stops."""
        await self._news.wait()

    def close(self) -> None:
        """End all streams because the node is stopping."""
        for stream in self._streams:
            stream.end(STOPPING)
        self._wake()

    # -------------------------------------------------------------- attaching to the chain

    def _counts(self) -> tuple[bool, bool, bool]:
        """Return three flags: whether there are any subscriptions or streams, any subscriptions to operations, any subscriptions to
        transactions.
        """
        subscriptions = self._subscriptions
        return (
            bool(self._streams) or any(subscriptions.values()),
            any(subscriptions[kind] for kind in _OF_OPERATIONS),
            any(subscriptions[kind] for kind in _OF_TRANSACTIONS),
        )

    def _attach(self, before: tuple[bool, bool, bool]) -> None:
        """Attach the chain listeners that have become necessary, and detach those that are no longer necessary. `before` are the needs
        until now.
        """
        listeners, moved, sidecars = self._chain.state.listeners, self._chain.on_head_change, self._chain.sidecars
        was_any, was_operations, was_transactions = before
        is_any, is_operations, is_transactions = self._counts()
        if is_any and not was_any:
            self._irreversible = self._chain.irreversible
            moved.append(self._on_head_change)
            sidecars.on_added.append(self._on_edit_added)
            sidecars.on_restored.append(self._on_edits_restored)
        elif was_any and not is_any:
            moved.remove(self._on_head_change)
            sidecars.on_added.remove(self._on_edit_added)
            sidecars.on_restored.remove(self._on_edits_restored)
            self._packed_lines.clear()
            self._texts.clear()
            self._texts_size = 0
        if is_operations and not was_operations:
            self._collector.attach()
        elif was_operations and not is_operations:
            self._collector.detach()
        if is_transactions and not was_transactions:
            # Appended last, so that no other listener can refuse the transaction after its notice has been sent.
            listeners.after_transaction.append(self._on_transaction)
        elif was_transactions and not is_transactions:
            listeners.after_transaction.remove(self._on_transaction)

    # -------------------------------------------------------------- events

    def _on_head_change(self, change: HeadChange) -> None:
        """Publish a head change. Exceptions are logged and not raised, so that a bug here can't make the chain refuse the block."""
        try:
            if change.popped:
                for stream in self._streams:
                    stream.undo(change.popped[-1].number)
            self._notify(change)
        except Exception:
            _log.exception("a notice could not be made")
            for session in {subscription.session for subscriptions in self._subscriptions.values() for subscription in subscriptions}:
                session.disconnect_slow(BROKEN)
        self._wake()

    def _on_edit_added(self, block_id: bytes, edit: StateEdit) -> None:
        """Send a block to the packed streams again, because a state edit was added to it."""
        for stream in self._packed_streams:
            stream.resend_from(block_number(block_id))
        self._wake()

    def _on_edits_restored(self, number: int) -> None:
        """Undo the blocks from `number` on in the packed streams, and send them again, because their state edits have changed."""
        for stream in self._packed_streams:
            stream.undo(number)
        self._wake()

    def _wake(self) -> None:
        """Wake the tasks that wait for the next head change."""
        if self._streams:
            self._news.set()
            self._news = trio.Event()

    def _notify(self, change: HeadChange) -> None:
        subscriptions = self._subscriptions
        operations = self._collector.take()
        if change.popped and (subscriptions[Topic.blocks] or subscriptions[Topic.operations]):
            # One notice for all popped blocks, since restoring a savepoint can undo a whole chain.
            undone = _undone(change.popped[-1].number, change.popped[0].number)
            self._give((*subscriptions[Topic.blocks], *subscriptions[Topic.operations]), undone)
        for block in change.applied:
            if subscriptions[Topic.headers]:
                header = self._wire.header_to_json(block, legacy=True) | {"witness_signature": block.witness_signature.hex()}
                self._give(subscriptions[Topic.headers], SharedNotice(b"", encoded(header)))
            if subscriptions[Topic.blocks]:
                self._give(subscriptions[Topic.blocks], self._shared(block))
            for record in operations.get(block.number, ()):
                self._notify_operation(record)
        self._notify_irreversible()

    def _notify_operation(self, record: OperationRecord) -> None:
        cls = type(record.operation)
        # A dict, since an operation can touch several accounts of one subscription.
        candidates = dict(self._of_all_accounts)
        if self._by_account:
            for name in impacted(self._chain.state, record.operation):
                candidates.update(self._by_account.get(name, {}))
        wanted = [subscription for subscription in candidates if not subscription.filter.classes or cls in subscription.filter.classes]
        if wanted:
            self._give(wanted, SharedNotice(b"operation", encoded(self._show_operation(record))))

    def _notify_irreversible(self) -> None:
        before = self._irreversible
        now = min(self._chain.irreversible, before + IRREVERSIBLE_AT_ONCE_MAX)
        self._irreversible = now
        wanted = self._subscriptions[Topic.irreversible_blocks]
        if not wanted:
            return
        if now < before:
            self._give(wanted, _undone(now + 1, before))
        for number in range(before + 1, now + 1):
            block = self._chain.block_by_number(number)
            assert block is not None
            self._give(wanted, self._shared(block))

    def _on_transaction(self, state: State, trx: SignedTransaction) -> None:
        """Publish a transaction that a client pushed. Ignore a pending transaction that is only reapplied, as it is already published."""
        if not state.is_pushing:
            return
        try:
            if self._subscriptions[Topic.transactions]:
                shown = self._wire.transaction_to_json(trx) | {"transaction_id": trx.id.hex()}
                self._give(self._subscriptions[Topic.transactions], SharedNotice(b"transaction", encoded(shown)))
            if self._subscriptions[Topic.pending]:
                self._give(self._subscriptions[Topic.pending], SharedNotice(b"", encoded(self._wire.transaction_to_json(trx, legacy=True))))
        except Exception:
            _log.exception("a notice could not be made")

    def refused(self, trx: SignedTransaction | None, error: ChainError, explanation: Explanation | None) -> None:
        """Publish the refusal of a client's transaction. `trx` is None if the transaction couldn't be parsed."""
        if self._subscriptions[Topic.refusals] or self.on_refusal is not None:
            self.notify_refusal(self._refusal(trx, error, explanation))

    def notify_refusal(self, refusal_json: bytes) -> None:
        """Publish a refusal that is already encoded as JSON."""
        self._give(self._subscriptions[Topic.refusals], SharedNotice(b"refusal", refusal_json))
        if self.on_refusal is not None:
            self.on_refusal(refusal_json)

    def _refusal(self, trx: SignedTransaction | None, error: ChainError, explanation: Explanation | None) -> bytes:
        refusal = {
            "time": time_text(self._clock() // 1000 % WORD32),
            "head_block_number": self._chain.state.props.head_block_number,
            "id": None if trx is None else trx.id.hex(),
            "transaction": None if trx is None else self._wire.transaction_to_json(trx),
            "message": error.message(self._wire.spec.spell),
            "explain": explanation,
        }
        return encoded(refusal)

    # -------------------------------------------------------------- texts

    def _give(self, subscriptions: Iterable[Subscription], shared: SharedNotice) -> None:
        # A list, since disconnecting a session can end subscriptions.
        for subscription in list(subscriptions):
            subscription.session.put(subscription, shared)
        while self.held_size > HELD_SIZE_MAX:
            sessions = {subscription.session for each in self._subscriptions.values() for subscription in each}
            max(sessions, key=lambda session: session.size).disconnect_slow(FULL)

    def hold(self, shared: SharedNotice) -> None:
        """Count a notice that was added to a queue. The text is counted only once, however many queues contain the notice."""
        self.held_size += ENTRY_SIZE if shared.holders else ENTRY_SIZE + len(shared.data)
        shared.holders += 1

    def drop(self, shared: SharedNotice) -> None:
        """Stop counting a notice that was removed from a queue. The text is counted until no queue contains the notice."""
        shared.holders -= 1
        self.held_size -= ENTRY_SIZE if shared.holders else ENTRY_SIZE + len(shared.data)

    def _last(self) -> int:
        return self._chain.state.props.head_block_number

    def _shared(self, block: SignedBlock) -> SharedNotice:
        return SharedNotice(b"block", self._text(block))

    def _line(self, number: int) -> bytes | None:
        """Return the line of a block for a stream, or None if the node doesn't have the block."""
        block = self._chain.block_by_number(number)
        if block is None:
            return None
        if block.size > LARGE_SIZE and block.id not in self._texts:
            shown: Any = large_blocks(self._wire).shown(block.id, lambda: block, False)
            return numbered(block, shown) + b"\n"
        return self._text(block) + b"\n"

    def _packed_line(self, number: int) -> bytes | None:
        """Return the line of a block for a packed stream, or None if the node doesn't have the block. Lines of new blocks are cached."""
        block = self._chain.block_by_number(number)
        if block is None:
            return None
        added = self._chain.sidecars.edits_of(block.id), self._chain.sidecars.accepted_of(block.id)
        known, line = self._packed_lines.get(block.id, (None, b""))
        if known != added:
            line = encode_line(new_block(self._chain, block)) + b"\n"
            if number > self._last() - TEXTS_KEPT_MAX and len(line) <= TEXTS_KEPT_SIZE_MAX // TEXTS_KEPT_MAX:
                self._packed_lines[block.id] = added, line
                if len(self._packed_lines) > TEXTS_KEPT_MAX:
                    del self._packed_lines[next(iter(self._packed_lines))]
        return line

    def _text(self, block: SignedBlock) -> bytes:
        """Return the JSON of a block. The JSON of new blocks is cached."""
        text = self._texts.get(block.id)
        if text is None:
            text = numbered(block, self._whole(block))
            if block.number > self._last() - TEXTS_KEPT_MAX:
                self._keep(block.id, text)
        return text

    def _whole(self, block: SignedBlock) -> bytes:
        """Encode a block as JSON, without its number. For a large block this spends units of work, so that the job can be interrupted."""
        if block.size <= LARGE_SIZE:
            return encoded(block_json(self._wire, block, legacy=False))
        steps = encode_in_steps(self._wire, lambda: block, False)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return bytes(end.value)
            self._chain.state.work.spend(SLICE_UNITS, "blocks for subscribers")

    def _keep(self, block_id: bytes, text: bytes) -> None:
        self._texts[block_id] = text
        self._texts_size += len(text)
        while len(self._texts) > TEXTS_KEPT_MAX or self._texts_size > TEXTS_KEPT_SIZE_MAX:
            oldest = next(iter(self._texts))
            self._texts_size -= len(self._texts.pop(oldest))


def numbered(block: SignedBlock, shown: bytes | Raw) -> bytes:
    """Insert the number of a block into its JSON as the first member."""
    return b'{"block_num":%d,' % block.number + bytes(shown)[1:]


def _undone(first: int, last: int) -> SharedNotice:
    return SharedNotice(b"undone", encoded(BlocksRemoved(first, last)))
