"""The command line for the parallel replay on a cluster: `bin/test ray [--blocks FILE] [--chain NAME] [--ranges N]`.

It starts a cluster of two workers on this machine. The cluster verifies a chain by ranges, which must have the same result as a single
replay. It must detect a snapshot with a forged state, and blocks that no worker can read. Killing a worker must not change the result. The
exit status is 1 if any case fails.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from node.app.context import NodeContext
from node.app.settings import Settings
from node.history.sources import open_source
from node.runtime.errors import Status
from node.snapshots.folder import load, paths, write
from node.specs.builder import load_spec
from node.storage.disk import SystemDisk
from tests.ray.cluster import busy_workers, cluster

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = ROOT / "tests" / "conformance" / "cases" / "walk_random" / "block_log"
SECONDS_MAX = 900
KILL_SECONDS_MAX = 60

Ran = tuple[int, str, float]
"""The status of a command, all that it has printed, and how many seconds it took."""


def main() -> int:
    """Run everything and return the exit status."""
    parser = argparse.ArgumentParser(prog="bin/test ray", description="Verifies a chain by ranges on a small Ray cluster.")
    parser.add_argument("--blocks", type=Path, default=BLOCKS, help="the blocks")
    parser.add_argument("--chain", default="steem-testnet", help="their chain")
    parser.add_argument("--ranges", type=int, default=5, help="the approximate number of ranges")
    given = parser.parse_args()
    if not given.blocks.exists():
        parser.error(f"{given.blocks} is not there; name blocks with --blocks")
    with tempfile.TemporaryDirectory(prefix="coind-ray-") as name:
        return verify_everything(Path(name), given.blocks.resolve(), given.chain, given.ranges)


def verify_everything(folder: Path, blocks: Path, chain: str, ranges: int) -> int:
    """Make the snapshots, start the cluster, and verify the chain in all cases."""
    every, snapshots = max(1, number_of_blocks(blocks, chain) // ranges), folder / "snapshots"
    single = replay(blocks, chain, "--snapshots", snapshots, "--snapshot-every", every, "--workers", 0)
    one, two = (replay(blocks, chain, "--snapshots", snapshots, "--parallel", count) for count in (1, 2))
    wrong = [say("one process, then two", results(one) == results(two) == results(single), f"{one[2]:.1f} s, {two[2]:.1f} s", two)]
    with cluster(folder) as address:
        where = ("--snapshots", snapshots, "--parallel", address)
        ray = replay(blocks, chain, *where)
        wrong.append(say("the cluster leads to the state of a single replay", results(ray) == results(single), f"{ray[2]:.1f} s", ray))
        ray, killed = with_a_kill(blocks, chain, *where)
        right = killed > 0 and ray[0] == Status.DONE and results(ray) == results(single)
        wrong.append(say("a killed worker changes nothing", right, f"{ray[2]:.1f} s", ray))
        ray = replay(folder / "elsewhere", chain, *where)
        right = ray[0] == Status.DAMAGED and "must lead to the same blocks on every machine" in ray[1]
        wrong.append(say("blocks that no worker can read are named", right, f"{ray[2]:.1f} s", ray))
        forge(snapshots, chain)
        ray = replay(blocks, chain, *where)
        right = ray[0] == Status.BROKEN_INVARIANT and re.search(r"coind: range 1, .* lead to the state \w{64}, and ", ray[1]) is not None
        wrong.append(say("a snapshot with another state is found", right, f"{ray[2]:.1f} s", ray))
    return 1 if any(wrong) else 0


def number_of_blocks(blocks: Path, chain: str) -> int:
    source = open_source(blocks, NodeContext(Settings(spec=load_spec(chain), plugins=())).chain.state.wire)
    try:
        return source.last or sum(1 for _ in source)
    finally:
        source.close()


def command_of(*words: object) -> list[str]:
    """Return a command line that runs coind."""
    return [sys.executable, "-P", "-m", "node", *map(str, words)]


def replay(blocks: Path, chain: str, *words: object) -> Ran:
    begun = time.monotonic()
    command = command_of("replay", blocks, "--chain", chain, *words)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, env=environment)
    return ran.returncode, ran.stdout + ran.stderr, time.monotonic() - begun


def with_a_kill(blocks: Path, chain: str, *words: object) -> tuple[Ran, int]:
    """Run `coind replay`, and kill the first worker that verifies a range. Return the result of the command and the number of killed
    workers.
    """
    begun, killed = time.monotonic(), 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = command_of("replay", blocks, "--chain", chain, *words)
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        while process.poll() is None and not killed and time.monotonic() - begun < KILL_SECONDS_MAX:
            for pid in busy_workers(os.getpid())[:1]:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            time.sleep(0.05)
        status = process.wait(SECONDS_MAX)
        out.seek(0)
        return (status, out.read(), time.monotonic() - begun), killed


def forge(snapshots: Path, chain: str) -> None:
    """Replace the oldest snapshot with one that has a different state, and a digest that matches this state."""
    path = paths(snapshots, SystemDisk())[-1]
    context = NodeContext(Settings(spec=load_spec(chain), plugins=()))
    load(context.chain, path, SystemDisk()).finish()
    account = next(iter(context.chain.state.accounts))
    context.chain.state.accounts.modify(account, balance=account.balance + 1)
    path.unlink()
    write(context.chain, snapshots, SystemDisk())


def results(ran: Ran) -> list[str]:
    """Return the head and the digest that a replay printed."""
    return re.findall(r"^(?:head block|state digest:) .*$", ran[1], re.MULTILINE) or [f"status {ran[0]}"]


def say(what: str, is_right: bool, figures: str, ran: Ran) -> bool:
    """Print whether a case of the verification succeeded. Return True if it failed."""
    print(f"{'ok' if is_right else 'WRONG':<6}{what}: {figures}", flush=True)
    if not is_right:
        print(ran[1], flush=True)
    return not is_right


if __name__ == "__main__":
    sys.exit(main())
