"""Pending transactions: refusals, and the order in which they are included when not all fit into a block."""

from contextlib import suppress
from typing import Any

import pytest

from state.chain import pending, production
from state.chain.chain import Chain
from state.chain.pending import POSTPONED_MAX, FairOrder, first_signer, held_by
from state.chain.production import block_room
from state.chain.slots import scheduled_witness, slot_time
from state.chain.transactions import SIZE_MARGIN
from state.operations.transfers import Transfer
from state.protocol.errors import Refused, UnreadableBlock
from state.protocol.operation import Operation
from state.protocol.transaction import ExampleRequiredAction, SignedTransaction
from state.protocol.values.asset import COIN, Asset
from state.tables import State
from tests.helpers.actions import push_required_action
from tests.helpers.chains import UNSIGNED, transaction
from tests.helpers.nodes import SECRET, grown_chain, make_block


def started() -> Chain:
    """A chain with 25 blocks. The first round of witnesses is over, and has set the maximum block size."""
    return grown_chain(25)


def pay(source: str = "alice", memo: str = "", to: str = "bob") -> Transfer:
    return Transfer(from_=source, to=to, amount=Asset(1, COIN), memo=memo)


def send(chain: Chain, *operations: Operation, **limits: Any) -> SignedTransaction:
    """Push a transaction with these operations, and return it."""
    trx = transaction(chain, *operations)
    head = chain.state.props
    trx.ref_block_num, trx.ref_block_prefix = head.head_block_number & 0xFFFF, int.from_bytes(head.head_block_id[4:8], "little")
    chain.state.wire.seal(trx)
    chain.push_transaction(trx, UNSIGNED, **limits)
    return trx


def pays(size: int, account: str = "alice") -> list[Operation]:
    """Return transfers with memos of about `size` bytes."""
    return [pay(account, str(place) + "m" * min(2000, left), "initminer") for place, left in enumerate(range(size, 0, -2000))]


def make(chain: Chain) -> tuple[SignedTransaction, ...]:
    """Make a block and return its transactions."""
    return chain.generate_block(slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET, UNSIGNED).transactions


def test_the_largest_transaction_that_is_accepted_fits_into_the_next_block() -> None:
    chain = started()
    most = chain.state.props.maximum_block_size - SIZE_MARGIN
    operations = pays(most - 4000)
    left = most - transaction(chain, *operations, pay()).size
    rest = [pay(memo="m" * (left // 2 - 21)), pay(memo="m" * (left - left // 2 - 20))]
    with pytest.raises(Refused):
        send(chain, *operations, *rest, pay())
    assert not chain.pending
    largest = send(chain, *operations, *rest)
    assert most - 20 < largest.size <= most
    assert make(chain) == (largest,)


def test_pending_required_actions_reserve_room() -> None:
    chain = started()
    state = chain.state
    most = state.props.maximum_block_size
    assert block_room(state) == most
    push_required_action(state, ExampleRequiredAction("alice"), state.head_time + 3600)
    assert block_room(state) == most * 3 // 4


def test_large_transactions_do_not_delay_small_ones() -> None:
    chain = started()
    size = block_room(chain.state) * 3 // 5
    names = ("alice", "bob", "carol", "dave", "erin", "erin", "erin", "erin", "erin", "erin", "erin")
    large = [send(chain, *pays(size - place, name)) for place, name in enumerate(names)]
    small = send(chain, pay("frank"))
    blocks = [make(chain) for _ in large]
    assert small in blocks[0]
    # Each block has room for one large transaction. Every account gets one included before any account gets its second.
    taken = [trx for block in blocks for trx in block if trx is not small]
    assert sorted(map(id, taken)) == sorted(map(id, large))
    assert {first_signer(trx) for trx in taken[:5]} == set(names)


def test_accounts_alternate_when_not_all_transactions_fit() -> None:
    chain = started()
    many = [send(chain, pay("alice", memo=f"{number}" + "x" * 900)) for number in range(200)]
    few = [send(chain, pay("bob", str(number), "carol")) for number in range(3)]
    taken = make(chain)
    assert set(map(id, few)) < set(map(id, taken))
    while chain.pending:
        taken += make(chain)
    assert [trx for trx in taken if trx not in few] == many


def test_only_transactions_in_the_block_count_against_an_accounts_share() -> None:
    chain = started()
    few = [transaction(chain, pay("carol", str(number))) for number in range(4)]
    many = [transaction(chain, pay("alice", str(number))) for number in range(6)]
    order, taken = FairOrder([*many, *few], 1000), []
    for trx in order:
        if trx in many[:2]:
            continue  # it is refused
        order.take()
        taken.append(first_signer(trx))
    assert taken == ["alice", "carol"] * 4


def test_senders_of_refused_transactions_are_left_out_after_a_limit() -> None:
    chain = started()
    order = FairOrder([transaction(chain, pay("alice", str(number))) for number in range(20)], 1000)
    assert len(list(order)) == POSTPONED_MAX + 1


def test_a_block_has_a_limit_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = started()
    sent = [send(chain, *[pay() for _ in range(number + 5)]) for number in range(6)]
    monkeypatch.setattr(production, "BLOCK_UNITS_MAX", sent[0].units + sent[1].units)
    assert [make(chain) for _ in range(4)] == [(sent[0], sent[1]), (sent[2],), (sent[3],), (sent[4],)]
    # A transaction whose work exceeds the block's limit gets a block by itself.
    heavy = send(chain, *[pay() for _ in range(20)])
    light = send(chain, pay("bob", to="carol"))
    assert [make(chain) for _ in range(3)] == [(sent[5], light), (heavy,), ()]


def test_an_account_may_hold_as_much_as_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = started()
    size = held_by(transaction(chain, pay(memo="1")))[0]
    monkeypatch.setattr(pending, "PENDING_SIZE_MAX", 10 * size)
    monkeypatch.setattr(pending, "LITTLE_SIZE", 0)
    for number in range(5):
        send(chain, pay(memo=str(number)))
    with pytest.raises(Refused) as caught:
        send(chain, pay(memo="6"))
    assert caught.value.values["account"] == "alice"
    assert caught.value.values["max"] == 10 * size
    for name in ("bob", "carol", "dave"):
        send(chain, pay(name, to="alice", memo="1"))
    assert chain.pending.size == sum(held_by(trx)[0] for trx in chain.pending) <= 10 * size
    make(chain)
    send(chain, pay(memo="6"))


def test_a_new_account_gets_a_place_among_full_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = started()
    size = held_by(transaction(chain, pay(memo="10")))[0]
    monkeypatch.setattr(pending, "PENDING_SIZE_MAX", 30 * size)
    monkeypatch.setattr(pending, "LITTLE_SIZE", 0)
    for name in ("alice", "bob", "carol", "dave", "erin"):
        for number in range(30):
            with suppress(Refused):
                send(chain, pay(name, f"{number + 10}", "initminer"))
    with pytest.raises(Refused):
        send(chain, pay("frank", "10", "alice"))
    monkeypatch.setattr(pending, "LITTLE_SIZE", 5 * size // 2)
    monkeypatch.setattr(pending, "KEPT_SIZE", 3 * size)
    for memo in ("10", "11"):
        send(chain, pay("frank", memo, "alice"))
    # There is a limit for each account, and one for all accounts together.
    for name in ("frank", "alice"):
        with pytest.raises(Refused):
            send(chain, pay(name, "99", "initminer"))
    send(chain, pay("grace", "10", "alice"))
    with pytest.raises(Refused):
        send(chain, *[pay("ivan", "10", "alice")] * 2)
    assert 30 * size < chain.pending.size <= 33 * size


def test_the_size_of_pending_transactions_follows_every_change() -> None:
    chain = started()
    send(chain, pay())
    savepoint = chain.savepoint()
    make(chain)
    assert chain.pending.size == 0
    chain.pop_block()
    make_block(chain)
    chain.restore(savepoint)
    assert chain.pending.size == held_by(chain.pending[0])[0]
    chain.clear_pending()
    assert (len(chain.pending), chain.pending.size) == (0, 0)


@pytest.mark.parametrize("are_tried", [True, False])
def test_a_transaction_that_needs_an_unreadable_block_is_dropped(monkeypatch: pytest.MonkeyPatch, are_tried: bool) -> None:
    chain = started()
    send(chain, pay(memo="bad"))
    good = send(chain, pay(memo="good"))
    apply = Transfer.apply

    def unreadable(operation: Transfer, state: State) -> None:
        if operation.memo == "bad":
            raise UnreadableBlock(1, "the operation is not in block 1")
        apply(operation, state)

    monkeypatch.setattr(Transfer, "apply", unreadable)
    if are_tried:
        # The transaction could be applied before, so the producer puts it into the block without trying it again.
        with pytest.raises(UnreadableBlock):
            make(chain)
        assert list(chain.pending) == [good]
    else:
        monkeypatch.setattr(production, "all_selectable", lambda *_: False)
    assert make(chain) == (good,)
    assert not chain.pending
