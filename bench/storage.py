"""Measures the block log: appending with each sync policy, a fork switch, and opening a log of many blocks.

Run: .venv/bin/python -m bench.storage [--blocks 100000] [--folder DIR]         (DIR: a folder on the disk to measure)
"""

import argparse
import tempfile
import time
from pathlib import Path

import trio

from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.storage.blocklog import BlockLog
from node.storage.sync_policy import sync_policy
from state.protocol.transaction import SignedBlock, Wire
from tests.helpers.nodes import dev_chain, empty_blocks

PUSHED = 200  # number of blocks that are pushed one after another, each after the reply to the previous one


def pushing(folder: Path, blocks: list[SignedBlock], policy: str) -> float:
    """Return the milliseconds from pushing a block until the reply, with this sync policy of the block log."""

    async def main() -> float:
        chain = dev_chain()
        log = BlockLog(folder, chain.state.wire)
        processor = Processor(chain, log=log, clock=ChainClock(lambda: 2**31 * 1000), sync=sync_policy(policy))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(processor.run)
            begin = time.perf_counter()
            for block in blocks:
                await processor.push_block(block)
            seconds = time.perf_counter() - begin
            nursery.cancel_scope.cancel()
        log.close()
        return seconds / len(blocks) * 1000

    return trio.run(main)


def main() -> None:
    """Measure the block log, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    wire, blocks = empty_blocks(PUSHED)
    for policy in ("never", "5", "block"):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(f"a block pushed, --sync {policy}: {pushing(Path(folder), blocks, policy):.2f} ms until the reply")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        growing(Path(folder), wire, blocks, options.blocks)


def growing(folder: Path, wire: Wire, blocks: list[SignedBlock], count: int) -> None:
    """Append `count` blocks to a block log without syncs, do one fork switch, and open the log again. Print the time of each."""
    log = BlockLog(folder, wire)
    begin = time.perf_counter()
    for number in range(1, count + 1):
        block = blocks[(number - 1) % PUSHED]
        block.number = number
        log.append(block)
    print(f"{count:,} blocks appended: {(time.perf_counter() - begin) / count * 1e6:.1f} µs each")
    last = blocks[(count - 1) % PUSHED]
    last.number = count
    log.sync()
    begin = time.perf_counter()
    log.switch((last,), (last,))
    print(f"a fork switch at block {count:,}: {(time.perf_counter() - begin) * 1000:.1f} ms")
    log.close()
    begin = time.perf_counter()
    log = BlockLog(folder, wire)
    print(f"opened, every byte compared: {time.perf_counter() - begin:.2f} s ({log.head.end:,} bytes)")
    log.close()


if __name__ == "__main__":
    main()
