"""Forked children: their results, their failures, and the sockets that they must close."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest
import trio

from node.runtime import forked_child as child_module
from node.runtime.forked_child import ChildFailed, ForkedChild
from tests.helpers.golden import fails


async def test_the_child_works_on_a_copy(tmp_path: Path) -> None:
    seen = ["before"]

    def work() -> None:
        seen.append("in the child")
        (tmp_path / "seen").write_text(" ".join(seen))

    child = ForkedChild(work)
    seen.append("in the parent")
    await child.wait()
    assert (tmp_path / "seen").read_text() == "before in the child"
    assert seen == ["before", "in the parent"]
    assert child.pause < 10


async def test_a_failure_is_reported() -> None:
    def work() -> None:
        raise OSError("no room left")

    with fails(ChildFailed):
        await ForkedChild(work).wait()


async def test_a_killed_child_is_reported() -> None:
    with fails(ChildFailed):
        await ForkedChild(lambda: os.kill(os.getpid(), signal.SIGKILL)).wait()


async def test_a_child_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "SECONDS_MAX", 0.2)
    child = ForkedChild(lambda: time.sleep(60))
    pid = child.pid
    with fails(ChildFailed):
        await child.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_cancelled_wait_ends_the_child() -> None:
    child = ForkedChild(lambda: time.sleep(60))
    pid = child.pid
    with trio.move_on_after(0.1):
        await child.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_failing_fork_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(12, "Cannot allocate memory")

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "fork", refuse)
    with fails(ChildFailed):
        ForkedChild(lambda: None)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_signal_to_the_group_does_not_end_the_child(tmp_path: Path) -> None:
    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        (tmp_path / "done").write_text("")

    await ForkedChild(work).wait()
    assert (tmp_path / "done").exists()


async def test_sockets_of_the_parent_are_closed_in_the_child() -> None:
    """If the child kept the sockets open, the port of a killed node would stay in use until its child has saved a snapshot."""
    listening = socket.create_server(("127.0.0.1", 0))
    number = listening.fileno()

    def work() -> None:
        try:
            os.fstat(number)
        except OSError:
            return
        raise RuntimeError("the socket is open")

    await ForkedChild(work).wait()
    listening.close()
