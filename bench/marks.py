"""Measures the table in docs/performance.md. Each line is in multiples of a key recovery in the same round, and is the median of the
rounds.

Run: .venv/bin/python -m bench.marks WORKLOAD [--against DIR] [--rounds N] [--only NAME ...]

WORKLOAD is an uncompressed block log of the chain steem-testnet. With --against, another checkout is measured alternately with this one.
Each figure comes from separate processes that run the checkout's code and its `bench`, so an older checkout needs a copy of this folder.
Other programs on the machine distort the figures.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bench.chain import BenchChain, user
from bench.clients import Client, HttpClient, SocketClient
from bench.recovery import recovery_seconds
from bench.requests import BATCH, CONNECTIONS, QUERY, TRANSFERS, batches, exchange, transfers
from bench.start import MODULE, Start, started
from node.runtime.memory import freeze_loaded_objects, tune_collector
from state.operations.transfers import Transfer
from state.protocol.values.asset import COIN, Asset

ROOT = Path(__file__).resolve().parents[1]
CHAIN = "steem-testnet"
ROUNDS = 5
CALLS = 4_000
PENDING = 2_000
EMPTY_BLOCKS, EMPTY_ROUNDS = 400, 3
STARTS = 5


class Line(Struct, frozen=True):
    """A row of the table: its name, the function that measures it, and the target. `limit` is the time of its key recoveries alone."""

    what: str
    measure: Callable[[Path], float]
    target: float
    limit: str = "-"
    unit: str = ""


def replay(path: Path, verify: str) -> float:
    """Return the wall-clock time per replayed transaction, in key recoveries. The start of the process is excluded."""
    recovery = recovery_seconds()
    words = [*MODULE, "replay", str(path), "--chain", CHAIN, "--verify", verify, "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in done.splitlines() if " transactions in " in line)
    transactions = int(line.split(" blocks, ")[1].split(" ")[0].replace(",", ""))
    seconds = float(line.split(" transactions in ")[1].split(" s")[0].replace(",", ""))
    return seconds / transactions / recovery


@contextmanager
def running_node() -> Iterator[Start]:
    """Run a node from the checkout. Yield it two seconds after its first reply, when its startup work is done."""
    with started(command=MODULE) as node:
        time.sleep(2)
        yield node


def small_read(kind: Callable[[int], Client], connections: int = 1) -> float:
    """Return the time of a small read in key recoveries.

    With one connection, this is how long the client waits. With several connections, it is the node's time per request.
    """
    recovery = recovery_seconds()
    with running_node() as node:
        clients = [kind(node.port) for _ in range(connections)]
        exchange(node, clients, [QUERY] * (CALLS // 4))
        return exchange(node, clients, [QUERY] * CALLS)[0] / recovery


def broadcast(connections: int = 1, batch: int = 1, memo: str = "") -> float:
    """Return the time of a broadcast of a signed transfer, from request to reply, in key recoveries."""
    recovery = recovery_seconds()
    with running_node() as node:
        clients = [HttpClient(node.port) for _ in range(connections)]
        bodies = list(transfers(node.port, TRANSFERS, 1, memo))
        return exchange(node, clients, bodies if batch == 1 else batches(bodies, batch), batch)[0] / recovery


def pending_block() -> float:
    """Return the time to make and apply a block of PENDING pending transfers with all plugins, in key recoveries."""
    tune_collector()
    chain, sender = BenchChain(1_000), user(0)
    chain.give_key(sender)
    chain.produce()
    for number in range(PENDING):
        chain.push_transaction(chain.signed(Transfer(sender, user(number % 999 + 1), Asset(1 + number, COIN), "")))
    freeze_loaded_objects()
    recovery = recovery_seconds()
    start = time.perf_counter()
    chain.produce()
    seconds = time.perf_counter() - start
    assert chain.head is not None
    assert len(chain.head.transactions) == PENDING, "the block doesn't hold all transactions"
    return seconds / recovery


def empty_block() -> float:
    """Return the time to make, sign and apply an empty block with all plugins and 1,000 accounts, in key recoveries."""
    tune_collector()
    chain = BenchChain(1_000)
    for _ in range(EMPTY_BLOCKS):
        chain.produce()
    freeze_loaded_objects()
    recovery = recovery_seconds()
    rounds = []
    for _ in range(EMPTY_ROUNDS):
        start = time.perf_counter()
        for _ in range(EMPTY_BLOCKS):
            chain.produce()
        rounds.append((time.perf_counter() - start) / EMPTY_BLOCKS)
    return min(rounds) / recovery


def first_answer(checkout: Path) -> float:
    """Return the seconds from the start of the launcher to the node's first reply."""
    seconds = []
    for _ in range(STARTS):
        with started(command=[str(checkout / "bin" / "coind")]) as node:
            seconds.append(node.seconds)
    return statistics.median(seconds)


LINES = {
    "checked": Line("workload, every check", lambda path: replay(path, "all"), 2.4, "1.0 on one core"),
    "trusting": Line("workload, trusting", lambda path: replay(path, "none"), 1.4),
    "http": Line("small read over HTTP, one connection", lambda _: small_read(HttpClient), 2, "1.9 an echo (bench.echo)"),
    "http16": Line(f"small read over HTTP, {CONNECTIONS} connections", lambda _: small_read(HttpClient, CONNECTIONS), 2),
    "socket": Line("small read over WebSocket, one connection", lambda _: small_read(SocketClient), 2, "1.9 an echo"),
    "socket16": Line(f"small read over WebSocket, {CONNECTIONS} connections", lambda _: small_read(SocketClient, CONNECTIONS), 2),
    "broadcast": Line("broadcast of a signed transfer, one connection", lambda _: broadcast(), 4.5, "1"),
    "broadcast16": Line(f"broadcast of a signed transfer, {CONNECTIONS} connections", lambda _: broadcast(CONNECTIONS), 3, "1"),
    "batch": Line(f"broadcast in batches of {BATCH}", lambda _: broadcast(batch=BATCH), 2.5, "1"),
    "memo": Line(
        f"broadcast in batches of {BATCH}, with a memo", lambda _: broadcast(batch=BATCH, memo="thanks"), 4, "1, and 3 keys derived"
    ),
    "pending": Line(f"block of {PENDING:,} pending transfers, made and applied", lambda _: pending_block(), 2_000, "1"),
    "empty": Line("empty block, made and applied", lambda _: empty_block(), 2.5, "1"),
    "start": Line("command to first answer", first_answer, 0.3, unit=" s"),
}


def measured(name: str, checkout: Path, workload: Path) -> float:
    """Measure one row of the table for a checkout, in a separate process, and return the figure."""
    place = checkout if LINES[name].measure is first_answer else workload
    words = [sys.executable, "-P", str(Path(__file__).resolve()), str(place), "--measure", name]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(words, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} of {checkout} failed:\n{done.stderr or done.stdout}")
    return float(done.stdout)


def main() -> None:
    """Measure all rows, and print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", type=Path)
    parser.add_argument("--against", type=Path, metavar="DIR")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="+", choices=list(LINES), default=list(LINES))
    parser.add_argument("--measure", choices=list(LINES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(LINES[options.measure].measure(options.workload))
        return
    checkouts = [each.resolve() for each in (options.against, ROOT) if each is not None]
    print("| benchmark | " + ("before | now | " if options.against else "now | ") + "target | limit |")
    print("|---|" + "---|" * (len(checkouts) + 2))
    for name in options.only:
        line = LINES[name]
        rounds = [[measured(name, checkout, options.workload.resolve()) for checkout in checkouts] for _ in range(options.rounds)]
        figures = [statistics.median(each) for each in zip(*rounds, strict=True)]
        shown = " | ".join(f"{figure:,.2f}{line.unit}" for figure in figures)
        print(f"| {line.what} | {shown} | ≤ {line.target:,g}{line.unit} | {line.limit} |", flush=True)


if __name__ == "__main__":
    main()
