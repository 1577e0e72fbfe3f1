"""Usage of the five resources by a transaction, in counts of their units.

The sizes and times in this module are part of the rules, and `rc_api` returns them under the names that they have here. Source:
block-processing.md §5.3; rpc-api.md §5.3.
"""

from collections.abc import Callable
from typing import Any

from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, ClaimAccount, CreateClaimedAccount
from state.operations.authorities import DeclineVotingRights, RequestAccountRecovery
from state.operations.content import Comment, CommentOptions, CommentPayoutBeneficiaries, Vote
from state.operations.custom import CustomBinary, CustomJson
from state.operations.escrow import EscrowTransfer
from state.operations.market import Convert, LimitOrderCreate, LimitOrderCreate2
from state.operations.proposals import CreateProposal, UpdateProposalVotes
from state.operations.transfers import Transfer, TransferFromSavings
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting
from state.operations.witnesses import AccountWitnessVote, WitnessUpdate
from state.protocol.authority import Authority
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.text import size

Usage = tuple[int, int, int, int, int]
"""Counts of history_bytes, new_accounts, market_bytes, state_bytes and execution_time."""

# The state resource counts size times lifetime. The bytes of a permanent row are multiplied by this, those of a temporary row by a factor
# for its usual lifetime.
STATE_BYTES_SCALE = 10_000
SIZES: dict[str, int] = {
    "authority_base_size": 4 * STATE_BYTES_SCALE,
    "authority_account_member_size": 18 * STATE_BYTES_SCALE,
    "authority_key_member_size": 35 * STATE_BYTES_SCALE,
    "account_object_base_size": 480 * STATE_BYTES_SCALE,
    "account_authority_object_base_size": 40 * STATE_BYTES_SCALE,
    "account_recovery_request_object_base_size": 32 * STATE_BYTES_SCALE,
    "comment_object_base_size": 201 * STATE_BYTES_SCALE,
    "comment_object_permlink_char_size": STATE_BYTES_SCALE,
    "comment_object_parent_permlink_char_size": 2 * STATE_BYTES_SCALE,
    "comment_object_beneficiaries_member_size": 18 * STATE_BYTES_SCALE,
    "comment_vote_object_base_size": 47 * 525,
    "convert_request_object_base_size": 48 * STATE_BYTES_SCALE,
    "decline_voting_rights_request_object_base_size": 28 * STATE_BYTES_SCALE,
    "escrow_object_base_size": 119 * STATE_BYTES_SCALE,
    "limit_order_object_base_size": 76 * 1940,
    "savings_withdraw_object_byte_size": 64 * 229,
    "transaction_object_base_size": 35 * 174,
    "transaction_object_byte_size": 174,
    "vesting_delegation_object_base_size": 60 * STATE_BYTES_SCALE,
    "vesting_delegation_expiration_object_base_size": 44 * STATE_BYTES_SCALE,
    "withdraw_vesting_route_object_base_size": 43 * STATE_BYTES_SCALE,
    "witness_object_base_size": 266 * STATE_BYTES_SCALE,
    "witness_object_url_char_size": STATE_BYTES_SCALE,
    "witness_vote_object_base_size": 40 * STATE_BYTES_SCALE,
    "proposal_object_base_size": 68 * STATE_BYTES_SCALE,
    "proposal_vote_object_base_size": 24 * STATE_BYTES_SCALE,
    "proposal_vote_object_member_size": 8 * STATE_BYTES_SCALE,
}
# State bytes of a proposal's subject and permlink, whatever their length: the reference counts the size of its string objects, unscaled.
PROPOSAL_TEXTS = 2 * 32

# Execution time by name of the operation. Operations without an entry take no time.
EXECUTION_TIMES: dict[str, int] = {
    "account_create": 57700,
    "account_create_with_delegation": 57700,
    "account_update": 14000,
    "account_update2": 14000,
    "account_witness_proxy": 117000,
    "account_witness_vote": 23000,
    "cancel_transfer_from_savings": 11500,
    "change_recovery_account": 12000,
    "claim_account": 10000,
    "claim_reward_balance": 50300,
    "comment": 114100,
    "comment_options": 13200,
    "convert": 15700,
    "create_claimed_account": 57700,
    "custom": 11400,
    "custom_json": 11400,
    "custom_binary": 11400,
    "decline_voting_rights": 5300,
    "delegate_vesting_shares": 19900,
    "delete_comment": 51100,
    "escrow_approve": 9900,
    "escrow_dispute": 11500,
    "escrow_release": 17200,
    "escrow_transfer": 19100,
    "feed_publish": 6200,
    "limit_order_cancel": 9600,
    "limit_order_create": 31700,
    "limit_order_create2": 31700,
    "request_account_recovery": 54400,
    "set_withdraw_vesting_route": 17900,
    "transfer_from_savings": 17500,
    "transfer": 9600,
    "transfer_to_savings": 6400,
    "transfer_to_vesting": 44400,
    "vote": 26500,
    "withdraw_vesting": 10400,
    "witness_set_properties": 9500,
    "witness_update": 9500,
    "claim_reward_balance2": 0,
    "smt_setup": 0,
    "smt_setup_emissions": 0,
    "smt_set_setup_parameters": 0,
    "smt_set_runtime_parameters": 0,
    "smt_create": 0,
    "smt_contribute": 0,
    "create_proposal": 31700,
    "update_proposal_votes": 12000,
    "remove_proposal": 12000,
}
# A custom operation with this id is distributed to followers, and takes the time of 20 others.
FOLLOW = "follow"
FOLLOW_TIME = 20 * EXECUTION_TIMES["custom"]

TRANSACTION_BASE, TRANSACTION_BYTE = SIZES["transaction_object_base_size"], SIZES["transaction_object_byte_size"]
MARKET = (Transfer, TransferToVesting, LimitOrderCreate, LimitOrderCreate2)


def usage_of(trx: SignedTransaction) -> Usage:
    """Return the usage of a transaction, as counts of the five resources."""
    length = trx.size
    accounts, market, state, time = 0, 0, TRANSACTION_BASE + TRANSACTION_BYTE * length, 0
    for operation in trx.operations:
        spent, fixed, bytes_of, for_market, more_of = BY_CLASS[type(operation)]
        time += spent
        state += fixed
        if bytes_of is not None:
            state += bytes_of(operation)
        if for_market:
            market = length
        if more_of is not None:
            more_accounts, more_time = more_of(operation)
            accounts += more_accounts
            time += more_time
    return length, accounts, market, state, time


def added(some: Usage, more: Usage) -> Usage:
    """Return the sum of two usages."""
    return some[0] + more[0], some[1] + more[1], some[2] + more[2], some[3] + more[3], some[4] + more[4]


def authority_bytes(authority: Authority) -> int:
    """Return the state bytes of an authority."""
    accounts = SIZES["authority_account_member_size"] * len(authority.account_auths)
    return SIZES["authority_base_size"] + accounts + SIZES["authority_key_member_size"] * len(authority.key_auths)


def account_bytes(operation: AccountCreate | AccountCreateWithDelegation | CreateClaimedAccount) -> int:
    """Return the state bytes of a new account."""
    authorities = authority_bytes(operation.owner) + authority_bytes(operation.active) + authority_bytes(operation.posting)
    return SIZES["account_object_base_size"] + SIZES["account_authority_object_base_size"] + authorities


def comment_bytes(operation: Comment) -> int:
    """Return the state bytes of a comment. The parent's permlink counts twice, since it can also be stored as the category."""
    permlink = SIZES["comment_object_permlink_char_size"] * size(operation.permlink)
    return (
        SIZES["comment_object_base_size"] + permlink + SIZES["comment_object_parent_permlink_char_size"] * size(operation.parent_permlink)
    )


def options_bytes(operation: CommentOptions) -> int:
    """Return the state bytes of a comment's beneficiaries."""
    count = sum(len(member.beneficiaries) for member in operation.extensions if isinstance(member, CommentPayoutBeneficiaries))
    return SIZES["comment_object_beneficiaries_member_size"] * count


def order_bytes(operation: LimitOrderCreate | LimitOrderCreate2) -> int:
    """Return the state bytes of an order, 0 for a fill-or-kill order."""
    return 0 if operation.fill_or_kill else SIZES["limit_order_object_base_size"]


def followed_time(operation: CustomJson | CustomBinary) -> tuple[int, int]:
    """Return the additional usage of a custom operation: the number of new accounts (0), and the time in addition to the operation's fixed
    time.

    Only operations with the id `follow` take additional time.
    """
    return (0, FOLLOW_TIME - EXECUTION_TIMES[operation.NAME]) if operation.id == FOLLOW else NOTHING_MORE


def claimed_accounts(operation: ClaimAccount) -> tuple[int, int]:
    """Return the additional usage of an account claim: one new account if its fee is 0, and no execution time."""
    return int(operation.fee.amount == 0), 0


NOTHING_MORE = (0, 0)
# The state bytes of an operation: a number, or a function if they depend on its fields.
STATE: dict[type[Operation], int | Callable[[Any], int]] = {
    AccountCreate: account_bytes,
    AccountCreateWithDelegation: lambda operation: account_bytes(operation) + SIZES["vesting_delegation_object_base_size"],
    CreateClaimedAccount: account_bytes,
    AccountWitnessVote: SIZES["witness_vote_object_base_size"],
    Comment: comment_bytes,
    CommentOptions: options_bytes,
    Convert: SIZES["convert_request_object_base_size"],
    DeclineVotingRights: SIZES["decline_voting_rights_request_object_base_size"],
    DelegateVestingShares: SIZES["vesting_delegation_object_base_size"],
    EscrowTransfer: SIZES["escrow_object_base_size"],
    LimitOrderCreate: order_bytes,
    LimitOrderCreate2: order_bytes,
    RequestAccountRecovery: SIZES["account_recovery_request_object_base_size"],
    SetWithdrawVestingRoute: SIZES["withdraw_vesting_route_object_base_size"],
    TransferFromSavings: SIZES["savings_withdraw_object_byte_size"],
    Vote: SIZES["comment_vote_object_base_size"],
    WitnessUpdate: lambda operation: SIZES["witness_object_base_size"] + SIZES["witness_object_url_char_size"] * size(operation.url),
    CreateProposal: SIZES["proposal_object_base_size"] + PROPOSAL_TEXTS,
    UpdateProposalVotes: lambda operation: (
        SIZES["proposal_vote_object_base_size"] + SIZES["proposal_vote_object_member_size"] * len(operation.proposal_ids)
    ),
}
MORE: dict[type[Operation], Callable[[Any], tuple[int, int]]] = {
    ClaimAccount: claimed_accounts,
    CustomJson: followed_time,
    CustomBinary: followed_time,
}


def facts_of(cls: type[Operation]) -> tuple[int, int, Callable[[Any], int] | None, bool, Callable[[Any], tuple[int, int]] | None]:
    """Return the resources that an operation class uses: its time, its fixed state bytes, a function for variable state bytes, whether it
    uses market bytes, and a function for new accounts and additional time.
    """
    state = STATE.get(cls, 0)
    fixed, bytes_of = (0, state) if callable(state) else (state, None)
    return EXECUTION_TIMES.get(cls.NAME, 0), fixed, bytes_of, cls in MARKET, MORE.get(cls)


# Computed once, because every transaction looks up each of its operations.
BY_CLASS = {cls: facts_of(cls) for cls in OPERATIONS.values()}
