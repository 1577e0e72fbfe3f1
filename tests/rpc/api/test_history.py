"""The methods of account_history_api that return operations by block and transactions by id."""

from functools import partial
from typing import Any

import pytest

from rpc.declare.record_encoder import OPERATION_UNITS
from state.operations.transfers import Transfer
from state.plugins.account_by_key import ACCOUNT_BY_KEY
from state.plugins.account_history import ACCOUNT_HISTORY
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, ApiChain


@pytest.fixture
def api() -> ApiChain:
    """A chain with two blocks and an account."""
    api = ApiChain(plugins=[ACCOUNT_HISTORY.name, ACCOUNT_BY_KEY.name])
    api.start(2)
    api.account("alice")
    return api


def push(api: ApiChain, *amounts: int) -> SignedTransaction:
    """Push a transaction with one transfer to alice per amount."""
    transfers = [Transfer(from_="initminer", to="alice", amount=Asset(amount, COIN), memo="") for amount in amounts]
    trx = api.transaction(*transfers, signers=(INIT_SECRET,))
    api.chain.push_transaction(trx)
    return trx


def test_each_shown_operation_counts_as_work(api: ApiChain) -> None:
    for amount in range(1, 6):
        push(api, amount)
    spent = []
    for limit in (1, 5):
        before = api.state.work.spent
        api.call("condenser_api.get_account_history", "alice", -1, limit)
        spent.append(api.state.work.spent - before)
    assert spent[1] - spent[0] >= 4 * (1 + OPERATION_UNITS)


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


def test_encoded_operations_of_irreversible_blocks_are_reused(api: ApiChain) -> None:
    """Replies stay the same with and without cached bytes, while blocks become irreversible, after a return to a savepoint, and if the
    cache is full.
    """
    caches = ACCOUNT_HISTORY.of(api.state).recorded.encoded

    def shown() -> list[tuple[list[Any], int]]:
        """Return the replies of both forms and the units of work that they take. They must not depend on the cache."""
        replies = []
        for ask in (
            partial(api.call, "condenser_api.get_account_history", "alice", -1, 100),
            partial(api.call, "account_history_api.get_account_history", account="alice", limit=100),
        ):
            before = api.state.work.spent
            replies.append((ask(), api.state.work.spent - before))
        return replies

    def checked() -> list[tuple[list[Any], int]]:
        found = shown()
        assert shown() == found
        for cache in caches:
            cache.clear()
        assert shown() == found
        return found

    push(api, 1, 2)
    savepoint = api.chain.savepoint()
    push(api, 3)
    checked()
    assert not any(caches)  # pending and reversible operations are not cached
    api.generate(60)
    first = checked()
    assert len(caches[True]) == len(caches[False]) == len(first[0][0])
    api.chain.restore(savepoint)
    push(api, 4)
    api.generate(60)
    second = checked()
    assert second != first
    for cache in caches:
        cache.clear()
        cache.size_max = 1_000
    assert shown() == second
    assert len(caches[False]) < len(second[0][0])
