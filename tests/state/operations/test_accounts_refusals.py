"""What operations of creating accounts refuse without state, each by one change of an accepted operation."""

from state.operations import accounts
from state.protocol.authority import Authority
from state.protocol.codec.kinds import Void
from state.protocol.values.asset import SBD, VESTS, Asset
from tests.helpers.refused import BAD_AUTHORITY, BAD_MEMBER, METADATA, Change, Rows, refusal_tests

LARGE = Authority(1, tuple((f"acc{n:03}", 1) for n in range(41)), ())
FEE: Rows = [
    ({"fee": Asset(1, SBD)}, "is_asset_type( fee, COIN_SYMBOL ): Account creation fee must be COIN"),
    ({"fee": Asset(-1)}, "fee >= asset( 0, COIN_SYMBOL ): Account creation fee cannot be negative"),
]

REFUSALS: dict[str, Rows] = {
    "account_create": [*FEE, ({"owner": BAD_AUTHORITY}, BAD_MEMBER), ({"active": BAD_AUTHORITY}, BAD_MEMBER), *METADATA],
    "account_create_with_delegation": [
        *FEE,
        ({"delegation": Asset(1)}, "is_asset_type( delegation, VESTS_SYMBOL ): Delegation must be VESTS"),
        ({"delegation": Asset(-1, VESTS)}, "delegation >= asset( 0, VESTS_SYMBOL ): Delegation cannot be negative"),
        *(({role: BAD_AUTHORITY}, BAD_MEMBER) for role in ("owner", "active", "posting")),
        *METADATA,
    ],
    "claim_account": [
        *FEE,
        (
            {"fee": Asset(1_000_000_001)},
            "fee <= asset( COIN_MAX_ACCOUNT_CREATION_FEE, COIN_SYMBOL ): Account creation fee cannot be too large",
        ),
        ({"extensions": (Void(),)}, "extensions.size() == 0: There are no extensions for claim_account_operation."),
    ],
    "create_claimed_account": [
        *(({role: BAD_AUTHORITY}, BAD_MEMBER) for role in ("owner", "active", "posting")),
        *(
            ({role: LARGE}, "size <= COIN_MAX_AUTHORITY_MEMBERSHIP: Authority membership exceeded. Max: 40 Current: 41")
            for role in ("owner", "active", "posting")
        ),
        *METADATA,
        ({"extensions": (Void(),)}, "extensions.size() == 0: There are no extensions for create_claimed_account_operation."),
    ],
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "account_create": "new_account_name",
    "claim_account": "creator",
    "create_claimed_account": "creator new_account_name",
    "account_create_with_delegation": "creator new_account_name",
}


ACCEPTED: list[tuple[str, Change]] = [
    ("account_create", {"posting": BAD_AUTHORITY, "creator": "Bad"}),
    ("claim_account", {"fee": Asset(1_000_000_000)}),
]


test_refusal, test_accepted = refusal_tests(accounts, NAMES, REFUSALS, ACCEPTED)
