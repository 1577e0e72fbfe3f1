"""The search. It keeps the most expensive inputs of each kind, changes and measures them again, and writes slow ones to files."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

from msgspec import Struct

from tests.dearest.meter import Cost

TOO_LONG = 100.0  # milliseconds without a checkpoint
KEPT = 4  # inputs of each kind
OUTCOME_SHOWN = 160
UNITS_SHOWN_MIN = 500  # the time per unit is inaccurate for fewer units

Genome = TypeVar("Genome")


class Found(Struct, Generic[Genome], order=False):
    """A measured input. `worth` is the value that the search maximizes."""

    kind: str
    genome: Genome
    body: bytes
    cost: Cost
    worth: float


class Search(Generic[Genome]):
    """Keeps the most expensive inputs of each kind. Inputs that took more than `most` milliseconds are written to `folder`."""

    def __init__(self, seed: int, folder: Path | None, most: float = TOO_LONG) -> None:
        self.draw = Random(seed)
        self.best: dict[str, list[Found[Genome]]] = {}
        self.dearest_unit: dict[str, Found[Genome]] = {}
        self.count = 0
        self.most, self._folder = most, folder
        self._written: dict[str, float] = {}

    def keep_dearest_unit(self, found: Found[Genome]) -> None:
        """Keep the input if its cost per work unit is the highest of its kind."""
        known = self.dearest_unit.get(found.kind)
        if known is None or each(found.cost) > each(known.cost):
            self.dearest_unit[found.kind] = found

    def keep(self, found: Found[Genome]) -> bool:
        """Record an input. Return whether it is the most expensive of its kind."""
        self.count += 1
        self.keep_dearest_unit(found)
        of_kind = self.best.setdefault(found.kind, [])
        of_kind.append(found)
        of_kind.sort(key=lambda one: -one.worth)
        del of_kind[KEPT:]
        if found.cost.longest > self.most and found.cost.longest > 1.2 * self._written.get(found.kind, 0):
            self._written[found.kind] = found.cost.longest
            self.write(found)
        return of_kind[0] is found

    def write(self, found: Found[Genome]) -> None:
        """Write an input to a file, and print it."""
        name = f"{found.kind[:80]}-{hashlib.sha256(found.body).hexdigest()[:8]}.json".replace("/", "_")
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_bytes(found.body)
        print(line(found), name, flush=True)

    def one_of(self, kind: str) -> Genome:
        """Return one of the most expensive inputs of a kind."""
        return self.draw.choice(self.best[kind]).genome


def line(found: Found[Any]) -> str:
    """Format the cost of an input as a line."""
    cost = found.cost
    said = f"{cost.longest:7.1f} ms {cost.total:7.1f} in all {cost.units:6,} units {each(cost):5.1f} µs each {len(found.body):9,} bytes"
    return f"{said}  {found.kind[:70]:70} {outcome(cost)}"


def each(cost: Cost) -> float:
    """Return the microseconds per work unit, or 0 if too few units were counted."""
    return 1000 * cost.longest / cost.units if cost.units > UNITS_SHOWN_MIN else 0.0


def outcome(cost: Cost) -> str:
    """Return the start of a refusal's text, or "" if the call succeeded."""
    if b'"error"' not in cost.outcome[:2000]:
        return ""
    try:
        return str(json.loads(cost.outcome)["error"]["message"])[:OUTCOME_SHOWN].replace("\n", " ")
    except (ValueError, KeyError, TypeError):
        return "refused"


async def until(seconds: float, rounds: Callable[[], Awaitable[None]]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await rounds()
