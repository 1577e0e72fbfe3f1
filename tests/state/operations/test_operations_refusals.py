"""Stateless refusals of operations that no recorded broadcast covers. Each refusal is caused by one change of an accepted operation.

test_operations_recorded.py has the recorded refusals, and test_mining_refusals.py those of proofs of work.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from node.specs.builder import load_spec
from state.operations.chain_properties import LegacyChainProperties
from state.operations.custom import CustomBinary, CustomJson
from state.operations.escrow import EscrowDispute, EscrowRelease, EscrowTransfer
from state.operations.proposals import CreateProposal
from state.operations.rewards import ClaimRewardBalance, ClaimRewardBalance2
from state.operations.smt.settings import SmtSetupEmissions
from state.operations.smt.tokens import SmtContribute, SmtCreate, SmtSetup
from state.operations.smt.types import SmtCappedGenerationPolicy, SmtEmissionsUnit, SmtGenerationUnit
from state.operations.witnesses import WitnessSetProperties, WitnessUpdate
from state.protocol.authority import Authority
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import CoinFee, Void
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.helpers.operations import CODECS, KEY, sample
from tests.helpers.wire import TESTNET, invalid, refusal, table_ids

NOT_UTF8 = "caf\udce9"
GENESIS = TESTNET.constants.COIN_GENESIS_TIME
LIQUID, LIQUID_3 = (42283870 << 5 | 16 | precision for precision in (0, 3))
SMT_VESTING = 42283871 << 5 | 16

CUSTOM_JSON = CustomJson(("alice",), (), "id", "{}")
CUSTOM_BINARY = CustomBinary(required_active_auths=("alice",), required_auths=(Authority(1, (("bob", 1),)),), id="id")
ESCROW = EscrowTransfer("alice", "bob", Asset(1000, SBD), Asset(), 30, "carol", Asset(100, SBD), "{}", 10, 20)
RELEASE = EscrowRelease("alice", "bob", "carol", "alice", "bob", 30, Asset(1000, SBD), Asset())
PROPOSAL = CreateProposal("alice", "bob", 10, 20, Asset(1, SBD), "subject", "permlink")
CLAIM = ClaimRewardBalance("alice", Asset(1, COIN), Asset(0, SBD), Asset(0, VESTS))
CLAIM_2 = ClaimRewardBalance2("alice", (), (Asset(1, SBD), Asset(0, COIN), Asset(0, VESTS), Asset(1, LIQUID_3)))
CREATE = SmtCreate("alice", LIQUID, Asset(1000, SBD))
UNIT = SmtGenerationUnit((("$from", 5), ("alice", 1)), (("$from.vesting", 5),))
POLICY = SmtCappedGenerationPolicy(UNIT, SmtGenerationUnit(), 10000, 50, 100)
SETUP = SmtSetup("alice", LIQUID_3, 10**15, POLICY, GENESIS + 1, GENESIS + 2, GENESIS + 2, 1000, 10000)
ELEVEN = tuple((f"account{i:02}", 1) for i in range(11))
EMITTED = SmtEmissionsUnit((("$market_maker", 1), ("$rewards", 1), ("$vesting", 1), ("alice", 1)))
TIMES = (21600, 2, GENESIS + 10, GENESIS + 11)
EMISSIONS = SmtSetupEmissions("alice", LIQUID_3, GENESIS + 10, EMITTED, *TIMES, Asset(1, LIQUID_3), Asset(0, LIQUID_3))
CONTRIBUTE = SmtContribute("alice", LIQUID_3, 1, Asset(1, COIN))


def props(**changes: Any) -> dict[str, Any]:
    """Return the change that sets these fields in the chain properties of a witness_update operation."""
    return {"props": LegacyChainProperties(**{"account_creation_fee": CoinFee(1), **changes})}


def policy(**fields: Any) -> dict[str, Any]:
    """Return a change of the token generation policy."""
    return {"initial_generation_policy": replace(POLICY, **fields)}


def before(coin_unit: Any = UNIT.coin_unit, token_unit: Any = UNIT.token_unit) -> dict[str, Any]:
    """Return the change that replaces the generation unit for the time before the soft cap."""
    return policy(pre_soft_cap_unit=SmtGenerationUnit(coin_unit, token_unit))


REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    (sample("account_create"), {"fee": Asset(-1)}, "Account creation fee cannot be negative"),
    (sample("account_create_with_delegation"), {"creator": ""}, invalid("")),
    (sample("account_create_with_delegation"), {"fee": Asset(-1)}, "Account creation fee cannot be negative"),
    (sample("account_create_with_delegation"), {"delegation": Asset(-1, VESTS)}, "Delegation cannot be negative"),
    (sample("claim_account"), {"fee": Asset(-1)}, "Account creation fee cannot be negative"),
    (sample("claim_account"), {"extensions": (Void(),)}, "There are no extensions for claim_account_operation."),
    (sample("create_claimed_account"), {"creator": ""}, invalid("")),
    (sample("create_claimed_account"), {"extensions": (Void(),)}, "There are no extensions for create_claimed_account_operation."),
    (sample("request_account_recovery"), {"account_to_recover": ""}, invalid("")),
    (sample("change_recovery_account"), {"account_to_recover": ""}, invalid("")),
    (sample("reset_account"), {"reset_account": ""}, invalid("")),
    (sample("reset_account"), {"account_to_reset": ""}, invalid("")),
    (sample("set_reset_account"), {"account": ""}, invalid("")),
    (sample("set_reset_account"), {"current_reset_account": "B"}, invalid("B")),
    (sample("set_reset_account"), {"reset_account": ""}, invalid("")),
    (sample("comment_options"), {"max_accepted_payout": Asset(-1, SBD)}, "Cannot accept less than 0 payout"),
    (sample("transfer_to_savings"), {"memo": NOT_UTF8}, "Memo is not UTF8"),
    (sample("transfer_to_vesting"), {"amount": Asset(1, SMT_VESTING)}, "Amount must be COIN or SMT liquid"),
    (sample("delegate_vesting_shares"), {"vesting_shares": Asset(-1, VESTS)}, "Delegation cannot be negative"),
    (sample("witness_update"), {"fee": Asset(-1)}, "Fee cannot be negative"),
    (sample("witness_update"), props(account_creation_fee=CoinFee(-1)), "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE"),
    (
        sample("witness_set_properties"),
        {"props": (("key", KEY), ("sbd_exchange_rate", b""))},
        "Price feed must be a COIN/SBD price",
    ),
    (CUSTOM_JSON, {"id": "x" * 33}, "Operation ID length exceeded. Max: 32 Current: 33"),
    (CUSTOM_JSON, {"json": NOT_UTF8}, "JSON Metadata not formatted in UTF8"),
    (CUSTOM_BINARY, {"id": "x" * 33}, "Operation ID length exceeded. Max: 32 Current: 33"),
    (ESCROW, {"fee": Asset(-1, SBD)}, "fee cannot be negative"),
    (ESCROW, {"sbd_amount": Asset(-1, SBD)}, "sbd amount cannot be negative"),
    (ESCROW, {"coin_amount": Asset(-1)}, "coin amount cannot be negative"),
    (ESCROW, {"json_meta": NOT_UTF8}, "JSON Metadata not formatted in UTF8"),
    (EscrowDispute("alice", "bob", "carol", "alice"), {"who": "D"}, invalid("D")),
    (RELEASE, {"sbd_amount": Asset(-1, SBD)}, "sbd amount cannot be negative"),
    (RELEASE, {"coin_amount": Asset(-1)}, "coin amount cannot be negative"),
    (PROPOSAL, {"creator": "A"}, invalid("A")),
    (PROPOSAL, {"daily_pay": Asset(-1, SBD)}, "Daily pay can't be negative value"),
    (PROPOSAL, {"subject": NOT_UTF8}, "Subject is not valid UTF8"),
    (CLAIM, {"reward_coin": Asset(-1, COIN)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_sbd": Asset(-1, SBD)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_vests": Asset(-1, VESTS)}, "Cannot claim a negative amount"),
    (CLAIM_2, {"reward_tokens": (Asset(1, SBD), Asset(-1, COIN))}, "Cannot claim a negative amount"),
    (CREATE, {"smt_creation_fee": Asset(-1, SBD)}, "fee cannot be negative"),
    (SETUP, {"symbol": 13}, "Cannot determine space for asset 13"),
    (SETUP, {"max_supply": 0}, "Max supply must be greater than 0"),
    (SETUP, {"max_supply": 10**15 + 1}, "Max supply must be less than 1000000000000000"),
    (SETUP, {"contribution_begin_time": GENESIS}, "Contribution begin time must be greater than 2016-01-01T00:00:00"),
    (SETUP, {"coin_units_soft_cap": 10001}, "Coin units soft cap must less than or equal to coin units hard cap"),
    (SETUP, {"coin_units_hard_cap": 9999}, "Coin units hard cap must be greater than or equal to 10000"),
    (SETUP, {"coin_units_hard_cap": 10**15 + 1}, "Coin units hard cap must be less than or equal to 1000000000000000"),
    (SETUP, before(coin_unit=ELEVEN), "coin_unit.size() <= SMT_MAX_UNIT_ROUTES"),
    (SETUP, before(token_unit=ELEVEN), "token_unit.size() <= SMT_MAX_UNIT_ROUTES"),
    (SETUP, before(token_unit=(("alice", 0),)), "e.second > 0"),
    (SETUP, policy(post_soft_cap_unit=SmtGenerationUnit((("$nobody", 1),))), "is_valid_unit_target( e.first )"),
    (SETUP, policy(soft_cap_percent=0), "soft_cap_percent > 0"),
    (SETUP, policy(soft_cap_percent=10001), "soft_cap_percent <= COIN_100_PERCENT"),
    (SETUP, before(coin_unit=()), "pre_soft_cap_unit.coin_unit.size() > 0"),
    (SETUP, before(token_unit=()), "pre_soft_cap_unit.token_unit.size() > 0"),
    (SETUP, policy(post_soft_cap_unit=SmtGenerationUnit((("alice", 1),))), "post_soft_cap_unit.coin_unit.size() == 0"),
    (SETUP, policy(post_soft_cap_unit=SmtGenerationUnit((), (("alice", 1),))), "post_soft_cap_unit.token_unit.size() == 0"),
    (SETUP, policy(soft_cap_percent=9999), "post_soft_cap_unit.coin_unit.size() > 0"),
    (EMISSIONS, {"symbol": 13}, "Cannot determine space for asset 13"),
    (EMISSIONS, {"lep_abs_amount": Asset(-1, LIQUID_3)}, "Left endpoint cannot have negative emission"),
    (EMISSIONS, {"rep_abs_amount": Asset(-1, LIQUID_3)}, "Right endpoint cannot have negative emission"),
    (CONTRIBUTE, {"contributor": "A"}, invalid("A")),
    (CONTRIBUTE, {"symbol": 13}, "Cannot determine space for asset 13"),
    (CONTRIBUTE, {"contribution": Asset(1, SBD)}, "Contributions must be made in COIN"),
    (CONTRIBUTE, {"contribution": Asset(0, COIN)}, "Contribution amount must be greater than 0"),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation, CODECS) == ""
    assert refusal(replace(operation, **change), CODECS) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (sample("claim_account"), {"fee": Asset(1_000_000_000)}),
    (sample("transfer_to_vesting"), {"to": "", "amount": Asset(1, LIQUID)}),
    (sample("witness_update"), props(account_creation_fee=CoinFee(0, b"\x05COIN\0\0\0"), maximum_block_size=2**32 - 1)),
    (CUSTOM_BINARY, {"required_active_auths": (), "required_owner_auths": ("alice",), "required_auths": ()}),
    (SETUP, policy(soft_cap_percent=1, post_soft_cap_unit=UNIT)),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=table_ids(ACCEPTED))
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change), CODECS) == ""


def test_minimum_of_the_creation_fee_is_the_build_s() -> None:
    main = ChainCodecs(load_spec("steem-mainnet"))
    update, set_fee = WitnessUpdate("alice", "https://a"), WitnessSetProperties("alice", (("account_creation_fee", b""), ("key", KEY)))
    assert refusal(update, CODECS) == refusal(set_fee, CODECS) == ""
    assert refusal(update, main) == "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE"
    assert refusal(set_fee, main) == "account_creation_fee smaller than minimum account creation fee"


def test_precision_stays_off_the_wire() -> None:
    made = replace(CREATE, symbol=LIQUID_3, precision=3)
    assert refusal(made, CODECS) == ""
    assert CODECS.unpack(SmtCreate, CODECS.pack(made)) == replace(made, precision=0)
    assert "precision" not in CODECS.dump(made)
