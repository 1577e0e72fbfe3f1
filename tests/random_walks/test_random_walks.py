"""Random walks of a few seeds, and the detection of differences. `bin/test walks --count 1000` runs more."""

from collections import Counter

import pytest

from state.chain import production
from state.chain.chain import Chain
from state.chain.skip import TRUSTED
from tests.random_walks.drivers import Driver, made_by_itself, made_by_trial, pushed, replayed
from tests.random_walks.seeds import run_seed
from tests.random_walks.walk import Walk, new_chain

SEEDS = range(1, 3)


def test_all_drivers_lead_to_the_same_state() -> None:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        result = run_seed(seed)
        assert not result.failure, result.failure
        counts.update(result.counts)
    assert counts["transactions in blocks"] > 50
    assert counts["transactions refused"] > 100
    assert counts["blocks popped"] > 5
    assert counts["blocks refused"] > 5
    assert counts["switches"] > 3


def ways(**others: Driver) -> dict[str, Driver]:
    """Return the first driver together with the given ones."""
    return {"pushed": pushed, **others}


def test_a_different_state_is_reported() -> None:
    def drifting(walk: Walk) -> Chain:
        chain = replayed(new_chain(), walk, TRUSTED)
        chain.state.witnesses.modify(next(iter(chain.state.witnesses)), total_missed=7)
        return chain

    assert "'drifting' differs from 'pushed'" in run_seed(1, ways(drifting=drifting)).failure


def test_different_data_of_a_plugin_is_reported() -> None:
    def forgetful(walk: Walk) -> Chain:
        chain = replayed(new_chain(), walk, TRUSTED)
        history = chain.state.plugins["account_history"]
        history.accounts.drop_last(["alice"])
        return chain

    failure = run_seed(1, ways(forgetful=forgetful)).failure
    assert "'forgetful' differs from 'pushed'" in failure
    assert "account_history" in failure


def test_untried_transactions_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(production, "all_selectable", lambda *arguments: True)
    several = ways(itself=made_by_itself, trial=made_by_trial)
    assert any(run_seed(seed, several).failure for seed in range(1, 4))
