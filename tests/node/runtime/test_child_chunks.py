"""Chunks that forked children compute: the same as in this process, in their order, with the failures of the children."""

import os
import signal
from collections.abc import Iterator

import pytest

from node.runtime import child_chunks as module
from node.runtime.child_chunks import chunks_of_children
from node.runtime.forked_child import ChildFailed
from tests.helpers.golden import fails


def process(count: int) -> Iterator[bytes]:
    """Yield the id of the process that computes, `count` times."""
    for _ in range(count):
        yield str(os.getpid()).encode()


def test_one_child_computes_several_iterators() -> None:
    found = [list(chunks) for chunks in chunks_of_children([process(2), process(0), process(3)])]
    assert list(map(len, found)) == [2, 0, 3]
    assert len({pid for chunks in found for pid in chunks}) == 1
    assert found[0][0] != str(os.getpid()).encode()


def test_another_child_continues_after_too_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COPIED_PAGES_MAX", 0)
    found = [list(chunks) for chunks in chunks_of_children([process(2), process(0), process(3)])]
    assert list(map(len, found)) == [2, 0, 3]
    assert found[0][0] != found[2][0]


def test_a_child_has_ended_when_the_iteration_is_left() -> None:
    works = chunks_of_children([process(10**9)])
    pid = int(next(next(works)))
    works.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_failure_is_reported() -> None:
    def failing() -> Iterator[bytes]:
        yield b"chunk"
        raise OSError("no room left")

    with fails(ChildFailed):
        for chunks in chunks_of_children([process(1), failing()]):
            list(chunks)


def test_a_killed_child_is_reported() -> None:
    def killed() -> Iterator[bytes]:
        yield b"chunk"
        os.kill(os.getpid(), signal.SIGKILL)

    with fails(ChildFailed):
        for chunks in chunks_of_children([killed()]):
            list(chunks)
