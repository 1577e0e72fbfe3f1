"""Changing authorities, recovering accounts, declining voting rights, and the block steps that process such requests."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.steps.recovery import account_recovery_processing, process_decline_voting_rights
from state.operations.authorities import (
    AccountUpdate,
    AccountUpdate2,
    ChangeRecoveryAccount,
    DeclineVotingRights,
    RecoverAccount,
    RequestAccountRecovery,
    ResetAccount,
    SetResetAccount,
)
from state.operations.witnesses import AccountWitnessVote
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import UnknownKey
from state.protocol.keys.keys import NULL_KEY
from tests.helpers.chains import BLOCK, MAIN_SPEC, NOW, add_account, add_witness, apply, chain_at, key_of, move_to, push, refused

OLD, NEW, OTHER = (key_authority(key_of(name)) for name in ("alice", "new", "other"))
OPEN, IMPOSSIBLE = Authority(), Authority(2, (), ((key_of("new"), 1),))
CROWD = Authority(1, (), tuple((key_of(f"key{i}"), 1) for i in range(41)))
STRANGER = Authority(1, (("nobody", 1),), ())
BAD_NAME = Authority(1, (("No", 1),), ())
TOO_MANY = "Authority membership exceeded. Max: 40 Current: 41"
HOURLY = "Owner authority can only be updated once an hour."
WAIT, EXPIRY = 60, 12  # of the test build


def chain_of(hardfork: int) -> Chain:
    """A chain on which `bob` is the recovery partner of `alice`."""
    chain = chain_at(hardfork)
    add_account(chain.state, "alice", OLD, recovery_account="bob", vesting_shares=5_000_000)
    add_account(chain.state, "bob")
    return chain


@pytest.fixture
def chain() -> Chain:
    return chain_of(23)


Update = type[AccountUpdate] | type[AccountUpdate2]
UPDATES = pytest.mark.parametrize("update", [AccountUpdate, AccountUpdate2])

# ------------------------------------------------------------------ changing


@UPDATES
def test_update_refusals(chain: Chain, update: Update) -> None:
    assert "Cannot update temp account." in refused(chain, update("temp"))
    assert refused(chain, update("alice", posting=BAD_NAME)).endswith("is_valid_account_name( item.first ): ")
    assert refused(chain, update("nobody")) == UnknownKey().message()
    for role in ("owner", "active", "posting"):
        assert TOO_MANY in refused(chain, structs.replace(update("alice"), **{role: CROWD}))
        text = f"New {role} authority on account alice references non-existing account nobody"
        assert text in refused(chain, structs.replace(update("alice"), **{role: STRANGER}))
    # Genesis accounts have no earlier authority to replace.
    assert refused(chain, update("null", json_metadata="{}")) == UnknownKey().message()
    apply(chain, update("null"))


@UPDATES
def test_updates_change_only_given_fields(chain: Chain, update: Update) -> None:
    state = chain.state
    apply(chain, update("alice", NEW))
    row, alice = state.authority("alice"), state.account("alice")
    assert (row.owner, row.active, row.posting, row.last_owner_update) == (NEW, OLD, OLD, NOW)
    assert (alice.memo_key, alice.last_account_update) == (key_of("alice"), NOW)
    assert [(h.account, h.previous_owner_authority, h.last_valid_time) for h in state.owner_histories] == [("alice", OLD, NOW)]
    apply(chain, update("alice", None, OTHER, NEW, key_of("memo"), "[1]"))
    assert (row.owner, row.active, row.posting, alice.memo_key) == (NEW, OTHER, NEW, key_of("memo"))
    metadata = state.account_metadata.by_account.find(alice.id)
    assert (metadata.json_metadata, metadata.posting_json_metadata) == ("[1]", "")
    assert len(state.owner_histories) == 1


def test_account_update2_has_a_metadata_text_of_its_own(chain: Chain) -> None:
    state = chain.state
    alice = state.account("alice")
    metadata = state.account_metadata.by_account.find(alice.id)
    apply(chain, AccountUpdate2("alice", posting_json_metadata="[2]", memo_key=NULL_KEY))
    assert (metadata.json_metadata, metadata.posting_json_metadata) == ("", "[2]")
    assert alice.memo_key == key_of("alice")
    apply(chain, AccountUpdate2("alice", json_metadata="[3]", memo_key=key_of("memo")))
    assert (metadata.json_metadata, metadata.posting_json_metadata, alice.memo_key) == ("[3]", "[2]", key_of("memo"))
    old = chain_of(20)
    assert "Operation 'account_update2' is not enabled until HF 21" in refused(old, AccountUpdate2("alice"))


@UPDATES
def test_the_owner_changes_once_an_hour_on_the_main_build(update: Update) -> None:
    chain = chain_at(23, MAIN_SPEC, number=4_000_000)
    state = chain.state
    add_account(state, "alice", OLD)
    apply(chain, update("alice", NEW))
    move_to(state, NOW + 3600)
    assert HOURLY in refused(chain, update("alice", OTHER))
    apply(chain, update("alice", active=OTHER))
    move_to(state, NOW + 3601)
    apply(chain, update("alice", OTHER))
    assert len(state.owner_histories) == 2


def test_owner_histories_begin_at_a_block_of_the_main_build() -> None:
    chain = chain_at(10, MAIN_SPEC, number=3_186_476)
    state = chain.state
    add_account(state, "alice", OLD)
    apply(chain, AccountUpdate("alice", NEW))
    assert len(state.owner_histories) == 0
    state.set_props(head_block_number=3_186_477)
    apply(chain, AccountUpdate("alice", OTHER))  # no pause before hardfork 11
    assert [h.previous_owner_authority for h in state.owner_histories] == [NEW]


def test_earlier_rules_of_updates() -> None:
    chain = chain_of(20)
    apply(chain, AccountUpdate("alice", json_metadata="[1]"))
    metadata = chain.state.account_metadata.by_account.find(chain.state.account("alice").id)
    assert metadata.posting_json_metadata == "[1]"
    chain = chain_of(19)
    assert TOO_MANY in refused(chain, AccountUpdate("alice", active=CROWD), by=push)
    apply(chain, AccountUpdate("alice", active=CROWD))
    chain = chain_of(14)
    apply(chain, AccountUpdate("alice", STRANGER, STRANGER, BAD_NAME))
    chain = chain_of(1)
    assert "Cannot update temp account." in refused(chain, AccountUpdate("temp"))
    apply(chain_of(0), AccountUpdate("temp"))


# ------------------------------------------------------------------ recovering


def request(authority: Authority = NEW, partner: str = "bob", account: str = "alice") -> RequestAccountRecovery:
    return RequestAccountRecovery(partner, account, authority)


def recover(new: Authority = NEW, recent: Authority = OLD) -> RecoverAccount:
    return RecoverAccount("alice", new, recent)


def test_recovery_request_refusals(chain: Chain) -> None:
    state = chain.state
    assert refused(chain, request(account="nobody")) == UnknownKey().message()
    foreign = "Cannot recover an account that does not have you as there recovery partner."
    assert foreign in refused(chain, request(partner="alice"))
    assert "Cannot recover using an impossible authority." in refused(chain, request(IMPOSSIBLE))
    assert "Cannot recover using an open authority." in refused(chain, request(OPEN))
    assert TOO_MANY in refused(chain, request(CROWD))
    assert refused(chain, request(STRANGER)) == UnknownKey().message()
    apply(chain, request())
    assert "Cannot recover using an impossible authority." in refused(chain, request(IMPOSSIBLE))
    assert refused(chain, request(STRANGER)) == UnknownKey().message()
    apply(chain, request(CROWD))  # the size limit doesn't apply to changes
    state.accounts.modify(state.account("alice"), recovery_account="")
    top = "Top witness must recover an account with no recovery partner."
    assert top in refused(chain, request())
    add_witness(state, "bob", votes=3)
    apply(chain, request())
    add_witness(state, "alice", votes=4)
    assert top in refused(chain, request())


def test_recovery_requests_are_made_changed_and_cancelled(chain: Chain) -> None:
    state = chain.state
    apply(chain, request())
    row = state.recovery_requests.by_account.find("alice")
    assert (row.new_owner_authority, row.expires) == (NEW, NOW + EXPIRY)
    move_to(state, NOW + 3)
    apply(chain, request(OTHER))
    assert (row.new_owner_authority, row.expires) == (OTHER, NOW + 3 + EXPIRY)
    apply(chain, request(OPEN))
    assert len(state.recovery_requests) == 0


def test_earlier_rules_of_recovery_requests() -> None:
    chain = chain_of(19)
    assert TOO_MANY in refused(chain, request(CROWD), by=push)
    apply(chain, request(CROWD))
    chain = chain_of(14)
    apply(chain, request(STRANGER))


def test_recovering_refusals(chain: Chain) -> None:
    state = chain.state
    assert refused(chain, RecoverAccount("nobody", NEW, OLD)) == UnknownKey().message()
    assert "There are no active recovery requests for this account." in refused(chain, recover())
    apply(chain, request())
    assert "New owner authority does not match recovery request." in refused(chain, recover(OTHER))
    assert "Recent authority not found in authority history." in refused(chain, recover())
    apply(chain, AccountUpdate("alice", OTHER))
    assert "Recent authority not found in authority history." in refused(chain, recover(recent=OTHER))
    state.accounts.modify(state.account("alice"), last_account_recovery=NOW)
    assert HOURLY in refused(chain, recover())
    state.accounts.modify(state.account("alice"), last_account_recovery=NOW - 1)
    apply(chain, recover())


def test_recovering(chain: Chain) -> None:
    state = chain.state
    apply(chain, AccountUpdate("alice", OTHER), request(), recover())
    assert state.authority("alice").owner == NEW
    assert [h.previous_owner_authority for h in state.owner_histories] == [OLD, OTHER]
    assert state.account("alice").last_account_recovery == NOW
    assert len(state.recovery_requests) == 0


def test_before_hardfork_12_there_was_no_pause() -> None:
    chain = chain_of(11)
    chain.state.accounts.modify(chain.state.account("alice"), last_account_recovery=NOW)
    apply(chain, AccountUpdate("alice", OTHER), request(), recover())


def test_changing_the_recovery_partner(chain: Chain) -> None:
    state = chain.state
    assert refused(chain, ChangeRecoveryAccount("alice", "nobody")) == UnknownKey().message()
    assert refused(chain, ChangeRecoveryAccount("nobody", "alice")) == UnknownKey().message()
    apply(chain, ChangeRecoveryAccount("alice", "bob"))  # the same one counts as a change while none waits
    row = state.change_recovery_requests.by_account.find("alice")
    assert (row.recovery_account, row.effective_on) == ("bob", NOW + WAIT)
    move_to(state, NOW + 3)
    apply(chain, ChangeRecoveryAccount("alice", "alice"))
    assert (row.recovery_account, row.effective_on) == ("alice", NOW + 3 + WAIT)
    apply(chain, ChangeRecoveryAccount("alice", "bob"))
    assert len(state.change_recovery_requests) == 0


def test_resets_are_disabled(chain: Chain) -> None:
    assert "Reset Account Operation is currently disabled." in refused(chain, ResetAccount("bob", "alice", NEW))
    assert "Set Reset Account Operation is currently disabled." in refused(chain, SetResetAccount("alice", "null", "bob"))


def test_expired_requests_are_removed_and_partners_change(chain: Chain) -> None:
    state = chain.state
    apply(chain, AccountUpdate("alice", OTHER), request(), ChangeRecoveryAccount("alice", "alice"))
    move_to(state, NOW + EXPIRY - 1)
    account_recovery_processing(state, BLOCK)
    assert len(state.recovery_requests) == 1
    apply(chain, AccountUpdate("bob", OTHER))
    move_to(state, NOW + EXPIRY)
    account_recovery_processing(state, BLOCK)
    assert len(state.recovery_requests) == 0
    move_to(state, NOW + WAIT - 1)
    account_recovery_processing(state, BLOCK)
    assert (len(state.owner_histories), state.account("alice").recovery_account) == (2, "bob")
    move_to(state, NOW + WAIT)
    account_recovery_processing(state, BLOCK)
    assert (len(state.owner_histories), state.account("alice").recovery_account) == (2, "alice")
    assert len(state.change_recovery_requests) == 0
    move_to(state, NOW + WAIT + 1)
    account_recovery_processing(state, BLOCK)
    assert [h.account for h in state.owner_histories] == ["bob"]


# ------------------------------------------------------------------ giving up votes


def test_declining_refusals(chain: Chain) -> None:
    old = chain_of(13)
    assert refused(old, DeclineVotingRights("alice", True)).endswith("_db.has_hardfork( COIN_HARDFORK_0_14__324 ): ")
    assert refused(chain, DeclineVotingRights("nobody", True)) == UnknownKey().message()
    assert "Cannot cancel the request because it does not exist." in refused(chain, DeclineVotingRights("alice", False))
    apply(chain, DeclineVotingRights("alice", True))
    assert "Cannot create new request because one already exists." in refused(chain, DeclineVotingRights("alice", True))
    assert chain.state.decline_voting_requests.by_account.find("alice").effective_date == NOW + WAIT
    apply(chain, DeclineVotingRights("alice", False))
    assert len(chain.state.decline_voting_requests) == 0


def test_declined_votes_are_removed(chain: Chain) -> None:
    state = chain.state
    witness = add_witness(state, "bob")
    add_account(state, "carol", vesting_shares=2_000_000, proxy="alice")
    alice = state.account("alice")
    state.accounts.modify(alice, proxied_vsf_votes=(2_000_000, 0, 0, 0))
    apply(chain, AccountWitnessVote("alice", "bob", True), DeclineVotingRights("alice", True))
    assert witness.votes == 7_000_000
    move_to(state, NOW + WAIT - 1)
    process_decline_voting_rights(state, BLOCK)
    assert alice.can_vote
    move_to(state, NOW + WAIT)
    process_decline_voting_rights(state, BLOCK)
    assert (witness.votes, alice.witnesses_voted_for, alice.can_vote, alice.proxy) == (0, 0, False, "")
    assert (len(state.witness_votes), len(state.decline_voting_requests)) == (0, 0)
    assert "Account has declined its voting rights." in refused(chain, AccountWitnessVote("alice", "bob", True))


def test_declining_with_a_proxy_takes_the_weight_from_it(chain: Chain) -> None:
    state = chain.state
    witness = add_witness(state, "bob", votes=5_000_000)
    alice, bob = state.account("alice"), state.account("bob")
    state.accounts.modify(alice, proxy="bob")
    state.accounts.modify(bob, proxied_vsf_votes=(5_000_000, 0, 0, 0))
    state.witnesses.modify(witness, votes=0)
    apply(chain, AccountWitnessVote("bob", "bob", True), DeclineVotingRights("alice", True))
    assert witness.votes == 5_000_000
    move_to(state, NOW + WAIT)
    process_decline_voting_rights(state, BLOCK)
    assert (witness.votes, bob.proxied_vsf_votes, alice.proxy) == (0, (0, 0, 0, 0), "")
