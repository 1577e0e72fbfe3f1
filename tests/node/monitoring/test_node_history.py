"""The history of a node: its samples, their bounded number, and the page."""

import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from node.monitoring.counters import Counters
from node.monitoring.node_history import INTERVAL_SECONDS, NodeHistory
from rpc.declare.errors import InvalidRequest
from tests.helpers.nodes import dev_chain, make_block, transfer

NOW = 1_700_000_000


class Clock:
    """A clock that a test sets."""

    seconds = NOW

    def __call__(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self.seconds * 1000 + 999


def shown(history: NodeHistory) -> dict[str, Any]:
    """Return the page's JSON object."""
    found: dict[str, Any] = json.loads(history.page().body)
    return found


def test_counters_are_sampled_with_their_times() -> None:
    chain, clock = dev_chain(), Clock()
    counters = Counters(chain, lambda: 0)
    counters.attach()
    reader = SimpleNamespace(report=SimpleNamespace(calls=7))
    parts: Any = SimpleNamespace(counters=counters, readers=SimpleNamespace(each=[reader]))
    history = NodeHistory(parts, clock)
    assert shown(history)["time"] == shown(history)["memory"] == []
    history.sample()
    chain.push_transaction(transfer(chain))
    make_block(chain)
    counters.observe("a.b", 0.001, None)
    counters.observe("a.c", 0.001, InvalidRequest())
    clock.seconds += INTERVAL_SECONDS
    history.sample()
    found = shown(history)
    assert found["time"] == [NOW, NOW + INTERVAL_SECONDS]
    assert (found["blocks"], found["transactions"]) == ([0, 1], [0, 1])
    assert (found["calls"], found["refused"]) == ([7, 9], [0, 1])
    assert len(found["memory"]) == 2
    assert all(isinstance(size, int) and size >= 0 for size in found["memory"])


def test_the_number_of_samples_is_bounded() -> None:
    clock = Clock()
    parts: Any = SimpleNamespace(counters=Counters(dev_chain(), lambda: 0), readers=None)
    history = NodeHistory(parts, clock, most=4)
    for _ in range(20):
        history.sample()
        times = shown(history)["time"]
        assert len(times) <= 4
        # All samples are one interval apart, also after the interval was doubled.
        assert {later - earlier for earlier, later in pairwise(times)} <= {history.interval}
        clock.seconds += history.interval
    assert history.interval > INTERVAL_SECONDS
