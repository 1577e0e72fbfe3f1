"""Counters of calls, pushes and blocks, and their log lines."""

from typing import Any

import pytest
import trio

from node.monitoring.counters import CALL_BOUNDS, INTERNAL_ERROR, Counters, reason_of
from node.processor.processor import Processor
from node.runtime.metric_families import DurationHistogram
from rpc.declare.errors import BadArgument, InvalidParameters, InvalidRequest, PushFailed
from state.chain.chain import Chain
from state.protocol.errors import MissingActiveAuthority, Refused
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import START, dev_chain, make_block, transfer


def counted(chain: Chain) -> Counters:
    """Return counters that count the blocks of a chain."""
    counters = Counters(chain, lambda: START * 1000)
    counters.attach()
    return counters


def test_durations_are_counted_in_buckets() -> None:
    durations = DurationHistogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        durations.add(seconds)
    assert durations.counts == [2, 1, 1]
    assert durations.seconds == pytest.approx(7.65)


def test_calls_are_counted_by_method_and_refusal() -> None:
    counters = Counters(dev_chain(), lambda: 0)
    counters.observe("a.b", 0.002, None)
    counters.observe("a.b", 99.0, PushFailed(Refused("no")))
    counters.observe("", 0.0, InvalidRequest())
    assert counters.calls["a.b"].counts[1] == counters.calls["a.b"].counts[len(CALL_BOUNDS)] == 1
    assert sum(counters.calls[""].counts) == 1
    assert counters.calls_refused == {("a.b", "Refused"): 1, ("", "InvalidRequest"): 1}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Refused("text of a client"), "Refused"),
        (PushFailed(MissingActiveAuthority()), "MissingActiveAuthority"),
        (BadArgument(Refused(), "name"), "Refused"),
        (InvalidParameters("text of a client"), "InvalidParameters"),
        (KeyError("text of a client"), INTERNAL_ERROR),
    ],
)
def test_a_reason_is_a_class_name(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


def test_blocks_are_counted_and_logged() -> None:
    chain = dev_chain()
    counters = counted(chain)
    with capture_logs() as lines:
        make_block(chain, 5)  # all slots since the genesis count as missed before the first block
        chain.push_transaction(transfer(chain))
        block = make_block(chain, 2)
    assert (counters.blocks_applied, counters.transactions_applied, counters.slots_missed) == (2, 1, 2)
    assert sum(counters.block_seconds.counts) == 2
    assert [line["event"] for line in lines] == ["block", "block"]
    shown = {key: lines[1][key] for key in ("number", "witness", "transactions", "bytes", "lag", "log_level")}
    lag = START - block.timestamp
    assert shown == {"number": 2, "witness": "initminer", "transactions": 1, "bytes": block.size, "lag": lag, "log_level": "info"}


def test_a_fork_switch_is_counted_and_logged_once() -> None:
    chain, other = dev_chain(), dev_chain()
    counters = counted(chain)
    chain.push_block(make_block(other))
    old = make_block(chain)
    branch = [make_block(other, 1), make_block(other)]
    with capture_logs() as lines:
        for block in branch:
            chain.push_block(block)
    assert (counters.switches, counters.blocks_popped, counters.blocks_applied) == (1, 1, 4)
    switch, *blocks = lines
    assert (switch["event"], switch["old_head"], switch["head"]) == ("switched to another branch", old.id.hex(), branch[1].id.hex())
    assert [line["number"] for line in blocks] == [2, 3]


async def test_pushes_of_clients_are_counted(nursery: trio.Nursery) -> None:
    chain = dev_chain()
    processor = Processor(chain)
    counters = counted(chain)
    processor.on_pushed.append(counters.pushed)
    nursery.start_soon(processor.run)
    good = transfer(chain)
    with capture_logs() as lines:
        await processor.push_transaction(good)
        for item in (good, unsigned(chain)):
            with pytest.raises(PushFailed):
                await processor.push_transaction(item)
        other = dev_chain()
        make_block(other)
        with pytest.raises(PushFailed):
            await processor.push_block(make_block(other))
    assert counters.transactions_accepted == 1
    assert counters.transactions_refused == {("transfer", "Refused"): 1, ("transfer", "MissingActiveAuthority"): 1}
    assert sum(counters.blocks_refused.values()) == 1
    duplicate, missing, refused = lines
    assert (duplicate["event"], duplicate["id"], duplicate["reason"]) == ("transaction refused", good.id.hex(), "Refused")
    assert "Duplicate transaction check failed" in duplicate["why"]
    assert (missing["operation"], missing["reason"]) == ("transfer", "MissingActiveAuthority")
    assert refused["event"] == "block refused"


def unsigned(chain: Chain) -> Any:
    """Make a transfer that has no signature."""
    trx = transfer(chain, "unsigned")
    trx.signatures = ()
    return chain.state.wire.seal(trx)
