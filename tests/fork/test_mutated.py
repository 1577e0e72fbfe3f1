"""Replies in which a few values are changed: each ends in an error or in a chain whose invariants hold and that makes blocks."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.fork.accounts import read_accounts
from node.fork.building import ForkFailed, build_fork, forked_spec
from node.fork.posts import newest_posts, read_posts
from node.fork.source import Source
from node.fork.world import World, read_world
from node.runtime.errors import NodeError
from state.chain.invariants import validate_invariants
from state.portable import Batch
from tests.fork.forked import ForkedNode
from tests.fork.sources import FLAVOURS, Fault, SourceNode
from tests.fork.town import town

URL = "http://there:8090"
SEEDS, SEEDS_AT_ONCE = 120, 20
# Probability that a result is changed: the lower, the more often the chain is made.
SHARES = (0.005, 0.01, 0.03, 0.2)
NUMBERS = (0, 1, -1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, 2**128, 10**12)
TEXTS = (
    *("", "alice", "olivia", "null", "nobody.here", "all others", "-5", "1" * 39, "1.000 TESTS", "9223372036854775.807 TBD"),
    *("\ud800", "x" * 5000),
)
TIMES = ("1970-01-01T00:00:00", "1969-12-31T23:59:59", "2038-01-19T03:14:07", "2106-01-01T00:00:00")
OTHERS: tuple[Any, ...] = (None, True, 1.5, [], {}, [[]], {"amount": "-1", "precision": 3, "nai": "@@000000021"})


@pytest.fixture(scope="module")
def chain() -> LocalChain:
    return town()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each object or list in a value with each of its keys or indices."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def changed(rng: random.Random, value: Any) -> Any:
    """Return a value in which one to three of its parts are changed, most of them to values of the same kind."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        every = list(places(value))
        if not every:
            return value
        inside, key = rng.choice(every)
        old = inside[key]
        if rng.random() < 0.2:
            inside[key] = copy.deepcopy(rng.choice(OTHERS))
        elif isinstance(old, int):
            inside[key] = rng.choice((*NUMBERS, old + 1, -old, 2 * old))
        elif isinstance(old, str):
            kinds = TIMES if old[4:5] == "-" else tuple(map(str, NUMBERS)) if old.isdigit() else TEXTS
            inside[key] = rng.choice(kinds)
        else:
            del inside[key]
    return value


def read(node: SourceNode) -> tuple[World, list[Batch]]:
    async def run() -> tuple[World, list[Batch]]:
        source = Source(URL, transport=node.transport())
        world, accounts = await read_world(source), await read_accounts(source, ("alice", "kim", "olivia", "quentin", "victor"))
        newest = await newest_posts(source, "alice", 3)
        return world, [accounts, await read_posts(source, [*newest, ("kim", "first-steps")])]

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def play(chain: LocalChain, seed: int) -> bool:
    """Read a source that changes its results, and make blocks after what was read. Return whether there was a chain."""
    rng = random.Random(seed)
    share = rng.choice(SHARES)
    fault = Fault(result=lambda method, params, result: changed(rng, result) if rng.random() < share else result)
    try:
        world, batches = read(SourceNode(chain, rng.choice([*FLAVOURS]), fault))
        made = build_fork(forked_spec(world), world, batches)
    except (NodeError, ForkFailed):
        return False
    validate_invariants(made.state)
    node = ForkedNode(made)
    list(node.devchain.mine(30))
    validate_invariants(made.state)
    return True


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_AT_ONCE))
def test_changed_results_give_an_error_or_a_sound_chain(chain: LocalChain, first: int) -> None:
    outcomes = [play(chain, seed) for seed in range(first, first + SEEDS_AT_ONCE)]
    assert set(outcomes) == {True, False}
