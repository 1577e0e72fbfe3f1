"""Measures snapshots: the time to save, the node's pause for the fork, and the time to load, with all plugins.

Run: .venv/bin/python -m bench.snapshot [SIZE ...]
The largest size has 10^5 accounts and posts. Accounts are inserted into the tables directly, posts by operations. Times are wall-clock
time, for saving and loading also CPU time.
"""

import gc
import sys
import tempfile
import time
from pathlib import Path

import trio

from bench.growth import NOW, VESTS
from bench.growth import Site as GrowthSite
from node.runtime.forked_child import ForkedChild
from node.runtime.memory import freeze_loaded_objects, tune_collector
from node.snapshots.file import Snapshot
from node.snapshots.folder import load, save
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.operations.content import Comment
from state.plugins.registry import PLUGINS, enable
from state.protocol.authority import Authority
from state.protocol.spec import ChainSpec
from state.tables.accounts import Account, AccountAuthority, AccountMetadata

SIZES = (1_000, 100_000)
METADATA = '{"tags":["one","two"],"app":"bench/1"}'


class Site(GrowthSite):
    """A chain with `size` accounts, each with different keys and a post."""

    def fill(self) -> None:
        """Insert the accounts and their posts, as part of the head block."""
        state = self.state
        for i in range(self.size):
            name = f"user-{i * 7919 % self.size:06d}"
            row = state.accounts.insert(Account(name=name, balance=10**9 + i, sbd_balance=10**9, vesting_shares=VESTS, created=NOW))
            keys = [Authority(1, (), ((bytes([2, role]) + i.to_bytes(31, "big"), 1),)) for role in range(3)]
            state.account_authorities.insert(AccountAuthority(account=name, owner=keys[0], active=keys[1], posting=keys[2]))
            state.account_metadata.insert(AccountMetadata(account=row.id))
        state.set_props(total_vesting_shares=self.size * VESTS, total_vesting_fund_coin=self.size * VESTS // 1000)
        body = "Some words of a post, again and again. " * 20
        for i in range(self.size):
            self.apply(Comment("", f"topic-{i % 50}", f"user-{i:06d}", "post", f"Title {i}", f"{i}: {body}", METADATA))
            if i % 1000 == 0:
                state.journal.commit(state.journal.position())
        state.journal.commit(state.journal.position())


def measure(size: int) -> None:
    """Print all figures for one size."""
    site = Site(size)
    while not site.chain.irreversible:
        site.produce()
    freeze_loaded_objects()
    disk, spec = SystemDisk(), site.state.spec
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trio.run(in_child, site.chain, folder)
        begun, cpu = time.perf_counter(), time.process_time()
        path = save(site.chain, folder, disk)
        seconds, own = time.perf_counter() - begun, time.process_time() - cpu
        print(f"{size:>7,}: saved in process in {seconds:.2f} s ({own:.2f} s of CPU time), {path.stat().st_size / 1e6:.1f} MB")
        del site
        gc.collect()
        measure_load(path, spec)


async def in_child(chain: Chain, folder: Path) -> None:
    """Print the pause of the process for the fork, and the child's time."""
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
