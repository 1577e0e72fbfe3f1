"""Methods that verify signatures, and the work that they count for it."""

from typing import Any

import pytest

from rpc.jsonrpc import allowance
from state.operations.transfers import Transfer
from state.protocol.authority import Authority
from state.protocol.keys.keys import public_key, public_key_text
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import ApiChain, Refusal, secret

ZERO_HASH = "00" * 32


def text(name: str) -> str:
    """Return the public key of a test account as text."""
    return public_key_text(public_key(secret(name)), "TST")


@pytest.fixture
def api() -> ApiChain:
    """A chain with alice, bob, `joint`, which needs the signatures of both, and `open`, which needs none."""
    api = ApiChain()
    api.start(2)
    api.account("alice")
    api.account("bob")
    api.account("joint", Authority(2, (("alice", 1), ("bob", 1))))
    api.account("open", Authority())
    return api


def spend(api: ApiChain, name: str, *signers: str) -> SignedTransaction:
    operation = Transfer(from_=name, to="bob", amount=Asset(1, COIN), memo="")
    return api.transaction(operation, signers=tuple(secret(signer) for signer in signers))


def test_both_groups_give_the_same_answers(api: ApiChain) -> None:
    trx, keys = spend(api, "alice", "alice"), [text("alice"), text("bob")]
    named, old = api.wire.transaction_to_json(trx), api.wire.transaction_to_json(trx, legacy=True)
    assert api.call("database_api.verify_authority", trx=named) == {"valid": api.call("condenser_api.verify_authority", old)}
    first = {"keys": keys[:1]}
    assert api.call("database_api.get_required_signatures", trx=named, available_keys=keys) == first
    assert api.call("database_api.get_potential_signatures", trx=named) == first
    assert {"keys": api.call("condenser_api.get_required_signatures", old, keys)} == first
    assert {"keys": api.call("condenser_api.get_potential_signatures", old)} == first
    assert {"hex": api.call("condenser_api.get_transaction_hex", old)} == api.call("database_api.get_transaction_hex", trx=named)


def test_verify_account_authority(api: ApiChain) -> None:
    def valid(account: str, *signers: str) -> Any:
        keys = [text(signer) for signer in signers]
        assert api.call("condenser_api.verify_account_authority", account, keys) is True
        return api.call("database_api.verify_account_authority", account=account, signers=keys)

    assert valid("alice", "alice") == {"valid": True}
    assert valid("alice", "bob", "alice") == {"valid": True}
    assert valid("joint", "bob", "alice") == {"valid": True}
    assert valid("open") == valid("temp") == {"valid": True}
    missing = "missing required active authority:Missing Active Authority joint"
    assert api.refused("database_api.verify_account_authority", account="joint", signers=[text("bob")]) == (-32000, missing)
    unknown = (-32003, "Assert Exception:account != nullptr: no such account")
    assert api.refused("database_api.verify_account_authority", account="nobody") == unknown
    assert api.refused("condenser_api.verify_account_authority", "nobody", []) == unknown


def test_verify_signatures(api: ApiChain) -> None:
    def valid(*signers: str, **required: Any) -> Any:
        signatures = [sign(secret(signer), bytes(32), Canonical.fc_canonical).hex() for signer in signers]
        return api.call("database_api.verify_signatures", hash=ZERO_HASH, signatures=signatures, **required)["valid"]

    assert valid("alice", required_active=["alice"])
    assert valid("alice", required_posting=["alice"])
    assert valid("alice", required_owner=["alice"])
    assert valid("bob", required_other=[{"weight_threshold": 1, "account_auths": [], "key_auths": [[text("bob"), 1]]}])
    assert valid()
    assert not valid("bob", required_active=["alice"])
    assert not valid(required_active=["alice"])
    assert not valid("alice", "bob", required_active=["alice"])
    assert not valid("alice", required_active=["nobody"])
    assert not valid("alice", required_active=["alice"], required_posting=["alice"])


def test_verify_signatures_exchanges_owner_and_active(api: ApiChain) -> None:
    """As in the reference, authorities required as active are looked up as owner authorities, and vice versa."""
    authority = api.state.authority("alice")
    owner = api.state.authority("bob").owner
    api.state.account_authorities.modify(authority, owner=owner)
    signature = sign(secret("bob"), bytes(32), Canonical.fc_canonical).hex()
    assert api.call("database_api.verify_signatures", hash=ZERO_HASH, signatures=[signature], required_active=["alice"]) == {"valid": True}
    assert api.call("database_api.verify_signatures", hash=ZERO_HASH, signatures=[signature], required_owner=["alice"]) == {"valid": False}


def test_work_is_limited(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call with many signatures or authorities is refused before they are verified, because its work is counted first."""
    monkeypatch.setattr(allowance, "LOCAL_UNITS_MAX", 50)
    walked = {"weight_threshold": 0, "account_auths": [["joint", 1], ["alice", 1]], "key_auths": []}
    signature = sign(secret("alice"), bytes(32), Canonical.fc_canonical).hex()
    many = api.wire.transaction_to_json(spend(api, "alice", *["bob"] * 20))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("verify_signatures", {"hash": ZERO_HASH, "required_other": [walked] * 200}),
        ("verify_signatures", {"hash": ZERO_HASH, "signatures": [signature] * 20}),
        ("verify_authority", {"trx": many}),
        ("get_required_signatures", {"trx": many, "available_keys": []}),
        ("get_potential_signatures", {"trx": many}),
    ]
    for method, named in asked:
        with pytest.raises(Refusal, match="at most 50 units"):
            api.call(f"database_api.{method}", **named)


def test_texts_of_keys_are_counted_as_they_are_read(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "LOCAL_UNITS_MAX", 50)
    keys = [public_key_text(b"\2" + i.to_bytes(32, "big"), "TST") for i in range(60)]
    wide = {"weight_threshold": 1, "account_auths": [], "key_auths": [[key, 1] for key in keys]}
    creation = {"type": "create_claimed_account_operation", "value": {"creator": "alice", "new_account_name": "new", "owner": wide}}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("database_api.verify_account_authority", {"account": "alice", "signers": keys}),
        ("database_api.verify_signatures", {"hash": ZERO_HASH, "required_other": [wide]}),
        ("database_api.get_transaction_hex", {"trx": {"operations": [creation]}}),
    ]
    for method, named in asked:
        with pytest.raises(Refusal, match="at most 50 units"):
            api.call(method, **named)
