"""Measures a running node over HTTP: requests per second, and the time of a request in key recoveries in the same run.

Run: .venv/bin/python -m bench.requests

It starts `bin/coind run` on the chain dev. It sends reads, then broadcasts of signed transfers: one at a time, over 16 connections, and in
batches of 50. The client runs in this process, on the other core. The figures are wall-clock time, and the node's CPU time. If the client
or other programs slow the node down, compare the CPU time.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import state.operations  # noqa: F401 - fills the registry
from bench.chain import signed
from bench.clients import Client, HttpClient
from bench.recovery import recovery_seconds
from bench.start import Start, processor_seconds, started
from node.specs.builder import load_spec
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.asset import COIN, Asset

CONNECTIONS, BATCH = 16, 50
CALLS, TRANSFERS = 10_000, 2_000
EXPIRATION_SECONDS = 1_800
QUERY = b'{"jsonrpc":"2.0","id":1,"method":"database_api.get_dynamic_global_properties"}'
RESULT = b'{"jsonrpc":"2.0","result"'


def exchange(node: Start, clients: Sequence[Client], bodies: list[bytes], batch: int = 1) -> tuple[float, float]:
    """Send bodies of `batch` calls each. A client sends its next body after the reply to its previous one.

    Return the seconds and the node's CPU seconds per call.
    """
    replies: list[bytes] = []
    cpu_seconds, start = processor_seconds(node.pid), time.perf_counter()
    # One thread serves all connections. It sends a connection's next request after its reply, while the node works on the other requests.
    for number, body in enumerate(bodies):
        client = clients[number % len(clients)]
        if number >= len(clients):
            replies.append(client.receive())
        client.send(body)
    for number in range(len(replies), len(bodies)):
        replies.append(clients[number % len(clients)].receive())
    seconds, cpu_seconds = time.perf_counter() - start, processor_seconds(node.pid) - cpu_seconds
    if failed := [reply for reply in replies if reply.count(RESULT) != batch]:
        raise SystemExit(f"{len(failed)} requests were refused, the first: {failed[0][:1000]!r}")
    return seconds / len(bodies) / batch, cpu_seconds / len(bodies) / batch


def batches(bodies: Sequence[bytes], size: int) -> list[bytes]:
    """Join single calls into batches of `size` calls."""
    return [b"[" + b",".join(bodies[start : start + size]) + b"]" for start in range(0, len(bodies), size)]


def transfers(port: int, count: int, first: int, memo: str = "") -> Iterator[bytes]:
    """Yield requests that broadcast signed transfers from alice to bob. Their amounts are `first`, `first` + 1, and so on.

    A memo costs three additional public keys, because a node checks whether it reveals one of the sender's keys.
    """
    wire, secret, head = Wire(load_spec("dev")), derive_secret("alice", "active", "dev"), head_of(port)
    head_id = bytes.fromhex(head["head_block_id"])
    expiration = wire.codecs.parser(SignedTransaction)({"expiration": head["time"]}).expiration + EXPIRATION_SECONDS
    for amount in range(first, first + count):
        trx = signed(wire, secret, head_id, expiration, Transfer("alice", "bob", Asset(amount, COIN), memo))
        method, params = "network_broadcast_api.broadcast_transaction", {"trx": wire.transaction_to_json(trx)}
        yield json.dumps({"jsonrpc": "2.0", "id": amount, "method": method, "params": params}, separators=(",", ":")).encode()


def head_of(port: int) -> dict[str, Any]:
    """Return the dynamic global properties, which include the head block, from the node at this port."""
    properties: dict[str, Any] = json.loads(HttpClient(port).ask(QUERY))["result"]
    return properties


def main() -> None:
    """Start a node, measure its replies, and print the figures."""
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    with started() as node:
        print(f"first answer after {node.seconds:.2f} s")
        measure(node, recovery)


def measure(node: Start, recovery: float) -> None:
    """Measure a running node, and print the figures."""

    def show(what: str, bodies: list[bytes], batch: int = 1, connections: int = 1) -> None:
        seconds, cpu_seconds = exchange(node, [HttpClient(node.port) for _ in range(connections)], bodies, batch)
        own = f"CPU time of the node {cpu_seconds * 1e6:8.1f} µs = {cpu_seconds / recovery:6.2f}"
        print(f"{what:38} {1 / seconds:7.0f} per second {seconds * 1e6:8.1f} µs = {seconds / recovery:6.2f} recoveries; {own}")

    reads = [QUERY] * CALLS
    show("global properties, one at a time", reads)
    show(f"global properties, {CONNECTIONS} connections", reads, connections=CONNECTIONS)
    show(f"global properties, batches of {BATCH}", batches(reads, BATCH), BATCH)
    half = TRANSFERS // 2
    show("broadcast, one at a time", list(transfers(node.port, half, 1)))
    show(f"broadcast, {CONNECTIONS} connections", list(transfers(node.port, half, 1 + half)), connections=CONNECTIONS)
    for what, first, memo in ((f"broadcast, batches of {BATCH}", 1, ""), ("the same with a memo", 2, "thanks")):
        show(what, batches(list(transfers(node.port, TRANSFERS, first * TRANSFERS + 1, memo)), BATCH), BATCH)


if __name__ == "__main__":
    main()
