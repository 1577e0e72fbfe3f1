"""A walk: a chain and its rival produce random blocks, lose and regain contact, and pop blocks. The events of the chain are recorded."""

from collections import Counter
from random import Random

from msgspec import Struct, structs

from state.chain.chain import Chain
from state.chain.slots import scheduled_witness, slot_time
from state.plugins.registry import PLUGINS
from state.protocol.errors import ChainError
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.helpers.nodes import SECRET, block_at, dev_chain
from tests.random_walks.operations import PASSWORD, key_of, operations

BLOCKS_FIRST = 24  # enough to make the first of them irreversible
STEPS = 100
POPPED_MAX = 4
APART_MAX = 18  # blocks after which a disconnected rival is replaced
LIFETIMES = (6, 60, 3600)
# Slots missed before a block, with their relative frequencies: none, one, a round, a little more, an hour, a day, and a week, after which
# payouts and power-downs are due.
GAPS = ((0, 60), (1, 10), (20, 4), (25, 2), (1200, 4), (28_800, 2), (201_700, 1))


class Event(Struct, frozen=True):
    """An event of the chain: a transaction or a block as bytes, or a number of popped blocks.

    `secret` is the signing key if the chain produced the block. `refusal` is the text of the refusal, if there was one.
    """

    kind: str
    data: bytes = b""
    secret: bytes = b""
    count: int = 0
    refusal: str = ""


def new_chain() -> Chain:
    """A chain at genesis with all plugins."""
    return dev_chain(*PLUGINS)


class Walk:
    """A chain, the events that led to its state, and a second chain, the rival, with which it exchanges blocks."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.chain, self.rival = new_chain(), new_chain()
        self.events: list[Event] = []
        self.counts: Counter[str] = Counter()
        self.is_apart = False

    def run(self, steps: int = STEPS) -> "Walk":
        """Take `steps` random steps. At the end, reconnect the chain with its rival."""
        for number in range(BLOCKS_FIRST):
            if number > BLOCKS_FIRST // 2:
                self.send()
            self.make()
        todo = {self.send: 40, self.make: 22, self.produce_rival_block: 12, self.part: 5, self.meet: 4, self.pop: 3, self.disturb: 3}
        for _ in range(steps):
            self.draw.choices(list(todo), list(todo.values()))[0]()
        self.meet()
        self.make()
        return self

    # -------------------------------------------------------------- steps

    def send(self) -> None:
        """Push random transactions to both chains, or only to the rival."""
        for _ in range(self.draw.randint(1, 4)):
            chain = self.draw.choice((self.chain, self.chain, self.rival))
            trx = self.transaction(chain)
            if chain is self.chain or not self.is_apart:
                self._note("transaction", self.chain.state.wire.pack_transaction(trx))
            attempt(self.rival, lambda trx=trx: self.rival.push_transaction(trx))

    def transaction(self, chain: Chain) -> SignedTransaction:
        """Return a signed transaction that refers to a chain's head or to an earlier block."""
        state, draw = chain.state, self.draw
        found, name, role = operations(state, draw)
        head = chain.head
        assert head is not None
        block = draw.choice([head, head, head, chain.forks.on_main_branch(head.number - 1) or head])
        trx = SignedTransaction(
            ref_block_num=block.number & 0xFFFF,
            ref_block_prefix=int.from_bytes(block.id[4:8], "little"),
            expiration=state.head_time + draw.choice(LIFETIMES),
            operations=tuple(found),
        )
        wire = state.wire
        secret = derive_secret(draw.choice((name,) * 30 + ("nobody",)), role, PASSWORD)
        trx.signatures = (sign(secret, wire.signature_digest(wire.seal(trx)), Canonical.bip_0062),)
        return wire.seal(trx)

    def make(self) -> None:
        """Produce a block and send it to the rival unless the chains are disconnected."""
        block, secret = produce_block(self.chain, self.draw)
        self.counts["transactions in blocks"] += len(block.transactions)
        self.events.append(Event("made", self.chain.state.wire.pack_block(block), secret))
        if not self.is_apart:
            push_to_peer(self.rival, block)

    def produce_rival_block(self) -> None:
        """Produce a block of the rival and send it to the chain unless they are disconnected."""
        block, _ = produce_block(self.rival, self.draw)
        if not self.is_apart:
            self._push(block)

    def part(self) -> None:
        """Disconnect the chain from its rival, so that neither receives the other's blocks."""
        self.is_apart = True

    def meet(self) -> None:
        """Exchange the branches of both chains. A rival whose branch is too old is replaced."""
        self.is_apart = False
        for block in branch(self.rival, self.chain):
            self._push(block)
        for block in branch(self.chain, self.rival):
            push_to_peer(self.rival, block)
        if self.chain.state.props.head_block_number - common(self.chain, self.rival) > APART_MAX:
            self.rival = new_chain()
            for number in range(1, self.chain.state.props.head_block_number + 1):
                push_to_peer(self.rival, block_at(self.chain, number))

    def pop(self) -> None:
        """Pop some blocks of the chain."""
        count = min(self.draw.randint(1, POPPED_MAX), self.chain.main_branch.poppable)
        if count:
            self.events.append(Event("pop", count=count))
            self.chain.pop_blocks(count)
            self.counts["blocks popped"] += count

    def disturb(self) -> None:
        """Push a block that the chain already has, or a damaged copy of such a block."""
        last = self.chain.state.props.head_block_number
        source = self.draw.choice((self.chain, self.rival))
        block = block_at(source, self.draw.randint(max(1, last - 25), source.state.props.head_block_number))
        copy = structs.replace(block)
        damage = self.draw.randrange(4)
        if damage == 1:
            copy.witness_signature = bytes(65)
        elif damage == 2:
            copy.transaction_merkle_root = bytes(range(20))
        elif damage == 3:
            copy.timestamp += 3
        self._push(source.state.wire.seal_block(copy))

    # -------------------------------------------------------------- recording of events

    def _push(self, block: SignedBlock) -> None:
        before = self.chain.state.props.head_block_id
        self._note("block", self.chain.state.wire.pack_block(block))
        after = self.chain.state.props.head_block_id
        self.counts["switches"] += before not in (after, block.previous)

    def _note(self, kind: str, data: bytes) -> None:
        """Apply an event to the chain and record it."""
        refusal = apply_event(self.chain, Event(kind, data))
        self.counts[f"{kind}s"] += 1
        self.counts[f"{kind}s refused"] += bool(refusal)
        self.events.append(Event(kind, data, refusal=refusal))


def produce_block(chain: Chain, draw: Random) -> tuple[SignedBlock, bytes]:
    """Produce a block after a random gap. Return it with the producer's key."""
    gaps, weights = zip(*GAPS, strict=True)
    slot = draw.choices(gaps, weights)[0] + 1
    state = chain.state
    name, when = scheduled_witness(state, slot), slot_time(state, slot)
    key = key_at_head(chain, name)
    found = [role for role in ("active", "posting") if key_of(name, role) == key]
    secret = derive_secret(name, found[0], PASSWORD) if found else SECRET
    return chain.generate_block(when, name, secret), secret


def key_at_head(chain: Chain, name: str) -> bytes:
    """Return a witness's signing key at the head block. Pending transactions, which can change the key, are left out."""
    table, row = chain.state.witnesses, chain.state.witness(name)
    writes = [] if chain.pool.position is None else table.writes_since(chain.pool.position)
    earlier = (old["signing_key"] for _, changed, old in writes if changed is row and old is not None and "signing_key" in old)
    return next(earlier, row.signing_key)


def apply_event(chain: Chain, event: Event) -> str:
    """Apply an event to a chain as if a peer had sent it. Return the text of the refusal, or ""."""
    wire = chain.state.wire
    if event.kind == "transaction":
        return attempt(chain, lambda: chain.push_transaction(wire.unpack_transaction(event.data)))
    if event.kind == "pop":
        chain.pop_blocks(event.count)
        return ""
    return attempt(chain, lambda: chain.push_block(wire.unpack_block(event.data)[0]))


def attempt(chain: Chain, work: object) -> str:
    """Run `work` and return the text of the refusal, or ""."""
    assert callable(work)
    try:
        work()
    except ChainError as error:
        return error.message(chain.state.spec.spell)
    return ""


def push_to_peer(chain: Chain, block: SignedBlock) -> None:
    """Push a block as if a peer had sent it, ignoring a refusal."""
    wire = chain.state.wire
    attempt(chain, lambda: chain.push_block(wire.unpack_block(wire.pack_block(block))[0]))


def common(one: Chain, other: Chain) -> int:
    """Return the number of the last common block of two main branches."""
    number = min(one.state.props.head_block_number, other.state.props.head_block_number)
    while number and block_at(one, number).id != block_at(other, number).id:
        number -= 1
    return number


def branch(source: Chain, target: Chain) -> list[SignedBlock]:
    """Return the blocks on the source's main branch that the target's main branch lacks."""
    return [block_at(source, number) for number in range(common(source, target) + 1, source.state.props.head_block_number + 1)]
