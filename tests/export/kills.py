"""Kills exports repeatedly and resumes them. The finished export must be byte for byte identical to an undisturbed one."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from msgspec import Struct

from node.research.export.run import ExportOptions
from node.runtime.errors import Status
from tests.export.comparing import exported, wanted_of

CHUNK_BLOCKS, TABLES_EVERY = 20, 30
POLL_SECONDS = 0.005


class Kills(Struct):
    """The number of killed processes, of completed exports, and of block ranges that were already exported at the kills."""

    kills: int = 0
    ends: int = 0
    ranges: int = 0


def small_chunks(source: Path, to: Path) -> ExportOptions:
    """Return options for an export with many chunks and several exports of table rows."""
    return wanted_of(
        source, to, chunk_blocks=CHUNK_BLOCKS, tables={"accounts": TABLES_EVERY, "market_buckets": 0, "comments": TABLES_EVERY}
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of an export's files by path, except hidden files."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(".")}


def start(wanted: ExportOptions) -> int:
    """Run an export in a child process and return its process id. Its exit status is 0 if the export is complete."""
    child = os.fork()
    if child:
        return child
    status = int(Status.BUG)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        exported(wanted)
        status = 0
    finally:
        os._exit(status)


def kill_exports(source: Path, folder: Path, count: int, seed: int) -> Kills:
    """Export a file repeatedly until `count` processes were killed. Compare each completed export with one that was never interrupted."""
    chance, done = random.Random(seed), Kills()
    whole, torn = folder / "end_to_end", folder / "torn"
    # This process starts no Arrow threads, since they would be missing in its forks.
    began = time.monotonic()
    assert os.waitpid(start(small_chunks(source, whole)), 0)[1] == 0
    longest = time.monotonic() - began
    right = contents(whole)
    while done.kills < count:
        began = time.monotonic()
        child, moment = start(small_chunks(source, torn)), began + chance.uniform(0, longest)
        ended, status = 0, 0
        while not ended and time.monotonic() < moment:
            time.sleep(POLL_SECONDS)
            ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            # The estimate follows the current speed of the machine, so that most kills fall before the end.
            longest = (longest + time.monotonic() - began) / 2
        else:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            done.kills += 1
            done.ranges += len(list(torn.glob("blocks/*/blocks.parquet")))
            # No file with its final name is incomplete.
            there = contents(torn)
            assert all(there[name] == right[name] for name in there if name.startswith(("operations/", "blocks/", "tables/")))
            continue
        assert os.waitstatus_to_exitcode(status) == 0
        assert contents(torn) == right, "an export that was killed differs from one that was not"
        done.ends += 1
        shutil.rmtree(torn)
    assert os.waitpid(start(small_chunks(source, torn)), 0)[1] == 0
    assert contents(torn) == right, "an export that was killed differs from one that was not"
    done.ends += 1
    return done
