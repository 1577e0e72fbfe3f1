"""Every command of `coind dev`: the method and the parameters that it sends, and the output for a result."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from state.protocol.config import config_object
from state.protocol.keys.keys import derive_secret, wif_from_secret
from tests.helpers.commands import CommandResult, coind
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import DEV
from tests.helpers.stub_server import StubServer, answering

HEAD = {
    "head_block_number": 30,
    "head_block_id": "0000001e" + "00" * 16,
    "head_block_time": "2026-01-31T12:00:00",
    "last_irreversible_block_num": 10,
    "time": "2026-01-31T12:00:02",
}
PROPS = {
    "head_block_number": 30,
    "head_block_id": HEAD["head_block_id"],
    "time": "2026-01-31T12:00:00",
    "current_supply": "1.000 COIN",
    "current_sbd_supply": "1.000 SBD",
    "total_vesting_shares": "1.000000 VESTS",
}
INFO = HEAD | {
    "chain": "dev", "chain_id": DEV.chain_id.hex(), "version": "0.1.0", "seconds_ahead": 86_400, "block_mode": "instant", "leap": "missed",
    "witnesses": 1, "pending": 2, "snapshots": [1, 2], "impersonated": {"accounts": ["alice"], "everyone": False},
}  # fmt: skip
TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]

WIF = wif_from_secret(derive_secret("alice", "active", "dev"))

REFUSED = {
    "time": "t",
    "head_block_number": 1,
    "id": None,
    "transaction": {"operations": [TRANSFER]},
    "message": "no",
    "explain": {"why": "x"},
}


@pytest.fixture
def node() -> Iterator[StubServer]:
    with answering() as server:
        server.results = {
            "condenser_api.get_config": config_object(DEV),
            "condenser_api.get_version": {"chain_id": DEV.chain_id.hex()},
            "condenser_api.get_dynamic_global_properties": PROPS,
        }
        yield server


@pytest.mark.parametrize(
    ("words", "method", "params", "result"),
    [
        (["info"], "get_info", {}, INFO),
        (["info"], "get_info", {}, INFO | {"seconds_ahead": -60}),
        (["mine"], "mine", {"count": 1}, HEAD),
        (["mine", "10"], "mine", {"count": 10}, HEAD),
        (["blocks", "mixed:2"], "set_block_mode", {"mode": "mixed:2"}, {"block_mode": "mixed:2"}),
        (["advance", "7d"], "advance_time", {"seconds": 604_800, "leap": ""}, HEAD),
        (["advance", "2h30m", "--leap", "produced"], "advance_time", {"seconds": 9000, "leap": "produced"}, HEAD),
        (["next-time", "+1h"], "set_next_block_time", {"time": "2026-01-31T13:00:00"}, {"next_block_time": "2026-01-31T13:00:00"}),
        (["pop", "2"], "pop_blocks", {"count": 2}, HEAD),
        (["snapshot"], "snapshot", {}, {"id": 3}),
        (["revert", "3"], "revert", {"id": 3}, HEAD),
        (["reset"], "reset", {}, HEAD),
        (["dump", "/x/y"], "dump", {"path": "/x/y"}, {"path": "/x/y", "size": 5}),
        (["load", "/x/y"], "load", {"path": "/x/y"}, HEAD),
        (["faucet", "alice"], "faucet", {"account": "alice"}, {"account": "alice", "balance": "1.000 COIN"}),
        (["faucet", "alice", "5 SBD"], "faucet", {"account": "alice", "amount": "5.000 SBD"}, {}),
        (["set-balance", "alice", "5 COIN"], "set_balance", {"account": "alice", "balance": "5.000 COIN"}, {}),
        (["set-vests", "alice", "5 VESTS"], "set_vests", {"account": "alice", "vests": "5.000000 VESTS"}, {}),
        (["set-authority", "alice", "memo", "TST1"], "set_authority", {"account": "alice", "role": "memo", "authority": "TST1"}, {}),
        (
            ["set-authority", "alice", "active", '{"weight_threshold": 1}'],
            "set_authority", {"account": "alice", "role": "active", "authority": {"weight_threshold": 1}}, {},
        ),
        (["keys"], "list_keys", {}, [{"name": "alice", "keys": {"active": {"public": "TST1", "private": "5x"}}}]),
        (["impersonate"], "impersonate", {"accounts": [], "everyone": False}, {"accounts": [], "everyone": False}),
        (
            ["impersonate", "alice", "bob"], "impersonate", {"accounts": ["alice", "bob"], "everyone": False},
            {"accounts": ["alice", "bob"], "everyone": False},
        ),
        (["impersonate", "--everyone"], "impersonate", {"accounts": [], "everyone": True}, {"everyone": True}),
        (["drop-pending"], "drop_pending", {}, {"dropped": 4}),
        (["refused"], "list_refused", {"limit": 20}, []),
        (["refused", "--limit", "5"], "list_refused", {"limit": 5}, [REFUSED]),
    ],
)  # fmt: skip
def test_a_command_is_a_call(
    node: StubServer, capsys: pytest.CaptureFixture[str], words: list[str], method: str, params: Any, result: Any
) -> None:
    node.results[f"dev_api.{method}"] = result
    done = coind(capsys, "dev", *words, "--url", node.url)
    assert (done.status, done.err) == (0, "")
    assert node.calls[-1] == (f"dev_api.{method}", params)
    same_as_golden(done.out)
    as_json = coind(capsys, "dev", *words, "--url", node.url, "--json")
    assert json.loads(as_json.out) == result


def test_operations_of_a_file_are_sent(node: StubServer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    node.results["dev_api.broadcast_operations"] = {"id": "ab", "block_num": None}
    file = tmp_path / "operations.json"
    file.write_text(json.dumps([TRANSFER]))
    done = coind(capsys, "dev", "broadcast", str(file), "--key", "5x", "--url", node.url)
    assert done.pairs == {"id": "ab", "block num": "none"}
    method, params = node.calls[-1]
    assert method == "dev_api.broadcast_operations"
    assert params["keys"] == ["5x"]
    assert params["operations"][0]["type"] == "transfer_operation"


def test_a_transaction_of_a_file_is_explained(node: StubServer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    field = {"path": "ref_block_num", "offset": 0, "size": 2, "hex": "0000", "value": 0}
    result = {
        "rule": "expired",
        "why": "too late",
        "what_to_do": "again",
        "message": "m",
        "id": "ab",
        "digest": "cd",
        "size": 9,
        "fields": [field],
    }
    node.results["dev_api.explain_transaction"] = result
    file = tmp_path / "trx.json"
    file.write_text(json.dumps({"operations": [TRANSFER], "expiration": "2026-01-01T00:00:00", "signatures": ["00" * 65]}))
    done = coind(capsys, "dev", "explain", str(file), "--url", node.url)
    assert done.pairs["why"] == "too late"
    assert "     0     2  ref_block_num  0000   0" in done.lines
    node.results["dev_api.explain_transaction"] = result | {"rule": None, "fields": []}
    same_as_golden(coind(capsys, "dev", "explain", str(file), "--url", node.url).out)


def test_any_method_can_be_called(node: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    node.results["a.b"] = {"x": 1}
    assert json.loads(coind(capsys, "dev", "call", "a.b", "[1]", "--url", node.url).out) == {"x": 1}
    assert node.calls[-1] == ("a.b", [1])
    same_as_golden(coind(capsys, "dev", "call", "a.b", "[", "--url", node.url).err)


@pytest.mark.parametrize(
    "words",
    [
        ["advance", "7y"],
        ["advance", "-1h"],
        ["set-authority", "alice", "active", "STM1"],
        ["set-authority", "alice", "active", WIF],
        ["mine", "0"],
        ["faucet", "alice", "5"],
        ["set-balance", "alice", "5 XYZ"],
        ["broadcast", "/nowhere"],
    ],
)
def test_a_mistake_is_named(node: StubServer, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    done = coind(capsys, "dev", *words, "--url", node.url)
    assert done.status in (1, 2)
    same_as_golden(done.err)


def refused(node: StubServer, capsys: pytest.CaptureFixture[str], error: dict[str, Any]) -> CommandResult:
    node.errors["dev_api.mine"] = error
    return coind(capsys, "dev", "mine", "--url", node.url)


def test_a_misspelt_method_is_guessed(node: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    node.errors["a.mien"] = {"code": 1, "message": "Could not find method mien", "data": {"closest": ["a.mine", "b.mine"]}}
    done = coind(capsys, "dev", "call", "a.mien", "--url", node.url)
    same_as_golden(done.err.splitlines()[1])


def test_a_refusal_says_what_to_do(node: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = refused(node, capsys, {"code": 1, "message": "no", "data": {"hint": "this chain isn't made for tests"}})
    assert done.status == 1
    assert done.err.splitlines() == [f"coind: {node.url} refuses dev_api.mine: no", "what to do: this chain isn't made for tests"]
    done = refused(node, capsys, {"code": 1, "message": "Could not find API dev_api"})
    same_as_golden(done.err)
