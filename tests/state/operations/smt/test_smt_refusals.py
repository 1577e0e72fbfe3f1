"""What operations of tokens refuse without state, each by one change of an accepted operation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

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
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.helpers.refused import (
    GENESIS,
    LIQUID,
    LIQUID_3,
    VESTING,
    invalid,
    table_ids,
)
from tests.helpers.wire import CODECS, refusal

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


def runtime(parameter: Any, **fields: Any) -> dict[str, Any]:
    """A change of one runtime parameter."""
    return {"runtime_parameters": (replace(parameter, **fields),)}


def policy(**fields: Any) -> dict[str, Any]:
    """A change of the generation policy."""
    return {"initial_generation_policy": replace(POLICY, **fields)}


def before(coin_unit: Any = UNIT.coin_unit, token_unit: Any = UNIT.token_unit) -> dict[str, Any]:
    """A change of the unit before the soft cap."""
    return policy(pre_soft_cap_unit=SmtGenerationUnit(coin_unit, token_unit))


def eleven(weight: int = 1) -> tuple[tuple[str, int], ...]:
    """One entry more than a unit may have."""
    return tuple((f"account{i:02}", weight) for i in range(11))


REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
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


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (CREATE, {"smt_creation_fee": Asset(0, COIN)}),
    (SETUP, policy(soft_cap_percent=1, post_soft_cap_unit=UNIT)),
    (EMISSIONS, {"rep_time": GENESIS + 43210}),
    (EMISSIONS, {"interval_count": 2**32 - 1, "rep_time": 2**32 - 1}),
    (EMISSIONS, {"rep_time": GENESIS + 10, "interval_count": 2**32 - 2}),
    (EMISSIONS, {"lep_abs_amount": Asset(0, LIQUID_3), "rep_rel_amount_numerator": 1}),
    (SET_RUNTIME, runtime(WINDOWS, cashout_window_seconds=604800, reverse_auction_window_seconds=2**32 - 43200)),
    (SET_RUNTIME, runtime(CURVES, author_reward_curve=LINEAR, curation_reward_curve=SQUARE_ROOT)),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=table_ids(ACCEPTED))
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change)) == ""


def test_precision_stays_off_the_wire() -> None:
    made = replace(CREATE, symbol=LIQUID_3, precision=3)
    assert refusal(made) == ""
    read = CODECS.unpack(SmtCreate, CODECS.pack(made))
    assert read == replace(made, precision=0)
    assert "precision" not in CODECS.dump(made)
