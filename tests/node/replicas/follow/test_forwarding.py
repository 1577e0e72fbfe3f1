"""Forwarding of broadcasts: the followed node and the replica limit each client separately."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from node.replicas.follow.forwarding import CALLS_MAX, ForwardingProcessor
from rpc.caller import LOCAL, Caller
from rpc.declare.errors import RefusedTooOften, UpstreamError
from rpc.jsonrpc.allowance import ALLOWANCE_UNITS, charged
from state.protocol.errors import Refused
from state.protocol.transaction import SignedTransaction
from tests.helpers.followed import Replica
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import transfer
from tests.helpers.push import PushClients, pushing

ONE, OTHER = Caller("10.0.0.1", "far"), Caller("2001:db8::/64", "far")


class Site:
    """A node, and the processor of a replica that follows the node."""

    def __init__(self, world: PushClients) -> None:
        url = f"http://127.0.0.1:{world.port}"
        self.owner, replica = world, Replica(url)
        self.allowances = replica.processor.allowances
        self.passing = ForwardingProcessor(replica.processor, world.chain.state.wire, url, url, self._reached)

    async def _reached(self, number: int) -> None: ...

    def unsigned(self) -> SignedTransaction:
        trx = transfer(self.owner.chain)
        trx.signatures = ()
        return self.owner.chain.state.wire.seal(trx)


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """A running node with a replica's processor."""
    async with pushing() as world:
        world.make(1)
        yield Site(world)


@pytest.mark.parametrize("caller", [ONE, OTHER])
@pytest.mark.parametrize("is_waiting", [False, True])
async def test_owner_and_replica_charge_the_client_for_refusals(caller: Caller, *, is_waiting: bool) -> None:
    async with site() as here:
        with pytest.raises(UpstreamError) as caught:
            await (here.passing.wait_for if is_waiting else here.passing.push_transaction)(here.unsigned(), caller)
        units = caught.value.error["data"]["units"]
        assert list(here.allowances.refused.values()) == list(here.owner.processor.allowances.refused.values()) == [units]
        for allowances in (here.allowances, here.owner.processor.allowances):
            assert list(allowances._buckets) == list(charged(caller.address))


async def test_an_allowance_used_up_at_the_owner_affects_only_its_client() -> None:
    async with site() as here:
        here.owner.processor.allowances.charge(ONE, ALLOWANCE_UNITS, Refused())
        with pytest.raises(UpstreamError) as caught, capture_logs() as logged:
            await here.passing.push_transaction(transfer(here.owner.chain), ONE)
        assert [line["client"] for line in logged if line["log_level"] == "warning"] == [ONE.address]
        assert "retry_after_seconds" in caught.value.error["data"]
        await here.passing.push_transaction(transfer(here.owner.chain), OTHER)


async def test_an_allowance_used_up_at_the_replica_stops_forwarding() -> None:
    async with site() as here:
        here.allowances.charge(ONE, ALLOWANCE_UNITS, Refused())
        with pytest.raises(RefusedTooOften):
            await here.passing.push_transaction(transfer(here.owner.chain), ONE)
        assert not here.owner.chain.pending
        await here.passing.push_transaction(transfer(here.owner.chain), LOCAL)
        assert len(here.owner.chain.pending) == 1


async def test_clients_take_turns_at_forwarding(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    may_end = trio.Event()

    async def call(_self: ForwardingProcessor, _method: str, _params: Any, _seconds: float = 0, forwarded_for: str = "") -> Any:
        passed.append(forwarded_for)
        await may_end.wait()

    monkeypatch.setattr(ForwardingProcessor, "_call", call)
    async with site() as here, trio.open_nursery() as nursery:
        for caller in [ONE] * 2 * CALLS_MAX + [OTHER]:
            nursery.start_soon(here.passing.push_transaction, here.unsigned(), caller)
            await trio.testing.wait_all_tasks_blocked()
        assert passed == [ONE.address] * CALLS_MAX
        may_end.set()
    assert OTHER.address in passed[CALLS_MAX : 2 * CALLS_MAX]
