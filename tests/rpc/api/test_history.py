"""Operations by account and by block, transactions by id, accounts by key: the methods of account_history and account_by_key."""

from typing import Any

import pytest

from rpc.declare.record_encoder import OPERATION_UNITS
from state.operations.smt.tokens import SmtCreate
from state.operations.transfers import Transfer
from state.plugins.account_by_key import ACCOUNT_BY_KEY
from state.plugins.account_history import ACCOUNT_HISTORY
from state.protocol.keys.keys import public_key, public_key_text
from state.protocol.transaction import ZERO_ID, SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, ApiChain, secret

NOT_IN_A_TRANSACTION = 2**32 - 1


@pytest.fixture
def api() -> ApiChain:
    """Two blocks, and an account."""
    api = ApiChain(plugins=[ACCOUNT_HISTORY.name, ACCOUNT_BY_KEY.name])
    api.start(2)
    api.account("alice")
    return api


def push(api: ApiChain, *amounts: int) -> SignedTransaction:
    """A transaction with transfers to alice."""
    transfers = [Transfer(from_="initminer", to="alice", amount=Asset(amount, COIN), memo="") for amount in amounts]
    trx = api.transaction(*transfers, signers=(INIT_SECRET,))
    api.chain.push_transaction(trx)
    return trx


def amounts(items: list[Any]) -> list[str]:
    """The amounts of transfers in the condenser's history, with their numbers."""
    return [f"{number} {item['op'][1]['amount']}" for number, item in items]


def test_history_ends_at_start(api: ApiChain) -> None:
    for amount in range(1, 6):
        push(api, amount)
    api.generate()
    old = "condenser_api.get_account_history"
    assert amounts(api.call(old, "alice", -1, 2)) == ["4 0.004 COIN", "5 0.005 COIN"]
    assert amounts(api.call(old, "alice", 3, 2)) == ["2 0.002 COIN", "3 0.003 COIN"]
    assert amounts(api.call(old, "alice", "18446744073709551615", 100)) == [f"{i} 0.00{i} COIN" for i in range(1, 6)]
    assert api.call(old, "alice", 3, 0) == api.call(old, "nobody", -1, 5) == []
    named = api.call("account_history_api.get_account_history", account="alice", start="-1", limit=1)
    ((number, item),) = named["history"]
    assert (number, item["op"]["type"], item["op"]["value"]["amount"]["amount"]) == (5, "transfer_operation", "5")
    assert len(api.call("account_history_api.get_account_history", account="alice")["history"]) == 5


def test_each_shown_operation_counts_as_work(api: ApiChain) -> None:
    for amount in range(1, 6):
        push(api, amount)
    spent = []
    for limit in (1, 5):
        before = api.state.work.spent
        api.call("condenser_api.get_account_history", "alice", -1, limit)
        spent.append(api.state.work.spent - before)
    assert spent[1] - spent[0] >= 4 * (1 + OPERATION_UNITS)


def test_start_and_limit(api: ApiChain) -> None:
    start = (-32003, "Assert Exception:args.start >= args.limit: start must be greater than limit")
    limit = (-32003, "Assert Exception:args.limit <= 10000: limit of 10001 is greater than maxmimum allowed")
    assert api.refused("condenser_api.get_account_history", "alice", 3, 4) == start
    assert api.refused("account_history_api.get_account_history", account="alice", start=0, limit=1) == start
    assert api.refused("condenser_api.get_account_history", "alice", -1, 10001) == limit
    assert api.refused("condenser_api.get_account_history", "alice", 5, 10001) == limit
    assert api.refused("condenser_api.get_account_history", "alice", -1)[1].endswith("Expected #s argument(s), was 2")


def test_a_pending_operation_and_its_position_in_a_block(api: ApiChain) -> None:
    before = api.state.head_time
    trx = push(api, 7, 8)
    (pending, _) = api.call("condenser_api.get_ops_in_block", 2)[-2:]
    assert (pending["trx_id"], pending["block"], pending["trx_in_block"]) == (trx.id.hex(), 2, NOT_IN_A_TRANSACTION)
    api.generate()
    first, second, reward = api.call("condenser_api.get_ops_in_block", 3, False)
    expected = {"trx_id": trx.id.hex(), "block": 3, "trx_in_block": 0, "op_in_trx": 0, "virtual_op": 0}
    assert {name: first[name] for name in expected} == expected
    assert first["timestamp"] == api.call("condenser_api.get_block", 2)["timestamp"]
    assert (second["op_in_trx"], second["op"][1]["amount"]) == (1, "0.008 COIN")
    assert (reward["op"][0], reward["trx_id"], reward["virtual_op"]) == ("producer_reward", ZERO_ID.hex(), 1)
    assert reward["trx_in_block"] == NOT_IN_A_TRANSACTION
    assert api.state.head_time == before + 3


def test_virtual_operations(api: ApiChain) -> None:
    push(api, 7)
    api.generate(2)
    (reward,) = api.call("account_history_api.get_ops_in_block", block_num=3, only_virtual=True)["ops"]
    assert reward["op"]["type"] == "producer_reward_operation"
    assert len(api.call("account_history_api.get_ops_in_block", block_num=3)["ops"]) == 2
    assert api.call("condenser_api.get_ops_in_block", 9) == []
    ranged = api.call("account_history_api.enum_virtual_ops", block_range_begin=2, block_range_end=4)
    assert [(item["block"], item["op"]["type"]) for item in ranged["ops"]] == [(n, "producer_reward_operation") for n in (2, 3)]
    assert ranged["next_block_range_begin"] == 4
    assert api.call("account_history_api.enum_virtual_ops", block_range_begin=3, block_range_end=99)["next_block_range_begin"] == 0
    assert len(api.call("account_history_api.enum_virtual_ops")["ops"]) > 1  # the first block alone
    upward = (-32003, "Assert Exception:blockRangeEnd > blockRangeBegin: Block range must be upward")
    assert api.refused("account_history_api.enum_virtual_ops", block_range_begin=3, block_range_end=3) == upward


def test_transactions(api: ApiChain) -> None:
    trx = push(api, 7)
    text = f"Assert Exception:false: Unknown Transaction {trx.id.hex()}"
    assert api.refused("condenser_api.get_transaction", trx.id.hex()) == (-32003, text)
    api.generate()
    named = api.call("account_history_api.get_transaction", id=trx.id.hex())
    old = api.call("condenser_api.get_transaction", trx.id.hex())
    for shown, plain in ((named, api.wire.transaction_to_json(trx)), (old, api.wire.transaction_to_json(trx, legacy=True))):
        assert shown == plain | {"transaction_id": trx.id.hex(), "block_num": 3, "transaction_num": 0}
    assert old == api.call("condenser_api.get_block", 3)["transactions"][0]
    assert api.refused("account_history_api.get_transaction", id="ff")[1].endswith("Unknown Transaction ff" + "00" * 19)
    assert api.refused("condenser_api.get_transaction", "no hex")[0] == -32000


def test_the_condenser_leaves_operations_on_tokens_out(api: ApiChain) -> None:
    """They have no form there; the numbers of the others stay."""
    push(api, 1)
    plugin = ACCOUNT_HISTORY.of(api.state)
    plugin.record(api.state, SmtCreate(control_account="alice"))
    push(api, 2)
    assert amounts(api.call("condenser_api.get_account_history", "alice", -1, 9)) == ["1 0.001 COIN", "3 0.002 COIN"]
    named = api.call("account_history_api.get_account_history", account="alice")["history"]
    assert [item["op"]["type"] for _, item in named] == ["transfer_operation", "smt_create_operation", "transfer_operation"]


# ------------------------------------------------------------------ keys


def test_accounts_by_key() -> None:
    api = ApiChain("dev", plugins=[ACCOUNT_BY_KEY.name])
    prefix = api.wire.spec.key_prefix
    unknown = public_key_text(public_key(secret("nobody")), prefix)
    alice = api.call("condenser_api.get_accounts", ["alice"])[0]
    keys = [alice["posting"]["key_auths"][0][0], unknown, alice["owner"]["key_auths"][0][0]]
    assert api.call("condenser_api.get_key_references", keys) == [["alice"], [], ["alice"]]
    assert api.call("account_by_key_api.get_key_references", keys=keys) == {"accounts": [["alice"], [], ["alice"]]}
    assert api.call("account_by_key_api.get_key_references") == {"accounts": []}
    assert api.refused("account_by_key_api.get_key_references", keys=["XYZ" + unknown[3:]])[0] == -32003


# ------------------------------------------------------------------ plugins that are off


def test_without_the_plugin() -> None:
    """Named groups are not served, condenser methods name the missing plugin; both tell how to enable it."""
    api = ApiChain(plugins=[])
    assert api.refused("condenser_api.get_account_history", "alice", -1, 1) == (
        -32003,
        "Assert Exception:_account_history_api: account_history_api_plugin not enabled.",
    )
    # The name of another plugin, as on the reference.
    assert api.refused("condenser_api.get_key_references", [])[1].endswith("account_history_api_plugin not enabled.")
    code, message = api.refused("account_history_api.get_transaction", id="")
    assert (code, message.split(": ")[1]) == (-32002, "Could not find API account_history_api")
    assert not [name for name in api.call("jsonrpc.get_methods") if name.startswith("account_history_api")]
