"""Measures snapshots with all plugins: the time to save, how long the node pauses for the fork, and the time to load.

Run: .venv/bin/python -m bench.snapshot [SIZE ...]

The largest size has 10^5 accounts and posts. Accounts are inserted into the tables directly, and posts are made by operations. Times are
wall-clock time. For saving and loading, the CPU time is also given.
"""

import gc
import sys
import tempfile
import time
from pathlib import Path

import trio

from bench.chain import METADATA, BenchChain, user
from node.runtime.forked_child import ForkedChild
from node.runtime.memory import freeze_loaded_objects, tune_collector
from node.snapshots.file import Snapshot
from node.snapshots.folder import load, save
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.operations.content import Comment
from state.plugins.registry import PLUGINS, enable
from state.protocol.spec import ChainSpec

SIZES = (1_000, 100_000)


class PostsChain(BenchChain):
    """A chain with `size` accounts. Each has three different keys and a post."""

    KEYS = 3

    def add_content(self, size: int) -> None:
        """Apply one post of each account, as if the posts were part of the head block."""
        body = "Some words of a post, again and again. " * 20
        for i in range(size):
            self.apply(Comment("", f"topic-{i % 50}", user(i), "post", f"Title {i}", f"{i}: {body}", METADATA))


def measure(size: int) -> None:
    """Print all figures for a chain with `size` accounts."""
    chain = PostsChain(size)
    while not chain.irreversible:
        chain.produce()
    freeze_loaded_objects()
    disk, spec = SystemDisk(), chain.state.spec
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trio.run(in_child, chain, folder)
        begun, cpu = time.perf_counter(), time.process_time()
        path = save(chain, folder, disk)
        seconds, own = time.perf_counter() - begun, time.process_time() - cpu
        print(f"{size:>7,}: saved in process in {seconds:.2f} s ({own:.2f} s of CPU time), {path.stat().st_size / 1e6:.1f} MB")
        del chain
        gc.collect()
        measure_load(path, spec)


async def in_child(chain: Chain, folder: Path) -> None:
    """Print the time of the fork, and the time that the child process takes to save a snapshot."""
    begun = time.perf_counter()
    child = ForkedChild(lambda: save(chain, folder, SystemDisk()))
    await child.wait()
    print(f"         the fork pauses the node for {child.pause * 1e3:.1f} ms; the child saves in {time.perf_counter() - begun:.2f} s")


def measure_load(path: Path, spec: ChainSpec) -> None:
    """Print the time to load a snapshot."""
    for _ in range(3):
        chain = Chain(new_state(spec, lambda state: enable(state, PLUGINS)))
        gc.disable()
        begun, cpu = time.perf_counter(), time.process_time()
        loaded = load(chain, path, SystemDisk())
        print(f"         loaded in {time.perf_counter() - begun:.2f} s ({time.process_time() - cpu:.2f} s of CPU time)", end="")
        begun, cpu, longest = time.perf_counter(), time.process_time(), 0.0
        step = cpu
        for _ in loaded.steps():
            now = time.process_time()
            longest, step = max(longest, now - step), now
        print(f", the rest in {time.perf_counter() - begun:.2f} s ({time.process_time() - cpu:.2f} s), the longest step {longest:.3f} s")
        gc.enable()
    opened = Snapshot(path, SystemDisk())
    begun = time.perf_counter()
    opened.check()
    print(f"         all digests checked in {(time.perf_counter() - begun) * 1e3:.0f} ms")
    opened.close()


def main() -> None:
    """Measure all sizes."""
    tune_collector()
    for size in [int(text) for text in sys.argv[1:]] or SIZES:
        measure(size)


if __name__ == "__main__":
    main()
