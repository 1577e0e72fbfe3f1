"""The sources that tests of forks use: what each flavour serves, how each fault ends, and that HTTP gives the same replies."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.client.errors import RefusedCall
from node.fork.source import REPLY_BYTES_MAX, Source, SourceSilent, SourceWrong
from node.runtime.errors import NodeError
from tests.fork.sources import FAULTS, PASSING, Fault, SourceNode
from tests.fork.town import town

URL = "http://there:8090"
HEAD = "condenser_api.get_dynamic_global_properties"


@pytest.fixture(scope="module")
def chain() -> LocalChain:
    return town()


def ask(node: SourceNode, method: str, params: Any = ()) -> Any:
    """Call a node through a `Source`, under a clock that skips all waiting."""

    async def run() -> Any:
        return await Source(URL, transport=node.transport()).call(method, params)

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def test_a_flavour_serves_its_methods(chain: LocalChain) -> None:
    for flavour, served, refused in (
        ("coind", ["explorer_api.get_overview", "bridge.get_community", "database_api.list_accounts"], "dev_api.get_info"),
        ("steemd", ["database_api.list_accounts", "rc_api.find_rc_accounts"], "bridge.get_community"),
        ("jussi", [], "database_api.list_accounts"),
        ("hive", ["database_api.list_accounts"], "database_api.list_smt_tokens"),
    ):
        node = SourceNode(chain, flavour)
        if served:
            assert {*served, HEAD} <= {*ask(node, "jsonrpc.get_methods")}
            assert refused not in ask(node, "jsonrpc.get_methods")
        assert ask(node, HEAD)["head_block_number"] == chain.chain.state.props.head_block_number
        with pytest.raises(RefusedCall):
            ask(node, refused)


def test_jussi_lists_no_methods_and_limits_batches(chain: LocalChain) -> None:
    node = SourceNode(chain, "jussi")
    with pytest.raises(RefusedCall):
        ask(node, "jsonrpc.get_methods")

    async def batch() -> list[Any]:
        return await Source(URL, transport=node.transport()).batch([(HEAD, [])] * 80)

    assert len(trio.run(batch)) == 80


def test_hive_has_its_own_names(chain: LocalChain) -> None:
    node = SourceNode(chain, "hive")
    props = ask(node, HEAD)
    assert props["current_hbd_supply"].endswith(" HBD")
    assert props["total_vesting_fund_hive"].endswith(" HIVE")
    assert {"hbd_interest_rate", "dhf_interval_ledger"} <= props.keys()
    [bob] = ask(node, "condenser_api.get_accounts", [["bob"]])
    [same] = chain.call("condenser_api.get_accounts", [["bob"]])
    assert bob["hbd_balance"].split()[0] == same["sbd_balance"].split()[0]
    assert bob["delayed_votes"] == []
    config = ask(node, "database_api.get_config")
    assert (config["HIVE_CHAIN_ID"], config["HBD_SYMBOL"]) == (chain.spec.chain_id.hex(), {"nai": "@@000000013", "decimals": 3})
    assert not [name for name in [*config, *bob, *props] if "sbd" in name.lower() or "coin" in name.lower()]
    [fund] = ask(node, "condenser_api.get_accounts", [["hive.fund"]])
    assert fund["name"] == "hive.fund"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_changes_the_reply_or_fails(chain: LocalChain, name: str) -> None:
    node = SourceNode(chain, "coind", name)
    params = {"start": "", "limit": 10, "order": "by_name"}
    expected = chain.call("database_api.list_accounts", params)
    try:
        result = ask(node, "database_api.list_accounts", params)
    except (SourceSilent, SourceWrong):
        return
    if name in PASSING or name == "other id":
        assert result == expected
    elif name == "endless pages":
        assert result == expected
        assert ask(node, "database_api.list_accounts", params | {"start": "judy"}) == expected
    else:
        assert result != expected


def test_a_fault_strikes_as_often_as_said(chain: LocalChain) -> None:
    node = SourceNode(chain, "coind", Fault(result=lambda method, params, result: None, methods=HEAD, times=1))
    assert ask(node, "condenser_api.get_version") is not None
    assert ask(node, HEAD) is None
    assert ask(node, HEAD) is not None


def test_replies_can_change_between_calls() -> None:
    chain = LocalChain()
    node = SourceNode(chain)
    node.on_call = lambda method: chain.mine()
    first, second = ask(node, HEAD), ask(node, HEAD)
    assert second["head_block_number"] == first["head_block_number"] + 1


def test_over_http(chain: LocalChain) -> None:
    async def ask_over_http(url: str, *calls: tuple[str, Any]) -> list[Any]:
        source = Source(url, patience_seconds=1)
        try:
            return await source.batch(calls)
        finally:
            await source.close()

    call = ("condenser_api.get_accounts", [["alice", "kim"]])
    with SourceNode(chain).listening() as url:
        assert trio.run(ask_over_http, url, call, call) == [chain.call(*call)] * 2
    for name in ("half a body", "too many requests", "no JSON"):
        with SourceNode(chain, "coind", name).listening() as url, pytest.raises(NodeError):
            trio.run(ask_over_http, url, call)


def test_the_large_body_is_too_large() -> None:
    fault = FAULTS["large body"]()
    node = SourceNode(LocalChain(), "coind", fault)
    reply = node.post(json.dumps({"id": 1, "method": HEAD}).encode())
    assert reply is not None
    assert len(reply.body) > REPLY_BYTES_MAX
