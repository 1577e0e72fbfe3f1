"""LocalChain, a chain in the test's process: it behaves like a node's chain, is deterministic, and its clock stands still."""

from pathlib import Path
from typing import Any

import pytest

from node.app.local_chain import START, LocalChain
from node.client.dev_api import CallRefused
from node.specs.builder import load_spec
from state.chain.digest import state_digest
from state.protocol.values.text import time_text

TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]


@pytest.fixture
def chain() -> LocalChain:
    return LocalChain()


def balance(chain: LocalChain, name: str = "bob") -> str:
    text: str = chain.call("condenser_api.get_accounts", [[name]])[0]["balance"]
    return text


def head(chain: LocalChain) -> int:
    number: int = chain.info()["head_block_number"]
    return number


# ------------------------------------------------------------------ the start


def test_it_is_usable_at_once(chain: LocalChain) -> None:
    info = chain.info()
    assert info["head_block_number"] == 25
    assert info["last_irreversible_block_num"] >= 2
    assert info["time"] == info["head_block_time"] == time_text(START)
    assert (info["block_mode"], info["chain"]) == ("instant", "dev")


def test_the_same_calls_lead_to_the_same_chain() -> None:
    """The blocks of both chains have the same times, ids and signatures."""

    def play() -> tuple[str, str]:
        chain = LocalChain()
        for _ in range(3):
            chain.broadcast(TRANSFER)
        chain.mine(5)
        chain.advance(3600)
        return chain.info()["head_block_id"], state_digest(chain.chain.state)

    assert play() == play()


def test_chains_know_nothing_of_each_other(chain: LocalChain) -> None:
    other = LocalChain()
    other.broadcast(TRANSFER)
    assert (balance(chain), balance(other)) == ("100000.000 COIN", "100001.000 COIN")


def test_specs_times_accounts_and_witnesses_can_be_chosen() -> None:
    chain = LocalChain(load_spec("dev"), blocks="manual", time=START + 86400, witnesses=3, accounts=12, leap="produced")
    info = chain.info()
    assert info["head_block_time"] == time_text(START + 86400)
    assert (info["block_mode"], info["witnesses"], info["leap"]) == ("manual", 3, "produced")
    assert list(chain.accounts)[-5:] == ["user11", "user12", "initminer", "initminer2", "initminer3"]
    chain.broadcast(["transfer", {"from": "user12", "to": "initminer2", "amount": "1.000 COIN", "memo": ""}])
    assert chain.broadcast(["transfer", {"from": "initminer2", "to": "bob", "amount": "1.000 COIN", "memo": ""}])["block_num"] is None


@pytest.mark.parametrize("name", ["dev-tests", "steem-testnet"])
def test_the_chains_for_tests_are_usable(name: str) -> None:
    chain = LocalChain(name)
    who = "alice" if name == "dev-tests" else "initminer"
    chain.broadcast(["transfer", {"from": who, "to": "null", "amount": "1.000 TESTS", "memo": ""}])


def test_plugins_can_be_chosen() -> None:
    chain = LocalChain(plugins=["follow"])
    with pytest.raises(CallRefused, match="Could not find"):
        chain.call("rc_api.get_resource_params")


# ------------------------------------------------------------------ transactions


def test_a_broadcast_is_in_a_block(chain: LocalChain) -> None:
    answer = chain.broadcast(TRANSFER)
    assert answer["block_num"] == 26 == head(chain)
    found = chain.call("condenser_api.get_transaction", [answer["id"]])
    assert found["operations"] == [TRANSFER]


def test_one_operation_can_be_broadcast_without_its_list(chain: LocalChain) -> None:
    answer = chain.broadcast(*TRANSFER)
    assert chain.call("condenser_api.get_transaction", [answer["id"]])["operations"] == [TRANSFER]


def test_a_signed_transaction_is_pushed_in_any_form(chain: LocalChain) -> None:
    """The transactions are signed on another chain with the same history."""
    wire = chain.chain.state.wire
    elsewhere = LocalChain(blocks="manual")
    for _ in range(3):
        elsewhere.broadcast(TRANSFER)
    first, second, third = elsewhere.chain.pending
    chain.set_block_mode("manual")
    chain.push(wire.transaction_to_json(first))
    chain.push(wire.transaction_to_json(second, legacy=True))
    chain.push(wire.pack_transaction(third))
    assert [trx.id for trx in chain.chain.pending] == [first.id, second.id, third.id]


def test_a_refusal_is_that_of_a_node(chain: LocalChain) -> None:
    much = ["transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""}]
    with pytest.raises(CallRefused, match="does not have sufficient funds") as refused:
        chain.broadcast(much)
    assert refused.value.code == -32000
    assert refused.value.data["name"] == "assert_exception"
    assert refused.value.rule == "insufficient_funds"
    assert head(chain) == 25
    with pytest.raises(CallRefused, match="Could not find method get_acounts"):
        chain.call("condenser_api.get_acounts", [["alice"]])


def test_the_text_of_a_refused_call_names_the_parameter(chain: LocalChain) -> None:
    with pytest.raises(CallRefused, match=r"method: dev_api\.advance_time\n  parameter: seconds$"):
        chain.call("dev_api.advance_time", {"seconds": "7d"})


def test_an_operation_without_its_fields_is_explained_in_the_form_of_lists(chain: LocalChain) -> None:
    with pytest.raises(CallRefused) as refused:
        chain.broadcast(TRANSFER, "transfer")
    assert refused.value.rule == "wrong_form_of_operation"
    assert (refused.value.values["field"], refused.value.values["given"]) == ("operations[1]", "transfer")
    assert '["transfer"' in refused.value.what_to_do


def test_the_text_of_a_refusal_has_its_explanation() -> None:
    explain = {"rule": "some_rule", "why": "It is so.", "what_to_do": "Do this.", "values": {}}
    error = CallRefused("a.b", {"code": -32000, "message": "No", "data": {"explain": explain}})
    assert str(error) == "No\n  rule: some_rule\n  why: It is so.\n  what to do: Do this."
    assert (error.rule, error.why, error.what_to_do, error.values) == ("some_rule", "It is so.", "Do this.", {})
    other = CallRefused("a.b", {"code": 1, "message": "No", "data": {"closest": ["a.c"]}})
    assert (str(other), other.rule, other.why) == ("No\n  method: a.b; is it a.c?", "", "")


def test_a_call_that_waits_for_a_block_gets_one(chain: LocalChain) -> None:
    wire = chain.chain.state.wire
    for mode in ("manual", "instant"):
        elsewhere = LocalChain(blocks="manual")
        elsewhere.broadcast(TRANSFER, TRANSFER) if mode == "instant" else elsewhere.broadcast(TRANSFER)
        chain.set_block_mode(mode)
        trx = wire.transaction_to_json(elsewhere.chain.pending[0], legacy=True)
        answer = chain.call("condenser_api.broadcast_transaction_synchronous", [trx])
        assert (answer["block_num"], answer["trx_num"], answer["expired"]) == (head(chain), 0, False)


# ------------------------------------------------------------------ blocks and time


def test_time_stands_still_but_for_blocks(chain: LocalChain) -> None:
    chain.mine(10)
    assert chain.info()["time"] == time_text(START + 30)
    chain.advance(600)
    assert chain.info()["time"] == chain.info()["head_block_time"] == time_text(START + 630)
    chain.set_next_block_time(time_text(START + 900))
    chain.mine()
    assert chain.info()["head_block_time"] == time_text(START + 900)


def test_an_advance_can_make_all_blocks(chain: LocalChain) -> None:
    chain.advance(60, "produced")
    assert head(chain) == 45


def test_blocks_go_from_one_chain_to_another(chain: LocalChain) -> None:
    elsewhere = LocalChain()
    elsewhere.broadcast(TRANSFER)
    block = elsewhere.call("block_api.get_block", {"block_num": 26})["block"]
    chain.call("network_broadcast_api.broadcast_block", {"block": block})
    assert chain.info()["time"] == elsewhere.info()["time"]
    with pytest.raises(CallRefused):
        chain.call("network_broadcast_api.broadcast_block", {"block": block | {"timestamp": time_text(START + 30)}})


def test_blocks_come_from_a_file(chain: LocalChain, tmp_path: Path) -> None:
    elsewhere = LocalChain()
    elsewhere.mine(5)
    wire = elsewhere.chain.state.wire
    blocks = [elsewhere.chain.block_by_number(number) for number in range(1, 31)]
    lines = [json_line(wire.block_to_json(block)) for block in blocks if block is not None]
    (tmp_path / "blocks.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "bad.jsonl").write_bytes(b"".join(lines[:28]) + b"{}\n")

    def push(name: str, count: int) -> Any:
        path = str(tmp_path / name)
        return chain.call("debug_node_api.debug_push_blocks", {"src_filename": path, "count": count})["blocks"]

    assert push("blocks.jsonl", 2) == 2
    assert push("bad.jsonl", 100) == 1
    assert push("blocks.jsonl", 100) == 2
    assert chain.info()["head_block_id"] == elsewhere.info()["head_block_id"]
    with pytest.raises(CallRefused, match="nothing"):
        push("nothing", 1)


def json_line(value: Any) -> bytes:
    import json

    return json.dumps(value).encode() + b"\n"


# ------------------------------------------------------------------ moments


def test_a_moment_can_be_returned_to_again_and_again(chain: LocalChain) -> None:
    moment = chain.snapshot()
    digest = state_digest(chain.chain.state)
    for count in (1, 50):
        chain.broadcast(*[TRANSFER] * count)
        chain.mine(count)
        chain.set_block_mode("manual")
        chain.revert(moment)
        assert state_digest(chain.chain.state) == digest
        assert chain.info()["time"] == time_text(START)
        assert chain.info()["block_mode"] == "instant"


def test_a_reset_leads_to_the_start(chain: LocalChain) -> None:
    fresh = chain.info()
    chain.broadcast(TRANSFER)
    chain.advance(86400)
    chain.reset()
    assert chain.info() == fresh


def test_blocks_are_undone(chain: LocalChain) -> None:
    chain.mine(5)
    chain.pop_blocks(3)
    assert head(chain) == 27
    chain.broadcast(TRANSFER)
    chain.pop_blocks()
    chain.drop_pending()  # the transactions of undone blocks were pending again
    chain.mine()
    assert balance(chain) == "100000.000 COIN"
    chain.set_block_mode("manual")
    chain.broadcast(TRANSFER)
    assert chain.drop_pending() == 1


def test_a_dump_goes_into_another_chain(chain: LocalChain, tmp_path: Path) -> None:
    chain.broadcast(TRANSFER)
    chain.dump(str(tmp_path / "dump"))
    other = LocalChain()
    other.load(str(tmp_path / "dump"))
    assert state_digest(other.chain.state) == state_digest(chain.chain.state)
    assert other.info()["time"] == chain.info()["time"]


# ------------------------------------------------------------------ by hand


def test_accounts_are_changed_by_hand(chain: LocalChain) -> None:
    chain.set_balance("bob", "5.000 COIN")
    assert chain.faucet("bob", "1.000 COIN")["balance"] == "6.000 COIN" == balance(chain)
    chain.set_vests("bob", "7.000000 VESTS")
    assert chain.call("condenser_api.get_accounts", [["bob"]])[0]["vesting_shares"] == "7.000000 VESTS"
    chain.impersonate("alice")
    assert chain.info()["impersonated"] == {"accounts": ["alice"], "everyone": False}
    chain.impersonate(everyone=True)
    chain.impersonate()
    key = chain.accounts["bob"].active
    chain.set_authority("alice", "active", key.public)
    chain.broadcast(TRANSFER, keys=[key.private])


def test_a_transaction_is_explained_without_being_pushed(chain: LocalChain) -> None:
    elsewhere = LocalChain(blocks="manual")
    elsewhere.broadcast(TRANSFER)
    trx = elsewhere.chain.state.wire.transaction_to_json(elsewhere.chain.pending[0], legacy=True)
    assert chain.explain(trx)["rule"] is None
    assert chain.explain(trx | {"signatures": []})["rule"] == "missing_active_authority"
    assert chain.info()["pending"] == 0
