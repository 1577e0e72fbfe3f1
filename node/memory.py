"""What the garbage collector is told: the state is large, free of cycles and here to stay, so it must not be walked."""

import gc

# Objects made before a collection of the young, of those before one of the middle ones, and so on. Python's own 700, 10, 10
# stop a node with half a million accounts for 0.3 to 1 s whenever the old ones are walked.
THRESHOLDS = (100_000, 50, 100)


def tune_collector() -> None:
    """Collect rarely; to be called before anything is loaded."""
    gc.set_threshold(*THRESHOLDS)


def keep_what_is_loaded() -> None:
    """Take everything that exists now out of the collector's sight."""
    gc.freeze()
