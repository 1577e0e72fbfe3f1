"""Account creation: for a fee, with a delegation (before hardfork 20), and with claimed accounts."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, ClaimAccount, CreateClaimedAccount
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import UnknownKey
from state.protocol.values.asset import COIN, VESTS, Asset
from state.tables.witnesses import ELECTED, TIMESHARE
from tests.helpers.chains import NOW, add_account, add_witness, apply, chain_at, key_of, push, refused, set_median

KEY = key_authority(key_of("new"))
CROWD = Authority(1, (), tuple((key_of(f"key{i}"), 1) for i in range(41)))
STRANGER = Authority(1, (("nobody", 1),), ())
TOO_MANY = "Authority membership exceeded. Max: 40 Current: 41"
ONE_ACCOUNT = 10_000  # of a subsidy


@pytest.fixture
def chain() -> Chain:
    return chain_of(23)


def chain_of(hardfork: int, fee: int = 3_000) -> Chain:
    """A chain with an account creation fee that `alice` can pay."""
    chain = chain_at(hardfork)
    add_account(chain.state, "alice", balance=2_000_000_000, vesting_shares=8_000_000_000)
    set_median(chain.state, account_creation_fee=fee)
    return chain


def create(**changes: object) -> AccountCreate:
    operation = AccountCreate(Asset(3_000, COIN), "alice", "newbie", KEY, KEY, KEY, key_of("memo"), '{"a":1}')
    return structs.replace(operation, **changes)


def create_delegated(**changes: object) -> AccountCreateWithDelegation:
    operation = AccountCreateWithDelegation(
        Asset(3_000, COIN), Asset(5_000_000, VESTS), "alice", "newbie", KEY, KEY, KEY, key_of("memo"), ""
    )
    return structs.replace(operation, **changes)


def claim(fee: int = 3_000) -> ClaimAccount:
    return ClaimAccount("alice", Asset(fee, COIN))


def create_claimed(**changes: object) -> CreateClaimedAccount:
    operation = CreateClaimedAccount("alice", "newbie", KEY, KEY, KEY, key_of("memo"), '{"a":1}')
    return structs.replace(operation, **changes)


# ------------------------------------------------------------------ account_create


def test_creating_refusals(chain: Chain) -> None:
    assert refused(chain, create(creator="nobody")) == UnknownKey().message()
    assert "Account creation fee cannot be too large" in refused(chain, create(fee=Asset(1_000_000_001, COIN)))
    for fee in (2_999, 3_001):
        assert "Must pay the exact account creation fee. paid: " in refused(chain, create(fee=Asset(fee, COIN)))
    for role in ("owner", "active", "posting"):
        assert TOO_MANY in refused(chain, create(**{role: CROWD}))
        text = f"New {role} authority on account newbie references non-existing account nobody"
        assert text in refused(chain, create(**{role: STRANGER}))
    add_account(chain.state, "poor", balance=2_999)
    assert "Account poor does not have sufficient funds" in refused(chain, create(creator="poor"))
    assert "uniqueness constraint" in refused(chain, create(new_account_name="alice"))


def test_a_created_account(chain: Chain) -> None:
    state = chain.state
    apply(chain, create(posting=Authority(1, (("alice", 1),), ())))
    account = state.account("newbie")
    assert (account.created, account.mined, account.recovery_account, account.memo_key) == (NOW, False, "alice", key_of("memo"))
    assert (account.voting_mana, account.voting_mana_time, account.downvote_mana_time) == (0, NOW, NOW)
    authority = state.authority("newbie")
    assert (authority.owner, authority.posting.account_auths, authority.last_owner_update) == (KEY, (("alice", 1),), 0)
    metadata = state.account_metadata.by_account.find(account.id)
    assert (metadata.json_metadata, metadata.posting_json_metadata) == ('{"a":1}', "")
    assert (state.account("alice").balance, state.account("null").balance) == (2_000_000_000 - 3_000, 3_000)
    validate_invariants(state)


def test_accounts_made_by_temp_have_no_recovery_partner() -> None:
    for hardfork, partner in ((20, ""), (19, "temp"), (11, "temp"), (10, "coin")):
        chain = chain_of(hardfork, fee=0)
        apply(chain, create(creator="temp", fee=Asset(0, COIN)))
        assert chain.state.account("newbie").recovery_account == partner


def test_before_hardfork_20_the_fee_became_vests() -> None:
    chain = chain_of(19, fee=100)
    state = chain.state
    assert "Insufficient Fee: " in refused(chain, create(fee=Asset(2_999, COIN)))
    apply(chain, create())
    account = state.account("newbie")
    assert (account.vesting_shares, account.voting_mana) == (3_000_000, 10_000)
    assert state.account("null").balance == 0
    validate_invariants(state)


def test_before_hardfork_19_the_fee_was_the_median_and_before_1_anything() -> None:
    chain = chain_of(18, fee=100)
    assert "Insufficient Fee: " in refused(chain, create(fee=Asset(99, COIN)))
    apply(chain, create(fee=Asset(100, COIN)))
    chain = chain_at(0)
    add_account(chain.state, "alice")
    set_median(chain.state, account_creation_fee=100)
    apply(chain, create(fee=Asset(0, COIN)))
    assert chain.state.account("newbie").vesting_shares == 0


def test_before_hardfork_20_only_pushes_had_limits() -> None:
    chain = chain_of(19, fee=0)
    dear, crowded = create(fee=Asset(1_000_000_001, COIN)), create(owner=CROWD)
    assert "Account creation fee cannot be too large" in refused(chain, dear, by=push)
    assert TOO_MANY in refused(chain, crowded, by=push)
    apply(chain, dear)
    apply(chain, structs.replace(crowded, new_account_name="newbie2"))


def test_before_hardfork_15_members_need_not_exist() -> None:
    chain = chain_of(14, fee=0)
    apply(chain, create(owner=STRANGER, active=STRANGER, posting=STRANGER))
    assert chain.state.authority("newbie").owner == STRANGER


# ------------------------------------------------------------------ with a delegation


def test_since_hardfork_20_creation_with_delegation_is_refused(chain: Chain) -> None:
    assert "Account creation with delegation is deprecated as of Hardfork 20" in refused(chain, create_delegated())


def test_creation_with_delegation_refusals() -> None:
    chain = chain_of(19, fee=200)
    state = chain.state
    assert "Account creation fee cannot be too large" in refused(chain, create_delegated(fee=Asset(1_000_000_001, COIN)), by=push)
    assert refused(chain, create_delegated(creator="nobody")) == UnknownKey().message()
    assert "Insufficient balance to create account." in refused(chain, create_delegated(fee=Asset(2_000_000_001, COIN)))
    few = "Insufficient vesting shares to delegate to new account."
    assert few in refused(chain, create_delegated(delegation=Asset(8_000_000_001, VESTS)))
    alice = state.account("alice")
    state.accounts.modify(alice, delegated_vesting_shares=10, to_withdraw=30, withdrawn=20)
    assert few in refused(chain, create_delegated(delegation=Asset(8_000_000_000 - 19, VESTS)))
    # 200 * 30 * 5 COIN are worth 30.000000 VESTS, of which the fee covers 15.
    text = refused(chain, create_delegated(delegation=Asset(14_999_999, VESTS)))
    assert "Insufficient Delegation " in text
    assert '"29999999"' in text
    assert "Insufficient Fee: " in refused(chain, create_delegated(fee=Asset(199, COIN), delegation=Asset(29_005_000, VESTS)))
    enough = Asset(15_000_000, VESTS)
    for role in ("owner", "active", "posting"):
        assert TOO_MANY in refused(chain, create_delegated(delegation=enough, **{role: CROWD}), by=push)
        assert refused(chain, create_delegated(delegation=enough, **{role: STRANGER})) == UnknownKey().message()
    assert "uniqueness constraint" in refused(chain, create_delegated(delegation=enough, new_account_name="alice"))


def test_an_account_created_with_a_delegation() -> None:
    chain = chain_of(19, fee=200)
    state = chain.state
    apply(chain, create_delegated(delegation=Asset(15_000_000, VESTS)))
    alice, newbie = state.account("alice"), state.account("newbie")
    assert (alice.balance, alice.delegated_vesting_shares) == (2_000_000_000 - 3_000, 15_000_000)
    assert (newbie.vesting_shares, newbie.received_vesting_shares) == (3_000_000, 15_000_000)
    row = state.vesting_delegations.by_delegation.find("alice", "newbie")
    assert (row.vesting_shares, row.min_delegation_time) == (15_000_000, NOW + 30 * 86400)
    validate_invariants(state)


@pytest.mark.parametrize(("hardfork", "rows"), [(18, 1), (19, 0)])
def test_before_hardfork_19_an_empty_delegation_was_stored(hardfork: int, rows: int) -> None:
    chain = chain_of(hardfork, fee=0)
    apply(chain, create_delegated(fee=Asset(0, COIN), delegation=Asset(0, VESTS)))
    assert len(chain.state.vesting_delegations) == rows
    assert chain.state.account("newbie").vesting_shares == 0


# ------------------------------------------------------------------ claims


def test_claims_came_with_hardfork_20() -> None:
    chain = chain_of(19)
    assert "claim_account_operation is not enabled until hardfork 20." in refused(chain, claim())
    assert "create_claimed_account_operation is not enabled until hardfork 20." in refused(chain, create_claimed())


def test_paid_claims(chain: Chain) -> None:
    state = chain.state
    assert refused(chain, ClaimAccount("nobody", Asset(3_000, COIN))) == UnknownKey().message()
    text = refused(chain, claim(3_001))
    assert "Cannot pay more than account creation fee. paid: 3001 fee: " in text
    assert "Cannot pay more than account creation fee. paid: 1 fee: " in refused(chain, claim(1))
    apply(chain, claim(), claim())
    alice = state.account("alice")
    assert (alice.balance, alice.pending_claimed_accounts, state.account("null").balance) == (2_000_000_000 - 6_000, 2, 6_000)
    validate_invariants(state)
    state.accounts.modify(alice, balance=2_999)
    assert "Insufficient balance to create account." in refused(chain, claim())
    state.accounts.modify(alice, balance=3_000, pending_claimed_accounts=2**63 - 1)
    assert "Integer Overflow" in refused(chain, claim())


def test_free_claims_in_a_block(chain: Chain) -> None:
    state = chain.state
    witness = add_witness(state, "alice", schedule=TIMESHARE, available_witness_account_subsidies=ONE_ACCOUNT)
    state.set_props(current_witness="alice", available_account_subsidies=2 * ONE_ACCOUNT)
    text = refused(chain, claim(0))
    assert "Subsidized accounts can only be claimed by elected witnesses. current_witness:alice witness_type:timeshare" in text
    state.witnesses.modify(witness, schedule=ELECTED, available_witness_account_subsidies=ONE_ACCOUNT - 1)
    assert "Witness alice does not have enough subsidized accounts to claim" in refused(chain, claim(0))
    state.witnesses.modify(witness, available_witness_account_subsidies=ONE_ACCOUNT + 5)
    state.set_props(available_account_subsidies=ONE_ACCOUNT - 1)
    assert "There are not enough subsidized accounts to claim" in refused(chain, claim(0))
    state.set_props(available_account_subsidies=ONE_ACCOUNT + 7)
    apply(chain, claim(0))
    assert (witness.available_witness_account_subsidies, state.props.available_account_subsidies) == (5, 7)
    assert (state.account("alice").pending_claimed_accounts, state.account("null").balance) == (1, 0)


def test_a_free_claim_can_be_pushed_under_any_producer(chain: Chain) -> None:
    state = chain.state
    state.set_props(available_account_subsidies=ONE_ACCOUNT - 1)
    assert "There are not enough subsidized accounts to claim" in refused(chain, claim(0), by=push)
    state.set_props(available_account_subsidies=ONE_ACCOUNT)
    push(chain, claim(0))
    assert state.props.available_account_subsidies == 0
    assert state.account("alice").pending_claimed_accounts == 1


def test_claimed_accounts(chain: Chain) -> None:
    state = chain.state
    assert refused(chain, create_claimed(creator="nobody")) == UnknownKey().message()
    assert "alice has no claimed accounts to create" in refused(chain, create_claimed())
    state.accounts.modify(state.account("alice"), pending_claimed_accounts=2)
    for role in ("owner", "active", "posting"):
        text = f"New {role} authority on account newbie references non-existing account nobody"
        assert text in refused(chain, create_claimed(**{role: STRANGER}))
    assert "uniqueness constraint" in refused(chain, create_claimed(new_account_name="alice"))
    apply(chain, create_claimed())
    assert state.account("alice").pending_claimed_accounts == 1
    assert state.account("newbie").recovery_account == "alice"
    assert state.authority("newbie").active == KEY
