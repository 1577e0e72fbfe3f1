"""Attacks real nodes: `bin/test attack [NAME]... [--count N] [--seed S]`. The full counts take long, so this is not part of the test suite.

Each part is a module of this folder with `run(count, seed) -> dict[str, int]`. It returns counts of events and raises an error if the node
misbehaves. PARTS lists the unit and the full count of each part.
"""

import argparse
import secrets
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from msgspec import Struct

SEED_MAX = 2**31 - 1


class Part(Struct, frozen=True):
    """A part of the attack. `count` is the number of repetitions in a full run, and `of` names what is counted."""

    count: int
    of: str


PARTS = {
    "kills": Part(1000, "kills"),
    "power": Part(10_000, "power cuts"),
    "damage": Part(10_000, "damaged files"),
    "hostile": Part(20_000, "hostile requests"),
    "lockout": Part(120, "seconds of attack"),
    "waste": Part(140, "seconds of attack"),
    "soak": Part(3600, "seconds of load"),
}


def main(arguments: list[str]) -> int:
    """Run the named parts, or all of them. The status is 0 if all succeeded."""
    known = [name for name in PARTS if find_spec(f"tests.attack.{name}") is not None]
    parser = argparse.ArgumentParser(prog="bin/test attack", description="Attack real nodes.")
    parser.add_argument("name", nargs="*", help=f"of {', '.join(f'{name} ({PARTS[name].of})' for name in known)}; default: all")
    parser.add_argument("--count", type=int, default=0, help="the count of each part (default: its full count)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: a new one each time)")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.name) - set(known)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    seed = chosen.seed or secrets.randbelow(SEED_MAX) + 1
    failed = [name for name in chosen.name or known if not succeeds(name, chosen.count or PARTS[name].count, seed)]
    for name in failed:
        print(f"again: bin/test attack {name} --count {chosen.count or PARTS[name].count} --seed {seed}")
    return 1 if failed else 0


def succeeds(name: str, count: int, seed: int) -> bool:
    """Run a part, print its row of the table, and return whether it succeeded."""
    run: Callable[[int, int], dict[str, int]] = import_module(f"tests.attack.{name}").run
    start = time.monotonic()
    try:
        counted, problem = run(count, seed), ""
    except Exception as error:
        traceback.print_exc()
        counted, problem = {}, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    seconds = time.monotonic() - start
    said = problem or ", ".join(f"{value:,} {key.replace('_', ' ')}" for key, value in counted.items())
    print(f"{name:9} {count:>7,} {PARTS[name].of:18} {seconds:7.0f} s  {'FAILED' if problem else 'good'}  {said}", flush=True)
    return not problem


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
