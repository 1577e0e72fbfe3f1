"""Transactions that the node signs itself are signed with the keys that suffice and with none more, and refused as any others."""

import json
from typing import Any

import pytest

from state.protocol.keys.authority import Authority, key_authority
from state.protocol.keys.keys import derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.keys.signatures import Canonical
from tests.helpers.api import INIT_SECRET, Refusal, Site, secret

TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]
VOTE = ["vote", {"voter": "alice", "author": "bob", "permlink": "p", "weight": 10000}]


@pytest.fixture
def site() -> Site:
    """The chain dev, on which blocks are made only when they are asked for."""
    site = Site("dev")
    site.generate(25)
    return site


def broadcast(site: Site, *operations: Any, keys: tuple[str, ...] = ()) -> Any:
    return site.call("dev_api.broadcast_operations", operations=list(operations), keys=list(keys))


def signers(site: Site) -> list[bytes]:
    """The keys that have signed the last transaction."""
    return sorted(site.wire.signers(site.chain.pending[-1], Canonical.bip_0062))


def key(name: str, role: str) -> bytes:
    return public_key(derive_secret(name, role, "dev"))


def give(site: Site, name: str, **authorities: Authority) -> None:
    """Give an account other authorities."""
    site.state.account_authorities.modify(site.state.authority(name), **authorities)


def comment(author: str) -> list[Any]:
    fields = {"author": author, "permlink": "p", "parent_author": "", "parent_permlink": "test", "title": "", "body": "text"}
    return ["comment", {**fields, "json_metadata": ""}]


# ------------------------------------------------------------------ keys


def test_the_accounts_of_the_genesis_and_the_first_witness_are_listed(site: Site) -> None:
    listed = {entry["name"]: entry["keys"] for entry in site.call("dev_api.list_keys")}
    assert list(listed)[:2] == ["alice", "bob"]
    assert list(listed)[-1] == "initminer"
    assert len(listed) == 11
    assert listed["bob"]["posting"] == {
        "public": public_key_text(key("bob", "posting"), "TST"),
        "private": wif_from_secret(derive_secret("bob", "posting", "dev")),
    }
    assert {pair["private"] for pair in listed["initminer"].values()} == {wif_from_secret(INIT_SECRET)}
    assert site.call("condenser_api.get_accounts", ["bob"])[0]["memo_key"] == listed["bob"]["memo"]["public"]


# ------------------------------------------------------------------ broadcasting


def test_a_transfer_is_signed_with_the_active_key_and_pending(site: Site) -> None:
    answer = broadcast(site, TRANSFER)
    assert answer == {"id": site.chain.pending[0].id.hex(), "block_num": None}
    assert signers(site) == [key("alice", "active")]
    assert site.call("condenser_api.get_accounts", ["bob"])[0]["balance"] == "100001.000 COIN"
    site.generate()
    assert not site.chain.pending
    assert site.call("condenser_api.get_accounts", ["bob"])[0]["balance"] == "100001.000 COIN"


def test_either_form_of_an_operation_is_taken(site: Site) -> None:
    amount = {"amount": "1000", "precision": 3, "nai": "@@000000021"}
    broadcast(site, {"type": "transfer_operation", "value": {"from": "alice", "to": "bob", "amount": amount, "memo": ""}}, TRANSFER)
    assert len(site.chain.pending[0].operations) == 2
    assert site.chain.pending[0].operations[0] == site.chain.pending[0].operations[1]


def test_equal_operations_are_two_transactions(site: Site) -> None:
    first, second = broadcast(site, TRANSFER), broadcast(site, TRANSFER)
    site.generate()
    third = broadcast(site, TRANSFER)
    assert len({first["id"], second["id"], third["id"]}) == 3
    assert site.call("condenser_api.get_accounts", ["bob"])[0]["balance"] == "100003.000 COIN"


def test_it_refers_to_an_irreversible_block_and_lasts(site: Site) -> None:
    """So that it stays valid when the last blocks are undone."""
    broadcast(site, TRANSFER)
    trx = site.chain.pending[0]
    assert trx.ref_block_num == site.state.props.last_irreversible_block_num > 0
    assert trx.expiration == site.state.head_time + 3600


def test_at_the_genesis_there_is_no_block_to_refer_to() -> None:
    site = Site("dev")
    broadcast(site, TRANSFER)
    assert site.chain.pending[0].ref_block_num == 0


def test_posting_and_owner_need_their_own_roles(site: Site) -> None:
    broadcast(site, comment("bob"))
    assert signers(site) == [key("bob", "posting")]
    site.generate()
    broadcast(site, VOTE)
    assert signers(site) == [key("alice", "posting")]
    broadcast(site, ["change_recovery_account", {"account_to_recover": "erin", "new_recovery_account": "bob", "extensions": []}])
    assert signers(site) == [key("erin", "owner")]


def test_several_accounts_sign_one_transaction(site: Site) -> None:
    broadcast(site, TRANSFER, ["transfer", {"from": "bob", "to": "alice", "amount": "2.000 COIN", "memo": ""}])
    assert signers(site) == sorted([key("alice", "active"), key("bob", "active")])


def test_a_higher_role_signs_where_the_key_of_the_lower_one_isnt_known(site: Site) -> None:
    give(site, "alice", posting=key_authority(public_key(secret("elsewhere"))))
    broadcast(site, comment("alice"))
    (signer,) = signers(site)
    assert signer in (key("alice", "active"), key("alice", "owner"))


def test_of_many_keys_only_those_that_are_needed_sign(site: Site) -> None:
    """bob has 2 of the 3 by himself; erin, who is asked first, is not needed."""
    members = sorted([(key("bob", "active"), 2), (key("erin", "active"), 1)])
    give(site, "alice", active=Authority(2, (), tuple(members)))
    broadcast(site, TRANSFER)
    assert signers(site) == [key("bob", "active")]


def test_accounts_sign_for_accounts(site: Site) -> None:
    give(site, "alice", active=Authority(2, (("bob", 1), ("erin", 1))))
    broadcast(site, TRANSFER)
    assert signers(site) == sorted([key("bob", "active"), key("erin", "active")])


def test_keys_can_be_given(site: Site) -> None:
    give(site, "alice", owner=key_authority(public_key(secret("new"))), active=key_authority(public_key(secret("new"))))
    with pytest.raises(Refusal, match="Missing Active Authority alice"):
        broadcast(site, TRANSFER)
    broadcast(site, TRANSFER, keys=(wif_from_secret(secret("new")), wif_from_secret(secret("another"))))
    assert signers(site) == [public_key(secret("new"))]


def test_an_open_account_needs_none(site: Site) -> None:
    give(site, "alice", active=Authority())
    broadcast(site, TRANSFER)
    assert signers(site) == []


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
def test_a_refusal_is_that_of_the_chain(site: Site, operation: Any, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        broadcast(site, operation)
    assert not site.chain.pending


def test_nothing_is_no_transaction(site: Site) -> None:
    assert site.refused("dev_api.broadcast_operations")[1].endswith("A transaction must have at least one operation")


@pytest.mark.parametrize("text", ["", "5JNH", "STM6", "1" * 51])
def test_a_key_that_is_none_is_refused(site: Site, text: str) -> None:
    with pytest.raises(Refusal, match="private key"):
        broadcast(site, TRANSFER, keys=(text,))


def test_roles_that_cant_be_mixed_are_refused(site: Site) -> None:
    with pytest.raises(Refusal, match="required_active"):
        broadcast(site, comment("alice"), TRANSFER)


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        (["transfer", {"from": "alice", "to": "bob", "amount": "1.000 STEEM", "memo": ""}], "unknown_symbol"),
        (["transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""}], "insufficient_funds"),
        (["transferr", {}], "unknown_operation"),
    ],
)
def test_a_refusal_is_explained(site: Site, operation: Any, rule: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "dev_api.broadcast_operations", "params": {"operations": [TRANSFER, operation]}}
    assert json.loads(site.answer(json.dumps(request).encode()))["error"]["data"]["explain"]["rule"] == rule
    assert site.call("dev_api.list_refused", limit=1)[0]["explain"]["rule"] == rule


def test_a_wrong_key_is_no_refused_transaction(site: Site) -> None:
    assert site.refused("dev_api.broadcast_operations", operations=[TRANSFER], keys=["5J"])
    assert site.call("dev_api.list_refused") == []
