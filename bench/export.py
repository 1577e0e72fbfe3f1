"""Measures how much longer an export takes than a replay: CPU and wall-clock time, with and without checks, and memory at two chain
lengths.

Run: .venv/bin/python -m bench.export [BLOCK_LOG] [--chain NAME] [--runs N] [--blocks N]

Each run has a separate process. Replays and exports alternate, and the best run of each is reported. They run without plugins and without
worker processes. Memory is measured on chains of transfers between a few accounts, whose state doesn't grow: one of N blocks, and one four
times as long.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import trio
from msgspec import json

from bench.replay import CASES, KILOBYTE, plain
from node.history.apply import ChainCursor, keep_last_block_only, replay
from node.runtime.memory import freeze_loaded_objects, tune_collector
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED, Skip
from state.chain.slots import scheduled_witness, slot_time
from state.operations.transfers import Transfer
from state.protocol.keys.keys import secret_from_wif
from state.protocol.transaction import SignedTransaction, frame
from state.protocol.values.asset import COIN, Asset

LONGER, TRANSFERS = 4, 20
MODES = ("all", "none")


def measure(path: Path, chain: str, verify: str, to: Path | None) -> None:
    """Replay a block log in this process, or export it if the folder `to` is given. Print the figures as JSON."""
    tune_collector()
    spec = load_spec(chain)
    skip = TRUSTED if verify == "none" else Skip.NOTHING
    run: Callable[[], Awaitable[bool]]
    if to is None:
        node = Chain(new_state(spec))
        blocks = BlockFile(path, node.state.wire)
        run = partial(replay, ChainCursor(node, blocks, skip_flags=skip))
    else:
        import pyarrow as pa

        from node.research.export.run import Export, ExportOptions

        run = Export(ExportOptions(spec=spec, source=path, to=to, skip=skip)).run
        pa.array([0])  # loads pandas before the measurement starts
    freeze_loaded_objects()
    start, wall = time.process_time(), time.perf_counter()
    trio.run(run)
    seconds, passed = time.process_time() - start, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTE
    sys.stderr.buffer.write(json.encode([seconds, passed, memory]))


def measured(path: Path, chain: str, verify: str, *, exported: bool) -> tuple[float, float, float]:
    """Run a replay or an export in a separate process. Return its CPU seconds, wall-clock seconds, and megabytes of memory."""
    with tempfile.TemporaryDirectory(prefix="coind-bench-") as folder:
        command = [sys.executable, "-m", "bench.export", str(path), "--chain", chain, "--mode", verify]
        command += ["--to", folder] if exported else []
        done = subprocess.run(command, check=True, cwd=CASES.parent.parent.parent, capture_output=True)
        processor, passed, memory = json.decode(done.stderr)
        return processor, passed, memory


def compare(path: Path, chain: str, runs: int) -> None:
    """Print how much longer an export takes than a replay, with and without checks."""
    for verify in MODES:
        pairs = [[measured(path, chain, verify, exported=exported) for exported in (False, True)] for _ in range(runs)]
        (replayed, passed), (exported, passed_too) = [
            (min(pair[way][0] for pair in pairs), min(pair[way][1] for pair in pairs)) for way in (0, 1)
        ]
        more, more_time = exported / replayed - 1, passed_too / passed - 1
        print(
            f"verify {verify}: replay {replayed:.2f} s of CPU time ({passed:.2f} s), export {exported:.2f} s ({passed_too:.2f} s):"
            f" {more:+.0%} ({more_time:+.0%})"
        )


def transfers(blocks: int) -> Iterator[bytes]:
    """Yield the packed blocks of a chain like `dev`. Each block has TRANSFERS unsigned transfers."""
    spec = load_spec("dev")
    chain = Chain(new_state(spec))
    state, secret = chain.state, secret_from_wif(spec.witness_keys[0])
    names = [account.name for account in spec.genesis.accounts]
    keep_last_block_only(chain)
    for number in range(blocks):
        for place in range(TRANSFERS if number else 0):
            sender, receiver = names[place % len(names)], names[(place + 1) % len(names)]
            transfer = Transfer(from_=sender, to=receiver, amount=Asset(1 + place, COIN), memo=f"number {number * TRANSFERS + place}")
            trx = state.wire.seal(SignedTransaction(expiration=state.head_time + 60, operations=(transfer,)))
            chain.push_transaction(trx, TRUSTED)
        yield state.wire.pack_block(
            chain.generate_block(slot_time(state, 1), scheduled_witness(state, 1), secret, TRUSTED & ~Skip.WITNESS_SIGNATURE)
        )


def write_log(path: Path, blocks: int) -> None:
    """Write a block log with a chain of transfers."""
    with path.open("wb") as file:
        for packed in transfers(blocks):
            file.write(frame(packed, file.tell()))


def compare_memory(blocks: int) -> None:
    """Print the memory use of a replay and of an export, for two lengths of the chain."""
    with tempfile.TemporaryDirectory(prefix="coind-bench-") as folder:
        for count in (blocks, blocks * LONGER):
            path = Path(folder) / "block_log"
            write_log(path, count)
            (*_, replayed), (*_, exported) = [measured(path, "dev", "none", exported=exported) for exported in (False, True)]
            print(f"{count:,} blocks, {count * TRANSFERS:,} transfers: peak memory: replay {replayed:.0f} MB, export {exported:.0f} MB")


def main() -> None:
    """Compare times and memory use. With the hidden option --mode, do one run for a parent process instead."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--chain", default="steem-testnet")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=5000, help="length of the shorter chain for memory (0: skip)")
    parser.add_argument("--mode", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = plain(options.file or max(CASES.glob("*/block_log"), key=lambda log: log.stat().st_size))
    if options.mode:
        measure(path, options.chain, options.mode, options.to)
        return
    compare(path, options.chain, options.runs)
    if options.blocks:
        compare_memory(options.blocks)


if __name__ == "__main__":
    main()
