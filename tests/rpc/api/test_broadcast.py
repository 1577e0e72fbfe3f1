"""Transactions and blocks that come in, in both groups."""

import json
from typing import Any

import pytest

from rpc.processor import Inclusion
from state.operations.transfers import Transfer
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, Site, secret

PUSH = ["condenser_api.broadcast_transaction", "network_broadcast_api.broadcast_transaction"]
WAIT = ["condenser_api.broadcast_transaction_synchronous", "network_broadcast_api.broadcast_transaction_synchronous"]


@pytest.fixture
def site() -> Site:
    """Two blocks, and an account."""
    site = Site()
    site.start(2)
    site.account("alice")
    return site


def transfer(site: Site, amount: int = 1000, signer: bytes = INIT_SECRET) -> SignedTransaction:
    operation = Transfer(from_="initminer", to="alice", amount=Asset(amount, COIN), memo="")
    return site.transaction(operation, signers=(signer,))


def send(site: Site, method: str, trx: SignedTransaction, **named: Any) -> Any:
    if method.startswith("condenser_api."):
        return site.call(method, site.wire.transaction_to_json(trx, legacy=True))
    return site.call(method, trx=site.wire.transaction_to_json(trx), **named)


def balance(site: Site) -> int:
    return site.state.account("alice").balance


@pytest.mark.parametrize("method", PUSH)
def test_a_transaction_waits_for_a_block(site: Site, method: str) -> None:
    trx = transfer(site)
    assert send(site, method, trx) == {}
    assert balance(site) == 1000
    site.generate()
    assert site.call("condenser_api.get_block", 3)["transaction_ids"] == [trx.id.hex()]


@pytest.mark.parametrize("method", PUSH)
def test_what_the_chain_refuses_is_a_server_error(site: Site, method: str) -> None:
    unsigned = "missing required active authority:Missing Active Authority initminer"

    def refused(trx: SignedTransaction) -> tuple[int, str]:
        legacy = method.startswith("condenser_api.")
        shown = site.wire.transaction_to_json(trx, legacy)
        return site.refused(method, shown) if legacy else site.refused(method, trx=shown)

    assert refused(transfer(site, signer=secret("alice"))) == (-32000, unsigned)
    code, message = refused(transfer(site, amount=0))
    assert (code, message.split(":")[0]) == (-32000, "Assert Exception")
    assert balance(site) == 0


def test_what_cannot_be_read_is_refused_before_it_is_pushed(site: Site) -> None:
    shown = site.wire.transaction_to_json(transfer(site), legacy=True)
    shown["operations"][0][1]["amount"] = "1.0 COIN"
    code, message = site.refused("condenser_api.broadcast_transaction", shown)
    assert (code, message.split(":")[-1]) == (-32003, " Incorrect decimal places")


def test_an_old_head(site: Site) -> None:
    """The head may be as old as max_block_age says, not older; a negative age is any."""
    site.now = site.state.head_time + 11
    trx = site.wire.transaction_to_json(transfer(site))
    old = (-32003, "Assert Exception:!check_max_block_age( args.max_block_age ): ")
    for method in (PUSH[1], WAIT[1]):
        assert site.refused(method, trx=trx, max_block_age=10) == old
    assert balance(site) == 0
    assert site.call(PUSH[1], trx=trx, max_block_age=11) == {}
    site.now += 10**6
    assert send(site, PUSH[1], transfer(site, 7), max_block_age=-1) == {}
    assert balance(site) == 1007


@pytest.mark.parametrize("method", WAIT)
def test_waiting_for_the_block(site: Site, method: str) -> None:
    trx = transfer(site)
    site.processor.inclusion = Inclusion(b"", 3, -1, True)
    assert send(site, method, trx) == {"id": trx.id.hex(), "block_num": 3, "trx_num": -1, "expired": True}
    assert balance(site) == 1000


def test_blocks_come_in(site: Site) -> None:
    other = Site()
    shown = [site.call("block_api.get_block", block_num=number)["block"] for number in (1, 2)]
    assert other.call("network_broadcast_api.broadcast_block", block=shown[0]) == {}
    assert other.call("condenser_api.broadcast_block", site.call("condenser_api.get_block", 2)) == {}
    assert other.state.props.head_block_id == site.state.props.head_block_id
    # A block that is known already is no error.
    assert other.call("network_broadcast_api.broadcast_block", block=shown[1]) == {}


def test_a_block_without_a_parent(site: Site) -> None:
    block = site.call("block_api.get_block", block_num=2)["block"] | {"previous": "00000008" + "11" * 16}
    code, message = site.refused("network_broadcast_api.broadcast_block", block=block)
    assert (code, message.split(":")[0]) == (-32000, "unlinkable block")


def test_the_reply_is_json_in_the_envelope(site: Site) -> None:
    shown = site.wire.transaction_to_json(transfer(site), legacy=True)
    call = {"jsonrpc": "2.0", "id": "x", "method": "call", "params": ["condenser_api", "broadcast_transaction", [shown]]}
    assert site.answer(json.dumps(call).encode()) == b'{"jsonrpc":"2.0","result":{},"id":"x"}'
