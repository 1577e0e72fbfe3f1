"""The chain of a reader: it always reaches the state of the owner's chain, including its pending transactions."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.devchain.devchain import DevChain
from node.ipc.channel import HEAD, framed
from node.replicas.readers.messages import Changes, FromOwner, Sync
from node.replicas.readers.publisher import Publisher
from node.replicas.readers.reader_chain import ReaderChain
from rpc.push.header import edits_fingerprint
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.protocol.spec import ChainSpec
from tests.helpers.based import based, fork_of_young_chain
from tests.helpers.followed import new_site
from tests.helpers.here import Here
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import DEV, transfer
from tests.node.replicas.follow.test_replica_applier import step

STEPS = 60


class Line:
    """A channel without a socket: it encodes each message, decodes it, and immediately applies it to the reader's chain."""

    def __init__(self, replica: ReaderChain) -> None:
        self.replica = replica
        self.is_closed = False
        self.kinds = Counter[str]()

    def send(self, message: object) -> None:
        """Encode a message, and apply it."""
        self.send_framed(framed(message))

    def send_framed(self, data: bytes) -> None:
        """Decode a framed message, and apply it."""
        said: Any = msgspec.msgpack.decode(data[HEAD.size :], type=FromOwner)
        self.kinds[type(said).__name__] += 1
        if isinstance(said, Sync):
            self.replica.load(said)
            assert not Path(said.path).parent.exists()
        else:
            assert isinstance(said, Changes)
            assert self.replica.apply(said) == ""

    def close(self) -> None:
        """Record that the owner has closed the channel."""
        self.is_closed = True


class Pair:
    """A chain that the test changes, and the chain of a reader that follows it."""

    def __init__(self, spec: ChainSpec = DEV, base: Path | None = None) -> None:
        # As in a reader process, the reader's chain has the owner's spec and begins with the owner's dump.
        self.owner, self.reader = new_site(spec, is_producing=True, base=base), new_site(spec)
        self.chain: Chain = self.owner.chain
        self.devchain: DevChain = self.owner.devchain
        self.devchain.make_first_blocks()
        self.publisher = Publisher(self.chain, self.devchain, Here)
        self.replica = ReaderChain(self.reader.chain, self.reader.devchain, self.reader.time_limit)
        self.line = Line(self.replica)
        self.publisher.add(self.line)  # type: ignore[arg-type]

    def compare(self) -> None:
        """Publish the changes, and assert that both chains are equal."""
        self.publisher.flush()
        mine, other = self.chain, self.reader.chain
        assert not self.line.is_closed
        assert [trx.id for trx in other.pending] == [trx.id for trx in mine.pending]
        assert other.state.props.head_block_id == mine.state.props.head_block_id
        assert other.irreversible == mine.irreversible
        assert state_digest(other.state) == state_digest(mine.state)
        assert self.reader.devchain.seconds_ahead == self.devchain.seconds_ahead
        head = mine.state.props.head_block_number
        assert edits_fingerprint(other, head) == edits_fingerprint(mine, head)


@pytest.fixture
def pair() -> Pair:
    """A chain with its first blocks, and a reader's copy of it."""
    return Pair()


@pytest.fixture(params=[False, True])
def any_pair(request: pytest.FixtureRequest) -> Pair:
    """A chain from genesis or from a base, and a reader's copy of it."""
    return Pair(**based(fork_of_young_chain()) if request.param else {})


def test_pending_transactions_are_sent_once(pair: Pair) -> None:
    for memo in ("one", "two"):
        pair.chain.push_transaction(transfer(pair.chain, memo))
        pair.compare()
    list(pair.devchain.mine(2))
    pair.compare()
    pair.chain.pop_blocks(2)
    pair.compare()
    list(pair.devchain.mine(1))
    pair.compare()
    assert pair.line.kinds == {"Sync": 1, "Changes": 5}


def test_drops_and_impersonation_are_followed(pair: Pair) -> None:
    pair.chain.impersonate(is_everyone=True)
    trx = transfer(pair.chain)
    trx.signatures = ()
    pair.chain.push_transaction(pair.chain.state.wire.seal(trx))
    pair.compare()
    assert pair.reader.chain.state.impersonated.is_everyone
    list(pair.devchain.mine(1))
    pair.compare()
    pair.chain.push_transaction(transfer(pair.chain))
    pair.compare()
    pair.devchain.drop_pending()
    pair.compare()
    list(pair.devchain.advance(1000))
    pair.compare()


def test_a_reader_out_of_sync_waits_for_a_dump(pair: Pair) -> None:
    pair.reader.chain.pop_blocks(3)
    list(pair.devchain.mine(1))
    with pytest.raises(AssertionError):
        pair.publisher.flush()
    assert pair.replica.is_out_of_sync
    list(pair.devchain.mine(1))
    pair.publisher.flush()
    assert pair.reader.chain.state.props.head_block_number == 22
    pair.publisher.add(pair.line)  # type: ignore[arg-type]
    pair.compare()


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_lead_to_the_same_state(any_pair: Pair, seed: int) -> None:
    pair = any_pair
    draw, kinds = random.Random(seed), Counter[str]()
    for _ in range(STEPS):
        step(pair, draw, kinds)  # type: ignore[arg-type]
        if draw.random() < 0.1:
            pair.devchain.drop_pending()
        if draw.random() < 0.6:
            pair.compare()
    pair.compare()
    assert {"edit", "send", "broadcast", "pop"} <= kinds.keys()


def test_a_dump_that_can_not_be_written_closes_the_channel(pair: Pair) -> None:
    class Failed(Here):
        def __init__(self, work: Callable[[], object]) -> None:
            self._status = 1

        def message(self) -> str:
            return "no room left"

    pair.publisher._fork = Failed
    line = Line(pair.replica)
    line.send = lambda message: None  # type: ignore[method-assign]
    pair.publisher.add(line)  # type: ignore[arg-type]
    with capture_logs() as logged:
        pair.publisher.check_dumps()
    assert [entry["reason"] for entry in logged] == ["no room left"]
    assert (line.is_closed, pair.publisher.is_loading(line)) == (True, False)  # type: ignore[arg-type]
