"""Smart media tokens: creating, describing and funding them. Declarations and what can be refused without state; they exist
only on chains with SMTs. Sources: operations.md §15, wire-format.md §4.1, §4.6.
"""

from __future__ import annotations

from state.operations import checks
from state.operations.smt_types import (
    GenerationPolicy,
    RuntimeParameters,
    SetupParameters,
    SmtCappedGenerationPolicy,
    SmtEmissionsUnit,
    require_liquid_symbol,
)
from state.protocol.asset import COIN, SBD, Asset, decimals
from state.protocol.codec import Codecs
from state.protocol.constants import (
    COIN_MAX_SHARE_SUPPLY,
    SMT_EMISSION_MIN_INTERVAL_SECONDS,
    SMT_EMIT_INDEFINITELY,
    SMT_MIN_HARD_CAP_COIN_UNITS,
    SMT_MIN_SOFT_CAP_COIN_UNITS,
)
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Bool, Extensions, Int64, Share, Symbol, Time, UInt8, UInt32
from state.protocol.operation import Operation, operation
from state.protocol.text import time_text

SCHEDULE_END_MAX = 2**31 - 1
"""The last second in which a limited schedule may end."""


def require_administration(control_account: str, symbol: int) -> None:
    """What all operations that administrate a token have in common."""
    checks.require_account_name(control_account)
    require_liquid_symbol(symbol)


@operation(52, active="control_account")
class SmtCreate(Operation, frozen=True):
    """Create a token under a NAI of the pool, or, without a fee, start over with one that is not set up yet.

    `precision` repeats the symbol's decimals but never goes over the wire: what was read from there has 0.
    """

    control_account: AccountName = ""
    symbol: Symbol = COIN
    smt_creation_fee: Asset = Asset()
    extensions: Extensions = ()
    precision: int = 0

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        fee = self.smt_creation_fee
        require(fee.amount >= 0, "fee cannot be negative", condition="smt_creation_fee.amount >= 0")
        require(
            fee.amount <= COIN_MAX_SHARE_SUPPLY,
            "Fee must be smaller than COIN_MAX_SHARE_SUPPLY",
            condition="smt_creation_fee.amount <= COIN_MAX_SHARE_SUPPLY",
        )
        require(
            fee.symbol in (COIN, SBD),
            "Fee must be COIN or SBD",
            condition="is_asset_type( smt_creation_fee, COIN_SYMBOL ) || is_asset_type( smt_creation_fee, SBD_SYMBOL )",
        )
        require(
            decimals(self.symbol) == self.precision,
            "Mismatch between redundantly provided precision ${prec1} vs ${prec2}",
            condition="symbol.decimals() == precision",
            prec1=decimals(self.symbol),
            prec2=self.precision,
        )


@operation(48, active="control_account")
class SmtSetup(Operation, frozen=True):
    """Fix how a token is going to be launched: supply, contribution window, caps and generation policy."""

    control_account: AccountName = ""
    symbol: Symbol = COIN
    max_supply: Int64 = COIN_MAX_SHARE_SUPPLY
    initial_generation_policy: GenerationPolicy = SmtCappedGenerationPolicy()
    contribution_begin_time: Time = 0
    contribution_end_time: Time = 0
    launch_time: Time = 0
    coin_units_soft_cap: Share = 0
    coin_units_hard_cap: Share = 0
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        require(self.max_supply > 0, "Max supply must be greater than 0", condition="max_supply > 0")
        require(
            self.max_supply <= COIN_MAX_SHARE_SUPPLY,
            "Max supply must be less than ${n}",
            condition="max_supply <= COIN_MAX_SHARE_SUPPLY",
            n=COIN_MAX_SHARE_SUPPLY,
        )
        self._require_times(codecs.spec.constants.COIN_GENESIS_TIME)
        self._require_caps()
        self.initial_generation_policy.validate()

    def _require_times(self, genesis_time: int) -> None:
        require(
            self.contribution_begin_time > genesis_time,
            "Contribution begin time must be greater than ${t}",
            condition="contribution_begin_time > COIN_GENESIS_TIME",
            t=time_text(genesis_time),
        )
        require(
            self.contribution_end_time > self.contribution_begin_time,
            "Contribution end time must be after contribution begin time",
            condition="contribution_end_time > contribution_begin_time",
        )
        require(
            self.launch_time >= self.contribution_end_time,
            "SMT ICO launch time must be after the contribution end time",
            condition="launch_time >= contribution_end_time",
        )

    def _require_caps(self) -> None:
        soft, hard = self.coin_units_soft_cap, self.coin_units_hard_cap
        require(
            soft <= hard,
            "Coin units soft cap must less than or equal to coin units hard cap",
            condition="coin_units_soft_cap <= coin_units_hard_cap",
        )
        require(
            soft >= SMT_MIN_SOFT_CAP_COIN_UNITS,
            "Coin units soft cap must be greater than or equal to ${n}",
            condition="coin_units_soft_cap >= SMT_MIN_SOFT_CAP_COIN_UNITS",
            n=SMT_MIN_SOFT_CAP_COIN_UNITS,
        )
        require(
            hard >= SMT_MIN_HARD_CAP_COIN_UNITS,
            "Coin units hard cap must be greater than or equal to ${n}",
            condition="coin_units_hard_cap >= SMT_MIN_HARD_CAP_COIN_UNITS",
            n=SMT_MIN_HARD_CAP_COIN_UNITS,
        )
        require(
            hard <= COIN_MAX_SHARE_SUPPLY,
            "Coin units hard cap must be less than or equal to ${n}",
            condition="coin_units_hard_cap <= COIN_MAX_SHARE_SUPPLY",
            n=COIN_MAX_SHARE_SUPPLY,
        )


@operation(49, active="control_account")
class SmtSetupEmissions(Operation, frozen=True):
    """Add a schedule of emissions behind the last one, or remove the last one.

    Between the left and the right endpoint in time an emission is interpolated; each endpoint is an absolute amount and a
    part of the supply (numerator / 2^rel_amount_denom_bits), of which the larger one counts.
    """

    control_account: AccountName = ""
    symbol: Symbol = COIN
    schedule_time: Time = 0
    emissions_unit: SmtEmissionsUnit = SmtEmissionsUnit()
    interval_seconds: UInt32 = 0
    interval_count: UInt32 = 0
    lep_time: Time = 0
    rep_time: Time = 0
    lep_abs_amount: Asset = Asset()
    rep_abs_amount: Asset = Asset()
    lep_rel_amount_numerator: UInt32 = 0
    rep_rel_amount_numerator: UInt32 = 0
    rel_amount_denom_bits: UInt8 = 0
    remove: Bool = False
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        require(self.schedule_time > codecs.spec.constants.COIN_GENESIS_TIME, condition="schedule_time > COIN_GENESIS_TIME")
        self.emissions_unit.validate()
        self._require_schedule()
        self._require_amounts()

    def _require_schedule(self) -> None:
        require(
            self.interval_seconds >= SMT_EMISSION_MIN_INTERVAL_SECONDS,
            "Interval seconds must be greater than or equal to ${seconds}",
            condition="interval_seconds >= SMT_EMISSION_MIN_INTERVAL_SECONDS",
            seconds=SMT_EMISSION_MIN_INTERVAL_SECONDS,
        )
        require(self.interval_count > 0, "Interval count must be greater than 0", condition="interval_count > 0")
        require(
            self.lep_time <= self.rep_time,
            "Left endpoint time must be less than or equal to right endpoint time",
            condition="lep_time <= rep_time",
        )
        if self.lep_time == self.rep_time:
            return
        require(
            self.lep_time >= self.schedule_time,
            "Left endpoint time cannot be before the schedule time",
            condition="lep_time >= schedule_time",
        )
        if self.interval_count == SMT_EMIT_INDEFINITELY:
            return
        end = self.schedule_time + self.interval_seconds * self.interval_count
        require(
            end <= SCHEDULE_END_MAX,
            "Schedule end time overflow",
            condition="uint64_t( interval_seconds ) * uint64_t( interval_count ) + uint64_t( schedule_time.sec_since_epoch() ) "
            "<= std::numeric_limits< int32_t >::max()",
        )
        require(
            self.rep_time <= end,
            "Right endpoint time cannot be after the schedule end time",
            condition="rep_time <= schedule_time + fc::seconds( uint64_t( interval_seconds ) * uint64_t( interval_count ) )",
        )

    def _require_amounts(self) -> None:
        # That the symbol is a liquid one, which the reference asks again here, has been settled.
        left, right = self.lep_abs_amount, self.rep_abs_amount
        require(self.symbol == left.symbol, "Left endpoint symbol mismatch", condition="symbol == lep_abs_amount.symbol")
        require(self.symbol == right.symbol, "Right endpoint symbol mismatch", condition="symbol == rep_abs_amount.symbol")
        require(left.amount >= 0, "Left endpoint cannot have negative emission", condition="lep_abs_amount.amount >= 0")
        require(right.amount >= 0, "Right endpoint cannot have negative emission", condition="rep_abs_amount.amount >= 0")
        require(
            left.amount or right.amount or self.lep_rel_amount_numerator or self.rep_rel_amount_numerator,
            "An emission operation must have positive non-zero emission",
            condition="lep_abs_amount.amount > 0 || lep_rel_amount_numerator > 0 || rep_abs_amount.amount > 0 "
            "|| rep_rel_amount_numerator > 0",
        )


@operation(50, active="control_account")
class SmtSetSetupParameters(Operation, frozen=True):
    """Set what can only be changed before a token is set up."""

    control_account: AccountName = ""
    symbol: Symbol = COIN
    setup_parameters: SetupParameters = ()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        require(self.setup_parameters, condition="setup_parameters.empty() == false")


@operation(51, active="control_account")
class SmtSetRuntimeParameters(Operation, frozen=True):
    """Set how posts earn the token."""

    control_account: AccountName = ""
    symbol: Symbol = COIN
    runtime_parameters: RuntimeParameters = ()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        require(self.runtime_parameters, condition="!runtime_parameters.empty()")
        for parameter in self.runtime_parameters:
            parameter.validate()


@operation(53, active="contributor")
class SmtContribute(Operation, frozen=True):
    """Contribute COIN to the launch of a token."""

    contributor: AccountName = ""
    symbol: Symbol = COIN
    contribution_id: UInt32 = 0
    contribution: Asset = Asset()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.contributor)
        require_liquid_symbol(self.symbol)
        require(self.contribution.symbol == COIN, "Contributions must be made in COIN", condition="contribution.symbol == COIN_SYMBOL")
        require(self.contribution.amount > 0, "Contribution amount must be greater than 0", condition="contribution.amount > 0")
