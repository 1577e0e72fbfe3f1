"""Posts, discussions and votes that are read from sources of all flavours equal the rows of the chain."""

import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.fork.posts import newest_posts, read_posts
from node.fork.source import Source
from node.fork.spec import reader_of
from node.runtime.errors import NodeError
from state.portable import PORTABLE, Batch, CommentKey, export_rows
from state.protocol.constants import TIME_MAX
from state.tables.content import Comment
from tests.fork.sources import FAULTS, Fault, SourceNode
from tests.fork.town import town

URL = "http://there:8090"
TABLES = ("comments", "comment_contents", "comment_votes")
# The only column that condenser_api doesn't show: how often a vote was changed.
UNSHOWN: dict[str, set[str]] = {"coind": set(), "steemd": set(), "jussi": {"num_changes"}, "hive": set()}
# Members that indexers leave out.
INDEXED = (
    *("abs_rshares", "vote_rshares", "children_abs_rshares", "active", "total_vote_weight", "reward_weight", "max_cashout_time"),
    *("net_rshares", "net_votes", "allow_votes", "allow_replies", "allow_curation_rewards", "root_author", "root_permlink", "weight"),
)


@pytest.fixture(scope="module")
def chain() -> LocalChain:
    return town()


def reading(node: SourceNode, work: Callable[[Source], Awaitable[Any]]) -> tuple[Any, tuple[str, ...]]:
    """Return the result of `work`, and the notes, under a clock that skips all waiting."""

    async def run() -> tuple[Any, tuple[str, ...]]:
        source = Source(URL, transport=node.transport())
        return await work(source), (await reader_of(source)).notes.texts

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def posts(node: SourceNode, keys: Iterable[CommentKey], *, discussions: bool = True) -> Batch:
    batch: Batch = reading(node, lambda source: read_posts(source, keys, discussions=discussions))[0]
    return batch


def shown(batch: Batch) -> dict[str, dict[Any, dict[str, Any]]]:
    """Return the shown columns of the rows of posts by table and key."""
    found = {}
    for name in TABLES:
        columns, key = PORTABLE[name].shown, PORTABLE[name].key
        rows = batch.get(name, ())
        found[name] = {tuple(row[part] for part in key): {column: row[column] for column in columns if column in row} for row in rows}
    return found


def keys_of(batch: Batch) -> list[CommentKey]:
    return [(row["author"], row["permlink"]) for row in batch.get("comments", ())]


def lacking(node: SourceNode, methods: str) -> SourceNode:
    """Return the node without the methods that a pattern matches."""
    serves = node.flavour.serves
    node.flavour = replace(node.flavour, serves=lambda name: serves(name) and not re.match(methods, name))
    return node


@pytest.mark.parametrize("flavour", UNSHOWN)
def test_all_posts_equal_the_rows(chain: LocalChain, flavour: str) -> None:
    everything = export_rows(chain.chain.state)
    got = posts(SourceNode(chain, flavour), keys_of(everything))
    rows, expected = shown(got), shown(everything)
    for name in TABLES:
        assert rows[name].keys() == expected[name].keys()
        for key, row in rows[name].items():
            assert row == {column: value for column, value in expected[name][key].items() if column not in UNSHOWN[flavour]}
    assert keys_of(got) == keys_of(everything)


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_a_discussion_comes_with_one_of_its_replies(chain: LocalChain, flavour: str) -> None:
    everything = export_rows(chain.chain.state)
    reply = max(everything["comments"], key=lambda row: row["depth"])
    root = reply["root_comment"]
    asked = (reply["author"], reply["permlink"])
    node = SourceNode(chain, flavour)
    whole = {(row["author"], row["permlink"]) for row in everything["comments"] if row["root_comment"] == root}
    assert {*keys_of(posts(node, [asked]))} == whole
    path = {asked}
    parent = reply
    while parent["depth"]:
        above = (parent["parent_author"], parent["parent_permlink"])
        path.add(above)
        parent = next(row for row in everything["comments"] if (row["author"], row["permlink"]) == above)
    assert {*keys_of(posts(node, [asked], discussions=False))} == path


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_unknown_posts_are_omitted(chain: LocalChain, flavour: str) -> None:
    assert posts(SourceNode(chain, flavour), [("alice", "no-such-post"), ("nobody.here", "x"), ("Bad Name", "x"), ("alice", "")]) == {}


def test_members_that_an_indexer_leaves_out_come_from_the_votes(chain: LocalChain) -> None:
    def strip(method: str, params: Any, result: Any) -> Any:
        votes = [{name: member for name, member in vote.items() if name != "weight"} for vote in result["active_votes"]]
        return {name: member for name, member in result.items() if name not in INDEXED} | {"active_votes": votes}

    everything = export_rows(chain.chain.state)
    node = SourceNode(chain, "jussi", Fault(result=strip, methods="condenser_api.get_content"))
    rows, expected = shown(posts(node, keys_of(everything))), shown(everything)
    assert rows["comments"].keys() == expected["comments"].keys()
    for key, row in rows["comments"].items():
        for column in ("root_comment", "reward_weight"):
            assert row[column] == expected["comments"][key][column], (key, column)
        assert row.get("allow_votes", Comment().allow_votes) == expected["comments"][key]["allow_votes"], key
        if row["cashout_time"] == TIME_MAX:
            continue
        for column in ("net_rshares", "abs_rshares", "vote_rshares"):
            assert row[column] == expected["comments"][key][column], (key, column)
        assert row["total_vote_weight"] == sum(vote["weight"] for vote_key, vote in rows["comment_votes"].items() if vote_key[0] == key)


def test_a_discussion_without_bridge_is_found_by_its_replies(chain: LocalChain) -> None:
    node = lacking(SourceNode(chain, "jussi"), r"bridge\.")
    everything = export_rows(chain.chain.state)
    got = posts(node, [key for key, row in zip(keys_of(everything), everything["comments"], strict=True) if not row["depth"]])
    assert {*keys_of(got)} == {*keys_of(everything)}


@pytest.mark.parametrize(
    "without",
    ["nothing", r"bridge\.", r"(bridge\.|condenser_api\.get_discussions)", r"(bridge\.|tags_api\.|condenser_api\.get_discussions)"],
)
def test_newest_posts(chain: LocalChain, without: str) -> None:
    node = lacking(SourceNode(chain), without)
    found, _ = reading(node, lambda source: newest_posts(source, "alice", 5))
    own = [row for row in export_rows(chain.chain.state)["comments"] if row["author"] == "alice" and not row["depth"]]
    newest = [("alice", row["permlink"]) for row in sorted(own, key=lambda row: -row["created"])]
    assert found == newest
    assert reading(node, lambda source: newest_posts(source, "alice", 1))[0] == newest[:1]
    assert reading(node, lambda source: newest_posts(source, "nobody.here", 1))[0] == []


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_source_that_lies_gives_an_error_or_rows(chain: LocalChain, name: str, flavour: str) -> None:
    async def work(source: Source) -> None:
        await newest_posts(source, "alice", 30)
        await read_posts(source, [("alice", "welcome-to-saltmere"), ("bob", "the-slipway")])

    with suppress(NodeError):
        reading(SourceNode(chain, flavour, name), work)
