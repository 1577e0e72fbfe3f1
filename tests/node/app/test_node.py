"""Shutdown of a node: the error and the exit status after each kind of failure, and the order in which the tasks stop."""

import errno
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from node.app.node import run
from node.app.settings import Settings
from node.devchain.producer import Producer
from node.processor.processor import Processor
from node.runtime.address import Address
from node.runtime.errors import DiskError, FileError, NodeError, StateError, Status
from node.storage.blocklog import BlockLog
from state.chain.chain import Chain
from state.chain.invariants import InvariantBroken
from state.protocol.errors import UnreadableBlock
from state.protocol.keys.keys import derive_secret, wif_from_secret
from state.protocol.transaction import SignedBlock
from tests.helpers.golden import fails
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import DEV, START

ANYWHERE = Address("127.0.0.1", 0)


def clock() -> int:
    """Return the time of a clock that runs thirty times as fast as the machine's, so that the next slot comes soon."""
    return START * 1000 + round((time.monotonic() - BEGAN) * 30_000)


BEGAN = time.monotonic()


def settings(data: Path | None = None, check_invariants: int = 0) -> Settings:
    """Return the settings of a producing node."""
    return Settings(spec=DEV, plugins=(), http=ANYWHERE, is_producing=True, data=data, clock=clock, check_invariants=check_invariants)


def fail(*_: object) -> None:
    """Raise the OSError that a full disk causes."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("change", [{"block_limit": 1}, {"witness_keys": (wif_from_secret(derive_secret("other", "owner", "x")),)}])
def test_a_chain_that_cannot_have_its_first_blocks_ends_it(change: dict[str, Any]) -> None:
    with fails(NodeError):
        run(replace(settings(), spec=replace(DEV, **change)))


def test_a_broken_invariant_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(_: object) -> None:
        raise InvariantBroken("one and one is three")

    monkeypatch.setattr("node.app.context.validate_invariants", broken)
    with fails(StateError) as caught:
        run(settings(tmp_path, check_invariants=2))
    assert caught.value.STATUS == Status.BROKEN_INVARIANT
    assert (tmp_path / "block_log").stat().st_size > 200


def test_a_log_that_cannot_be_written_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    switch = BlockLog.switch

    def third(log: BlockLog, popped: tuple[SignedBlock, ...], applied: tuple[SignedBlock, ...]) -> None:
        if applied[-1].number == 3:
            fail()
        switch(log, popped, applied)

    monkeypatch.setattr(BlockLog, "switch", third)
    with fails(DiskError) as caught:
        run(settings(tmp_path))
    assert caught.value.STATUS == Status.DISK


def test_a_log_that_cannot_be_synced_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(BlockLog, "sync", fail)
    with fails(DiskError):
        run(settings(tmp_path))


def test_a_block_that_needs_an_unreadable_one_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreadable(*_: object) -> None:
        raise UnreadableBlock(1, "the operation is not in block 1")

    monkeypatch.setattr(Chain, "generate_block", unreadable)
    monkeypatch.setattr("node.devchain.devchain.DevChain.make_first_blocks", lambda _: None)
    with fails(FileError) as caught:
        run(settings(tmp_path))
    assert caught.value.STATUS == Status.DAMAGED


def test_a_last_sync_that_fails_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(BlockLog, "close", fail)
    stop_at(monkeypatch, signal.SIGTERM)
    with fails(DiskError):
        run(settings(tmp_path))


def test_the_first_error_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(BlockLog, "switch", fail)
    monkeypatch.setattr(BlockLog, "close", fail)
    with fails(DiskError):
        run(settings(tmp_path))


@pytest.mark.parametrize("broken", [(Producer, "milliseconds_to_wait"), (Producer, "next_block"), (Processor, "_perform")])
def test_a_bug_in_a_task_ends_it_with_its_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: tuple[type, str]) -> None:
    def bug(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(*broken, bug)
    with pytest.raises(BaseExceptionGroup) as caught:
        run(settings(tmp_path))
    assert caught.value.split(ZeroDivisionError)[1] is None


def stop_at(monkeypatch: pytest.MonkeyPatch, *signals: signal.Signals) -> None:
    """Send these signals to this process whenever the producer has handled a slot."""
    note = Producer.record_outcome

    def noted(producer: Producer, outcome: object) -> None:
        note(producer, outcome)  # type: ignore[arg-type]
        for number in signals:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Producer, "record_outcome", noted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals) -> None:
    stop_at(monkeypatch, number)
    with capture_logs() as lines:
        assert run(settings(tmp_path)) == Status.DONE
    events = [line["event"] for line in lines]
    assert events[0] == "started"
    assert events[-3:] == ["stopping", "snapshot saved", "stopped"]
    assert [line["signal"] for line in lines if line["event"] == "stopping"] == [number.name]


def test_a_second_signal_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The second signal ends the node without waiting for open requests.
    stop_at(monkeypatch, signal.SIGINT, signal.SIGTERM)
    assert run(settings(tmp_path)) == Status.INTERRUPTED


def test_an_address_in_use_is_a_mistake() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        where = Address("127.0.0.1", other.getsockname()[1])
        with fails(NodeError) as caught:
            run(Settings(spec=DEV, plugins=(), http=where))
    assert caught.value.STATUS == Status.REFUSED
