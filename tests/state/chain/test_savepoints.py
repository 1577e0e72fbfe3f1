"""A chain can return to a savepoint after any later events. State, plugins, blocks, replies and the undo journal are then as they were.

`python -m tests.state.chain.test_savepoints FIRST COUNT` runs more random walks.
"""

import sys
from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.head_change import HeadChange
from state.chain.invariants import validate_invariants
from state.chain.savepoints import Savepoint
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.chain.state_edits import ScheduleHardfork, SetBalance
from state.operations.content import Comment, DeleteComment
from state.operations.custom import CustomJson
from state.plugins.registry import PLUGINS
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.tags.lists import discussions
from state.protocol.errors import ChainError
from state.protocol.keys.keys import derive_secret
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.conformance.play import Play
from tests.conftest import CASES
from tests.helpers.chains import UNSIGNED, chain_at, push
from tests.helpers.edits import ByFunction
from tests.helpers.model_state import SECRET, ModelState, as_sent, edited
from tests.helpers.nodes import SECRET as SECRET_OF_DEV
from tests.helpers.nodes import block_at, dev_chain, grown_chain, make_block, signed_transaction, transfer
from tests.helpers.savepoints import all_of, deep
from tests.state.chain.test_branches import NEW_KEY, rekey, twins
from tests.state.chain.test_chain_moves import branches, moves_of
from tests.state.chain.test_chain_random import Walk

STEPS, LONG = 60, 120
# Cases in which each kind of plugin data occurs.
CASES_OF_PLUGINS = ("communities", "discussions", "follows", "market_days", "rc_limits", "rewards")


def full_chain() -> Chain:
    """A dev chain at genesis with all plugins."""
    return dev_chain(*PLUGINS)


# ------------------------------------------------------------------ back and forth


def test_a_savepoint_below_irreversible_blocks_is_restored_repeatedly() -> None:
    chain = grown_chain(25, *PLUGINS)
    chain.push_transaction(transfer(chain, "waits"))
    before, now = deep(chain), chain.savepoint()
    for _ in range(3):
        for i in range(40):
            chain.push_transaction(transfer(chain, str(i)))
            make_block(chain)
        assert chain.irreversible > 25
        chain.restore(now)
        assert deep(chain) == before
    validate_invariants(chain.state)


def test_trials_between_the_steps_of_a_savepoint_are_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("state.store.rows", "state.store.lists", "state.store.slots"):
        monkeypatch.setattr(f"{module}.COPY_CHUNK", 1)
    chain = full_chain()
    for i in range(25):
        chain.push_transaction(transfer(chain, str(i)))
        make_block(chain)
    tried = transfer(chain, "tried")
    assert chain.pool.refusal_of(tried) is None  # leaves the coordinates of its last operation
    before, steps, trials = deep(chain), chain.savepoint_in_steps(), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            saved = end.value
            break
        assert chain.pool.refusal_of(tried) is None
        trials += 1
    assert trials > 100
    assert deep(chain) == before
    chain.push_transaction(transfer(chain, "more"))
    make_block(chain)
    chain.restore(saved)
    assert deep(chain) == before


def test_a_savepoint_at_genesis() -> None:
    chain = full_chain()
    genesis, before = chain.savepoint(), deep(chain)
    blocks = [make_block(chain, missed) for missed in (0, 3, 1)] + [make_block(chain) for _ in range(30)]
    moves = moves_of(chain)
    chain.restore(genesis)
    assert deep(chain) == before
    [change] = moves
    assert [block.id for block in change.popped] == [block.id for block in blocks[::-1]]
    assert change.popped[-1].number == 1
    assert [block.number for block in change.popped[-2:]] == [2, 1]
    assert not change.applied
    # The same block objects can be applied again.
    for block in blocks:
        chain.push_block(block)
    assert chain.head is blocks[-1]


def test_the_state_is_the_same_objects() -> None:
    """A restore keeps the row objects, because rules, plugins and caches hold references to rows and to methods of dictionaries."""
    chain = full_chain()
    make_block(chain)
    state = chain.state
    alice, get, by_name, props = state.account("alice"), state.accounts.get, state.accounts.by_name.get, state.props
    now, balance = chain.savepoint(), alice.balance
    for _ in range(30):
        chain.push_transaction(transfer(chain, str(_)))
        make_block(chain)
    assert alice.balance != balance
    chain.restore(now)
    assert alice.balance == balance
    assert state.account("alice") is alice is get(alice.id) is by_name("alice")
    assert state.props is props


def test_counters_of_pending_custom_operations_are_restored() -> None:
    """The counters are in the journal but not in a snapshot. Without them block production would fail after a restore."""
    chain = dev_chain()
    make_block(chain)
    for number in range(2):
        chain.push_transaction(custom(chain, number))
    saved = chain.savepoint()
    for _ in range(2):
        make_block(chain)
        for number in range(2, 7):
            chain.push_transaction(custom(chain, number))
        chain.restore(saved)
        for number in range(2, 5):
            chain.push_transaction(custom(chain, number))
        with pytest.raises(ChainError, match="already submitted 5 custom json"):
            chain.push_transaction(custom(chain, 5))
    assert len(make_block(chain).transactions) == 5


def custom(chain: Chain, number: int) -> SignedTransaction:
    """Return a signed transaction with a custom operation of alice."""
    operation = CustomJson((), ("alice",), "checkpoint", str(number))
    return signed_transaction(chain, [operation], derive_secret("alice", "posting", "dev"))


def test_blocks_popped_after_the_savepoint_are_applied_again() -> None:
    chain = dev_chain()
    blocks = [make_block(chain) for _ in range(5)]
    now, before = chain.savepoint(), deep(chain)
    chain.pop_blocks(2)
    other = make_block(chain, 1)
    moves = moves_of(chain)
    chain.restore(now)
    assert moves == [HeadChange(moves[0].popped, moves[0].applied)]
    assert [block.id for block in moves[0].popped] == [other.id]
    assert [block.id for block in moves[0].applied] == [block.id for block in blocks[3:]]
    assert deep(chain) == before


def test_restoring_at_the_same_head_calls_no_listener() -> None:
    chain = grown_chain(3)
    now, moves = chain.savepoint(), moves_of(chain)
    chain.push_transaction(transfer(chain))
    chain.edit(SetBalance("alice", Asset(7, COIN)))
    chain.restore(now)
    assert moves == []
    assert not chain.pending


def test_removed_rows_in_the_journal_are_restored() -> None:
    """A row that was removed is only in the journal. After a restore, undo must still insert it again with its old values."""
    chain = full_chain()
    make_block(chain)
    post = Comment(parent_permlink="life", author="alice", permlink="first", title="t", body="b")
    push(chain, post)
    chain.generate_block(slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET_OF_DEV, UNSIGNED)
    push(chain, DeleteComment(author="alice", permlink="first"))
    chain.generate_block(slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET_OF_DEV, UNSIGNED)
    now = chain.savepoint()
    chain.pop_blocks(1)
    chain.clear_pending()
    before = all_of(chain)
    row = chain.state.comments.by_permlink.find("alice", "first")
    # Undo reinserts the row, and then the row changes. The restore removes it from the table again.
    chain.edit(ByFunction(lambda state: state.comments.modify(row, reward_weight=1234)))
    chain.restore(now)
    chain.pop_blocks(1)
    chain.clear_pending()
    assert all_of(chain) == before
    assert row.reward_weight != 1234


def test_undoing_is_the_same_after_restoring() -> None:
    """Savepoints use the same journal records as the chain. An undo changes rows, but must not change the values in these records."""
    chain = dev_chain()
    for i in range(8):
        chain.push_transaction(transfer(chain, str(i)))
        make_block(chain, i % 3)
    now = chain.savepoint()
    chain.pop_blocks(4)
    chain.clear_pending()
    popped = all_of(chain)
    for _ in range(2):
        chain.restore(now)
        chain.pop_blocks(4)
        chain.clear_pending()
        assert {name: value for name, value in all_of(chain).items() if name != "branches"} == {
            name: value for name, value in popped.items() if name != "branches"
        }


def test_a_savepoint_stays_valid_after_an_earlier_one_is_restored() -> None:
    chain = full_chain()
    early = chain.savepoint()
    for i in range(30):
        chain.push_transaction(transfer(chain, str(i)))
        make_block(chain)
    late, before = chain.savepoint(), deep(chain)
    chain.restore(early)
    for _ in range(40):
        make_block(chain, 2)
    chain.restore(late)
    assert deep(chain) == before
    for number in range(1, 31):
        block_at(chain, number)


def test_branches_and_refused_blocks_are_restored() -> None:
    chain, first, second = branches()
    chain.push_block(second[0])
    now, before = chain.savepoint(), all_of(chain)
    for block in second[1:]:
        chain.push_block(block)
    assert chain.head is not None
    assert chain.head.id == second[-1].id
    moves = moves_of(chain)
    chain.restore(now)
    assert all_of(chain) == before
    assert [block.id for block in moves[0].popped] == [block.id for block in second[::-1]]
    assert [block.id for block in moves[0].applied] == [block.id for block in first]
    for block in second[1:]:
        chain.push_block(block)
    assert chain.head.id == second[-1].id


def test_derived_views_of_plugins_are_restored() -> None:
    """Views are computed from rows when they are read, and follow changes of rows. A restore must reset them, since it marks no row as
    changed.
    """
    chain = full_chain()
    make_block(chain)
    social = COMMUNITIES.of(chain.state)
    now = chain.savepoint()
    for permlink in ("first", "second"):
        tagged = '{"tags":["life"]}'
        push(chain, Comment(parent_permlink="life", author="alice", permlink=permlink, title="t", body="b", json_metadata=tagged))
        assert len(discussions(chain.state, "created", "life", 10)) == 1
        assert len(social.view.unpaid()) == len(list(social.view.newest_roots("life", None))) == 1
        chain.restore(now)
        assert not discussions(chain.state, "created", "life", 10)
        assert not social.view.unpaid()
        assert not list(social.view.newest_roots("life", None))


def test_the_signer_history_is_read_again() -> None:
    """The signer history refers to journal positions, and a restore reuses positions. It must therefore be recomputed after a restore."""
    chain, other = twins()
    now = chain.savepoint()
    for i in range(8):
        chain.push_transaction(transfer(chain, str(i)))
        make_block(chain)
    branch = make_block(other, 1)
    assert not chain.push_block(structs.replace(branch))
    chain.restore(now)
    chain.push_transaction(rekey(chain, NEW_KEY))
    make_block(chain)
    assert chain.state.witness("initminer").signing_key == NEW_KEY
    # The witness signed the block with the key that it had where the branch starts.
    assert not chain.push_block(structs.replace(branch))


def test_times_of_hardforks_are_restored() -> None:
    chain = chain_at(0)
    now, times = chain.savepoint(), list(chain.state.hardfork_times)
    ScheduleHardfork(5).make(chain.state)
    assert chain.state.hardfork_times != times
    chain.restore(now)
    assert chain.state.hardfork_times == times


# ------------------------------------------------------------------ recorded cases


@pytest.mark.parametrize("case", CASES_OF_PLUGINS)
def test_a_case_has_the_same_replies_after_restoring(case: str) -> None:
    """Replay a case with all queries. Then restore a savepoint in the middle of the case and one at genesis, and replay the rest after
    each.
    """
    played = Play(CASES / case, ("",))
    player = played.player
    player.looks = False
    middle = len(player.places) // 2
    genesis = player.chain.savepoint()
    player.advance(middle)
    halfway, before = player.chain.savepoint(), deep(player.chain)
    player.chain.restore(genesis)
    played.run()
    wrong = list(played.wrong)
    digest = state_digest(player.chain.state)
    player.chain.restore(halfway)
    assert deep(player.chain) == before
    for savepoint in (halfway, genesis):
        player.chain.restore(savepoint)
        player.fed = False
        played.wrong.clear()
        if savepoint is genesis:
            played.run()
            assert played.wrong == wrong
        else:
            player.advance(len(player.places))
        if not player.fed:
            assert state_digest(player.chain.state) == digest


# ------------------------------------------------------------------ random walks


class Returning(Walk):
    """A walk that sometimes restores a savepoint of its chain, and with it the walk's own records of blocks."""

    def __init__(self, seed: int) -> None:
        self.savepoints: list[tuple[Savepoint, Any, Any]] = []
        self.returns = 0
        super().__init__(seed)

    def steps(self) -> dict[Callable[[], None], int]:
        return super().steps() | {self.save: 3, self.go_back: 3}

    def save(self) -> None:
        """Take a savepoint, and copy the walk's records."""
        self.savepoints.append((self.chain.savepoint(), deep(self.chain), self.known()))

    def known(self) -> Any:
        """Return copies of the walk's records of blocks."""
        children, changes = ({key: list(value) for key, value in each.items()} for each in (self.children, self.changes))
        return dict(self.blocks), children, changes, self.siblings.copy(), list(self.log)

    def go_back(self) -> None:
        """Restore a random savepoint and drop the later ones."""
        if not self.savepoints:
            return
        del self.savepoints[self.random.randrange(len(self.savepoints)) + 1 :]
        savepoint, before, known = self.savepoints[-1]
        self.chain.restore(savepoint)
        self.returns += 1
        blocks, children, changes, siblings, log = known
        assert self.log == log, "the moves lead to the blocks of then"
        self.blocks, self.siblings = dict(blocks), siblings.copy()
        self.children, self.changes = defaultdict(list), defaultdict(list)
        self.children.update({key: list(value) for key, value in children.items()})
        self.changes.update({key: list(value) for key, value in changes.items()})
        self.digests.clear()
        assert deep(self.chain) == before


def returning(seed: int) -> Returning:
    """Run the walk of a seed and return it."""
    walked = Returning(seed)
    for _ in range(STEPS):
        walked.step()
        walked.check()
    return walked


def test_a_walk_among_branches_is_restored() -> None:
    assert returning(1).returns


def test_a_walk_of_operations_is_restored() -> None:
    """The walk uses operations of all classes, valid and mutated, in blocks and pending, over hundreds of blocks with all plugins."""
    random, model = Random(7), ModelState()
    chain, pool, names = model.chain, model.pool, model.names
    state = chain.state
    saved = [(chain.savepoint(), deep(chain))]
    returns = accepted = 0
    for _ in range(LONG):
        step = random.random()
        if step < 0.6:
            edits = [(random.randrange(12), random.randrange(2**16))] if random.random() < 0.3 else []
            operation = edited(random.choice(pool), edits, names)
            sent = as_sent(state.wire, SignedTransaction(expiration=state.head_time + 60, operations=(operation,)))
            if sent is not None:
                try:
                    chain.push_transaction(sent, UNSIGNED)
                    accepted += 1
                except ChainError:
                    pass
        elif step < 0.85:
            for _ in range(random.choice([1, 1, 2, 30])):
                missed = random.choice([0, 0, 1, 50])
                witness = scheduled_witness(state, missed + 1)
                chain.generate_block(slot_time(state, missed + 1), witness, SECRET, UNSIGNED | Skip.WITNESS_SIGNATURE)
        elif step < 0.9:
            if chain.main_branch.poppable:
                chain.pop_blocks(random.randint(1, chain.main_branch.poppable))
        elif step < 0.95:
            saved.append((chain.savepoint(), deep(chain)))
        else:
            del saved[random.randrange(len(saved)) + 1 :]
            chain.restore(saved[-1][0])
            assert deep(chain) == saved[-1][1]
            returns += 1
    assert accepted > LONG // 10
    assert returns > 2


def test_after_restoring_the_same_blocks_lead_to_the_same_state() -> None:
    """After a restore the same blocks lead to the same state as on a chain without a restore."""
    chain, twin = full_chain(), full_chain()
    blocks: list[SignedBlock] = []
    for i in range(25):
        chain.push_transaction(transfer(chain, str(i)))
        blocks.append(make_block(chain))
    now = chain.savepoint()
    for _ in range(30):
        make_block(chain, 1)
    chain.restore(now)
    for i in range(30):
        chain.push_transaction(transfer(chain, str(i)))
        blocks.append(make_block(chain, i % 2))
    for block in blocks:
        twin.push_block(structs.replace(block))
    chain.clear_pending()
    own = {"here", "marks", "main branch"}  # coordinates and flags of how the blocks came, and the objects of blocks
    assert {k: v for k, v in all_of(chain).items() if k not in own} == {k: v for k, v in all_of(twin).items() if k not in own}


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        print(seed, returning(seed).returns)
