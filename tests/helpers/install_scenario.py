"""The steps of a user with an installed coind, in a folder whose modules have the same names as the node's own. The tests of the wheel and
`bin/test wheel` run them.

Each step is a method that returns a short description of its result, or raises InstallError.
"""

import contextlib
import json
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

WORKLOAD = ROOT / "tests" / "conformance" / "workload" / "block_log.gz"
CASE = ROOT / "tests" / "conformance" / "cases" / "transfer_rules" / "block_log"
CHAIN = "steem-testnet"
# Modules of the user that have the same names as modules of the checkout.
MODULES = ("node", "state", "rpc", "bin", "tests", "genesis", "docs")
SECONDS_MAX = 120
POLL_SECONDS = 0.01
STEPS = ("version_output", "node", "snapshots", "replay", "library", "testing", "plugin", "help_texts")
DATA_STEPS = ("export", "sql", "report", "frames")
# Where the extra `data` isn't installed.
NO_DATA_STEPS = ("missing",)

TESTING = """
import node, state, rpc, bin, tests, genesis, docs
from coind.testing import CallRefused, LocalChain

assert all(module.MINE for module in (node, state, rpc, bin, tests, genesis, docs))
chain = LocalChain()
chain.broadcast(["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}])
print(chain.call("condenser_api.get_accounts", [["bob"]])[0]["balance"])
try:
    chain.broadcast(["transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""}])
except CallRefused as refused:
    print(refused.rule)
"""
LIBRARY = """
import sys
import node, state, rpc
from coind.data import chain_at, open_blocks, replayed

path, chain = sys.argv[1:]
with open_blocks(path, chain) as blocks:
    print(sum(1 for block in blocks for _ in block.operations))
with chain_at(path, 30, chain) as moment:
    print(moment.number, moment.digest)
"""
FRAMES = """
import sys
from coind.data import chain_at

with chain_at(*sys.argv[1:2], 30, sys.argv[2]) as moment:
    print(len(moment.tables["accounts"].frame()))
"""
PLUGIN = """
import node, state, rpc, bin, tests

TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]

def test_one(coin_chain):
    assert (node.MINE, state.MINE, rpc.MINE, bin.MINE, tests.MINE) == ("node", "state", "rpc", "bin", "tests")
    coin_chain.broadcast(TRANSFER)
    assert coin_chain.call("condenser_api.get_accounts", [["bob"]])[0]["balance"] == "100001.000 COIN"

def test_two(coin_chain):
    assert coin_chain.call("condenser_api.get_accounts", [["bob"]])[0]["balance"] == "100000.000 COIN"
"""


class InstallError(AssertionError):
    """A step failed. The message contains the output of the step's command."""


class InstallScenario:
    """A user's folder, the Python into which coind is installed, and the installed `coind` command."""

    def __init__(self, folder: Path, python: Path, command: Path, environment: Mapping[str, str], version: str) -> None:
        self.folder, self.version = folder, version
        self._python, self.command, self._environment = str(python), str(command), dict(environment)
        for name in MODULES:
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text(f"MINE = {name!r}\n")

    def take(self, step: str) -> str:
        """Run a step by name and return its description."""
        seen: str = getattr(self, step)()
        return seen

    # ------------------------------------------------------------------ steps

    def version_output(self) -> str:
        """Check that `coind --version` and `python -m coind version` print the same version. Return the second line of the latter."""
        shown, (first, second, *_) = self.coind("--version"), self.python("-m", "coind", "version").splitlines()
        expect(shown.strip() == first == f"coind {self.version}", "another version", f"{shown}\n{first}")
        return second

    def node(self) -> str:
        """Run a node and use all of its processes: send a transfer, read an account, open an explorer page, and restart from the data
        folder.
        """
        with self.running("--data", "data", "--readers", "1", "--snapshot-every", "1") as (url, process):
            begun = time.monotonic()
            while not all(each["status"] == "ok" for each in health(url)["readers"]):
                expect(time.monotonic() < begun + SECONDS_MAX, "the reader doesn't answer", str(health(url)))
                time.sleep(POLL_SECONDS)
            children = commands_of_children(process.pid)
            expect(any("coind.node.app.reader" in each for each in children), "no reader of the installed package", str(children))
            self.coind("tx", "transfer", "alice", "bob", "1.000 COIN", "--wait", "--url", url)
            shown = self.coind("show", "account", "bob", "--url", url)
            expect("100001.000 COIN" in shown, "the transfer isn't shown", shown)
            page = read(url, accept="text/html")
            files = set(re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css|svg))"', page))
            expect("<html" in page and bool(files), "there is no page of the explorer", page)
            for name in files:
                expect(bool(read(url + name)), f"{name} of the explorer is empty")
            methods = call(url, "rpc.discover", {})["methods"]
        return f"{len(children)} children, {len(files)} files of the explorer, {len(methods)} methods"

    def snapshots(self) -> str:
        """Verify the blocks and snapshots of the stopped node."""
        shown = self.coind("snapshot", "list", "--data", "data")
        expect("made by coind" in shown, "no snapshot", shown)
        self.coind("blocks", "check", "data")
        return f"{len(shown.splitlines())} lines of snapshots, blocks checked"

    def replay(self) -> str:
        """Replay the blocks with key-recovery processes, and then by ranges. Both replays must reach the same state."""
        options = (str(WORKLOAD), "--chain", CHAIN, "--snapshots", "states")
        single, seen = self.watched("replay", *options, "--workers", "2", "--snapshot-every", "50")
        expect(any("coind.node.key_recovery.worker" in each for each in seen), "no process recovers keys", f"{seen}\n{single}")
        expect("given up" not in single, "a process that recovers keys has failed", single)
        ranges, seen = self.watched("replay", *options, "--parallel", "2")
        expect(any("coind.node.replay.parallel.worker" in each for each in seen), "no process replays a range", f"{seen}\n{ranges}")
        expect(digest(single) == digest(ranges), "the replay by ranges has another state", ranges)
        return digest(single)[:16]

    def library(self) -> str:
        """Use coind.data in a program that is in the same folder as the user's own modules."""
        operations, moment = self.program("reading.py", LIBRARY, str(CASE), CHAIN).splitlines()
        return f"{operations} operations, block {moment[:19]}"

    def testing(self) -> str:
        """Use coind.testing in a program that is in the same folder as the user's own modules."""
        seen = self.program("local.py", TESTING).split("\n")
        expect(seen[:2] == ["100001.000 COIN", "insufficient_funds"], "another balance or rule", str(seen))
        return seen[0]

    def plugin(self) -> str:
        """Use the pytest plugin, which pytest finds by its entry point."""
        (self.folder / "test_wallet.py").write_text(PLUGIN)
        options = ("-q", "-p", "no:cacheprovider", "-p", "no:trio")
        seen = self.python("-m", "pytest", *options, "test_wallet.py")
        expect("2 passed" in seen, "not two passed", seen)
        # Naming the plugin explicitly does not load it a second time.
        seen = self.python("-m", "pytest", *options, "-p", "coind.pytest_plugin", "--co", "test_wallet.py")
        expect("2 tests collected" in seen, "naming the plugin explicitly fails", seen)
        return "2 passed"

    def help_texts(self) -> str:
        """Print help and shell completion, which must contain the installed command's name."""
        texts = [self.coind(*words) for words in (["--help"], ["completion", "bash"])]
        expect("bin/coind" not in "".join(texts), "a help text names the launcher of a checkout", "".join(texts))
        return f"{len(texts[1].splitlines())} lines of completion"

    def export(self) -> str:
        """Export to Parquet."""
        self.coind("export", str(CASE), "--chain", CHAIN, "--to", "exported", "--tables", "accounts")
        files = [path for path in (self.folder / "exported").rglob("*") if path.is_file()]
        expect(any(path.suffix == ".parquet" for path in files), "no file is in Parquet", str(files))
        return f"{len(files)} files"

    def sql(self) -> str:
        """Query the export with SQL."""
        seen = self.coind("sql", "exported", "SELECT count(*) AS transfers FROM transfer", "--csv")
        expect(re.search(r"transfers\s+\d+", seen) is not None, "no count", seen)
        return seen.split()[-1] + " transfers"

    def report(self) -> str:
        """Draw a report of the export."""
        self.coind("report", "exported", "--to", "report.html")
        text = (self.folder / "report.html").read_text(encoding="utf-8")
        expect("<title>steem-testnet" in text and "bin/coind" not in text, "no report", text[:500])
        return f"{len(text):,} characters"

    def frames(self) -> str:
        """Read tables as pandas frames."""
        return self.program("frames.py", FRAMES, str(CASE), CHAIN).strip() + " rows"

    def missing(self) -> str:
        """Check the error messages of commands that need the extra `data` when it is not installed."""
        seen = self.coind("export", str(CASE), "--chain", CHAIN, "--to", "refused", status=None)
        expect("install it: coind install data" in seen, "the message doesn't say how to get the extra", seen)
        return "named"

    # ------------------------------------------------------------------ tools

    def coind(self, *words: str, status: int | None = 0) -> str:
        """Run a coind command until it ends and return its stdout. `status` is the required exit status (None: any except 0)."""
        return self._ended([self.command, *words], status)

    def python(self, *words: str) -> str:
        """Run Python in the user's folder until it ends and return its stdout."""
        return self._ended([self._python, *words], 0)

    def program(self, name: str, text: str, *words: str) -> str:
        """Write a program into the user's folder and run it there."""
        (self.folder / name).write_text(text)
        return self.python(name, *words)

    def _ended(self, command: list[str], status: int | None) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
        right = done.returncode == status if status is not None else done.returncode != 0
        expect(right, f"status {done.returncode} of {' '.join(command[:4])}", done.stdout + done.stderr)
        return done.stdout + (done.stderr if status != 0 else "")

    def watched(self, *words: str) -> tuple[str, set[str]]:
        """Run a coind command. Return its output including its log, and the command lines of its child processes."""
        seen: set[str] = set()
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen([self.command, *words], cwd=self.folder, env=self._environment, stdout=output, stderr=output)
            while process.poll() is None:
                seen |= commands_of_children(process.pid)
                time.sleep(POLL_SECONDS)
            output.seek(0)
            text = output.read()
        expect(process.returncode == 0, f"status {process.returncode} of {words[0]}", text)
        return text, seen

    @contextlib.contextmanager
    def running(self, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        """Run a node for the duration of the context; yields its address and process. The node must end without an error."""
        ready, log = self.folder / "node.json", self.folder / "node.log"
        command = [self.command, "run", "--port", "0", "--blocks", "instant", "--ready-file", str(ready), *options]
        with log.open("w") as output:
            process = subprocess.Popen(command, cwd=self.folder, env=self._environment, stdout=output, stderr=output, text=True)
        try:
            until = time.monotonic() + SECONDS_MAX
            while not ready.exists():
                expect(process.poll() is None and time.monotonic() < until, "the node doesn't start", log.read_text())
                time.sleep(POLL_SECONDS)
            yield json.loads(ready.read_bytes())["address"], process
            process.send_signal(signal.SIGINT)
            expect(process.wait(SECONDS_MAX) == 0, f"the node ends with status {process.returncode}", log.read_text())
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def expect(condition: bool, problem: str, printed: str = "") -> None:
    """Raise InstallError unless the condition is true."""
    if not condition:
        raise InstallError(f"{problem}\n{printed[-4000:]}")


def digest(text: str) -> str:
    """Return the state digest in the output of a replay."""
    found = re.search(r"state digest: (\w{64})", text)
    expect(found is not None, "no digest of the state", text)
    assert found
    return found[1]


def commands_of_children(process: int) -> set[str]:
    """Return the command lines of a process's children."""
    seen = set()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                with contextlib.suppress(OSError):
                    seen.add(Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
    return seen


def read(url: str, *, accept: str = "*/*") -> str:
    """Return the body of a GET response."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=30) as answer:
        return str(answer.read().decode())


def health(url: str) -> Any:
    return json.loads(read(url + "/health"))


def call(url: str, method: str, params: Any) -> Any:
    """Call a method of a node and return its result."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with urllib.request.urlopen(url, body, timeout=30) as answer:
        found = json.load(answer)
    expect("result" in found, f"{method} is refused", str(found))
    return found["result"]
