"""The world, the accounts and the posts that are read from a source equal its rows, on recorded chains."""

import pytest
import trio

from node.fork.accounts import read_accounts
from node.fork.posts import read_posts
from node.fork.source import Source
from node.fork.world import read_world
from state.portable import PORTABLE, Batch, export_rows
from tests.conformance.play import CASES, Player
from tests.fork.sources import SourceNode

URL = "http://there:8090"
# Chains with rows of many kinds; the first two end after walks of thousands of operations.
CHAINS = (
    "walk_random",
    "walk_hardforks",
    "rewards",
    "smt_tokens",
    "smt_schedules",
    "communities",
    "threads",
    "escrow_paths",
    "witness_rounds",
)


async def read(source: Source, names: list[str], posts: list[tuple[str, str]]) -> list[Batch]:
    return [(await read_world(source)).batch, await read_accounts(source, names), await read_posts(source, posts)]


@pytest.mark.parametrize("flavour", ["coind", "steemd"])
@pytest.mark.parametrize("name", CHAINS)
def test_all_that_is_read_equals_the_rows(name: str, flavour: str) -> None:
    player = Player(CASES / name, plugins=())
    for block in player.blocks():
        player.chain.push_block(block)
    state = player.chain.state
    expected = export_rows(state)
    posts = [(row["author"], row["permlink"]) for row in expected.get("comments", ())]
    source = Source(URL, transport=SourceNode(player.chain, flavour).transport())
    batches = trio.run(read, source, [row.name for row in state.accounts], posts)
    for table, portable in PORTABLE.items():
        if not portable.shown or "/" in table:
            continue
        got = {tuple(row[part] for part in portable.key): row for batch in batches for row in batch.get(table, ())}
        wanted = {tuple(row[part] for part in portable.key): row for row in expected.get(table, ())}
        # Methods show missing rows of some tables like rows with default values.
        assert got.keys() == wanted.keys() or portable.is_default_absent, table
        for key, row in wanted.items():
            assert {column: got[key][column] for column in portable.shown} == {column: row[column] for column in portable.shown}, (
                table,
                key,
            )
