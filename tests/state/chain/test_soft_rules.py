"""Soft rules apply only to pushed transactions: blocks can violate them. The refusal texts are those that clients match."""

import hashlib

import base58
import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.soft_rules import public_keys_from_memo
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries
from state.operations.custom import Custom, CustomJson
from state.operations.transfers import Transfer, TransferFromSavings, TransferToSavings
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import PluginRefused, UnknownKey
from state.protocol.keys.keys import derive_secret, public_key, secret_from_seed, wif_from_secret
from state.protocol.values.asset import COIN, Asset
from state.tables import content
from tests.helpers.chains import add_account, apply, chain_at, key_of, push, refused

ONE = Asset(1, COIN)


def password_key(role: str, name: str = "alice", password: str = "hunter2") -> bytes:
    return public_key(derive_secret(name, role, password))


def extended(secret: bytes) -> str:
    """Return the text of an extended private key."""
    data = bytes.fromhex("0488ade4") + bytes(42) + secret
    return base58.b58encode(data + hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]).decode()


@pytest.fixture
def chain() -> Chain:
    chain = chain_at()
    add_account(chain.state, "alice", balance=1_000, savings_balance=1_000)
    add_account(chain.state, "bob", balance=1_000)
    return chain


# ------------------------------------------------------------------ memos


@pytest.mark.parametrize("role", ["owner", "active", "posting"])
@pytest.mark.parametrize("made_from", ["owner", "active", "posting"])
def test_a_password_in_a_memo_is_noticed(chain: Chain, role: str, made_from: str) -> None:
    state = chain.state
    weak = Authority(2, (), tuple(sorted([(key_of("safe"), 1), (password_key(made_from), 1)])))
    state.account_authorities.modify(state.authority("alice"), **{role: weak})
    text = f"plugin exception:Detected private {role} key in memo field. You should change your {role} keys."
    for operation in (
        Transfer("alice", "bob", ONE, "hunter2"),
        TransferToSavings("alice", "bob", ONE, "hunter2"),
        TransferFromSavings("alice", 1, "bob", ONE, "hunter2"),
    ):
        assert refused(chain, operation, by=push) == text
        push(chain, structs.replace(operation, memo="hunter3"))
        apply(chain, structs.replace(operation, request_id=2) if isinstance(operation, TransferFromSavings) else operation)


def test_owner_keys_are_named_first_and_the_memo_key_last(chain: Chain) -> None:
    state = chain.state
    operation = Transfer("alice", "bob", ONE, "hunter2")
    alice, weak = state.account("alice"), key_authority(password_key("active"))
    state.accounts.modify(alice, memo_key=password_key("posting"))
    assert "Detected private memo key in memo field. You should change your memo key." in refused(chain, operation, by=push)
    state.account_authorities.modify(state.authority("alice"), posting=weak)
    assert "posting" in refused(chain, operation, by=push)
    state.account_authorities.modify(state.authority("alice"), owner=weak)
    assert "owner" in refused(chain, operation, by=push)


def test_a_memo_key_derived_for_memo_is_not_noticed(chain: Chain) -> None:
    """The reference tries only three roles when it searches a memo for a password, and the memo role is not one of them."""
    chain.state.accounts.modify(chain.state.account("alice"), memo_key=password_key("memo"))
    push(chain, Transfer("alice", "bob", ONE, "hunter2"))


def test_an_extended_private_key_is_noticed_and_a_wif_is_not(chain: Chain) -> None:
    secret = secret_from_seed("alice")
    assert "Detected private owner key" in refused(chain, Transfer("alice", "bob", ONE, extended(secret)), by=push)
    push(chain, Transfer("alice", "bob", ONE, wif_from_secret(secret)))
    push(chain, Transfer("bob", "alice", ONE, extended(secret)))
    assert public_key(secret) in public_keys_from_memo("alice", extended(secret))


def test_memos_of_unknown_senders_are_left_to_the_rules(chain: Chain) -> None:
    assert refused(chain, Transfer("nobody", "bob", ONE, "hunter2"), by=push) == UnknownKey().message()


# ------------------------------------------------------------------ content


def options(count: int) -> CommentOptions:
    shares = tuple(Beneficiary(f"user{i}", 1) for i in range(count))
    return CommentOptions("alice", "post", extensions=(CommentPayoutBeneficiaries(shares),))


def test_eight_beneficiaries_at_most(chain: Chain) -> None:
    state = chain.state
    for i in range(9):
        add_account(state, f"user{i}")
    state.comments.insert(content.Comment(author="alice", permlink="post", cashout_time=2**32 - 1))
    assert refused(chain, structs.replace(options(9), permlink="missing"), by=push) == UnknownKey().message()
    assert refused(chain, options(9), by=push) == "plugin exception:Cannot specify more than 8 beneficiaries."
    push(chain, options(8))
    chain.clear_pending()
    apply(chain, options(9))


def test_replies_are_255_deep_at_most(chain: Chain) -> None:
    state = chain.state
    parent = content.Comment(author="alice", permlink="post", parent_author="bob", parent_permlink="root", depth=255)
    state.comments.insert(content.Comment(author="bob", permlink="root"))
    state.comments.insert(parent)
    state.comments.modify(parent, root_comment=0)
    reply = Comment("alice", "post", "bob", "reply", "", "text", "")
    text = refused(chain, reply, by=push)
    assert text == "plugin exception:Comment is nested 255 posts deep, maximum depth is 255."
    apply(chain, reply)
    state.comments.modify(parent, depth=254)
    push(chain, structs.replace(reply, permlink="other", author="alice", parent_author="alice"))


# ------------------------------------------------------------------ custom operations


def note(number: int, *names: str) -> CustomJson:
    return CustomJson((), names or ("alice",), "note", str(number))


def test_five_custom_operations_until_the_next_block(chain: Chain) -> None:
    for number in range(4):
        push(chain, note(number))
    push(chain, Custom(("alice",), 7, b"x"))
    full = "plugin exception:Account alice already submitted 5 custom json operation(s) this block."
    assert refused(chain, note(5), by=push) == full
    assert refused(chain, note(5, "bob", "alice"), by=push) == full
    for number in range(5):
        push(chain, note(10 + number, "bob"))
    assert "Account alice already" in refused(chain, note(20, "alice", "bob"), by=push)  # the first by name is reported
    apply(chain, note(5))
    chain.clear_pending()
    push(chain, note(5))


def test_the_count_is_checked_before_other_rules(chain: Chain) -> None:
    large = Custom(("alice",), 7, bytes(8193))
    assert "already submitted" not in refused(chain, large, by=push)
    for number in range(5):
        push(chain, note(number))
    assert "Account alice already submitted 5" in refused(chain, large, by=push)


def test_a_refused_transaction_does_not_count(chain: Chain) -> None:
    with pytest.raises(PluginRefused):
        push(chain, *(note(number) for number in range(6)))
    push(chain, *(note(number) for number in range(5)))
    assert "already submitted 5" in refused(chain, note(9), by=push)
