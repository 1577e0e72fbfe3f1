"""Transactions of batches are parsed in advance. The replies to any batch must be the same as without prefetching."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rpc.declare.arguments import PreparsedTransaction
from rpc.declare.method import METHODS
from rpc.explain.explainer import Explainer
from rpc.explorer.supply_history import SupplyHistory
from rpc.jsonrpc import prefetch
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.prefetch import MEMBERS_MAX, BroadcastPrefetcher
from state.operations.transfers import Transfer
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, ApiChain, secret

Body = list[Any]


def site_of(seen: list[SignedTransaction] | None) -> ApiChain:
    """Return a chain with two blocks and an account. If `seen` is a list, batches are prefetched, and the parsed transactions are appended
    to it.
    """
    api = ApiChain()
    api.start(2)
    api.account("alice")
    if seen is not None:
        api.service = Service(
            METHODS.values(),
            wire=api.wire,
            clock=lambda: api.now,
            foresee=seen.extend,
            state=api.state,
            chain=api.chain,
            processor=api.processor,
            devchain=api.devchain,
            explainer=Explainer(api.chain, lambda: api.now, lambda: ()),
            series=SupplyHistory(api.chain),
        )
    return api


def requests(api: ApiChain) -> Iterator[dict[str, Any]]:
    """Yield broadcasts in every form, valid and invalid, and other calls."""

    def trx(amount: int, legacy: bool, signer: bytes = INIT_SECRET, **fields: Any) -> Any:
        operation = Transfer(from_="initminer", to="alice", amount=Asset(amount, COIN), memo="")
        return api.wire.transaction_to_json(api.transaction(operation, signers=(signer,), **fields), legacy)

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


def body_of(api: ApiChain) -> Body:
    """Return the body of a batch that contains all requests of `requests`, and elements that are not calls."""
    members = [{"jsonrpc": "2.0", "id": number, **request} for number, request in enumerate(requests(api))]
    return [*members, 5, [], {}, {"jsonrpc": "1.0"}, None]


def replies(api: ApiChain) -> Any:
    """Return the decoded replies to the batch of `body_of`."""
    text = api.answer(json.dumps(body_of(api)).encode()).decode()
    return json.loads(text)


def without_places(value: Any) -> Any:
    """Return a value in which errors have no source lines and no times."""
    if isinstance(value, dict):
        return {key: without_places(member) for key, member in value.items() if key not in ("line", "timestamp")}
    return [without_places(member) for member in value] if isinstance(value, list) else value


def test_prefetching_changes_no_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SignedTransaction] = []
    expected, found = site_of([]), site_of(seen)
    monkeypatch.setattr(prefetch.BroadcastPrefetcher, "prefetch", lambda self, requests: None)
    plain = replies(expected)
    monkeypatch.undo()
    assert without_places(replies(found)) == without_places(plain)
    assert [trx.id for trx in found.chain.pending] == [trx.id for trx in expected.chain.pending]
    # Each transaction was parsed only once: the pending objects are the prefetched ones.
    assert len(found.chain.pending) == 7
    assert {id(trx) for trx in found.chain.pending} <= {id(trx) for trx in seen}


def test_small_batches_are_not_prefetched() -> None:
    seen: list[SignedTransaction] = []
    api = site_of(seen)
    members = [{"jsonrpc": "2.0", "id": 1, **request} for request in list(requests(api))[:7]]
    api.answer(json.dumps(members).encode())
    api.answer(json.dumps(members[0]).encode())
    assert seen == []


def test_the_number_of_prefetched_members_is_bounded() -> None:
    looks: list[int] = []
    api = site_of([])
    prefetcher = api.service._batches.prefetcher
    assert prefetcher is not None
    prefetcher._recover = lambda found: looks.append(len(found))
    trx = next(requests(api))
    members = [{"jsonrpc": "2.0", "id": 1, **trx}] * (2 * MEMBERS_MAX + 1)
    api.answer(json.dumps(members).encode())
    assert looks == [MEMBERS_MAX, MEMBERS_MAX, 1]


def test_a_prefetched_transaction_is_the_same_json() -> None:
    seen: list[SignedTransaction] = []
    api = site_of(None)
    request = next(requests(api))
    given = dict(request["params"][0])
    BroadcastPrefetcher(api.service.registry, api.wire, seen.extend).prefetch([request])
    (made,) = request["params"]
    assert type(made) is PreparsedTransaction
    assert json.loads(json.dumps(made)) == json.loads(json.dumps(given))
    assert made.transaction is seen[0]
