"""A chain restored from a snapshot equals a chain that replayed all blocks: tables, plugins, digest, undo and refusals."""

from functools import cache
from typing import Any

import msgspec
import pytest

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.plugins.follow.feeds import Blogs, Feeds
from state.plugins.registry import DECLARED
from state.portable import SPECIAL
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock
from state.snapshot.image import parts_of, restore
from state.store import Row, Table
from state.store.columns import CorruptData
from state.store.serializers import TablePart
from state.tables import State
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.golden import fails
from tests.helpers.nodes import block_at, copy_of, dev_chain, grown_chain, make_block
from tests.helpers.restored import Image, image_of, put
from tests.helpers.snapshots import snapshot

HOLDERS = (Blogs, Feeds)
# Each case has a special feature: posts with beneficiaries and tags, single hardforks, trades, tokens, votes, or communities.
CASES_TRIED = ("post_options", "threads", "market_orders", "smt_tokens", "communities", "reputations", "follows", "natural_hardforks")


@cache
def blocks_of(case: str) -> tuple[SignedBlock, ...]:
    return tuple(Player(CASES / case).blocks())


def player_at(case: str, height: int) -> Player:
    player = Player(CASES / case)
    for block in blocks_of(case)[:height]:
        player.chain.push_block(block)
    return player


def packed_blocks(case: str, chain: Chain) -> dict[int, bytes]:
    return {block.number: chain.state.wire.pack_block(block) for block in blocks_of(case)}


def whole(state: State) -> dict[str, Any]:
    """Return the complete contents of a state in comparable form."""
    found: dict[str, Any] = {"digest": state_digest(state), "times": list(state.hardfork_times)}
    return found | {name: snapshot(plugin) for name, plugin in state.plugins.items()}


@pytest.mark.parametrize(("case", "share"), [(case, (0.35, 0.8)[number % 2]) for number, case in enumerate(CASES_TRIED)])
def test_the_restored_state_is_the_replayed_state(case: str, share: float) -> None:
    blocks = blocks_of(case)
    cut = max(23, int(len(blocks) * share))
    at_snapshot = player_at(case, cut)
    image = image_of(at_snapshot.chain)
    restored = Player(CASES / case)
    put(restored.chain, image, packed_blocks(case, restored.chain))
    assert whole(restored.chain.state) == whole(at_snapshot.chain.state)
    assert state_digest(restored.chain.state) == image[0].digest
    for _, table in restored.chain.state.tables():
        table.check()
    for block in blocks[image[0].number :]:
        restored.chain.push_block(block)
    replayed = player_at(case, len(blocks))
    assert whole(restored.chain.state) == whole(replayed.chain.state)
    assert block_at(restored.chain, 1).id == blocks[0].id
    # Also compare a snapshot of the chain that was itself restored from a snapshot.
    again = Player(CASES / case)
    put(again.chain, image_of(restored.chain), packed_blocks(case, again.chain))
    replayed.chain.rewind()
    assert whole(again.chain.state) == whole(replayed.chain.state)


@pytest.mark.parametrize("case", ["threads", "market_orders", "discussions"])
def test_queries_are_answered_as_by_a_replay(case: str) -> None:
    """After a start from a snapshot, the recorded queries of the last blocks have the recorded replies."""
    played = player_at(case, len(blocks_of(case)))
    image = image_of(player_at(case, len(blocks_of(case)) // 2 + 12).chain)
    restored = Player(CASES / case)
    put(restored.chain, image, packed_blocks(case, restored.chain))
    for block in blocks_of(case)[image[0].number :]:
        restored.chain.push_block(block)
    events = [event for event in played.events() if "method" in event and event["method"] in played.served]
    assert len(events) > 5
    for event in events:
        assert restored.ask(event) == played.ask(event), event


def test_blocks_after_a_snapshot_can_be_undone_but_not_the_snapshot() -> None:
    case = "threads"
    image = image_of(player_at(case, 60).chain)
    chain = Player(CASES / case).chain
    put(chain, image, packed_blocks(case, chain))
    assert chain.irreversible == chain.started_at == image[0].number
    before = whole(chain.state)
    with pytest.raises(Refused, match="irreversible"):
        chain.pop_block()
    for block in blocks_of(case)[image[0].number : image[0].number + 5]:
        chain.push_block(block)
    assert whole(chain.state) != before
    for _ in range(5):
        chain.pop_block()
    chain.clear_pending()
    assert whole(chain.state) == before


def test_a_snapshot_has_no_pending_transactions_or_reversible_blocks() -> None:
    case = "transfer_rules"
    event = next(e for e in Player(CASES / case).events() if e.get("ok") and "trx" in e and e["height"] > 23)
    player = player_at(case, event["height"])
    player.broadcast(event)
    assert player.chain.pending
    image = image_of(player.chain)
    plain = player_at(case, image[0].number)
    assert image[0].digest == state_digest(plain.chain.state)


def test_a_fork_switch_after_a_snapshot_is_one_after_a_replay() -> None:
    source = grown_chain(30)
    blocks = [block_at(source, number) for number in range(1, 31)]
    image = image_of(copy_of(source))
    chain, other = dev_chain(), copy_of(source, 28)
    put(chain, image, {block.number: chain.state.wire.pack_block(block) for block in blocks})
    for block in blocks[image[0].number :]:
        chain.push_block(block)
    branch = [make_block(other, missed=1), *(make_block(other) for _ in range(3))]
    switched = [chain.push_block(block) for block in branch]
    assert True in switched
    assert chain.state.props.head_block_id == other.state.props.head_block_id
    assert whole(chain.state) == whole(other.state)


# ------------------------------------------------------------------ refusals


def spoiled(image: Image, **changes: Any) -> Image:
    return msgspec.structs.replace(image[0], **changes), dict(image[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"block": b"\x01\x02"},
        {"block_id": "00" * 20},
        {"number": 7},
        {"hardfork_times": (1, 2)},
    ],
)
def test_an_impossible_head_is_refused(changes: dict[str, Any]) -> None:
    image = image_of(player_at("posts", 50).chain)
    chain = Player(CASES / "posts").chain
    before = whole(chain.state)
    with fails(CorruptData):
        put(chain, spoiled(image, **changes), {})
    assert whole(chain.state) == before


@pytest.mark.parametrize(
    "name", ["state/accounts", "state/global_properties", "tags/tagged", "follow/relations", "transaction_status/by_block"]
)
def test_an_unreadable_section_leaves_the_chain_at_genesis(name: str) -> None:
    image = image_of(player_at("posts", 50).chain)
    chain = Player(CASES / "posts").chain
    before = whole(chain.state)
    image[1][name] = [b"\xc1"]
    with pytest.raises(CorruptData):
        put(chain, image, {})
    assert whole(chain.state) == before


def test_rows_that_clash_leave_the_chain_at_genesis() -> None:
    first, second = image_of(player_at("posts", 50).chain), image_of(player_at("posts", 60).chain)
    chain = Player(CASES / "posts").chain
    before = whole(chain.state)
    # The tables of one block with the global properties of another: each can be decoded, but together they are no state of this block.
    first[1]["state/global_properties"] = second[1]["state/global_properties"]
    with fails(CorruptData):
        put(chain, first, {})
    assert whole(chain.state) == before
    chain.push_block(blocks_of("posts")[0])  # it goes on as if nothing had been


def test_a_state_that_can_be_undone_is_not_replaced() -> None:
    chain = dev_chain()
    image = image_of(grown_chain(30))
    make_block(chain)
    with fails(AssertionError):
        restore(chain, image[0], lambda name: iter(image[1][name]), lambda number: None)


# ------------------------------------------------------------------ declarations


def attributes(data: Any, prefix: str = "") -> set[str]:
    """Return the attribute names of a plugin's data object. The classes in HOLDERS are replaced by their own attributes."""
    found: set[str] = set()
    for name, value in vars(data).items():
        found |= attributes(value, f"{name}.") if isinstance(value, HOLDERS) else {prefix + name}
    return found


@pytest.mark.parametrize("plugin", DECLARED, ids=lambda plugin: plugin.name)
def test_a_plugin_declares_every_attribute(plugin: Any) -> None:
    """An attribute that is neither in snapshots nor declared as temporary would be lost when a chain starts from a snapshot."""
    state = Player(CASES / "posts").chain.state
    data = plugin.of(state)
    declared = set(plugin.parts(state, data))
    assert declared
    if not isinstance(data, Table):
        own = {name for name in declared if "/" not in name and name != "records"}
        assert own | set(plugin.unsaved) == attributes(data)
        assert not own & set(plugin.unsaved)


def test_fields_of_any_type_have_a_type_in_snapshots() -> None:
    """A value of an unknown type would be restored as a list or a dictionary."""
    state = Player(CASES / "posts").chain.state
    for name, part in parts_of(state).items():
        if isinstance(part, TablePart):
            assert "Any" not in part.schema, name
    for table, fields in SPECIAL.items():
        row: type[Row] = getattr(state, table).ROW
        assert set(fields) <= set(row.__struct_fields__)
