"""Block steps that make a block the head: global properties, missed slots, irreversibility, summaries, expiries.

Source: block-processing.md §3.5-§3.8; rpc-api.md §6.10 for the reserve ratio.
"""

from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time
from state.effects.arithmetic import share
from state.effects.mana import update_manabar
from state.effects.operation_events import announce, complete, emit
from state.protocol import constants
from state.protocol.errors import require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import VESTS, Asset
from state.protocol.values.integers import WORD32
from state.protocol.virtual import ReturnVestingDelegation, ShutdownWitness
from state.tables import State
from state.tables.globals import BlockSummary

SLOTS_REMEMBERED = 128
ALL_SLOTS = 2**SLOTS_REMEMBERED - 1
RESERVE_RATIO_START = 200_000_000
RESERVE_RATIO_STEP = 10_000
RECORDS_OF_UNIT = 8  # transaction records removed per unit of work


def update_global_data(state: State, block: SignedBlock, skip_flags: int) -> None:
    """Count the missed slots, and make this block the head. From here on rules see its number and time."""
    props = state.props
    missed = slot_at_time(state, block.timestamp) - 1
    count_missed(state, missed, block.witness)
    # As in the reference, this block's bit is shifted in before the zeros of the slots missed before it.
    filled = (((props.recent_slots_filled << 1 | 1) & ALL_SLOTS) << min(missed, SLOTS_REMEMBERED)) & ALL_SLOTS
    state.global_properties.set_head(
        props,
        block.number,
        block.id,
        block.timestamp,
        props.current_aslot + missed + 1,
        filled,
        filled.bit_count(),
        *reserve_ratio(state, block),
    )
    if not skip_flags & Skip.UNDO_HISTORY_CHECK:
        require(
            props.head_block_number - props.last_irreversible_block_num < constants.COIN_MAX_UNDO_HISTORY,
            "The database does not have enough undo history to support a blockchain with so many missed blocks. Please add a "
            "checkpoint if you would like to continue applying blocks beyond this point.",
            condition="get_dynamic_global_properties().head_block_number - last_irreversible < COIN_MAX_UNDO_HISTORY",
        )


def count_missed(state: State, missed: int, producer: str) -> None:
    """Add the missed slots to the counters of their scheduled witnesses, except this block's producer.

    Whole rounds are counted at once, because a block can skip millions of slots.
    """
    if missed == 0:
        return
    schedule = state.schedule
    n = schedule.num_scheduled_witnesses
    rounds, rest = divmod(missed, n)
    counts: dict[str, int] = {}
    for i in range(min(n, missed)):
        name = scheduled_witness(state, i + 1)
        counts[name] = counts.get(name, 0) + rounds + (i < rest)
    counts.pop(producer, None)
    for name, count in counts.items():
        witness = state.witness(name)
        state.witnesses.modify(witness, total_missed=(witness.total_missed + count) % WORD32)
    if state.spec.constants.SHUT_DOWN_INACTIVE_WITNESSES and 14 <= state.hardfork < 20:
        # Hardforks 14 to 19, main build: a witness that misses a slot after a day without a block loses its signing key.
        before = state.props.head_block_number - constants.COIN_BLOCKS_PER_DAY
        shut_down(state, [name for name in counts if state.witness(name).last_confirmed_block_num < before], missed)


def shut_down(state: State, names: list[str], missed: int) -> None:
    """Remove the signing keys of witnesses, and emit a virtual operation for each slot that they missed, in slot order."""
    for name in names:
        state.witnesses.modify(state.witness(name), signing_key=NULL_KEY)
    for i in range(missed if names else 0):
        name = scheduled_witness(state, i + 1)
        if name in names:
            emit(state, ShutdownWitness(owner=name))


def reserve_ratio(state: State, block: SignedBlock) -> tuple[int, int, int]:
    """Return the new values of three global properties of release 0.20.2, which old clients still read: the average size of a block, the
    reserve ratio and the bandwidth. No rule uses them.
    """
    props = state.props
    average = (99 * props.average_block_size + block.size) // 100
    ratio, bandwidth = props.current_reserve_ratio, props.max_virtual_bandwidth
    if block.number % 20 == 0:
        most = props.maximum_block_size
        quarter = most // 4
        distance = abs(average - quarter) * 10000 // quarter
        if average > quarter:
            ratio = max(RESERVE_RATIO_STEP, ratio - ratio * distance // (distance + 10000))
        else:
            ratio = min(RESERVE_RATIO_START, ratio + max(5000, ratio * distance // (distance + 10000)))
        bandwidth = most * ratio * 1_000_000 * 604_800 // (3 * RESERVE_RATIO_STEP)
    return average, ratio, bandwidth


def update_signing_witness(state: State, block: SignedBlock) -> None:
    """Record the slot and block of the producer."""
    state.witnesses.set_last_block(state.witness(block.witness), state.props.current_aslot, block.number)


def update_last_irreversible_block(state: State, block: SignedBlock) -> None:
    """Advance the last irreversible block.

    In the first 30 days of a chain it is the block 21 blocks before the head, and later it depends on confirmations. A witness confirms all
    blocks up to the last one that it produced. A block is irreversible once three quarters of the round have confirmed it.
    """
    props = state.props
    before = after = props.last_irreversible_block_num
    if props.head_block_number < constants.COIN_START_MINER_VOTING_BLOCK:
        if props.head_block_number > constants.COIN_MAX_WITNESSES:
            # On a fork of a young chain, the fork block is irreversible, although it isn't old enough.
            after = max(before, props.head_block_number - constants.COIN_MAX_WITNESSES)
    else:
        n = state.schedule.num_scheduled_witnesses
        names = state.schedule.current_shuffled_witnesses[:n]
        confirmed = sorted(state.witness(name).last_confirmed_block_num for name in names)
        after = max(
            before, confirmed[(constants.COIN_100_PERCENT - constants.COIN_IRREVERSIBLE_THRESHOLD) * n // constants.COIN_100_PERCENT]
        )
    if after != before:
        state.global_properties.set_irreversible(props, after)
    if state.listeners.irreversible:
        # As in the reference, the old number is reported again with every block.
        for number in range(before, after + 1):
            for listener in state.listeners.irreversible:
                listener(state, number)


def create_block_summary(state: State, block: SignedBlock) -> None:
    """Store the block's id under the low 16 bits of its number. Transactions name this block as their reference block."""
    slot = block.number % constants.BLOCK_SUMMARY_COUNT
    summary = state.block_summaries.by_slot.get(slot)
    if summary is None:
        state.block_summaries.insert(BlockSummary(slot=slot, block_id=block.id))
    else:
        state.block_summaries.modify(summary, block_id=block.id)


def clear_expired_transactions(state: State, block: SignedBlock) -> None:
    """Remove the records of expired transactions. They aren't needed any longer, because an expired transaction is refused for its
    expiration.
    """
    records = state.transactions
    while expired := records.by_expiration.earliest_before(block.timestamp):
        state.work.spend(1, "expired transactions")
        for index, record in enumerate(expired, 1):
            records.remove(record)
            if not index % RECORDS_OF_UNIT:
                state.work.spend(1, "expired transactions")


def clear_expired_delegations(state: State, block: SignedBlock) -> None:
    """Return delegated VESTS, with their mana, to the delegators once the delay is over."""
    expirations = state.delegation_expirations
    while (returning := expirations.by_expiration.first()) is not None and returning.expiration < block.timestamp:
        delegator = state.account(returning.delegator)
        shares = returning.vesting_shares
        notice = ReturnVestingDelegation(account=returning.delegator, vesting_shares=Asset(shares, VESTS))
        announce(state, notice)
        if state.hardfork >= 20:
            update_manabar(state, delegator, shares)
        state.accounts.modify(delegator, delegated_vesting_shares=share(delegator.delegated_vesting_shares - shares))
        complete(state, notice)
        expirations.remove(returning)
