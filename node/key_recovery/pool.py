"""Pool of worker processes that recover public keys in batches.

The node survives any failure of a process. A process that dies, hangs or sends a wrong answer is killed and logged, and its batches stay
unanswered. No function blocks longer than its caller allows.

A process runs the node's own program, so its keys are trusted like the results of a function: verifying a key takes as long as recovering
it. Checks ensure only that each answer belongs to the requested records, and that a random sample of the keys is correct.

The pool uses processes instead of threads: a thread needs the GIL before and after each call of the library, and waits for it up to 5 ms
while the chain is computing (docs/performance.md).
"""

import fcntl
import os
import random
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from node.key_recovery.worker import HEAD, checksum
from node.runtime.install_location import own_environment
from rpc.log import Log
from state.protocol.keys.records import ANSWER_SIZE, RECORD_SIZE, recover_records

# The chain's other work takes longer than its recoveries, so additional processes would mostly be idle.
WORKERS_MAX = 3
HANGING_SECONDS = 10.0
# Limit of a process's queue: half a second of work. Clients can send signatures faster than they are recovered, and a busy process must not
# be taken for a hanging one.
WAITING_RECORDS_MAX = 1 << 14
CHUNK_SIZE = 1 << 16
RECORDS_PER_SAMPLE = 256
# Pipe buffer for 10,000 records, since the node neither writes nor reads while the chain is computing. Linux allows it to every user.
PIPE_SIZE = 1 << 20
ANSWERS_BEGIN_WITH = frozenset({0, 2, 3})
COMMAND = (sys.executable, "-P", "-m", "node.key_recovery.worker")

_log = Log("recovering")


class WorkerFailed(Exception):
    """Error for a process that must be killed. The message contains the cause."""


class Batch(Struct, eq=False):
    """Records sent to a process in one message, and the recovered keys. `keys` stays None if the process fails."""

    number: int
    records: bytes
    since: float
    keys: bytes | None = None
    is_over: bool = False


class Pool:
    """A pool of processes. Once all of them have failed, it accepts no batch.

    The processes end when their input is closed, by `close` or by the end of this process. Each process inherits only its pipes. It has its
    own session, so that a terminal's Ctrl-C reaches only the node.
    """

    def __init__(self, count: int, command: Sequence[str] = COMMAND) -> None:
        self._workers: list[_Worker] = []
        self._number = 0
        try:
            for _ in range(count):
                self._workers.append(_Worker(command))
        except OSError as error:
            _log.warning("no process for recovering keys could be started", error=error.strerror or str(error))

    @property
    def is_warm(self) -> bool:
        """Whether a process has answered a batch before. New processes take a while to start."""
        return any(worker.is_warm for worker in self._workers)

    def give(self, records: bytes) -> Batch | None:
        """Send records to the process with the shortest queue. Return None if no process is left, or all queues are full."""
        if not self._workers:
            return None
        worker = min(self._workers, key=lambda each: each.size)
        if worker.size >= WAITING_RECORDS_MAX * RECORD_SIZE:
            self.exchange()
            return None
        self._number = (self._number + 1) % (1 << 32)
        batch = Batch(self._number, records, time.monotonic())
        worker.take(batch)
        self.exchange()
        return batch

    def exchange(self) -> None:
        """Write queued bytes to all processes and read their answers, without blocking."""
        for worker in list(self._workers):
            try:
                worker.exchange()
            except WorkerFailed as error:
                self._drop(worker, str(error))

    def wait(self, batch: Batch, seconds: float) -> None:
        """Wait at most `seconds` until a batch has been answered or has failed."""
        end = time.monotonic() + seconds
        self.exchange()
        while not batch.is_over and (left := end - time.monotonic()) > 0:
            poll = select.poll()
            for worker in self._workers:
                worker.register(poll)
            poll.poll(left * 1000)
            self.exchange()

    def drop_all(self, why: str) -> None:
        """Kill all processes because one of them returned a wrong key, and log the reason `why`."""
        for worker in list(self._workers):
            self._drop(worker, why)

    def close(self) -> None:
        """Kill all processes."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _drop(self, worker: "_Worker", why: str) -> None:
        self._workers.remove(worker)
        worker.end()
        _log.warning("a process that recovers keys was killed, the node recovers them itself", reason=why, left=len(self._workers))


class _Worker:
    """A worker process: its pipes, the unanswered batches (oldest first), and their unwritten bytes."""

    def __init__(self, command: Sequence[str]) -> None:
        self.is_warm = False
        self.size = 0
        self._waiting: deque[Batch] = deque()
        self._unwritten = bytearray()
        self._read = bytearray()
        environment = own_environment()
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        for pipe in (self._in, self._out):
            os.set_blocking(pipe, False)
            with suppress(AttributeError, OSError):  # unsupported or over the limit; then data is written in smaller pieces
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_SIZE)

    def take(self, batch: Batch) -> None:
        """Queue a batch, which later calls of `exchange` write."""
        self._waiting.append(batch)
        self.size += len(batch.records)
        self._unwritten += HEAD.pack(batch.number, len(batch.records), 0) + batch.records

    def register(self, poll: select.poll) -> None:
        """Register the pipes with a poll object: for answers, and for writing if bytes are queued."""
        poll.register(self._out, select.POLLIN)
        if self._unwritten:
            poll.register(self._in, select.POLLOUT)

    def exchange(self) -> None:
        """Write queued bytes and read answers, without blocking. Raises WorkerFailed."""
        if not self._waiting:
            return
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._in, self._unwritten[:CHUNK_SIZE])]
        except BlockingIOError:
            pass
        except OSError as error:
            raise WorkerFailed(f"it reads no more: {error.strerror}") from None
        try:
            while self._waiting:
                data = os.read(self._out, CHUNK_SIZE)
                if not data:
                    raise WorkerFailed("it has ended")
                self._read += data
                self._take_answers()
        except BlockingIOError:
            pass
        if self._waiting and time.monotonic() > self._waiting[0].since + HANGING_SECONDS:
            raise WorkerFailed(f"it has not answered for {HANGING_SECONDS:.0f} seconds")

    def _take_answers(self) -> None:
        """Parse the complete answers in the received bytes. Raises WorkerFailed for an answer that doesn't belong to the oldest batch."""
        while len(self._read) >= HEAD.size:
            number, size, total = HEAD.unpack_from(self._read)
            if not self._waiting or (number, size) != (self._waiting[0].number, answer_size(self._waiting[0])):
                raise WorkerFailed("it answers something else than it was asked")
            end = HEAD.size + size
            if len(self._read) < end:
                return
            keys = bytes(self._read[HEAD.size : end])
            del self._read[:end]
            if checksum(self._waiting[0].records, keys) != total:
                raise WorkerFailed("its answer is for other records")
            require_plausible(self._waiting[0], keys)
            batch = self._waiting.popleft()
            self.size -= len(batch.records)
            batch.keys, batch.records, batch.is_over = keys, b"", True
            self.is_warm = True

    def end(self) -> None:
        """Kill the process and mark its unanswered batches as failed."""
        for batch in self._waiting:
            batch.is_over = True
        self._waiting.clear()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()


def answer_size(batch: Batch) -> int:
    """Return the size of the answer to a batch in bytes."""
    return len(batch.records) // RECORD_SIZE * ANSWER_SIZE


def require_plausible(batch: Batch, keys: bytes) -> None:
    """Raise WorkerFailed for keys that can't be the answer to a batch. A random sample of the keys is recovered here too, and compared.

    The comparison detects a process with a broken library or broken memory. It costs at most one recovery per batch, and for small batches
    on average one recovery per RECORDS_PER_SAMPLE records.
    """
    if not set(keys[::ANSWER_SIZE]) <= ANSWERS_BEGIN_WITH:
        raise WorkerFailed("its answers are not keys")
    count = len(keys) // ANSWER_SIZE
    if count < RECORDS_PER_SAMPLE and random.randrange(RECORDS_PER_SAMPLE) >= count:
        return
    index = random.randrange(count)
    start = index * RECORD_SIZE
    if keys[index * ANSWER_SIZE :][:ANSWER_SIZE] != recover_records(batch.records[start : start + RECORD_SIZE]):
        raise WorkerFailed("it has recovered a wrong key")


def default_workers() -> int:
    """Return the default number of processes: the number of cores minus one for the node itself, at most WORKERS_MAX."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    return min(cores - 1, WORKERS_MAX)
