"""Assembles a signed block from pending transactions, without changing the state. Source: block-processing.md §4.3, §4.4."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from state.chain.actions import select_actions
from state.chain.pending import FairOrder
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time
from state.chain.transactions import apply_transaction, canonical_rule
from state.operations.accounts import ClaimAccount
from state.operations.mining import Pow, Pow2
from state.operations.smt.tokens import SmtCreate
from state.protocol.codec.kinds import Tagged
from state.protocol.constants import COIN_100_PERCENT, COIN_MAX_BLOCK_SIZE
from state.protocol.errors import ChainError, UnreadableBlock, require
from state.protocol.keys.keys import public_key
from state.protocol.keys.signatures import sign
from state.protocol.operation import Operation
from state.protocol.transaction import HARDFORK_VOTE, VERSION_REPORT, HardforkVote, SignedBlock, SignedTransaction, merkle_root
from state.protocol.work import BLOCK_UNITS_MAX
from state.tables import State
from state.tables.witnesses import Witness

# The checks that block assembly has just made on the same state. Applying the block skips them, which saves recovering every signing
# key again. The duplicate check is not skipped, because it also inserts the records that refuse the same transaction later. Block 1
# gets all checks, because it begins with the hardforks of genesis and was assembled under other rules.
CHECKED_AT_HEAD = (
    Skip.WITNESS_SIGNATURE
    | Skip.WITNESS_SCHEDULE_CHECK
    | Skip.TRANSACTION_SIGNATURES
    | Skip.AUTHORITY_CHECK
    | Skip.VALIDATE
    | Skip.MERKLE_CHECK
    | Skip.TAPOS_CHECK
)
# Operations that can be accepted when they are pushed but refused in a block, because they depend on the block's producer or do less when
# pushed. For all other operations, the checks of a push have been at least as strict as those of a block since hardfork 21.
BY_PRODUCER: frozenset[type[Operation]] = frozenset((ClaimAccount, Pow, Pow2, SmtCreate))
POOL_IS_STRICT_SINCE = 21
SECRETS_KEPT_MAX = 64
COUNT_SIZE = 4  # the reference's allowance for the packed number of transactions


def assemble_block(
    state: State,
    waiting: Sequence[SignedTransaction],
    when: int,
    name: str,
    secret: bytes,
    skip_flags: int = Skip.NOTHING,
    out_of_time: Callable[[], bool] = lambda: False,
    are_tried: bool = False,
    own: Sequence[SignedTransaction] = (),
) -> SignedBlock:
    """Return a signed block for a slot. It contains the producer's `own` transactions if there are any, otherwise the pending transactions
    that can be applied and fit.

    `when` must be in a slot of the witness, and `secret` must be the private key of its signing key. Once `out_of_time` returns True, the
    first refused transaction ends the selection. `are_tried` means that all transactions have been applied in order on this head, with at
    least the checks that are made here.
    """
    slot = slot_at_time(state, when)
    require(slot > 0, condition="slot_num > 0")
    require(scheduled_witness(state, slot) == name, condition="scheduled_witness == witness_owner")
    witness = state.witness(name)
    if not skip_flags & Skip.WITNESS_SIGNATURE:
        require(
            witness.signing_key == _public_key(secret), condition="witness_obj.signing_key == block_signing_private_key.get_public_key()"
        )
    block = SignedBlock(previous=state.props.head_block_id, timestamp=when, witness=name, extensions=header_extensions(state, witness))
    wire = state.wire
    # `seal_block` runs up to twice before the block is signed. The size of the empty block decides how many transactions fit, the
    # transactions determine the merkle root and the digest, and the id includes the signature.
    size = wire.seal_block(block).size + COUNT_SIZE
    if own:
        block.transactions = tuple(own)
    elif waiting and are_tried and all_selectable(state, waiting, when, size):
        block.transactions = tuple(waiting)
    else:
        block.transactions = select_transactions(state, waiting, when, name, size, skip_flags, out_of_time)
    actions = select_actions(state, when, size + sum(trx.size for trx in block.transactions))
    if block.transactions or actions:
        block.extensions += actions
        block.transaction_merkle_root = merkle_root(block.transactions)
        wire.seal_block(block)
    if not skip_flags & Skip.WITNESS_SIGNATURE:
        wire.sign_block(block, sign(secret, block.digest, canonical_rule(state)))
    if not skip_flags & Skip.BLOCK_SIZE_CHECK:
        require(block.size <= COIN_MAX_BLOCK_SIZE, condition="fc::raw::pack_size(pending_block) <= COIN_MAX_BLOCK_SIZE")
    return block


@lru_cache(SECRETS_KEPT_MAX)
def _public_key(secret: bytes) -> bytes:
    """Return the public key of a producer's secret. Cached, since a producer signs many blocks."""
    return public_key(secret)


def header_extensions(state: State, witness: Witness) -> tuple[Tagged, ...]:
    """Return the version report, if it differs from the witness's last one, and the vote for the next known hardfork.

    A vote for a hardfork that this node doesn't have is withdrawn.
    """
    constants, hardforks = state.spec.constants, state.hardforks
    versions, times = state.spec.hardfork_versions, state.hardfork_times
    out = []
    if witness.running_version != constants.COIN_BLOCKCHAIN_VERSION:
        out.append(Tagged(VERSION_REPORT, constants.COIN_BLOCKCHAIN_VERSION))
    newest = constants.COIN_BLOCKCHAIN_HARDFORK_VERSION
    vote = (witness.hardfork_version_vote, witness.hardfork_time_vote)
    last = hardforks.last_hardfork
    if hardforks.current_hardfork_version < newest and last + 1 < len(versions):
        if vote != (versions[last + 1], times[last + 1]):
            out.append(Tagged(HARDFORK_VOTE, HardforkVote(versions[last + 1], times[last + 1])))
    elif hardforks.current_hardfork_version == newest and witness.hardfork_version_vote > newest:
        out.append(Tagged(HARDFORK_VOTE, HardforkVote(versions[last], times[last])))
    return tuple(out)


def all_selectable(state: State, waiting: Sequence[SignedTransaction], when: int, size: int) -> bool:
    """Whether `select_transactions` would take all these transactions, which have been applied on the head.

    If so, they need not be undone and applied again, which takes as long as applying the block.
    """
    return (
        state.hardfork >= POOL_IS_STRICT_SINCE
        and state.props.head_block_number > 0
        and not state.impersonated.is_on
        and not is_crowded(waiting, block_room(state) - size)
        and all(trx.expiration >= when and BY_PRODUCER.isdisjoint(map(type, trx.operations)) for trx in waiting)
    )


def block_room(state: State) -> int:
    """Return the exclusive upper bound of a block's size. The part reserved for required actions is subtracted while any are queued."""
    most = state.props.maximum_block_size
    if not len(state.required_actions):
        return most
    return most - most * state.props.required_actions_partition_percent // COIN_100_PERCENT


def is_crowded(waiting: Sequence[SignedTransaction], room: int) -> bool:
    """Whether the transactions exceed `room` bytes or this node's work limit for a block."""
    return sum([trx.size for trx in waiting]) >= room or sum([trx.units for trx in waiting]) > BLOCK_UNITS_MAX


def select_transactions(
    state: State,
    waiting: Sequence[SignedTransaction],
    when: int,
    name: str,
    size: int,
    skip_flags: int = Skip.NOTHING,
    out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[SignedTransaction, ...]:
    """Return the transactions that can be applied on the head and fit into a block's size and this node's work limit.

    If all fit, they keep their order of arrival. Otherwise the order is fair (`FairOrder`). Once `out_of_time` returns True, the first
    refused transaction ends the selection, since any number of transactions can depend on one that doesn't fit. Soft rules are not checked.
    """
    waiting = [trx for trx in waiting if trx.expiration >= when]
    if not waiting:
        return ()
    partition = block_room(state)
    journal = state.journal
    start = journal.position()
    chosen: list[SignedTransaction] = []
    units = 0
    order = FairOrder(waiting, partition) if is_crowded(waiting, partition - size) else None
    try:
        if state.hardfork >= 20:
            # Claims of free accounts use the producer's own pool, as they will when the block is applied.
            state.set_props(current_witness=name)
        for trx in waiting if order is None else order:
            if size + trx.size >= partition or (units + trx.units > BLOCK_UNITS_MAX and chosen):
                continue
            mark = journal.position()
            try:
                apply_transaction(state, trx, skip_flags)
            except (ChainError, UnreadableBlock):
                journal.undo(mark)
                # Only refusals check the time. Transactions that can be applied and fit are in the block even on a slow machine.
                if out_of_time():
                    break
                continue
            if order is not None:
                order.take()
            chosen.append(trx)
            size += trx.size
            units += trx.units
    finally:
        journal.undo(start)
    return tuple(chosen)
