"""Compares the method declarations with methods.json: names, arguments, defaults, and sort orders of lists. Also tests methods whose plugin
is disabled.
"""

import enum
import json
import re
import sys
from typing import Any

import pytest

from rpc.declare.method import METHODS, Method
from rpc.describe.signature import signature
from tests.conftest import ROOT, described_methods
from tests.helpers.api import ApiChain
from tests.helpers.shapes import mismatches

DESCRIBED = described_methods()
OWN = sorted(name for name in METHODS if name in DESCRIBED)
# Groups and methods that the reference lacks. Every other method is in methods.json.
OUR_GROUPS = ("dev_api", "explorer_api", "login_api")
CALLBACKS = ("set_block_applied_callback", "set_pending_transaction_callback", "cancel_all_subscriptions")
OUR_METHODS = {"rpc.discover", *(f"{group}.{name}" for group in ("condenser_api", "database_api") for name in CALLBACKS)}
RAW = [name for name in OWN if METHODS[name].raw]
# Lists that must have a fixed number of elements are empty by default, as in the reference.
FIXED = re.compile(r"no array of \d+$")


def test_every_module_with_methods_is_imported() -> None:
    """`import rpc.api` loads each module of the folder, and the modules declare all methods."""
    for path in sorted((ROOT / "rpc" / "api").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        assert module in sys.modules, module
        declared = set(re.findall(r'^@method\(\s*"([\w.]+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
        assert declared <= METHODS.keys(), module


def test_every_method_is_described() -> None:
    assert {name for name in METHODS if name not in DESCRIBED and name.split(".")[0] not in OUR_GROUPS} == OUR_METHODS


def test_arguments() -> None:
    for name in set(OWN) - set(RAW):
        described, method = DESCRIBED[name]["params"], METHODS[name]
        assert [parameter.name.rstrip("_") for parameter in method.parameters] == [entry["name"] for entry in described], name
        for parameter, entry in zip(method.parameters, described, strict=True):
            if entry["default"] not in (None, [], 0, ""):
                default = parameter.default.name if isinstance(parameter.default, enum.Enum) else parameter.default
                assert default == entry["default"], name
            if method.positional:
                assert parameter.required == entry["required"], name


def test_the_default_result_has_the_described_shape() -> None:
    """The default results are compared with the described shapes, except for lists, which are empty, and members that can be null."""
    wire = ApiChain().wire
    for name in OWN:
        shown = signature(METHODS[name], wire)
        assert json.loads(json.dumps(shown)) == shown, name
        if shown["ret"] not in (None, {}, []) and not holds_nothing(METHODS[name]):
            wrong = mismatches(DESCRIBED[name]["result"], shown["ret"])
            assert [line for line in wrong if not FIXED.search(line)] == [], name


def test_the_signature_shows_every_argument() -> None:
    wire = ApiChain().wire
    for method in METHODS.values():
        if not method.positional and not method.raw:
            assert list(signature(method, wire)["args"]) == [parameter.shown(wire) for parameter in method.parameters], method.name


def holds_nothing(method: Method) -> bool:
    """Whether a method's default result is a wrapper around an empty object, as for a block that may be missing."""
    return method.name in ("block_api.get_block", "debug_node_api.debug_pop_block")


@pytest.mark.parametrize("name", sorted(name for name in OWN if "orders" in DESCRIBED[name]))
def test_orders(name: str) -> None:
    """A list supports exactly the sort orders that methods.json describes."""
    api = ApiChain()
    for order in order_names():
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": name, "params": {"order": order}}
        answer = json.loads(api.answer(json.dumps(request).encode()))
        assert ("result" in answer) == (order in DESCRIBED[name]["orders"]), (order, answer)


@pytest.mark.parametrize(
    ("name", "params", "parameter"),
    [
        ("database_api.list_accounts", {"start": {}}, "start"),
        ("database_api.list_comments", {"start": ["", ""]}, "start"),
        ("database_api.list_accounts", {"order": "by_votes"}, "order"),
        ("database_api.list_votes", {"start": 5}, "start"),
        ("database_api.find_withdraw_vesting_routes", {"order": "by_account"}, "order"),
    ],
)
def test_an_argument_error_names_its_parameter(name: str, params: Any, parameter: str) -> None:
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
    answer = json.loads(ApiChain().answer(json.dumps(request).encode()))
    assert answer["error"]["data"]["parameter"] == parameter


def order_names() -> list[str]:
    """Return all sort orders of all lists."""
    return sorted({order for entry in DESCRIBED.values() for order in entry.get("orders", ())} - NOT_IN_THE_ENUMERATION)


# Names that only the specification has. Some lists accept them as aliases of sort orders (rpc-api.md §3.8).
NOT_IN_THE_ENUMERATION = {
    order for entry in DESCRIBED.values() for order in entry.get("orders", ()) if order.endswith("_symbol") or "symbol_voter" in order
} | {"by_voter_symbol_comment"}


# ------------------------------------------------------------------ plugins that are off

NEITHER = "_follow_api || _reputation_api: Neither follow_api_plugin nor reputation_api_plugin are enabled. One of these must be running."


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("get_account_history", ["alice", -1, 1], "_account_history_api: account_history_api_plugin not enabled."),
        # The reference also names a different plugin here.
        ("get_key_references", [[]], "_account_by_key_api: account_history_api_plugin not enabled."),
        ("get_ticker", [], "_market_history_api: market_history_api_plugin not enabled."),
        ("get_follow_count", ["alice"], "_follow_api: follow_api_plugin not enabled."),
        ("get_account_reputations", [""], NEITHER),
        ("get_trending_tags", ["", 1], "_tags_api: tags_api_plugin not enabled."),
        ("get_discussions_by_hot", [{}], "_tags_api: tags_api_plugin not enabled."),
    ],
)
def test_condenser_methods_of_plugins_that_are_off(method: str, params: list[Any], text: str) -> None:
    assert ApiChain(plugins=[]).refused(f"condenser_api.{method}", *params) == (-32003, f"Assert Exception:{text}")


@pytest.mark.parametrize("method", ["account_history_api.get_transaction", "market_history_api.get_ticker", "follow_api.get_follow_count"])
def test_groups_of_plugins_that_are_off(method: str) -> None:
    api = ApiChain(plugins=[])
    group = method.split(".")[0]
    code, message = api.refused(method)
    assert (code, message.split(": ")[1]) == (-32002, f"Could not find API {group}")
    assert not [name for name in api.call("jsonrpc.get_methods") if name.startswith(group)]
