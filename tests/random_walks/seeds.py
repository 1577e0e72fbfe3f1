"""Runs a seed: the walk, each driver, and the comparison of the results."""

import traceback
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct, field

from tests.random_walks.drivers import DRIVERS, Driver
from tests.random_walks.observation import differences, observe
from tests.random_walks.walk import STEPS, Walk

SHOWN_MAX = 5  # maximum number of differences in a failure


class Result(Struct, frozen=True):
    """The result of a seed: the number of events of each kind, and the failure, if any."""

    seed: int
    counts: dict[str, int] = field(default_factory=dict)
    failure: str = ""


def run_seed(seed: int, drivers: Mapping[str, Driver] = DRIVERS, steps: int = STEPS) -> Result:
    """Run the walk of a seed and compare all drivers with the first."""
    counts: Counter[str] = Counter()
    try:
        walk = Walk(seed).run(steps)
        counts = walk.counts
        counts["blocks at the end"] = walk.chain.state.props.head_block_number
        seen = {name: observe(drive(walk)) for name, drive in drivers.items()}
    except Exception as error:
        return Result(seed, dict(counts), "".join(traceback.format_exception(error)))
    first, *others = seen
    for name in others:
        if found := differences(seen[first], seen[name]):
            shown = "\n    ".join(found[:SHOWN_MAX])
            return Result(seed, dict(counts), f"{name!r} differs from {first!r} in {len(found)} places:\n    {shown}")
    return Result(seed, dict(counts))
