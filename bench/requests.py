"""Measures a running node over HTTP: requests a second, and the time of one as a multiple of a key recovery of the same run.

Run: .venv/bin/python -m bench.requests
It starts `bin/coind run` on the chain dev, asks one at a time, over 16 connections, and in batches of 50; then it
broadcasts signed transfers, one at a time and in batches of 50. The client runs in this process, on the other core.
"""

import http.client
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import state.operations
from bench.recovery import recovery_seconds
from node.specs import load_spec
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.asset import COIN, Asset

ROOT = Path(__file__).resolve().parent.parent
PORT = 18590
CONNECTIONS = 16
BATCH = 50
CALLS = 2000
TRANSFERS = 2000
QUERY = {"jsonrpc": "2.0", "id": 1, "method": "database_api.get_dynamic_global_properties"}


class Client:
    """One kept-alive connection."""

    def __init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)

    def ask(self, body: bytes) -> Any:
        """Send a body; the decoded answer."""
        self.connection.request("POST", "/", body, {"content-type": "application/json"})
        return json.loads(self.connection.getresponse().read())


def wait_until_up() -> float:
    """Seconds until the node answers."""
    start = time.perf_counter()
    while True:
        try:
            Client().ask(json.dumps(QUERY).encode())
            return time.perf_counter() - start
        except OSError:
            time.sleep(0.01)


def timed(what: str, bodies: list[bytes], each: int, recovery: float, connections: int = 1) -> None:
    """Send bodies of `each` requests over some connections, and print what a request took."""
    shares = [bodies[i::connections] for i in range(connections)]
    failed: list[Any] = []

    def work(share: list[bytes]) -> None:
        client = Client()
        for body in share:
            answer = client.ask(body)
            failed.extend(a for a in (answer if isinstance(answer, list) else [answer]) if "error" in a)

    threads = [Thread(target=work, args=(share,)) for share in shares]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = (time.perf_counter() - start) / (len(bodies) * each)
    print(f"{what:44} {1 / seconds:9.0f} a second  {seconds * 1e6:8.1f} µs = {seconds / recovery:6.2f} recoveries")
    if failed:
        raise SystemExit(f"{len(failed)} requests were refused, the first: {failed[0]}")


def transfers(head: dict[str, Any], n: int, first: int, memo: str = "") -> Iterator[dict[str, Any]]:
    """Signed transfers from alice to bob, each of another amount, as requests.

    A memo costs three public keys more: a node looks whether it gives away one of the sender's keys.
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
        one = json.dumps(QUERY).encode()
        many = json.dumps([QUERY] * BATCH).encode()
        timed("global properties, one at a time", [one] * CALLS, 1, recovery)
        timed(f"global properties, {CONNECTIONS} connections", [one] * CALLS, 1, recovery, CONNECTIONS)
        timed(f"global properties, batches of {BATCH}", [many] * (CALLS // BATCH * 2), BATCH, recovery)
        while (head := Client().ask(one)["result"])["head_block_number"] < 1:
            time.sleep(0.2)
        singles = [json.dumps(r).encode() for r in transfers(head, TRANSFERS // 4, 1)]
        timed("broadcast, one at a time", singles, 1, recovery)
        for what, first, memo in ((f"broadcast, batches of {BATCH}", TRANSFERS, ""), ("the same with a memo", 2 * TRANSFERS, "thanks")):
            head = Client().ask(one)["result"]
            signed = list(transfers(head, TRANSFERS, first, memo))
            batches = [json.dumps(signed[i : i + BATCH]).encode() for i in range(0, TRANSFERS, BATCH)]
            timed(what, batches, BATCH, recovery)
    finally:
        node.terminate()
        node.wait(10)


if __name__ == "__main__":
    main()
