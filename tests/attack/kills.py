"""Kills real nodes at random times: under load, during startup and replay, during a fork switch, while a snapshot is written.

After each kill the node starts on the same folder. Every acknowledged block must exist, and the log must be one complete chain. A seed
repeats the actions, but not the exact time of each kill.
"""

import shutil
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from msgspec import Struct

from node.storage.blockfile import BlockFile
from state.chain.chain import Chain
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.values.text import time_text
from tests.attack.nodes import Client, Crowd, Gone, Node, supported
from tests.helpers.nodes import DEV, SECRET, dev_chain

WORKERS = 2
SENDERS = 2
BLOCKS_MAX = 1200  # in a folder before a new one begins, which keeps replays short
# A kill follows a random number of replies and a random delay after the last one.
ANSWERS_MAX = 12
ANSWERS_SECONDS_MAX = 5.0
MOMENT_SECONDS_MAX = 0.03
PRODUCE_SECONDS_MAX = 4.0
LIFETIME = 3000  # seconds; blocks are made much faster than in real time
SENDER = derive_secret("alice", "active", "dev")
BLOCKS_MIN = 3
FORK_LENGTH_MAX = 12
# Relative frequencies of the kinds of kills that the node supports.
KINDS = {"load": 34, "blocks": 18, "start": 18, "fork": 24, "snapshot": 5, "produce": 1}
SNAPSHOT_OPTION = "--snapshot-every"


class Lost(AssertionError):
    """The node has lost a block or transaction that it acknowledged, or the blocks in its log don't form a chain."""


class Acknowledged(Struct):
    """The blocks and transactions that a node has acknowledged to clients for a data folder: the block id at each number, and the block of
    each transaction.
    """

    ids: list[bytes]
    head: int = 0
    transactions: dict[bytes, int] = {}


def run(count: int, seed: int) -> dict[str, int]:
    kinds = [kind for kind in KINDS if kind != "snapshot" or supported(SNAPSHOT_OPTION)]
    place = Path(tempfile.mkdtemp(prefix="coind-kills-"))
    parts = [count // WORKERS + (worker < count % WORKERS) for worker in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS) as pool:
        workers = [Worker(place / str(number), Random(f"{seed}/{number}"), kinds) for number in range(WORKERS)]
        ended = [pool.submit(worker.run, part) for worker, part in zip(workers, parts, strict=True)]
        problems = [error for each in ended if (error := each.exception()) is not None]
    if problems:
        raise problems[0]
    shutil.rmtree(place)
    total: Counter[str] = sum((worker.counts for worker in workers), Counter())
    return dict(total)


class Worker:
    """Starts and kills nodes. It uses one data folder after another."""

    def __init__(self, place: Path, random: Random, kinds: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.last = ""  # the kind of the last kill
        self._place, self._random, self._kinds = place, random, kinds
        self._folders = 0
        # Measured durations of a start and a switch, so that kills fall within them.
        self._start_seconds, self._switch_seconds = 0.5, 0.02
        self._switching = threading.Event()
        self._answers = 0
        self.data = place
        self.known = Acknowledged([])
        self.other = dev_chain()
        self.branch: list[SignedBlock] = []
        self._begin_folder()

    def run(self, kills: int) -> None:
        """Kill a node `kills` times, and start it again after each kill, including the last."""
        try:
            self._run(kills)
        except Lost as error:
            raise Lost(f"after {self.counts['kills']} kills, the last of them in {self.last}: {error}") from None

    def _run(self, kills: int) -> None:
        for _ in range(kills):
            kind = self._random.choices(self._kinds, [KINDS[name] for name in self._kinds])[0]
            self._kill_once(kind)
            self.last = kind
            self.counts["kills"] += 1
            self.counts[f"in {kind}"] += 1
            # After a block produced in real time, generated blocks would be ahead of the clock, and be refused.
            if len(self.known.ids) > BLOCKS_MAX or kind == "produce":
                self._checked_start("load").kill()
                self._begin_folder()
        self._checked_start("load").kill()

    def _begin_folder(self) -> None:
        """Begin a new folder and a new chain for competing branches."""
        if self._folders:
            shutil.rmtree(self.data)
        self._folders += 1
        self.data = self._place / f"data{self._folders}"
        self.known, self.other, self.branch = Acknowledged([]), dev_chain(), []

    def _kill_once(self, kind: str) -> None:
        """Start a node, send it requests, and kill it."""
        if kind == "start":
            node = self._node(kind)
            time.sleep(self._random.uniform(0.05, self._start_seconds * 1.1))
            node.kill()
            return
        if kind == "produce":
            # A node that doesn't produce blocks first verifies the result of the previous kill.
            self._checked_start("load").kill()
        node = self._checked_start(kind)
        crowd = Crowd()
        try:
            self._begin(node)
            if kind == "fork":
                self._kill_in_switch(node, crowd)
            elif kind == "produce":
                crowd.start(self._send, Client(node))
                time.sleep(self._random.uniform(0, PRODUCE_SECONDS_MAX))
            else:
                crowd.start(self._make_blocks, Client(node), 20 if kind == "blocks" else 1)
                for _ in range(0 if kind == "blocks" else SENDERS):
                    crowd.start(self._send, Client(node))
                self._wait_for_answers(self._random.randint(0, ANSWERS_MAX))
        finally:
            node.kill()
            crowd.end()

    def _begin(self, node: Node) -> None:
        """Make the first blocks if the folder has none."""
        client = Client(node)
        if len(self.known.ids) < BLOCKS_MIN:
            self._make_blocks(client, BLOCKS_MIN)
            self._check_log(client)
        self._answers = 0

    def _wait_for_answers(self, count: int) -> None:
        """Wait until clients have received `count` replies, and then for a random time."""
        latest = time.monotonic() + ANSWERS_SECONDS_MAX
        while self._answers < count and time.monotonic() < latest:
            time.sleep(0.001)
        time.sleep(self._random.uniform(0, MOMENT_SECONDS_MAX))

    def _kill_in_switch(self, node: Node, crowd: Crowd) -> None:
        """Start a client that sends a longer branch. Return at about the time when the node switches to it."""
        self._make_branch()
        self._switching.clear()
        crowd.start(self._push_branch, Client(node), crowd)
        self._switching.wait(ANSWERS_SECONDS_MAX)
        time.sleep(self._random.uniform(0, 1.3 * self._switch_seconds))

    # -------------------------------------------------------------- clients' actions

    def _make_blocks(self, client: Client, count: int) -> None:
        """Make the node generate blocks. Its reply acknowledges them."""
        head = client.health()["head_block_number"]
        reply = client.call("debug_node_api.debug_generate_blocks", {"debug_key": DEV.witness_keys[0], "count": count})
        made = reply["result"]["blocks"]
        self.known.head = max(self.known.head, head + made)
        self._answers += 1
        self.counts["blocks acknowledged"] += made

    def _send(self, client: Client) -> None:
        """Send a transaction and wait for its block."""
        trx = self._transaction(str(self._random.getrandbits(64)))
        shown = self.other.state.wire.transaction_to_json(trx, legacy=True)
        reply = client.call("condenser_api.broadcast_transaction_synchronous", [shown])
        if "result" in reply and not reply["result"]["expired"]:
            self.known.transactions[trx.id] = reply["result"]["block_num"]
            self.known.head = max(self.known.head, reply["result"]["block_num"])
            self._answers += 1
            self.counts["transactions acknowledged"] += 1

    def _transaction(self, memo: str) -> SignedTransaction:
        """Return a signed transfer from alice to bob that refers to the last acknowledged block."""
        state, last = self.other.state, self.known.ids[-1]
        fields = {
            "ref_block_num": len(self.known.ids) & 0xFFFF,
            "ref_block_prefix": int.from_bytes(last[4:8], "little"),
            "expiration": time_text(state.head_time + LIFETIME),
            "operations": [["transfer", {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": memo}]],
        }
        trx = state.wire.transaction_from_json(fields, legacy=True)
        trx.signatures = (sign(SENDER, state.wire.signature_digest(trx), Canonical.bip_0062),)
        return state.wire.seal(trx)

    def _push_branch(self, client: Client, crowd: Crowd) -> None:
        """Send the competing branch. The reply to its first block above the head acknowledges the switch."""
        wire, above = self.other.state.wire, len(self.known.ids)
        for place, block in enumerate(self.branch):
            start = time.monotonic()
            if block.number == above + 1:
                self._switching.set()
            reply = client.call("network_broadcast_api.broadcast_block", {"block": wire.block_to_json(block)})
            if "result" not in reply:
                raise Lost(f"block {block.number} of the longer branch was refused: {reply}")
            if block.number > above:
                self.known.ids = [*self.known.ids[: self.branch[0].number - 1], *[each.id for each in self.branch[: place + 1]]]
                self.known.head = block.number
            if block.number == above + 1:
                self._switch_seconds = 0.7 * self._switch_seconds + 0.3 * (time.monotonic() - start)
                self._forget_popped_transactions(self.other)
                self.counts["switches acknowledged"] += 1
        crowd.over.set()

    # -------------------------------------------------------------- other branches

    def _make_branch(self) -> None:
        """Make a branch one or two blocks longer than the node's, which forks at most FORK_LENGTH_MAX blocks back."""
        chain = self.other
        length = self._random.randint(1, min(FORK_LENGTH_MAX, len(self.known.ids) - 1))
        for _ in range(length):
            chain.pop_block()
        chain.clear_pending()
        self.branch = [new_block(chain, missed=1)]
        extra = self._random.randint(1, 2)
        self.branch += [new_block(chain) for _ in range(length - 1 + extra)]

    def _forget_popped_transactions(self, chain: Chain) -> None:
        """Remove the transactions that a branch switch has dropped from the acknowledged ones."""
        first = chain.state.props.head_block_number - FORK_LENGTH_MAX - 2
        there = {
            trx.id
            for number in range(max(1, first), chain.state.props.head_block_number + 1)
            if (block := chain.block_by_number(number)) is not None
            for trx in block.transactions
        }
        self.known.transactions = {
            trx_id: number for trx_id, number in self.known.transactions.items() if number < first or trx_id in there
        }

    # -------------------------------------------------------------- starts and checks

    def _node(self, kind: str) -> Node:
        options = ["--produce"] if kind == "produce" else ["--no-produce"]
        if kind == "snapshot":
            options += [SNAPSHOT_OPTION, str(self._random.randint(1, 10))]
        return Node(self._place / "output", "--data", self.data, *options)

    def _checked_start(self, kind: str) -> Node:
        """Start a node, and check that it still has every acknowledged block and transaction."""
        start = time.monotonic()
        node = self._node(kind)
        try:
            node.wait()
            self._start_seconds = 0.7 * self._start_seconds + 0.3 * (time.monotonic() - start)
            self._check_log(Client(node))
        except Gone as error:
            node.kill()
            raise Lost(f"{self.data}: {error}") from None
        except BaseException:
            node.kill()
            raise
        return node

    def _check_log(self, client: Client) -> None:
        """Compare the log with the acknowledged blocks. Any additional blocks in the log count as acknowledged from now on."""
        # Read the node's head first, since a producing node may have added blocks when its log is read.
        shown = client.health()
        blocks = read_log(self.data / "block_log", self.other)
        head, known = len(blocks), self.known
        there_ids = [bytes(20), *[block.id for block in blocks]]
        if shown["head_block_number"] > head or there_ids[shown["head_block_number"]].hex() != shown["head_block_id"]:
            raise Lost(f"{self.data}: the head is {shown['head_block_number']}, the log ends with block {head}")
        if head < known.head:
            raise Lost(f"{self.data}: the head is {head}, {known.head} was acknowledged")
        ids = [block.id for block in blocks]
        if ids[: len(known.ids)] != known.ids:
            self._accept_branch(ids)
        there = {trx.id: block.number for block in blocks for trx in block.transactions}
        missing = [trx_id.hex() for trx_id, number in known.transactions.items() if there.get(trx_id) != number]
        if missing:
            raise Lost(f"{self.data}: {len(missing)} acknowledged transactions are missing: {missing[:3]}")
        known.ids, known.head, self.branch = ids, head, []
        follow(self.other, blocks)
        self.counts["starts checked"] += 1

    def _accept_branch(self, ids: list[bytes]) -> None:
        """Accept a branch switch whose reply was lost. Raises Lost unless the log contains the longer branch."""
        branch = [block.id for block in self.branch]
        first = self.branch[0].number if self.branch else 0
        if not branch or len(ids) <= len(self.known.ids) or ids[first - 1 :] != branch[: len(ids) - first + 1]:
            known = [*self.known.ids, b""]
            place = next(i for i, pair in enumerate(zip([*ids, b""], known, strict=False)) if pair[0] != pair[1])
            raise Lost(f"{self.data}: block {place + 1} of {len(known) - 1} differs or is missing; the head is {len(ids)}")
        self._forget_popped_transactions(self.other)
        self.counts["switches not answered"] += 1


def new_block(chain: Chain, missed: int = 0) -> SignedBlock:
    """Make the chain's next block after `missed` missed slots."""
    state = chain.state
    return chain.generate_block(slot_time(state, missed + 1), scheduled_witness(state, missed + 1), SECRET)


def read_log(path: Path, chain: Chain) -> list[SignedBlock]:
    """Return the blocks of a log, which must form a chain."""
    file = BlockFile(path, chain.state.wire)
    try:
        blocks = list(file)
    finally:
        file.close()
    before = bytes(20)
    for number, block in enumerate(blocks, 1):
        if block.number != number or block.previous != before:
            raise Lost(f"{path}: block {number} doesn't follow the one before it")
        before = block.id
    return blocks


def follow(chain: Chain, blocks: list[SignedBlock]) -> None:
    """Pop blocks of `chain` that are not in `blocks`, the blocks of a log, then push the blocks that it lacks."""
    while chain.state.props.head_block_number and not is_on(chain, blocks):
        chain.pop_block()
    chain.clear_pending()
    for block in blocks[chain.state.props.head_block_number :]:
        chain.push_block(block)
    assert chain.state.props.head_block_id == (blocks[-1].id if blocks else bytes(20))


def is_on(chain: Chain, blocks: list[SignedBlock]) -> bool:
    """Whether the chain's head is one of these blocks."""
    number = chain.state.props.head_block_number
    return number <= len(blocks) and blocks[number - 1].id == chain.state.props.head_block_id
