"""How much work explanations may do: one explanation, and all of them in a second. A flood of refusals must not become dearer by them."""

TRIES_MAX = 400  # key recoveries of one explanation, about 30 ms
TRIES_PER_SECOND = 2000  # of all explanations together; about a tenth of one processor
TRIES_SAVED_MAX = 20_000  # what a quiet time allows at once


class SharedBudget:
    """The tries that all explanations of a node share; they come back with time."""

    def __init__(self) -> None:
        self._left = TRIES_SAVED_MAX
        self._since = 0

    def budget(self, now: int) -> "Budget":
        """Return what one explanation may use; `now` is in milliseconds."""
        elapsed = max(now - self._since, 0) if self._since else 0
        self._left = min(self._left + elapsed * TRIES_PER_SECOND // 1000, TRIES_SAVED_MAX)
        self._since = now
        return Budget(max(min(TRIES_MAX, self._left), 0), self)

    def pay(self, tries: int) -> None:
        """Take tries."""
        self._left -= tries


class Budget:
    """What one explanation may still try. `is_spent` is whether it has wanted more than it had."""

    def __init__(self, tries: int = TRIES_MAX, shared_budget: SharedBudget | None = None) -> None:
        self.left = tries
        self.is_spent = False
        self._shared_budget = shared_budget

    def take(self, tries: int = 1) -> bool:
        """Take tries; False when fewer are left."""
        if self.left < tries:
            self.is_spent = True
            return False
        self.left -= tries
        if self._shared_budget is not None:
            self._shared_budget.pay(tries)
        return True
