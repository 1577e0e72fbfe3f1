"""Encodes the tail of a chain for a dump: the reversible blocks, their state edits and the pending transactions.

image.py encodes the state at the last irreversible block. Fork branches are not part of a dump.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import MsgspecError, Struct, msgpack

from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.chain.savepoints import blocks_between
from state.chain.skip import TRUSTED, Skip
from state.chain.state_edits import read_edit, write_edit
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.snapshot.image import Open, SnapshotHeader, restore
from state.store.columns import CorruptData
from state.store.rows import run_steps

# Checks that are skipped for blocks and transactions, because the dumped chain has already made them. Of the flags that a block was applied
# with, only those in KEPT_FLAGS matter: they decide whether the state has records of the block's transactions.
CHECKED = TRUSTED | Skip.UNDO_HISTORY_CHECK
KEPT_FLAGS = Skip.TRANSACTION_DUPE_CHECK


class ReversibleBlock(Struct, frozen=True, array_like=True):
    """A reversible block, its state edits, and the skip flags with which to apply it again."""

    packed: bytes
    edits: list[bytes]
    skip: int


class ChainTail(Struct, frozen=True):
    """The part of a chain after its last irreversible block.

    `popped` are transactions of popped blocks. `accepted` are the ids of transactions accepted through impersonation.
    """

    blocks: list[ReversibleBlock]
    pending: list[bytes]
    popped: list[bytes]
    accepted: list[bytes]


def chain_tail(chain: Chain) -> bytes:
    """Encode the part of a chain after its last irreversible block (`ChainTail`)."""
    wire, accepted = chain.state.wire, chain.state.impersonated.accepted
    blocks, transactions = [], [*chain.pending, *chain.pool.popped]
    for number, _, skip in chain.main_branch.positions:
        block = chain.block_by_number(number)
        assert block is not None, "a reversible block is on the main branch"
        edits = [write_edit(edit) for edit in chain.sidecars.edits_of(block.id)]
        blocks.append(ReversibleBlock(wire.pack_block(block), edits, skip & KEPT_FLAGS))
        transactions += block.transactions
    rest = ChainTail(
        blocks=blocks,
        pending=[wire.pack_transaction(trx) for trx in chain.pending],
        popped=[wire.pack_transaction(trx) for trx in chain.pool.popped],
        accepted=sorted({trx.id for trx in transactions if trx.id in accepted}),
    )
    return msgpack.encode(rest)


@contextmanager
def rewound(chain: Chain) -> Iterator[None]:
    """Rewind a chain to its last irreversible block, and restore it afterwards, unless it is disposable."""
    now = None if chain.is_disposable else chain.savepoint()
    try:
        chain.rewind()
        yield
    finally:
        if now is not None:
            chain.restore(now)


@contextmanager
def one_move(chain: Chain) -> Iterator[None]:
    """Combine all head changes inside this context into one call of the listeners, with the blocks between the old and the new head.

    If state edits have changed, the listeners of restored sidecars are called as well.
    """
    before, listeners = chain.branch(), chain.main_branch.on_head_change
    edits, on_restored = chain.sidecars.edits.copy(), chain.sidecars.on_restored
    chain.main_branch.on_head_change, chain.sidecars.on_restored = [], []
    try:
        with chain.irreversible_blocks.without_log():
            yield
    finally:
        chain.main_branch.on_head_change, chain.sidecars.on_restored = listeners, on_restored
        chain.sidecars.compare(edits)
        popped, applied, same = blocks_between(before, chain.branch(), chain.state.wire)
        if popped or applied:
            chain.irreversible_blocks.call(listeners, HeadChange(popped, applied), same)


def restore_all(chain: Chain, head: SnapshotHeader, open_section: Open, blocks: Iterable[SignedBlock], rest: bytes) -> None:
    """Restore a dump. `blocks` are all blocks up to that of the snapshot, and `rest` is the result of `chain_tail`.

    Raises CorruptData and leaves the chain unchanged if the dump is invalid.
    """
    state, packed = chain.state, linked(chain, head, blocks)
    now = run_steps(chain.savepoint_in_steps(), state.journal.on_undone)
    with one_move(chain):
        try:
            found = msgpack.decode(rest, type=ChainTail)
            # The blocks of the old chain are not undone, because the savepoint contains the whole chain.
            chain.clear_pending()
            state.journal.commit(state.journal.position())
            older = dict(enumerate(packed, chain.base + 1)).get
            for deferred in restore(chain, head, open_section, older):
                while deferred.step():
                    state.journal.on_undone()
            for trx_id in found.accepted:
                state.impersonated.accept(trx_id)
            for each in found.blocks:
                block = state.wire.unpack_block(each.packed)[0]
                chain.plan_edits(block.id, [read_edit(edit) for edit in each.edits])
                chain.push_block(block, CHECKED | each.skip & KEPT_FLAGS)
                if state.props.head_block_id != block.id:
                    raise CorruptData(f"its block {block.number} doesn't extend the previous block")
            chain.pool.apply_again(read_transactions(chain, found.pending), CHECKED)
            chain.pool.popped.extend(read_transactions(chain, found.popped))
        except ChainError as error:
            chain.restore(now)
            raise CorruptData(f"its content is refused: {error.message(state.spec.spell)}") from None
        except (MsgspecError, ValueError) as error:
            chain.restore(now)
            raise CorruptData(str(error)) from None
        except BaseException:
            chain.restore(now)
            raise
    now.state.discard()


def linked(chain: Chain, head: SnapshotHeader, blocks: Iterable[SignedBlock]) -> list[bytes]:
    """Return the blocks as bytes. Raises CorruptData unless they form a chain from the first one to the block of the snapshot."""
    state, packed = chain.state, list[bytes]()
    last = state.spec.base.block_id
    for number, block in enumerate(blocks, chain.base + 1):
        if block.previous != last:
            raise CorruptData(f"its block {number} doesn't extend the previous block")
        last = block.id
        packed.append(state.wire.pack_block(block))
        state.journal.on_undone()
    if last.hex() != head.block_id or chain.base + len(packed) != head.number:
        raise CorruptData(f"its blocks don't end with block {head.number}")
    return packed


def read_transactions(chain: Chain, packed: list[bytes]) -> list[SignedTransaction]:
    """Decode transactions. Raises ChainError."""
    return [chain.state.wire.unpack_transaction(data) for data in packed]
