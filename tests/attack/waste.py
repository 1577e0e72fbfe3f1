"""Attacks that waste work or memory. To waste work, eight remote clients with different addresses send requests that are expensive and
refused, or only just accepted. To waste memory, 200 clients send batches with large replies, or unfinished bodies.

Meanwhile an ordinary client's transfers must get into blocks, /health must answer, and the node must log which clients it limits.
"""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count as numbers
from itertools import repeat
from pathlib import Path
from typing import Any

from rpc.declare.method import VALUES_MAX
from rpc.jsonrpc.allowance import ALLOWANCE_UNITS, DEBT_UNITS_MAX, FORGIVEN_PER_SECOND, LEFT_UNITS_MIN
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import Wire
from state.protocol.values.text import time_text
from tests.attack.nodes import Client, Gone, Node, running
from tests.conftest import ROOT
from tests.helpers.nodes import DEV

CONNECTIONS = 8
# Connections of the memory attacks, each with its own address.
HOLDING_CONNECTIONS, BODY_SIZE = 200, 4_000_000
HEALTH_SECONDS_MAX, BLOCKS_MAX, MEMORY_KB_MAX = 0.25, 2, 512_000
NAMED_MAX = CONNECTIONS * 2  # log lines per minute
ASK_SECONDS = 0.05
SECONDS_MIN = 8
# Real attackers run on other machines. Here a low priority leaves the processors to the node.
NICE = 10
LIFETIME = 3000
WITNESSES, OWN_WITNESSES = 21, ("bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy")
ORDERS, ORDERS_AT_ONCE = 20_000, 1000
ORDINARY = "carol"
ACCEPTED, ACCEPTED_TRANSFERS = "accepted transfers", VALUES_MAX // 8

Json = Any


def run(count: int, seed: int) -> dict[str, int]:
    """Attack for `count` seconds, divided equally among the attacks."""
    figures: dict[str, int] = {}
    for name in WAYS:
        folder = tempfile.TemporaryDirectory(prefix="coind-waste-")
        with folder as place, running(Path(place), "--witnesses", str(WITNESSES)) as node:
            prepare(node)
            found = attacked(node, name, max(SECONDS_MIN, count / len(WAYS)))
            print(f"  {name}: " + ", ".join(f"{value:,} {key}" for key, value in found.items()), flush=True)
            assert node.is_running, f"the node has ended: {node.words()}"
        for key, value in found.items():
            figures[key] = max(value, figures.get(key, 0))
    return figures


def prepare(node: Node) -> None:
    """Make alice vote for 30 witnesses, and create the orders that the attacks need. Return once the transactions for this are in
    blocks.
    """
    client = Client(node)
    keys = client.call("dev_api.list_keys", {})["result"]
    public = {each["name"]: each["keys"].get("active", {}).get("public", "") for each in keys}
    fee, url = "0.000 COIN", "http://localhost"
    props = {"account_creation_fee": "0.000 COIN", "maximum_block_size": 131_072, "sbd_interest_rate": 0}
    made = [
        ["witness_update", {"owner": name, "url": url, "block_signing_key": public[name], "props": props, "fee": fee}]
        for name in OWN_WITNESSES
    ]
    send(client, made)
    names = [each["owner"] for each in client.call("condenser_api.get_witnesses_by_vote", ["", 100])["result"]]
    send(client, [["account_witness_vote", {"account": "alice", "witness": name, "approve": True}] for name in names[:30]])
    for first in range(0, ORDERS, ORDERS_AT_ONCE):
        owner = OWN_WITNESSES[first // ORDERS_AT_ONCE % len(OWN_WITNESSES)]
        send(client, [order(owner, number, "0.001 COIN", "0.001 SBD") for number in range(first, first + ORDERS_AT_ONCE)])
    while client.health()["pending_transactions"]:
        time.sleep(ASK_SECONDS)
    client.close()


def send(client: Client, operations: list[Json]) -> None:
    """Broadcast operations that the node signs."""
    reply = client.call("dev_api.broadcast_operations", {"operations": operations})
    assert "result" in reply, reply


def order(owner: str, number: int, sold: str, received: str, *, fill_or_kill: bool = False) -> Json:
    """Return an order that expires in 20 days."""
    fields = {"owner": owner, "orderid": number, "amount_to_sell": sold, "min_to_receive": received, "fill_or_kill": fill_or_kill}
    return ["limit_order_create", fields | {"expiration": time_text(int(time.time()) + 20 * 86_400)}]


# ------------------------------------------------------------------ requests of the attacks


def proxies() -> list[Json]:
    """Return operations that set and clear the proxy of an account with votes for 30 witnesses."""
    return [["account_witness_proxy", {"account": "alice", "proxy": "bob" if number % 2 else ""}] for number in range(9000)]


def memos(count: int = 4071) -> list[Json]:
    """Return transfers with memos, of which the last is refused."""
    fields = {"from": "alice", "to": "bob", "memo": "x"}
    return [["transfer", fields | {"amount": "0.001 COIN"}]] * (count - 1) + [["transfer", fields | {"amount": "99999999.000 COIN"}]]


def votes() -> list[Json]:
    """Return operations that alternately withdraw and cast a witness vote."""
    fields = {"account": "alice", "witness": "initminer"}
    return [["account_witness_vote", fields | {"approve": bool(number % 2)}] for number in range(8947)]


def fill_or_kill() -> list[Json]:
    """Return a fill-or-kill order. Nearly all other orders match it but can't fill it completely, so it is refused."""
    return [order("alice", 1, "100.000 SBD", "100.000 COIN", fill_or_kill=True)]


def verifying() -> Json:
    """Return a request to verify signatures with thousands of authorities."""
    other = {"weight_threshold": 0, "account_auths": [["alice", 1], ["bob", 1]], "key_auths": []}
    given = {"hash": "00" * 32, "signatures": [], "required_owner": [], "required_active": ["alice"], "required_posting": []}
    return request("database_api.verify_signatures", given | {"required_other": [other] * 8000})


def integers() -> Json:
    """Return a batch whose elements are not calls."""
    return [0] * 199_000


def request(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


# Each refused attack: the operations of its transaction, or a complete body, and whether its refused work uses up the client's allowance.
REFUSED: dict[str, tuple[Callable[[], Any], bool]] = {
    "proxies": (proxies, True),
    "memos": (memos, True),
    "as many memos as may be": (lambda: memos(250), True),
    "votes": (votes, True),
    "fill_or_kill": (fill_or_kill, True),
    "verify_signatures": (verifying, True),
    "integers": (integers, False),
}
BATCHES, BODIES = "batches with large answers", "bodies without an end"
WAYS = (*REFUSED, ACCEPTED, BATCHES, BODIES)


def refused_body(client: Client, name: str) -> bytes:
    """Return the request body of an attack in REFUSED, whose requests the node refuses."""
    given = REFUSED[name][0]()
    if isinstance(given, list) and name != "integers":
        given = request("condenser_api.broadcast_transaction", [signed(client, given, "alice")])
    return json.dumps(given).encode()


def accepted(client: Client, account: str) -> Iterator[bytes]:
    """Yield transactions whose transfers nearly reach the limit on JSON values in a call. Each transaction has a different memo."""
    for number in numbers():
        fields = {"from": account, "to": ORDINARY, "amount": "0.001 COIN", "memo": ""}
        transfers = [["transfer", fields | {"memo": f"{number}"}], *[["transfer", fields]] * (ACCEPTED_TRANSFERS - 1)]
        yield json.dumps(request("condenser_api.broadcast_transaction", [signed(client, transfers, account)])).encode()


def signed(client: Client, operations: list[Json], name: str) -> Json:
    head = client.call("condenser_api.get_dynamic_global_properties", [])["result"]
    wire = Wire(DEV)
    shown = {
        "ref_block_num": head["head_block_number"] & 0xFFFF,
        "ref_block_prefix": int.from_bytes(bytes.fromhex(head["head_block_id"])[4:8], "little"),
        "expiration": time_text(int(datetime.fromisoformat(head["time"]).replace(tzinfo=UTC).timestamp()) + LIFETIME),
        "operations": operations,
    }
    trx = wire.transaction_from_json(shown, legacy=True)
    trx.signatures = (sign(derive_secret(name, "active", "dev"), wire.signature_digest(trx), Canonical.bip_0062),)
    return wire.transaction_to_json(wire.seal(trx), legacy=True)


# ------------------------------------------------------------------ measurements


class Seen:
    """What an ordinary client measures during an attack."""

    def __init__(self) -> None:
        self.health: list[float] = []
        self.blocks: list[int] = []
        self.seconds: list[float] = []
        self.problems: list[str] = []


def attacked(node: Node, name: str, seconds: float) -> dict[str, int]:
    """Run one attack and return the measurements. Raises AssertionError if one exceeds its limit."""
    command = [sys.executable, "-m", "tests.attack.waste", str(node.port), name]
    attackers, begun = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE), time.monotonic()
    assert attackers.stdout is not None
    try:
        # Each attacker writes a byte after its first reply.
        attackers.stdout.read(CONNECTIONS)
        seen, end = Seen(), time.monotonic() + seconds
        threads = [threading.Thread(target=work, args=(node, seen, end)) for work in (ask_health, transfer)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shown = Client(node).ask("GET", "/metrics")[1].decode()
        elapsed = time.monotonic() - begun
        assert attackers.poll() is None, "the attackers have ended"
    finally:
        attackers.kill()
        attackers.wait()
    refused = sum(map(float, re.findall(r"^coind_refused_work_units_total{.*} (\S+)$", shown, re.MULTILINE)))
    (limited,) = map(float, re.findall(r"^coind_clients_limited (\S+)$", shown, re.MULTILINE))
    (longest,) = map(float, re.findall(r"^coind_loop_iteration_longest_processor_seconds (\S+)$", shown, re.MULTILINE))
    named = len(re.findall("allowance of refused work", node.errors.read_text("utf-8", "replace")))
    figures = {
        "health_max_ms": round(max(seen.health) * 1000),
        "blocks_until_included": max(seen.blocks, default=0),
        "ms_until_included": round(max(seen.seconds, default=0.0) * 1000),
        "longest_turn_processor_ms": round(longest * 1000),
        "memory_mb": node.memory_kb() // 1024,
        "refused_units": round(refused),
        "clients_limited": round(limited),
        "lines": named,
    }
    assert not seen.problems, f"{name}: {seen.problems[0]}"
    assert seen.blocks, f"{name}: no transfer was in a block: {figures}"
    assert max(seen.blocks) <= BLOCKS_MAX, f"{name}: a transfer was late: {figures}"
    assert max(seen.health) <= HEALTH_SECONDS_MAX, f"{name}: /health was late: {figures}"
    assert node.memory_kb() < MEMORY_KB_MAX, f"{name}: {figures}"
    assert refused > 0 or name not in REFUSED or not REFUSED[name][1], f"{name}: the metrics have no refused work: {figures}"
    assert limited <= CONNECTIONS, f"{name}: other clients are limited: {figures}"
    assert named <= NAMED_MAX * (1 + elapsed // 60), f"{name}: the log has too many lines about limited clients: {figures}"
    forgiven = FORGIVEN_PER_SECOND * elapsed
    assert refused <= CONNECTIONS * (ALLOWANCE_UNITS + DEBT_UNITS_MAX + forgiven), f"{name}: too much refused work: {figures}"
    # More refused work than this is possible only after a client has used up its allowance. A slow machine never gets this far.
    assert named or refused <= CONNECTIONS * (ALLOWANCE_UNITS - LEFT_UNITS_MIN + forgiven), (
        f"{name}: no limited client in the log: {figures}"
    )
    return figures


def ask_health(node: Node, seen: Seen, end: float) -> None:
    while time.monotonic() < end:
        client, start = Client(node), time.monotonic()
        try:
            client.health()
        except (Gone, ValueError) as error:
            seen.problems.append(f"/health isn't answered: {error}")
            return
        finally:
            client.close()
        seen.health.append(time.monotonic() - start)
        time.sleep(ASK_SECONDS)


def transfer(node: Node, seen: Seen, end: float) -> None:
    """Send ordinary transfers, each after the previous one is in a block."""
    client, sender = Client(node), http.client.HTTPConnection(node.host, node.port, timeout=30)
    number = 0
    while time.monotonic() < end:
        number += 1
        fields = {"from": ORDINARY, "to": "bob", "amount": "0.001 COIN", "memo": f"{number}"}
        before, start = client.health()["head_block_number"], time.monotonic()
        body = json.dumps(request("condenser_api.broadcast_transaction_synchronous", [signed(client, [["transfer", fields]], ORDINARY)]))
        sender.request("POST", "/", body, {"x-forwarded-for": "10.200.0.1"})
        answer = json.loads(sender.getresponse().read())
        if "result" not in answer:
            seen.problems.append(f"a transfer was refused: {answer['error']['message']}")
            return
        seen.blocks.append(answer["result"]["block_num"] - before)
        seen.seconds.append(time.monotonic() - start)


# ------------------------------------------------------------------ the attackers' process


def attack(port: int, name: str) -> None:
    """Send the attack's request repeatedly from each address, until killed."""
    os.nice(NICE)
    node = Node.__new__(Node)
    node.host, node.port = "127.0.0.1", port
    others = [account for account in OWN_WITNESSES if account != ORDINARY]
    same = repeat(refused_body(Client(node), name) if name in REFUSED else json.dumps([request("jsonrpc.get_methods", {})] * 3346).encode())

    def send_for_ever(number: int) -> None:
        is_first = True
        bodies = accepted(Client(node), others[number]) if name == ACCEPTED else same
        while True:
            line = http.client.HTTPConnection(node.host, node.port, timeout=60)
            try:
                while True:
                    line.request("POST", "/", next(bodies), {"x-forwarded-for": f"10.0.0.{number}"})
                    answer = json.loads(line.getresponse().read())
                    is_refused = "error" in (answer[0] if isinstance(answer, list) else answer)
                    assert is_refused or name == ACCEPTED, f"{name} isn't refused: {answer}"
                    if is_first:
                        os.write(1, b".")
                        is_first = False
            except (OSError, http.client.HTTPException):
                line.close()

    def hold_memory(number: int) -> None:
        """Make the node hold memory: send a batch, or in the attack of bodies a body without its last byte, and wait for the reply."""
        body = b" " * (BODY_SIZE - 1) if name == BODIES else next(same)
        size = BODY_SIZE if name == BODIES else len(body)
        head = f"POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.0.1.{number}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
        is_first = True
        while True:
            with suppress(OSError), socket.create_connection((node.host, node.port)) as line:
                line.sendall(head.encode() + body)
                if is_first and number < CONNECTIONS:
                    os.write(1, b".")
                    is_first = False
                while line.recv(1 << 16):
                    pass

    is_holding = name in (BATCHES, BODIES)
    for number in range(HOLDING_CONNECTIONS if is_holding else CONNECTIONS):
        threading.Thread(target=hold_memory if is_holding else send_for_ever, args=(number,)).start()


if __name__ == "__main__":
    attack(int(sys.argv[1]), sys.argv[2])
