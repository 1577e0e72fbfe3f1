"""Escrow, proposals, custom operations, mining, rewards and SMTs: every refusal that needs no state, each by changing one
thing of an operation that is accepted.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from state.operations.custom import Custom, CustomBinary, CustomJson
from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowRelease, EscrowTransfer
from state.operations.mining import EquihashPow, EquihashProof, Pow, Pow2, Pow2Input, Pow2Work, ReportOverProduction, SignedHeader
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.operations.rewards import ClaimRewardBalance, ClaimRewardBalance2
from state.operations.smt.settings import SmtSetRuntimeParameters, SmtSetSetupParameters, SmtSetupEmissions
from state.operations.smt.tokens import SmtContribute, SmtCreate, SmtSetup
from state.operations.smt.types import (
    BOUNDED_CURATION,
    LINEAR,
    QUADRATIC,
    SQUARE_ROOT,
    SmtCappedGenerationPolicy,
    SmtEmissionsUnit,
    SmtGenerationUnit,
    SmtParamAllowDownvotes,
    SmtParamAllowVoting,
    SmtParamRewardsV1,
    SmtParamVoteRegenerationPeriodSecondsV1,
    SmtParamWindowsV1,
)
from state.protocol.codec.kinds import CoinFee
from state.protocol.errors import Refused
from state.protocol.keys.authority import Authority
from state.protocol.keys.keys import secret_from_seed
from state.protocol.keys.pow import equihash_summary
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.operation import Needed, Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.helpers.wire import ANY, CODECS, TESTNET, VECTOR_CODECS, refusal, vector, vectors

GENESIS = TESTNET.constants.COIN_GENESIS_TIME


def smt_symbol(digits: int, precision: int) -> int:
    """The symbol of a token by its NAI's data digits: even ones are liquid."""
    return digits << 5 | 16 | precision


def pow_input(example: Any) -> Pow2Input:
    """The input of a proof of work among the examples."""
    given = example["input"]
    return Pow2Input(given["worker_account"], bytes.fromhex(given["prev_block"]), given["nonce"])


def equihash(inputs: tuple[int, ...]) -> EquihashPow:
    """A proof with the seed of the example and the summary that fits its inputs."""
    example = vector("equihash.0")
    proof = EquihashProof(140, 6, bytes.fromhex(example["expect"]["seed"]), inputs)
    return EquihashPow(pow_input(example), proof, bytes(20), equihash_summary(inputs))


LIQUID, LIQUID_3, VESTING = smt_symbol(42283870, 0), smt_symbol(42283870, 3), smt_symbol(42283871, 0)
OVERLONG = "x" * 300
NOT_UTF8 = "caf\udce9"

TRANSFER = EscrowTransfer("alice", "bob", Asset(1000, SBD), Asset(), 30, "carol", Asset(100, SBD), "{}", 10, 20)
APPROVE = EscrowApprove("alice", "bob", "carol", "bob")
DISPUTE = EscrowDispute("alice", "bob", "carol", "alice")
RELEASE = EscrowRelease("alice", "bob", "carol", "alice", "bob", 30, Asset(1000, SBD), Asset())
PROPOSAL = CreateProposal("alice", "bob", 10, 20, Asset(1, SBD), "subject", "permlink")
VOTES = UpdateProposalVotes("alice", (1, 2))
REMOVE = RemoveProposal("alice", (1, 2))
CUSTOM = Custom(("alice",), 7, b"data")
JSON = CustomJson(("alice",), (), "id", "{}")
BINARY = CustomBinary(required_active_auths=("alice",), required_auths=(Authority(1, (("bob", 1),)),), id="id")
CLAIM = ClaimRewardBalance("alice", Asset(1, COIN), Asset(0, SBD), Asset(0, VESTS))
CLAIM_2 = ClaimRewardBalance2("alice", (), (Asset(1, SBD), Asset(0, COIN), Asset(0, VESTS), Asset(1, LIQUID_3)))
CREATE = SmtCreate("alice", LIQUID, Asset(1000, SBD))
UNIT = SmtGenerationUnit((("$from", 5), ("alice", 1)), (("$from.vesting", 5),))
POLICY = SmtCappedGenerationPolicy(UNIT, SmtGenerationUnit(), 10000, 50, 100)
SETUP = SmtSetup("alice", LIQUID_3, 10**15, POLICY, GENESIS + 1, GENESIS + 2, GENESIS + 2, 1000, 10000)
DESTINATIONS = SmtEmissionsUnit((("$market_maker", 1), ("$rewards", 1), ("$vesting", 1), ("alice", 1)))
EMISSIONS = SmtSetupEmissions(
    "alice", LIQUID_3, GENESIS + 10, DESTINATIONS, 21600, 2, GENESIS + 10, GENESIS + 11, Asset(1, LIQUID_3), Asset(0, LIQUID_3)
)
SET_SETUP = SmtSetSetupParameters("alice", LIQUID_3, (SmtParamAllowVoting(False),))
WINDOWS = SmtParamWindowsV1(43202, 1)
REGENERATION = SmtParamVoteRegenerationPeriodSecondsV1(604800, 7000)
CURVES = SmtParamRewardsV1(1, 10000, QUADRATIC, BOUNDED_CURATION)
SET_RUNTIME = SmtSetRuntimeParameters("alice", LIQUID_3, (WINDOWS, REGENERATION, CURVES, SmtParamAllowDownvotes()))
CONTRIBUTE = SmtContribute("alice", LIQUID_3, 1, Asset(1, COIN))
POW: Pow = VECTOR_CODECS.parser(ANY)(vector("op.14.pow")["input"]["json"])
POW2 = Pow2(
    work=Pow2Work(pow_input(vector("pow2.0")), vector("pow2.0")["expect"]["pow_summary"]),
    props=VECTOR_CODECS.parser(ANY)(vector("op.30.pow2")["input"]["json"]).props,
)
MINER = equihash((1, 1))


def signed(seed: str, **fields: Any) -> SignedHeader:
    """A header that the key of a seed has signed."""
    header = SignedHeader(timestamp=GENESIS, witness="alice", **fields) if "witness" not in fields else SignedHeader(**fields)
    digest = sha256(CODECS.pack(header)[:-65]).digest()
    return replace(header, witness_signature=sign(secret_from_seed(seed), digest, Canonical.bip_0062))


REPORT = ReportOverProduction("bob", signed("a"), signed("a", transaction_merkle_root=b"\1" * 20))


def props(**fields: Any) -> dict[str, Any]:
    """A change of the chain properties inside a pow."""
    return {"props": replace(POW.props, **fields)}


def runtime(parameter: Any, **fields: Any) -> dict[str, Any]:
    """A change of one runtime parameter."""
    return {"runtime_parameters": (replace(parameter, **fields),)}


def policy(**fields: Any) -> dict[str, Any]:
    """A change of the generation policy."""
    return {"initial_generation_policy": replace(POLICY, **fields)}


def before(coin_unit: Any = UNIT.coin_unit, token_unit: Any = UNIT.token_unit) -> dict[str, Any]:
    """A change of the unit before the soft cap."""
    return policy(pre_soft_cap_unit=SmtGenerationUnit(coin_unit, token_unit))


def invalid(name: str) -> str:
    """The refusal of an account name."""
    return f"Account name {name} is invalid"


def eleven(weight: int = 1) -> tuple[tuple[str, int], ...]:
    """One entry more than a unit may have."""
    return tuple((f"account{i:02}", weight) for i in range(11))


BAD_JSON = "JSON Metadata not valid JSON"
REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    # 10. escrow
    (TRANSFER, {"from_": "A"}, invalid("A")),
    (TRANSFER, {"to": "B"}, invalid("B")),
    (TRANSFER, {"agent": ""}, invalid("")),
    (TRANSFER, {"fee": Asset(-1, SBD)}, "fee cannot be negative"),
    (TRANSFER, {"sbd_amount": Asset(-1, SBD)}, "sbd amount cannot be negative"),
    (TRANSFER, {"coin_amount": Asset(-1)}, "coin amount cannot be negative"),
    (TRANSFER, {"sbd_amount": Asset(0, SBD)}, "escrow must transfer a non-zero amount"),
    (TRANSFER, {"agent": "alice"}, "agent must be a third party"),
    (TRANSFER, {"agent": "bob"}, "agent must be a third party"),
    (TRANSFER, {"fee": Asset(1, VESTS)}, "fee must be COIN or SBD"),
    (TRANSFER, {"sbd_amount": Asset(1, COIN)}, "sbd amount must contain SBD"),
    (TRANSFER, {"coin_amount": Asset(1, SBD)}, "coin amount must contain COIN"),
    (TRANSFER, {"escrow_expiration": 10}, "ratification deadline must be before escrow expiration"),
    (TRANSFER, {"json_meta": NOT_UTF8}, "JSON Metadata not formatted in UTF8"),
    (TRANSFER, {"json_meta": "{} "}, BAD_JSON),
    (APPROVE, {"from_": "A"}, invalid("A")),
    (APPROVE, {"to": "B"}, invalid("B")),
    (APPROVE, {"agent": "C"}, invalid("C")),
    (APPROVE, {"who": "D"}, invalid("D")),
    (APPROVE, {"who": "alice"}, "to or agent must approve escrow"),
    (DISPUTE, {"from_": "A"}, invalid("A")),
    (DISPUTE, {"to": "B"}, invalid("B")),
    (DISPUTE, {"agent": "C"}, invalid("C")),
    (DISPUTE, {"who": "D"}, invalid("D")),
    (DISPUTE, {"who": "carol"}, "who must be from or to"),
    (RELEASE, {"from_": "A"}, invalid("A")),
    (RELEASE, {"to": "B"}, invalid("B")),
    (RELEASE, {"agent": "C"}, invalid("C")),
    (RELEASE, {"who": "D"}, invalid("D")),
    (RELEASE, {"receiver": "E"}, invalid("E")),
    (RELEASE, {"who": "dave"}, "who must be from or to or agent"),
    (RELEASE, {"receiver": "carol"}, "receiver must be from or to"),
    (RELEASE, {"sbd_amount": Asset(-1, SBD)}, "sbd amount cannot be negative"),
    (RELEASE, {"coin_amount": Asset(-1)}, "coin amount cannot be negative"),
    (RELEASE, {"sbd_amount": Asset(0, SBD)}, "escrow must release a non-zero amount"),
    (RELEASE, {"sbd_amount": Asset(1, COIN)}, "sbd amount must contain SBD"),
    (RELEASE, {"coin_amount": Asset(1, SBD)}, "coin amount must contain COIN"),
    # 11. proposals
    (PROPOSAL, {"creator": "A"}, invalid("A")),
    (PROPOSAL, {"receiver": "B"}, invalid("B")),
    (PROPOSAL, {"end_date": 10}, "end date must be greater than start date"),
    (PROPOSAL, {"daily_pay": Asset(-1, SBD)}, "Daily pay can't be negative value"),
    (PROPOSAL, {"daily_pay": Asset(1, COIN)}, "Daily pay should be expressed in SBD"),
    (PROPOSAL, {"subject": ""}, "subject is required"),
    (PROPOSAL, {"subject": "ä" * 40 + "x"}, "Subject is too long"),
    (PROPOSAL, {"subject": NOT_UTF8}, "Subject is not valid UTF8"),
    (PROPOSAL, {"permlink": ""}, "permlink is required"),
    (PROPOSAL, {"permlink": OVERLONG}, "permlink is too long"),
    (PROPOSAL, {"permlink": NOT_UTF8}, "permlink not formatted in UTF8"),
    (VOTES, {"voter": "A"}, invalid("A")),
    (VOTES, {"proposal_ids": ()}, "proposal_ids.empty() == false"),
    (VOTES, {"proposal_ids": (1, 2, 3, 4, 5, 6)}, "proposal_ids.size() <= COIN_PROPOSAL_MAX_IDS_NUMBER"),
    (REMOVE, {"proposal_owner": "A"}, invalid("A")),
    (REMOVE, {"proposal_ids": ()}, "proposal_ids.empty() == false"),
    (REMOVE, {"proposal_ids": (1, 2, 3, 4, 5, 6)}, "proposal_ids.size() <= COIN_PROPOSAL_MAX_IDS_NUMBER"),
    # 12. custom operations
    (CUSTOM, {"required_auths": ()}, "at least one account must be specified"),
    (JSON, {"required_auths": ()}, "at least one account must be specified"),
    (JSON, {"id": "x" * 33}, "Operation ID length exceeded. Max: 32 Current: 33"),
    (JSON, {"json": NOT_UTF8}, "JSON Metadata not formatted in UTF8"),
    (JSON, {"json": ""}, BAD_JSON),
    (JSON, {"json": "{} "}, BAD_JSON),
    (BINARY, {"required_active_auths": ()}, "at least one account must be specified"),
    (BINARY, {"id": "x" * 33}, "Operation ID length exceeded. Max: 32 Current: 33"),
    (BINARY, {"required_auths": (Authority(1, (("B", 1),)),)}, "is_valid_account_name( item.first )"),
    # 13. mining and reports
    (POW, props(account_creation_fee=CoinFee(100000, b"\x01COIN\0\0\0")), "account_creation_fee.symbol.is_canon()"),
    (POW, props(account_creation_fee=CoinFee(-1)), "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE"),
    (POW, props(maximum_block_size=65535), "maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT"),
    (POW, {"worker_account": "A"}, invalid("A")),
    (POW, {"nonce": 83}, "Determninistic input does not match recorded input"),
    (POW, {"block_id": bytes(20)}, "Determninistic input does not match recorded input"),
    (POW, {"work": replace(POW.work, work=bytes(32))}, "work != fc::sha256()"),
    (POW, {"work": replace(POW.work, work=b"\1" * 32)}, "work == fc::sha256::hash(recover)"),
    (
        POW,
        {"work": replace(POW.work, worker=b"\2" * 33)},
        "public_key_type(fc::ecc::public_key( signature, input, fc::ecc::non_canonical ) ) == worker",
    ),
    (POW2, {"work": replace(POW2.work, input=replace(POW2.work.input, worker_account="A"))}, invalid("A")),
    (POW2, {"work": replace(POW2.work, pow_summary=1)}, "reported work does not match calculated work"),
    (POW2, {"props": replace(POW2.props, maximum_block_size=65535)}, "maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT"),
    (POW2, {"work": replace(MINER, input=replace(MINER.input, worker_account="A"))}, invalid("A")),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, n=141))}, "proof of work 'n' value is incorrect"),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, k=7))}, "proof of work 'k' value is incorrect"),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, seed=bytes(32)))}, "proof of work seed does not match expected seed"),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, inputs=(1, 2)))}, "proof of work is not a solution"),
    (POW2, {"work": replace(MINER, pow_summary=1)}, "pow_summary == fc::sha256::hash( proof.inputs ).approx_log_32()"),
    (REPORT, {"reporter": "A"}, invalid("A")),
    (REPORT, {"first_block": signed("a", witness="B")}, invalid("B")),
    (REPORT, {"first_block": signed("a", witness="carol")}, "first_block.witness == second_block.witness"),
    (REPORT, {"first_block": signed("a", witness="alice", timestamp=1)}, "first_block.timestamp == second_block.timestamp"),
    (REPORT, {"first_block": signed("b")}, "first_block.signee() == second_block.signee()"),
    (REPORT, {"second_block": REPORT.first_block}, "first_block.id() != second_block.id()"),
    # 14. rewards
    (CLAIM, {"account": "A"}, invalid("A")),
    (CLAIM, {"reward_coin": Asset(1, SBD)}, "Reward Coin must be COIN"),
    (CLAIM, {"reward_sbd": Asset(1, COIN)}, "Reward Coin must be SBD"),
    (CLAIM, {"reward_vests": Asset(1, COIN)}, "Reward Coin must be VESTS"),
    (CLAIM, {"reward_coin": Asset(-1, COIN)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_sbd": Asset(-1, SBD)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_vests": Asset(-1, VESTS)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_coin": Asset(0, COIN)}, "Must claim something."),
    (CLAIM_2, {"account": "A"}, invalid("A")),
    (CLAIM_2, {"reward_tokens": ()}, "Must claim something."),
    (CLAIM_2, {"reward_tokens": (Asset(0, SBD), Asset(0, COIN))}, "Must claim something."),
    (CLAIM_2, {"reward_tokens": (Asset(-1, SBD), Asset(1, COIN))}, "Cannot claim a negative amount"),
    (CLAIM_2, {"reward_tokens": (Asset(1, SBD), Asset(-1, COIN))}, "Cannot claim a negative amount"),
    (CLAIM_2, {"reward_tokens": (Asset(1, COIN), Asset(1, SBD))}, "Reward tokens have not been inserted in ascending order."),
    (CLAIM_2, {"reward_tokens": (Asset(1, COIN), Asset(-1, SBD))}, "Reward tokens have not been inserted in ascending order."),
    (
        CLAIM_2,
        {"reward_tokens": (Asset(1, COIN), Asset(1, COIN))},
        'Duplicate symbol {"nai":"@@000000021","decimals":3} inserted into claim reward operation container.',
    ),
    # 15. SMTs
    *(
        (operation, change, text)
        for operation in (CREATE, SETUP, EMISSIONS, SET_SETUP, SET_RUNTIME)
        for change, text in (
            ({"control_account": "A"}, invalid("A")),
            ({"symbol": SBD}, "legacy symbol used instead of NAI"),
            ({"symbol": VESTING}, "liquid variant of NAI expected"),
            ({"symbol": 13}, "Cannot determine space for asset 13"),
        )
    ),
    (CREATE, {"smt_creation_fee": Asset(-1, SBD)}, "fee cannot be negative"),
    (CREATE, {"smt_creation_fee": Asset(10**15 + 1, SBD)}, "Fee must be smaller than COIN_MAX_SHARE_SUPPLY"),
    (CREATE, {"smt_creation_fee": Asset(1, VESTS)}, "Fee must be COIN or SBD"),
    (CREATE, {"symbol": LIQUID_3}, "Mismatch between redundantly provided precision 3 vs 0"),
    (SETUP, {"max_supply": 0}, "Max supply must be greater than 0"),
    (SETUP, {"max_supply": 10**15 + 1}, "Max supply must be less than 1000000000000000"),
    (SETUP, {"contribution_begin_time": GENESIS}, "Contribution begin time must be greater than 2016-01-01T00:00:00"),
    (SETUP, {"contribution_end_time": GENESIS + 1}, "Contribution end time must be after contribution begin time"),
    (SETUP, {"launch_time": GENESIS + 1}, "SMT ICO launch time must be after the contribution end time"),
    (SETUP, {"coin_units_soft_cap": 10001}, "Coin units soft cap must less than or equal to coin units hard cap"),
    (SETUP, {"coin_units_soft_cap": 999}, "Coin units soft cap must be greater than or equal to 1000"),
    (SETUP, {"coin_units_hard_cap": 9999}, "Coin units hard cap must be greater than or equal to 10000"),
    (SETUP, {"coin_units_hard_cap": 10**15 + 1}, "Coin units hard cap must be less than or equal to 1000000000000000"),
    (SETUP, before(coin_unit=eleven()), "coin_unit.size() <= SMT_MAX_UNIT_ROUTES"),
    (SETUP, before(token_unit=eleven()), "token_unit.size() <= SMT_MAX_UNIT_ROUTES"),
    (SETUP, before(coin_unit=(("$rewards", 1),)), "is_valid_unit_target( e.first )"),
    (SETUP, before(token_unit=(("alice", 0),)), "e.second > 0"),
    (SETUP, policy(post_soft_cap_unit=SmtGenerationUnit((("$nobody", 1),))), "is_valid_unit_target( e.first )"),
    (SETUP, policy(soft_cap_percent=0), "soft_cap_percent > 0"),
    (SETUP, policy(soft_cap_percent=10001), "soft_cap_percent <= COIN_100_PERCENT"),
    (SETUP, before(coin_unit=()), "pre_soft_cap_unit.coin_unit.size() > 0"),
    (SETUP, before(token_unit=()), "pre_soft_cap_unit.token_unit.size() > 0"),
    (SETUP, policy(post_soft_cap_unit=SmtGenerationUnit((("alice", 1),))), "post_soft_cap_unit.coin_unit.size() == 0"),
    (SETUP, policy(post_soft_cap_unit=SmtGenerationUnit((), (("alice", 1),))), "post_soft_cap_unit.token_unit.size() == 0"),
    (SETUP, policy(soft_cap_percent=9999), "post_soft_cap_unit.coin_unit.size() > 0"),
    (EMISSIONS, {"schedule_time": GENESIS}, "schedule_time > COIN_GENESIS_TIME"),
    (EMISSIONS, {"emissions_unit": SmtEmissionsUnit()}, "Emissions token unit cannot be empty"),
    (EMISSIONS, {"emissions_unit": SmtEmissionsUnit((("$from", 1),))}, "Emissions token unit destination $from is invalid"),
    (EMISSIONS, {"emissions_unit": SmtEmissionsUnit((("alice", 0),))}, "Emissions token unit must be greater than 0"),
    (EMISSIONS, {"interval_seconds": 21599}, "Interval seconds must be greater than or equal to 21600"),
    (EMISSIONS, {"interval_count": 0}, "Interval count must be greater than 0"),
    (EMISSIONS, {"rep_time": GENESIS + 9}, "Left endpoint time must be less than or equal to right endpoint time"),
    (EMISSIONS, {"lep_time": GENESIS + 9}, "Left endpoint time cannot be before the schedule time"),
    (EMISSIONS, {"interval_count": 2**32 - 2}, "Schedule end time overflow"),
    (EMISSIONS, {"schedule_time": 2**31 - 43200, "lep_time": 2**31, "rep_time": 2**31 + 1}, "Schedule end time overflow"),
    (EMISSIONS, {"rep_time": GENESIS + 43211}, "Right endpoint time cannot be after the schedule end time"),
    (EMISSIONS, {"lep_abs_amount": Asset(1, LIQUID)}, "Left endpoint symbol mismatch"),
    (EMISSIONS, {"rep_abs_amount": Asset(1, COIN)}, "Right endpoint symbol mismatch"),
    (EMISSIONS, {"lep_abs_amount": Asset(-1, LIQUID_3)}, "Left endpoint cannot have negative emission"),
    (EMISSIONS, {"rep_abs_amount": Asset(-1, LIQUID_3)}, "Right endpoint cannot have negative emission"),
    (EMISSIONS, {"lep_abs_amount": Asset(0, LIQUID_3)}, "An emission operation must have positive non-zero emission"),
    (SET_SETUP, {"setup_parameters": ()}, "setup_parameters.empty() == false"),
    (SET_RUNTIME, {"runtime_parameters": ()}, "!runtime_parameters.empty()"),
    (
        SET_RUNTIME,
        runtime(WINDOWS, cashout_window_seconds=43201),
        "'reverse auction window + upvote lockout' interval must be less than cashout window (43201). Was 43201 seconds.",
    ),
    (
        SET_RUNTIME,
        runtime(WINDOWS, cashout_window_seconds=604801),
        "Cashout window second must be less than 'vesting withdraw' interval (604800). Was 604801 seconds.",
    ),
    (
        SET_RUNTIME,
        runtime(REGENERATION, vote_regeneration_period_seconds=0),
        "Vote regeneration period must be greater than 0 and less than 'vesting withdraw' (604800) interval. Was 0 seconds.",
    ),
    (
        SET_RUNTIME,
        runtime(REGENERATION, vote_regeneration_period_seconds=604801),
        "Vote regeneration period must be greater than 0 and less than 'vesting withdraw' (604800) interval. Was 604801 seconds.",
    ),
    (
        SET_RUNTIME,
        runtime(REGENERATION, votes_per_regeneration_period=0),
        "Votes per regeneration period exceeds maximum (7000). Was 604800",
    ),
    (
        SET_RUNTIME,
        runtime(REGENERATION, votes_per_regeneration_period=7001),
        "Votes per regeneration period exceeds maximum (7000). Was 604800",
    ),
    (
        SET_RUNTIME,
        runtime(REGENERATION, vote_regeneration_period_seconds=604799),
        "Nominal votes per day exceeds maximum (1000). Was 1001",
    ),
    (SET_RUNTIME, runtime(CURVES, percent_curation_rewards=10001), "Percent Curation Rewards must not exceed 10000. Was 10001"),
    (SET_RUNTIME, runtime(CURVES, author_reward_curve=SQUARE_ROOT), "Author Reward Curve must be linear or quadratic"),
    (
        SET_RUNTIME,
        runtime(CURVES, curation_reward_curve=QUADRATIC),
        "Curation Reward Curve must be linear, square_root, or bounded_curation.",
    ),
    (CONTRIBUTE, {"contributor": "A"}, invalid("A")),
    (CONTRIBUTE, {"symbol": COIN}, "legacy symbol used instead of NAI"),
    (CONTRIBUTE, {"symbol": VESTING}, "liquid variant of NAI expected"),
    (CONTRIBUTE, {"symbol": 13}, "Cannot determine space for asset 13"),
    (CONTRIBUTE, {"contribution": Asset(1, SBD)}, "Contributions must be made in COIN"),
    (CONTRIBUTE, {"contribution": Asset(0, COIN)}, "Contribution amount must be greater than 0"),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=[f"{c[0].NAME}-{'+'.join(c[1])}" for c in REFUSALS])
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    """An operation is accepted as it is and refused with one thing changed."""
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (TRANSFER, {"json_meta": ""}),
    (TRANSFER, {"sbd_amount": Asset(0, SBD), "coin_amount": Asset(1)}),
    (TRANSFER, {"from_": "bob"}),
    (APPROVE, {"who": "carol"}),
    (DISPUTE, {"who": "bob"}),
    (RELEASE, {"who": "carol", "receiver": "alice"}),
    (PROPOSAL, {"subject": "ä" * 40, "permlink": "x" * 255, "daily_pay": Asset(0, SBD)}),
    (VOTES, {"proposal_ids": (-1, 0, 1, 2, 3)}),
    (JSON, {"required_auths": (), "required_posting_auths": ("alice",), "json": "[,]"}),
    (BINARY, {"required_active_auths": (), "required_owner_auths": ("alice",), "required_auths": ()}),
    (POW2, {"work": MINER, "new_owner_key": b"\2" * 33}),
    (CREATE, {"smt_creation_fee": Asset(0, COIN)}),
    (SETUP, policy(soft_cap_percent=1, post_soft_cap_unit=UNIT)),
    (EMISSIONS, {"rep_time": GENESIS + 43210}),
    (EMISSIONS, {"interval_count": 2**32 - 1, "rep_time": 2**32 - 1}),
    (EMISSIONS, {"rep_time": GENESIS + 10, "interval_count": 2**32 - 2}),
    (EMISSIONS, {"lep_abs_amount": Asset(0, LIQUID_3), "rep_rel_amount_numerator": 1}),
    (SET_RUNTIME, runtime(WINDOWS, cashout_window_seconds=604800, reverse_auction_window_seconds=2**32 - 43200)),
    (SET_RUNTIME, runtime(CURVES, author_reward_curve=LINEAR, curation_reward_curve=SQUARE_ROOT)),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=[f"{c[0].NAME}-{'+'.join(c[1])}" for c in ACCEPTED])
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change)) == ""


# ------------------------------------------------------------------ more about single operations


def test_precision_stays_off_the_wire() -> None:
    made = replace(CREATE, symbol=LIQUID_3, precision=3)
    assert refusal(made) == ""
    read = CODECS.unpack(SmtCreate, CODECS.pack(made))
    assert read == replace(made, precision=0)
    assert "precision" not in CODECS.dump(made)


def test_pow2_without_a_new_key_asks_for_the_worker() -> None:
    needed = Needed.by((POW2,))
    assert (needed.active, needed.other) == ({"alice"}, [])


@pytest.mark.parametrize("example", [p for p in vectors("pow") if p.values[0]["id"].startswith("pow2.")])
def test_pow2_summary(example: Any) -> None:
    work = Pow2Work(pow_input(example), example["expect"]["pow_summary"])
    work.validate(VECTOR_CODECS)
    with pytest.raises(Refused, match="reported work does not match calculated work"):
        replace(work, pow_summary=work.pow_summary + 1).validate(VECTOR_CODECS)


def test_equihash_proof() -> None:
    example = vector("equihash.0")
    expect = example["expect"]
    assert VECTOR_CODECS.pack(pow_input(example)).hex() == expect["packed_input"]
    assert equihash((1, 1)).pow_summary == expect["pow_summary_of_1_1"]
    for inputs, is_solution in expect["valid"]:
        work = equihash(tuple(inputs))
        assert refusal(Pow2(work=work, props=POW2.props)) == ("" if is_solution else "proof of work is not a solution")
