"""A chain that follows another chain through its packed stream always reaches the same state."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.history.apply import BlockRefused
from node.replicas.follow.replica_applier import ForkDetected, ForkTooDeep, Gap, ReplicaApplier
from node.replicas.follow.stream_lines import read_header, read_packed
from rpc.push.events import BlocksRemoved, Event, Heartbeat, NewBlock
from rpc.push.header import edits_fingerprint
from rpc.push.hub import Hub
from rpc.push.stream import BlockStream
from state.chain.digest import state_digest
from state.chain.state_edits import SetBalance, SetVests
from state.protocol.errors import ChainError
from state.protocol.values.asset import COIN, VESTS, Asset
from tests.helpers.based import based, fork_of_young_chain
from tests.helpers.followed import new_site
from tests.helpers.golden import fails
from tests.helpers.nodes import transfer
from tests.simulation.rivals import made_branch

STEPS = 60


class Pair:
    """A chain that the test changes, a replica that follows it, and the stream between them."""

    def __init__(self, **given: Any) -> None:
        self.owner, self.replica = new_site(is_producing=True, **given), new_site(**given)
        self.chain, self.devchain = self.owner.chain, self.owner.devchain
        self.hub = Hub(self.chain, self.owner.clock)
        self.devchain.make_first_blocks()
        self.connect()

    def connect(self) -> None:
        """Open a stream that begins at the replica's head, as a replica does after a restart."""
        replica = self.replica
        self.applier = ReplicaApplier(replica.chain, reset=replica.devchain.reset)
        first = max(self.chain.base + 1, self.applier.next - 1)
        header = read_header(self.hub.header(first))
        if header.edits != edits_fingerprint(replica.chain, first - 1):
            list(self.applier.revert_to(self.chain.base))
        elif header.head < self.applier.next - 1 or not self.is_same(self.applier.next - 1):
            common = next(number for number in range(header.head, self.chain.base - 1, -1) if self.is_same(number))
            list(self.applier.revert_to(common))
        self._context = self.hub.stream(max(self.chain.base + 1, self.applier.next - 1), irreversible=False, packed=True)
        self.stream: BlockStream = self._context.__enter__()

    def is_same(self, number: int) -> bool:
        """Whether both chains have the same block with this number."""
        ours, theirs = self.replica.chain.block_by_number(number), self.chain.block_by_number(number)
        return number == self.chain.base or (ours is not None and theirs is not None and ours.id == theirs.id)

    def disconnect(self) -> None:
        """Close the stream."""
        self._context.__exit__(None, None, None)

    def events(self) -> list[Event]:
        """Return the events that are in the stream now."""
        found: list[Event] = []
        while piece := self.stream.piece():
            for line in piece.splitlines():
                said = read_packed(line)
                assert not isinstance(said, Heartbeat)
                found.append(said)
        return found

    def follow(self) -> None:
        """Apply the events in the stream to the replica, and compare the two chains."""
        self.applier.apply(*self.events())
        self.compare()

    def compare(self) -> None:
        """Assert that both chains have the same head and state, ignoring pending transactions."""
        mine, other = self.chain, self.replica.chain
        now = mine.savepoint()
        mine.clear_pending()
        expected = mine.state.props.head_block_number, state_digest(mine.state)
        mine.restore(now)
        assert (other.state.props.head_block_number, state_digest(other.state)) == expected


@pytest.fixture
def pair() -> Pair:
    """A chain with its first blocks, and a replica that follows it."""
    return Pair()


@pytest.fixture(params=[False, True])
def any_pair(request: pytest.FixtureRequest) -> Pair:
    """A chain from genesis or from a base, and a replica that follows it."""
    return Pair(**based(fork_of_young_chain()) if request.param else {})


def test_blocks_and_edits_are_applied(pair: Pair) -> None:
    pair.follow()
    pair.chain.push_transaction(transfer(pair.chain))
    list(pair.devchain.mine(3))
    pair.chain.edit(SetBalance("alice", Asset(5, COIN)))
    pair.follow()
    pair.chain.edit(SetBalance("bob", Asset(7, COIN)))
    assert [type(event) for event in pair.events()] == [NewBlock]
    pair.chain.edit(SetVests("bob", Asset(10**13, VESTS)))
    list(pair.devchain.mine(2))
    pair.follow()


def test_blocks_of_impersonated_accounts_are_applied(pair: Pair) -> None:
    pair.chain.impersonate(is_everyone=True)
    trx = transfer(pair.chain)
    trx.signatures = ()
    pair.chain.push_transaction(pair.chain.state.wire.seal(trx))
    list(pair.devchain.mine(1))
    pair.follow()
    assert pair.replica.chain.head.transactions  # type: ignore[union-attr]


def test_an_edit_of_an_irreversible_head_can_be_reverted(pair: Pair) -> None:
    moment = pair.devchain.snapshot()
    pair.chain.edit(SetBalance("alice", Asset(5, COIN)))
    pair.follow()
    pair.devchain.revert(moment)
    pair.follow()


def test_a_loaded_dump_replaces_edits_of_the_head(pair: Pair, tmp_path: Path) -> None:
    without, edited = str(tmp_path / "without"), str(tmp_path / "edited")
    pair.devchain.dump(without)
    pair.chain.edit(SetBalance("alice", Asset(5, COIN)))
    pair.devchain.dump(edited)
    pair.follow()
    for path in (without, edited):
        pair.devchain.load(path)
        pair.follow()
    list(pair.devchain.mine(1))
    pair.follow()


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_lead_to_the_same_state(any_pair: Pair, seed: int) -> None:
    pair = any_pair
    draw, kinds = random.Random(seed), Counter[str]()
    for _ in range(STEPS):
        kind = step(pair, draw, kinds)
        if kind == "cut":
            pair.disconnect()
            for _ in range(draw.randint(0, 3)):
                step(pair, draw, kinds)
            pair.connect()
        if draw.random() < 0.6:
            pair.follow()
    pair.follow()
    assert {"edit", "revert", "broadcast", "pop"} <= kinds.keys()


def step(pair: Pair, draw: random.Random, kinds: Counter[str]) -> str:
    """Make a random change to the followed chain. Return the name of the kind of change."""
    chain, devchain = pair.chain, pair.devchain

    def broadcast() -> None:
        depth = draw.randint(1, 3)
        parent = chain.block_by_number(chain.state.props.head_block_number - depth)
        if parent is not None:
            for block in made_branch(parent, depth + draw.randint(0, 1)):
                chain.push_block(block)

    todo: dict[str, Callable[[], object]] = {
        "mine": lambda: list(devchain.mine(draw.choice((1, 1, 2, 5)))),
        "edit": lambda: chain.edit(SetBalance(draw.choice(("alice", "bob")), Asset(draw.randrange(10**9), COIN))),
        "send": lambda: chain.push_transaction(transfer(chain, memo=str(draw.random()))),
        "pop": lambda: chain.pop_blocks(draw.randint(1, 4)),
        "broadcast": broadcast,
        "snapshot": devchain.snapshot,
        "revert": lambda: devchain.revert(draw.choice(devchain.snapshots or [1])),
        "reset": devchain.reset,
        "cut": lambda: None,
    }
    kind = draw.choices(list(todo), [4, 3, 2, 1, 2, 1, 2, 0.2, 1])[0]
    try:
        todo[kind]()
        kinds[kind] += 1
    except ChainError:
        kinds[f"{kind} refused"] += 1
    return kind


def test_an_event_that_can_not_be_applied_is_an_error(pair: Pair) -> None:
    pair.follow()
    list(pair.devchain.mine(2))
    one, two = [event for event in pair.events() if isinstance(event, NewBlock)]
    with fails(Gap):
        pair.applier.apply(two)
    with fails(BlockRefused):
        pair.applier.apply(NewBlock(one.number, one.id, one.packed[:-1]))
    with fails(BlockRefused):
        pair.applier.apply(NewBlock(one.number, one.id, two.packed))
    damaged = one.packed[:70] + bytes([one.packed[70] ^ 1]) + one.packed[71:]
    block = pair.chain.state.wire.unpack_block(damaged)[0]
    with fails(BlockRefused):
        pair.applier.apply(NewBlock(26, block.id, damaged))
    pair.applier.apply(one)
    parent = pair.chain.block_by_number(24)
    assert parent is not None
    rival = made_branch(parent, 2, (transfer(pair.chain),))[1]
    with fails(ForkDetected):
        pair.applier.apply(NewBlock(26, rival.id, pair.chain.state.wire.pack_block(rival)))
    pair.applier.apply(two)
    pair.compare()


def test_only_test_chains_revert_irreversible_blocks(pair: Pair) -> None:
    pair.follow()
    strict = ReplicaApplier(pair.replica.chain)
    with fails(ForkTooDeep):
        strict.apply(BlocksRemoved(2, 25))
    pair.compare()
    pair.applier.apply(BlocksRemoved(2, 25))
    assert pair.replica.chain.state.props.head_block_number == 1
