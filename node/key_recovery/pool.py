"""Processes that recover public keys, and the batches that they are given and answer.

Whatever a process does, the node goes on: one that dies, hangs or answers nonsense is ended, with a line in the log, and what it has not
answered stays undone. Nothing here waits longer than its caller says. It knows neither blocks nor transactions.

A process runs the node's own program, and its keys are believed as those of a function would be: to verify one takes as long as recovering
it. What is made sure is that each answer is for the very records that were asked, and that a sample of it is right.

Processes and not threads: a thread needs the interpreter's lock before and after each call of the library, and waits for it up to 5 ms
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

# All the rest takes a chain longer than its recoveries do: more processes than these would mostly wait for it.
WORKERS_MAX = 3
HANGING_SECONDS = 10.0
# More isn't given to a process that has so much to do, half a second's work: clients can send signatures faster than anybody recovers
# them, and one that is only busy mustn't be taken for one that hangs.
WAITING_RECORDS_MAX = 1 << 14
CHUNK_SIZE = 1 << 16
RECORDS_FOR_A_LOOK = 256
# What a process can be given while the chain is computing and nobody writes or reads: 10,000 records. Linux allows as much to everyone.
PIPE_SIZE = 1 << 20
ANSWERS_BEGIN_WITH = frozenset({0, 2, 3})
COMMAND = (sys.executable, "-P", "-m", "node.key_recovery.worker")

_log = Log("recovering")


class WorkerFailed(Exception):
    """A process is of no more use; the text says why."""


class Batch(Struct, eq=False):
    """Records that a process was given at a time, and the keys of its answer; None until there is one, and for ever when none comes."""

    number: int
    records: bytes
    since: float
    keys: bytes | None = None
    is_over: bool = False


class Pool:
    """A number of processes; without any left it takes no batch.

    They end when their input does: with `close`, or with this process. They are in a session of their own, so that a terminal's Ctrl-C is
    left to the node, and inherit nothing but their pipes.
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
        """Whether a process has answered yet: a new one takes a while to start."""
        return any(worker.is_warm for worker in self._workers)

    def give(self, records: bytes) -> Batch | None:
        """Give records to the process that has the least to do; None when there is none left, or it has too much to do already."""
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
        """Write and read what can be written and read without waiting."""
        for worker in list(self._workers):
            try:
                worker.exchange()
            except WorkerFailed as error:
                self._drop(worker, str(error))

    def wait(self, batch: Batch, seconds: float) -> None:
        """Wait until a batch is over, at most so long."""
        end = time.monotonic() + seconds
        self.exchange()
        while not batch.is_over and (left := end - time.monotonic()) > 0:
            poll = select.poll()
            for worker in self._workers:
                worker.register(poll)
            poll.poll(left * 1000)
            self.exchange()

    def drop_all(self, why: str) -> None:
        """End all processes, since one of them is not to be trusted."""
        for worker in list(self._workers):
            self._drop(worker, why)

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _drop(self, worker: "_Worker", why: str) -> None:
        self._workers.remove(worker)
        worker.end()
        _log.warning("a process that recovers keys is given up, the node does its work", reason=why, left=len(self._workers))


class _Worker:
    """One process: its pipes, the batches that wait for an answer, oldest first, and what was not yet written of them."""

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
            with suppress(AttributeError, OSError):  # not on this system, or not so much: it goes in smaller pieces
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_SIZE)

    def take(self, batch: Batch) -> None:
        """Take a batch; it is written by the next exchanges."""
        self._waiting.append(batch)
        self.size += len(batch.records)
        self._unwritten += HEAD.pack(batch.number, len(batch.records), 0) + batch.records

    def register(self, poll: select.poll) -> None:
        """Have a poll wait for what this process can be written or has answered."""
        poll.register(self._out, select.POLLIN)
        if self._unwritten:
            poll.register(self._in, select.POLLOUT)

    def exchange(self) -> None:
        """Write and read what can be written and read without waiting. Raises WorkerFailed."""
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
        """Take the whole answers out of what was read. Raises WorkerFailed for one that doesn't belong to the oldest batch."""
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
        """End the process; batches that it has not answered are over."""
        for batch in self._waiting:
            batch.is_over = True
        self._waiting.clear()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()


def answer_size(batch: Batch) -> int:
    """Return the size of the answer to a batch."""
    return len(batch.records) // RECORD_SIZE * ANSWER_SIZE


def require_plausible(batch: Batch, keys: bytes) -> None:
    """Raise WorkerFailed for what can't be the answer to a batch. Now and then one of its keys is recovered here as well, and compared.

    So a process with a broken library or broken memory is soon found. It costs one recovery for every RECORDS_FOR_A_LOOK records.
    """
    if not set(keys[::ANSWER_SIZE]) <= ANSWERS_BEGIN_WITH:
        raise WorkerFailed("its answers are no keys")
    count = len(keys) // ANSWER_SIZE
    if count < RECORDS_FOR_A_LOOK and random.randrange(RECORDS_FOR_A_LOOK) >= count:
        return
    place = random.randrange(count)
    start = place * RECORD_SIZE
    if keys[place * ANSWER_SIZE :][:ANSWER_SIZE] != recover_records(batch.records[start : start + RECORD_SIZE]):
        raise WorkerFailed("it has recovered a wrong key")


def default_workers() -> int:
    """Return how many processes pay on this machine: one for each core but the node's own, up to WORKERS_MAX."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    return min(cores - 1, WORKERS_MAX)
