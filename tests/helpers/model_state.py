"""A hypothesis state machine: random sequences of operations, blocks and undone blocks on the chain of a recorded case.

After each sequence all blocks are undone, so that the next sequence starts from the same state. The state digest verifies this.
"""

import struct
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from msgspec import structs

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.invariants import validate_invariants
from state.chain.production import select_transactions
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.errors import ChainError
from state.protocol.keys.keys import secret_from_seed
from state.protocol.operation import Operation
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from state.protocol.values.asset import Asset
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.chains import UNSIGNED

CASE, HEIGHT = "walk_random", 400
BLOCKS_MAX = 12  # of a sequence; few enough that none becomes irreversible
OPERATIONS_MAX = 3  # in a transaction
MISSED_MAX = 40
LIFETIME = 60
SKIP = UNSIGNED | Skip.WITNESS_SIGNATURE
SECRET = secret_from_seed("init_key")
NUMBERS = (0, 1, -1, 2, 100, 1000, 10_000, 10_001, -10_000, 2**15 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1)

Edits = list[tuple[int, int]]
EDITS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2**16)), max_size=2)


class ModelState:
    """The chain, a pool of recorded operations, and the number of times that the sequences took each kind of step."""

    def __init__(self) -> None:
        player = Player(CASES / CASE)
        found: dict[type[Operation], list[Operation]] = {}
        for block in player.blocks():
            for trx in block.transactions:
                for operation in trx.operations:
                    found.setdefault(type(operation), []).append(operation)
        # A few of each class, in order of appearance, so that all classes are equally likely.
        self.pool = [each for operations in found.values() for each in operations[:: max(1, len(operations) // 4)][:4]]
        player.advance(HEIGHT)
        self.chain: Chain = player.chain
        self.chain.clear_pending()
        self.names = [account.name for account in self.chain.state.accounts]
        self.base = self.chain.state.props.head_block_number
        self.digest = state_digest(self.chain.state)
        self.pushed = self.accepted = self.blocks = 0
        assert self.chain.state.props.last_irreversible_block_num < self.base
        assert len(found) > 30
        assert len(self.names) > 5


# At most one state for the next sequence to reuse. A failed sequence doesn't return its state.
FREE: list[ModelState] = []


class Sequences(RuleBasedStateMachine):
    """Pushes operations, makes blocks, undoes them and applies them again."""

    def __init__(self) -> None:
        super().__init__()
        self.world = FREE.pop() if FREE else ModelState()
        self.chain = self.world.chain
        self.digests = {self.chain.state.props.head_block_id: self.world.digest}
        self.popped: list[SignedBlock] = []

    @rule(indices=st.lists(st.integers(0, 2**16), min_size=1, max_size=OPERATIONS_MAX), edits=EDITS)
    def push(self, indices: list[int], edits: Edits) -> None:
        """Push a transaction of recorded operations with mutated fields. A refused transaction must change nothing."""
        pool = self.world.pool
        operations = [edited(pool[index % len(pool)], edits, self.world.names) for index in indices]
        state = self.chain.state
        journal, waiting = state.journal.position(), len(self.chain.pending)
        self.world.pushed += len(operations)
        trx = as_sent(state.wire, SignedTransaction(expiration=state.head_time + LIFETIME, operations=tuple(operations)))
        if trx is None:
            return
        try:
            self.chain.push_transaction(trx, UNSIGNED)
        except ChainError:
            assert len(self.chain.pending) == waiting
            assert state.journal.position() == journal
            return
        self.world.accepted += 1

    @rule(missed=st.integers(0, MISSED_MAX))
    def make_block(self, missed: int) -> None:
        """Make a block of the pending transactions."""
        if self._height() >= BLOCKS_MAX:
            return
        state = self.chain.state
        # The block accepts pending transactions without applying them again. It must choose the same ones as a full trial.
        waiting = self.chain.pool.undo()
        witness, when = scheduled_witness(state, missed + 1), slot_time(state, missed + 1)
        found = select_transactions(state, waiting, when, witness, 100, SKIP)
        self.chain.pool.apply_again(waiting, SKIP)
        assert list(self.chain.pending) == list(waiting)
        block = self.chain.generate_block(when, witness, SECRET, SKIP)
        assert block.transactions == found
        self.world.blocks += 1
        self._note_head()
        self.popped = []

    @rule()
    def pop_block(self) -> None:
        """Undo the head block, which must restore the earlier state."""
        head = self.chain.head
        if self._height() == 0 or head is None:
            return
        self.chain.pop_block()
        self.chain.clear_pending()
        self.popped.append(head)
        assert state_digest(self.chain.state) == self.digests[self.chain.state.props.head_block_id]

    @rule()
    def apply_again(self) -> None:
        """Apply an undone block again as if a peer had sent it, with all checks. The state must be the same as the first time."""
        if self.popped:
            self.chain.push_block(self.popped.pop(), SKIP)
            self.chain.clear_pending()
            assert state_digest(self.chain.state) == self.digests[self.chain.state.props.head_block_id]

    @rule()
    def check(self) -> None:
        """Check the supplies and the tables of the chain."""
        validate_invariants(self.chain.state)
        for _, table in self.chain.state.tables():
            table.check()

    def teardown(self) -> None:
        """Undo all blocks of the sequence."""
        self.check()
        while self._height():
            self.chain.pop_block()
        self.chain.clear_pending()
        assert state_digest(self.chain.state) == self.world.digest
        FREE.append(self.world)

    def _height(self) -> int:
        return self.chain.state.props.head_block_number - self.world.base

    def _note_head(self) -> None:
        """Record the state digest of the head, without pending transactions."""
        self.chain.clear_pending()
        self.digests[self.chain.state.props.head_block_id] = state_digest(self.chain.state)


def as_sent(wire: Wire, trx: SignedTransaction) -> SignedTransaction | None:
    """Encode and decode a transaction; None if its values can't be encoded."""
    try:
        return wire.unpack_transaction(wire.pack_transaction(wire.seal(trx)))
    except (ChainError, struct.error, ValueError, OverflowError, KeyError, AttributeError):
        return None


def edited(operation: Operation, edits: Edits, names: list[str]) -> Operation:
    """Return an operation with some fields changed."""
    fields = operation.__struct_fields__
    for place, number in edits:
        if fields:
            name = fields[place % len(fields)]
            operation = structs.replace(operation, **{name: other_value(getattr(operation, name), number, names)})
    return operation


def other_value(value: Any, number: int, names: list[str]) -> Any:
    """Return a different value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return NUMBERS[number % len(NUMBERS)]
    if isinstance(value, str):
        return [*names, "", "no-one", "x" * 300][number % (len(names) + 3)]
    if isinstance(value, Asset):
        return structs.replace(value, amount=NUMBERS[number % len(NUMBERS)])
    if isinstance(value, tuple):
        return () if number % 2 else value + value
    return value
