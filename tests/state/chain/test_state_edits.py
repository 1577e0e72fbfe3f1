"""State edits: their effect on the state and the supplies, refusals, the block that an edit belongs to, and its encoding."""

from typing import Any

import pytest

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.invariants import validate_invariants
from state.chain.slots import scheduled_witness, slot_time
from state.chain.state_edits import (
    EDIT_SIZE_MAX,
    ImportRows,
    ScheduleHardfork,
    SetAuthority,
    SetBalance,
    SetSigningKey,
    SetVests,
    StateEdit,
    read_edit,
    write_edit,
)
from state.operations.accounts import AccountCreate
from state.operations.vesting import DelegateVestingShares, WithdrawVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote
from state.plugins.account_by_key import references
from state.plugins.rc.plugin import RC
from state.plugins.rc.rows import maximum_rc
from state.plugins.registry import PLUGINS
from state.portable import pack_batch
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import ChainError
from state.protocol.keys.keys import NULL_KEY, public_key, secret_from_seed
from state.protocol.transaction import block_number
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, symbol_from_digits
from state.snapshot.image import head_of, parts_of, restore
from state.tables import State
from state.tables.smt import SmtToken
from tests.helpers.chains import UNSIGNED, add_account, chain_at, push
from tests.helpers.edits import ByFunction
from tests.helpers.golden import fails
from tests.helpers.nodes import SECRET, block_at, copy_of, dev_chain, grown_chain, make_block, transfer

KEY = public_key(secret_from_seed("other"))
TOKEN = symbol_from_digits(1_000, 3)


@pytest.fixture
def chain() -> Chain:
    return grown_chain(3, *PLUGINS)


def refused(chain: Chain, edit: StateEdit) -> str:
    """Return the text with which an edit is refused. The refusal must change nothing."""
    head_id, sidecars = chain.state.props.head_block_id, chain.sidecars
    before = state_digest(chain.state), sidecars.edits_of(head_id), sidecars.is_changed_by_hand
    with pytest.raises(ChainError) as caught:
        chain.edit(edit)
    assert (state_digest(chain.state), sidecars.edits_of(head_id), sidecars.is_changed_by_hand) == before
    return caught.value.message(chain.state.spec.spell)


# ------------------------------------------------------------------ effects


@pytest.mark.parametrize("amount", [0, 1, 5_000_000, 2**62])
def test_a_balance_of_coin(chain: Chain, amount: int) -> None:
    state = chain.state
    before, supply, virtual = state.account("alice").balance, state.props.current_supply, state.props.virtual_supply
    chain.edit(SetBalance("alice", Asset(amount, COIN)))
    assert state.account("alice").balance == amount
    assert state.props.current_supply == supply + amount - before
    assert state.props.virtual_supply == virtual + amount - before
    validate_invariants(state)


@pytest.mark.parametrize("amount", [0, 1, 5_000_000])
def test_a_balance_of_sbd_pays_interest_first(chain: Chain, amount: int) -> None:
    state = chain.state
    make_block(chain, 20 * 60 * 24 * 40)
    chain.edit(SetBalance("alice", Asset(amount, SBD)))
    alice = state.account("alice")
    assert alice.sbd_balance == amount
    assert alice.sbd_seconds_last_update == state.head_time
    validate_invariants(state)


def test_a_balance_of_sbd_on_a_chain_without_a_price(chain: Chain) -> None:
    chain.edit(ByFunction(lambda state: state.feed_histories.modify(state.feed, current_median_history=NULL_PRICE)))
    chain.edit(SetBalance("alice", Asset(777, SBD)))
    assert chain.state.account("alice").sbd_balance == 777
    validate_invariants(chain.state)


def test_a_balance_of_a_token(chain: Chain) -> None:
    chain.edit(ByFunction(lambda state: state.smt_tokens.insert(SmtToken(liquid_symbol=TOKEN, control_account="alice"))))
    chain.edit(SetBalance("bob", Asset(500, TOKEN)))
    chain.edit(SetBalance("bob", Asset(300, TOKEN)))
    [row] = chain.state.regular_balances
    assert (row.owner, row.liquid) == ("bob", 300)
    validate_invariants(chain.state)


@pytest.mark.parametrize("factor", [0, 1, 2, 1000])
def test_vests(chain: Chain, factor: int) -> None:
    """The edit updates totals, the price of VESTS, mana, credits, and the votes of the account and of its proxy."""
    state = chain.state
    make_block(chain, 1000)
    push(chain, AccountWitnessVote(account="bob", witness="initminer", approve=True))
    push(chain, AccountWitnessProxy(account="alice", proxy="bob"))
    chain.generate_block(*next_slot(chain), skip_flags=UNSIGNED)
    alice, bob = state.account("alice"), state.account("bob")
    vests, votes, total = alice.vesting_shares, state.witness("initminer").votes, state.props.total_vesting_shares
    price = state.props.total_vesting_fund_coin / total
    wanted = vests * factor
    row = RC.of(state).accounts.by_account.find("alice")
    assert votes == alice.vesting_shares + bob.vesting_shares
    chain.edit(SetVests("alice", Asset(wanted, VESTS)))
    assert alice.vesting_shares == wanted
    assert state.props.total_vesting_shares == total + wanted - vests
    assert state.witness("initminer").votes == votes + wanted - vests
    assert bob.proxied_vsf_votes[0] == wanted
    assert abs(state.props.total_vesting_fund_coin / state.props.total_vesting_shares - price) < price / 1_000_000
    assert row.last_max == maximum_rc(alice, row.adjustment)
    assert alice.voting_mana <= alice.effective_vests
    if factor == 2:
        assert alice.voting_mana > vests
        assert row.mana > vests
    validate_invariants(state)
    make_block(chain)
    validate_invariants(state)


def next_slot(chain: Chain) -> tuple[int, str, bytes]:
    """Return the time, the witness and the signing key of the next block."""
    return slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET


def test_authorities(chain: Chain) -> None:
    state = chain.state
    old = state.authority("alice").owner.key_auths[0][0]
    given = Authority(2, (("bob", 1),), ((KEY, 1),))
    chain.edit(SetAuthority("alice", "active", given))
    chain.edit(SetAuthority("alice", "posting", key_authority(KEY)))
    chain.edit(SetAuthority("alice", "memo", KEY))
    assert references(state, KEY) == ("alice",)
    assert references(state, old) == ("alice",)
    chain.edit(SetAuthority("alice", "owner", key_authority(KEY)))
    row = state.authority("alice")
    assert (row.owner, row.active, row.posting) == (key_authority(KEY), given, key_authority(KEY))
    assert state.account("alice").memo_key == KEY
    assert references(state, old) == ()
    assert [row.previous_owner_authority for row in state.owner_histories] == [key_authority(old)]


def test_keys_of_witnesses(chain: Chain) -> None:
    chain.edit(SetSigningKey("initminer", KEY))
    assert chain.state.witness("initminer").signing_key == KEY


def test_hardforks_of_the_next_block() -> None:
    state = chain_at(0).state
    before = list(state.hardfork_times)
    ScheduleHardfork(99).make(state)
    assert state.hardfork_times == before
    ScheduleHardfork(7).make(state)
    assert state.hardfork_times[1:6] == [state.head_time] * 5
    assert state.hardforks.next_hardfork == state.spec.hardfork_versions[7]


def test_a_failed_edit_changes_no_times_of_hardforks(chain: Chain) -> None:
    before = list(chain.state.hardfork_times)

    def fail(state: State) -> None:
        state.hardfork_times[1] = 5
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        chain.edit(ByFunction(fail))
    assert chain.state.hardfork_times == before


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (SetBalance("nobody", Asset(1, COIN)), ""),
        (SetBalance("alice", Asset(-1, COIN)), "must not be negative"),
        (SetBalance("alice", Asset(1, VESTS)), "is not of a liquid symbol"),
        (SetBalance("alice", Asset(1, TOKEN)), ""),
        (SetBalance("alice", Asset(2**63 - 1, COIN)), ""),
        (SetVests("nobody", Asset(1, VESTS)), ""),
        (SetVests("alice", Asset(1, COIN)), "is not in VESTS"),
        (SetVests("alice", Asset(-1, VESTS)), "must not be negative"),
        (SetAuthority("nobody", "active", key_authority(KEY)), ""),
        (SetAuthority("alice", "active", KEY), "takes an authority"),
        (SetAuthority("alice", "memo", key_authority(KEY)), "one public key"),
        (SetAuthority("alice", "memo", NULL_KEY), "one public key"),
        (SetAuthority("alice", "active", Authority(1, (("nobody", 1),), ())), ""),
        (SetAuthority("alice", "posting", Authority(1, (("BAD", 1),), ())), "is_valid_account_name"),
        (SetAuthority("alice", "owner", Authority(2, (), ((KEY, 1),))), "no keys can reach the threshold"),
        (SetAuthority("alice", "active", Authority(1, (), tuple((bytes([2] * 32 + [i]), 1) for i in range(41)))), "exceeded"),
        (SetSigningKey("nobody", KEY), ""),
    ],
)
def test_impossible_edits_are_refused(chain: Chain, edit: StateEdit, text: str) -> None:
    assert text in refused(chain, edit)


def test_delegated_or_withdrawing_vests_stay(chain: Chain) -> None:
    state = chain.state
    vests = state.account("alice").vesting_shares
    push(chain, DelegateVestingShares(delegator="alice", delegatee="bob", vesting_shares=Asset(vests // 4, VESTS)))
    push(chain, WithdrawVesting(account="alice", vesting_shares=Asset(vests // 4, VESTS)))
    chain.generate_block(*next_slot(chain), skip_flags=UNSIGNED)
    least = vests // 4 * 2
    assert "It must own at least the sum" in refused(chain, SetVests("alice", Asset(least - 1, VESTS)))
    chain.edit(SetVests("alice", Asset(least, VESTS)))
    validate_invariants(state)
    row = RC.of(state).accounts.by_account.find("alice")
    assert row.last_max == maximum_rc(state.account("alice"), row.adjustment)


# ------------------------------------------------------------------ blocks


def test_an_edit_belongs_to_its_block(chain: Chain) -> None:
    """A pop removes the edit together with its block, and a fork switch restores both. The edit changes neither the block nor pending
    transactions.
    """
    chain.push_transaction(transfer(chain))
    added: list[Any] = []
    chain.sidecars.on_added.append(lambda block_id, edit: added.append((block_id, edit)))
    head, balance = chain.head, chain.state.account("carol").balance
    assert head is not None
    edit = SetBalance("carol", Asset(balance + 5, COIN))
    chain.edit(edit)
    assert added == [(head.id, edit)]
    assert chain.head is head
    assert len(chain.pending) == 1
    assert chain.sidecars.edits_of(head.id) == (edit,)
    assert chain.sidecars.is_changed_by_hand
    other = copy_of(chain, head.number - 1)
    for missed in (1, 0):
        chain.push_block(make_block(other, missed))
    assert chain.state.account("carol").balance == balance
    assert chain.sidecars.edits_of(head.id) == (edit,)
    back = copy_of(chain, head.number - 1)
    back.push_block(head)
    for _ in range(2):
        chain.push_block(make_block(back))
    assert chain.state.account("carol").balance == balance + 5
    assert added == [(head.id, edit)]


def test_edits_of_popped_blocks_are_dropped(chain: Chain) -> None:
    """The edits are dropped even if an identical block is produced again. The edits of other blocks remain."""
    dropped: list[list[bytes]] = []
    chain.sidecars.on_dropped.append(dropped.append)
    chain.edit(SetBalance("bob", Asset(7, COIN)))
    ids = []
    for amount in (5, 6):
        ids.append(make_block(chain).id)
        chain.edit(SetBalance("carol", Asset(amount, COIN)))
    balance = chain.state.account("alice").balance
    chain.pop_blocks(2)
    assert dropped == [ids[::-1]]
    assert [make_block(chain).id for _ in ids] == ids
    assert chain.state.account("carol").balance == balance
    assert chain.state.account("bob").balance == 7
    chain.pop_block()
    chain.edit(SetBalance("carol", Asset(8, COIN)))
    assert make_block(chain).id == ids[1]
    assert chain.state.account("carol").balance == 8


def test_edits_of_the_block_of_a_snapshot_are_made_once(chain: Chain) -> None:
    """A snapshot already contains the edits of its block. If they were applied again, a replaced owner authority would be stored twice."""
    head = chain.state.props.head_block_id
    edits = [SetAuthority("alice", "owner", key_authority(bytes([2, *[number] * 32]))) for number in (1, 2)]
    for edit in edits:
        chain.edit(edit)
    while chain.irreversible < block_number(head):
        make_block(chain)
    chain.rewind()
    assert chain.state.props.head_block_id == head
    parts = {name: list(part.dump()) for name, part in parts_of(chain.state).items()}
    for known in (edits, [*edits, SetBalance("alice", Asset(3, COIN))]):
        other = dev_chain(*PLUGINS)
        for deferred in restore(other, head_of(chain), lambda name: iter(parts[name]), chain.irreversible_blocks.find):
            deferred.finish()
        other.plan_edits(head, known)
        assert len(list(other.state.owner_histories)) == len(edits)
        assert (state_digest(other.state) == state_digest(chain.state)) == (known == edits)
        assert other.sidecars.irreversible_edits == len(known)
        assert (other.state.account("alice").balance == 3) == (known != edits)


def test_planned_edits_lead_to_the_same_state(chain: Chain) -> None:
    """On startup, the blocks are applied again together with the stored edits."""
    written: list[tuple[bytes, bytes]] = []
    chain.sidecars.on_added.append(lambda block_id, edit: written.append((block_id, write_edit(edit))))
    for i in range(30):
        chain.edit(SetBalance("alice", Asset(1000 + i, COIN)))
        chain.edit(SetVests("bob", Asset(10**9 + i, VESTS)))
        make_block(chain)
    other = dev_chain(*PLUGINS)
    for block_id, data in written:
        other.plan_edits(block_id, [read_edit(data)])
    for number in range(1, 34):
        other.push_block(block_at(chain, number))
    assert other.sidecars.is_changed_by_hand
    assert state_digest(other.state) == state_digest(chain.state)
    assert other.sidecars.edits == chain.sidecars.edits


def test_late_edits_are_applied_to_the_head_block(chain: Chain) -> None:
    head = chain.state.props.head_block_id
    old = block_at(chain, 2)
    chain.plan_edits(head, [SetBalance("alice", Asset(9, COIN))])
    assert chain.state.account("alice").balance == 9
    assert len(chain.sidecars.edits_of(head)) == 1
    for _ in range(30):
        make_block(chain)
    chain.plan_edits(old.id, [SetBalance("alice", Asset(10, COIN))])
    assert chain.state.account("alice").balance == 9


def test_an_irreversible_head_can_be_edited_for_good() -> None:
    """With a single witness, every block after the first 30 days becomes irreversible at once. A listener has the same effect here."""
    chain = dev_chain()
    chain.state.listeners.after_block.append(lambda state, block: state.set_props(last_irreversible_block_num=block.number))
    for _ in range(3):
        make_block(chain)
    assert not chain.main_branch.poppable
    chain.edit(SetBalance("alice", Asset(9, COIN)))
    assert chain.state.account("alice").balance == 9
    assert len(chain.state.journal) == 0
    assert len(chain.sidecars.edits_of(chain.state.props.head_block_id)) == chain.sidecars.irreversible_edits == 1
    make_block(chain)


def test_an_account_created_in_the_block_can_be_edited(chain: Chain) -> None:
    fee = Asset(chain.state.schedule.median_props.account_creation_fee, COIN)
    one = key_authority(KEY)
    push(chain, AccountCreate(fee=fee, creator="alice", new_account_name="newcomer", owner=one, active=one, posting=one, memo_key=KEY))
    chain.generate_block(*next_slot(chain), skip_flags=UNSIGNED)
    chain.edit(SetVests("newcomer", Asset(10**9, VESTS)))
    chain.edit(SetBalance("newcomer", Asset(10**6, SBD)))
    validate_invariants(chain.state)


# ------------------------------------------------------------------ as bytes


@pytest.mark.parametrize(
    "edit",
    [
        SetSigningKey("initminer", KEY),
        ScheduleHardfork(20),
        SetBalance("alice", Asset(5, SBD)),
        SetVests("alice", Asset(2**62, VESTS)),
        SetAuthority("alice", "owner", Authority(2, (("bob", 1),), ((KEY, 1),))),
        SetAuthority("alice", "memo", KEY),
        ImportRows(pack_batch({"accounts": [{"name": "alice", "sbd_seconds": 2**127}]})),
    ],
)
def test_edits_can_be_written(edit: StateEdit) -> None:
    data = write_edit(edit)
    assert b"\n" not in data
    assert read_edit(data) == edit


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b'{"edit":"other"}',
        b'{"edit":"set_balance","account":"alice"}',
        b'{"edit":"set_authority","account":"a","role":"chief","authority":"AAAA"}',
        b'{"edit":"give_key","witness":"a","key":1}',
        b"\xff",
        b" " * (EDIT_SIZE_MAX + 1),
    ],
)
def test_invalid_bytes_of_an_edit(data: bytes) -> None:
    with fails(ValueError):
        read_edit(data)


def test_rules_of_other_eras_keep_the_sums() -> None:
    for hardfork in (8, 16, 20, 23):
        chain = chain_at(hardfork)
        add_account(chain.state, "alice", balance=1000, vesting_shares=10**9)
        for edit in (SetBalance("alice", Asset(5, COIN)), SetVests("alice", Asset(10**10, VESTS)), SetVests("alice", Asset(5, VESTS))):
            edit.make(chain.state)
            validate_invariants(chain.state)
