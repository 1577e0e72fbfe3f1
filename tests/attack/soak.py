"""A long run under mixed load: a producing node with a data folder, whose memory, files and threads must stay bounded.

The state grows with the chain, so the memory limit is per transaction and per block. Everything else must not grow.
"""

import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import Wire
from tests.attack.hostile import LANES, is_remote, read
from tests.attack.nodes import Client, Crowd, Node, running
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import kept_inputs
from tests.helpers.attackers import ONE_SHOT, Target, shoot
from tests.helpers.mutations import damaged
from tests.helpers.nodes import DEV

NAMES = tuple(account.name for account in DEV.genesis.accounts)
SAMPLES = 60
# The warm-up as a fraction of the run. Afterwards only the state may grow.
WARM_UP = 0.25
# Memory growth after the warm-up: a fixed allowance, and one for each transaction (its rows, history, bytes) and each block.
MEMORY_KB_MAX = 64_000
TRANSACTION_KB_MAX, BLOCK_KB_MAX = 8, 16
DESCRIPTORS_MORE_MAX = 16
PAUSE_SECONDS = 0.01
LIFETIME = 60
LOOK_SECONDS = 0.05


class Sample(Struct, frozen=True):
    seconds: float
    memory_kb: int
    descriptors: int
    threads: int
    blocks: int
    transactions: int


def run(count: int, seed: int) -> dict[str, int]:
    """Load a node for `count` seconds."""
    random = Random(seed)
    folder = tempfile.TemporaryDirectory(prefix="coind-soak-")
    with folder as place, running(Path(place), "--data", Path(place) / "data", "--produce") as node:
        users = Users(node, random)
        crowd = Crowd()
        for work in (users.send, users.send, users.ask, users.ask, users.send_invalid, users.attack):
            crowd.start(work, Client(node))
        samples = watch(node, users, count)
        crowd.end()
        assert node.is_running, f"the node has ended: {node.words()}"
        assert node.stop() == 0, node.words()
        assert "Traceback" not in node.words(), node.words()
    return checked_figures(samples, users.counts)


class Users:
    """The clients that load the node."""

    def __init__(self, node: Node, random: Random) -> None:
        self.counts: Counter[str] = Counter()
        self._node, self._random, self._wire = node, random, Wire(DEV)
        self._requests = [request for path in kept_inputs(TARGETS["rpc"]) if is_remote(request := read(path))]

    def send(self, client: Client) -> None:
        """Broadcast transfers, posts, votes and follows."""
        head = client.call("condenser_api.get_dynamic_global_properties", [])["result"]
        name, other = self._random.sample(NAMES, 2)
        role, operation = self._operation(name, other)
        shown = {
            "ref_block_num": head["head_block_number"] & 0xFFFF,
            "ref_block_prefix": int.from_bytes(bytes.fromhex(head["head_block_id"])[4:8], "little"),
            "expiration": head["time"],
            "operations": [operation],
        }
        trx = self._wire.transaction_from_json(shown, legacy=True)
        trx.expiration += LIFETIME
        self._wire.seal(trx)
        trx.signatures = (sign(derive_secret(name, role, "dev"), self._wire.signature_digest(trx), Canonical.bip_0062),)
        reply = client.call("condenser_api.broadcast_transaction", [self._wire.transaction_to_json(self._wire.seal(trx), legacy=True)])
        self.counts["transactions" if "result" in reply else "transactions refused"] += 1
        time.sleep(PAUSE_SECONDS)

    def ask(self, client: Client) -> None:
        """Send ordinary queries."""
        request = self._random.choice(self._requests)
        client.ask("POST", "/", json.dumps(request).encode())
        self.counts["queries"] += 1
        time.sleep(PAUSE_SECONDS)

    def send_invalid(self, client: Client) -> None:
        client.ask("POST", "/", damaged(self._random, self._random.choice(self._requests)))
        self.counts["damaged requests"] += 1
        time.sleep(PAUSE_SECONDS)

    def attack(self, client: Client) -> None:
        """Send a hostile request over a separate connection."""
        lane = self._random.choice(list(LANES.values()))
        request = self._random.choice([*ONE_SHOT.values(), lane(damaged(self._random, self._random.choice(self._requests)))])
        shoot(Target(self._node.port), request, LOOK_SECONDS)
        self.counts["hostile requests"] += 1

    def _operation(self, name: str, other: str) -> tuple[str, list[Any]]:
        """Return a random operation and the role that signs it."""
        tag = str(self._random.getrandbits(48))
        kind = self._random.randrange(10)
        if kind < 6:
            return "active", ["transfer", {"from": name, "to": other, "amount": "0.001 COIN", "memo": tag}]
        if kind < 8:
            follow = json.dumps(["follow", {"follower": name, "following": other, "what": self._random.choice((["blog"], []))}])
            return "posting", ["custom_json", {"required_auths": [], "required_posting_auths": [name], "id": "follow", "json": follow}]
        post = {"parent_author": "", "parent_permlink": "soak", "author": name, "permlink": f"p{tag}", "title": tag}
        return "posting", ["comment", {**post, "body": f"text {tag} " * 20, "json_metadata": '{"tags":["soak"]}'}]


def watch(node: Node, users: Users, seconds: int) -> list[Sample]:
    """Sample the node periodically for `seconds`."""
    samples: list[Sample] = []
    client, start = Client(node), time.monotonic()
    while (passed := time.monotonic() - start) < seconds:
        blocks = client.health()["head_block_number"]
        threads = len(list(Path(f"/proc/{node.pid}/task").iterdir()))
        samples.append(Sample(passed, node.memory_kb(), node.descriptors(), threads, blocks, users.counts["transactions"]))
        time.sleep(seconds / SAMPLES)
    return samples


def checked_figures(samples: list[Sample], counts: Counter[str]) -> dict[str, int]:
    """Return the measurements. Raises AssertionError if one has grown beyond its limit."""
    warm = samples[int(len(samples) * WARM_UP)]
    last = samples[-1]
    transactions, blocks = last.transactions - warm.transactions, last.blocks - warm.blocks
    grown = last.memory_kb - warm.memory_kb
    figures = {
        **counts,
        "blocks": last.blocks,
        "memory_mb_after_the_warm-up": warm.memory_kb // 1000,
        "memory_mb_at_the_end": last.memory_kb // 1000,
        "bytes_a_transaction_at_most": max(0, grown * 1000 // max(transactions, 1)),
        "files_open_after_the_warm-up": warm.descriptors,
        "files_open_at_most_then": max(sample.descriptors for sample in samples[samples.index(warm) :]),
        "threads": last.threads,
    }
    bound = MEMORY_KB_MAX + transactions * TRANSACTION_KB_MAX + blocks * BLOCK_KB_MAX
    assert grown <= bound, f"memory has grown by {grown:,} kB, the limit for {transactions:,} transactions is {bound:,} kB: {figures}"
    assert last.descriptors <= warm.descriptors + DESCRIPTORS_MORE_MAX, f"open files have grown: {figures}"
    assert last.threads <= warm.threads + 2, f"threads have grown: {figures}"
    assert blocks > 0, f"no blocks were produced: {figures}"
    return figures
