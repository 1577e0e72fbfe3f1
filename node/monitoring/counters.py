"""Counters of a node since its start, and its log lines about blocks and refusals.

Counting must be cheap, because every call and every block is counted. `metrics.py` formats the numbers on request. All keys are names from
the code. Text from clients never becomes a key, so the number of counters is bounded.
"""

import time
from bisect import bisect_left
from collections import Counter

from node.runtime.clock import Clock
from node.runtime.metric_families import DurationHistogram
from rpc.declare.errors import InvalidParameters, InvalidRequest, UpstreamError
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.protocol.errors import ChainError, fill
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.tables import State

# Upper bounds of the histogram buckets, in seconds.
CALL_BOUNDS = (0.001, 0.01, 0.1, 1.0, 10.0)
BLOCK_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
REASON_SIZE_MAX = 200
INTERNAL_ERROR = "internal_error"

Refusal = tuple[str, str]  # the refused method or operation, and the class of the refusal

_log = Log("chain")


class Counters:
    """Counts calls of the service (`observe`), pushed transactions and blocks (`pushed`), and, after `attach`, head changes of the
    chain.
    """

    def __init__(self, chain: Chain, clock: Clock) -> None:
        self._chain = chain
        self._clock = clock
        self._began = 0.0  # when the last block began to be applied
        self._missed = self._missed_before()
        self.calls: dict[str, DurationHistogram] = {}
        self.calls_refused: Counter[Refusal] = Counter()
        self.blocks_applied = self.blocks_popped = self.switches = self.slots_missed = 0
        self.blocks_refused: Counter[str] = Counter()
        self.transactions_applied = self.transactions_accepted = 0
        self.transactions_refused: Counter[Refusal] = Counter()
        self.block_seconds = DurationHistogram(BLOCK_BOUNDS)
        self.sync_seconds = DurationHistogram(BLOCK_BOUNDS)

    def attach(self) -> None:
        """Start counting blocks. The caller must have created the processor before, so that a block's time includes writing it to the
        log.
        """
        self._chain.state.listeners.before_block.append(self._begin)
        self._chain.on_head_change.append(self._on_head_change)

    # -------------------------------------------------------------- calls

    def observe(self, name: str, seconds: float, error: Exception | None) -> None:
        """Count a request by its method (`name`, "" for a request without a method), with its duration and the error of its reply."""
        found = self.calls.get(name)
        if found is None:
            found = self.calls[name] = DurationHistogram(CALL_BOUNDS)
        found.counts[bisect_left(CALL_BOUNDS, seconds)] += 1
        found.seconds += seconds
        if error is not None:
            self.calls_refused[name, reason_of(error)] += 1

    # -------------------------------------------------------------- pushes

    def pushed(self, item: SignedTransaction | SignedBlock, error: Exception | None) -> None:
        """Count a transaction or block from a client, and log its refusal. The logged `why` is constant text from the code, without
        values.
        """
        if isinstance(item, SignedBlock):
            if error is not None:
                self.blocks_refused[reason_of(error)] += 1
                _log.info("block refused", number=item.number, id=item.id.hex(), **self._words(error))
        elif error is None:
            self.transactions_accepted += 1
        else:
            operation = type(item.operations[0]).NAME if item.operations else ""
            self.transactions_refused[operation, reason_of(error)] += 1
            _log.info("transaction refused", id=item.id.hex(), operation=operation, **self._words(error))

    def _words(self, error: Exception) -> dict[str, str]:
        words = {"reason": reason_of(error), "why": "", "message": ""}
        if isinstance(error, ChainError):
            spell = self._chain.state.spec.spell
            words["why"] = spell(error.format)[:REASON_SIZE_MAX]
            words["message"] = fill(spell(error.text or error.condition), error.values, spell)[:REASON_SIZE_MAX]
        return words

    # -------------------------------------------------------------- blocks

    def _begin(self, state: State, block: SignedBlock) -> None:
        self._began = time.perf_counter()

    def _on_head_change(self, change: HeadChange) -> None:
        seconds = time.perf_counter() - self._began
        if change.applied:
            self.block_seconds.add(seconds)
        # For the first block of a chain, all slots since the genesis count as missed.
        missed, self._missed = self._missed, self._missed_before()
        self.slots_missed += 0 if missed is None or self._missed is None else max(0, self._missed - missed)
        self.blocks_applied += len(change.applied)
        self.blocks_popped += len(change.popped)
        self.transactions_applied += sum(len(block.transactions) for block in change.applied)
        if change.popped and change.applied:
            self.switches += 1
            _log.warning(
                "switched to another branch",
                blocks_undone=len(change.popped),
                blocks_applied=len(change.applied),
                old_head=change.popped[0].id.hex(),
                head=change.applied[-1].id.hex(),
            )
        for block in change.applied:
            self._show(block, seconds)

    def _missed_before(self) -> int | None:
        """Return the number of slots without a block before the head, or None at genesis."""
        props = self._chain.state.props
        return props.current_aslot - props.head_block_number if props.head_block_number else None

    def _show(self, block: SignedBlock, seconds: float) -> None:
        """Log a block with its delay after its slot. `seconds` is the time that applying it took."""
        _log.info(
            "block",
            number=block.number,
            witness=block.witness,
            transactions=len(block.transactions),
            bytes=block.size,
            ms=round(seconds * 1000, 1),
            lag=round(self._clock() / 1000 - block.timestamp, 1),
        )


def reason_of(error: Exception) -> str:
    """Return the class name of a refusal, or INTERNAL_ERROR for a bug. If a method wrapped the refusal, the inner class counts."""
    inner = getattr(error, "error", error)
    return type(inner).__name__ if isinstance(inner, (ChainError, InvalidParameters, InvalidRequest, UpstreamError)) else INTERNAL_ERROR
