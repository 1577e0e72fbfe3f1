"""Driving a dev chain over HTTP with the public command: readiness, blocks and time, dev snapshots, state edits, dumps, and the data
folder.

Most tests share a node and reset it first.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import Wire
from tests.end_to_end.test_command import Running, command, later_head, node
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import DEV

LEAP_SECONDS_MAX, REVERT_SECONDS_MAX = 1.0, 0.25
MONTH = 40 * 86_400


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    """The node that all tests of this module share."""
    with node(by=command) as running:
        yield running


@pytest.fixture
def running(shared: Running) -> Running:
    """The shared node with a new chain that makes blocks only on request."""
    do(shared, "reset")
    do(shared, "set_block_mode", mode="manual")
    return shared


def processor_seconds(running: Running) -> float:
    """Return the CPU seconds that the node has used, which don't depend on the machine's load."""
    fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def do(running: Running, method: str, **params: Any) -> Any:
    """Call a dev_api method and return its result."""
    reply = running.call(f"dev_api.{method}", params)
    assert "result" in reply, reply
    return reply["result"]


def refused(running: Running, method: str, **params: Any) -> str:
    """Call a dev_api method and return the text of its refusal."""
    reply = running.call(f"dev_api.{method}", params)
    assert "error" in reply, reply
    return str(reply["error"]["message"])


def transfer(running: Running, memo: str = "", *, is_signed: bool = True) -> Any:
    """Return a transfer of 1.000 COIN from alice to bob, built from the node's replies."""
    wire = Wire(DEV)
    props = running.call("condenser_api.get_dynamic_global_properties", [])["result"]
    fields = {
        "ref_block_num": props["head_block_number"] & 0xFFFF,
        "ref_block_prefix": int.from_bytes(bytes.fromhex(props["head_block_id"])[4:8], "little"),
        "expiration": props["time"],
        "operations": [["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": memo}]],
    }
    trx = wire.transaction_from_json(fields, legacy=True)
    trx.expiration += 60
    wire.seal(trx)
    if is_signed:
        trx.signatures = (sign(derive_secret("alice", "active", "dev"), wire.signature_digest(trx), Canonical.bip_0062),)
    return wire.transaction_to_json(wire.seal(trx), legacy=True)


def broadcast(running: Running, trx: Any) -> Any:
    """Broadcast a transaction and return the response."""
    return running.call("condenser_api.broadcast_transaction", [trx])


def balance(running: Running, name: str = "alice") -> str:
    return str(running.call("condenser_api.get_accounts", [[name]])["result"][0]["balance"])


# ------------------------------------------------------------------ readiness


@pytest.mark.parametrize("chain", ["dev", "steem-testnet", "dev-tests"])
def test_first_reply_comes_from_a_usable_chain(chain: str) -> None:
    with node("--chain", chain) as running:
        props = running.call("database_api.get_dynamic_global_properties", {})["result"]
        assert props["head_block_number"] >= 25
        assert props["last_irreversible_block_num"] >= 2
        assert abs(running.health()[1]["head_block_age_seconds"]) <= 30
        feed = running.call("database_api.get_current_price_feed", {})["result"]
        assert int(feed["base"]["amount"]) > 0
        witness = running.call("rc_api.find_rc_accounts", {"accounts": ["initminer"]})["result"]["rc_accounts"][0]
        assert int(witness["max_rc"]) > 0


def test_early_broadcast_stays() -> None:
    with node() as running:
        assert broadcast(running, transfer(running))["result"] == {}
        do(running, "mine", count=2)
        assert balance(running) == "99999.000 COIN"


def test_no_produce_starts_at_genesis() -> None:
    with node("--no-produce") as running:
        assert do(running, "get_info")["head_block_number"] == 0
        assert do(running, "mine")["head_block_number"] == 1
        assert "--no-produce" in refused(running, "set_block_mode", mode="instant")


# ------------------------------------------------------------------ blocks and time


def test_blocks_are_made_only_on_request(running: Running) -> None:
    head = do(running, "get_info")["head_block_number"]
    assert broadcast(running, transfer(running))["result"] == {}
    time.sleep(3.5)
    assert do(running, "get_info")["head_block_number"] == head
    assert running.health()[1]["not_producing_because"] == "blocks are made only when asked (--blocks manual)"
    assert do(running, "mine", count=3)["head_block_number"] == head + 3
    block = running.call("condenser_api.get_block", [head + 1])["result"]
    assert len(block["transactions"]) == 1


def test_transaction_gets_its_block_immediately(running: Running) -> None:
    do(running, "set_block_mode", mode="instant")
    head = do(running, "get_info")["head_block_number"]
    for number in range(3):
        reply = running.call("condenser_api.broadcast_transaction_synchronous", [transfer(running, str(number))])
        assert reply["result"]["block_num"] == head + number + 1
    assert balance(running) == "99997.000 COIN"


def test_forty_day_leap_is_fast(running: Running) -> None:
    before = do(running, "get_info")
    start = processor_seconds(running)
    head = do(running, "advance_time", seconds=MONTH)
    assert processor_seconds(running) - start < LEAP_SECONDS_MAX
    assert head["head_block_number"] == before["head_block_number"] + 8  # one every five days
    assert MONTH - 3 <= do(running, "get_info")["seconds_ahead"] <= MONTH + 3
    do(running, "set_block_mode", mode="interval")
    later_head(running, head["head_block_number"])


def test_other_clients_are_answered_during_a_leap(running: Running) -> None:
    heads: list[int] = []
    # Making 2,000 blocks takes a second or more. Meanwhile other clients get replies with one of the intermediate heads.
    leap = Thread(target=do, args=(running, "advance_time"), kwargs={"seconds": 6_000, "leap": "produced"})
    leap.start()
    while leap.is_alive():
        heads.append(running.head()[0])
    assert do(running, "get_info")["head_block_number"] >= 2_025
    assert len(heads) > 2
    assert heads == sorted(heads)


def test_next_block_time(running: Running) -> None:
    when = do(running, "get_info")["head_block_time"][:10] + "T23:59:57"
    later = do(running, "advance_time", seconds=86_400)["head_block_time"][:10] + "T23:59:57"
    assert refused(running, "set_next_block_time", time=when)
    assert do(running, "set_next_block_time", time=later) == {"next_block_time": later}
    assert do(running, "mine")["head_block_time"] == later


# ------------------------------------------------------------------ dev snapshots


def test_revert_is_fast_and_repeatable(running: Running) -> None:
    kept = do(running, "snapshot")["id"]
    before = do(running, "get_info")
    for _ in range(3):
        broadcast(running, transfer(running))
        do(running, "mine", count=100)
        do(running, "advance_time", seconds=86_400)
        start = processor_seconds(running)
        head = do(running, "revert", id=kept)
        assert processor_seconds(running) - start < REVERT_SECONDS_MAX
        assert head["head_block_id"] == before["head_block_id"]
        assert balance(running) == "100000.000 COIN"
    same_as_golden(refused(running, "revert", id=77))


def test_waiting_call_is_refused_after_a_revert(running: Running) -> None:
    kept = do(running, "snapshot")["id"]
    replies: list[Any] = []
    trx = transfer(running)
    waiting = Thread(target=lambda: replies.append(running.call("condenser_api.broadcast_transaction_synchronous", [trx])))
    waiting.start()
    while do(running, "get_info")["pending"] == 0:
        time.sleep(0.01)
    do(running, "revert", id=kept)
    waiting.join()
    same_as_golden(replies[0]["error"]["message"])


def test_pop_blocks_and_drop_transactions(running: Running) -> None:
    broadcast(running, transfer(running))
    head = do(running, "mine")["head_block_number"]
    assert do(running, "pop_blocks")["head_block_number"] == head - 1
    same_as_golden(refused(running, "pop_blocks", count=1000))
    do(running, "mine")
    assert do(running, "drop_pending") == {"dropped": 1}
    assert balance(running) == "100000.000 COIN"


# ------------------------------------------------------------------ state edits


def test_edits(running: Running) -> None:
    assert do(running, "set_balance", account="alice", balance="5.000 COIN") == {}
    assert balance(running) == "5.000 COIN"
    assert do(running, "set_vests", account="alice", vests="7.000000 VESTS") == {}
    assert do(running, "faucet", account="alice")["balance"] == "1005.000 COIN"
    key = running.call("condenser_api.get_accounts", [["bob"]])["result"][0]["memo_key"]
    assert do(running, "set_authority", account="alice", role="active", authority=key) == {}
    assert "missing required active authority" in broadcast(running, transfer(running))["error"]["message"]


def test_impersonation(running: Running) -> None:
    trx = transfer(running, is_signed=False)
    assert "error" in broadcast(running, trx)
    assert do(running, "impersonate", accounts=["alice"]) == {"accounts": ["alice"], "everyone": False}
    assert broadcast(running, trx)["result"] == {}
    assert do(running, "impersonate") == {"accounts": [], "everyone": False}
    do(running, "mine")
    assert balance(running) == "99999.000 COIN"


def test_dump_and_load(running: Running, tmp_path: Path) -> None:
    do(running, "advance_time", seconds=3600)
    broadcast(running, transfer(running))
    told = do(running, "dump", path=str(tmp_path / "one"))
    do(running, "mine", count=30)
    assert do(running, "load", path=str(tmp_path / "one"))["head_block_id"] == told["head_block_id"]
    do(running, "dump", path=str(tmp_path / "two"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert do(running, "get_info")["pending"] == 1


# ------------------------------------------------------------------ a data folder


def test_edits_and_reverts_survive_a_kill(tmp_path: Path) -> None:
    with node("--data", tmp_path, by=command) as running:
        do(running, "set_block_mode", mode="manual")
        do(running, "set_balance", account="alice", balance="5.000 COIN")
        kept = do(running, "snapshot")["id"]
        do(running, "mine", count=40)
        do(running, "set_balance", account="bob", balance="6.000 COIN")
        do(running, "mine", count=40)
        do(running, "revert", id=kept)
        head = do(running, "mine", count=2)
        same_as_golden(refused(running, "load", path="x"))
        running.end(signal.SIGKILL)
    with node("--data", tmp_path, "--no-produce") as again:
        assert again.head() == (head["head_block_number"], head["head_block_id"])
        assert (balance(again), balance(again, "bob")) == ("5.000 COIN", "100000.000 COIN")
        do(again, "mine", count=30)
        do(again, "pop_blocks", count=3)
        number = again.head()
        again.end(signal.SIGTERM)
    with node("--data", tmp_path, "--no-produce", by=command) as third:
        assert third.head() == number
        assert balance(third) == "5.000 COIN"
        # The clock continues from the head block, which is ahead of the machine's clock.
        assert do(third, "get_info")["time"] >= do(third, "get_info")["head_block_time"]
        assert do(third, "reset")["head_block_number"] == 0
        assert (tmp_path / "edits").read_bytes() == b""
        third.end(signal.SIGKILL)
    with node("--data", tmp_path) as fresh:
        assert do(fresh, "get_info")["head_block_number"] >= 25
        assert balance(fresh) == "100000.000 COIN"


def test_dev_api_exists_only_on_test_chains() -> None:
    with node("--chain", "steem-mainnet") as running:
        reply = running.call("dev_api.mine", {})
        assert "Could not find API dev_api" in reply["error"]["message"]
        assert reply["error"]["data"]["hint"]
