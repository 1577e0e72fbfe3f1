"""Runs seeds. The duration of a simulation and its scenes are derived from its seed."""

import time
import traceback

from msgspec import Struct, field

from node.runtime.memory import tune_collector
from tests.simulation.clockwork import dice
from tests.simulation.ledger import Broken, Figures
from tests.simulation.scenes import LONG, SCENES, story
from tests.simulation.world import World

MINUTES_MIN, MINUTES_MAX = 20, 60
# Scenes that every run needs, since without them the node does nothing.
ALWAYS = ("quiet", "busy")
IS_LONG = 0.7  # fraction of worlds with hours of quiet at their end
IS_BASED = 0.2  # fraction of worlds with a forked chain


class Result(Struct, frozen=True):
    """The result of a seed: totals, trace, and the failure, if any."""

    seed: int
    figures: Figures = field(default_factory=Figures)
    trace: str = ""
    failure: str = ""


def run_seed(task: tuple[int, str], minutes: float | None = None, *, is_based: bool | None = None) -> Result:
    """Run the simulation of a seed, with these scenes (separated by commas) or, if none are given, with scenes that the seed selects. With
    `is_based` the chain begins with a fork file; by default the seed decides this too, unless scenes are given.
    """
    seed, only = task
    draw = dice(seed, "choice")
    lasting = draw.uniform(MINUTES_MIN, MINUTES_MAX)
    # A world with few kinds of faults finds errors that many kinds would hide: frequent restarts, for example, prevent long branches.
    chosen = [name for name in SCENES if name in ALWAYS or (name != LONG and draw.random() < 0.6)]
    names = [name for name in only.split(",") if name] or chosen
    is_long = not only and minutes is None and draw.random() < IS_LONG
    if is_based is None:
        is_based = not only and draw.random() < IS_BASED
    tune_collector()
    world = World(seed, is_based=is_based)
    began = time.process_time()
    failure = ""
    try:
        world.run(story(minutes or lasting, names, is_long=is_long))
    except KeyboardInterrupt:
        raise
    except Broken as error:
        failure = f"{error} (at {world.clockwork.mock.current_time():.3f} s)"
    except BaseException as error:
        failure = "".join(traceback.format_exception(error))
    world.figures.processor_seconds += time.process_time() - began
    return Result(seed, world.figures, world.trace, failure)
