"""Calls that need something of the source of a fork: fetched, then repeated; answered by the source; refused with an explanation."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
import trio

from rpc.caller import LOCAL, Caller
from rpc.declare.arguments import AccountName
from rpc.declare.demand import UNANSWERED, Key, NotFetched, NotHere
from rpc.declare.method import Method, method
from rpc.explain.explainer import Explainer
from rpc.jsonrpc.dispatch import FETCHED_AGAIN_MAX, Service
from rpc.jsonrpc.read_only import answer_read
from tests.helpers.api import NOW, ApiChain
from tests.helpers.fakes import call, serving

ACCOUNTS: dict[str, Method] = {}


@method("test.get_account", registry=ACCOUNTS)
def get_account(here: set[str], name: AccountName) -> list[str]:
    """Return all accounts that are here."""
    return sorted(here)


@method("test.push", registry=ACCOUNTS)
async def push(here: set[str], caller: Caller, /, name: AccountName) -> list[str]:
    """Wait, then return all accounts that are here."""
    await trio.lowlevel.checkpoint()
    return sorted(here)


class FakeDemand:
    """A demand whose source has these accounts: each name is fetched by adding it to `here`."""

    def __init__(self, here: set[str], *accounts: str, error: Exception | None = None) -> None:
        self.here, self.accounts, self.error = here, accounts, error
        self.fetched: list[tuple[str, Caller]] = []
        self.is_endless = False

    def call(self, method: Method, values: Sequence[Any], keys: Iterable[Key], function: Callable[..., Any]) -> Any:
        """Raise NotHere for names that aren't here."""
        for key in keys:
            if getattr(key, "name", "") not in self.here:
                raise NotHere(self._fetch(getattr(key, "name", "")))
        return function(*values)

    def _fetch(self, name: str) -> Callable[[Caller], Any]:
        async def fetch(caller: Caller) -> None:
            await trio.lowlevel.checkpoint()
            self.fetched.append((name, caller))
            if self.error is not None:
                raise self.error
            if not self.is_endless:
                self.here.add(name)

        return fetch


def service(demand: FakeDemand, **context: Any) -> Service:
    """Return a service whose methods need accounts."""
    return serving(ACCOUNTS, call_guard=demand, here=demand.here, **context)


@pytest.mark.parametrize("name", ["test.get_account", "test.push"])
async def test_a_call_is_repeated_after_what_it_names_was_fetched(name: str) -> None:
    demand = FakeDemand({"bob"})
    assert (await call(service(demand), name, {"name": "alice"}))["result"] == ["alice", "bob"]
    assert demand.fetched == [("alice", LOCAL)]
    assert (await call(service(demand), name, {"name": "alice"}))["result"] == ["alice", "bob"]
    assert len(demand.fetched) == 1


async def test_a_batch_fetches_for_each_of_its_calls() -> None:
    demand = FakeDemand(set())
    calls = [{"jsonrpc": "2.0", "id": i, "method": "test.get_account", "params": {"name": name}} for i, name in enumerate(("alice", "bob"))]
    reply = service(demand).answer(json.dumps(calls).encode(), LOCAL)
    assert not isinstance(reply, bytes)
    assert [one["result"] for one in json.loads(await reply)] == [["alice"], ["alice", "bob"]]


@pytest.mark.parametrize("name", ["test.get_account", "test.push"])
async def test_a_source_without_an_answer_refuses_the_call_and_nothing_else(name: str) -> None:
    error = NotFetched(UNANSWERED, condition="source.answers()", what="alice", source="http://source", why="it is silent")
    demand = FakeDemand({"bob"}, error=error)
    refused = (await call(service(demand), name, {"name": "alice"}))["error"]
    assert "it is silent" in refused["message"]
    assert (await call(service(demand), name, {"name": "bob"}))["result"] == ["bob"]


@pytest.mark.parametrize("name", ["test.get_account", "test.push"])
async def test_a_call_isnt_repeated_forever(name: str) -> None:
    demand = FakeDemand(set())
    demand.is_endless = True
    assert "error" in await call(service(demand), name, {"name": "alice"})
    assert len(demand.fetched) == FETCHED_AGAIN_MAX


async def test_a_reader_process_forwards_a_call_that_needs_the_source() -> None:
    forwarded: list[bytes] = []

    async def elsewhere(body: bytes, caller: Caller) -> bytes:
        await trio.lowlevel.checkpoint()
        forwarded.append(body)
        return b'{"result":"of the owner"}'

    demand = FakeDemand({"bob"})
    reader = service(demand, elsewhere=elsewhere)
    assert (await call(reader, "test.get_account", {"name": "alice"}))["result"] == "of the owner"
    assert json.loads(forwarded[0])["params"] == {"name": "alice"}
    assert (await call(reader, "test.get_account", {"name": "bob"}))["result"] == ["bob"]
    assert not demand.fetched


def test_a_standby_leaves_a_call_that_needs_the_source() -> None:
    demand = FakeDemand({"bob"})
    standby = service(demand)
    standby.gate.leave_unattended()
    calls = [{"jsonrpc": "2.0", "id": 1, "method": "test.get_account", "params": {"name": name}} for name in ("bob", "alice")]
    assert b"bob" in answer_read(standby, json.dumps(calls[0]).encode(), LOCAL)
    assert answer_read(standby, json.dumps(calls[1]).encode(), LOCAL) == b""
    assert answer_read(standby, json.dumps(calls).encode(), LOCAL) == b""


async def test_the_refusal_of_a_read_is_explained() -> None:
    chain = ApiChain().chain
    error = NotFetched(UNANSWERED, condition="source.answers()", what="alice", source="http://source", why="it is silent")
    demand = FakeDemand(set(), error=error)
    explained = Service(ACCOUNTS.values(), wire=chain.state.wire, explainer=Explainer(chain, lambda: NOW), call_guard=demand, here=set())
    explain = (await call(explained, "test.get_account", {"name": "alice"}))["error"]["data"]["explain"]
    assert explain["rule"] == "source_gives_no_answer"
    assert explain["values"] == {"what": "alice", "source": "http://source", "why": "it is silent"}
