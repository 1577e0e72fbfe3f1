"""Measures the table of docs/performance.md: each line in multiples of a key recovery of the same round, as the median of the rounds.

Run: .venv/bin/python -m bench.marks WORKLOAD [--against DIR] [--rounds N] [--only NAME ...]
WORKLOAD is an uncompressed block log of the chain steem-testnet. With --against, another checkout is measured alternately with this one.
Each figure comes from separate processes that run the checkout's code, including its clients, so an older checkout needs a copy of this
bench/clients.py. Other programs on the machine distort the figures.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
CHAIN, TEST_CHAIN = "steem-testnet", "dev"
ROUNDS = 5
CONNECTIONS, BATCH = 16, 50
CALLS, TRANSFERS = 4_000, 2_000
PENDING = 2_000
EMPTY_BLOCKS, EMPTY_ROUNDS = 400, 3
STARTS = 5
PORT = 19_710
UP_SECONDS_MAX = 30
EXPIRATION_SECONDS = 1_800
QUERY = b'{"jsonrpc":"2.0","id":1,"method":"database_api.get_dynamic_global_properties"}'


class Line(Struct, frozen=True):
    """A line of the table: name, measurement, and target (`mark`). `limit` is the time of its key recoveries alone."""

    what: str
    measure: Callable[[Path], float]
    mark: float
    limit: str = "-"
    unit: str = ""


def recovery_seconds() -> float:
    """Return the seconds of one key recovery now."""
    from bench.recovery import recovery_seconds as measured

    return measured()


# ------------------------------------------------------------------ replay


def replay(path: Path, verify: str) -> float:
    """Return the wall-clock time per replayed transaction in recoveries, without the start of the process."""
    recovery = recovery_seconds()
    words = [sys.executable, "-P", "-m", "node", "replay", str(path), "--chain", CHAIN, "--verify", verify, "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in done.splitlines() if " transactions in " in line)
    transactions = int(line.split(" blocks, ")[1].split(" ")[0].replace(",", ""))
    seconds = float(line.split(" transactions in ")[1].split(" s")[0].replace(",", ""))
    return seconds / transactions / recovery


# ------------------------------------------------------------------ a node and its clients


@contextmanager
def node(*options: str) -> Iterator[int]:
    """Run a node of the checkout, and yield its port once it replies."""
    words = [sys.executable, "-P", "-m", "node", "run", "--chain", TEST_CHAIN, "--http", f"127.0.0.1:{PORT}", *options]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_up()
            yield PORT
        finally:
            process.terminate()


def wait_until_up() -> None:
    """Wait for the first reply."""
    from bench.clients import HttpClient

    end = time.monotonic() + UP_SECONDS_MAX
    while True:
        try:
            HttpClient(PORT).ask(QUERY)
            return
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def small_read(kind: str, connections: int) -> float:
    """Return the time of a small read in recoveries: the client's wait, or with many connections the node's time per request."""
    import bench.clients

    recovery = recovery_seconds()
    with node() as port:
        # The node does some work in its first second.
        time.sleep(2)
        clients = [getattr(bench.clients, kind)(port) for _ in range(connections)]
        asked_by(clients, [QUERY] * (CALLS // 4))
        return asked_by(clients, [QUERY] * CALLS) / recovery


def asked_by(clients: list[Any], bodies: list[bytes]) -> float:
    """Return the seconds per request: one client sends them one after another, several clients have one open request each."""
    start = time.perf_counter()
    if len(clients) == 1:
        ask = clients[0].ask
        for body in bodies:
            require_result(ask(body))
    else:
        for first in range(0, len(bodies), len(clients)):
            asked = list(zip(clients, bodies[first : first + len(clients)], strict=False))
            for client, body in asked:
                client.send(body)
            for client, _ in asked:
                require_result(client.receive())
    return (time.perf_counter() - start) / len(bodies)


def require_result(reply: bytes) -> None:
    """Exit if a request was refused."""
    if b'"error":' in reply:
        raise SystemExit(f"a request was refused: {reply[:500]!r}")


def broadcast(connections: int, batch: int, memo: str) -> float:
    """Return the time of a signed transfer from request to reply, in recoveries."""
    import bench.clients

    recovery = recovery_seconds()
    with node() as port:
        time.sleep(2)
        clients = [bench.clients.HttpClient(port) for _ in range(connections)]
        head = json.loads(clients[0].ask(QUERY))["result"]
        requests = list(transfers(head, memo))
        bodies = requests if batch == 1 else [b"[" + b",".join(requests[i : i + batch]) + b"]" for i in range(0, len(requests), batch)]
        return asked_by(clients, bodies) / batch / recovery


def transfers(head: dict[str, Any], memo: str) -> Iterator[bytes]:
    """Yield requests that broadcast signed transfers from alice to bob, each of a different amount."""
    import state.operations  # noqa: F401 - fills the registry
    from node.specs.builder import load_spec
    from state.operations.transfers import Transfer
    from state.protocol.keys.keys import derive_secret
    from state.protocol.keys.signatures import Canonical, sign
    from state.protocol.transaction import SignedTransaction, Wire
    from state.protocol.values.asset import COIN, Asset

    wire, secret = Wire(load_spec(TEST_CHAIN)), derive_secret("alice", "active", TEST_CHAIN)
    block_id = bytes.fromhex(head["head_block_id"])
    expiration = wire.codecs.parser(SignedTransaction)({"expiration": head["time"]}).expiration + EXPIRATION_SECONDS
    for serial in range(TRANSFERS):
        trx = SignedTransaction(
            ref_block_num=head["head_block_number"] & 0xFFFF,
            ref_block_prefix=int.from_bytes(block_id[4:8], "little"),
            expiration=expiration,
            operations=(Transfer("alice", "bob", Asset(1 + serial, COIN), memo),),
        )
        wire.seal(trx)
        trx.signatures = (sign(secret, wire.signature_digest(trx), Canonical.bip_0062),)
        params = {"trx": wire.transaction_to_json(wire.seal(trx))}
        request = {"jsonrpc": "2.0", "id": serial, "method": "network_broadcast_api.broadcast_transaction", "params": params}
        yield json.dumps(request, separators=(",", ":")).encode()


# ------------------------------------------------------------------ blocks


def pending_block() -> float:
    """Return the time to make and apply a block of PENDING pending transfers, in recoveries, with all plugins."""
    from bench.growth import Site
    from node.runtime.memory import freeze_loaded_objects, tune_collector
    from state.operations.transfers import Transfer
    from state.protocol.authority import key_authority
    from state.protocol.keys.keys import public_key
    from state.protocol.keys.signatures import Canonical, sign
    from state.protocol.transaction import SignedTransaction
    from state.protocol.values.asset import COIN, Asset

    tune_collector()
    site = Site(1_000)
    state, sender = site.state, "user-000000"
    key = key_authority(public_key(site.secret))
    state.account_authorities.modify(state.account_authorities.by_account.find(sender), active=key)
    site.produce()
    head = state.props.head_block_id
    reference = int.from_bytes(head[2:4], "big"), int.from_bytes(head[4:8], "little")
    for number in range(PENDING):
        trx = SignedTransaction(
            *reference, state.head_time + 60, (Transfer(sender, f"user-{number % 999 + 1:06d}", Asset(1 + number, COIN), ""),)
        )
        digest = state.wire.signature_digest(state.wire.seal(trx))
        trx.signatures = (sign(site.secret, digest, Canonical.bip_0062),)
        site.chain.push_transaction(state.wire.seal(trx))
    freeze_loaded_objects()
    recovery = recovery_seconds()
    start = time.perf_counter()
    site.produce()
    seconds = time.perf_counter() - start
    block = site.chain.head
    assert block is not None
    assert len(block.transactions) == PENDING, "the block doesn't hold all transactions"
    return seconds / recovery


def empty_block() -> float:
    """Return the time to make, sign and apply an empty block, in recoveries, with all plugins and 1,000 accounts."""
    from bench.growth import Site
    from node.runtime.memory import freeze_loaded_objects, tune_collector

    tune_collector()
    site = Site(1_000)
    for _ in range(EMPTY_BLOCKS):
        site.produce()
    freeze_loaded_objects()
    recovery = recovery_seconds()
    rounds = []
    for _ in range(EMPTY_ROUNDS):
        start = time.perf_counter()
        for _ in range(EMPTY_BLOCKS):
            site.produce()
        rounds.append((time.perf_counter() - start) / EMPTY_BLOCKS)
    return min(rounds) / recovery


def first_answer(checkout: Path) -> float:
    """Return the seconds from the command to the first reply, with the launcher."""
    from bench import start

    return statistics.median([start.start([str(checkout / "bin" / "coind")], []).seconds for _ in range(STARTS)])


# ------------------------------------------------------------------ the table

LINES = {
    "checked": Line("workload, every check", lambda path: replay(path, "all"), 2.4, "1.0 on one core"),
    "trusting": Line("workload, trusting", lambda path: replay(path, "none"), 1.8),
    "http": Line("small read over HTTP, one connection", lambda _: small_read("HttpClient", 1), 2, "1.9 an echo (bench.echo)"),
    "http16": Line(f"small read over HTTP, {CONNECTIONS} connections", lambda _: small_read("HttpClient", CONNECTIONS), 2),
    "socket": Line("small read over WebSocket, one connection", lambda _: small_read("SocketClient", 1), 2, "1.9 an echo"),
    "socket16": Line(f"small read over WebSocket, {CONNECTIONS} connections", lambda _: small_read("SocketClient", CONNECTIONS), 2),
    "broadcast": Line("broadcast of a signed transfer, one connection", lambda _: broadcast(1, 1, ""), 6, "1"),
    "broadcast16": Line(f"broadcast of a signed transfer, {CONNECTIONS} connections", lambda _: broadcast(CONNECTIONS, 1, ""), 4.5, "1"),
    "batch": Line(f"broadcast in batches of {BATCH}", lambda _: broadcast(1, BATCH, ""), 2.5, "1"),
    "memo": Line(f"broadcast in batches of {BATCH}, with a memo", lambda _: broadcast(1, BATCH, "thanks"), 4, "1, and 3 keys derived"),
    "pending": Line(f"block of {PENDING:,} pending transfers, made and applied", lambda _: pending_block(), 2_000, "1"),
    "empty": Line("empty block, made and applied", lambda _: empty_block(), 2.5, "1"),
    "start": Line("command to first answer", first_answer, 0.3, unit=" s"),
}


def measured(name: str, checkout: Path, workload: Path) -> float:
    """Return a figure of a checkout, measured in a separate process."""
    place = checkout if LINES[name].measure is first_answer else workload
    words = [sys.executable, "-P", str(Path(__file__).resolve()), str(place), "--measure", name]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(words, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} of {checkout} failed:\n{done.stderr or done.stdout}")
    return float(done.stdout)


def main() -> None:
    """Measure, and print the table as Markdown."""
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
        print(f"| {line.what} | {shown} | ≤ {line.mark:,g}{line.unit} | {line.limit} |", flush=True)


if __name__ == "__main__":
    main()
