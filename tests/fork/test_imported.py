"""What is read from a source comes into a chain: its invariants hold, and what it holds is what the source holds."""

from contextlib import suppress
from typing import Any

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.fork.accounts import read_accounts
from node.fork.fetch import ForkRequest, make_fork
from node.fork.posts import read_posts
from node.fork.source import Source
from node.fork.world import World, read_world
from node.runtime.errors import NodeError
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.invariants import validate_invariants
from state.plugins.registry import PLUGINS, enable
from state.portable import Batch, import_rows, import_world
from tests.fork.sources import FAULTS, FLAVOURS, SourceNode
from tests.fork.town import NEWCOMERS, town

URL = "http://there:8090"
NAMES = ("alice", "bob", "carol", "dave", *NEWCOMERS)
POSTS = (("alice", "welcome-to-saltmere"), ("kim", "first-steps"), ("bob", "the-slipway"))


@pytest.fixture(scope="module")
def chain() -> LocalChain:
    return town()


def read(node: SourceNode) -> tuple[World, list[Batch]]:
    async def run() -> tuple[World, list[Batch]]:
        source = Source(URL, transport=node.transport())
        return await read_world(source), [await read_accounts(source, NAMES), await read_posts(source, POSTS)]

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def imported(world: World, batches: list[Batch]) -> Chain:
    """Return a chain that begins with the world, and has these rows."""
    chain = Chain(new_state(replace(world.spec, is_partial=True), lambda state: enable(state, PLUGINS)))
    import_world(chain.state, world.batch)
    for batch in batches:
        import_rows(chain.state, batch)
    return chain


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_invariants_hold(chain: LocalChain, flavour: str) -> None:
    world, batches = read(SourceNode(chain, flavour))
    state, source = imported(world, batches).state, chain.chain.state
    validate_invariants(state)
    assert (state.props.current_supply, state.props.total_vesting_shares) == (
        source.props.current_supply,
        source.props.total_vesting_shares,
    )
    for name in NAMES:
        here, there = state.account(name), source.account(name)
        assert (here.balance, here.sbd_balance, here.vesting_shares) == (there.balance, there.sbd_balance, there.vesting_shares)
    for author, permlink in POSTS:
        post, original = (each.comments.by_permlink.find(author, permlink) for each in (state, source))
        assert (post.net_rshares, post.cashout_time, post.children) == (original.net_rshares, original.cashout_time, original.children)


@pytest.mark.parametrize("name", FAULTS)
def test_a_source_that_lies_gives_an_error_or_a_sound_chain(chain: LocalChain, name: str) -> None:
    with suppress(NodeError):
        world, batches = read(SourceNode(chain, "coind", name))
        with suppress(ValueError):
            validate_invariants(imported(world, batches).state)


def shown(node: SourceNode, author: str, permlink: str) -> Any:
    """Return a post as methods show it: its votes in order, and reputations. Without the ids of rows."""
    calls = [("condenser_api.get_content", [author, permlink]), ("bridge.get_discussion", {"author": author, "permlink": permlink})]
    replies = [node._answer({"id": 1, "method": method, "params": params})["result"] for method, params in calls]
    records = [replies[0], *replies[1].values()]
    return [{name: value for name, value in record.items() if name not in ("id", "post_id")} for record in records]


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_posts_of_accounts_that_are_not_named_look_alike(chain: LocalChain, flavour: str) -> None:
    async def run() -> Chain:
        source = Source(URL, transport=SourceNode(chain, flavour).transport())
        request = ForkRequest(accounts=("alice",), posts=POSTS)
        return (await make_fork(source, request, lambda text: None))[0]

    fork = trio.run(run, clock=MockClock(autojump_threshold=0))
    for post in POSTS:
        assert shown(SourceNode(fork), *post) == shown(SourceNode(chain), *post)
