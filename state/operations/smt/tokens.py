"""Smart media tokens (SMTs): their creation, setup and funding. Only some chains have them.

Sources: operations.md §15, wire-format.md §4.1, §4.6.
"""

from __future__ import annotations

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, median_price, to_sbd
from state.effects.nai import is_in_pool, replenish_pool, take_from_pool
from state.effects.tokens import last_emission, nai_number, symbol_text, token_with_name
from state.operations import checks
from state.operations.smt.types import GenerationPolicy, SmtCappedGenerationPolicy, require_liquid_symbol
from state.protocol.codec.kinds import AccountName, Codecs, Extensions, Int64, Share, Symbol, Time, UInt32
from state.protocol.constants import COIN_MAX_SHARE_SUPPLY, COIN_NULL_ACCOUNT, SMT_MIN_HARD_CAP_COIN_UNITS, SMT_MIN_SOFT_CAP_COIN_UNITS
from state.protocol.errors import require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, decimals
from state.protocol.values.text import time_text
from state.tables import State, smt

SMT_HARDFORK = 24


def require_administration(control_account: str, symbol: int) -> None:
    """Make the static checks of an operation that administers a token: the account name must be valid, and the symbol liquid."""
    checks.require_account_name(control_account)
    require_liquid_symbol(symbol)


@operation(52, active="control_account")
class SmtCreate(Operation, frozen=True):
    """Create a token with a NAI from the pool. With a fee of 0, reset a token whose setup is not completed.

    `precision` repeats the symbol's decimals, but is not in the wire format: a decoded operation has 0.
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

    def apply(self, state: State) -> None:
        require_tokens(state)
        token = token_with_name(state, self.symbol)
        if self.smt_creation_fee.amount > 0:
            self._require_free(state, token)
            self._require_fee(state)
        else:
            self._require_reset(state, token)

        if token is None:
            fee = self.smt_creation_fee
            adjust_balance(state, state.account(self.control_account), -fee.amount, fee.symbol)
            adjust_balance(state, state.account(COIN_NULL_ACCOUNT), fee.amount, fee.symbol)
        else:
            state.smt_tokens.remove(token)
        window = state.spec.constants.COIN_CASHOUT_WINDOW_SECONDS
        state.smt_tokens.insert(
            smt.SmtToken(liquid_symbol=self.symbol, control_account=self.control_account, cashout_window_seconds=window)
        )
        take_from_pool(state, self.symbol)
        if not state.is_pushing:
            replenish_pool(state)

    def _require_free(self, state: State, token: smt.SmtToken | None) -> None:
        """Refuse a NAI that an existing token has, or that isn't in the pool."""
        require(token is None, "SMT ${nai} has already been created.", condition="token_ptr == nullptr", nai=nai_number(self.symbol))
        require(
            is_in_pool(state, self.symbol),
            "Cannot create an SMT that didn't come from the NAI pool.",
            condition="_db.get< nai_pool_object >().contains( o.symbol )",
        )

    def _require_fee(self, state: State) -> None:
        """Refuse a fee other than the creation fee in SBD, or its exact value in COIN at the median price."""
        fee, wanted = self.smt_creation_fee, Asset(state.props.smt_creation_fee, SBD)
        if fee.symbol != SBD:
            require(
                median_price(state) != NULL_PRICE,
                "Cannot pay the fee using different asset symbol because there is no price feed.",
                condition="!fhistory.current_median_history.is_null()",
            )
            fee = Asset(to_sbd(state, fee.amount), SBD)
        require(
            fee == wanted,
            "Fee of ${ef} does not match the creation fee of ${sf}",
            condition="creation_fee == dgpo.smt_creation_fee",
            ef=fee,
            sf=wanted,
        )

    def _require_reset(self, state: State, token: smt.SmtToken | None) -> None:
        """Refuse a reset unless the account controls the token, and the token has neither a completed setup nor emissions."""
        require(
            token is not None,
            "Cannot reset a non-existent SMT. Did you forget to specify the creation fee?",
            condition="token_ptr != nullptr",
        )
        assert token is not None, "it has just been asked for"
        require(
            token.control_account == self.control_account,
            "You do not control this SMT. Control Account: ${a}",
            condition="token_ptr->control_account == o.control_account",
            a=token.control_account,
        )
        require(
            token.phase == smt.ACCOUNT_ELEVATED,
            "SMT cannot be reset if setup is completed. Phase: ${p}",
            condition="token_ptr->phase == smt_phase::account_elevated",
            p=smt.PHASE_NAMES[token.phase],
        )
        require(
            last_emission(state, token.liquid_symbol) is None,
            "Cannot reset an SMT that has existing token emissions.",
            condition="!util::smt::last_emission_time( _db, token_ptr->liquid_symbol )",
        )


@operation(48, active="control_account")
class SmtSetup(Operation, frozen=True):
    """Set the launch of a token: supply, contribution window, caps and generation policy."""

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

    def apply(self, state: State) -> None:
        require_tokens(state)
        # As in the reference, neither the control account nor the phase is checked: anybody can set up and take over a token.
        token = state.smt_tokens.by_symbol.get(self.symbol)
        require(token is not None, "SMT ${ac} not elevated yet.", condition="_token", ac=self.control_account)
        assert token is not None, "it has just been asked for"

        state.smt_tokens.modify(token, phase=smt.SETUP_COMPLETED, control_account=self.control_account, max_supply=self.max_supply)
        # The usual build of the reference crashes with a memory fault instead of storing the policy.
        state.smt_icos.insert(
            smt.SmtIco(
                symbol=self.symbol,
                capped_generation_policy=self.initial_generation_policy,
                contribution_begin_time=self.contribution_begin_time,
                contribution_end_time=self.contribution_end_time,
                launch_time=self.launch_time,
                coin_units_soft_cap=self.coin_units_soft_cap,
                coin_units_hard_cap=self.coin_units_hard_cap,
            )
        )

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

    def apply(self, state: State) -> None:
        require_tokens(state)
        ico, amount = self._require_ico(state), self.contribution.amount
        require(
            ico.contributed < ico.coin_units_hard_cap,
            "SMT ICO has reached its hard cap and no longer accepts contributions",
            condition="token_ico->contributed.amount < token_ico->coin_units_hard_cap",
        )
        contributed = share(ico.contributed + amount)
        require(
            contributed <= ico.coin_units_hard_cap,
            "The proposed contribution would exceed the ICO hard cap, maximum possible contribution: ${c}",
            condition="token_ico->contributed.amount + o.contribution.amount <= token_ico->coin_units_hard_cap",
            c=Asset(ico.coin_units_hard_cap - ico.contributed, COIN),
        )
        # The reference looks for a used id among contributions to COIN, which don't exist. A used id is refused only at the insertion.

        adjust_balance(state, state.account(self.contributor), -amount, COIN)
        state.smt_contributions.insert(
            smt.SmtContribution(symbol=self.symbol, contributor=self.contributor, contribution_id=self.contribution_id, contribution=amount)
        )
        state.smt_icos.modify(ico, contributed=contributed)

    def _require_ico(self, state: State) -> smt.SmtIco:
        """Return the token's ICO. Refuse the operation outside the contribution phase."""
        token = state.smt_tokens.by_symbol.get(self.symbol)
        require(token is not None, "Cannot contribute to an unknown SMT", condition="token != nullptr")
        assert token is not None, "it has just been asked for"
        require(
            token.phase >= smt.CONTRIBUTION_BEGIN,
            "SMT has yet to enter the contribution phase",
            condition="token->phase >= smt_phase::contribution_begin_time_completed",
        )
        require(
            token.phase < smt.CONTRIBUTION_END,
            "SMT is no longer in the contribution phase",
            condition="token->phase < smt_phase::contribution_end_time_completed",
        )
        ico = state.smt_icos.by_symbol.get(self.symbol)
        require(
            ico is not None, "Unable to find ICO data for symbol: ${sym}", condition="token_ico != nullptr", sym=symbol_text(self.symbol)
        )
        assert ico is not None, "it has just been asked for"
        return ico


# ------------------------------------------------------------------ checks


def require_tokens(state: State) -> None:
    """Refuse operations on tokens before hardfork 24."""
    require(
        state.hardfork >= SMT_HARDFORK,
        "SMT functionality not enabled until hardfork ${hf}",
        condition="_db.has_hardfork( COIN_SMT_HARDFORK )",
        hf=SMT_HARDFORK,
    )
