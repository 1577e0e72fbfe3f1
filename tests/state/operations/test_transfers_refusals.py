"""What operations of transfers and savings refuse without state, each by one change of an accepted operation."""

import pytest
from msgspec.structs import replace

from state.operations import transfers
from state.protocol.values.asset import VESTS, Asset
from tests.helpers.operations import sample
from tests.helpers.refused import ODD, SMT, SMT_VESTING, Change, Rows, full_refusal, require_accepted, rows

MEMO: Rows = [
    ({"memo": "é" * 1024}, "memo.size() < COIN_MAX_MEMO_SIZE: Memo is too large"),
    ({"memo": ODD}, "fc::is_utf8( memo ): Memo is not UTF8"),
]
SAVINGS: Rows = [
    ({"amount": Asset(0)}, "amount.amount > 0: "),
    ({"amount": Asset(1, VESTS)}, "amount.symbol == COIN_SYMBOL || amount.symbol == SBD_SYMBOL: "),
    *MEMO,
]

REFUSALS: dict[str, Rows] = {
    "transfer": [
        *(
            ({"amount": Asset(1, symbol)}, "amount.symbol.is_vesting() == false: Transfer of vesting is not allowed.")
            for symbol in (VESTS, SMT_VESTING)
        ),
        *(({"amount": Asset(amount)}, "amount.amount > 0: Cannot transfer a negative amount (aka: stealing)") for amount in (0, -1)),
        *MEMO,
    ],
    "transfer_to_savings": SAVINGS,
    "transfer_from_savings": SAVINGS,
    "cancel_transfer_from_savings": [],
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "transfer": "from_ to",
    "transfer_to_savings": "from_ to",
    "transfer_from_savings": "from_ to",
    "cancel_transfer_from_savings": "from_",
}


@pytest.mark.parametrize(("name", "changes", "text"), rows(transfers, NAMES, REFUSALS))
def test_refusal(name: str, changes: Change, text: str) -> None:
    assert full_refusal(replace(sample(name), **changes)) == text


ACCEPTED: list[tuple[str, Change]] = [
    ("transfer", {"memo": "m" * 2047, "amount": Asset(1, SMT)}),
]


@pytest.mark.parametrize(("name", "changes"), ACCEPTED)
def test_accepted(name: str, changes: Change) -> None:
    require_accepted(name, changes)
