"""The page /health: its JSON fields in each state of a node, and its HTTP status."""

import json
from typing import Any

import trio
from trio.testing import MockClock

from node.devchain.devchain import DevChain
from node.devchain.producer import SLOTS_MISSED_MAX, Producer, SlotOutcome
from node.monitoring.counters import Counters
from node.monitoring.health import Parts, health
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.fork import Fetch, Fork, ForkOrigin
from tests.helpers.golden import same_as_golden
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import DEV, SECRET, START, dev_chain, make_block, trio_clock

MEMBERS = {
    "status", "reason", "ready", "chain", "chain_id", "head_block_number", "head_block_id", "head_block_time", "head_block_age_seconds",
    "clock_ahead_seconds", "clock_set_back_seconds",
    "last_irreversible_block_num", "pending_transactions", "pending_bytes", "pending_bytes_max",
    "query_memory_bytes", "query_memory_bytes_max", "producing", "not_producing_because",
    "last_slot", "seconds_until_next_block", "block_log",
}  # fmt: skip


def parts(*, is_producing: bool = True, ending: str = "") -> Parts:
    """Return the components of a node at genesis whose tasks have not been started."""
    chain = dev_chain()
    clock = ChainClock(trio_clock)
    processor = Processor(chain, clock=clock)
    made = Parts(chain=chain, clock=clock, counters=Counters(chain, clock), processor=processor, ending=lambda: ending, log=None)
    if is_producing:
        made.producer = Producer(processor, DevChain(chain, clock, [SECRET]), is_stale_allowed=True)
    return made


def shown(node: Parts) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the JSON fields of the page."""
    reply = health(node)
    assert reply.content_type == "application/json"
    members = json.loads(reply.body)
    assert set(members) - {"fork"} == MEMBERS
    assert members["ready"] is (reply.status == 200) is (members["status"] == "ok") is (members["reason"] == "")
    return reply.status, members


async def test_a_producing_node_is_healthy(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    node = parts()
    assert node.producer is not None
    nursery.start_soon(node.processor.run)
    nursery.start_soon(node.producer.run)
    await trio.sleep(7)
    status, members = shown(node)
    assert status == 200
    assert members["head_block_number"] == 2
    assert members["head_block_id"] == node.chain.state.props.head_block_id.hex()
    assert (members["head_block_time"], members["head_block_age_seconds"]) == ("2027-01-15T08:00:06", 1)
    assert (members["producing"], members["not_producing_because"], members["last_slot"]) == (True, "", "produced")
    assert members["seconds_until_next_block"] == 2
    assert members["block_log"] == {"state": "none"}
    assert (members["chain"], members["chain_id"]) == ("dev", DEV.chain_id.hex())


async def test_a_node_without_a_producer_is_healthy(autojump_clock: MockClock) -> None:
    status, members = shown(parts(is_producing=False))
    assert status == 200
    assert members["producing"] is False
    assert "--no-produce" in members["not_producing_because"]
    assert members["last_slot"] is members["seconds_until_next_block"] is None


async def test_a_head_far_in_the_future_is_an_error(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    node = parts()
    assert node.producer is not None
    nursery.start_soon(node.processor.run)
    nursery.start_soon(node.producer.run)
    await trio.sleep(3.5)
    make_block(node.chain, 1200)
    status, members = shown(node)
    assert status == 503
    assert members["producing"] is False
    same_as_golden(members["reason"])
    assert members["seconds_until_next_block"] == 3606
    assert members["head_block_age_seconds"] == -3603
    await trio.sleep(3600)
    assert shown(node)[0] == 200
    await trio.sleep(10)
    status, members = shown(node)
    assert (status, members["last_slot"]) == (200, "produced")


async def test_missed_slots_are_an_error(autojump_clock: MockClock) -> None:
    node = parts()
    assert node.producer is not None
    for _ in range(SLOTS_MISSED_MAX + 1):
        assert shown(node)[0] == 200
        node.producer.record_outcome(SlotOutcome.LAG)
    status, members = shown(node)
    assert (status, members["last_slot"]) == (503, "lag")
    same_as_golden(members["reason"])


async def test_a_stopping_node_is_an_error(autojump_clock: MockClock) -> None:
    status, members = shown(parts(ending="the node is stopping"))
    assert (status, members["reason"]) == (503, "the node is stopping")


async def test_a_block_log_that_cannot_be_written_is_an_error(autojump_clock: MockClock) -> None:
    node = parts(is_producing=False)
    node.processor.failure = "the block log can't be written: No space left on device"
    status, members = shown(node)
    assert (status, members["reason"]) == (503, node.processor.failure)


async def test_a_reason_can_hold_invalid_utf8(autojump_clock: MockClock) -> None:
    assert shown(parts(ending="bad \udcff"))[1]["reason"] == "bad \ufffd"


async def test_health_requests_log_nothing(autojump_clock: MockClock) -> None:
    node = parts()
    make_block(node.chain, (START - DEV.constants.COIN_GENESIS_TIME) // 3 + 100)
    with capture_logs() as lines:
        assert [shown(node)[0] for _ in range(3)] == [503] * 3
    assert lines == []


async def test_a_fork_says_where_it_comes_from() -> None:
    node = parts(is_producing=False)
    assert "fork" not in shown(node)[1]
    origin = ForkOrigin(source="https://api.example", chain_id="ab" * 32, number=50_000_000, block_id="cd" * 20, time=1_700_000_001)
    node.fork = Fork(origin)
    assert shown(node)[1]["fork"]["last_fetch"] is None
    node.fork.mirrored["applied"] = 2
    node.fork.record(Fetch(time=1_700_000_100, what="account alice", rows=12, size=4096, milliseconds=80))
    assert shown(node)[1]["fork"] == {
        "source": "https://api.example",
        "block_num": 50_000_000,
        "block_id": "cd" * 20,
        "time": "2023-11-14T22:13:21",
        "is_complete": False,
        "is_on_demand": False,
        "fetches": 1,
        "failed_fetches": 0,
        "fetched_rows": 12,
        "fetched_bytes": 4096,
        "last_fetch": {"time": "2023-11-14T22:15:00", "what": "account alice", "error": ""},
        "mirrored": {"applied": 2},
    }
