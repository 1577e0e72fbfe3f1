"""Transactions of batches that are read ahead: the same replies as without, whatever the members are like."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rpc.explain.explainer import Explainer
from rpc.explorer.series import Series
from rpc.service import foreseeing
from rpc.service.arguments import ReadAhead
from rpc.service.envelope import Service
from rpc.service.foreseeing import MEMBERS_MAX, Foresight
from rpc.service.method import METHODS
from state.operations.transfers import Transfer
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, Site, secret

Body = list[Any]


def site_of(seen: list[SignedTransaction] | None) -> Site:
    """Two blocks and an account; with a list, transactions of batches are read ahead into it."""
    site = Site()
    site.start(2)
    site.account("alice")
    if seen is not None:
        site.service = Service(
            METHODS.values(),
            wire=site.wire,
            clock=lambda: site.now,
            foresee=seen.extend,
            state=site.state,
            chain=site.chain,
            processor=site.processor,
            driver=site.driver,
            explainer=Explainer(site.chain, lambda: site.now, lambda: ()),
            series=Series(site.chain),
        )
    return site


def requests(site: Site) -> Iterator[dict[str, Any]]:
    """Broadcasts in every form, good and bad, and other calls."""

    def trx(amount: int, legacy: bool, signer: bytes = INIT_SECRET, **fields: Any) -> Any:
        operation = Transfer(from_="initminer", to="alice", amount=Asset(amount, COIN), memo="")
        return site.wire.transaction_to_json(site.transaction(operation, signers=(signer,), **fields), legacy)

    condenser, plain = "condenser_api.broadcast_transaction", "network_broadcast_api.broadcast_transaction"
    yield {"method": condenser, "params": [trx(1, True)]}
    yield {"method": plain, "params": {"trx": trx(2, False)}}
    yield {"method": plain, "params": {"trx": trx(3, False), "max_block_age": 1}}
    yield {"method": plain, "params": [trx(4, False)]}
    yield {"method": "call", "params": ["condenser_api", "broadcast_transaction", [trx(5, True)]]}
    yield {"method": "call", "params": ["network_broadcast_api", "broadcast_transaction", {"trx": trx(6, False)}]}
    yield {"method": "call", "params": [0, "broadcast_transaction", [trx(7, True)]]}
    yield {"method": "condenser_api.get_accounts", "params": [["alice"]]}
    yield {"method": condenser, "params": [trx(8, True, secret("alice"))]}
    yield {"method": condenser, "params": [trx(1, True)]}  # a duplicate
    yield {"method": condenser, "params": [trx(9, True, expiration=1)]}
    yield {"method": condenser, "params": [trx(10, True), 1]}
    yield {"method": condenser, "params": []}
    yield {"method": condenser, "params": {}}
    yield {"method": plain, "params": {}}
    yield {"method": plain, "params": {"trx": None}}
    yield {"method": condenser, "params": [{"operations": [["transfer", {"amount": "much"}]]}]}
    yield {"method": condenser, "params": [{"operations": 7}]}
    yield {"method": plain, "params": [trx(11, True)]}  # the other form
    yield {"method": condenser}
    yield {"method": "call", "params": ["condenser_api", "broadcast_transaction"]}
    yield {"method": "call", "params": [["condenser_api"], {}, []]}
    yield {"method": 5, "params": [trx(12, True)]}
    yield {"method": "network_broadcast_api.broadcast_transaction_synchronous", "params": {"trx": trx(13, False), "max_block_age": 0}}
    yield {"method": "condenser_api.get_accounts", "params": [["alice"]]}


def body_of(site: Site) -> Body:
    """A batch with all these, and with members that are no calls."""
    members = [{"jsonrpc": "2.0", "id": number, **request} for number, request in enumerate(requests(site))]
    return [*members, 5, [], {}, {"jsonrpc": "1.0"}, None]


def replies(site: Site) -> Any:
    """The replies to the batch, without times and lines of the code."""
    text = site.answer(json.dumps(body_of(site)).encode()).decode()
    return json.loads(text)


def without_places(value: Any) -> Any:
    """Leave out where in our code an error was raised."""
    if isinstance(value, dict):
        return {key: without_places(member) for key, member in value.items() if key not in ("line", "timestamp")}
    return [without_places(member) for member in value] if isinstance(value, list) else value


def test_the_replies_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SignedTransaction] = []
    expected, found = site_of([]), site_of(seen)
    monkeypatch.setattr(foreseeing.Foresight, "look", lambda self, requests: None)
    plain = replies(expected)
    monkeypatch.undo()
    assert without_places(replies(found)) == without_places(plain)
    assert [trx.id for trx in found.chain.pending] == [trx.id for trx in expected.chain.pending]
    # Each was read once: what is pending is what was seen.
    assert len(found.chain.pending) == 7
    assert {id(trx) for trx in found.chain.pending} <= {id(trx) for trx in seen}


def test_small_batches_are_left_alone() -> None:
    seen: list[SignedTransaction] = []
    site = site_of(seen)
    members = [{"jsonrpc": "2.0", "id": 1, **request} for request in list(requests(site))[:7]]
    site.answer(json.dumps(members).encode())
    site.answer(json.dumps(members[0]).encode())
    assert seen == []


def test_only_so_many_are_read_at_once() -> None:
    looks: list[int] = []
    site = site_of([])
    assert site.service._foresight is not None
    site.service._foresight._recover = lambda found: looks.append(len(found))
    trx = next(requests(site))
    members = [{"jsonrpc": "2.0", "id": 1, **trx}] * (2 * MEMBERS_MAX + 1)
    site.answer(json.dumps(members).encode())
    assert looks == [MEMBERS_MAX, MEMBERS_MAX, 1]


def test_what_was_read_ahead_is_the_same_json() -> None:
    seen: list[SignedTransaction] = []
    site = site_of(None)
    request = next(requests(site))
    given = dict(request["params"][0])
    Foresight(METHODS.values(), site.wire, seen.extend).look([request])
    (made,) = request["params"]
    assert type(made) is ReadAhead
    assert json.loads(json.dumps(made)) == json.loads(json.dumps(given))
    assert made.transaction is seen[0]
