"""Fuzzes one target in this process: NAME FOLDER RUNS SECONDS SEED. `python -m tests.fuzz` starts a process for each target.

Each target needs a separate process, since atheris exits the process when it is done, and only modules imported under its instrumentation
guide the search.
"""

import gc
import json
import sys
from pathlib import Path
from random import Random
from types import FunctionType
from typing import Any

import atheris

from tests.fuzz.registry import TARGETS
from tests.fuzz.target import FOUND, SEEDS, Keeper, kept_inputs
from tests.helpers.mutations import damaged

HANG_SECONDS_MAX = 20
MEMORY_MB_MAX = 4096
# The fraction of mutations that change a JSON text as JSON; the others change bytes.
OWN_MUTATIONS = 0.5


def main(name: str, folder: str, runs: str, seconds: str, seed: str) -> None:
    """Fuzz a target. This function never returns."""
    target = TARGETS[name]
    with atheris.instrument_imports(include=list(target.modules)):
        keep = Keeper(target, target.make())
    for path in kept_inputs(target):
        keep(path.read_bytes())
    instrument_generated()
    (FOUND / name).mkdir(parents=True, exist_ok=True)
    (SEEDS / name).mkdir(parents=True, exist_ok=True)
    options = [
        f"-runs={runs}",
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={target.size_max}",
        f"-timeout={HANG_SECONDS_MAX}",
        f"-rss_limit_mb={MEMORY_MB_MAX}",
        f"-artifact_prefix={FOUND / name}/",
        "-print_final_stats=1",
    ]

    def mutated(data: bytes, size_max: int, seed_of_input: int) -> bytes:
        random = Random(seed_of_input)
        value = decoded(data) if random.random() < OWN_MUTATIONS else None
        changed: bytes = atheris.Mutate(data, size_max) if value is None else damaged(random, value)[:size_max]
        return changed

    # libFuzzer writes only to the first folder; it reads the others.
    folders = [folder, str(SEEDS / name), str(FOUND / name)]
    own = {"custom_mutator": mutated} if target.is_json else {}
    atheris.Setup([sys.argv[0], *options, *folders], keep, **own)
    atheris.Fuzz()


def decoded(data: bytes) -> Any:
    """Return the decoded JSON value, or None if it is invalid."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def instrument_generated() -> None:
    """Instrument the functions that the codec generated while it processed the seeds, so that the search also covers their branches."""
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename.startswith("<codec "):
            atheris.instrument_func(found)


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    main(*sys.argv[1:])
