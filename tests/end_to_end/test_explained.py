"""The public command over HTTP: the errors of wrongly signed transactions, and the node's list of recent refusals."""

import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from node.specs.builder import load_spec
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import Wire
from tests.end_to_end.test_command import Running

WIRE = Wire(load_spec("dev"))
PUSH = "condenser_api.broadcast_transaction"


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    """A dev node with one block."""
    node = Running("run", "--http", "127.0.0.1:0")
    deadline = time.monotonic() + 20
    while not properties(node)["head_block_number"]:
        assert time.monotonic() < deadline, "no block was made"
        time.sleep(0.2)
    yield node
    node.process.terminate()
    node.process.communicate(timeout=20)


def properties(node: Running) -> dict[str, Any]:
    """Return the global properties of the chain."""
    told: dict[str, Any] = node.call("condenser_api.get_dynamic_global_properties", [])["result"]
    return told


def transfer(node: Running, *, role: str = "active", chain_id: bytes = WIRE.spec.chain_id, seconds: int = 60) -> dict[str, Any]:
    """Return a transfer by alice, signed for a chain with the key of one of her roles."""
    head = properties(node)
    block_id = bytes.fromhex(head["head_block_id"])
    given = {
        "ref_block_num": head["head_block_number"] % 2**16,
        "ref_block_prefix": int.from_bytes(block_id[4:8], "little"),
        "expiration": head["time"],
        "operations": [["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]],
    }
    trx = WIRE.transaction_from_json(given, legacy=True)
    trx.expiration += seconds
    WIRE.seal(trx)
    trx.signatures = (sign(derive_secret("alice", role, "dev"), sha256(chain_id + trx.body).digest(), Canonical.bip_0062),)
    return WIRE.transaction_to_json(WIRE.seal(trx), legacy=True)


def test_refusals_explain_themselves(node: Running) -> None:
    ways = {
        "missing_active_authority/other_chain_id": transfer(node, chain_id=bytes(32)),
        "missing_active_authority/other_role_key": transfer(node, role="posting"),
        "expired/None": transfer(node, seconds=-10),
        "expiration_too_far/local_time": transfer(node, seconds=7260),
    }
    told = {}
    for name, trx in ways.items():
        explain = node.call(PUSH, [trx])["error"]["data"]["explain"]
        told[f"{explain['rule']}/{explain['values']['cause']}"] = name
    assert told == {name: name for name in ways}
    assert node.call(PUSH, [transfer(node)]) == {"jsonrpc": "2.0", "result": {}, "id": 1}
    listed = node.call("dev_api.list_refused", {})["result"]
    assert [f"{entry['explain']['rule']}/{entry['explain']['values']['cause']}" for entry in listed] == list(ways)[::-1]


def test_a_transaction_is_explained_without_being_sent(node: Running) -> None:
    trx = WIRE.transaction_to_json(WIRE.transaction_from_json(transfer(node, chain_id=bytes(32), seconds=90), legacy=True))
    told = node.call("dev_api.explain_transaction", {"trx": trx})["result"]
    assert (told["rule"], told["values"]["cause"]) == ("missing_active_authority", "other_chain_id")
    assert "steem-mainnet" in told["why"]
    assert "".join(field["hex"] for field in told["fields"]) == told["hex"]
