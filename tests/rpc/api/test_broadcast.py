"""Broadcasts of transactions and blocks through condenser_api and network_broadcast_api."""

from typing import Any

import pytest

from rpc.processor import Inclusion
from state.operations.transfers import Transfer
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, ApiChain, secret

PUSH = ["condenser_api.broadcast_transaction", "network_broadcast_api.broadcast_transaction"]
WAIT = ["condenser_api.broadcast_transaction_synchronous", "network_broadcast_api.broadcast_transaction_synchronous"]


@pytest.fixture
def api() -> ApiChain:
    """A chain with two blocks and an account."""
    api = ApiChain()
    api.start(2)
    api.account("alice")
    return api


def transfer(api: ApiChain, amount: int = 1000, signer: bytes = INIT_SECRET) -> SignedTransaction:
    operation = Transfer(from_="initminer", to="alice", amount=Asset(amount, COIN), memo="")
    return api.transaction(operation, signers=(signer,))


def send(api: ApiChain, method: str, trx: SignedTransaction, **named: Any) -> Any:
    if method.startswith("condenser_api."):
        return api.call(method, api.wire.transaction_to_json(trx, legacy=True))
    return api.call(method, trx=api.wire.transaction_to_json(trx), **named)


def balance(api: ApiChain) -> int:
    return api.state.account("alice").balance


@pytest.mark.parametrize("method", PUSH)
def test_a_transaction_waits_for_a_block(api: ApiChain, method: str) -> None:
    trx = transfer(api)
    assert send(api, method, trx) == {}
    assert balance(api) == 1000
    api.generate()
    assert api.call("condenser_api.get_block", 3)["transaction_ids"] == [trx.id.hex()]


@pytest.mark.parametrize("method", PUSH)
def test_a_refusal_of_the_chain_is_a_server_error(api: ApiChain, method: str) -> None:
    unsigned = "missing required active authority:Missing Active Authority initminer"

    def refused(trx: SignedTransaction) -> tuple[int, str]:
        legacy = method.startswith("condenser_api.")
        shown = api.wire.transaction_to_json(trx, legacy)
        return api.refused(method, shown) if legacy else api.refused(method, trx=shown)

    assert refused(transfer(api, signer=secret("alice"))) == (-32000, unsigned)
    code, message = refused(transfer(api, amount=0))
    assert (code, message.split(":")[0]) == (-32000, "Assert Exception")
    assert balance(api) == 0


def test_an_undecodable_transaction_is_refused_before_it_is_pushed(api: ApiChain) -> None:
    shown = api.wire.transaction_to_json(transfer(api), legacy=True)
    shown["operations"][0][1]["amount"] = "1.0 COIN"
    code, message = api.refused("condenser_api.broadcast_transaction", shown)
    assert (code, message.split(":")[-1]) == (-32003, " Incorrect decimal places")


def test_the_age_of_the_head_can_be_limited(api: ApiChain) -> None:
    """A broadcast is refused if the head block is older than max_block_age seconds. A negative value allows any age."""
    api.now = api.state.head_time + 11
    trx = api.wire.transaction_to_json(transfer(api))
    old = (-32003, "Assert Exception:!check_max_block_age( args.max_block_age ): ")
    for method in (PUSH[1], WAIT[1]):
        assert api.refused(method, trx=trx, max_block_age=10) == old
    assert balance(api) == 0
    assert api.call(PUSH[1], trx=trx, max_block_age=11) == {}
    api.now += 10**6
    assert send(api, PUSH[1], transfer(api, 7), max_block_age=-1) == {}
    assert balance(api) == 1007


@pytest.mark.parametrize("method", WAIT)
def test_waiting_for_the_block(api: ApiChain, method: str) -> None:
    trx = transfer(api)
    api.processor.inclusion = Inclusion(b"", 3, -1, True)
    assert send(api, method, trx) == {"id": trx.id.hex(), "block_num": 3, "trx_num": -1, "expired": True}
    assert balance(api) == 1000


def test_blocks_are_pushed_in_both_groups(api: ApiChain) -> None:
    other = ApiChain()
    shown = [api.call("block_api.get_block", block_num=number)["block"] for number in (1, 2)]
    assert other.call("network_broadcast_api.broadcast_block", block=shown[0]) == {}
    assert other.call("condenser_api.broadcast_block", api.call("condenser_api.get_block", 2)) == {}
    assert other.state.props.head_block_id == api.state.props.head_block_id
    # Pushing a block again is not an error.
    assert other.call("network_broadcast_api.broadcast_block", block=shown[1]) == {}


def test_a_block_without_a_parent(api: ApiChain) -> None:
    block = api.call("block_api.get_block", block_num=2)["block"] | {"previous": "00000008" + "11" * 16}
    code, message = api.refused("network_broadcast_api.broadcast_block", block=block)
    assert (code, message.split(":")[0]) == (-32000, "unlinkable block")
