"""The work that edits may take, counted in steps instead of time, so that it ends at the same place on every machine."""


class WorkBudget:
    """What is left of the work that the edits of a transaction may take. A step takes some tenths of a microsecond in CPython."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, count: int) -> bool:
        """Count some work; returns whether there is any left. It may come out below zero, by what was already begun."""
        self.left -= count
        return self.left > 0
