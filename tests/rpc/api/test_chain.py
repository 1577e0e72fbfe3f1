"""chain_api: the methods that push a transaction or a block return whether it was accepted and, if not, the error message."""

from state.operations.transfers import Transfer
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, ApiChain


def transfer(api: ApiChain, amount: int = 1000) -> SignedTransaction:
    """Return a transfer by the first witness."""
    operation = Transfer(from_="initminer", to="null", amount=Asset(amount, COIN), memo="")
    return api.transaction(operation, signers=(INIT_SECRET,))


def test_pushing_transactions_and_blocks() -> None:
    api = ApiChain()
    api.start(2)
    fields = api.wire.transaction_to_json(transfer(api))
    assert api.call("chain_api.push_transaction", **fields) == {"success": True}
    api.generate()
    assert len(api.call("condenser_api.get_block", 3)["transactions"]) == 1
    refused = api.call("chain_api.push_transaction", **fields | {"signatures": []})
    assert refused["success"] is False
    assert "Duplicate transaction" in refused["error"]
    other = ApiChain()
    blocks = [api.call("block_api.get_block", block_num=number)["block"] for number in (1, 2, 3)]
    assert other.call("chain_api.push_block", block=blocks[0]) == {"success": True}
    assert other.call("chain_api.push_block", block=blocks[2], currently_syncing=True)["error"].startswith("unlinkable block")
    assert other.call("chain_api.push_block", block=blocks[1], currently_syncing=True) == {"success": True}
    assert other.state.props.head_block_number == 2
