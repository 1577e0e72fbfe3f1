"""The program in a separate process, as users run it: its arguments, its signals, and its data folder after a kill."""

import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec
import pytest

from node.app.banner import Announcer
from node.runtime.errors import Status
from node.specs.plugins import KNOWN, chosen_plugins
from state.plugins.registry import PLUGINS
from tests.conftest import ROOT, described_methods
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import DEV, case_log
from tests.helpers.warm import Warm

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 20
ANSWER_SECONDS_MAX = 120  # a long call takes more than 10 on a busy machine


def coind(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program until it ends."""
    return subprocess.run(forked(*arguments), capture_output=True, text=True, check=False, env=environment(), timeout=120)


def command(*arguments: str | Path) -> list[str]:
    """The command line with which the launcher starts the program."""
    return [sys.executable, "-P", "-m", "node", *map(str, arguments)]


def forked(*arguments: str | Path) -> list[str]:
    """The command line that runs the program in a fork of a preloaded Python. Not for tests of signals, limits or other properties of the
    process.
    """
    return [*CHECKOUT.words, "-P", "-m", "node", *map(str, arguments)]


def environment() -> dict[str, str]:
    """The environment that the launcher sets."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


CHECKOUT = Warm(Path(sys.executable), ["node.*", "rpc.*"], environment())


class Running:
    """A running node that answers."""

    def __init__(self, *arguments: str | Path, by: Callable[..., list[str]] = forked, prepare: Callable[[], None] | None = None) -> None:
        self.process = subprocess.Popen(
            by(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=prepare
        )
        self.banner: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("Ctrl-C"):
                break
            key, _, value = line.rstrip("\n").partition(": ")
            self.banner[key] = value
        else:
            raise AssertionError(self.process.communicate()[1])

    @property
    def url(self) -> str:
        return self.banner["address"]

    def call(self, method: str, params: Any) -> Any:
        """Return the response to a call."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        with urlopen(Request(self.url, body), timeout=ANSWER_SECONDS_MAX) as reply:
            return json.load(reply)

    def head(self) -> tuple[int, str]:
        """Return the number and id of the head block."""
        told = self.health()[1]
        return told["head_block_number"], told["head_block_id"]

    def health(self) -> tuple[int, dict[str, Any]]:
        """Return the status and body of /health."""
        try:
            with urlopen(self.url + "/health", timeout=ANSWER_SECONDS_MAX) as reply:
                return reply.status, json.load(reply)
        except HTTPError as error:
            return error.code, json.load(error)

    def generate(self, count: int) -> None:
        told = self.call("debug_node_api.debug_generate_blocks", {"debug_key": DEV.witness_keys[0], "count": count})
        assert told["result"] == {"blocks": count}

    def end(self, how: signal.Signals) -> tuple[int, float, str]:
        """Send a signal. Return the exit status, the seconds until the exit, and stderr."""
        start = time.monotonic()
        self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, time.monotonic() - start, errors


def later_head(running: Running, number: int) -> int:
    """Wait for a block whose number is greater than `number`, and return the number of the head block."""
    end = time.monotonic() + START_SECONDS_MAX
    while (head := running.head()[0]) <= number:
        assert time.monotonic() < end, "no block is made"
        time.sleep(0.1)
    return head


@contextlib.contextmanager
def node(*arguments: str | Path, by: Callable[..., list[str]] = forked) -> Iterator[Running]:
    """Run a node for the duration of the context."""
    running = Running("run", "--http", "127.0.0.1:0", *arguments, by=by)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


# ------------------------------------------------------------------ arguments


def test_keys_of_dev() -> None:
    done = coind("keys", "alice")
    assert done.returncode == 0
    assert "the chain dev (TST)" in done.stdout
    assert len(re.findall(r"^(owner|active|posting|memo) +(?:public +TST\w{50}|private +5\w{50})$", done.stdout, re.MULTILINE)) == 8
    one = coind("keys", "alice", "--role", "active", "--password", "other").stdout
    assert len(one.splitlines()) == 3
    assert one.splitlines()[1] not in done.stdout


def test_version_lists_chains() -> None:
    done = coind("version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "coind 0.1.0"
    assert "chains dev dev-tests mainnet-like steem-mainnet steem-testnet testnet" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--enable", "nothing"],
        ["run", "--disable", "tgas"],
        ["run", "--enable", "tags", "--disable", "tags"],
        ["run", "--chain", "nothing"],
        ["run", "--http", "8090x:1:2"],
        ["run", "--http", "127.0.0.1:99999"],
        ["run", "--chain", "steem-mainnet", "--produce"],
        ["replay", "/nowhere/log"],
        ["keys", "Not-A-Name"],
    ],
)
def test_mistakes_are_reported(arguments: list[str]) -> None:
    done = coind(*arguments)
    assert done.returncode == 1
    same_as_golden(done.stdout + done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("arguments", "said"), [(["run", "--what"], "--what"), (["replay"], "FILE"), (["nothing"], "nothing")])
def test_unknown_command_is_reported(arguments: list[str], said: str) -> None:
    done = coind(*arguments)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("coind: ")
    assert said in last
    assert last.endswith(" --help")
    assert not done.stdout


def test_file_as_data_folder_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for data in (file, file / "below"):
        done = coind("run", "--http", "127.0.0.1:0", "--data", data)
        assert done.returncode == 1
        same_as_golden(done.stderr)


def test_help_has_no_empty_defaults() -> None:
    assert "()" not in coind("run", "--help").stdout + coind("snapshot", "save", "--help").stdout


def test_address_in_use_is_reported() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = coind("run", "--http", f"127.0.0.1:{other.getsockname()[1]}")
    assert done.returncode == 1
    same_as_golden(done.stderr)
    assert "Traceback" not in done.stderr


def test_refused_block_is_reported(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(case_log("tx_validity").read_bytes()[:-9])
    done = coind("replay", tmp_path / "log", "--chain", "steem-testnet")
    assert done.returncode == Status.DAMAGED
    assert re.search(r"^coind: block 108: ", done.stderr, re.MULTILINE)
    assert done.stdout.startswith("head block 107 ")


def test_closed_output_pipe_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(command("keys", "alice"), stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_plugins_of_spec_and_options() -> None:
    assert set(PLUGINS) <= set(KNOWN)
    assert set(chosen_plugins(DEV)) == set(DEV.plugins)
    assert "rewards_api" in chosen_plugins(DEV, ["rewards_api"])
    assert "rc" not in chosen_plugins(DEV, disable=["rc"])
    assert chosen_plugins(DEV, disable=["all"]) == ()
    assert chosen_plugins(DEV, ["tags"], ["all"]) == ("tags",)
    assert chosen_plugins(DEV, ["all"], ["tags"]) == tuple(name for name in KNOWN if name != "tags")


# ------------------------------------------------------------------ signals


def ask_without_reading(client: socket.socket) -> None:
    """Request about 10 MB of replies without reading them, so that they stay buffered in the node."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"database_api.get_config"}'
    body = b"[" + b",".join([call] * 1000) + b"]"
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_node_with_open_connections(how: signal.Signals) -> None:
    with node(by=command) as running:
        host, port = running.url.removeprefix("http://").split(":")
        idle, half, deaf = [socket.create_connection((host, int(port))) for _ in range(3)]
        with idle, half, deaf:
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert idle.recv(100).startswith(b"HTTP/1.1 200")
            half.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
            ask_without_reading(deaf)
            time.sleep(0.3)
            status, seconds, errors = running.end(how)
    assert status == 0
    assert seconds < STOP_SECONDS_MAX
    assert "Traceback" not in errors


def test_node_produces_a_block_every_three_seconds() -> None:
    with node() as running:
        assert running.banner["blocks"] == "produced every 3 s"
        assert running.banner["account alice"].endswith("active key 5JCXCZAvvU391AEVoDMFTgwShH7UWx284upYkYLfxDeieQ3UemK")
        first, begun = running.head()[0], time.monotonic()
        assert first >= 25
        # A busy machine makes fewer blocks, but never more than there are slots.
        assert later_head(running, later_head(running, first)) - first <= (time.monotonic() - begun) / 3 + 2


def test_first_broadcast_of_docs() -> None:
    with node("--no-produce") as running:
        key = running.banner["account alice"].rpartition(" ")[2]
        words = [sys.executable, str(ROOT / "docs/first_broadcast.py"), "alice", key, "bob", "1.000 COIN", running.url]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as script:
            time.sleep(2)
            running.generate(1)
            request = json.loads(script.communicate(timeout=30)[0])
        assert request["params"][0]["ref_block_num"] == 1
        assert running.call(request["method"], request["params"])["result"] == {}


def test_public_address_disables_debug_methods() -> None:
    running = Running("run", "--http", "0.0.0.0:0", "--no-produce")
    try:
        assert running.head()[0] == 0
        told = running.call("debug_node_api.debug_generate_blocks", {"debug_key": DEV.witness_keys[0], "count": 1})
        assert told["error"]["data"]["stack"][0]["data"]["api"] == "debug_node_api"
        assert "--allow-debug" in told["error"]["data"]["hint"]
        assert running.end(signal.SIGINT)[0] == 0
    finally:
        if running.process.poll() is None:
            running.process.kill()


def test_debug_methods_can_be_allowed_on_public_address() -> None:
    running = Running("run", "--http", "0.0.0.0:0", "--no-produce", "--allow-debug")
    try:
        told = running.call("debug_node_api.debug_generate_blocks", {"debug_key": DEV.witness_keys[0], "count": 1})
        assert told["result"] == {"blocks": 1}
        assert running.end(signal.SIGINT)[0] == 0
    finally:
        if running.process.poll() is None:
            running.process.kill()


@pytest.mark.parametrize("origin", ["x", "http://x/y", "http://é"])
def test_invalid_origin_is_reported(origin: str) -> None:
    told = coind("run", "--cors", origin)
    assert told.returncode == 1
    same_as_golden(told.stderr)


def test_open_file_limit_is_raised_to_the_maximum() -> None:
    code = (
        "import resource\n"
        "from node.runtime.file_limit import room_for_connections\n"
        "for limits in ((2000, 5000), (100, 1000), (50, 60)):\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, limits)\n"
        "    print(room_for_connections(), resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()).stdout
    assert told.splitlines() == ["4096 (4160, 5000)", "936 (1000, 1000)", "1 (60, 60)"]


def test_every_described_method_is_served() -> None:
    with node() as running:
        served = running.call("jsonrpc.get_methods", {})["result"]
    assert served == sorted(served)
    assert set(described_methods()) - set(served) == set()


# ------------------------------------------------------------------ a data folder


def test_blocks_survive_a_kill(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with node("--data", data, "--no-produce", by=command) as first:
        first.generate(50)
        head = first.head()
        assert first.end(signal.SIGKILL)[0] == -signal.SIGKILL
    with (data / "block_log").open("ab") as log:
        log.write(b"\0" * 30)
    with node("--data", data, "--no-produce") as second:
        assert second.head() == head == (50, head[1])
        second.generate(1)
        status, _, errors = second.end(signal.SIGINT)
    assert status == 0
    assert "30 bytes after block 50 were not whole, and are cut off" in errors
    with node("--data", data, "--no-produce") as third:
        assert third.head()[0] == 51
        assert "cut off" not in third.end(signal.SIGINT)[2]


def test_folder_accepts_one_node_and_one_chain(tmp_path: Path) -> None:
    with node("--data", tmp_path, "--no-produce"):
        other = coind("run", "--data", tmp_path, "--http", "127.0.0.1:0")
        assert other.returncode == 1
        assert "is in use by another node (process" in other.stderr
    other = coind("run", "--data", tmp_path, "--http", "127.0.0.1:0", "--chain", "testnet")
    assert other.returncode == 1
    same_as_golden(other.stderr)


def test_reference_log_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "block_log").write_bytes(case_log("block_feed").read_bytes())
    with node("--data", tmp_path, "--chain", "steem-testnet", "--no-produce") as running:
        assert running.head() == (97, "00000061c9d386898663690a11d5acbd33d09ee4")
    assert (tmp_path / "chain.json").exists()


def test_damaged_reference_log_is_refused(tmp_path: Path) -> None:
    data = bytearray(case_log("block_feed").read_bytes())
    data[500] ^= 1
    (tmp_path / "block_log").write_bytes(data)
    done = coind("run", "--data", tmp_path, "--chain", "steem-testnet", "--no-produce", "--http", "127.0.0.1:0")
    assert done.returncode == Status.DAMAGED
    assert re.search(r"block_log: block \d+: ", done.stderr)
    assert not (tmp_path / "chain.json").exists()


def test_replay_can_serve_afterwards() -> None:
    running = Running("replay", case_log("block_feed"), "--chain", "steem-testnet", "--until", "50", "--serve", "127.0.0.1:0")
    try:
        assert running.head()[0] == 50
        assert running.banner["blocks"] == "none produced"
        assert running.end(signal.SIGINT)[0] == 0
    finally:
        if running.process.poll() is None:
            running.process.kill()


# ------------------------------------------------------------------ the banner on a terminal


class Terminal(io.StringIO):
    """A terminal that collects output."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("coin", [1, 2])
def test_narrow_terminal_does_not_wrap_keys(monkeypatch: pytest.MonkeyPatch, coin: int) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    first, *others = DEV.genesis.accounts
    accounts = (first, *[msgspec.structs.replace(account, coin=first.coin * coin) for account in others])
    out = Terminal()
    spec = msgspec.structs.replace(DEV, genesis=msgspec.structs.replace(DEV.genesis, accounts=accounts))
    Announcer().announce(spec, ["http://127.0.0.1:8090"], "interval", out)
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert re.search(r"^ +alice +active +5JCXCZAvvU391AEVoDMFTgwShH7UWx284upYkYLfxDeieQ3UemK\b", text, re.MULTILINE)
    assert DEV.chain_id.hex() in text
    assert ("Each of them holds 100000.000 COIN" in text) == (coin == 1)
    assert "Ctrl-C stops it." in text
