"""The search on a small chain: the node answers every input, and the search keeps the most expensive ones and counts work units."""

from pathlib import Path
from random import Random

import pytest
import trio

from tests.dearest import blocks
from tests.dearest.calls import Calls
from tests.dearest.genes import Part
from tests.dearest.meter import Cost, asked, measured, served
from tests.dearest.operations import CLASSES, Recipe, Values, first_recipes, fits
from tests.dearest.samples import samples
from tests.dearest.search import Found, Search
from tests.dearest.world import SMALL, World

SIZE = 600  # bytes of a transaction


@pytest.fixture(scope="module")
def world() -> World:
    """A small chain."""
    return World(SMALL)


async def test_transactions_of_every_operation_are_answered(world: World) -> None:
    values, accepted = Values(world, Random(1)), set()
    async with served(world):
        for cls in CLASSES:
            for recipe in first_recipes(values, cls)[: max(len(samples(world).get(cls, ())), 1)]:
                body = fits(Recipe(recipe.parts, SIZE), world)
                world.chain.clear_pending()
                if body is not None:
                    cost = await asked(world, body)
                    assert cost.longest <= cost.total
                    assert b"Internal" not in cost.outcome, cost.outcome[:500]
                    if b'"result":{}' in cost.outcome:
                        assert cost.units > 0
                        accepted.add(cls)
    world.fresh()
    assert len(accepted) > 20, sorted(cls.NAME for cls in accepted)


async def test_calls_of_every_method_are_answered(world: World) -> None:
    calls, answered = Calls(world, Random(1)), set()
    for method in calls.methods[::3]:
        call = calls.call(method)
        for _ in range(2):
            body = calls.fits(call)
            if body is not None and len(body) < 10_000 and not method.waits:
                cost = await asked(world, body)
                assert b"Internal" not in cost.outcome, (call, cost.outcome[:500])
                if b'"result"' in cost.outcome[:40]:
                    answered.add(method.group)
            call = calls.changed(call)
    assert {"condenser_api", "database_api", "tags_api", "bridge", "explorer_api"} <= answered


async def test_blocks_with_due_rows(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(blocks, "ROWS", 20)
    head = world.state.props.head_block_id
    async with served(world):
        assert await blocks.search_blocks(world, "paid", most=1e9)
    assert world.state.props.head_block_id == head
    assert "all posts are paid out" in capsys.readouterr().out


async def test_a_stretch_ends_at_a_checkpoint() -> None:
    world = type("Chain", (), {"state": None})

    def busy() -> int:
        return sum(range(100_000))

    async def whole() -> None:
        busy()
        busy()

    async def in_two() -> None:
        busy()
        await trio.lowlevel.checkpoint()
        busy()

    cost = await measured(world, in_two)  # type: ignore[arg-type]
    assert 0 < cost.longest < cost.total
    cost = await measured(world, whole)  # type: ignore[arg-type]
    assert cost.longest > cost.total / 2


def test_most_expensive_inputs_are_kept_and_written(tmp_path: Path) -> None:
    search: Search[str] = Search(1, tmp_path)
    for i, milliseconds in enumerate((5.0, 150.0, 70.0, 160.0, 400.0, 1.0, 2.0)):
        search.keep(Found("vote", str(i), b"%d" % i, Cost(milliseconds, milliseconds, 1000), milliseconds))
    assert [found.genome for found in search.best["vote"]] == ["4", "3", "1", "2"]
    assert search.one_of("vote") in "1234"
    # An input that is hardly slower than the last one written is not written.
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"1", b"4"]


def test_changed_recipes_stay_valid(world: World) -> None:
    values = Values(world, Random(3))
    recipe = Recipe((values.part(CLASSES[0]),), SIZE)
    seen = set()
    for _ in range(40):
        recipe = values.changed(recipe)
        assert recipe.parts
        assert all(isinstance(part, Part) for part in recipe.parts)
        seen.add((len(recipe.parts), recipe.signatures, recipe.is_legacy))
    assert len(seen) > 3
