"""The frequency of garbage collections."""

import gc
import time
import weakref

from node.runtime.memory import (
    SERVING_THRESHOLDS,
    collect_in_portions,
    collect_young,
    collector_off,
    freeze_loaded_objects,
    tune_collector,
)


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


def test_young_garbage_is_collected_on_request() -> None:
    def is_collected() -> bool:
        circle = Circle()
        circle.own, seen = circle, weakref.ref(circle)
        del circle
        collect_young()
        return seen() is None

    assert is_collected()
    with collector_off():
        assert not is_collected()


class Circle:
    own: object
