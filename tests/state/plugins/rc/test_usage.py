"""How much of the five resources a transaction uses."""

import pytest

from state.operations.accounts import AccountCreate, ClaimAccount
from state.operations.custom import Custom, CustomJson
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting
from state.plugins.rc.usage import added, usage_of
from state.protocol.authority import Authority
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import Asset


def sized(size: int, *operations: Operation) -> SignedTransaction:
    """Return a transaction of this size in bytes."""
    return SignedTransaction(operations=operations, size=size)


@pytest.mark.parametrize(
    ("operation", "accounts", "market", "state", "time"),
    [
        (ClaimAccount(creator="alice"), 1, 0, 0, 10000),
        (ClaimAccount(creator="alice", fee=Asset(1)), 0, 0, 0, 10000),
        (CustomJson(id="follow"), 0, 0, 0, 228_000),
        (CustomJson(id="follower"), 0, 0, 0, 11400),
        (Custom(), 0, 0, 0, 11400),
        (TransferToVesting(), 0, 100, 0, 44400),
        (
            AccountCreate(owner=Authority(1, (("bob", 1),), ((b"", 1), (b"", 1)))),
            0,
            0,
            5_200_000 + 3 * 40_000 + 180_000 + 2 * 350_000,
            57700,
        ),
    ],
)
def test_the_usage_of_operations(operation: Operation, accounts: int, market: int, state: int, time: int) -> None:
    assert usage_of(sized(100, operation)) == (100, accounts, market, 174 * 135 + state, time)


def test_operations_of_a_transaction_add_up() -> None:
    one, other = Transfer(), CustomJson(id="follow")
    alone = usage_of(sized(100, one)), usage_of(sized(100, other))
    both = usage_of(sized(100, one, other))
    assert both == (100, 0, 100, alone[0][3], alone[0][4] + alone[1][4])
    assert added((1, 2, 3, 4, 5), (10, 20, 30, 40, 50)) == (11, 22, 33, 44, 55)
