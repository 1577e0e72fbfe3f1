"""Random walks of a chain among valid and invalid branches. After each step the state must equal that of a new chain with the same main
branch.

A seed determines a walk. `python -m tests.state.chain.test_chain_random FIRST COUNT` runs more walks.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from random import Random

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.debug import set_signing_key
from state.chain.digest import state_digest
from state.chain.fork_database import SIBLINGS_MAX
from state.chain.head_change import HeadChange
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key, secret_from_seed
from state.protocol.transaction import ZERO_ID, SignedBlock
from state.tables import State
from tests.helpers.edits import ByFunction
from tests.helpers.nodes import SECRET, block_at, dev_chain, signed_block, transfer
from tests.state.chain.test_branches import rekey
from tests.state.chain.test_chain_moves import spoiled

SECRETS = [SECRET, *(secret_from_seed(f"walk {i}") for i in range(4))]
BY_KEY = {public_key(secret): secret for secret in SECRETS}
COMMON = 22  # blocks that all branches begin with; from block 21 on there are two witnesses
STEPS = 40


class Walk:
    """A chain, and all blocks ever produced for it, keyed by id, with their child blocks and their state edits."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.chain = dev_chain()
        self.blocks: dict[bytes, SignedBlock] = {}
        self.children: dict[bytes, list[bytes]] = defaultdict(list)
        self.changes: dict[bytes, list[Callable[[Chain], None]]] = defaultdict(list)
        self.siblings: Counter[tuple[int, str]] = Counter()
        self.digests: dict[tuple[bytes, int], str] = {}
        self.log: list[bytes] = []
        self.switches = self.refusals = 0
        self.chain.on_head_change.append(self._moved)
        for number in range(1, COMMON + 1):
            if number == 3:
                self.chain.push_transaction(rekey(self.chain, public_key(SECRETS[1]), "alice"))
            self._make(self.chain, 0)
            assert self.chain.head is not None
            self._know(self.chain.head)

    def _moved(self, move: HeadChange) -> None:
        """Record changes of the head in the same way as a block log."""
        for block in move.popped:
            assert self.log.pop() == block.id
        for block in move.applied:
            assert block.previous == (self.log[-1] if self.log else ZERO_ID)
            self.log.append(block.id)

    def _know(self, block: SignedBlock) -> None:
        self.blocks[block.id] = block
        self.children[block.previous].append(block.id)
        self.siblings[block.number, block.witness] += 1

    def _make(self, chain: Chain, missed: int) -> SignedBlock:
        """Produce a block of a chain, signed with the key of its scheduled witness."""
        state = chain.state
        # A pending transaction can contain a new signing key, which is valid only after the block.
        waiting = chain.pool.undo()
        name = scheduled_witness(state, missed + 1)
        secret = BY_KEY[state.witness(name).signing_key]
        chain.pool.apply_again(waiting, Skip.NOTHING)
        return chain.generate_block(slot_time(state, missed + 1), name, secret)

    def path(self, block_id: bytes) -> list[SignedBlock]:
        """Return the blocks from the first one up to this one."""
        found = []
        while block_id != ZERO_ID:
            found.append(self.blocks[block_id])
            block_id = found[-1].previous
        return found[::-1]

    def fresh(self, block_id: bytes) -> Chain:
        """Return a new chain with the blocks up to this one."""
        chain = dev_chain()
        for block in self.path(block_id):
            chain.push_block(structs.replace(block))
            for change in self.changes[block.id]:
                change(chain)
        return chain

    def is_open(self, block_id: bytes) -> bool:
        """Whether a branch that extends this block can still become the main branch."""
        last = self.chain.state.props.last_irreversible_block_num
        return self.path(block_id)[last - 1].id == self.log[last - 1] if len(self.path(block_id)) >= last else False

    # -------------------------------------------------------------- steps

    def new_block(self, parent: bytes) -> SignedBlock:
        """Return a valid block after a known one, sometimes with transactions: payments and new keys of witnesses."""
        chain = self.fresh(parent)
        for i in range(self.random.randrange(3)):
            chain.push_transaction(transfer(chain, str(self.random.random()) + str(i)))
        if self.random.random() < 0.2:
            owner = self.random.choice(["initminer", "alice"])
            chain.push_transaction(rekey(chain, public_key(self.random.choice(SECRETS)), owner))
        return self._make(chain, self.random.choice([0, 0, 1, 2, 5]))

    def parent(self) -> bytes:
        """Return the block on which the next block is built: the head, the last block of the longest other branch, or any recent block."""
        others = [block for block in self.blocks.values() if block.id not in self.log[-40:]]
        longest = max(others, key=lambda block: block.number, default=self.blocks[self.log[-1]])
        return self.random.choice([self.log[-1], longest.id, longest.id, self.random.choice(list(self.blocks.values())[COMMON - 6 :]).id])

    def push_good(self) -> None:
        parent = self.parent()
        block = self.new_block(parent)
        if block.id in self.blocks or self.siblings[block.number, block.witness] >= SIBLINGS_MAX:
            return
        props = self.chain.state.props
        is_longer, follows, is_open = block.number > props.head_block_number, parent == self.log[-1], self.is_open(parent)
        if not is_open:
            with pytest.raises(ChainError):
                self.chain.push_block(structs.replace(block))
            self.refusals += 1
            return
        self._know(block)
        # A valid block is never refused, and the longest branch is the main branch.
        assert self.chain.push_block(structs.replace(block)) == (is_longer and not follows)
        assert (props.head_block_id == block.id) == is_longer
        self.switches += is_longer and not follows

    def push_bad(self) -> None:
        parent = self.parent()
        block = structs.replace(self.new_block(parent))
        if self.siblings[block.number, block.witness] >= SIBLINGS_MAX or not self.is_open(parent):
            return
        wire, head = self.chain.state.wire, self.log[-1]
        kind = self.random.randrange(5)
        if kind == 0:
            block.witness_signature = bytes(65)
        elif kind == 1:
            block = signed_block(self.chain, block, secret_from_seed("nobody"))
        elif kind == 2:
            block.transaction_merkle_root = bytes(range(20))
        elif kind == 3:
            block.witness = "bob"
        else:
            block = spoiled(self.chain, block)
            block = signed_block(self.chain, block, BY_KEY[self.fresh(parent).state.witness(block.witness).signing_key])
        wire.seal_block(block)
        try:
            assert not self.chain.push_block(block)
            # While its branch isn't longer, an invalid block is stored only if its fault is found when it is applied.
            assert kind == 4
            self.siblings[block.number, block.witness] += 1
        except ChainError:
            self.refusals += 1
            if kind == 4:
                self.siblings[block.number, block.witness] += 1
        assert self.log[-1] == head

    def push_known(self) -> None:
        block = self.random.choice(list(self.blocks.values())[-8:])
        before = self.log[-1]
        if self.is_open(block.id) and block.number >= self.chain.state.props.last_irreversible_block_num:
            self.chain.push_block(structs.replace(block))
            # After blocks were popped, the branch of a known block can be the longest.
            assert self.log[-1] == (block.id if block.number > self.blocks[before].number else before)

    def push_unlinked(self) -> None:
        block = SignedBlock(previous=(30).to_bytes(4, "big") + bytes(16), timestamp=self.chain.state.head_time + 3, witness="initminer")
        with pytest.raises(ChainError):
            self.chain.push_block(signed_block(self.chain, block, SECRET))

    def push_transaction(self) -> None:
        self.chain.push_transaction(transfer(self.chain, str(self.random.random())))

    def change(self) -> None:
        """Edit the state at the head, unless a block on top of the head has been produced before."""
        head = self.log[-1]
        if self.children[head]:
            return
        if self.random.random() < 0.5:
            name, key = self.random.choice(["initminer", "alice"]), public_key(self.random.choice(SECRETS))

            def change(chain: Chain) -> None:
                set_signing_key(chain, name, key, Skip.NOTHING)
        else:
            rate = self.random.randrange(1000)

            def change(chain: Chain) -> None:
                def set_rate(state: State) -> None:
                    state.set_props(sbd_interest_rate=rate)

                chain.edit(ByFunction(set_rate))

        change(self.chain)
        self.changes[head].append(change)

    def pop(self) -> None:
        if self.chain.state.props.head_block_number > COMMON:
            head = self.log[-1]
            self.chain.pop_block()
            # Popping a block drops its edits, and so the recorded digests.
            if self.changes.pop(head, None):
                self.digests.clear()

    def produce(self) -> None:
        chain = self.chain
        block = self._make(chain, self.random.choice([0, 1]))
        if block.id not in self.blocks:
            self._know(block)

    def step(self) -> None:
        """Take one step."""
        steps = self.steps()
        self.random.choices(list(steps), list(steps.values()))[0]()

    def steps(self) -> dict[Callable[[], None], int]:
        """Return the kinds of steps, each with its relative frequency."""
        return {
            self.push_good: 10,
            self.push_bad: 5,
            self.push_known: 2,
            self.push_unlinked: 1,
            self.push_transaction: 3,
            self.change: 2,
            self.pop: 1,
            self.produce: 3,
        }

    def check(self) -> None:
        """Compare all tables of the chain with those of a new chain with the same blocks."""
        chain = self.chain
        assert self.log[-1] == chain.state.props.head_block_id
        waiting = chain.pool.undo()
        digest = state_digest(chain.state)
        for _, table in chain.state.tables():
            table.check()
        chain.pool.apply_again(waiting, Skip.NOTHING)
        head = self.log[-1]
        place = head, len(self.changes[head])
        if place not in self.digests:
            self.digests[place] = state_digest(self.fresh(head).state)
        assert digest == self.digests[place]
        for number, block_id in enumerate(self.log, 1):
            assert block_at(chain, number).id == block_id
        taken = sum(len(block.packed) + 1024 for block in chain.forks._others.values())
        assert chain.forks.bytes_used == taken + sum(refusal.bytes_used for refusal in chain.forks._refused.values())
        assert len(chain.forks._siblings) <= len(chain.forks._others) + len(chain.forks._refused)


def walk(seed: int) -> Walk:
    """Run the walk of a seed and return it."""
    walking = Walk(seed)
    for _ in range(STEPS):
        walking.step()
        walking.check()
    return walking


@pytest.mark.parametrize("seed", [4, 9, 12])
def test_the_state_is_that_of_the_main_branch(seed: int) -> None:
    walked = walk(seed)
    assert walked.refusals
    assert walked.switches


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    done = Counter[str]()
    for seed in range(first, first + count):
        try:
            walked = walk(seed)
        except BaseException:
            print(f"seed {seed}")
            raise
        done.update(switches=walked.switches, refusals=walked.refusals, heights=len(walked.log))
    print(count, done)
