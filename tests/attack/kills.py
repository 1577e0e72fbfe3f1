"""Kills of real nodes at random moments: under load, at the start and in the replay, in a fork switch, while a snapshot is taken.

Each kill is followed by a start on the same folder: everything that was acknowledged must be there, and the log must be one whole chain.
The moments are random, so a seed repeats what is done, not the instant at which it ends.
"""

import shutil
import tempfile
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
from tests.attack.nodes import Client, Crowd, Gone, Node, supported
from tests.helpers.nodes import DEV, SECRET, dev_chain

WORKERS = 2
SENDERS = 2
BLOCKS_MAX = 1200  # in a folder, before a new one is begun: a replay takes long otherwise
LOAD_SECONDS_MAX = 0.5
PRODUCE_SECONDS_MAX = 4.0
LIFETIME = 3000  # seconds; blocks come much faster than slots
FORK_LENGTH_MAX = 12
# Of how many kills each kind gets one part, where the node can do it.
KINDS = {"load": 34, "blocks": 18, "start": 18, "fork": 24, "snapshot": 5, "produce": 1}
SNAPSHOT_OPTION = "--snapshot-every"


class Lost(AssertionError):
    """Something that was acknowledged is not there, or what is there is no chain."""


class Acknowledged(Struct):
    """What clients of one folder know to be there: ids of blocks by number, and the blocks that transactions are in."""

    ids: list[bytes]
    head: int = 0
    transactions: dict[bytes, int] = {}


def run(count: int, seed: int) -> dict[str, int]:
    """Kill nodes so often."""
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
    """Kills nodes on one folder after the other."""

    def __init__(self, place: Path, random: Random, kinds: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._place, self._random, self._kinds = place, random, kinds
        self._folders = 0
        self._start_seconds = 0.5
        self._renew()

    def run(self, kills: int) -> None:
        """Kill so often; the last kill is followed by a start, too."""
        for _ in range(kills):
            kind = self._random.choices(self._kinds, [KINDS[name] for name in self._kinds])[0]
            self._one(kind)
            self.counts["kills"] += 1
            self.counts[f"in {kind}"] += 1
            if len(self.known.ids) > BLOCKS_MAX:
                self._checked_start("load").kill()
                self._renew()
        self._checked_start("load").kill()

    def _renew(self) -> None:
        """Begin a new folder, with a chain beside it that makes other branches."""
        if self._folders:
            shutil.rmtree(self.data)
        self._folders += 1
        self.data = self._place / f"data{self._folders}"
        self.known = Acknowledged([])
        self.other = dev_chain()
        self.branch: list[SignedBlock] = []

    def _one(self, kind: str) -> None:
        """Start a node, let it do something, and kill it."""
        if kind == "start":
            node = self._node(kind)
            time.sleep(self._random.uniform(0.05, self._start_seconds * 1.1))
            node.kill()
            return
        node = self._checked_start(kind)
        crowd = Crowd()
        try:
            if kind == "fork":
                self._prepare_fork(node)
                crowd.start(self._push_branch, Client(node), crowd)
                time.sleep(self._random.uniform(0, 0.02 + 0.004 * len(self.branch)))
            else:
                step = 20 if kind == "blocks" else 1
                if kind != "produce":
                    crowd.start(self._make_blocks, Client(node), step)
                senders = range(SENDERS) if kind != "blocks" else ()
                for sender in senders:
                    crowd.start(self._send, Client(node), sender)
                time.sleep(self._random.uniform(0, PRODUCE_SECONDS_MAX if kind == "produce" else LOAD_SECONDS_MAX))
        finally:
            node.kill()
        crowd.end()

    # -------------------------------------------------------------- what clients do

    def _make_blocks(self, client: Client, count: int) -> None:
        """Make blocks by hand, which the answer acknowledges."""
        head = client.health()["head_block_number"]
        reply = client.call("debug_node_api.debug_generate_blocks", {"debug_key": DEV.witness_keys[0], "count": count})
        made = reply["result"]["blocks"]
        self.known.head = max(self.known.head, head + made)
        self.counts["blocks acknowledged"] += made

    def _send(self, client: Client, sender: int) -> None:
        """Send a transaction and wait for its block."""
        trx = self._transaction(client, f"{sender} {self._random.getrandbits(64)}")
        shown = self.other.state.wire.transaction_to_json(trx, legacy=True)
        reply = client.call("condenser_api.broadcast_transaction_synchronous", [shown])
        if "result" in reply and not reply["result"]["expired"]:
            self.known.transactions[trx.id] = reply["result"]["block_num"]
            self.known.head = max(self.known.head, reply["result"]["block_num"])
            self.counts["transactions acknowledged"] += 1

    def _transaction(self, client: Client, memo: str) -> SignedTransaction:
        """A signed transfer from alice to bob."""
        head = client.call("condenser_api.get_dynamic_global_properties", [])["result"]
        wire = self.other.state.wire
        fields = {
            "ref_block_num": head["head_block_number"] & 0xFFFF,
            "ref_block_prefix": int.from_bytes(bytes.fromhex(head["head_block_id"])[4:8], "little"),
            "expiration": head["time"],
            "operations": [["transfer", {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": memo}]],
        }
        trx = wire.transaction_from_json(fields, legacy=True)
        trx.expiration += LIFETIME
        wire.seal(trx)
        trx.signatures = (sign(derive_secret("alice", "active", "dev"), wire.signature_digest(trx), Canonical.bip_0062),)
        return wire.seal(trx)

    def _push_branch(self, client: Client, crowd: Crowd) -> None:
        """Send the other branch; the last block's answer acknowledges the switch."""
        wire = self.other.state.wire
        for block in self.branch:
            reply = client.call("network_broadcast_api.broadcast_block", {"block": wire.block_to_json(block)})
            if "result" not in reply:
                raise Lost(f"block {block.number} of the longer branch was refused: {reply}")
        self.known.ids = [*self.known.ids[: self.branch[0].number - 1], *[block.id for block in self.branch]]
        self.known.head = self.branch[-1].number
        self._keep_transactions_of(self.other)
        self.branch = []
        self.counts["switches acknowledged"] += 1
        crowd.over.set()

    # -------------------------------------------------------------- other branches

    def _prepare_fork(self, node: Node) -> None:
        """Make a branch that is longer than the node's by one or two blocks, from up to FORK_LENGTH_MAX blocks back."""
        client = Client(node)
        while len(self.known.ids) < 3:
            self._make_blocks(client, 2)
            self._check_log(client)
        chain = self.other
        length = self._random.randint(1, min(FORK_LENGTH_MAX, len(self.known.ids) - 2))
        for _ in range(length):
            chain.pop_block()
        chain.clear_pending()
        self.branch = [new_block(chain, missed=1)]
        extra = self._random.randint(1, 2)
        self.branch += [new_block(chain) for _ in range(length - 1 + extra)]

    def _keep_transactions_of(self, chain: Chain) -> None:
        """Forget the transactions that are not in the branch that was switched to."""
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
        """Start a node and check that everything acknowledged is there."""
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
        """Compare the log with what was acknowledged; what else is in it counts as acknowledged from now on."""
        blocks = read_log(self.data / "block_log", self.other)
        head, known = len(blocks), self.known
        shown = client.health()
        if (shown["head_block_number"], shown["head_block_id"]) != (head, blocks[-1].id.hex() if blocks else bytes(20).hex()):
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
        """A switch that was not answered may have happened, but only as a whole."""
        if not self.branch or ids[-1:] != [self.branch[-1].id]:
            place = next(i for i, pair in enumerate(zip([*ids, b""], [*self.known.ids, b""], strict=False)) if pair[0] != pair[1])
            raise Lost(f"{self.data}: block {place + 1} of {len(self.known.ids)} is another one or missing; the head is {len(ids)}")
        self._keep_transactions_of(self.other)
        self.counts["switches not answered"] += 1


def new_block(chain: Chain, missed: int = 0) -> SignedBlock:
    """Let a chain make its next block."""
    state = chain.state
    return chain.generate_block(slot_time(state, missed + 1), scheduled_witness(state, missed + 1), SECRET)


def read_log(path: Path, chain: Chain) -> list[SignedBlock]:
    """The blocks of a log, which must be a chain."""
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
    """Bring the other chain to a log's head."""
    while chain.state.props.head_block_number and not is_on(chain, blocks):
        chain.pop_block()
    chain.clear_pending()
    for block in blocks[chain.state.props.head_block_number :]:
        chain.push_block(block)
    assert chain.state.props.head_block_id == (blocks[-1].id if blocks else bytes(20))


def is_on(chain: Chain, blocks: list[SignedBlock]) -> bool:
    """Whether a chain's head is one of some blocks."""
    number = chain.state.props.head_block_number
    return number <= len(blocks) and blocks[number - 1].id == chain.state.props.head_block_id
