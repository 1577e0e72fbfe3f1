"""The frequency of garbage collections."""

import gc
import time

from node.runtime.memory import SERVING_THRESHOLDS, collect_in_portions, freeze_loaded_objects, tune_collector


def test_collections_are_short_while_serving() -> None:
    before = gc.get_threshold()
    longest = begun = 0.0

    def measure(phase: str, info: dict[str, int]) -> None:
        nonlocal longest, begun
        if phase == "start":
            begun = time.thread_time()
        elif info["generation"] == 0:
            longest = max(longest, time.thread_time() - begun)

    gc.callbacks.append(measure)
    try:
        tune_collector()
        assert gc.get_threshold()[0] > SERVING_THRESHOLDS[0]
        freeze_loaded_objects()
        collect_in_portions()
        for _ in range(100_000):
            circle: list[object] = []
            circle.append(circle)
    finally:
        gc.callbacks.remove(measure)
        gc.set_threshold(*before)
    assert 0 < longest < 0.05
