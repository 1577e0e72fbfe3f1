"""The simulation: one fixed seed for each kind of fault, identical events for the same seed, and detection of broken guarantees."""

import os
import subprocess
import sys

import pytest

from node.storage.blocklog import BlockLog
from state.chain.chain import Chain
from state.chain.pending_pool import PendingPool
from tests.conftest import ROOT
from tests.simulation import scenes
from tests.simulation.scenes import SCENES
from tests.simulation.seeds import run_seed

SEED = 12345
MINUTES = 1.0
TRACE = "from tests.simulation.seeds import run_seed; result = run_seed((7, ''), 1.0); print(result.trace, result.failure)"


@pytest.mark.parametrize("scene", [name for name in SCENES if name != "quiet"])
def test_node_keeps_its_guarantees_in_every_scene(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "LONG_MINUTES", (15, 15))  # up to ten hours in `bin/test simulate`
    result = run_seed((SEED, scene), MINUTES)
    assert not result.failure
    assert result.figures.scenes[scene] >= 1
    assert result.figures.blocks >= 1
    assert result.figures.restarts_compared >= 1


@pytest.mark.parametrize("scene", ["", "fork", "kill"])
def test_node_of_a_forked_chain_keeps_its_guarantees(scene: str) -> None:
    result = run_seed((SEED, scene), 3.0, is_based=True)
    assert not result.failure
    assert result.figures.restarts_compared >= 1


def test_node_switches_branches() -> None:
    results = [run_seed((seed, "fork"), 2.0) for seed in range(2)]
    assert not any(result.failure for result in results)
    assert sum(result.figures.switches for result in results) >= 4


def test_seed_determines_events_in_every_process() -> None:
    traces = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", TRACE], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        traces.add(done.stdout)
    assert len(traces) == 1
    assert len(traces.pop().split()) == 1  # a trace, and no failure


def test_other_seed_gives_other_events() -> None:
    assert run_seed((1, "busy"), 0.5).trace != run_seed((2, "busy"), 0.5).trace


# ------------------------------------------------------------------ detection of faults


def test_unwritten_block_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = BlockLog.switch

    def forgetful(log: BlockLog, popped: tuple[object, ...], applied: tuple[object, ...]) -> None:
        if len(log) < 12:
            switch(log, popped, applied)  # type: ignore[arg-type]

    monkeypatch.setattr(BlockLog, "switch", forgetful)
    assert "blocks before, 12 after the restart" in run_seed((SEED, "busy"), MINUTES).failure


def test_omitted_sync_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockLog, "sync", lambda log: len(log))
    assert any("were promised" in run_seed((seed, "cut"), 3.0).failure for seed in range(4))


def test_lost_pending_transaction_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    apply_again = PendingPool.apply_again
    monkeypatch.setattr(PendingPool, "apply_again", lambda pool, undone, skip: apply_again(pool, undone[1:], skip))
    assert any("is neither in a block nor pending" in run_seed((seed, "bad_fork"), 3.0).failure for seed in range(4))


def test_replay_with_another_state_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    generate = Chain.generate_block

    def drifting(chain: Chain, *args: object, **options: object) -> object:
        block = generate(chain, *args, **options)  # type: ignore[arg-type]
        chain.state.set_props(total_pow=chain.state.props.total_pow + 1)
        return block

    monkeypatch.setattr(Chain, "generate_block", drifting)
    assert "is another" in run_seed((SEED, "busy"), MINUTES).failure
