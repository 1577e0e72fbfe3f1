"""Limits the work of each explanation, and the work of all explanations per second, so that a flood of refusals stays cheap."""

TRIES_MAX = 400  # tries for one explanation, about 30 ms; a try is one key recovery
TRIES_PER_SECOND = 2000  # tries per second for all explanations together, about a tenth of a CPU core
TRIES_SAVED_MAX = 20_000  # largest number of tries at once after a quiet period


class SharedBudget:
    """Token bucket that all explanations of a node share. A token (a try) pays for one key recovery."""

    def __init__(self) -> None:
        self._left = TRIES_SAVED_MAX
        self._since = 0

    def budget(self, now: int) -> "Budget":
        """Return the budget for one explanation. `now` is in milliseconds."""
        elapsed = max(now - self._since, 0) if self._since else 0
        self._left = min(self._left + elapsed * TRIES_PER_SECOND // 1000, TRIES_SAVED_MAX)
        self._since = now
        return Budget(max(min(TRIES_MAX, self._left), 0), self)

    def pay(self, tries: int) -> None:
        """Deduct tries from the shared bucket."""
        self._left -= tries


class Budget:
    """Remaining tries of one explanation. `is_spent` is true once more tries were requested than remained."""

    def __init__(self, tries: int = TRIES_MAX, shared_budget: SharedBudget | None = None) -> None:
        self.left = tries
        self.is_spent = False
        self._shared_budget = shared_budget

    def take(self, tries: int = 1) -> bool:
        """Deduct tries and return True. If fewer remain, deduct nothing and return False."""
        if self.left < tries:
            self.is_spent = True
            return False
        self.left -= tries
        if self._shared_budget is not None:
            self._shared_budget.pay(tries)
        return True
