"""transaction_status_api: whether a transaction waits, is in a block, or has expired."""

from state.operations.transfers import Transfer
from state.plugins.transaction_status import TRANSACTION_STATUS
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from state.protocol.values.text import time_text
from tests.helpers.api import INIT_SECRET, NOW, ApiChain


def transfer(api: ApiChain, amount: int = 1000) -> SignedTransaction:
    """A transaction of the first witness."""
    operation = Transfer(from_="initminer", to="null", amount=Asset(amount, COIN), memo="")
    return api.transaction(operation, signers=(INIT_SECRET,))


def test_the_status_of_a_transaction() -> None:
    api = ApiChain(plugins=[TRANSACTION_STATUS.name])
    api.start(2)
    trx = transfer(api)
    find = "transaction_status_api.find_transaction"
    assert api.call(find, transaction_id=trx.id.hex()) == {"status": "unknown"}
    api.chain.push_transaction(trx)
    assert api.call(find, transaction_id=trx.id.hex()) == {"status": "within_mempool"}
    api.generate()
    found = api.call(find, transaction_id=trx.id.hex())
    assert found in ({"status": f"within_{kind}_block", "block_num": 3} for kind in ("irreversible", "reversible"))
    assert api.call(find, transaction_id="ff", expiration=time_text(NOW))["status"] == "too_old"
    assert api.call(find, transaction_id="ff", expiration=time_text(api.state.head_time + 10**6)) == {"status": "unknown"}
