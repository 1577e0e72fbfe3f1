"""LocalChain(fork=URL): a chain in this process that begins where a node stands, and fetches what calls name."""

from collections.abc import Iterator

import pytest
import trio

from node.app import live_fork
from node.app.local_chain import LocalChain
from node.client.dev_api import CallRefused
from node.runtime.errors import NodeError
from state.chain.invariants import validate_invariants
from tests.fork.sources import FAULTS, SourceNode
from tests.fork.town import town
from tests.helpers.golden import fails

PAYMENT = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]


@pytest.fixture(name="node", scope="module")
def made_node() -> SourceNode:
    """A source of forks."""
    return SourceNode(town())


@pytest.fixture(name="url", scope="module")
def made_url(node: SourceNode) -> Iterator[str]:
    """The address of the source."""
    with node.listening() as url:
        yield url


def balance(chain: LocalChain, name: str) -> str:
    """Return the balance of an account."""
    found: str = chain.call("condenser_api.get_accounts", [[name]])[0]["balance"]
    return found


def test_calls_and_broadcasts_fetch_what_they_name(node: SourceNode, url: str) -> None:
    chain = LocalChain(fork=url)
    before = balance(chain, "alice")
    chain.broadcast(PAYMENT)
    assert float(balance(chain, "alice").split()[0]) == float(before.split()[0]) - 1
    assert chain.call("condenser_api.get_content", ["kim", "first-steps"])["body"]
    assert chain.call("condenser_api.get_block", [3])["witness"]
    shown = chain.call("explorer_api.get_fork", {})
    assert (shown["is_on_demand"], shown["fetches"], shown["failed_fetches"]) == (True, 3, 0)
    validate_invariants(chain.chain.state)


async def test_it_works_inside_of_an_event_loop(url: str) -> None:
    await trio.lowlevel.checkpoint()
    assert balance(LocalChain(fork=url), "alice")


def test_a_revert_needs_no_second_fetch(node: SourceNode, url: str) -> None:
    chain = LocalChain(fork=url)
    snapshot = chain.snapshot()
    before = balance(chain, "alice")
    chain.broadcast(PAYMENT)
    requests = node.request_count
    chain.revert(snapshot)
    assert balance(chain, "alice") == before
    chain.broadcast(PAYMENT)
    assert node.request_count == requests


def test_a_source_that_fails_refuses_the_call_and_the_chain_goes_on(node: SourceNode, url: str) -> None:
    chain = LocalChain(fork=url)
    balance(chain, "alice")
    node.faults.append(FAULTS["not found"]())
    try:
        with pytest.raises(CallRefused) as refused:
            chain.call("condenser_api.get_accounts", [["carol"]])
    finally:
        node.faults.clear()
    assert refused.value.rule == "source_gives_no_answer"
    assert balance(chain, "alice")
    assert balance(chain, "carol")


def test_an_address_without_a_node_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_fork, "PATIENCE_SECONDS", 0.1)
    with fails(NodeError):
        LocalChain(fork="http://127.0.0.1:1")
