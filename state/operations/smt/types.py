"""Types of fields in operations on smart media tokens: symbols, units, policies, parameters.

Sources: operations.md §15, wire-format.md §4.6.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from state.protocol.codec.kinds import Bool, Bounded, Curve, Extensions, Int, Many, Pairs, UInt16, UInt32, UInt128, Variant
from state.protocol.constants import (
    COIN_100_PERCENT,
    DAY_SECONDS,
    SMT_MAX_NOMINAL_VOTES_PER_DAY,
    SMT_MAX_UNIT_COUNT,
    SMT_MAX_UNIT_ROUTES,
    SMT_MAX_VOTES_PER_REGENERATION,
    SMT_UPVOTE_LOCKOUT,
    SMT_VESTING_WITHDRAW_INTERVAL_SECONDS,
)
from state.protocol.errors import require
from state.protocol.values.asset import is_smt, is_vesting, require_symbol
from state.protocol.values.integers import WORD32
from state.protocol.values.text import is_valid_account_name

UNIT_TARGETS = ("$from", "$from.vesting")
EMISSION_DESTINATIONS = ("$market_maker", "$rewards", "$vesting")
QUADRATIC, BOUNDED_CURATION, LINEAR, SQUARE_ROOT = range(4)

Unit = Annotated[tuple[tuple[str, int], ...], Pairs(Bounded(16), Int(16))]


def require_liquid_symbol(symbol: int) -> None:
    """Refuse any symbol except the liquid symbol of a token: vesting shares and the three fixed symbols are refused."""
    require_symbol(symbol)
    require(is_smt(symbol), "legacy symbol used instead of NAI", condition="symbol.space() == asset_symbol_type::smt_nai_space")
    require(not is_vesting(symbol), "liquid variant of NAI expected", condition="symbol.is_vesting() == false")


class SmtGenerationUnit(Struct, frozen=True):
    """The receivers of the COIN and of the tokens of a contribution unit, as weights by name."""

    coin_unit: Unit = ()
    token_unit: Unit = ()

    def validate(self) -> None:
        """Refuse maps that are too long, invalid account names (except placeholders of the contributor), and weights below 1."""
        require_unit(self.coin_unit, "coin_unit")
        require_unit(self.token_unit, "token_unit")


def require_unit(unit: tuple[tuple[str, int], ...], field: str) -> None:
    """Check one map of a generation unit. `field` is the name of the map in the refusals' conditions."""
    require(len(unit) <= SMT_MAX_UNIT_ROUTES, condition=f"{field}.size() <= SMT_MAX_UNIT_ROUTES")
    for name, weight in unit:
        require(is_valid_account_name(name) or name in UNIT_TARGETS, condition="is_valid_unit_target( e.first )")
        require(weight > 0, condition="e.second > 0")


class SmtCappedGenerationPolicy(Struct, frozen=True):
    """The units that convert contributions to tokens, up to the soft cap and beyond it."""

    TAG = 0
    pre_soft_cap_unit: SmtGenerationUnit = SmtGenerationUnit()
    post_soft_cap_unit: SmtGenerationUnit = SmtGenerationUnit()
    soft_cap_percent: UInt16 = 0
    min_unit_ratio: UInt32 = 0
    max_unit_ratio: UInt32 = 0
    extensions: Extensions = ()

    def validate(self) -> None:
        """Check both units. The second unit must be given if and only if the soft cap is below 100 %."""
        before, after = self.pre_soft_cap_unit, self.post_soft_cap_unit
        before.validate()
        after.validate()
        require(self.soft_cap_percent > 0, condition="soft_cap_percent > 0")
        require(self.soft_cap_percent <= COIN_100_PERCENT, condition="soft_cap_percent <= COIN_100_PERCENT")
        require(before.coin_unit, condition="pre_soft_cap_unit.coin_unit.size() > 0")
        require(before.token_unit, condition="pre_soft_cap_unit.token_unit.size() > 0")
        # The reference limits each map to 20 entries; the units are already limited to 10.
        assert SMT_MAX_UNIT_ROUTES <= SMT_MAX_UNIT_COUNT
        if self.soft_cap_percent == COIN_100_PERCENT:
            require(not after.coin_unit, condition="post_soft_cap_unit.coin_unit.size() == 0")
            require(not after.token_unit, condition="post_soft_cap_unit.token_unit.size() == 0")
        else:
            require(after.coin_unit, condition="post_soft_cap_unit.coin_unit.size() > 0")


GenerationPolicy = Annotated[SmtCappedGenerationPolicy, Variant(("smt_capped_generation_policy", SmtCappedGenerationPolicy))]


class SmtEmissionsUnit(Struct, frozen=True):
    """The receivers of the tokens of an emission, as weights by name."""

    token_unit: Unit = ()

    def validate(self) -> None:
        """Refuse an empty map, invalid account names (except the token's funds), and weights below 1."""
        require(self.token_unit, "Emissions token unit cannot be empty", condition="emissions_unit.token_unit.empty() == false")
        for name, weight in self.token_unit:
            require(
                is_valid_account_name(name) or name in EMISSION_DESTINATIONS,
                "Emissions token unit destination ${n} is invalid",
                condition="is_valid_smt_emissions_unit_destination( e.first )",
                n=name,
            )
            require(weight > 0, "Emissions token unit must be greater than 0", condition="e.second > 0")


class SmtParamAllowVoting(Struct, frozen=True):
    """Whether the token can vote on posts."""

    TAG = 0
    value: Bool = True


class SmtParamWindowsV1(Struct, frozen=True):
    """The time from a post to its payout, and the time after a post in which votes lose a part of their curation reward, in seconds."""

    TAG = 0
    cashout_window_seconds: UInt32 = 0
    reverse_auction_window_seconds: UInt32 = 0

    def validate(self) -> None:
        """Refuse a cashout window longer than a week, or too short for the reverse auction and the lockout of late votes."""
        # The sum wraps at 32 bits, as in the reference.
        total = (self.reverse_auction_window_seconds + SMT_UPVOTE_LOCKOUT) % WORD32
        require(
            total < self.cashout_window_seconds,
            "'reverse auction window + upvote lockout' interval must be less than cashout window (${c}). Was ${sum} seconds.",
            condition="sum < param_windows.cashout_window_seconds",
            c=self.cashout_window_seconds,
            sum=total,
        )
        require(
            self.cashout_window_seconds <= SMT_VESTING_WITHDRAW_INTERVAL_SECONDS,
            "Cashout window second must be less than 'vesting withdraw' interval (${v}). Was ${val} seconds.",
            condition="param_windows.cashout_window_seconds <= SMT_VESTING_WITHDRAW_INTERVAL_SECONDS",
            v=SMT_VESTING_WITHDRAW_INTERVAL_SECONDS,
            val=self.cashout_window_seconds,
        )


class SmtParamVoteRegenerationPeriodSecondsV1(Struct, frozen=True):
    """The time in which voting power regenerates, and the number of full votes in this time."""

    TAG = 1
    vote_regeneration_period_seconds: UInt32 = 0
    votes_per_regeneration_period: UInt32 = 0

    def validate(self) -> None:
        """Refuse a period longer than a week, more than 7000 votes in the period, or more than 1000 votes a day."""
        period, votes = self.vote_regeneration_period_seconds, self.votes_per_regeneration_period
        require(
            0 < period <= SMT_VESTING_WITHDRAW_INTERVAL_SECONDS,
            "Vote regeneration period must be greater than 0 and less than 'vesting withdraw' (${v}) interval. Was ${val} seconds.",
            condition="vote_regeneration.vote_regeneration_period_seconds > 0 && "
            "vote_regeneration.vote_regeneration_period_seconds <= SMT_VESTING_WITHDRAW_INTERVAL_SECONDS",
            v=SMT_VESTING_WITHDRAW_INTERVAL_SECONDS,
            val=period,
        )
        require(
            0 < votes <= SMT_MAX_VOTES_PER_REGENERATION,
            "Votes per regeneration period exceeds maximum (${max}). Was ${v}",
            condition="vote_regeneration.votes_per_regeneration_period > 0 && "
            "vote_regeneration.votes_per_regeneration_period <= SMT_MAX_VOTES_PER_REGENERATION",
            max=SMT_MAX_VOTES_PER_REGENERATION,
            v=period,  # as in the reference, the message contains the period instead of the votes
        )
        votes_per_day = -(-votes * DAY_SECONDS // period)
        require(
            votes_per_day <= SMT_MAX_NOMINAL_VOTES_PER_DAY,
            "Nominal votes per day exceeds maximum (${max}). Was ${v}",
            condition="nominal_votes_per_day <= SMT_MAX_NOMINAL_VOTES_PER_DAY",
            max=SMT_MAX_NOMINAL_VOTES_PER_DAY,
            v=votes_per_day,
        )


class SmtParamRewardsV1(Struct, frozen=True):
    """The curves that convert votes to rewards, and the curators' percentage."""

    TAG = 2
    content_constant: UInt128 = 0
    percent_curation_rewards: UInt16 = 0
    author_reward_curve: Curve = QUADRATIC
    curation_reward_curve: Curve = QUADRATIC

    def validate(self) -> None:
        """Refuse a percentage above 100 %, and curves that are invalid for authors or curators."""
        require(
            self.percent_curation_rewards <= COIN_100_PERCENT,
            "Percent Curation Rewards must not exceed 10000. Was ${n}",
            condition="param_rewards.percent_curation_rewards <= COIN_100_PERCENT",
            n=self.percent_curation_rewards,
        )
        require(self.author_reward_curve in (LINEAR, QUADRATIC), "Author Reward Curve must be linear or quadratic", condition="false")
        require(
            self.curation_reward_curve in (LINEAR, SQUARE_ROOT, BOUNDED_CURATION),
            "Curation Reward Curve must be linear, square_root, or bounded_curation.",
            condition="false",
        )


class SmtParamAllowDownvotes(Struct, frozen=True):
    """Whether the token can downvote posts."""

    TAG = 3
    value: Bool = True

    def validate(self) -> None:
        """Accept any value."""


SetupParameter = SmtParamAllowVoting
RuntimeParameter = SmtParamWindowsV1 | SmtParamVoteRegenerationPeriodSecondsV1 | SmtParamRewardsV1 | SmtParamAllowDownvotes

SetupParameters = Annotated[tuple[SetupParameter, ...], Many(Variant(("smt_param_allow_voting", SmtParamAllowVoting)), ascending=True)]
RuntimeParameters = Annotated[
    tuple[RuntimeParameter, ...],
    Many(
        Variant(
            ("smt_param_windows_v1", SmtParamWindowsV1),
            ("smt_param_vote_regeneration_period_seconds_v1", SmtParamVoteRegenerationPeriodSecondsV1),
            ("smt_param_rewards_v1", SmtParamRewardsV1),
            ("smt_param_allow_downvotes", SmtParamAllowDownvotes),
        ),
        ascending=True,
    ),
]
