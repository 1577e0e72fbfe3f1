"""Settings of a token that its control account can change until the setup: emissions, voting, and rewards of posts.

Sources: operations.md §15.3-§15.5, wire-format.md §4.1, §4.6.
"""

from __future__ import annotations

from typing import Any

from msgspec import json, structs

from state.effects.tokens import end_of_emission, last_emission, nai_number, symbol_text
from state.operations.smt import types
from state.operations.smt.tokens import require_administration, require_tokens
from state.protocol.codec.kinds import AccountName, Bool, Codecs, Extensions, Symbol, Time, UInt8, UInt32
from state.protocol.constants import SMT_EMISSION_MIN_INTERVAL_SECONDS, SMT_EMIT_INDEFINITELY
from state.protocol.errors import Refused, require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, Asset
from state.protocol.values.text import time_text
from state.tables import State
from state.tables.smt import SETUP_COMPLETED, SmtEmission, SmtToken

SCHEDULE_END_MAX = 2**31 - 1
"""The latest end of a limited schedule, in seconds since 1970."""
EMISSION_FIELDS = (
    "symbol",
    "schedule_time",
    "interval_seconds",
    "interval_count",
    "lep_time",
    "rep_time",
    "lep_abs_amount",
    "rep_abs_amount",
    "lep_rel_amount_numerator",
    "rep_rel_amount_numerator",
    "rel_amount_denom_bits",
)
"""The fields that a row of emissions copies from the operation. The destinations are in a struct of their own."""
SAME_EMISSION = " && ".join(
    f"last_emission->{field} == o.{field}" for field in (*EMISSION_FIELDS[:2], "emissions_unit.token_unit", *EMISSION_FIELDS[2:])
)


@operation(49, active="control_account")
class SmtSetupEmissions(Operation, frozen=True):
    """Add an emission schedule after the last one, or remove the last one.

    Emissions are interpolated between the left and the right endpoint in time. Each endpoint is the larger of an absolute amount and a
    part of the supply (numerator / 2^rel_amount_denom_bits).
    """

    control_account: AccountName = ""
    symbol: Symbol = COIN
    schedule_time: Time = 0
    emissions_unit: types.SmtEmissionsUnit = types.SmtEmissionsUnit()
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

    def apply(self, state: State) -> None:
        require_tokens(state)
        require_open_token(state, self.symbol, self.control_account)
        last = last_emission(state, self.symbol)
        if self.remove:
            require(
                last is not None,
                "Could not find token emission for the given SMT: ${smt}",
                condition="last_emission != nullptr",
                smt=symbol_text(self.symbol),
            )
            assert last is not None, "it has just been asked for"
            self._require_same(state, last)

            state.smt_emissions.remove(last)
            return
        require(
            self.schedule_time > state.head_time,
            "Emissions schedule time must be in the future",
            condition="o.schedule_time > _db.head_block_time()",
        )
        if last is not None:
            end = end_of_emission(last)
            require(
                self.schedule_time > end,
                "SMT emissions cannot overlap with existing ranges and must be in chronological order, last emission time: ${end}",
                condition="o.schedule_time > *end_time",
                end=time_text(end),
            )

        state.smt_emissions.insert(self._row())

    def _row(self) -> SmtEmission:
        """Return the row that stores this schedule."""
        return SmtEmission(token_unit=self.emissions_unit.token_unit, **{field: getattr(self, field) for field in EMISSION_FIELDS})

    def _require_same(self, state: State, last: SmtEmission) -> None:
        """Refuse to remove an emission schedule unless all its fields equal those of the token's last schedule."""
        row = self._row()
        if all(getattr(row, field) == getattr(last, field) for field in ("token_unit", *EMISSION_FIELDS)):
            return
        dump: Any = state.wire.codecs.dumper(SmtSetupEmissions)
        stored = {field: getattr(last, field) for field in EMISSION_FIELDS}
        shown = dump(structs.replace(self, emissions_unit=types.SmtEmissionsUnit(last.token_unit), **stored))
        for other in ("control_account", "remove", "extensions"):
            del shown[other]
        raise Refused(
            "SMT emissions must be removed from latest to earliest, last emission: ${le}. Current: ${c}",
            condition=SAME_EMISSION,
            le=json.encode({"id": last.id, **shown}).decode(),
            c=json.encode(dump(self)).decode(),
        )

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
        # The reference checks again here that the symbol is liquid. require_administration has already ensured this.
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
    """Before the setup of a token, set whether the token can vote on posts."""

    control_account: AccountName = ""
    symbol: Symbol = COIN
    setup_parameters: types.SetupParameters = ()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        require(self.setup_parameters, condition="setup_parameters.empty() == false")

    def apply(self, state: State) -> None:
        require_tokens(state)
        token = require_open_token(state, self.symbol, self.control_account)

        for parameter in self.setup_parameters:
            state.smt_tokens.modify(token, allow_voting=parameter.value)


@operation(51, active="control_account")
class SmtSetRuntimeParameters(Operation, frozen=True):
    """Set the runtime parameters of a token, which determine how authors and curators earn it."""

    control_account: AccountName = ""
    symbol: Symbol = COIN
    runtime_parameters: types.RuntimeParameters = ()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_administration(self.control_account, self.symbol)
        require(self.runtime_parameters, condition="!runtime_parameters.empty()")
        for parameter in self.runtime_parameters:
            parameter.validate()

    def apply(self, state: State) -> None:
        require_tokens(state)
        token = require_open_token(state, self.symbol, self.control_account)

        for parameter in self.runtime_parameters:
            match parameter:
                case types.SmtParamWindowsV1() | types.SmtParamVoteRegenerationPeriodSecondsV1() | types.SmtParamRewardsV1():
                    # The fields have the same names as those of the token.
                    state.smt_tokens.modify(token, **structs.asdict(parameter))
                case types.SmtParamAllowDownvotes():
                    state.smt_tokens.modify(token, allow_downvotes=parameter.value)


def require_open_token(state: State, symbol: int, control_account: str) -> SmtToken:
    """Return the token. Refuse unless this account controls it and its setup is not completed."""
    token = state.smt_tokens.by_symbol.get(symbol)
    require(token is not None, "SMT numerical asset identifier ${smt} not found", condition="smt != nullptr", smt=nai_number(symbol))
    assert token is not None, "it has just been asked for"
    require(
        token.control_account == control_account,
        "The account ${account} does NOT control the SMT ${smt}",
        condition="smt->control_account == control_account",
        account=control_account,
        smt=nai_number(symbol),
    )
    require(
        token.phase < SETUP_COMPLETED,
        "SMT pre-setup operation no longer allowed after setup phase is over",
        condition="smt.phase < smt_phase::setup_completed",
    )
    return token
