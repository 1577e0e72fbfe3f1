"""The command line of the broker test: `bin/test nats [--replicas N] [--blocks N] [--pause SECONDS] [--direct]`.

A producer, a relay and ten replicas with a broker run for ten minutes of chain time. Each component is killed, and the producer switches to
another branch. Every replica must reach the producer's state.

With `--direct` the replicas follow the producer without a broker. The test needs nats-server, and prints instructions if it is missing.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import ROOT
from tests.nats.session import World, line_of


def main(arguments: list[str]) -> int:
    """Run the session. The status is 0 if all nodes have the same blocks at the end."""
    parser = argparse.ArgumentParser(prog="bin/test nats", description=str(__doc__))
    parser.add_argument("--replicas", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=200, help="the number of blocks, each of 3 s of chain time")
    parser.add_argument("--pause", type=float, default=0.3, help="the pause between two blocks, in seconds")
    parser.add_argument("--direct", action="store_true", help="let the replicas follow the producer without a broker")
    chosen = parser.parse_args(arguments)
    if find_spec("nats") is None and not chosen.direct:
        subprocess.run([ROOT / "bin/coind", "install", "nats"], check=True)
    with tempfile.TemporaryDirectory(prefix="coind-nats-") as folder:
        begun = time.monotonic()
        world = World(Path(folder), chosen.replicas, is_direct=chosen.direct)
        try:
            happen(world, chosen.blocks, chosen.pause)
        finally:
            world.end()
        print(f"{time.monotonic() - begun:.0f} s in all")
    return 0


def happen(world: World, blocks: int, pause: float) -> None:
    """Make blocks, and kill and restart each component between them. Print the results."""
    part = max(1, blocks // 8)
    world.agree()
    print(f"{len(world.replicas)} replicas have block {world.producer.head()[0]}", flush=True)
    used = [replica.node.processor_seconds()[0] for replica in world.replicas]
    first = time.monotonic()
    world.mine(2 * part, pause, calm=True)
    print(f"undisturbed: {line_of(world.lags(calm=True))}", flush=True)
    seconds = [replica.node.processor_seconds()[0] - before for replica, before in zip(world.replicas, used, strict=True)]
    share = sum(seconds) / len(seconds) / (time.monotonic() - first)
    memory = sum(replica.node.memory_kb() for replica in world.replicas) / len(world.replicas) / 1024
    print(f"a replica takes {memory:.0f} MB, and {share:.1%} of a core at {2 * part / (time.monotonic() - first):.1f} blocks/s", flush=True)
    for name, kill in kills(world):
        kill()
        world.mine(part, pause, calm=False)
        print(f"killed: {name}", flush=True)
    world.switch()
    world.mine(part, pause, calm=False)
    print("switched to another branch", flush=True)
    digest = world.agree()
    print(f"with kills: {line_of(world.lags(calm=False))}")
    if not world.is_direct:
        print(world.compare_broker())
    print(f"all are at block {world.producer.head()[0]} with the digest {digest}")


def kills(world: World) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each component with the function that kills and restarts it."""
    yield "a replica without data", world.replicas[0].restart
    yield "a replica with data", world.replicas[1].restart
    for name, process in (("the relay", world.relay), ("the broker", world.broker)):
        if process is not None:
            yield name, process.restart
    yield "the producer", world.producer.restart


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
