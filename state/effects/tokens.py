"""Lookup of tokens and their emissions, and the format of symbols in refusals. Source: operations.md §15."""

from state.protocol.constants import SMT_EMIT_INDEFINITELY, TIME_MAX
from state.protocol.values.asset import CONTROL_BIT, NAI_SHIFT, decimals, is_vesting, nai_text, paired
from state.protocol.values.integers import WORD32
from state.tables import State
from state.tables.smt import SmtEmission, SmtToken


def liquid_variant(symbol: int) -> int:
    """Return the liquid symbol of a token. `symbol` is this symbol or that of the token's vesting shares."""
    return paired(symbol) if is_vesting(symbol) else symbol


def token_with_name(state: State, symbol: int) -> SmtToken | None:
    """Return the token with the NAI of this symbol, in any precision, or None."""
    digits = symbol >> NAI_SHIFT
    token = next(state.smt_tokens.by_symbol.starting(digits << NAI_SHIFT | CONTROL_BIT), None)
    return token if token is not None and token.liquid_symbol >> NAI_SHIFT == digits else None


def last_emission(state: State, symbol: int) -> SmtEmission | None:
    """Return a token's latest emission schedule, or None if there is none."""
    emission = next(state.smt_emissions.by_symbol_time.before(symbol, TIME_MAX + 1), None)
    return emission if emission is not None and emission.symbol == symbol else None


def end_of_emission(emission: SmtEmission) -> int:
    """Return the time of an emission schedule's last emission. Times wrap at 32 bits."""
    if emission.interval_count == SMT_EMIT_INDEFINITELY:
        return TIME_MAX
    return (emission.schedule_time + emission.interval_seconds * emission.interval_count) % WORD32


def nai_number(symbol: int) -> int:
    """Return the NAI of a symbol as a number with its check digit, the format in some refusal messages."""
    return int(nai_text(symbol).removeprefix("@@"))


def symbol_text(symbol: int) -> str:
    """Return the JSON of a symbol, the format in most refusal messages."""
    return f'{{"nai":"{nai_text(symbol)}","decimals":{decimals(symbol)}}}'
