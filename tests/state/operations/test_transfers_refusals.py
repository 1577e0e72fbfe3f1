"""What operations of transfers and savings refuse without state, each by one change of an accepted operation."""

from state.operations import transfers
from state.protocol.values.asset import VESTS, Asset
from tests.helpers.refused import ODD, SMT, SMT_VESTING, Change, Rows, refusal_tests

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


ACCEPTED: list[tuple[str, Change]] = [
    ("transfer", {"memo": "m" * 2047, "amount": Asset(1, SMT)}),
]


test_refusal, test_accepted = refusal_tests(transfers, NAMES, REFUSALS, ACCEPTED)
