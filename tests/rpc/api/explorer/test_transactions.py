"""The explorer's view of a transaction, requested by id."""

import pytest

from rpc.api.explorer import transactions
from state.chain.known_keys import known_accounts
from state.operations.authorities import AccountUpdate
from state.operations.transfers import Transfer
from state.protocol.authority import key_authority
from state.protocol.keys.keys import public_key, public_key_text
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import ApiChain, secret

METHOD = "explorer_api.get_transaction"


def site_with(*plugins: str) -> ApiChain:
    api = ApiChain("testnet", plugins=(*plugins, "debug_node_api"))
    api.start()
    api.account("alice", balance=1_000_000)
    api.account("bob")
    return api


def paid(api: ApiChain) -> SignedTransaction:
    trx = api.transaction(Transfer("alice", "bob", Asset(5_000, COIN), "for the coffee"), signers=(secret("alice"),))
    api.chain.push_transaction(trx)
    return trx


@pytest.mark.parametrize("plugins", [(), ("account_history",), ("transaction_status",)])
def test_a_transaction_is_found_while_pending_and_in_a_block(plugins: tuple[str, ...]) -> None:
    api = site_with(*plugins)
    trx = paid(api)
    found = api.call(METHOD, id=trx.id.hex())
    assert (found["block_num"], found["trx_in_block"], found["timestamp"], found["is_irreversible"]) == (None, None, None, False)
    head = api.state.props.head_block_number
    assert found["reference"]["block_num"] == head
    assert found["reference"]["is_same"]
    api.generate()
    found = api.call(METHOD, id=trx.id.hex())
    assert (found["block_num"], found["trx_in_block"]) == (head + 1, 0)
    assert found["transaction"] == api.wire.transaction_to_json(trx)
    assert found["id"] == trx.id.hex()
    assert found["reference"]["block_id"] == api.chain.block_by_number(head).id.hex()  # type: ignore[union-attr]
    assert api.call(METHOD, id="00" * 20) is None


def test_irreversible_transaction() -> None:
    api = site_with("account_history")
    trx = paid(api)
    api.generate(30)
    found = api.call(METHOD, id=trx.id.hex())
    assert found["is_irreversible"]
    assert found["signed_by"][0]["belongs_to"][0]["account"] == "alice"


def test_without_a_plugin_only_the_newest_blocks_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "BLOCKS_MAX", 2)
    api = site_with()
    trx = paid(api)
    api.generate(2)
    assert api.call(METHOD, id=trx.id.hex())["trx_in_block"] == 0
    api.generate(2)
    assert api.call(METHOD, id=trx.id.hex()) is None


def test_the_fields_cover_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    api = site_with()
    trx = paid(api)
    found = api.call(METHOD, id=trx.id.hex())
    assert "".join(field["hex"] for field in found["fields"]) == found["hex"] == api.wire.pack_transaction(trx).hex()
    assert found["size"] * 2 == len(found["hex"])
    assert not found["fields_left_out"]
    (amount,) = [field for field in found["fields"] if field["path"] == "operations[0].amount"]
    assert amount["value"] == "5.000 COIN"
    assert found["hex"][2 * amount["offset"] :].startswith(amount["hex"])
    monkeypatch.setattr(transactions, "FIELDS_MAX", 3)
    found = api.call(METHOD, id=trx.id.hex())
    assert (len(found["fields"]), found["fields_left_out"]) == (3, True)


def test_signers_and_their_present_authority() -> None:
    api = site_with("account_history")
    trx = paid(api)
    key = public_key_text(public_key(secret("alice")), api.state.spec.key_prefix)
    found = api.call(METHOD, id=trx.id.hex())
    (signer,) = found["signed_by"]
    assert signer["key"] == key
    assert {"account": "alice", "role": "active"} in signer["belongs_to"]
    assert found["required"] == [{"account": "alice", "role": "active", "threshold": 1, "reached": 1, "met_by": "active"}]
    # The active key has changed in the meantime. The owner key is still sufficient.
    row = api.state.authority("alice")
    api.state.account_authorities.modify(row, active=key_authority(public_key(secret("new"))))
    assert api.call(METHOD, id=trx.id.hex())["required"][0] | {"threshold": 0} == {
        "account": "alice", "role": "active", "threshold": 0, "reached": 0, "met_by": "owner",
    }  # fmt: skip
    api.state.account_authorities.modify(row, owner=key_authority(public_key(secret("new"))))
    assert api.call(METHOD, id=trx.id.hex())["required"][0]["met_by"] is None


def test_a_key_that_was_replaced() -> None:
    api = site_with("account_history", "account_by_key")
    trx = paid(api)
    new = key_authority(public_key(secret("new")))
    change = AccountUpdate("alice", owner=new, active=new, posting=new, memo_key=public_key(secret("new")))
    api.chain.push_transaction(api.transaction(change, signers=(secret("alice"),)))
    api.generate()
    (signer,) = api.call(METHOD, id=trx.id.hex())["signed_by"]
    assert signer["belongs_to"] == []
    assert signer["belonged_to"] == [{"account": "alice", "role": "owner"}]


def test_invalid_signatures_and_impersonation() -> None:
    api = site_with()
    api.chain.impersonate(["alice"])
    trx = api.transaction(Transfer("alice", "bob", Asset(5_000, COIN), ""))
    api.chain.push_transaction(trx)
    found = api.call(METHOD, id=trx.id.hex())
    assert (found["is_impersonated"], found["signed_by"], found["required"][0]["met_by"]) == (True, [], None)
    trx = api.transaction(Transfer("alice", "bob", Asset(6_000, COIN), ""), signers=())
    trx.signatures = (bytes(65),)
    api.chain.pending.append(api.wire.seal(trx))
    assert api.call(METHOD, id=trx.id.hex())["signed_by"] == [{"key": None, "belongs_to": []}]


def test_the_cost_in_resource_credits() -> None:
    api = ApiChain("dev", plugins=("rc", "debug_node_api"))
    api.generate(3)
    assert api.call(METHOD, id=dev_transfer(api).id.hex())["credits"]["payer"] == "alice"
    found = api.call(METHOD, id=api.chain.pending[0].id.hex())["credits"]
    assert int(found["cost"]) > 0
    assert sum(int(one["cost"]) for one in found["resources"]) == int(found["cost"])
    assert "resource_market_bytes" in [one["resource"] for one in found["resources"]]
    assert site_without_credits()["credits"] is None


def dev_transfer(api: ApiChain) -> SignedTransaction:
    (alice,) = [account for account in known_accounts(api.state.spec) if account.name == "alice"]
    trx = api.transaction(Transfer("alice", "bob", Asset(1, COIN), ""), signers=(alice.secrets["active"],))
    api.chain.push_transaction(trx)
    return trx


def site_without_credits() -> dict[str, object]:
    api = site_with()
    found: dict[str, object] = api.call(METHOD, id=paid(api).id.hex())
    return found
