"""What operations of posts, their options and votes refuse without state, each by one change of an accepted operation."""

from typing import Any

import pytest
from msgspec.structs import replace

from state.operations import content
from state.operations.content import AllowedVoteAssets, Beneficiary, CommentPayoutBeneficiaries, VotableAssetInfo
from state.protocol.errors import ChainError
from state.protocol.values.asset import COIN, SBD, Asset
from tests.helpers.operations import CODECS, sample
from tests.helpers.refused import METADATA, NAME, ODD, SMT, Change, Rows, refusal_tests

PERMLINK: Rows = [
    ({"permlink": "p" * 256}, "permlink.size() < COIN_MAX_PERMLINK_LENGTH: permlink is too long"),
    ({"permlink": ODD}, "fc::is_utf8( permlink ): permlink not formatted in UTF8"),
]


def shares(*pairs: tuple[str, int]) -> dict[str, Any]:
    """Beneficiaries as the change of comment_options."""
    return {"extensions": (CommentPayoutBeneficiaries(tuple(Beneficiary(*pair) for pair in pairs)),)}


def votable(*symbols: int) -> dict[str, Any]:
    """Vote assets as the change of comment_options."""
    return {"extensions": (AllowedVoteAssets(tuple((symbol, VotableAssetInfo()) for symbol in symbols)),)}


ONE_BENEFICIARY = "weight <= COIN_100_PERCENT: Cannot allocate more than 100% of rewards to one account"

REFUSALS: dict[str, Rows] = {
    "vote": [
        *(({"weight": weight}, "abs(weight) <= COIN_100_PERCENT: Weight is not a COINIT percentage") for weight in (10001, -10001)),
        *PERMLINK,
    ],
    "comment": [
        ({"title": "t" * 256}, "title.size() < COIN_COMMENT_TITLE_LIMIT: Title size limit exceeded. Max: 255 Current: 256"),
        ({"title": ODD}, "fc::is_utf8( title ): Title not formatted in UTF8"),
        ({"body": ""}, "body.size() > 0: Body is empty"),
        ({"body": ODD}, "fc::is_utf8( body ): Body not formatted in UTF8"),
        ({"parent_permlink": "p" * 256}, PERMLINK[0][1]),
        ({"parent_permlink": ODD}, PERMLINK[1][1]),
        *PERMLINK,
        ({"json_metadata": "{} "}, METADATA[1][1]),
    ],
    "delete_comment": PERMLINK,
    "comment_options": [
        ({"percent_coin_dollars": 10001}, "percent_coin_dollars <= COIN_100_PERCENT: Percent cannot exceed 100%"),
        ({"max_accepted_payout": Asset(1)}, "max_accepted_payout.symbol == SBD_SYMBOL: Max accepted payout must be in SBD"),
        ({"max_accepted_payout": Asset(-1, SBD)}, "max_accepted_payout.amount.value >= 0: Cannot accept less than 0 payout"),
        *PERMLINK,
        (shares(), "beneficiaries.size(): Must specify at least one beneficiary"),
        (
            shares(*((f"acc{n:03}", 1) for n in range(128))),
            "beneficiaries.size() < COIN_BENEFICIARY_LIMIT: Cannot specify more than 127 beneficiaries.",
        ),
        (shares(("Bad", 1)), NAME),
        (shares(("bob", 10001)), "beneficiaries[0]." + ONE_BENEFICIARY),
        (shares(("bob", 1), ("Bad", 10001)), NAME),
        (shares(("bob", 1), ("carol", 10001)), "beneficiaries[i]." + ONE_BENEFICIARY),
        (
            shares(("carol", 5000), ("bob", 5001)),
            "sum <= COIN_100_PERCENT: Cannot allocate more than 100% of rewards to a comment",
        ),
        *(
            (
                shares((first, 1), ("bob", 1)),
                "beneficiaries[i - 1] < beneficiaries[i]: Benficiaries must be specified in sorted order (account ascending)",
            )
            for first in ("bob", "carol")
        ),
        (votable(SMT, SMT + 32, SMT + 64), "votable_assets.size() <= SMT_MAX_VOTABLE_ASSETS: Too much votable assets specified"),
        (votable(COIN), "is_allowed(COIN_SYMBOL) == false: COIN can not be explicitly specified as one of allowed_vote_assets"),
    ],
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "vote": "voter author",
    "comment": "author parent_author?",
    "delete_comment": "author",
    "comment_options": "author",
}


ACCEPTED: list[tuple[str, Change]] = [
    ("vote", {"weight": 10000, "permlink": "p" * 255}),
    ("vote", {"weight": -10000, "permlink": ""}),
    ("comment", {"parent_author": "", "title": "t" * 255, "json_metadata": ""}),
    ("comment", {"json_metadata": '{"a":"' + ODD + '"}'}),
    ("comment_options", shares(*((f"acc{n:03}", 78) for n in range(127)))),
    ("comment_options", shares(("bob", 10000))),
    ("comment_options", votable(SMT, SMT + 32)),
    ("comment_options", votable()),
]


test_refusal, test_accepted = refusal_tests(content, NAMES, REFUSALS, ACCEPTED)


def test_json_that_the_reader_refuses_fails_with_its_error() -> None:
    for name in ("comment", "account_create", "account_update2"):
        with pytest.raises(ChainError) as caught:
            replace(sample(name), json_metadata="[1,2").validate(CODECS)
        assert caught.value.NAME == "eof_exception"
