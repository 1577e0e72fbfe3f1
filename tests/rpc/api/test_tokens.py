"""Tokens in database_api: free names, tokens, emissions and contributions; and how the condenser shows operations on them."""

from typing import Any

import pytest

from state.operations.smt.tokens import SmtCreate
from state.operations.smt.types import SmtCappedGenerationPolicy, SmtGenerationUnit
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset, decimals, nai_text, paired, symbol_from_digits
from state.tables.smt import SmtContribution, SmtEmission, SmtIco, SmtToken
from tests.helpers.api import ApiChain

FIRST, SECOND, THIRD = symbol_from_digits(11_108_188, 0), symbol_from_digits(22_865_786, 3), symbol_from_digits(39_052_790, 0)
EPOCH = "1970-01-01T00:00:00"


@pytest.fixture
def api() -> ApiChain:
    """Three tokens, one of them with an offering; emissions of two; contributions to two."""
    api = ApiChain()
    state = api.state
    for symbol, owner in ((SECOND, "bob"), (FIRST, "carol"), (THIRD, "bob")):
        state.smt_tokens.insert(SmtToken(liquid_symbol=symbol, control_account=owner, current_supply=2**40, market_maker_token_balance=5))
    policy = SmtCappedGenerationPolicy(pre_soft_cap_unit=SmtGenerationUnit(coin_unit=(("fred", 1),)), soft_cap_percent=10000)
    state.smt_icos.insert(SmtIco(symbol=FIRST, capped_generation_policy=policy, coin_units_hard_cap=9, contributed=1500))
    for symbol, time in ((SECOND, 90), (FIRST, 60), (SECOND, 30)):
        unit = (("$rewards", 2), ("alice", 1))
        state.smt_emissions.insert(SmtEmission(symbol=symbol, schedule_time=time, token_unit=unit, lep_abs_amount=Asset(7, symbol)))
    for symbol, name, number in ((FIRST, "bob", 2), (SECOND, "alice", 1), (FIRST, "alice", 5), (FIRST, "bob", 1)):
        row = SmtContribution(symbol=symbol, contributor=name, contribution_id=number, contribution=1000)
        state.smt_contributions.insert(row)
    return api


def shown(symbol: int) -> dict[str, Any]:
    """The JSON form of a symbol."""
    return {"nai": nai_text(symbol), "decimals": decimals(symbol)}


def symbols(tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry["token"]["liquid_symbol"] for entry in tokens]


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_nai_pool(api: ApiChain) -> None:
    api.state.nai_pools.modify(api.state.nai_pool, nais=(THIRD, FIRST))
    assert api.call("database_api.get_nai_pool") == {"nai_pool": [shown(THIRD), shown(FIRST)]}
    assert api.call("condenser_api.get_nai_pool") == [shown(THIRD), shown(FIRST)]


def test_find_smt_tokens(api: ApiChain) -> None:
    def found(*asked: int, ignore_precision: bool = False) -> list[dict[str, Any]]:
        given = [shown(symbol) for symbol in asked]
        return symbols(api.call("database_api.find_smt_tokens", symbols=given, ignore_precision=ignore_precision)["tokens"])

    other_precision = symbol_from_digits(22_865_786, 0)
    assert found(THIRD, COIN, FIRST) == [shown(THIRD), shown(FIRST)]
    assert found(paired(SECOND)) == [shown(SECOND)]  # by the symbol of its vesting shares
    assert found(other_precision) == []
    assert found(other_precision, paired(other_precision), ignore_precision=True) == [shown(SECOND), shown(SECOND)]
    assert api.call("database_api.find_smt_tokens") == {"tokens": []}
    given = {"symbols": [shown(COIN)], "ignore_precision": True}
    assert api.refused("database_api.find_smt_tokens", **given)[1] == "Assert Exception:decimal_places == COIN_PRECISION_COIN: "


def test_what_a_token_shows(api: ApiChain) -> None:
    with_ico, without = api.call("database_api.find_smt_tokens", symbols=[shown(FIRST), shown(SECOND)])["tokens"]
    token = without["token"]
    assert without.keys() == {"token"}
    assert (token["phase"], token["control_account"], token["current_supply"]) == ("account_elevated", "bob", str(2**40))
    assert token["market_maker"]["token_balance"] == {"amount": "5", "precision": 3, "nai": nai_text(SECOND)}
    assert (token["author_reward_curve"], token["curation_reward_curve"]) == ("linear", "square_root")
    ico = with_ico["ico"]
    assert (ico["coin_units_soft_cap"], ico["coin_units_hard_cap"]) == (-1, 9)
    assert ico["contributed"] == {"amount": "1500", "precision": 3, "nai": "@@000000021"}
    assert ico["capped_generation_policy"]["pre_soft_cap_unit"] == {"coin_unit": [["fred", 1]], "token_unit": []}


BY_CONTROL = [SECOND, THIRD, FIRST]


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_symbol", {}, [FIRST, SECOND, THIRD]),
        ("by_symbol", shown(SECOND), [SECOND, THIRD]),
        ("by_symbol", shown(COIN), []),
        ("by_control_account", "", BY_CONTROL),
        ("by_control_account", "c", [FIRST]),
        ("by_control_account", ["bob", shown(THIRD)], [THIRD, FIRST]),
    ],
)
def test_list_smt_tokens(api: ApiChain, order: str, start: Any, wanted: list[int]) -> None:
    assert symbols(api.call("database_api.list_smt_tokens", start=start, order=order)["tokens"]) == [shown(symbol) for symbol in wanted]


def test_starts_of_lists_of_tokens_that_are_refused(api: ApiChain) -> None:
    def refused(order: str, start: Any) -> str:
        return api.refused("database_api.list_smt_tokens", start=start, order=order)[1]

    assert refused("by_symbol", "") == "Bad Cast:Invalid cast from type 'string_type' to Object"
    assert refused("by_symbol", []) == "Bad Cast:Invalid cast from type 'array_type' to Object"
    assert refused("by_symbol", {"nai": "@@000000021"}) == "Assert Exception:decimals != o.end(): Expected key 'decimals'."
    text = "The parameter 'start' must be an account name or an array containing an account name and an asset symbol"
    for start in ([], ["bob"], ["bob", shown(FIRST), 1]):
        assert refused("by_control_account", start) == f"Assert Exception:key.size() == 2: {text}"
    assert refused("by_control_account", 7) == "Bad Cast:Invalid cast from uint64_type to Array"


def test_emissions(api: ApiChain) -> None:
    def listed(*start: Any) -> list[int]:
        return ids(api.call("database_api.list_smt_token_emissions", start=list(start))["token_emissions"])

    found = api.call("database_api.find_smt_token_emissions", asset_symbol=shown(SECOND))["token_emissions"]
    assert ids(found) == [2, 0]
    assert found[0]["emissions_unit"] == {"token_unit": [["$rewards", 2], ["alice", 1]]}
    assert api.call("database_api.find_smt_token_emissions") == {"token_emissions": []}
    assert listed() == [1, 2, 0]
    assert listed(shown(SECOND), "1970-01-01T00:00:31") == [0]
    text = "The parameter 'start' must be an empty array or consist of asset_symbol_type and time_point_sec"
    refused = api.refused("database_api.list_smt_token_emissions", start=[shown(SECOND)])
    assert refused == (-32003, f"Assert Exception:key.size() == 0 || key.size() == 2: {text}")


def test_contributions(api: ApiChain) -> None:
    def found(*pairs: tuple[int, str]) -> list[int]:
        given = [[shown(symbol), name] for symbol, name in pairs]
        return ids(api.call("database_api.find_smt_contributions", symbol_contributors=given)["contributions"])

    assert found((FIRST, "bob"), (SECOND, "alice"), (SECOND, "bob")) == [3, 0, 1]
    limit = "Assert Exception:args.symbol_contributors.size() <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    given = [[shown(FIRST), "x"]] * 1001
    assert api.refused("database_api.find_smt_contributions", symbol_contributors=given) == (-32003, limit)


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_symbol_id", [], [0, 2, 3, 1]),
        ("by_symbol_id", [shown(FIRST), 1], [2, 3, 1]),
        ("by_symbol_contributor", [], [2, 3, 0, 1]),
        ("by_symbol_contributor", [shown(FIRST), "bob", 2], [0, 1]),
        ("by_symbol_contributor", ["bob", shown(FIRST), 2], [0, 1]),  # as the specification has it
        ("by_contributor", [], [2, 1, 3, 0]),
        ("by_contributor", ["alice", shown(SECOND), 0], [1, 3, 0]),
    ],
)
def test_list_smt_contributions(api: ApiChain, order: str, start: list[Any], wanted: list[int]) -> None:
    rows = api.call("database_api.list_smt_contributions", start=start, order=order)["contributions"]
    assert ids(rows) == wanted


def test_sizes_of_starts_of_contributions(api: ApiChain) -> None:
    def refused(order: str) -> str:
        return api.refused("database_api.list_smt_contributions", start=["x"], order=order)[1].rpartition(" and ")[0]

    start = "The parameter 'start' must be an empty array or consist of"
    assert (
        refused("by_symbol_contributor") == f"Assert Exception:key.size() == 0 || key.size() == 3: {start} asset_symbol_type, contributor"
    )
    assert refused("by_symbol_id") == f"Assert Exception:key.size() == 0 || key.size() == 2: {start} asset_symbol_type"
    assert refused("by_contributor") == f"Assert Exception:key.size() == 0 || key.size() == 3: {start} contributor, asset_symbol_type"


def test_members_of_starts_are_read_from_the_last_to_the_first(api: ApiChain) -> None:
    def refused(method: str, order: str, *start: Any) -> str:
        return api.refused(f"database_api.{method}", start=list(start), order=order)[1]

    number, name, symbol = (
        "Couldn't parse uint64_t",
        "Invalid cast from array_type to string",
        "Asset symbol is expected to be an object.",
    )
    wrong: list[tuple[str, str, list[Any], str]] = [
        ("list_smt_tokens", "by_control_account", [[], "x"], symbol),
        ("list_smt_token_emissions", "by_symbol_time", ["x", []], name),
        ("list_smt_contributions", "by_symbol_id", ["x", "x"], "Couldn't parse int64_t"),
        ("list_smt_contributions", "by_contributor", [[], "x", "x"], number),
        ("list_smt_contributions", "by_contributor", [[], "x", 1], symbol),
        ("list_smt_contributions", "by_symbol_contributor", [{}, [], "x"], number),
        ("list_smt_contributions", "by_symbol_contributor", [{}, [], 1], name),
        ("list_smt_contributions", "by_symbol_contributor", [[], "x", 1], symbol),
    ]
    for method, order, start, text in wrong:
        assert refused(method, order, *start).endswith(text)


def test_the_condenser_shows_operations_on_tokens_as_empty_votes(api: ApiChain) -> None:
    operation = SmtCreate(control_account="alice", symbol=FIRST, smt_creation_fee=Asset(1000, COIN), precision=0)
    trx = SignedTransaction(operations=(operation,))
    empty = {"voter": "", "author": "", "permlink": "", "weight": 0}
    assert api.wire.transaction_to_json(trx, True)["operations"] == [["vote", empty]]
    (other,) = api.wire.transaction_to_json(trx, False)["operations"]
    assert (other["type"], other["value"]["control_account"]) == ("smt_create_operation", "alice")
