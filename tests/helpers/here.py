"""A stand-in for a forked child."""

from collections.abc import Callable

from node.runtime.forked_child import ForkedChild


class Here(ForkedChild):
    """Runs the work at once in this process."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._status = 0
        work()

    def close(self) -> None:
        """Do nothing."""
