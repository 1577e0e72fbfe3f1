"""Work budget of body patches, in steps instead of time, so that it is used up at the same point on every machine."""


class WorkBudget:
    """Remaining work budget for the body patches of a transaction. A step takes some tenths of a microsecond in CPython."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, count: int) -> bool:
        """Subtract some work, and return whether any budget is left. The budget can become negative."""
        self.left -= count
        return self.left > 0
