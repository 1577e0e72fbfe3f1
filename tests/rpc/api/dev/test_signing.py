"""Transactions that the node signs itself: the node uses a minimal sufficient set of keys, and the chain refuses these transactions like
any others.
"""

import json
from typing import Any

import pytest

from state.protocol.authority import Authority, key_authority
from state.protocol.keys.keys import derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.keys.signatures import Canonical
from tests.helpers.api import INIT_SECRET, ApiChain, Refusal, secret

TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]
VOTE = ["vote", {"voter": "alice", "author": "bob", "permlink": "p", "weight": 10000}]


@pytest.fixture
def api() -> ApiChain:
    """A dev chain with 25 blocks, which makes more blocks only on request."""
    api = ApiChain("dev")
    api.generate(25)
    return api


def broadcast(api: ApiChain, *operations: Any, keys: tuple[str, ...] = ()) -> Any:
    return api.call("dev_api.broadcast_operations", operations=list(operations), keys=list(keys))


def signers(api: ApiChain) -> list[bytes]:
    """Return the public keys that signed the last transaction."""
    return sorted(api.wire.signers(api.chain.pending[-1], Canonical.bip_0062))


def key(name: str, role: str) -> bytes:
    return public_key(derive_secret(name, role, "dev"))


def give(api: ApiChain, name: str, **authorities: Authority) -> None:
    """Replace some of an account's authorities."""
    api.state.account_authorities.modify(api.state.authority(name), **authorities)


def comment(author: str) -> list[Any]:
    fields = {"author": author, "permlink": "p", "parent_author": "", "parent_permlink": "test", "title": "", "body": "text"}
    return ["comment", {**fields, "json_metadata": ""}]


# ------------------------------------------------------------------ keys


def test_the_accounts_of_the_genesis_and_the_first_witness_are_listed(api: ApiChain) -> None:
    listed = {entry["name"]: entry["keys"] for entry in api.call("dev_api.list_keys")}
    assert list(listed)[:2] == ["alice", "bob"]
    assert list(listed)[-1] == "initminer"
    assert len(listed) == 11
    assert listed["bob"]["posting"] == {
        "public": public_key_text(key("bob", "posting"), "TST"),
        "private": wif_from_secret(derive_secret("bob", "posting", "dev")),
    }
    assert {pair["private"] for pair in listed["initminer"].values()} == {wif_from_secret(INIT_SECRET)}
    assert api.call("condenser_api.get_accounts", ["bob"])[0]["memo_key"] == listed["bob"]["memo"]["public"]


# ------------------------------------------------------------------ broadcasting


def test_a_transfer_is_signed_with_the_active_key_and_pending(api: ApiChain) -> None:
    answer = broadcast(api, TRANSFER)
    assert answer == {"id": api.chain.pending[0].id.hex(), "block_num": None}
    assert signers(api) == [key("alice", "active")]
    assert api.call("condenser_api.get_accounts", ["bob"])[0]["balance"] == "100001.000 COIN"
    api.generate()
    assert not api.chain.pending
    assert api.call("condenser_api.get_accounts", ["bob"])[0]["balance"] == "100001.000 COIN"


def test_both_forms_of_an_operation_are_accepted(api: ApiChain) -> None:
    amount = {"amount": "1000", "precision": 3, "nai": "@@000000021"}
    broadcast(api, {"type": "transfer_operation", "value": {"from": "alice", "to": "bob", "amount": amount, "memo": ""}}, TRANSFER)
    assert len(api.chain.pending[0].operations) == 2
    assert api.chain.pending[0].operations[0] == api.chain.pending[0].operations[1]


def test_equal_operations_are_two_transactions(api: ApiChain) -> None:
    first, second = broadcast(api, TRANSFER), broadcast(api, TRANSFER)
    api.generate()
    third = broadcast(api, TRANSFER)
    assert len({first["id"], second["id"], third["id"]}) == 3
    assert api.call("condenser_api.get_accounts", ["bob"])[0]["balance"] == "100003.000 COIN"


def test_a_transaction_refers_to_an_irreversible_block_and_lasts(api: ApiChain) -> None:
    """The reference to an irreversible block keeps the transaction valid even if the last blocks are undone."""
    broadcast(api, TRANSFER)
    trx = api.chain.pending[0]
    assert trx.ref_block_num == api.state.props.last_irreversible_block_num > 0
    assert trx.expiration == api.state.head_time + 3600


def test_at_the_genesis_there_is_no_block_to_refer_to() -> None:
    api = ApiChain("dev")
    broadcast(api, TRANSFER)
    assert api.chain.pending[0].ref_block_num == 0


def test_operations_are_signed_with_the_key_of_their_role(api: ApiChain) -> None:
    broadcast(api, comment("bob"))
    assert signers(api) == [key("bob", "posting")]
    api.generate()
    broadcast(api, VOTE)
    assert signers(api) == [key("alice", "posting")]
    broadcast(api, ["change_recovery_account", {"account_to_recover": "erin", "new_recovery_account": "bob", "extensions": []}])
    assert signers(api) == [key("erin", "owner")]


def test_several_accounts_sign_one_transaction(api: ApiChain) -> None:
    broadcast(api, TRANSFER, ["transfer", {"from": "bob", "to": "alice", "amount": "2.000 COIN", "memo": ""}])
    assert signers(api) == sorted([key("alice", "active"), key("bob", "active")])


def test_higher_role_signs_if_the_lower_key_is_unknown(api: ApiChain) -> None:
    give(api, "alice", posting=key_authority(public_key(secret("elsewhere"))))
    broadcast(api, comment("alice"))
    (signer,) = signers(api)
    assert signer in (key("alice", "active"), key("alice", "owner"))


def test_only_necessary_keys_sign(api: ApiChain) -> None:
    """bob's key alone reaches the threshold of the authority. erin's key, which is tried first, is therefore not used."""
    members = sorted([(key("bob", "active"), 2), (key("erin", "active"), 1)])
    give(api, "alice", active=Authority(2, (), tuple(members)))
    broadcast(api, TRANSFER)
    assert signers(api) == [key("bob", "active")]


def test_accounts_sign_for_accounts(api: ApiChain) -> None:
    give(api, "alice", active=Authority(2, (("bob", 1), ("erin", 1))))
    broadcast(api, TRANSFER)
    assert signers(api) == sorted([key("bob", "active"), key("erin", "active")])


def test_keys_can_be_given(api: ApiChain) -> None:
    give(api, "alice", owner=key_authority(public_key(secret("new"))), active=key_authority(public_key(secret("new"))))
    with pytest.raises(Refusal, match="Missing Active Authority alice"):
        broadcast(api, TRANSFER)
    broadcast(api, TRANSFER, keys=(wif_from_secret(secret("new")), wif_from_secret(secret("another"))))
    assert signers(api) == [public_key(secret("new"))]


def test_an_open_account_needs_no_signature(api: ApiChain) -> None:
    give(api, "alice", active=Authority())
    broadcast(api, TRANSFER)
    assert signers(api) == []


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (["transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""}], "does not have sufficient funds"),
        (["transfer", {"from": "nobody", "to": "bob", "amount": "1.000 COIN", "memo": ""}], "unknown key"),
        (["transfer", {"from": "alice", "to": "bob", "amount": "0.000 COIN", "memo": ""}], "Cannot transfer a negative amount"),
        (["transfer", {"from": "alice", "to": "bob", "amount": "1.000 STEEM", "memo": ""}], "Cannot parse asset symbol"),
        (["transferr", {}], "Invalid operation name: transferr"),
        ("transfer", "treated as object"),
    ],
)
def test_a_refusal_is_that_of_the_chain(api: ApiChain, operation: Any, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        broadcast(api, operation)
    assert not api.chain.pending


def test_a_transaction_without_operations_is_refused(api: ApiChain) -> None:
    assert api.refused("dev_api.broadcast_operations")[1].endswith("A transaction must have at least one operation")


@pytest.mark.parametrize("text", ["", "5JNH", "STM6", "1" * 51])
def test_an_invalid_key_is_refused(api: ApiChain, text: str) -> None:
    with pytest.raises(Refusal, match="private key"):
        broadcast(api, TRANSFER, keys=(text,))


def test_posting_and_active_operations_can_not_be_mixed(api: ApiChain) -> None:
    with pytest.raises(Refusal, match="required_active"):
        broadcast(api, comment("alice"), TRANSFER)


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        (["transfer", {"from": "alice", "to": "bob", "amount": "1.000 STEEM", "memo": ""}], "unknown_symbol"),
        (["transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""}], "insufficient_funds"),
        (["transferr", {}], "unknown_operation"),
    ],
)
def test_a_refusal_is_explained(api: ApiChain, operation: Any, rule: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "dev_api.broadcast_operations", "params": {"operations": [TRANSFER, operation]}}
    assert json.loads(api.answer(json.dumps(request).encode()))["error"]["data"]["explain"]["rule"] == rule
    assert api.call("dev_api.list_refused", limit=1)[0]["explain"]["rule"] == rule


def test_an_invalid_key_is_not_listed_as_a_refused_transaction(api: ApiChain) -> None:
    assert api.refused("dev_api.broadcast_operations", operations=[TRANSFER], keys=["5J"])
    assert api.call("dev_api.list_refused") == []
