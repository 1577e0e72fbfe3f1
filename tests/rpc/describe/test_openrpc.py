"""The OpenRPC document matches the declarations and real replies, and docs/api is generated from it."""

import json
from functools import cache
from typing import Annotated, Any, NotRequired, TypedDict

from jsonschema import Draft7Validator

from bin.docs import api as pages
from node.specs.plugins import KNOWN
from rpc.declare.arguments import AccountName, MaxValue, UInt32
from rpc.declare.method import METHODS, Method, method
from rpc.describe.openrpc import document, summary
from state.operations.content import Comment, Vote
from state.operations.custom import CustomJson
from state.operations.escrow import EscrowTransfer
from state.operations.market import LimitOrderCreate
from state.operations.transfers import Transfer
from state.operations.vesting import DelegateVestingShares
from state.protocol.keys.keys import derive_secret
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.tables import State
from tests.conftest import ROOT
from tests.helpers.api import ApiChain

DISCOVER = b'{"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}'
INTERNAL = "Unknown error"


def busy_site() -> ApiChain:
    """Return a dev chain with every plugin, on which alice has sent operations whose results appear in many lists."""
    api = ApiChain("dev", KNOWN)
    now = api.state.head_time
    act(
        api,
        Transfer("alice", "bob", Asset(1000, COIN), "hello"),
        LimitOrderCreate("alice", 1, Asset(1000, COIN), Asset(1000, SBD), False, now + 3600),
        DelegateVestingShares("alice", "bob", Asset(10**9, VESTS)),
        EscrowTransfer("alice", "bob", Asset(1000, SBD), Asset(), 1, "carol", Asset(1, SBD), "", now + 3600, now + 7200),
    )
    act(api, Comment("", "test", "alice", "first-post", "Title", "Body", "{}"), role="posting")
    act(api, Vote("alice", "alice", "first-post", 10000), role="posting")
    act(api, CustomJson((), ("alice",), "follow", '["follow",{"follower":"alice","following":"bob","what":["blog"]}]'), role="posting")
    return api


def act(api: ApiChain, *operations: Operation, role: str = "active") -> None:
    """Push operations of alice and make a block."""
    api.chain.push_transaction(api.transaction(*operations, signers=(derive_secret("alice", role, "dev"),)))
    api.generate()


@cache
def api() -> ApiChain:
    """Return the chain on which the examples are called."""
    return busy_site()


@cache
def whole() -> dict[str, Any]:
    """Return the whole OpenRPC document."""
    found: dict[str, Any] = json.loads(api().answer(DISCOVER))["result"]
    return found


def described() -> dict[str, Any]:
    """Return the methods in the document, keyed by name."""
    return {entry["name"]: entry for entry in whole()["methods"]}


def schemas() -> dict[str, Any]:
    """Return the named schemas of the document."""
    found: dict[str, Any] = whole()["components"]["schemas"]
    return found


def with_examples() -> list[Any]:
    """Return the methods that have examples, except those that make blocks or read files."""
    return [entry for name, entry in described().items() if entry["examples"] and not METHODS[name].loopback_only]


def problems(schema: Any, value: Any) -> list[str]:
    """Return the violations of a schema by a value."""
    resolved = {"allOf": [schema], "components": whole()["components"]}
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft7Validator(resolved).iter_errors(value)]


def called(entry: Any) -> Any:
    """Return the reply to a method's first example."""
    given = {member["name"]: member["value"] for member in entry["examples"][0]["params"]}
    params = list(given.values()) if entry["paramStructure"] == "by-position" else given
    return json.loads(api().answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": entry["name"], "params": params}).encode()))


# ------------------------------------------------------------------ what is told


def test_every_method_is_described() -> None:
    assert list(described()) == sorted(METHODS)
    assert "rpc.discover" in described()


def test_schemas_are_schemas() -> None:
    Draft7Validator.check_schema({"definitions": schemas()})
    for entry in described().values():
        for schema in [entry["result"]["schema"], *[parameter["schema"] for parameter in entry["params"]]]:
            Draft7Validator.check_schema(schema)


def test_references_resolve_and_components_are_used() -> None:
    text = json.dumps(whole())
    named = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert named == set(schemas())


def test_every_operation_is_described_in_both_forms() -> None:
    assert len(schemas()["Operation"]["anyOf"]) == len(schemas()["CondenserOperation"]["anyOf"]) == len(OPERATIONS)


def test_examples_are_answered_as_described() -> None:
    for entry in with_examples():
        answer = called(entry)
        if "error" in answer:
            assert INTERNAL not in answer["error"]["message"], entry["name"]
        else:
            assert problems(entry["result"]["schema"], answer["result"]) == [], entry["name"]


def test_default_results_match_their_schema() -> None:
    for entry in with_examples():
        value = entry["examples"][0]["result"]["value"]
        assert value == {} or problems(entry["result"]["schema"], value) == [], entry["name"]


def test_examples_hold_all_arguments() -> None:
    given = [
        (name, member["name"], member["value"])
        for name, entry in described().items()
        for each in entry["examples"]
        for member in each["params"]
    ]
    assert [each for each in given if each[2] is None] == []


def test_examples_return_data() -> None:
    """The other tests would prove little on an empty chain, so the calls of these examples must return data."""
    filled = (
        "condenser_api.get_accounts",
        "condenser_api.get_account_history",
        "condenser_api.get_content",
        "database_api.list_comments",
        "account_history_api.get_account_history",
        "bridge.get_account_posts",
        "bridge.get_profile",
    )
    assert all(any(called(described()[name])["result"]) for name in filled)


def test_a_wrong_reply_violates_the_schema() -> None:
    accounts = called(described()["database_api.find_accounts"])["result"]
    schema = described()["database_api.find_accounts"]["result"]["schema"]
    del accounts["accounts"][0]["balance"]["nai"]
    accounts["accounts"][0]["id"] = "one"
    assert sorted(line.split(":")[0] for line in problems(schema, accounts)) == ["$.accounts[0].balance", "$.accounts[0].id"]


def test_both_forms_of_amounts() -> None:
    transfer = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]
    assert problems(schemas()["CondenserOperation"], transfer) == []
    assert problems(schemas()["Operation"], transfer) != []
    value = transfer[1] | {"amount": {"amount": "1000", "precision": 3, "nai": "@@000000021"}}  # type: ignore[operator]
    assert problems(schemas()["Operation"], {"type": "transfer_operation", "value": value}) == []


# ------------------------------------------------------------------ one declaration


class Pair(TypedDict):
    """A name and an optional number."""

    name: AccountName
    number: NotRequired[int]


def test_the_description_of_a_declaration() -> None:
    registry: dict[str, Method] = {}

    @method("condenser_api.pair", plugin="pairs", not_enabled=("_pairs", "no pairs"), registry=registry)
    def pair(state: State, name: AccountName, limit: Annotated[UInt32, MaxValue(5, "too many")] = 3) -> list[Pair | None]:
        """The pairs of a name. The list is always empty."""
        return []

    (entry,) = document(registry.values(), api().wire)["methods"]
    name = {"$ref": "#/components/schemas/AccountName"}
    number = {"$ref": "#/components/schemas/Integer"}
    members = {"type": "object", "properties": {"name": name, "number": number}, "required": ["name"]}
    assert entry == {
        "name": "condenser_api.pair",
        "summary": "The pairs of a name.",
        "description": "The pairs of a name. The list is always empty.",
        "tags": [{"name": "condenser_api"}],
        "paramStructure": "by-position",
        "params": [
            {"name": "name", "required": True, "schema": name},
            {"name": "limit", "required": False, "schema": {"type": "integer", "minimum": 0, "maximum": 5, "default": 3}},
        ],
        "result": {"name": "result", "schema": {"type": "array", "items": {"anyOf": [members, {"type": "null"}]}}},
        "errors": [
            {"code": -32003, "message": "Assert Exception:_pairs: no pairs"},
            {"code": -32003, "message": "Assert Exception:args.size() == 1 || args.size() == 2: Expected 1-2 arguments, was ${n}"},
            {"code": -32003, "message": "Assert Exception:args.limit <= 5: too many"},
        ],
        "examples": [{"name": "example", "params": [{"name": "name", "value": "alice"}], "result": {"name": "result", "value": []}}],
    }


def test_summaries_end_with_the_first_sentence() -> None:
    assert summary("One: a,\n  b. Two.") == "One: a, b."
    assert summary("Release 0.20.2 had it.") == "Release 0.20.2 had it."


# ------------------------------------------------------------------ pages


def test_the_pages_are_fresh() -> None:
    folder = ROOT / "docs" / "api"
    current = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")}
    made = pages.page_texts()
    assert sorted(current) == sorted(made), "write them again: .venv/bin/python -m bin.docs"
    assert [name for name in made if current[name] != made[name]] == [], "write them again: .venv/bin/python -m bin.docs"


def test_links_of_the_pages_resolve() -> None:
    made = pages.page_texts()
    places = {f"{name}#{line[3:].lower()}" for name, text in made.items() for line in text.splitlines() if line.startswith("## ")}
    links = {part.split(")")[0] for text in made.values() for part in text.split("](")[1:]}
    assert links - places - set(made) == set()
