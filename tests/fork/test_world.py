"""The world and the accounts that are read from sources of all flavours equal the rows of the chain, but for those that they don't show."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.fork.accounts import read_accounts
from node.fork.source import Source, SourceWrong
from node.fork.spec import reader_of
from node.fork.world import MOVED_MAX, World, read_world
from node.runtime.errors import NodeError
from state.portable import PORTABLE, Batch, export_rows
from tests.fork.sources import FAULTS, Fault, HiveSpelling, SourceNode, error_reply
from tests.fork.town import town

URL = "http://there:8090"
OF_POSTS = ("comments", "comment_contents", "comment_votes")
OLD_CLIENTS = ("average_block_size", "current_reserve_ratio", "max_virtual_bandwidth")
# The columns, or with "*" the whole tables, that sources don't show.
UNSHOWN: dict[str, set[tuple[str, str]]] = {
    "coind": set(),
    "steemd": set(),
    "jussi": {
        ("global_properties", "smt_creation_fee"),
        ("hardfork_properties", "processed_hardforks"),
        ("accounts", "last_post_edit"),
        ("escrows", "*"),
        ("change_recovery_requests", "*"),
        ("decline_voting_requests", "*"),
        ("smt_tokens", "*"),
        ("smt_icos", "*"),
        ("smt_emissions", "*"),
    },
    "hive": {
        *(("global_properties", name) for name in (*OLD_CLIENTS, "smt_creation_fee", "confidential_supply", "confidential_sbd_supply")),
        *(("global_properties", f"total_reward_{name}") for name in ("fund_coin", "shares2")),
        ("global_properties", "required_actions_partition_percent"),
        ("hardfork_properties", "next_hardfork_time"),
        ("nai_pools", "nais"),
        ("smt_tokens", "*"),
        ("smt_icos", "*"),
        ("smt_emissions", "*"),
    },
}


@pytest.fixture(scope="module")
def chain() -> LocalChain:
    return town()


def read(node: SourceNode, names: Iterable[str]) -> tuple[World, Batch, tuple[str, ...]]:
    """Return the world, the accounts and the notes of a source, under a clock that skips all waiting."""

    async def run() -> tuple[World, Batch, tuple[str, ...]]:
        source = Source(URL, transport=node.transport())
        world, batch = await read_world(source), await read_accounts(source, names)
        return world, batch, (await reader_of(source)).notes.texts

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def by_key(*batches: Batch, renamed: dict[Any, Any]) -> dict[str, dict[Any, dict[str, Any]]]:
    """Return the shown columns of rows by table and key. Later rows replace earlier ones. Texts in `renamed` are replaced."""
    return {
        name: {
            tuple(renamed.get(row[column], row[column]) for column in portable.key): {
                column: renamed.get(row[column], row[column]) if isinstance(row[column], str) else row[column]
                for column in portable.shown
                if column in row
            }
            for batch in batches
            for row in batch.get(name, ())
        }
        for name, portable in PORTABLE.items()
        if portable.shown and name not in OF_POSTS and "/" not in name
    }


@pytest.mark.parametrize("flavour", UNSHOWN)
def test_what_is_read_equals_the_rows(chain: LocalChain, flavour: str) -> None:
    state = chain.chain.state
    renamed = {state.spec.treasury: HiveSpelling.TREASURY} if flavour == "hive" else {}
    world, accounts, _ = read(SourceNode(chain, flavour), [renamed.get(row.name, row.name) for row in state.accounts])
    got, expected = by_key(world.batch, accounts, renamed={}), by_key(export_rows(state), renamed=renamed)
    differences, extra = set(), set()
    for name, rows in expected.items():
        extra |= {name for key in got[name].keys() - rows.keys()}
        for key, row in rows.items():
            found = got[name].get(key)
            if found is None:
                differences.add((name, "*"))
            else:
                differences |= {(name, column) for column in row if column not in found or found[column] != row[column]}
    assert differences == UNSHOWN[flavour]
    # Accounts of genesis have no metadata, which methods show as empty metadata.
    assert extra <= {"account_metadata"}
    head = chain.chain.head
    assert head is not None
    assert world.header.id == head.id
    assert not world.header.transactions


def test_the_spec_is_that_of_a_known_chain(chain: LocalChain) -> None:
    world, _, _ = read(SourceNode(chain, "coind"), [])
    assert world.spec.chain_id == chain.spec.chain_id
    assert world.spec.name == "dev"


def test_hive_is_read_as_far_as_the_rules_go(chain: LocalChain) -> None:
    world, _, notes = read(SourceNode(chain, "hive"), ["alice"])
    assert (world.spec.coin_symbol, world.spec.debt_symbol, world.spec.treasury) == ("HIVE", "HBD", "hive.fund")
    [hardforks] = world.batch["hardfork_properties"]
    assert hardforks["last_hardfork"] == 24
    assert len(hardforks["processed_hardforks"]) == 25
    assert [note for note in notes if note.startswith("hardforks 25 to 27")]


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_resource_credits_are_read(chain: LocalChain, flavour: str) -> None:
    world, _, notes = read(SourceNode(chain, flavour), [])
    expected = export_rows(chain.chain.state)
    for section in ("rc/parameters", "rc/pools"):
        if flavour == "jussi":
            assert section not in world.batch
        elif section in expected:
            [row], [shown] = world.batch[section], expected[section]
            assert {column: row[column] for column in row} == {column: shown[column] for column in row}
    assert bool([note for note in notes if "resource credits" in note]) == (flavour == "jussi")


def test_a_light_account_has_no_rows_that_belong_to_it(chain: LocalChain) -> None:
    async def run() -> Batch:
        return await read_accounts(
            Source(URL, transport=SourceNode(chain).transport()), ["alice", "nobody.here", "Bad Name"], is_light=True
        )

    batch = trio.run(run)
    assert batch.keys() == {"accounts", "account_authorities", "account_metadata"}
    [row] = batch["accounts"]
    assert (row["name"], row["is_light"]) == ("alice", True)


def test_proxies_come_as_light_accounts(chain: LocalChain) -> None:
    _, batch, _ = read(SourceNode(chain), ["olivia"])
    assert {row["name"]: row.get("is_light", False) for row in batch["accounts"]} == {"olivia": False, "niaj": True, "mallory": True}


def test_the_world_is_of_one_block() -> None:
    chain = LocalChain("dev", blocks="manual")
    node = SourceNode(chain, "steemd")
    node.on_call = lambda method: chain.mine() if node.calls[method] < 3 and method.endswith("get_feed_history") else None
    world, _, notes = read(node, [])
    head = chain.chain.head
    assert head is not None
    assert world.header.id == head.id
    assert not notes


def test_a_source_that_never_stands_still_is_noted() -> None:
    chain = LocalChain("dev", blocks="manual")
    node = SourceNode(chain, "steemd")
    node.on_call = lambda method: chain.mine() if method.endswith("get_feed_history") else None
    world, _, notes = read(node, [])
    assert [note for note in notes if "made blocks" in note]
    assert node.calls["database_api.get_feed_history"] == MOVED_MAX + 1
    assert world.header.number == world.batch["global_properties"][0]["head_block_number"]


def test_what_a_source_refuses_is_noted(chain: LocalChain, monkeypatch: pytest.MonkeyPatch) -> None:
    node = SourceNode(chain)
    answer = node._answer

    def refusing(request: Any) -> Any:
        is_refused = "conversion" in request["method"] or "resource_pool" in request["method"]
        return error_reply(request["id"], -32000, "the index is off") if is_refused else answer(request)

    monkeypatch.setattr(node, "_answer", refusing)
    world, batch, notes = read(node, ["alice", "kim"])
    assert batch["limit_orders"]
    assert "rc/pools" not in world.batch
    assert [note.split(":")[0] for note in notes] == ["pools of resource credits", "convert requests"]


def test_witnesses_that_change_at_every_call_end_the_reading(chain: LocalChain) -> None:
    count = 0

    def rename(method: str, params: Any, result: Any) -> Any:
        nonlocal count
        count += 1
        return {"witnesses": [{**result["witnesses"][0], "owner": f"witness{count}"}]}

    with pytest.raises(SourceWrong, match="change with each reading"):
        read(SourceNode(chain, "coind", Fault(result=rename, methods="database_api.list_witnesses")), [])


def test_the_header_is_that_of_the_head(chain: LocalChain) -> None:
    def change(method: str, params: Any, result: Any) -> Any:
        result["block"]["witness"] = "alice"
        return result

    with pytest.raises(SourceWrong, match="has the id"):
        read(SourceNode(chain, "coind", Fault(result=change, methods=r"block_api\.get_block")), [])


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_source_that_lies_gives_an_error_or_rows(chain: LocalChain, name: str, flavour: str) -> None:
    with suppress(NodeError):
        read(SourceNode(chain, flavour, name), ["alice", "olivia", "kim"])


def test_an_error_names_the_method_and_the_member(chain: LocalChain) -> None:
    def spoil(method: str, params: Any, result: Any) -> Any:
        result["accounts"][1]["voting_manabar"]["current_mana"] = "much"
        return result

    node = SourceNode(chain, "coind", Fault(result=spoil, methods="database_api.find_accounts"))
    with pytest.raises(SourceWrong) as raised:
        read(node, ["alice", "bob"])
    assert (raised.value.method, raised.value.member) == ("database_api.find_accounts", "accounts[1].voting_manabar.current_mana")
