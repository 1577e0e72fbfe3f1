"""Measures a running node over HTTP: requests per second, and the time of a request in key recoveries of the same run.

Run: .venv/bin/python -m bench.requests
It starts `bin/coind run` on the chain dev. It sends reads, then broadcasts of signed transfers: one at a time, over 16 connections, and
in batches of 50. The client runs in this process, on the other core. Each figure has wall-clock time and the node's CPU time; the
latter is the one to compare if the client or other programs slow the node down.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import state.operations
from bench.clients import HttpClient
from bench.recovery import recovery_seconds
from bench.rpc import processor_seconds
from node.specs.builder import load_spec
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.asset import COIN, Asset

ROOT = Path(__file__).resolve().parent.parent
PORT = 18590
CONNECTIONS = 16
BATCH = 50
CALLS = 10_000
TRANSFERS = 2000
QUERY = {"jsonrpc": "2.0", "id": 1, "method": "database_api.get_dynamic_global_properties"}


def wait_until_up() -> float:
    """Wait for the node's first reply and return the seconds."""
    start = time.perf_counter()
    while True:
        try:
            HttpClient(PORT).ask(json.dumps(QUERY).encode())
            return time.perf_counter() - start
        except OSError:
            time.sleep(0.01)


def timed(what: str, pid: int, bodies: list[bytes], each: int, recovery: float, connections: int = 1) -> None:
    """Send bodies of `each` requests over some connections, one per connection at a time, and print the time per request."""
    clients = [HttpClient(PORT) for _ in range(connections)]
    replies: list[bytes] = []
    computed, start = processor_seconds(pid), time.perf_counter()
    # One thread for all connections. The next request of a connection is sent after its reply, while the node works on the others.
    for number, body in enumerate(bodies):
        client = clients[number % connections]
        if number >= connections:
            replies.append(client.receive())
        client.send(body)
    for number in range(len(bodies), len(bodies) + min(connections, len(bodies))):
        replies.append(clients[number % connections].receive())
    seconds = (time.perf_counter() - start) / (len(bodies) * each)
    computed = (processor_seconds(pid) - computed) / (len(bodies) * each)
    own = f"CPU time of the node {computed * 1e6:8.1f} µs = {computed / recovery:6.2f}"
    print(f"{what:38} {1 / seconds:7.0f} per second {seconds * 1e6:8.1f} µs = {seconds / recovery:6.2f} recoveries; {own}")
    failed = [reply for reply in replies if reply.count(b'{"jsonrpc":"2.0","result"') != each]
    if failed:
        raise SystemExit(f"{len(failed)} requests were refused, the first: {failed[0][:1000]!r}")


def transfers(head: dict[str, Any], n: int, first: int, memo: str = "") -> Iterator[dict[str, Any]]:
    """Yield requests that broadcast signed transfers from alice to bob, each of a different amount.

    A memo costs three additional public keys, because a node checks whether it reveals one of the sender's keys.
    """
    wire = Wire(load_spec("dev"))
    secret = derive_secret("alice", "active", "dev")
    block_id = bytes.fromhex(head["head_block_id"])
    expiration = wire.codecs.parser(SignedTransaction)({"expiration": head["time"]}).expiration + 1800
    for i in range(n):
        trx = SignedTransaction(
            ref_block_num=head["head_block_number"] & 0xFFFF,
            ref_block_prefix=int.from_bytes(block_id[4:8], "little"),
            expiration=expiration,
            operations=(Transfer("alice", "bob", Asset(first + i, COIN), memo),),
        )
        wire.seal(trx)
        trx.signatures = (sign(secret, wire.signature_digest(trx), Canonical.bip_0062),)
        yield {
            "jsonrpc": "2.0",
            "id": i,
            "method": "network_broadcast_api.broadcast_transaction",
            "params": {"trx": wire.transaction_to_json(wire.seal(trx))},
        }


def main() -> None:
    """Start a node, measure, stop it."""
    assert state.operations
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    node = subprocess.Popen(
        [str(ROOT / "bin" / "coind"), "run", "--http", f"127.0.0.1:{PORT}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        print(f"first answer after {wait_until_up():.2f} s")
        measure(node.pid, recovery)
    finally:
        node.terminate()
        node.wait(10)


def measure(pid: int, recovery: float) -> None:
    """Measure a running node."""
    one = json.dumps(QUERY).encode()
    many = json.dumps([QUERY] * BATCH).encode()
    timed("global properties, one at a time", pid, [one] * CALLS, 1, recovery)
    timed(f"global properties, {CONNECTIONS} connections", pid, [one] * CALLS, 1, recovery, CONNECTIONS)
    timed(f"global properties, batches of {BATCH}", pid, [many] * (CALLS // BATCH), BATCH, recovery)
    while head_of_chain()["head_block_number"] < 1:
        time.sleep(0.2)
    for what, connections in (("broadcast, one at a time", 1), (f"broadcast, {CONNECTIONS} connections", CONNECTIONS)):
        singles = [json.dumps(r).encode() for r in transfers(head_of_chain(), TRANSFERS // 2, 1 + (connections > 1) * TRANSFERS // 2)]
        timed(what, pid, singles, 1, recovery, connections)
    for what, first, memo in ((f"broadcast, batches of {BATCH}", 1, ""), ("the same with a memo", 2, "thanks")):
        signed = list(transfers(head_of_chain(), TRANSFERS, first * TRANSFERS, memo))
        batches = [json.dumps(signed[i : i + BATCH]).encode() for i in range(0, TRANSFERS, BATCH)]
        timed(what, pid, batches, BATCH, recovery)


def head_of_chain() -> dict[str, Any]:
    """Return the global properties."""
    properties: dict[str, Any] = json.loads(HttpClient(PORT).ask(json.dumps(QUERY).encode()))["result"]
    return properties


if __name__ == "__main__":
    main()
