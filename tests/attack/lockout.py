"""Runs all denial-of-service attacks at the same time, while an ordinary client requests /health and the node produces blocks.

The attackers run in separate processes with several addresses. The test measures the delay of each block after its slot, and how long the
client waits, first from its own address, then from an address that it shares with an attacker. The results are valid only on an otherwise
idle machine.
"""

import contextlib
import http.client
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import Wire
from state.protocol.values.text import time_text
from tests.attack.nodes import Client, Gone, Node, running, supported
from tests.conftest import ROOT
from tests.helpers.attackers import FLOODS, HOLDING, Target, hold
from tests.helpers.nodes import DEV

HEALTH_SECONDS_MAX = 0.5
BLOCK_SECONDS_MAX = 0.5
ASK_SECONDS = 0.05
WARM_UP_SECONDS = 5
ASK_TIMEOUT = 30.0
LOOK_SECONDS = 30.0
# Real attackers run on other machines. Here a low priority leaves the processors to the node.
NICE = 10
PROCESSES = 1
HELD_PER_KIND = 150
HOLD_AGAIN_SECONDS = 5
EDIT_SECONDS = 3.5
EDIT_SIZE, HUNKS, HUNK_SIZE = 58_000, 28, 2000
ORDINARY, CROWDED = "127.0.0.1", "127.0.0.77"


def run(count: int, seed: int) -> dict[str, int]:
    """Attack for `count` seconds."""
    options = ["--http2"] if supported("--http2") else []
    folder = tempfile.TemporaryDirectory(prefix="coind-lockout-")
    with folder as place, running(Path(place), "--data", Path(place) / "data", *options) as node:
        watcher = Watcher(node)
        command = [sys.executable, "-m", "tests.attack.lockout", str(node.port)]
        attackers = [subprocess.Popen([*command, f"{seed}/{number}"], cwd=ROOT) for number in range(PROCESSES)]
        try:
            watcher.watch(WARM_UP_SECONDS + count)
        finally:
            for each in attackers:
                each.kill()
                each.wait()
        assert node.is_running, f"the node has ended: {node.words()}"
        assert "Traceback" not in node.words(), node.words()
    return watcher.checked_figures()


class Watcher:
    """An ordinary client, which requests /health repeatedly. Each request uses a new connection."""

    def __init__(self, node: Node) -> None:
        self.waits: dict[str, list[float]] = {ORDINARY: [], CROWDED: []}
        self.late: list[float] = []
        self.refused: Counter[str] = Counter()
        self._node = node
        self._head = 0
        self._starved = 0.0
        self._ran = 0.0
        self._turns = (0.0, 0.0)
        self._lock = threading.Lock()

    def watch(self, seconds: float) -> None:
        """Send requests from two addresses for `seconds`."""
        threads = [threading.Thread(target=self._watch, args=(source, time.monotonic() + seconds)) for source in self.waits]
        before = self._node.processor_seconds()
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        time.sleep(min(seconds, WARM_UP_SECONDS))
        while time.monotonic() < until:
            time.sleep(min(LOOK_SECONDS, max(0.0, until - time.monotonic())))
            self._record_iterations()
        for thread in threads:
            thread.join()
        ran, starved = self._node.processor_seconds()
        self._ran, self._starved = ran - before[0], starved - before[1]

    def checked_figures(self) -> dict[str, int]:
        """Return the measurements in milliseconds. Raises AssertionError if one exceeds its limit."""
        figures = {"blocks": len(self.late), "latest_block_ms": milliseconds(max(self.late, default=0.0))}
        # The machine's contribution: the time that the node waited for a processor, compared with the time that it ran.
        figures["ms_without_a_processor"] = milliseconds(self._starved)
        figures["ms_with_a_processor"] = milliseconds(self._ran)
        figures["longest_turn_ms"], figures["longest_turn_processor_ms"] = map(milliseconds, self._turns)
        for source, name in ((ORDINARY, "health"), (CROWDED, "health_from_an_attacker's_address")):
            waits = sorted(self.waits[source])
            assert waits, f"no request from {source} was answered"
            figures[f"{name}_max_ms"] = milliseconds(waits[-1])
            figures[f"{name}_p99_ms"] = milliseconds(waits[len(waits) * 99 // 100])
            figures[f"{name}_asked"] = len(waits)
            figures[f"{name}_not_answered"] = self.refused[source]
        assert len(self.late) > 1, f"no blocks were seen: {figures}"
        assert figures["health_max_ms"] <= HEALTH_SECONDS_MAX * 1000, f"an ordinary client waited for /health: {figures}"
        assert not self.refused[ORDINARY], f"an ordinary client was refused /health: {figures}"
        assert figures["latest_block_ms"] <= BLOCK_SECONDS_MAX * 1000, f"a block was late: {figures}"
        return figures

    def _record_iterations(self) -> None:
        """Record the longest iteration of the node's event loop, from /metrics."""
        client = Client(self._node)
        shown = client.ask("GET", "/metrics")[1].decode()
        client.close()
        found = [
            re.search(rf"^coind_loop_iteration_longest_{name} (\S+)$", shown, re.MULTILINE) for name in ("seconds", "processor_seconds")
        ]
        first, second = (0.0 if each is None else float(each[1]) for each in found)
        self._turns = max(self._turns[0], first), max(self._turns[1], second)

    def _watch(self, source: str, until: float) -> None:
        warm = time.monotonic() + WARM_UP_SECONDS
        while time.monotonic() < until:
            start = time.monotonic()
            shown = self._health(source)
            waited = time.monotonic() - start
            if start >= warm:
                if shown is None:
                    self.refused[source] += 1
                self.waits[source].append(waited)
            if shown is not None:
                self._record_block_delay(shown, is_counted=start >= warm)
            time.sleep(ASK_SECONDS)

    def _health(self, source: str) -> dict[str, Any] | None:
        connection = http.client.HTTPConnection(self._node.host, self._node.port, ASK_TIMEOUT, (source, 0))
        try:
            connection.request("GET", "/health")
            shown: dict[str, Any] = json.loads(connection.getresponse().read())
            return shown
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def _record_block_delay(self, shown: dict[str, Any], is_counted: bool) -> None:
        """Record the delay of a new block after its slot."""
        now = time.time()
        with self._lock:
            if shown["head_block_number"] > self._head:
                slot = datetime.fromisoformat(shown["head_block_time"]).replace(tzinfo=UTC).timestamp()
                if self._head and is_counted:
                    self.late.append(now - slot)
                self._head = shown["head_block_number"]


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


# ------------------------------------------------------------------ the attackers' process


def attack(port: int, seed: str, only: str = "") -> None:
    """Run all attacks, or only the named one, each in its own thread, until killed."""
    random = Random(seed)
    stop = threading.Event()
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for number, flood in enumerate(FLOODS.values()):
        source = f"127.0.0.{random.randint(2, 60)}" if number % 4 else CROWDED
        threading.Thread(target=flood, args=(Target(port, source=source), stop), daemon=True).start()
    threading.Thread(target=hold_connections, args=(port, random), daemon=True).start()
    # Only one process edits the post, since concurrent edits would conflict.
    if seed.endswith("/0"):
        threading.Thread(target=edit_post, args=(port,), daemon=True).start()
    stop.wait()


def hold_connections(port: int, random: Random) -> None:
    """Open connections of every kind from changing addresses, and keep them open. Reopen those that the node closes."""
    while True:
        lines = []
        for holder in HOLDING.values():
            target = Target(port, source=f"127.0.0.{random.randint(2, 250)}")
            lines += hold(holder, target, HELD_PER_KIND)
        time.sleep(HOLD_AGAIN_SECONDS)
        for line in lines:
            line.close()


def edit_post(port: int) -> None:
    """Post a large text and edit it with the most expensive patch: hunks that almost match, far from their stated position."""
    node = Node.__new__(Node)
    node.host, node.port = "127.0.0.1", port
    body = "".join(chr(97 + i * 7 % 26) for i in range(EDIT_SIZE))
    hunks = "".join(f"@@ -{1 + i * HUNK_SIZE},{HUNK_SIZE} +{1 + i * HUNK_SIZE},0 @@\n-{mismatching_hunk(body, i)}\n" for i in range(HUNKS))
    wire = Wire(DEV)
    for number in range(10_000):
        with contextlib.suppress(Gone, KeyError, ValueError):
            send_comment(Client(node), wire, f"post{number // 2}", hunks if number % 2 else body)
        time.sleep(EDIT_SECONDS)


def mismatching_hunk(body: str, hunk: int) -> str:
    """Return the text of a hunk with a difference in its middle."""
    text = body[hunk * HUNK_SIZE : (hunk + 1) * HUNK_SIZE]
    return text[: HUNK_SIZE // 2 - 50] + "Z" * 100 + text[HUNK_SIZE // 2 + 50 :]


def send_comment(client: Client, wire: Wire, permlink: str, body: str) -> None:
    head = client.call("condenser_api.get_dynamic_global_properties", [])["result"]
    fields = {"parent_author": "", "parent_permlink": "x", "author": "alice", "permlink": permlink, "title": "", "json_metadata": ""}
    shown = {
        "ref_block_num": head["head_block_number"] & 0xFFFF,
        "ref_block_prefix": int.from_bytes(bytes.fromhex(head["head_block_id"])[4:8], "little"),
        "expiration": time_text(int(datetime.fromisoformat(head["time"]).replace(tzinfo=UTC).timestamp()) + 60),
        "operations": [["comment", {**fields, "body": body}]],
    }
    trx = wire.transaction_from_json(shown, legacy=True)
    trx.signatures = (sign(derive_secret("alice", "posting", "dev"), wire.signature_digest(trx), Canonical.bip_0062),)
    client.call("condenser_api.broadcast_transaction", [wire.transaction_to_json(wire.seal(trx), legacy=True)])
    client.close()


if __name__ == "__main__":
    attack(int(sys.argv[1]), sys.argv[2])
