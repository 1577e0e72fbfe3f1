"""Applying one block to the state: the ordered list of steps. Source: block-processing.md §3.1, §3.4."""

from collections.abc import Callable

from state.chain.actions import process_optional_actions, process_required_actions
from state.chain.hardforks import genesis_hardforks, process_hardforks
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time
from state.chain.steps.cashout import process_comment_cashout
from state.chain.steps.heads import (
    clear_expired_delegations,
    clear_expired_transactions,
    create_block_summary,
    update_global_data,
    update_last_irreversible_block,
    update_signing_witness,
)
from state.chain.steps.market import clear_expired_orders, expire_escrow_ratification, pay_liquidity_reward, process_conversions
from state.chain.steps.money import (
    clear_null_account_balance,
    process_funds,
    process_subsidized_accounts,
    update_median_feed,
    update_virtual_supply,
)
from state.chain.steps.proposals import process_proposals
from state.chain.steps.recovery import account_recovery_processing, process_decline_voting_rights
from state.chain.steps.schedule import update_witness_schedule
from state.chain.steps.withdrawals import process_savings_withdraws, process_vesting_withdrawals
from state.chain.transactions import EXCEPTION_BLOCKS, apply_transaction, canonical_rule
from state.protocol.codec.kinds import untagged
from state.protocol.errors import require
from state.protocol.keys.signatures import recover
from state.protocol.transaction import (
    HARDFORK_VOTE,
    OPTIONAL_ACTIONS,
    REQUIRED_ACTIONS,
    VERSION_REPORT,
    SignedBlock,
    merkle_root,
)
from state.tables import State
from state.tables.witnesses import Witness

NO_TRANSACTION = 2**32 - 1

# What happens behind the transactions, in this order; the numbers are those of block-processing.md §3.1.
STEPS: tuple[Callable[[State, SignedBlock], None], ...] = (
    update_signing_witness,  # 12
    update_last_irreversible_block,
    create_block_summary,
    clear_expired_transactions,
    clear_expired_orders,
    clear_expired_delegations,
    update_witness_schedule,  # 18
    update_median_feed,
    update_virtual_supply,
    clear_null_account_balance,
    process_funds,  # 22
    process_conversions,
    process_comment_cashout,  # 24
    process_vesting_withdrawals,  # 25
    process_savings_withdraws,
    process_subsidized_accounts,  # 27
    pay_liquidity_reward,
    update_virtual_supply,  # 29
    account_recovery_processing,  # 30
    expire_escrow_ratification,  # 31
    process_decline_voting_rights,  # 32
    process_proposals,  # 33
    # Nothing is generated at 34 and 35 in this version.
    process_required_actions,  # 36
    process_optional_actions,
    process_hardforks,  # 38
)


def apply_block(state: State, block: SignedBlock, skip: int = Skip.NOTHING) -> None:
    """Apply a block, or refuse it; the caller undoes what a refused one has changed."""
    for listener in state.listeners.before_block:
        listener(state, block)
    here = state.here
    here.block, here.trx_in_block, here.virtual_op = block.number, 0, 0
    genesis_hardforks(state, block)
    require_merkle_root(state, block, skip)
    witness = require_header(state, block, skip)
    if state.hardfork >= 12:
        # Since hardfork 12 blocks have a size that witnesses agree on.
        most = state.props.maximum_block_size
        require(
            block.size <= most,
            "Block Size is too Big",
            condition="block_size <= gprops.maximum_block_size",
            next_block_num=block.number,
            block_size=block.size,
            max=most,
        )
    state.set_props(current_witness=block.witness)
    process_header_extensions(state, block, witness)
    if state.hardfork >= 5:
        require(
            witness.running_version >= state.hardforks.current_hardfork_version,
            "Block produced by witness that is not running current hardfork",
            condition="witness.running_version >= hardfork_state.current_hardfork_version",
            witness=witness.owner,
        )
    for trx in block.transactions:
        apply_transaction(state, trx, skip)
        here.trx_in_block += 1
    here.trx_in_block, here.op_in_trx, here.virtual_op = NO_TRANSACTION, 0, 0
    update_global_data(state, block, skip)
    for step in STEPS:
        step(state, block)
    for listener in state.listeners.after_block:
        listener(state, block)


def require_merkle_root(state: State, block: SignedBlock, skip: int) -> None:
    """The transactions must be the ones that the header speaks of."""
    if skip & Skip.MERKLE_CHECK:
        return
    root = merkle_root(block.transactions)
    if root != block.transaction_merkle_root:
        known = EXCEPTION_BLOCKS.get(block.number)
        require(
            known == root.hex(),
            "Merkle check failed",
            condition="next_block.transaction_merkle_root == merkle_root",
            calc=root.hex(),
            next_block=block.transaction_merkle_root.hex(),
            id=block.id.hex(),
        )


def require_header(state: State, block: SignedBlock, skip: int) -> Witness:
    """The block must follow the head, and come from the witness whose turn it is."""
    props = state.props
    require(block.previous == props.head_block_id, condition="head_block_id() == next_block.previous")
    require(
        props.time < block.timestamp,
        condition="head_block_time() < next_block.timestamp",
        next=block.timestamp,
        blocknum=block.number,
    )
    witness = state.witness(block.witness)
    if not skip & Skip.WITNESS_SIGNATURE:
        key = recover(block.witness_signature, block.digest, canonical_rule(state))
        require(key == witness.signing_key, condition="next_block.validate_signee( witness.signing_key )")
    if not skip & Skip.WITNESS_SCHEDULE_CHECK:
        slot = slot_at_time(state, block.timestamp)
        require(slot > 0, condition="slot_num > 0")
        scheduled = scheduled_witness(state, slot)
        require(
            scheduled == block.witness,
            "Witness produced block at wrong time",
            condition="witness.owner == scheduled_witness",
            **{"block witness": block.witness, "scheduled": scheduled, "slot_num": slot},
        )
    return witness


def process_header_extensions(state: State, block: SignedBlock, witness: Witness) -> None:
    """What the witness reports and votes for; automated actions are taken up later in the block."""
    for extension in block.extensions:
        tag, value = untagged(extension)
        if tag == VERSION_REPORT:
            if witness.running_version != value:
                state.witnesses.modify(witness, running_version=value)
        elif tag == HARDFORK_VOTE:
            vote = value
            if (witness.hardfork_version_vote, witness.hardfork_time_vote) != (vote.hf_version, vote.hf_time):
                state.witnesses.modify(witness, hardfork_version_vote=vote.hf_version, hardfork_time_vote=vote.hf_time)
        elif tag in (REQUIRED_ACTIONS, OPTIONAL_ACTIONS):
            require(
                state.hardfork >= 24,
                "Automated actions are not enabled until SMT hardfork.",
                condition="_db.has_hardfork( COIN_SMT_HARDFORK )",
            )
