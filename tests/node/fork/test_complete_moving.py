"""Complete copies of sources that make blocks while they're read. Dice decide at which calls the source moves."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from node.fork.complete.pages import PageFolder
from node.runtime.errors import NodeError
from state.chain.invariants import validate_invariants
from state.plugins.registry import PLUGINS
from state.portable import shown_digest
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fork.copies import UNSEEN, Production, copied
from tests.fork.sources import Fault


def ids(player: Player, state: Any) -> dict[str, list[int]]:
    return {name: [row.id for row in table] for name, table in state.tables() if name not in UNSEEN}


def at_block(case: str, number: int, plugins: Iterable[str] = ()) -> Player:
    player = Player(CASES / case, plugins)
    player.advance(number)
    return player


@pytest.mark.parametrize(
    ("case", "height", "seed"), [("rewards", 30, 1), ("walk_random", 1500, 1), ("walk_random", 700, 5), ("negative_reward_fund", 400, 2)]
)
def test_a_copy_is_equal_to_a_source_that_makes_blocks(case: str, height: int, seed: int, tmp_path: Path) -> None:
    player = at_block(case, height)
    production = Production(player, seed)
    copy = copied(player, tmp_path, on_call=production)
    source = at_block(case, copy.block.number).chain.state
    assert production.blocks > 0
    assert copy.block.number > height
    assert shown_digest(copy.state) == shown_digest(source)
    assert ids(player, copy.state) == ids(player, source)


@pytest.mark.parametrize(("case", "height", "seed"), [("rewards", 20, 2), ("walk_random", 700, 7)])
def test_rows_of_plugins_are_equal_too(case: str, height: int, seed: int, tmp_path: Path) -> None:
    player = at_block(case, height, PLUGINS)
    copy = copied(player, tmp_path, on_call=Production(player, seed, 0.004, 0.02))
    source = at_block(case, copy.block.number, PLUGINS).chain.state
    assert copy.block.number > height
    assert shown_digest(copy.state) == shown_digest(source)
    validate_invariants(copy.state)


def test_a_copy_of_a_source_that_switches_to_another_branch(tmp_path: Path) -> None:
    player = at_block("rewards", 60)
    calls = 0

    def switch(method: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 60:  # after the copy has followed some blocks
            player.chain.pop_blocks(3)
            player.chain.clear_pending()
        elif calls % 20 == 0:
            production(method)

    production = Production(player, 3, block=1)
    copy = copied(player, tmp_path, on_call=switch)
    source = at_block("rewards", copy.block.number).chain.state
    assert shown_digest(copy.state) == shown_digest(source)


class Interrupted(NodeError):
    """Raised in place of an answer."""


def test_an_interrupted_copy_goes_on(tmp_path: Path) -> None:
    player = at_block("walk_random", 1500)
    calls: list[str] = []

    def stop_at(count: int) -> Any:
        def on_call(method: str) -> None:
            calls.append(method)
            if len(calls) == count:
                raise Interrupted("interrupted")

        return on_call

    for count in (5, 15, 24):
        calls.clear()
        with pytest.raises(BaseException) as caught:
            copied(player, tmp_path, on_call=stop_at(count))
        assert "interrupted" in repr(caught.value.exceptions if isinstance(caught.value, BaseExceptionGroup) else caught.value)
    player.advance(1503)
    with (tmp_path / "pages" / "accounts").open("ab") as file:
        file.write(b"a damaged end")
    calls.clear()
    texts: list[str] = []
    copy = copied(player, tmp_path, texts.append, stop_at(10**9))
    assert "going on with an interrupted copy" in texts
    assert "database_api.list_limit_orders" in calls  # again, since there were blocks
    assert copy.block.number == 1503
    assert shown_digest(copy.state) == shown_digest(at_block("walk_random", 1503).chain.state)


def test_pages_of_another_source_are_replaced(tmp_path: Path) -> None:
    copied(at_block("rewards", 30), tmp_path)
    folder = PageFolder(tmp_path / "pages")
    about = folder.about()
    assert about is not None
    folder.begin(type(about)("http://another", about.chain_id, about.number, about.block_id))
    texts: list[str] = []
    copied(at_block("rewards", 31), tmp_path, texts.append)
    assert "going on with an interrupted copy" not in texts


def test_a_source_whose_rows_are_others_each_time_can_not_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.fork.complete.lockstep.LOCKSTEP_SECONDS_MAX", 60)
    counts = itertools.count()

    def lie(method: str, params: Any, result: Any) -> Any:
        for account in result["accounts"]:
            account["curation_rewards"] = next(counts)
        return result

    player = at_block("rewards", 30)
    with pytest.raises(NodeError, match="isn't equal to its source"):
        copied(player, tmp_path, print, Production(player, 1), Fault(result=lie, methods=r".*\.(list|find)_accounts"))


def test_a_source_whose_head_is_a_lie_can_not_be_copied(tmp_path: Path) -> None:
    head = 2**32 - 1
    heads = itertools.count()

    def lie(method: str, params: Any, result: Any) -> Any:
        block_id = result["head_block_id"]
        return result | ({"head_block_number": head, "head_block_id": f"{head:08x}{block_id[8:]}"} if next(heads) > 1 else {})

    with pytest.raises(NodeError, match="can't be copied"):
        copied(at_block("rewards", 30), tmp_path, print, None, Fault(result=lie, methods=r"database_api\.get_dynamic_global_properties"))


def test_a_source_with_endless_rows_can_not_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.fork.complete.copying.COPY_BYTES_MAX", 10_000)
    with pytest.raises(NodeError, match="more than"):
        copied(at_block("rewards", 30), tmp_path)


def test_a_source_whose_pages_begin_again_can_not_be_copied(tmp_path: Path) -> None:
    fault = Fault(result=lambda method, params, result: {"witnesses": (result["witnesses"] * 1000)[:1000]}, methods=r".*\.list_witnesses")
    with pytest.raises(NodeError, match="begin again"):
        copied(at_block("rewards", 30), tmp_path, print, None, fault)
