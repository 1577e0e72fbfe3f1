"""A node with reader processes: reads after writes on the same connection, propagation of changes to all processes, and the lifetime of
readers.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from http.client import HTTPConnection
from itertools import count
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import trio

from rpc.declare.method import VALUES_MAX
from tests.end_to_end.test_command import Running, command, node
from tests.helpers.push import websocket
from tests.helpers.ways import Transport, http1, result, socket

WAIT_SECONDS_MAX = 20
REFUSED_TIMES = 60
SIGNED = ("previous", "timestamp", "witness", "transaction_merkle_root", "extensions", "witness_signature", "transactions")


class Client:
    """A persistent connection."""

    def __init__(self, running: Running, headers: dict[str, str] | None = None) -> None:
        self._connection = HTTPConnection(running.url.removeprefix("http://"), timeout=30)
        self._headers = headers or {}

    def post(self, body: str) -> Any:
        """Return the response to a request body."""
        self._connection.request("POST", "/", body, self._headers)
        return json.loads(self._connection.getresponse().read())

    def call(self, method: str, params: Any = None) -> Any:
        """Return the result of a call."""
        reply = self.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}))
        assert "result" in reply, reply
        return reply["result"]

    def send(self, amount: str = "0.001 COIN", memo: str = "") -> None:
        """Broadcast a transfer that the node signs."""
        transfer = ["transfer", {"from": "alice", "to": "bob", "amount": amount, "memo": memo}]
        self.call("dev_api.broadcast_operations", {"operations": [transfer]})

    def balance(self) -> str:
        found: str = self.call("condenser_api.get_accounts", [["bob"]])[0]["balance"]
        return found


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A running node with two reader processes. It makes blocks only on request."""
    with node("--readers", "2", "--blocks", "manual", by=command) as started:
        yield started


@pytest.fixture
def clients(running: Running) -> list[Client]:
    """One connection to each process."""
    found = [Client(running) for _ in range(3)]
    before = [reader["calls"] for reader in health(running)]
    for client in found:
        client.balance()
    until(lambda: all(reader["calls"] > calls for reader, calls in zip(health(running), before, strict=True)))
    return found


def health(running: Running) -> list[dict[str, Any]]:
    """Return the part of /health that describes the readers."""
    found: list[dict[str, Any]] = running.health()[1]["readers"]
    return found


def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition is true."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def same(clients: list[Client]) -> None:
    """Wait until all processes have the same state and pending transactions."""
    until(lambda: len({json.dumps(client.call("dev_api.get_state_digest")) for client in clients}) == 1)


def test_write_is_visible_on_the_same_connection(clients: list[Client]) -> None:
    for place, client in enumerate(clients * 3):
        before = client.balance()
        client.send(memo=str(place))
        assert client.balance() != before
        same(clients)


def test_changes_reach_all_processes(clients: list[Client]) -> None:
    one, two, three = clients
    moment = two.call("dev_api.snapshot")["id"]
    one.send(memo="a")
    three.call("dev_api.mine", {"count": 3})
    same(clients)
    two.call("dev_api.set_balance", {"account": "bob", "balance": "77.000 COIN"})
    assert two.balance() == "77.000 COIN"
    same(clients)
    two.call("dev_api.pop_blocks", {"count": 2})
    same(clients)
    one.call("dev_api.impersonate", {"accounts": ["alice"]})
    three.call("dev_api.advance_time", {"seconds": 86400})
    same(clients)
    three.call("dev_api.revert", {"id": moment})
    same(clients)
    one.call("dev_api.reset")
    same(clients)


def test_batches_are_answered_in_order(clients: list[Client]) -> None:
    names = ["dev_api.mine", "condenser_api.get_dynamic_global_properties"]
    for client in clients:
        body = [{"jsonrpc": "2.0", "id": place, "method": name, "params": [[], {}][not place % 2]} for place, name in enumerate(names * 2)]
        replies = client.post(json.dumps(body))
        assert [reply["id"] for reply in replies] == [0, 1, 2, 3]
        heads = [reply["result"]["head_block_number"] for reply in replies]
        assert heads == [heads[0], heads[0], heads[0] + 1, heads[0] + 1]


def test_rights_depend_on_the_connection(running: Running, clients: list[Client]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "dev_api.mine", "params": {}})
    for headers in ({"origin": "http://elsewhere.example"}, {"host": "elsewhere.example"}, {"x-forwarded-for": "10.0.0.1"}):
        errors = [Client(running, headers).post(body)["error"] for _ in range(3)]
        for error in errors:
            assert "Could not find API" in error["message"]
            for frame in error["data"]["stack"]:
                frame["context"].pop("timestamp")  # wall clock time in seconds
        assert errors[0] == errors[1] == errors[2]


def test_owner_limits_clients_by_address(running: Running) -> None:
    """The owner applies the limit to the client's own address, for connections to any process. The unsigned large transactions exceed the
    allowance of refused work.
    """
    operation = ["custom_json", {"required_auths": [], "required_posting_auths": ["alice"], "id": "x", "json": json.dumps("x" * 50_000)}]
    trx = {"ref_block_num": 0, "ref_block_prefix": 0, "expiration": "2030-01-01T00:00:00", "extensions": [], "signatures": []}
    call = {"jsonrpc": "2.0", "method": "condenser_api.broadcast_transaction", "params": [trx | {"operations": [operation]}]}
    batch = json.dumps([call | {"id": number} for number in range(REFUSED_TIMES)])
    for number in range(3):
        errors = [answer["error"] for answer in Client(running, {"x-forwarded-for": f"10.0.0.{number}"}).post(batch)]
        assert "retry_after_seconds" not in errors[0]["data"]
        assert any("retry_after_seconds" in error["data"] for error in errors)
    Client(running).send(memo="of somebody else")


def test_each_process_reports_refused_work(running: Running, clients: list[Client]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "condenser_api.get_accounts", "params": [["alice"] * VALUES_MAX]})
    family = re.compile(r"^coind_process_refused_work_units_total{.*} (\S+)$", re.MULTILINE)
    # Each call comes from another address, since a single client would soon be refused without further work.
    addresses = (f"10.0.{number // 256}.{number % 256}" for number in count(256))

    def is_shown() -> bool:
        assert "limit" in Client(running, {"x-forwarded-for": next(addresses)}).post(body)["error"]["data"]
        with urlopen(f"{running.url}/metrics") as page:
            units = [float(found) for found in family.findall(page.read().decode())]
        return len(units) == len(clients) and min(units) > 0

    until(is_shown)


def test_killed_reader_is_restarted(running: Running, clients: list[Client]) -> None:
    first = health(running)[0]
    os.kill(first["pid"], signal.SIGKILL)

    def is_back() -> bool:
        try:
            now = health(running)[0]
        except (ConnectionError, URLError):  # its connection belongs to the killed reader
            return False
        return bool(now["starts"] > first["starts"] and now["status"] == "ok")

    until(is_back)
    fresh = [Client(running) for _ in range(3)]
    fresh[0].send(memo="back")
    same(fresh)


async def test_notices_come_from_each_process(running: Running) -> None:
    port = int(running.url.rpartition(":")[2])
    owner = Client(running)
    async with websocket(port) as one, websocket(port) as two, websocket(port) as three:
        for client in (one, two, three):
            for kind in ("blocks", "refusals"):
                assert "result" in await client.call("dev_api.subscribe", {"kind": kind})
        request = [["transfer", {"from": "alice", "to": "bob", "amount": "1000000000.000 COIN", "memo": ""}]]
        refused = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "dev_api.broadcast_operations", "params": {"operations": request}})
        assert "error" in await trio.to_thread.run_sync(owner.post, refused)
        await trio.to_thread.run_sync(owner.call, "dev_api.mine")
        with trio.fail_after(WAIT_SECONDS_MAX):
            told = [{(await client.receive())["params"]["kind"] for _ in range(2)} for client in (one, two, three)]
        assert told == [{"blocks", "refusals"}] * 3


def test_broadcast_branch_switches_all_processes(running: Running, clients: list[Client]) -> None:
    one, two, three = clients
    common = one.call("dev_api.mine")["head_block_number"]
    one.call("dev_api.mine", {"count": 3})
    longer = [one.call("condenser_api.get_block", [number]) for number in range(common + 1, common + 4)]
    two.call("dev_api.pop_blocks", {"count": 3})
    two.send(memo="of the shorter branch")
    left = two.call("dev_api.mine", {"count": 2})["head_block_id"]
    same(clients)
    for client, block in zip(clients, longer, strict=True):
        signed = {name: block[name] for name in SIGNED}
        client.call("condenser_api.broadcast_block", [signed])
    assert three.call("condenser_api.get_block", [common + 2])["block_id"] == longer[1]["block_id"] != left
    same(clients)


async def test_readers_answer_while_the_owner_is_stopped(running: Running, clients: list[Client]) -> None:
    port = int(running.url.rpartition(":")[2])
    operation = ["transfer", {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": "slow"}]
    async with AsyncExitStack() as stack:
        ways: list[Transport] = []
        most = handed(running) + 1
        # A recently silent reader gets no connections, and clients' requests to it are forwarded individually.
        while handed(running) < most + 2:
            ways += [await stack.enter_async_context(open_(port)) for open_ in (http1, socket)]
            most += 1
        read: list[Transport] = []
        sent: list[Transport] = []

        async def ask(way: Transport) -> None:
            await result(way, "condenser_api.get_accounts", [["bob"]])
            read.append(way)
            await result(way, "dev_api.broadcast_operations", {"operations": [operation]})
            sent.append(way)

        with trio.fail_after(WAIT_SECONDS_MAX):
            for way in ways:
                await result(way, "condenser_api.get_accounts", [["bob"]])
            running.process.send_signal(signal.SIGSTOP)
            try:
                async with trio.open_nursery() as nursery:
                    for way in ways:
                        nursery.start_soon(ask, way)
                    while not read:
                        await trio.sleep(0.005)
                    assert not sent
                    running.process.send_signal(signal.SIGCONT)
            finally:
                running.process.send_signal(signal.SIGCONT)
        assert len(read) == len(sent) == len(ways)


def handed(running: Running) -> int:
    """Return the number of connections that the node has handed off to readers."""
    return sum(reader["connections_handed_on"] for reader in health(running))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_readers_end_with_their_owner(how: signal.Signals) -> None:
    with node("--readers", "1", by=command) as started:
        pids = [reader["pid"] for reader in health(started)]
        started.end(how)
        until(lambda: not any(is_alive(pid) for pid in pids))


def is_alive(pid: int) -> bool:
    """Whether a process exists and hasn't exited."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
