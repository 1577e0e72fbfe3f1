"""What operations of vesting refuse without state, each by one change of an accepted operation."""

from state.operations import vesting
from state.protocol.values.asset import SBD, VESTS, Asset
from tests.helpers.refused import SMT, SMT_VESTING, Change, Rows, refusal_tests

REFUSALS: dict[str, Rows] = {
    "transfer_to_vesting": [
        *(
            (
                {"amount": Asset(1, symbol)},
                "amount.symbol == COIN_SYMBOL || ( amount.symbol.space() == asset_symbol_type::smt_nai_space "
                "&& amount.symbol.is_vesting() == false ): Amount must be COIN or SMT liquid",
            )
            for symbol in (SBD, VESTS, SMT_VESTING)
        ),
        ({"amount": Asset(0)}, "amount.amount > 0: Must transfer a nonzero amount"),
    ],
    "withdraw_vesting": [({"vesting_shares": Asset(1)}, "is_asset_type( vesting_shares, VESTS_SYMBOL): Amount must be VESTS")],
    "set_withdraw_vesting_route": [
        ({"percent": 10001}, "0 <= percent && percent <= COIN_100_PERCENT: Percent must be valid coin percent"),
    ],
    "delegate_vesting_shares": [
        ({"delegatee": "alice"}, "delegator != delegatee: You cannot delegate VESTS to yourself"),
        ({"vesting_shares": Asset(1)}, "is_asset_type( vesting_shares, VESTS_SYMBOL ): Delegation must be VESTS"),
        ({"vesting_shares": Asset(-1, VESTS)}, "vesting_shares >= asset( 0, VESTS_SYMBOL ): Delegation cannot be negative"),
    ],
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "transfer_to_vesting": "from_ to?",
    "withdraw_vesting": "account",
    "set_withdraw_vesting_route": "from_account to_account",
    "delegate_vesting_shares": "delegator delegatee",
}


ACCEPTED: list[tuple[str, Change]] = [
    ("transfer_to_vesting", {"to": "", "amount": Asset(1, SMT)}),
    ("withdraw_vesting", {"vesting_shares": Asset(-1, VESTS)}),
    ("delegate_vesting_shares", {"vesting_shares": Asset(0, VESTS)}),
]


test_refusal, test_accepted = refusal_tests(vesting, NAMES, REFUSALS, ACCEPTED)
