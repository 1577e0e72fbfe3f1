"""A chain at its very moment: beside the state at the last irreversible block the blocks after it, their edits, and what waits.

What stands in a snapshot is written by image.py; here is the rest. Other branches are left out. Nothing is known of files.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import MsgspecError, Struct, msgpack

from state.chain.chain import Chain
from state.chain.checkpoints import blocks_between
from state.chain.edits import read_edit, write_edit
from state.chain.moves import Move
from state.chain.skip import TRUSTED, Skip
from state.protocol.errors import ChainError
from state.protocol.transaction import ZERO_ID, SignedTransaction
from state.snapshot.image import Head, Open, restore
from state.store.columns import Unreadable

# Left out for blocks and transactions that the chain of the dump has checked. Of the flags with which a block was applied one is kept:
# it decides whether there are records of the transactions.
CHECKED = TRUSTED | Skip.UNDO_HISTORY_CHECK
KEPT_FLAGS = Skip.TRANSACTION_DUPE_CHECK


class Reversible(Struct, frozen=True, array_like=True):
    """A block that can be undone, with its edits and the flags that count."""

    packed: bytes
    edits: list[bytes]
    skip: int


class Rest(Struct, frozen=True):
    """What a chain holds beyond its last irreversible block.

    `accepted` are the transactions in it that impersonation has let in, `popped` those of popped blocks.
    """

    blocks: list[Reversible]
    pending: list[bytes]
    popped: list[bytes]
    accepted: list[bytes]


def rest_of(chain: Chain) -> bytes:
    """Return what a chain holds beyond its last irreversible block, as bytes."""
    wire, accepted = chain.state.wire, chain.state.impersonated.accepted
    blocks, transactions = [], [*chain.pending, *chain.popped]
    for number, _, skip in chain.reversible:
        block = chain.block_by_number(number)
        assert block is not None, "a block that can be undone is on the main branch"
        edits = [write_edit(edit) for edit in chain.sidecars.edits_of(block.id)]
        blocks.append(Reversible(wire.pack_block(block), edits, skip & KEPT_FLAGS))
        transactions += block.transactions
    rest = Rest(
        blocks=blocks,
        pending=[wire.pack_transaction(trx) for trx in chain.pending],
        popped=[wire.pack_transaction(trx) for trx in chain.popped],
        accepted=sorted({trx.id for trx in transactions if trx.id in accepted}),
    )
    return msgpack.encode(rest)


@contextmanager
def rewound(chain: Chain) -> Iterator[None]:
    """Have a chain at its last irreversible block, for the time in which its state is written; afterwards it is where it was."""
    now = chain.checkpoint()
    try:
        chain.rewind()
        yield
    finally:
        chain.return_to(now)


@contextmanager
def one_move(chain: Chain) -> Iterator[None]:
    """Have the listeners of moves called once for all that happens, with the blocks between the head before and the head after it, and
    then those of restored sidecars, if edits have changed.
    """
    before, listeners = chain.branch(), chain.on_moved
    edits, on_restored = chain.sidecars.edits.copy(), chain.sidecars.on_restored
    chain.on_moved, chain.sidecars.on_restored = [], []
    try:
        with chain.settled.without_log():
            yield
    finally:
        chain.on_moved, chain.sidecars.on_restored = listeners, on_restored
        chain.sidecars.compare(edits)
        popped, applied, same = blocks_between(before, chain.branch(), chain.state.wire)
        if popped or applied:
            chain.settled.call(listeners, Move(popped, applied), same)


def restore_all(chain: Chain, head: Head, open_section: Open, blocks: list[bytes], rest: bytes) -> None:
    """Put a chain where another one was: `blocks` are all up to the head of the snapshot, `rest` is what `rest_of` has returned.

    Raises Unreadable, and then the chain is as it was before.
    """
    now, state = chain.checkpoint(), chain.state
    with one_move(chain):
        try:
            require_linked(chain, head, blocks)
            found = msgpack.decode(rest, type=Rest)
            # Nothing of the chain that was there has to be undone; the checkpoint holds all of it.
            chain.clear_pending()
            state.journal.cut(state.journal.mark())
            older = dict(enumerate(blocks, 1)).get
            for deferred in restore(chain, head, open_section, older):
                deferred.finish()
            for trx_id in found.accepted:
                state.impersonated.accept(trx_id)
            for each in found.blocks:
                block = state.wire.unpack_block(each.packed)[0]
                chain.plan_edits(block.id, [read_edit(edit) for edit in each.edits])
                chain.push_block(block, CHECKED | each.skip & KEPT_FLAGS)
                if state.props.head_block_id != block.id:
                    raise Unreadable(f"its block {block.number} doesn't follow the one before")
            chain.put_pending(read_transactions(chain, found.pending), read_transactions(chain, found.popped), CHECKED)
        except ChainError as error:
            chain.return_to(now)
            raise Unreadable(f"what it holds is refused: {error.message(state.spec.spell)}") from None
        except (MsgspecError, ValueError) as error:
            chain.return_to(now)
            raise Unreadable(str(error)) from None
        except BaseException:
            chain.return_to(now)
            raise


def require_linked(chain: Chain, head: Head, blocks: list[bytes]) -> None:
    """Raise Unreadable unless blocks follow each other from the first to the one that a snapshot was taken at."""
    wire, last = chain.state.wire, ZERO_ID
    for number, packed in enumerate(blocks, 1):
        block, end = wire.unpack_block(packed)
        if block.previous != last or end != len(packed):
            raise Unreadable(f"its block {number} doesn't follow the one before")
        last = block.id
    if last.hex() != head.block_id or len(blocks) != head.number:
        raise Unreadable(f"its blocks don't end with block {head.number}")


def read_transactions(chain: Chain, packed: list[bytes]) -> list[SignedTransaction]:
    """Return transactions from their bytes. Raises ChainError."""
    return [chain.state.wire.unpack_transaction(data) for data in packed]
