"""What operations of changing authorities and recovering accounts refuse without state, each by one change of an accepted operation."""

from state.operations import authorities
from state.protocol.authority import Authority, key_authority
from tests.helpers.operations import KEY
from tests.helpers.refused import BAD_AUTHORITY, BAD_MEMBER, METADATA, ODD, Change, Rows, refusal_tests

IMPOSSIBLE = "owner_authority.is_impossible(): {} owner authority cannot be impossible"
TRIVIAL = "new_owner_authority.weight_threshold: new owner authority cannot be trivial"

REFUSALS: dict[str, Rows] = {
    "account_update": METADATA,
    "account_update2": [
        *METADATA,
        ({"posting_json_metadata": ODD}, "fc::is_utf8(posting_json_metadata): JSON Metadata not formatted in UTF8"),
        ({"posting_json_metadata": "[],"}, "fc::json::is_valid(posting_json_metadata): JSON Metadata not valid JSON"),
    ],
    "decline_voting_rights": [],
    "request_account_recovery": [({"new_owner_authority": BAD_AUTHORITY}, BAD_MEMBER)],
    "recover_account": [
        (
            {"new_owner_authority": key_authority(KEY), "recent_owner_authority": key_authority(KEY)},
            "!( new_owner_authority == recent_owner_authority ): Cannot set new owner authority to the recent owner authority",
        ),
        ({"new_owner_authority": Authority(1)}, "!new_" + IMPOSSIBLE.format("new")),
        ({"recent_owner_authority": Authority(1)}, "!recent_" + IMPOSSIBLE.format("recent")),
        ({"new_owner_authority": Authority(0)}, TRIVIAL),
        ({"new_owner_authority": BAD_AUTHORITY}, BAD_MEMBER),
        ({"recent_owner_authority": BAD_AUTHORITY}, BAD_MEMBER),
    ],
    "change_recovery_account": [],
    "reset_account": [
        ({"new_owner_authority": Authority(1)}, "!new_" + IMPOSSIBLE.format("new")),
        ({"new_owner_authority": Authority(0)}, TRIVIAL),
        ({"new_owner_authority": BAD_AUTHORITY}, BAD_MEMBER),
    ],
    "set_reset_account": [
        (
            {"current_reset_account": "carol", "reset_account": "carol"},
            "current_reset_account != reset_account: new reset account cannot be current reset account",
        ),
    ],
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "account_update": "account",
    "request_account_recovery": "recovery_account account_to_recover",
    "recover_account": "account_to_recover",
    "change_recovery_account": "account_to_recover new_recovery_account",
    "decline_voting_rights": "account",
    "reset_account": "reset_account account_to_reset",
    "set_reset_account": "account current_reset_account? reset_account",
    "account_update2": "account",
}


ACCEPTED: list[tuple[str, Change]] = [
    ("account_update", {"owner": BAD_AUTHORITY}),
    ("set_reset_account", {"current_reset_account": ""}),
]


test_refusal, test_accepted = refusal_tests(authorities, NAMES, REFUSALS, ACCEPTED)
