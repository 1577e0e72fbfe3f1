"""Every operation is in each table of operations that plugins and pages declare, or is deliberately absent.

The tables contain the resource credits that an operation costs, the accounts whose credits it changes, and the account page that lists it.
Each table omits some operations deliberately. The omitted operations are listed here, so that this test fails for a new operation until it
is added to the table or to the list.
"""

from typing import Annotated

import pytest

from rpc.api.pages import MONEY, OMITTED_OPERATIONS
from state.operations.custom import Custom
from state.operations.transfers import Transfer
from state.plugins.rc.accounts import BEFORE
from state.plugins.rc.usage import EXECUTION_TIMES, MARKET, STATE
from state.protocol.codec.kinds import Bounded, Many, UInt16
from state.protocol.operation import OPERATIONS, SMT_TAGS, Operation, is_many, operation
from tests.helpers.golden import fails


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


REAL = frozenset(cls.NAME for cls in OPERATIONS.values() if not cls.VIRTUAL)
FREE_TAG = 9999
ALL = frozenset(cls.NAME for cls in OPERATIONS.values())

# All tags of this range are in use, so a new operation can't be hidden in it.
SMT = frozenset(cls.NAME for cls in OPERATIONS.values() if cls.TAG in SMT_TAGS)
UNPROTECTED = SMT | names("""
    account_create account_create_with_delegation account_update account_update2 cancel_transfer_from_savings change_recovery_account
    claim_account claim_reward_balance comment comment_options convert create_claimed_account create_proposal custom custom_binary
    custom_json decline_voting_rights delegate_vesting_shares delete_comment escrow_approve escrow_dispute escrow_release feed_publish
    limit_order_cancel pow pow2 recover_account remove_proposal report_over_production request_account_recovery reset_account
    set_reset_account transfer_from_savings witness_set_properties witness_update
""")
TIMELESS = names("""
    pow pow2 recover_account report_over_production reset_account set_reset_account
""")
STATELESS = SMT | names("""
    account_update account_update2 account_witness_proxy cancel_transfer_from_savings change_recovery_account claim_account
    claim_reward_balance custom custom_binary custom_json delete_comment escrow_approve escrow_dispute escrow_release feed_publish
    limit_order_cancel pow pow2 recover_account remove_proposal report_over_production reset_account set_reset_account transfer
    transfer_to_savings transfer_to_vesting withdraw_vesting witness_set_properties
""")
OTHER_HISTORY = SMT | names("""
    account_create account_create_with_delegation account_update account_update2 change_recovery_account claim_account
    clear_null_account_balance comment_options comment_payout_update comment_reward convert create_claimed_account create_proposal
    custom custom_binary custom_json decline_voting_rights delegate_vesting_shares delete_comment feed_publish
    fill_transfer_from_savings fill_vesting_withdraw hardfork hardfork23 limit_order_create2 pow pow2 producer_reward proposal_pay
    recover_account remove_proposal report_over_production request_account_recovery reset_account return_vesting_delegation
    set_reset_account set_withdraw_vesting_route shutdown_witness sps_fund update_proposal_votes witness_set_properties witness_update
""")
NO_MARKET = SMT | names("""
    account_create account_create_with_delegation account_update account_update2 account_witness_proxy account_witness_vote
    cancel_transfer_from_savings change_recovery_account claim_account claim_reward_balance comment comment_options convert
    create_claimed_account create_proposal custom custom_binary custom_json decline_voting_rights delegate_vesting_shares delete_comment
    escrow_approve escrow_dispute escrow_release escrow_transfer feed_publish limit_order_cancel pow pow2 recover_account
    remove_proposal report_over_production request_account_recovery reset_account set_reset_account set_withdraw_vesting_route
    transfer_from_savings transfer_to_savings update_proposal_votes vote withdraw_vesting witness_set_properties witness_update
""")
SAME_VESTS = (SMT - {"claim_reward_balance2"}) | names("""
    account_create account_update account_update2 account_witness_proxy account_witness_vote cancel_transfer_from_savings
    change_recovery_account claim_account comment comment_options comment_payout_update convert create_claimed_account custom
    custom_binary custom_json decline_voting_rights delete_comment escrow_approve escrow_dispute escrow_release escrow_transfer
    feed_publish fill_convert_request fill_order fill_transfer_from_savings hardfork23 interest limit_order_cancel limit_order_create
    limit_order_create2 liquidity_reward proposal_pay recover_account report_over_production request_account_recovery reset_account
    set_reset_account shutdown_witness sps_fund transfer transfer_from_savings transfer_to_savings vote witness_set_properties
    witness_update
""")


@pytest.mark.parametrize(
    ("table", "left_out", "operations"),
    [
        pytest.param({cls.NAME for cls in OPERATIONS.values() if cls.PROTECTED}, UNPROTECTED, REAL, id="protected=, of @operation"),
        pytest.param(EXECUTION_TIMES, TIMELESS, REAL, id="rc/usage.EXECUTION_TIMES"),
        pytest.param({cls.NAME for cls in STATE}, STATELESS, REAL, id="rc/usage.STATE"),
        pytest.param({cls.NAME for cls in MARKET}, NO_MARKET, REAL, id="rc/usage.MARKET"),
        pytest.param({cls.NAME for cls in BEFORE}, SAME_VESTS, ALL, id="rc/accounts.BEFORE"),
        pytest.param(MONEY | OMITTED_OPERATIONS, OTHER_HISTORY, ALL, id="pages.MONEY or OMITTED_OPERATIONS"),
    ],
)
def test_every_operation_is_in_each_table(table: object, left_out: frozenset[str], operations: frozenset[str]) -> None:
    assert isinstance(table, set | frozenset | dict)
    known = frozenset(table)
    assert operations - known - left_out == set(), "neither in the table nor in the list of this test"
    assert known & left_out == set(), "in both"
    assert (known | left_out) - operations == set(), "these operations don't exist"


def test_declared_fields_exist() -> None:
    for cls in OPERATIONS.values():
        for field in (cls.SIGNER, cls.PROTECTED):
            assert not field or field in cls.__struct_fields__, f"{cls.__name__} has no field {field}"


def test_signer_field_holds_account_names() -> None:
    """A signer field must hold account names. Declaring an operation with another kind of signer field fails."""

    class Numbered(Operation, frozen=True):
        number: UInt16 = 0

    with fails(AssertionError):
        operation(FREE_TAG, active="number")(Numbered)
    assert FREE_TAG not in OPERATIONS


def test_field_with_several_signers() -> None:
    class Joint(Operation, frozen=True):
        signers: Annotated[tuple[str, ...], Many(Bounded(16))] = ()

    assert is_many(Joint, "signers")
    assert not is_many(Transfer, "from_")
    assert is_many(Custom, "required_auths")
