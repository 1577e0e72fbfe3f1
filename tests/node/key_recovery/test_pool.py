"""Processes that recover keys: their answers, and their failures, which cause delays but no errors."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from node.key_recovery import pool
from node.key_recovery.pool import COMMAND, Pool, default_workers
from state.protocol.keys.records import ANSWER_SIZE, RECORD_SIZE, recover_records
from state.protocol.keys.signatures import Canonical, sign
from tests.conftest import ROOT

PATIENCE = 30.0
# The beginning of programs that answer incorrectly.
PROGRAM = """
import os, struct, sys, time, zlib
from state.protocol.keys.records import recover_records

def answer(number, data, keys, cut=None):
    os.write(1, (struct.pack("<III", number, len(keys), zlib.crc32(keys, zlib.crc32(data))) + keys)[:cut])
"""
READ = PROGRAM + "n, size = struct.unpack('<III', os.read(0, 12))[:2]\ndata = os.read(0, size)\nkeys = recover_records(data)\n"
REST = "\ntime.sleep(60)\n"

BROKEN = {
    "ends at once": "",
    "ends instead of an answer": READ,
    "ends within an answer": READ + "answer(n, data, keys, -5)",
    "answers another batch": READ + "answer(n + 1, data, keys)" + REST,
    "answers too little": READ + "answer(n, data, keys[:-33])" + REST,
    "answers noise": READ + "os.write(1, os.urandom(1000))" + REST,
    "answers what is no key": READ + "answer(n, data, b'z' * len(keys))" + REST,
    "answers for other records": READ + "answer(n, data[97:] + data[:97], keys)" + REST,
    "answers wrong keys": READ + "answer(n, data, keys[33:] + keys[:33])" + REST,
    "answers nothing for good signatures": READ + "answer(n, data, bytes(len(keys)))" + REST,
    "answers twice": READ + "answer(n, data, keys)\nanswer(n, data, keys)" + REST,
}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Pool]]:
    """A function that creates a pool, which is closed after the test. The pool waits long enough for processes on a busy machine."""
    monkeypatch.setattr(pool, "HANGING_SECONDS", PATIENCE)
    made: list[Pool] = []

    def new(*arguments: object) -> Pool:
        made.append(Pool(*arguments))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for each in made:
        each.close()


def records(count: int, name: bytes = b"") -> bytes:
    """Return `count` different valid records."""
    digests = [sha256(name + n.to_bytes(4, "big")).digest() for n in range(count)]
    return b"".join([digest + sign(sha256(digest).digest(), digest, Canonical.bip_0062) for digest in digests])


def processes(of: Pool) -> list["subprocess.Popen[bytes]"]:
    return [worker._process for worker in of._workers]


@pytest.mark.parametrize("count", [1, 3])
def test_every_batch_gets_its_own_keys(opened: Callable[..., Pool], count: int) -> None:
    made = opened(count)
    assert not made.is_warm
    given = [records(n % 7 + 1, bytes((n,))) for n in range(20)]
    batches = [made.give(each) for each in given]
    for batch, each in reversed(list(zip(batches, given, strict=True))):
        assert batch is not None
        made.wait(batch, PATIENCE)
        assert (batch.is_over, batch.keys) == (True, recover_records(each))
    assert made.is_warm


def test_a_batch_can_be_larger_than_a_pipe(opened: Callable[..., Pool]) -> None:
    made = opened(1)
    given = (records(50) * 400)[: 15_000 * RECORD_SIZE]
    batch, after = made.give(given), made.give(records(3))
    assert batch is not None
    assert after is not None
    made.wait(after, PATIENCE)
    assert batch.keys is not None
    assert len(batch.keys) == 15_000 * ANSWER_SIZE
    assert after.keys == recover_records(records(3))


def test_without_a_process_no_batch_is_accepted(opened: Callable[..., Pool], caplog: pytest.LogCaptureFixture) -> None:
    assert opened(0).give(records(1)) is None
    assert opened(2, ("/there/is/no/such/program",)).give(records(1)) is None
    assert [record.message for record in caplog.records] == ["no process for recovering keys could be started"]


@pytest.mark.parametrize("way", BROKEN)
def test_a_failing_process_is_abandoned(
    opened: Callable[..., Pool], way: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "RECORDS_PER_SAMPLE", 1)
    made = opened(1, (sys.executable, "-P", "-c", BROKEN[way]))
    process = processes(made)[0]
    given = [records(4, b"1"), records(4, b"2")]
    batches = [made.give(each) for each in given]
    for batch in batches:
        if batch is not None:  # None if the process has already failed with the first batch
            made.wait(batch, PATIENCE)
            assert batch.is_over
    # Only the program that fails after a correct answer answers the first batch.
    answered = [batch is not None and batch.keys == recover_records(each) for batch, each in zip(batches, given, strict=True)]
    assert answered == [way == "answers twice", False]
    assert made.give(records(1)) is None
    assert process.poll() is not None
    assert [record.message for record in caplog.records] == ["a process that recovers keys was killed, the node recovers them itself"]


def test_the_other_processes_continue(opened: Callable[..., Pool]) -> None:
    made = opened(2)
    processes(made)[0].kill()
    processes(made)[0].wait()
    batches = [made.give(records(2, bytes((n,)))) for n in range(4)]
    for batch in batches:
        assert batch is not None
        made.wait(batch, PATIENCE)
    assert [batch.keys is not None for batch in batches if batch].count(True) >= 3
    assert len(processes(made)) == 1


@pytest.mark.parametrize("is_reading", [False, True])
def test_a_hanging_process_is_abandoned(opened: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch, is_reading: bool) -> None:
    monkeypatch.setattr(pool, "HANGING_SECONDS", 0.3)
    made = opened(1, (sys.executable, "-P", "-c", ("import time\n" if not is_reading else READ) + REST))
    batch = made.give(records(12) * 1000)  # more than fits into the pipe's buffer
    assert batch is not None
    end = time.monotonic() + PATIENCE
    while not batch.is_over:
        assert time.monotonic() < end
        made.wait(batch, 0.05)
    assert batch.keys is None
    assert made.give(records(1)) is None


def test_a_process_inherits_no_files_of_the_node(opened: Callable[..., Pool], tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    lock = os.open(tmp_path / "lock", os.O_RDONLY)
    os.set_inheritable(lock, True)
    made = opened(2)
    batches = [made.give(records(1)), made.give(records(1))]
    for batch, process in zip(batches, processes(made), strict=True):
        assert batch is not None
        made.wait(batch, PATIENCE)
        # The terminal sends Ctrl-C to the processes of its session.
        assert os.getsid(process.pid) == process.pid != os.getsid(0)
        assert {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")} == {0, 1, 2}
    os.close(lock)


def test_the_worker_imports_few_modules() -> None:
    code = "import sys, node.key_recovery.worker; print(*sys.modules)"
    found = subprocess.run(
        (*COMMAND[:2], "-c", code), check=True, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}
    )
    loaded = set(found.stdout.split())
    assert not loaded & {"trio", "msgspec", "state.operations", "state.protocol.transaction", "node.app.node", "asyncio", "subprocess"}


def test_a_closed_pool_leaves_no_process(opened: Callable[..., Pool]) -> None:
    made = opened(2)
    running = processes(made)
    made.give(records(500))
    made.close()
    assert [process.returncode for process in running] == [-signal.SIGKILL] * 2
    assert made.give(records(1)) is None


def has_ended(pid: int) -> bool:
    """Whether a process has exited, even if it is still a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_process_ends_when_its_parent_is_killed() -> None:
    code = (
        "from node.key_recovery.pool import Pool\nimport time\np = Pool(1)\nprint(p._workers[0]._process.pid, flush=True)\ntime.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen((sys.executable, "-P", "-c", code), stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + PATIENCE
    while not has_ended(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_one_worker_for_each_further_core(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, expected in ((1, 0), (2, 1), (3, 2), (64, 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert default_workers() == expected
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert default_workers() == 1


def test_a_busy_process_gets_a_bounded_backlog(opened: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WAITING_RECORDS_MAX", 5)
    made = opened(1)
    (process,) = processes(made)
    process.send_signal(signal.SIGSTOP)
    given = records(3)
    waiting = [made.give(given), made.give(given)]
    assert made.give(given) is None
    process.send_signal(signal.SIGCONT)
    for batch in waiting:
        assert batch is not None
        made.wait(batch, PATIENCE)
        assert batch.keys == recover_records(given)
    assert made.give(given) is not None
