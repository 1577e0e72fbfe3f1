"""Settings of the garbage collector for a large state.

Python frees most objects by counting references; its collector looks for cycles among the rest, and walks all objects for that.
The state is large, has no cycles and stays, so that walking it finds nothing and stops the node meanwhile.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# The new objects before the youngest are collected, the collections before the next older generation is, and again. With Python's
# own 700, 10, 10 a node with half a million accounts stops for 0.3 to 1 s whenever the oldest generation is walked. Loading the program
# makes some 110,000 objects that stay; to walk them took a tenth of the time until the first answer.
THRESHOLDS = (250_000, 20, 100)
# While clients are served, garbage is collected in small portions: 100,000 new objects that are in cycles, as ended tasks and errors are,
# take 0.1 s. What survives is walked again after 50,000.
SERVING_THRESHOLDS = (10_000, 5, 2000)


def tune_collector() -> None:
    """Make collections rare; to be called before anything is loaded."""
    gc.set_threshold(*THRESHOLDS)


def collect_in_portions() -> None:
    """Make each collection short; to be called before clients are served."""
    gc.set_threshold(*SERVING_THRESHOLDS)


def freeze_loaded_objects() -> None:
    """Exempt all objects that exist now from collections."""
    gc.freeze()


@contextmanager
def collector_off() -> Iterator[None]:
    """Turn the collector off: loading a state makes millions of objects and no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
