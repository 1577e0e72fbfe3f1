"""Settings of the garbage collector for a large state.

Python frees most objects by reference counting. Python's garbage collector finds the others, which are in reference cycles, by walking all
objects. The state is large, permanent and without cycles, so walking it finds nothing and only pauses the node.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Thresholds of the three generations: new objects, then collections of the younger generation. With Python's defaults (700, 10, 10), a node
# with half a million accounts pauses for 0.3 to 1 s whenever the oldest generation is walked. Loading the program creates some 110,000
# permanent objects; walking them took a tenth of the time until the first reply.
THRESHOLDS = (250_000, 20, 100)
# While clients are served, garbage is collected in small portions: 100,000 new objects in cycles, for example ended tasks and errors,
# take 0.1 s. Survivors are walked again after 50,000. The oldest generation is practically never walked.
SERVING_THRESHOLDS = (10_000, 5, 100_000)


def tune_collector() -> None:
    """Make garbage collections rare. The caller must call this before anything is loaded."""
    gc.set_threshold(*THRESHOLDS)


def collect_in_portions() -> None:
    """Make each garbage collection short. The caller must call this before clients are served."""
    gc.set_threshold(*SERVING_THRESHOLDS)


def collect_young() -> None:
    """Collect the garbage of the younger generations now, for use between the slices of a long job.

    The collector counts how many more objects were created than freed. A job that replaces the objects of a large state creates hundreds of
    thousands before that number reaches the threshold, and walking all of them takes 0.2 s.
    """
    if gc.isenabled():
        gc.collect(1)


def freeze_loaded_objects() -> None:
    """Exempt all current objects from garbage collections."""
    gc.freeze()


@contextmanager
def collector_off() -> Iterator[None]:
    """Disable garbage collection during the `with` block. Loading a state creates millions of objects and no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
