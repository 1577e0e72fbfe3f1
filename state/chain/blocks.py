"""Applies one block to the state: the checks of the header, the transactions, then the steps in order.

The numbers in comments are those of the table in block-processing.md §3.1; a test compares them. Step 40, which drops undo data, is
`MainBranch.store_irreversible`. Source: block-processing.md §3.1, §3.4.
"""

from collections.abc import Callable

from state.chain.actions import process_optional_actions, process_required_actions
from state.chain.genesis import start_periods
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
from state.protocol.codec.kinds import split_tag
from state.protocol.errors import require
from state.protocol.transaction import HARDFORK_VOTE, OPTIONAL_ACTIONS, REQUIRED_ACTIONS, VERSION_REPORT, SignedBlock, merkle_root
from state.protocol.values.integers import UINT32_MAX
from state.tables import State
from state.tables.witnesses import Witness

NO_TRANSACTION = UINT32_MAX

# The steps after the transactions and the change of the head. Their order affects results. Rewards and inflation (22) depend on the
# round that begins in this block (18) and on its price feed (19). The balance of `null` is destroyed (21) before supplies grow. The
# supply is computed again (29) after all payouts. The rules of a due hardfork (38) apply from the next block on.
STEPS: tuple[Callable[[State, SignedBlock], None], ...] = (
    update_signing_witness,  # 12
    update_last_irreversible_block,  # 13
    create_block_summary,  # 14
    clear_expired_transactions,  # 15
    clear_expired_orders,  # 16
    clear_expired_delegations,  # 17
    update_witness_schedule,  # 18
    update_median_feed,  # 19
    update_virtual_supply,  # 20
    clear_null_account_balance,  # 21
    process_funds,  # 22
    process_conversions,  # 23
    process_comment_cashout,  # 24
    process_vesting_withdrawals,  # 25
    process_savings_withdraws,  # 26
    process_subsidized_accounts,  # 27
    pay_liquidity_reward,  # 28
    update_virtual_supply,  # 29
    account_recovery_processing,  # 30
    expire_escrow_ratification,  # 31
    process_decline_voting_rights,  # 32
    process_proposals,  # 33
    # Steps 34 and 35 generate automated actions. This version generates none.
    process_required_actions,  # 36
    process_optional_actions,  # 37
    process_hardforks,  # 38
)


def apply_beginning(state: State, block: SignedBlock, count: int, skip_flags: int, *, is_pending: bool = False) -> None:
    """Apply the header of a block and its first `count` transactions, or raise a refusal.

    `is_pending` means that the block won't be completed, so that plugins treat its transactions as pending.
    """
    for listener in () if is_pending else state.listeners.before_block:  # 1
        listener(state, block)
    here = state.position
    here.block, here.trx_in_block, here.virtual_op = block.number, 0, 0  # 2
    genesis_hardforks(state, block)  # 3
    if block.number == 1:
        start_periods(state, block.timestamp)
    require_merkle_root(state, block, skip_flags)  # 4
    witness = require_header(state, block, skip_flags)  # 5
    if state.hardfork >= 12:  # 6
        # Since hardfork 12 blocks have a size limit, voted on by the witnesses.
        most = state.props.maximum_block_size
        require(
            block.size <= most,
            "Block Size is too Big",
            condition="block_size <= gprops.maximum_block_size",
            next_block_num=block.number,
            block_size=block.size,
            max=most,
        )
    # Some operations depend on the witness that includes them: proofs of work, claims of free accounts.
    if state.props.current_witness != block.witness:
        state.global_properties.set_producer(state.props, block.witness)  # 7
    process_header_extensions(state, block, witness)  # 8
    if state.hardfork >= 5:  # 9
        # The version that this block reports is already stored, so this check includes it.
        require(
            witness.running_version >= state.hardforks.current_hardfork_version,
            "Block produced by witness that is not running current hardfork",
            condition="witness.running_version >= hardfork_state.current_hardfork_version",
            witness=witness.owner,
        )
    for trx in block.transactions[:count]:  # 10
        apply_transaction(state, trx, skip_flags)
        here.trx_in_block += 1


def apply_block(state: State, block: SignedBlock, skip_flags: int = Skip.NOTHING) -> None:
    """Apply a block or raise a refusal. After a refusal the caller undoes partial changes."""
    apply_beginning(state, block, len(block.transactions), skip_flags)
    apply_end(state, block, skip_flags)


def apply_end(state: State, block: SignedBlock, skip_flags: int = Skip.NOTHING) -> None:
    """Apply what follows the transactions of a block, or raise a refusal."""
    if block.number == 1:
        require_accounts(state)
    here = state.position
    here.trx_in_block, here.op_in_trx, here.virtual_op = NO_TRANSACTION, 0, 0
    # Up to this point, rules see the number and time of the previous block, and from here on those of this block.
    update_global_data(state, block, skip_flags)  # 11
    for step in STEPS:
        step(state, block)
    for listener in state.listeners.after_block:  # 39
        listener(state, block)


def require_accounts(state: State) -> None:
    """Refuse block 1 unless it creates the first account of a chain spec whose accounts are created in blocks."""
    genesis = state.spec.genesis
    if genesis.accounts_in_blocks and genesis.accounts:
        name = genesis.accounts[0].name
        text = "block 1 doesn't create ${name}, so the accounts of this chain are at genesis: genesis.accounts_in_blocks = false"
        require(state.accounts.by_name.get(name) is not None, text, condition="accounts_in_blocks", name=name)


def require_merkle_root(state: State, block: SignedBlock, skip_flags: int) -> None:
    """Refuse unless the transactions have the merkle root in the header.

    The public chain accepted eight blocks with a wrong root; EXCEPTION_BLOCKS contains the roots of their transactions.
    """
    if skip_flags & Skip.MERKLE_CHECK:
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


def require_header(state: State, block: SignedBlock, skip_flags: int) -> Witness:
    """Refuse unless the block follows the head and is signed by the witness scheduled for its slot. Return that witness."""
    props = state.props
    require(block.previous == props.head_block_id, condition="head_block_id() == next_block.previous")
    require(props.time < block.timestamp, condition="head_block_time() < next_block.timestamp", next=block.timestamp, blocknum=block.number)
    witness = state.witness(block.witness)
    if not skip_flags & Skip.WITNESS_SIGNATURE:
        key = state.wire.block_signer(block, canonical_rule(state))
        require(key == witness.signing_key, condition="next_block.validate_signee( witness.signing_key )")
    if not skip_flags & Skip.WITNESS_SCHEDULE_CHECK:
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
    """Store the version report and the hardfork vote of the witness.

    For automated actions in the header, this function only checks whether blocks may contain any. Steps 36 and 37 apply them.
    """
    for extension in block.extensions:
        tag, value = split_tag(extension)
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
