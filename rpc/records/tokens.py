"""Records of tokens (SMT), their initial offerings (ICO), emissions and contributions. Source: rpc-api.md §2.4."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_fields import Big, CoinAmount, FieldPath
from state.operations.smt.types import SmtCappedGenerationPolicy, Unit
from state.protocol.codec.kinds import AccountName, Bool, Choice, Codecs, Curve, Dump, Kind, Symbol, Time, UInt32, UInt128
from state.protocol.values.asset import Asset
from state.tables import smt

Phase = Annotated[int, Choice("coin::chain::smt_phase", *smt.PHASE_NAMES)]


class MarketMakerTokens(Kind):
    """Amounts held by a token's market maker, read from the token's row."""

    default = smt.SmtToken()

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.dumper(Asset, legacy)
        assert dump is not None
        return lambda row: dump(Asset(row.market_maker_token_balance, row.liquid_symbol))


class MarketMakerRecord(Struct):
    """Market maker of a token, read from the token's row."""

    coin_balance: Annotated[int, FieldPath("market_maker_coin_balance", CoinAmount)]
    token_balance: Annotated[Asset, FieldPath("", MarketMakerTokens())]
    reserve_ratio: Annotated[int, FieldPath("market_maker_reserve_ratio", UInt32)]


class TokenRecord(Struct):
    """A token, read from its row."""

    id: UInt32
    liquid_symbol: Symbol
    control_account: AccountName
    phase: Phase
    current_supply: Big
    total_vesting_fund_smt: Big
    total_vesting_shares: Big
    pending_rewarded_vesting_shares: Big
    pending_rewarded_vesting_smt: Big
    allow_downvotes: Bool
    market_maker: Annotated[MarketMakerRecord, FieldPath("", MarketMakerRecord)]
    allow_voting: Bool
    cashout_window_seconds: UInt32
    reverse_auction_window_seconds: UInt32
    vote_regeneration_period_seconds: UInt32
    votes_per_regeneration_period: UInt32
    content_constant: UInt128
    percent_curation_rewards: UInt32
    author_reward_curve: Curve
    curation_reward_curve: Curve
    max_supply: Big


class IcoRecord(Struct):
    """Initial offering (ICO) of a token, read from its row."""

    id: UInt32
    symbol: Symbol
    capped_generation_policy: SmtCappedGenerationPolicy
    contribution_begin_time: Time
    contribution_end_time: Time
    launch_time: Time
    coin_units_soft_cap: Big
    coin_units_hard_cap: Big
    contributed: CoinAmount


class TokenView(Struct):
    """The object from which `TokenWithIcoRecord` is read: the rows of a token and of its initial offering, if it has one."""

    token: smt.SmtToken
    ico: smt.SmtIco | None


class TokenWithIcoRecord(Struct):
    """A token with its initial offering (R-smt-token), read from a `TokenView`."""

    token: TokenRecord
    ico: IcoRecord | None


class EmissionsUnitRecord(Struct):
    """The accounts that receive emitted tokens, with their shares, read from the row of an emission."""

    token_unit: Unit


class EmissionRecord(Struct):
    """An emission of a token (R-smt-emission), read from its row."""

    id: UInt32
    symbol: Symbol
    schedule_time: Time
    emissions_unit: Annotated[EmissionsUnitRecord, FieldPath("", EmissionsUnitRecord)]
    interval_seconds: UInt32
    interval_count: UInt32
    lep_time: Time
    rep_time: Time
    lep_abs_amount: Asset
    rep_abs_amount: Asset
    lep_rel_amount_numerator: UInt32
    rep_rel_amount_numerator: UInt32
    rel_amount_denom_bits: UInt32


class ContributionRecord(Struct):
    """A contribution to a token's initial offering (R-smt-contrib), read from its row."""

    id: UInt32
    symbol: Symbol
    contributor: AccountName
    contribution_id: UInt32
    contribution: CoinAmount
