"""Measures a suite of 50 tests in three ways: with the pytest plugin, with a chain in the test process, and with the client library beem.
Each test has a fresh chain and 3 signed broadcasts.

Run: .venv/bin/python -m bench.suite [--coind COMMAND]

Target if the node signs: 3 s for the whole pytest run, including the start of the node. Targets in one process: 50 ms for a start, and 0.3
s for 1,000 empty blocks. beem is measured if `bin/test clients beem` has installed it.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
BEEM = ROOT / ".venv-clients" / "beem" / "bin" / "python"
TESTS, BROADCASTS, BLOCKS, STARTS = 50, 3, 1000, 10
SUITE_SECONDS_MAX, START_SECONDS_MAX, BLOCKS_SECONDS_MAX = 3.0, 0.05, 0.3
TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]
SUITE = f"""
import pytest

@pytest.mark.parametrize("n", range({TESTS}))
def test_transfers(coin_chain, n):
    for _ in range({BROADCASTS}):
        coin_chain.broadcast({TRANSFER!r})
    assert coin_chain.call("condenser_api.get_accounts", [["bob"]])[0]["balance"] == "10000{BROADCASTS}.000 COIN"
"""


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall-clock seconds and this process's CPU seconds of a call."""
    begun, computed = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - computed


def with_pytest(command: str, package: str) -> tuple[float, float]:
    """Run the suite in the same way as a user's project. Return the seconds of the whole run, and the CPU seconds, including the node's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_suite.py").write_text(SUITE, encoding="utf-8")
        Path(folder, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "coind.pytest_plugin", "-p", "no:cacheprovider", "--coind", command]
        # Runs in an environment that has pytest and, of its plugins, only this one.
        environment = {**os.environ, "PYTHONPATH": package, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        taken, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        raise SystemExit((ran.stdout + ran.stderr)[-2000:])
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_process() -> None:
    """Print the time of the same suite with a `LocalChain` instead of a node, and the time to start such a chain."""
    from node.app.local_chain import LocalChain

    starts = [seconds(LocalChain) for _ in range(STARTS)]
    clock, computed = (statistics.median(each) for each in zip(*starts, strict=True))
    print(f"LocalChain: start {clock * 1000:.0f} ms, CPU time {computed * 1000:.0f} ms (at most {START_SECONDS_MAX * 1000:.0f} ms)")
    chain = LocalChain()
    clock, computed = min(seconds(lambda: chain.mine(BLOCKS)) for _ in range(3))
    print(f"LocalChain: {BLOCKS:,} empty blocks {clock:.2f} s, CPU time {computed:.2f} s (at most {BLOCKS_SECONDS_MAX} s)")

    def suite() -> None:
        fresh = LocalChain()
        snapshot_id = fresh.snapshot()
        for _ in range(TESTS):
            for _ in range(BROADCASTS):
                fresh.broadcast(TRANSFER)
            fresh.revert(snapshot_id)

    clock, computed = seconds(suite)
    print(f"LocalChain: {TESTS} tests of {BROADCASTS} broadcasts {clock:.2f} s, CPU time {computed:.2f} s")


def with_beem(command: str) -> None:
    """Print the time of the tests with the client library beem, or the reason why it isn't measured."""
    if not BEEM.exists():
        print("beem: not measured, because it isn't installed. Install it with bin/test clients beem.")
        return
    from bench.start import started  # not imported at the top, because beem's environment lacks the libraries it needs

    with started(["--blocks", "instant"], [command]) as node:
        words = [str(BEEM), "-P", "-m", "bench.suite", "--beem-at", f"http://127.0.0.1:{node.port}"]
        ran = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    print(ran.stdout.strip() if not ran.returncode else f"beem: failed: {ran.stderr.strip()[-1000:]}")


def beem_session(url: str) -> None:
    """Run the tests that use beem, in a separate environment with beem, and print the time."""
    from tests.clients.beem.session import connect, key

    def ask(method: str, params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        with urlopen(url, body) as reply:
            return json.load(reply)["result"]

    from beem.account import Account

    steem = connect(url, "dev", [str(key("alice", "active").get_private())])
    snapshot_id = ask("dev_api.snapshot", {})["id"]

    def suite() -> None:
        for _ in range(TESTS):
            for number in range(BROADCASTS):
                Account("alice", blockchain_instance=steem).transfer("bob", 1, "COIN", str(number))
            ask("dev_api.revert", {"id": snapshot_id})

    clock, computed = seconds(suite)
    print(f"beem: {TESTS} tests of {BROADCASTS} broadcasts {clock:.2f} s, CPU time of beem {computed:.2f} s")


def main() -> None:
    """Measure the suite in all ways, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.suite")
    parser.add_argument("--coind", default=str(ROOT / "bin" / "coind"), help="the command of the node")
    parser.add_argument("--beem-at", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.beem_at:
        beem_session(given.beem_at)
        return
    with tempfile.TemporaryDirectory() as folder:
        import_module("bin.package.build").lay_out(ROOT, Path(folder, "coind"))
        clock, computed = min(with_pytest(given.coind, folder) for _ in range(3))
    what = f"{clock:.2f} s, CPU time {computed:.2f} s, including the start of node and pytest"
    print(f"pytest: {TESTS} tests of {BROADCASTS} broadcasts {what} (at most {SUITE_SECONDS_MAX} s)")
    with_beem(given.coind)
    in_process()


if __name__ == "__main__":
    main()
