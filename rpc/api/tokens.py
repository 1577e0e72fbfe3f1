"""Tokens (SMT): available symbols, tokens and their initial offerings, emissions, contributions. Source: rpc-api.md §3.7, §3.8."""

from itertools import islice
from typing import Annotated, Any

from rpc.api.database_lists import QUERY_LIMIT, By, declare_list, few, require_few, start_reader
from rpc.declare.arguments import AccountName, Bool, ExactLength, Int64, Timestamp, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.tokens import ContributionRecord, EmissionRecord, TokenView, TokenWithIcoRecord
from state.effects.tokens import liquid_variant, token_with_name
from state.protocol.codec.kinds import Symbol, SymbolKind
from state.protocol.errors import require
from state.protocol.values.asset import nai_digits, symbol_from_digits
from state.protocol.values.convert import to_array, to_object
from state.tables import State, smt

SYMBOL = SymbolKind()
BEFORE_ALL_SYMBOLS = 0
CONTROL_START = "The parameter 'start' must be an account name or an array containing an account name and an asset symbol"


def empty_or(members: str, size: int) -> ExactLength:
    """Return the annotation of a `start` array that is empty or has `size` elements."""
    text = f"The parameter 'start' must be an empty array or consist of {members}"
    return ExactLength(text, f"key.size() == 0 || key.size() == {size}")


CONTRIBUTOR_START = empty_or("asset_symbol_type, contributor and contribution_id", 3)
SymbolTime = Annotated[tuple[Symbol, Timestamp], empty_or("asset_symbol_type and time_point_sec", 2)]
SymbolId = Annotated[tuple[Symbol, Int64], empty_or("asset_symbol_type and id", 2)]
ContributorFirst = Annotated[tuple[AccountName, Symbol, UInt32], empty_or("contributor, asset_symbol_type and contribution_id", 3)]


@method("database_api.get_nai_pool", key="nai_pool", record=SYMBOL)
@method("condenser_api.get_nai_pool", record=SYMBOL)
def get_nai_pool(state: State, show: RecordEncoder, /) -> list[Json]:
    """Return the symbols available for new tokens, in the order of the pool."""
    return show.each(SYMBOL, state.nai_pool.nais)


@method("database_api.find_smt_tokens", key="tokens", record=TokenWithIcoRecord)
def find_smt_tokens(state: State, show: RecordEncoder, /, symbols: list[Symbol], ignore_precision: Bool = False) -> list[Json]:
    """Return the tokens with these symbols, liquid or vesting, in the given order. With `ignore_precision`, the number of decimal places of
    a symbol doesn't matter.
    """
    require_few("symbols", symbols)
    by_symbol = state.smt_tokens.by_symbol
    rows = (find_token(state, symbol) if ignore_precision else by_symbol.get(liquid_variant(symbol)) for symbol in symbols)
    return show.each(TokenWithIcoRecord, (token_view(state, row) for row in rows if row is not None))


@method("database_api.find_smt_token_emissions", key="token_emissions", record=EmissionRecord)
def find_smt_token_emissions(state: State, show: RecordEncoder, /, asset_symbol: Symbol = BEFORE_ALL_SYMBOLS) -> list[Json]:
    """Return the emissions of a token, ordered by time."""
    return show.each(EmissionRecord, few(state.smt_emissions.by_symbol_time, asset_symbol))


@method("database_api.find_smt_contributions", key="contributions", record=ContributionRecord)
def find_smt_contributions(state: State, show: RecordEncoder, /, symbol_contributors: list[tuple[Symbol, AccountName]]) -> list[Json]:
    """Return the contributions to initial offerings for these pairs of token and account, ordered by number within a pair."""
    require_few("symbol_contributors", symbol_contributors)
    by_contributor = state.smt_contributions.by_symbol_contributor
    rows = (row for symbol, name in symbol_contributors for row in by_contributor.equal(symbol, name))
    return show.each(ContributionRecord, islice(rows, QUERY_LIMIT))


def find_token(state: State, symbol: int) -> smt.SmtToken | None:
    """Return the token whose symbol has the same digits. The precision may differ, except for the built-in symbols."""
    return token_with_name(state, symbol_from_digits(nai_digits(liquid_variant(symbol)), 0))


def token_view(state: State, row: smt.SmtToken) -> TokenView:
    """Return the view of a token with its initial offering."""
    return TokenView(row, state.smt_icos.by_symbol.get(row.liquid_symbol))


def symbol_place(state: State, start: Any) -> tuple[Any, ...]:
    """Convert `start` to a key of the index by symbol. An empty object means the first key."""
    return () if to_object(start) == {} else (start_reader(Symbol, state.wire).read(start),)


def control_place(state: State, start: Any) -> tuple[Any, ...]:
    """Convert `start`, an account or an account with a symbol, to a key of the index by control account."""
    name, symbol = start_reader(AccountName, state.wire), start_reader(Symbol, state.wire)
    if type(start) is str:
        return (name.read(start),)
    key = to_array(start)
    require(len(key) == 2, CONTROL_START, condition="key.size() == 2")
    token = symbol.read(key[1])  # Parsed first, since the reference parses the elements of such arrays in reverse.
    return name.read(key[0]), token


def contributor_place(state: State, start: Any) -> tuple[Any, ...]:
    """Convert `start` to a key of the index of contributions. The symbol, which is an object, may precede or follow the account name."""
    key = to_array(start)
    require(len(key) in (0, 3), CONTRIBUTOR_START.text, condition=CONTRIBUTOR_START.condition)
    if not key:
        return ()
    symbol, name, number = (start_reader(kind, state.wire).read for kind in (Symbol, AccountName, UInt32))
    contribution = number(key[2])
    if type(key[0]) is dict:
        account = name(key[1])
        return symbol(key[0]), account, contribution
    token = symbol(key[1])
    return token, name(key[0]), contribution


declare_list(
    "database_api.list_smt_tokens",
    "List tokens, ordered by symbol, or by control account and symbol.",
    key="tokens",
    record=TokenWithIcoRecord,
    view=token_view,
    by_symbol=By(lambda state: state.smt_tokens.by_symbol, Any, symbol_place),
    by_control_account=By(lambda state: state.smt_tokens.by_control_account, Any, control_place),
)

declare_list(
    "database_api.list_smt_token_emissions",
    "List emissions of tokens, ordered by symbol and time.",
    key="token_emissions",
    record=EmissionRecord,
    by_symbol_time=By(lambda state: state.smt_emissions.by_symbol_time, SymbolTime, or_empty=True),
)

declare_list(
    "database_api.list_smt_contributions",
    "List contributions, ordered by symbol and record id, by symbol, contributor and number, or by contributor, symbol and number.",
    key="contributions",
    record=ContributionRecord,
    by_symbol_id=By(lambda state: state.smt_contributions.by_symbol_id, SymbolId, or_empty=True),
    by_symbol_contributor=By(lambda state: state.smt_contributions.by_symbol_contributor, Any, contributor_place),
    by_contributor=By(lambda state: state.smt_contributions.by_contributor, ContributorFirst, or_empty=True),
)
