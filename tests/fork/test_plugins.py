"""Plugins' data that is read from sources of all flavours, and imported: a complete copy is equal, and faults of a source do no harm."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.fork.plugins import add_plugin_rows, read_plugin_world
from node.fork.social import all_communities, read_communities, read_reblogs
from node.fork.source import Source
from node.fork.spec import reader_of
from node.runtime.errors import NodeError
from state.chain.chain import Chain
from state.plugins.registry import PLUGINS
from state.portable import PORTABLE, Batch, export_rows, import_world, pack_batch, shown_digest, unpack_batch
from state.portable.exports import shown_lines
from state.portable.imports import insert_rows
from state.tables import State
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fork.sources import FAULTS, SourceNode
from tests.helpers.chains import chain_at
from tests.helpers.plugin_queries import queries, without_ids

URL = "http://there:8090"
CASES_AND_HEIGHTS = [
    ("accounts_update", 60),
    ("communities", 20),
    ("communities", 45),
    ("discussions", 60),
    ("follows", 40),
    ("market_days", 40),
    ("rewards", 60),
    ("walk_random", 900),
]
OF_WORLD = ("rc/parameters", "rc/pools")


def run(read: Callable[[Source], Any], node: SourceNode) -> Any:
    """Return the result of an asynchronous function of the source, under a clock that skips all waiting."""

    async def main() -> Any:
        return await read(Source(URL, transport=node.transport()))

    return trio.run(main, clock=MockClock(autojump_threshold=0))


def complete(node: SourceNode) -> Batch:
    """Return the rows of a source's chain, and its plugins' data as it is read."""
    rows = export_rows(node.chain.state)
    batch = {name: rows[name] for name in rows if "/" not in name}

    async def read(source: Source) -> tuple[str, ...]:
        await add_plugin_rows(source, batch, is_complete=True)
        communities = await read_communities(source, await all_communities(source), [row["name"] for row in batch["accounts"]])
        for more in (await read_plugin_world(source, is_complete=True), communities):
            for section, found in more.items():
                batch.setdefault(section, []).extend(found)
        batch.update(await read_reblogs(source, batch, [row["name"] for row in batch["accounts"]]))
        return (await reader_of(source)).notes.texts

    assert run(read, node) == ()
    return batch


@pytest.mark.parametrize(("case", "height"), CASES_AND_HEIGHTS, ids=str)
def test_a_complete_copy_is_equal(case: str, height: int) -> None:
    player, copy = Player(CASES / case), Player(CASES / case)
    player.advance(height)
    chain = player.chain
    assert chain.head is not None
    batch = unpack_batch(pack_batch(complete(SourceNode(chain))))
    import_world(copy.chain.state, batch, is_complete=True, next_proposal_id=chain.state.proposals.next_id)
    copy.chain.state.hardfork_times[:] = chain.state.hardfork_times
    packed = [player.log[start:end] for start, end in player.places]
    copy.chain.start_at(chain.head, lambda number: packed[number - 1], is_changed_by_hand=False, settled_edits=0)
    assert shown_digest(copy.chain.state) == shown_digest(chain.state)
    for each in (player, copy):
        each.advance(len(player.places))
    assert shown_digest(copy.chain.state) == shown_digest(chain.state)
    for query in queries(chain.state):
        assert without_ids(copy.ask(query)) == without_ids(player.ask(query)), query


def import_rows(state: State, batch: Batch) -> None:
    """Import rows as they are, without moving amounts."""
    insert_rows(state, batch)
    for listener in state.listeners.on_import:
        listener(batch)


def long_lists() -> Chain:
    """Return a chain with lists that have several pages."""
    chain = chain_at(plugins=PLUGINS)
    names = [f"fan{number}" for number in range(1500)]
    posts = [("alice", f"p{number}") for number in range(700)]
    batch: Batch = {
        "accounts": [{"name": name, "vesting_shares": 1} for name in ("alice", "bob", "coin-123456", *names)],
        "account_authorities": [{"account": name} for name in ("alice", "bob", "coin-123456", *names)],
        "comments": [{"author": author, "permlink": link, "root_comment": (author, link), "created": 9} for author, link in posts],
        "comment_contents": [{"comment": post, "json_metadata": f'{{"tags":["t{number % 150}"]}}'} for number, post in enumerate(posts)],
        "follow/follows": [{"follower": "bob", "following": name, "what": 2} for name in names],
        "follow/blogs": [{"account": "alice", "comment": post, "number": number} for number, post in enumerate(posts)],
        "follow/feeds": [{"account": "bob", "comment": post, "number": number} for number, post in enumerate(posts)],
        "communities/roles": [{"community": "coin-123456", "account": name, "role": 2} for name in names[:250]],
        "communities/notifications": [
            {"type": 17, "src": name, "dst": "alice", "author": "alice", "permlink": "p0", "created": number, "score": 1}
            for number, name in enumerate(names[:350])
        ],
        "market_history/trades": [{"number": number, "time": number // 600} for number in range(2500)],
        "rc/pools": [{"pools": (1, 2, 3, 4, 5)}],
    }
    import_rows(chain.state, batch)
    return chain


def test_long_lists_are_read_to_their_end() -> None:
    chain, copy = long_lists(), chain_at(plugins=PLUGINS)
    batch = complete(SourceNode(chain))
    new = {"accounts", "account_authorities", "comments", "comment_contents"}
    here = {account.name for account in copy.state.accounts}
    batch = {
        name: [row for row in rows if row.get("name", row.get("account")) not in here] if name in new else rows
        for name, rows in batch.items()
        if name in new or "/" in name
    }
    import_rows(copy.state, batch)
    wanted, found = export_rows(chain.state), export_rows(copy.state)
    for section in wanted:
        if "/" in section and section != "rc/accounts":
            shown = [sorted(shown_lines(PORTABLE[section], rows[section])) for rows in (found, wanted)]
            assert shown[0] == shown[1], section


def test_named_accounts_have_short_lists() -> None:
    chain = long_lists()
    batch: Batch = {
        "accounts": [{"name": "alice"}, {"name": "bob"}, {"name": "fan1", "is_light": True}],
        "comments": [],
        "account_authorities": [],
    }

    async def read(source: Source) -> tuple[str, ...]:
        await add_plugin_rows(source, batch)
        return (await reader_of(source)).notes.texts

    assert any("only 1000 rows" in note for note in run(read, SourceNode(chain)))
    assert len(batch["follow/follows"]) == 1000
    assert {row["account"]: row["following_count"] for row in batch["follow/counts"]} == {"alice": 0, "bob": 1500}
    assert len(batch["communities/notifications"]) == 100
    assert batch["communities/notifications"][-1]["created"] == 349
    assert [row["account"] for row in batch["rc/accounts"]] == ["alice", "bob", "fan1"]


@pytest.mark.parametrize("flavour", ["steemd", "jussi", "hive"])
def test_other_sources_give_the_sections_that_they_have(flavour: str) -> None:
    player = Player(CASES / "communities")
    player.advance(45)
    chain, copy = player.chain, Player(CASES / "communities").chain
    rows = export_rows(chain.state)
    batch = {name: rows[name] for name in rows if "/" not in name or name in OF_WORLD}

    async def read(source: Source) -> tuple[str, ...]:
        await add_plugin_rows(source, batch)
        for section, found in (await read_plugin_world(source)).items():
            batch.setdefault(section, []).extend(found)
        return (await reader_of(source)).notes.texts

    notes = run(read, SourceNode(chain, flavour))
    import_world(copy.state, batch, is_complete=True, next_proposal_id=0)
    found = export_rows(copy.state)
    same = {"reputation/rows", "follow/counts", "follow/blogs", "tags/totals", "tags/authors", "account_by_key/references"}
    same |= {"rc/accounts"} if flavour == "steemd" else {"communities/communities", "communities/roles", "communities/posts"}
    for section in same:
        assert sorted(shown_lines(PORTABLE[section], found[section])) == sorted(shown_lines(PORTABLE[section], rows[section])), section
    assert any("communities" in note for note in notes) == (flavour == "steemd")
    assert any("resource credits" in note for note in notes) == (flavour == "jussi")


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_do_no_harm(fault: str) -> None:
    player = Player(CASES / "communities")
    player.advance(45)
    rows = export_rows(player.chain.state)
    copy = Player(CASES / "communities").chain
    batch = {name: rows[name] for name in rows if "/" not in name}
    node = SourceNode(player.chain, "coind", fault)
    asked = node.faults[0]
    asked.methods = r"(?!.*get_config|.*get_version|.*global_properties|.*hardfork|jsonrpc).*"

    async def read(source: Source) -> None:
        await add_plugin_rows(source, batch, is_complete=True)
        batch.update(await read_plugin_world(source, is_complete=True))
        batch.update(await read_communities(source, await all_communities(source)))

    try:
        run(read, node)
        import_world(copy.state, unpack_batch(pack_batch(batch)), is_complete=True, next_proposal_id=0)
    except (NodeError, ValueError):
        return
    copy.state.hardfork_times[:] = player.chain.state.hardfork_times
    assert player.chain.head is not None
    copy.start_at(player.chain.head, lambda number: b"", is_changed_by_hand=False, settled_edits=0)
    for start, _ in player.places[45:]:
        copy.push_block(player.wire.unpack_block(player.log, start)[0])
    shown_digest(copy.state)
