"""The command line of the search: `bin/test dearest [operations|methods|blocks] [--minutes N] [--seed S] [--only WORD] [--to DIR]`.

It prints each input that runs for more than 100 ms without a checkpoint, which is a defect, and finally the most expensive of each kind.
`--again FILE...` measures inputs of an earlier run on the same chain. The exit status is 1 if any input took too long.
"""

import argparse
import cProfile
import logging
import os
import pstats
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import trio
from msgspec import structs

from node.runtime.memory import collect_in_portions, freeze_loaded_objects
from state.protocol.work import UNITS_MAX
from tests.dearest.blocks import search_blocks
from tests.dearest.bodies import bodies
from tests.dearest.calls import Call, Calls
from tests.dearest.meter import Cost, asked, served
from tests.dearest.operations import CLASSES, Recipe, Values, first_recipes, fits
from tests.dearest.search import TOO_LONG, Found, Search, each, line
from tests.dearest.world import World

SHORT = 6000  # size of a transaction in its first measurement, in bytes
UNITS_SHARE = 0.97  # fraction of the work limit used by the second measurement
WHOLE_CHANCE = 0.1  # probability of measuring a transaction at full size nevertheless
REFUSED_SHARE = 0.3  # weight of a refused call's time when the search continues from it
AGAIN = 3  # number of measurements of an input; the fastest counts


async def search_operations(world: World, seed: int, seconds: float, only: str, folder: Path | None, most: float) -> Search[Recipe]:
    """Search for the most expensive transaction of each operation."""
    search: Search[Recipe] = Search(seed, folder, most)
    values = Values(world, search.draw)
    classes = [cls for cls in CLASSES if only in cls.NAME]

    async def tried(kind: str, recipe: Recipe) -> None:
        short = structs.replace(recipe, size=SHORT) if recipe.signatures < 2 else recipe
        cost = await measured_of(kind, short)
        if cost is None:
            return
        # The next attempt has the maximum size, or the size that the work limit allows. Above that limit the node refuses it without
        # executing anything.
        most = UNITS_SHARE * UNITS_MAX / max(cost.units, 1)
        times = recipe.size / short.size if search.draw.random() < WHOLE_CHANCE else min(recipe.size / short.size, most)
        if kind not in search.best or cost.longest * times > search.best[kind][-1].worth / 2:
            await measured_of(kind, structs.replace(recipe, size=max(int(short.size * times), SHORT)))

    async def measured_of(kind: str, recipe: Recipe) -> Cost | None:
        body = fits(recipe, world)
        if body is None:
            return None
        world.fresh()
        cost = await asked(world, body)
        search.keep(Found(kind, recipe, body, cost, cost.longest))
        world.fresh()
        return cost

    for cls in classes:
        for recipe in first_recipes(values, cls):
            await tried(cls.NAME, recipe)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        cls = search.draw.choice(classes)
        known = search.best.get(cls.NAME)
        recipe = values.changed(search.one_of(cls.NAME)) if known and search.draw.random() < 0.8 else Recipe((values.part(cls),))
        await tried(cls.NAME, recipe)
    return search


async def search_methods(world: World, seed: int, seconds: float, only: str, folder: Path | None, most: float) -> Search[Call]:
    """Search for the most expensive call of each method."""
    search: Search[Call] = Search(seed, folder, most)
    calls = Calls(world, Random(seed))
    methods = [method for method in calls.methods if only in method.name and "broadcast" not in method.name]

    async def tried(call: Call) -> None:
        body = calls.fits(call)
        if body is None:
            return
        world.fresh()
        cost = await asked(world, body)
        # The cost of a refused call depends mostly on its length, so calls with a result are better starting points.
        search.keep(Found(call.method, call, body, cost, cost.longest * (1 if b'"result"' in cost.outcome[:40] else REFUSED_SHARE)))

    for what, body in bodies() if not only else ():
        world.fresh()
        cost = await asked(world, body)
        search.keep(Found(f"body: {what}", Call(what, {}), body, cost, cost.longest))
    for method in methods:
        await tried(calls.call(method))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        method = search.draw.choice(methods)
        known = method.name in search.best and search.draw.random() < 0.8
        await tried(calls.changed(search.one_of(method.name) if known else calls.call(method)))
    return search


async def measured_again(world: World, paths: list[str], shown: int, most: float) -> bool:
    """Measure the inputs in files and print the `shown` functions that use the most time. Return whether no input took too long."""
    fine = True
    for path in paths:
        body = Path(path).read_bytes()
        costs = []
        for _ in range(AGAIN):
            world.fresh()
            costs.append(await asked(world, body))
        world.fresh()
        cost = min(costs, key=lambda one: one.longest)
        fine &= cost.longest <= most
        print(line(Found(Path(path).stem, None, body, cost, 0)), flush=True)
        if shown:
            with cProfile.Profile() as profile:
                await asked(world, body)
            pstats.Stats(profile).sort_stats("cumulative").print_stats(shown)
            world.fresh()
    return fine


def show(search: Search[Recipe] | Search[Call], begun: float) -> bool:
    """Print the most expensive input of each kind. Return True if every input stayed within the time limit."""
    kinds: Any = search
    dearest: list[Found[Any]] = sorted((of_kind[0] for of_kind in kinds.best.values()), key=lambda found: -found.cost.longest)
    for found in dearest:
        print(line(found))
    units = sorted(kinds.dearest_unit.values(), key=lambda found: -each(found.cost))
    if each(units[0].cost):
        print("The most expensive work units of each kind:")
        for found in units:
            print(line(found))
    print(f"{search.count:,} tried in {time.monotonic() - begun:.0f} s, the longest {dearest[0].cost.longest:.1f} ms")
    return dearest[0].cost.longest <= search.most


async def run(world: World, arguments: argparse.Namespace) -> bool:
    """Run the requested searches. Return True if every input stayed within the time limit."""
    begun, fine = time.monotonic(), True
    given = (arguments.seed, arguments.minutes * 60, arguments.only, arguments.to, arguments.most)
    async with served(world):
        if arguments.again:
            return await measured_again(world, arguments.again, arguments.profile, arguments.most)
        if "operations" in (arguments.what or ["operations"]):
            fine &= show(await search_operations(world, *given), begun)
        if "methods" in (arguments.what or ["methods"]):
            fine &= show(await search_methods(world, *given), begun)
        if "blocks" in (arguments.what or ["blocks"]):
            fine &= await search_blocks(world, arguments.only, arguments.most)
    return fine


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="bin/test dearest", description="Searches for what takes a node longest.")
    parser.add_argument("what", nargs="*", choices=["operations", "methods", "blocks", []], help="the searches to run (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="the duration of each search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only operations and methods whose name contains this")
    parser.add_argument("--to", type=Path, help="a folder for inputs that take too long")
    parser.add_argument("--most", type=float, default=TOO_LONG, help="the maximum allowed milliseconds, more on a slow machine")
    parser.add_argument("--again", nargs="+", help="measure the inputs in these files on the same chain")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="with --again: print the N functions that take the most time")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # the clock moves backwards here, which is logged
    collect_in_portions()
    world = World()
    freeze_loaded_objects()
    fine = trio.run(run, world, arguments)
    sys.stdout.flush()
    os._exit(0 if fine else 1)  # freeing the chain would take a second


if __name__ == "__main__":
    main()
