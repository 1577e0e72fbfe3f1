"""Tokens in database_api: free token names, contributions, and invalid starts of lists."""

from typing import Any

import pytest

from state.protocol.values.asset import decimals, nai_text, symbol_from_digits
from state.tables.smt import SmtContribution, SmtToken
from tests.helpers.api import ApiChain

FIRST, SECOND, THIRD = symbol_from_digits(11_108_188, 0), symbol_from_digits(22_865_786, 3), symbol_from_digits(39_052_790, 0)


@pytest.fixture
def api() -> ApiChain:
    """A chain with three tokens, two of which have contributions."""
    api = ApiChain()
    state = api.state
    for symbol, owner in ((SECOND, "bob"), (FIRST, "carol"), (THIRD, "bob")):
        state.smt_tokens.insert(SmtToken(liquid_symbol=symbol, control_account=owner, current_supply=2**40, market_maker_token_balance=5))
    for symbol, name, number in ((FIRST, "bob", 2), (SECOND, "alice", 1), (FIRST, "alice", 5), (FIRST, "bob", 1)):
        row = SmtContribution(symbol=symbol, contributor=name, contribution_id=number, contribution=1000)
        state.smt_contributions.insert(row)
    return api


def shown(symbol: int) -> dict[str, Any]:
    """Return the JSON form of a symbol."""
    return {"nai": nai_text(symbol), "decimals": decimals(symbol)}


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_nai_pool(api: ApiChain) -> None:
    api.state.nai_pools.modify(api.state.nai_pool, nais=(THIRD, FIRST))
    assert api.call("database_api.get_nai_pool") == {"nai_pool": [shown(THIRD), shown(FIRST)]}
    assert api.call("condenser_api.get_nai_pool") == [shown(THIRD), shown(FIRST)]


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
