"""What operations on accounts, transfers, vesting, witnesses, content and the market refuse without looking at state.

Refusals stand in a table, each as one field changed of the vector's operation. They are compared with those that the reference
gave to recorded broadcasts; what it refused only later, or accepted, has to pass.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from node.specs import load_spec
from state.operations.chain_properties import LegacyChainProperties
from state.operations.content import AllowedVoteAssets, Beneficiary, CommentPayoutBeneficiaries, VotableAssetInfo
from state.operations.witnesses import WitnessSetProperties, WitnessUpdate
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import CoinFee, Void
from state.protocol.errors import ChainError, Refused
from state.protocol.keys.authority import Authority, key_authority
from state.protocol.operation import Operation
from state.protocol.transaction import Wire
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price
from tests.conftest import CASES, case_names, read_json_lines
from tests.helpers.operations import CODECS, KEY, KIND, NAMES_A, sample

Change = dict[str, Any]
Rows = list[tuple[Change, str]]

MAIN = ChainCodecs(load_spec("steem-mainnet"))
RECORDED = Wire(load_spec("steem-testnet"))

SMT = 1353083859  # liquid, 3 decimals
SMT_VESTING = SMT ^ 32
BAD_AUTHORITY = Authority(1, (("No", 1),), ())
BAD_MEMBER = "is_valid_account_name( item.first ): "
LARGE = Authority(1, tuple((f"acc{n:03}", 1) for n in range(41)), ())
ODD = "\udcff"  # a byte that is not UTF-8


def refusal(operation: Operation, codecs: ChainCodecs = CODECS) -> str:
    """The text with which an operation is refused, in product spelling, without its class."""
    with pytest.raises(Refused) as caught:
        operation.validate(codecs)
    return caught.value.message().removeprefix("Assert Exception:")


# ------------------------------------------------------------------ refusals

NAME = "is_valid_account_name( name ): Account name Bad is invalid"
PERMLINK: Rows = [
    ({"permlink": "p" * 256}, "permlink.size() < COIN_MAX_PERMLINK_LENGTH: permlink is too long"),
    ({"permlink": ODD}, "fc::is_utf8( permlink ): permlink not formatted in UTF8"),
]
MEMO: Rows = [
    ({"memo": "é" * 1024}, "memo.size() < COIN_MAX_MEMO_SIZE: Memo is too large"),
    ({"memo": ODD}, "fc::is_utf8( memo ): Memo is not UTF8"),
]
METADATA: Rows = [
    ({"json_metadata": ODD}, "fc::is_utf8(json_metadata): JSON Metadata not formatted in UTF8"),
    ({"json_metadata": "{} "}, "fc::json::is_valid(json_metadata): JSON Metadata not valid JSON"),
]
FEE: Rows = [
    ({"fee": Asset(1, SBD)}, "is_asset_type( fee, COIN_SYMBOL ): Account creation fee must be COIN"),
    ({"fee": Asset(-1)}, "fee >= asset( 0, COIN_SYMBOL ): Account creation fee cannot be negative"),
]
SAVINGS: Rows = [
    ({"amount": Asset(0)}, "amount.amount > 0: "),
    ({"amount": Asset(1, VESTS)}, "amount.symbol == COIN_SYMBOL || amount.symbol == SBD_SYMBOL: "),
    *MEMO,
]
NULL_BASE, NULL_QUOTE = "base.amount > share_type(0): ", "quote.amount > share_type(0): "


def market(other: str) -> str:
    """The condition and text for a pair that is not traded."""
    sides = [("is", "COIN", "SBD"), ("is", "SBD", "COIN"), ("smt", "", "COIN"), ("tms", "COIN", "")]
    smt = "{}.symbol.space() == asset_symbol_type::smt_nai_space"
    shown = []
    for kind, sold, received in sides:
        first = smt.format("amount_to_sell") if kind == "smt" else f"is_asset_type( amount_to_sell, {sold}_SYMBOL )"
        second = smt.format(other) if kind == "tms" else f"is_asset_type( {other}, {received}_SYMBOL )"
        shown.append(f"( {first} && {second} )")
    return " || ".join(shown) + ": Limit order must be for the COIN:SBD or SMT:(COIN/SBD) market"


def orders(**changes: Any) -> dict[str, Any]:
    """Changes of limit_order_create2 that keep the sold symbol that of the price's base."""
    rate = Price(Asset(changes.pop("base", 1000), changes["symbol"]), Asset(changes.pop("quote", 1000), changes.pop("quote_symbol", SBD)))
    return {"amount_to_sell": Asset(changes.pop("amount", 1000), changes.pop("symbol")), "exchange_rate": rate}


def shares(*pairs: tuple[str, int]) -> dict[str, Any]:
    """Beneficiaries as the change of comment_options."""
    return {"extensions": (CommentPayoutBeneficiaries(tuple(Beneficiary(*pair) for pair in pairs)),)}


def votable(*symbols: int) -> dict[str, Any]:
    """Vote assets as the change of comment_options."""
    return {"extensions": (AllowedVoteAssets(tuple((symbol, VotableAssetInfo()) for symbol in symbols)),)}


def props(**changes: Any) -> dict[str, Any]:
    """Chain properties as the change of witness_update."""
    return {"props": LegacyChainProperties(**{"account_creation_fee": CoinFee(1), **changes})}


def values(**packed: str) -> dict[str, Any]:
    """Packed values, beside the key, as the change of witness_set_properties."""
    return {"props": tuple(sorted([("key", KEY), *((name, bytes.fromhex(data)) for name, data in packed.items())]))}


COIN_TAIL, SBD_TAIL, VESTS_TAIL = "03434f494e000000", "0353424400000000", "0656455354530000"
ONE, ZERO = "0100000000000000", "0000000000000000"
URL = [
    ("url.size() <= COIN_MAX_WITNESS_URL_LENGTH: URL is too long", "u" * 2049),
    ("url.size() > 0: URL size must be greater than 0", ""),
    ("fc::is_utf8( url ): URL is not valid UTF8", ODD),
]
PAIR = (
    "( is_asset_type( exchange_rate.base, COIN_SYMBOL ) && is_asset_type( exchange_rate.quote, SBD_SYMBOL ) ) "
    "|| ( is_asset_type( exchange_rate.base, SBD_SYMBOL ) && is_asset_type( exchange_rate.quote, COIN_SYMBOL ) )"
    ": Price feed must be a COIN/SBD price"
)
FEED = (
    "( is_asset_type( sbd_exchange_rate.base, SBD_SYMBOL ) && is_asset_type( sbd_exchange_rate.quote, COIN_SYMBOL ) )"
    ": Price feed must be a COIN/SBD price"
)
ONE_BENEFICIARY = "weight <= COIN_100_PERCENT: Cannot allocate more than 100% of rewards to one account"
IMPOSSIBLE = "owner_authority.is_impossible(): {} owner authority cannot be impossible"
TRIVIAL = "new_owner_authority.weight_threshold: new owner authority cannot be trivial"

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
    "transfer": [
        *(
            ({"amount": Asset(1, symbol)}, "amount.symbol.is_vesting() == false: Transfer of vesting is not allowed.")
            for symbol in (VESTS, SMT_VESTING)
        ),
        *(
            ({"amount": Asset(amount)}, "amount.amount > 0: Cannot transfer a negative amount (aka: stealing)")
            for amount in (0, -1)
        ),
        *MEMO,
    ],
    "transfer_to_savings": SAVINGS,
    "transfer_from_savings": SAVINGS,
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
    "limit_order_create": [
        *(
            ({"amount_to_sell": Asset(1, sold), "min_to_receive": Asset(1, received)}, market("min_to_receive"))
            for sold, received in ((COIN, COIN), (COIN, VESTS), (VESTS, SBD), (SMT, SBD), (SBD, SMT), (SMT, SMT + 32))
        ),
        ({"amount_to_sell": Asset(0, COIN), "min_to_receive": Asset(1, SBD)}, NULL_BASE),
        ({"amount_to_sell": Asset(1, COIN), "min_to_receive": Asset(0, SBD)}, NULL_QUOTE),
    ],
    "limit_order_create2": [
        (
            {"amount_to_sell": Asset(1, SBD), "exchange_rate": Price(Asset(1), Asset(1, SBD))},
            "amount_to_sell.symbol == exchange_rate.base.symbol: Sell asset must be the base of the price",
        ),
        (orders(symbol=COIN, base=0), NULL_BASE),
        (orders(symbol=COIN, quote=0), NULL_QUOTE),
        (orders(symbol=SBD), "base.symbol != quote.symbol: "),
        (orders(symbol=SMT), market("exchange_rate.quote")),
        (
            orders(symbol=COIN, amount=1, base=2000),
            "( amount_to_sell * exchange_rate ).amount > 0: Amount to sell cannot round to 0 when traded",
        ),
    ],
    "limit_order_cancel": [],
    "convert": [
        ({"amount": Asset(1)}, "is_asset_type( amount, SBD_SYMBOL ): Can only convert SBD to COIN"),
        ({"amount": Asset(0, SBD)}, "amount.amount > 0: Must convert some SBD"),
    ],
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
    "account_update": METADATA,
    "account_update2": [
        *METADATA,
        ({"posting_json_metadata": ODD}, "fc::is_utf8(posting_json_metadata): JSON Metadata not formatted in UTF8"),
        ({"posting_json_metadata": "[],"}, "fc::json::is_valid(posting_json_metadata): JSON Metadata not valid JSON"),
    ],
    "decline_voting_rights": [],
    "cancel_transfer_from_savings": [],
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
    "account_witness_vote": [],
    "account_witness_proxy": [({"account": "alice", "proxy": "alice"}, "proxy != account: Cannot proxy to self")],
    "feed_publish": [
        ({"exchange_rate": Price(Asset(1, SBD), Asset(1, SBD))}, PAIR),
        ({"exchange_rate": Price(Asset(1, VESTS), Asset(1))}, PAIR),
        ({"exchange_rate": Price(Asset(0, SBD), Asset(1))}, NULL_BASE),
        ({"exchange_rate": Price(Asset(1), Asset(0, SBD))}, NULL_QUOTE),
    ],
    "witness_update": [
        *(({"url": url}, text) for text, url in URL),
        ({"fee": Asset(1, SBD)}, "a.symbol == b.symbol: "),
        ({"fee": Asset(-1)}, "fee >= asset( 0, COIN_SYMBOL ): Fee cannot be negative"),
        (props(account_creation_fee=CoinFee(-1)), "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE: "),
        (props(maximum_block_size=65535), "maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT: "),
        (props(sbd_interest_rate=10001), "sbd_interest_rate <= COIN_100_PERCENT: "),
    ],
    "witness_set_properties": [
        ({"props": ()}, 'props.find( "key" ) != props.end(): No signing key provided'),
        (
            values(account_creation_fee=ONE + SBD_TAIL),
            "account_creation_fee.symbol == COIN_SYMBOL: account_creation_fee must be in COIN",
        ),
        (
            values(account_creation_fee="ff" * 8 + COIN_TAIL),
            "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE: account_creation_fee smaller than minimum account creation fee",
        ),
        (
            values(maximum_block_size="ffff0000"),
            "maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT: maximum_block_size smaller than minimum max block size",
        ),
        (values(sbd_interest_rate="1127"), "sbd_interest_rate <= COIN_100_PERCENT: sbd_interest_rate must not exceed 100%"),
        (values(sbd_exchange_rate=ONE + COIN_TAIL + ONE + SBD_TAIL), FEED),
        (values(sbd_exchange_rate=""), FEED),
        (values(sbd_exchange_rate=ZERO + SBD_TAIL + ONE + COIN_TAIL), NULL_BASE),
        (values(sbd_exchange_rate=ONE + SBD_TAIL + ZERO + COIN_TAIL), NULL_QUOTE),
        (values(url="8110" + "75" * 2049), URL[0][0]),
        (values(url="00"), URL[1][0]),
        (values(url=""), URL[1][0]),
        (values(url="01ff"), URL[2][0]),
        *(
            (values(account_subsidy_budget=data), "account_subsidy_budget >= COIN_RD_MIN_BUDGET: Budget must be at least 1")
            for data in ("00000000", "ffffffff")
        ),
        (
            values(account_subsidy_budget="00000010"),
            "account_subsidy_budget <= COIN_RD_MAX_BUDGET: Budget must be at most 268435455",
        ),
        (values(account_subsidy_decay="3f000000"), "account_subsidy_decay >= COIN_RD_MIN_DECAY: Decay must be at least 64"),
    ],
}  # fmt: skip

# Fields that hold an account's name and may not be empty, and those that may; neither may hold a bad one.
NAMES = {
    "vote": "voter author", "comment": "author parent_author?", "transfer": "from_ to", "transfer_to_vesting": "from_ to?",
    "withdraw_vesting": "account", "limit_order_create": "owner", "limit_order_cancel": "owner", "feed_publish": "publisher",
    "convert": "owner", "account_create": "new_account_name", "account_update": "account", "witness_update": "owner",
    "account_witness_vote": "account witness", "account_witness_proxy": "account proxy?", "delete_comment": "author",
    "comment_options": "author", "set_withdraw_vesting_route": "from_account to_account", "limit_order_create2": "owner",
    "claim_account": "creator", "create_claimed_account": "creator new_account_name",
    "request_account_recovery": "recovery_account account_to_recover", "recover_account": "account_to_recover",
    "change_recovery_account": "account_to_recover new_recovery_account", "transfer_to_savings": "from_ to",
    "transfer_from_savings": "from_ to", "cancel_transfer_from_savings": "from_", "decline_voting_rights": "account",
    "reset_account": "reset_account account_to_reset", "set_reset_account": "account current_reset_account? reset_account",
    "delegate_vesting_shares": "delegator delegatee", "account_create_with_delegation": "creator new_account_name",
    "witness_set_properties": "owner", "account_update2": "account",
}  # fmt: skip


def refused() -> Iterator[Any]:
    """All rows of the tables: an operation's name, what is changed of its sample, and the text of the refusal."""
    for name in NAMES_A:
        rows = [({field.rstrip("?"): "Bad"}, NAME) for field in NAMES[name].split()]
        rows += [({field: ""}, NAME.replace("Bad ", " ")) for field in NAMES[name].split() if not field.endswith("?")]
        yield from (pytest.param(name, changes, text, id=f"{name}-{i}") for i, (changes, text) in enumerate(rows + REFUSALS[name]))


@pytest.mark.parametrize(("name", "changes", "text"), list(refused()))
def test_refusal(name: str, changes: dict[str, Any], text: str) -> None:
    assert refusal(replace(sample(name), **changes)) == text


PASSES: list[tuple[str, Change]] = [
    ("vote", {"weight": 10000, "permlink": "p" * 255}),
    ("vote", {"weight": -10000, "permlink": ""}),
    ("comment", {"parent_author": "", "title": "t" * 255, "json_metadata": ""}),
    ("comment", {"json_metadata": '{"a":"' + ODD + '"}'}),  # here the reference asks for JSON only
    ("comment_options", shares(*((f"acc{n:03}", 78) for n in range(127)))),
    ("comment_options", shares(("bob", 10000))),
    ("comment_options", votable(SMT, SMT + 32)),
    ("comment_options", votable()),
    ("transfer", {"memo": "m" * 2047, "amount": Asset(1, SMT)}),
    ("transfer_to_vesting", {"to": "", "amount": Asset(1, SMT)}),
    ("withdraw_vesting", {"vesting_shares": Asset(-1, VESTS)}),
    ("delegate_vesting_shares", {"vesting_shares": Asset(0, VESTS)}),
    *(
        ("limit_order_create", {"amount_to_sell": Asset(1, sold), "min_to_receive": Asset(1, received)})
        for sold, received in ((COIN, SBD), (SBD, COIN), (SMT, COIN), (COIN, SMT), (COIN, SMT_VESTING))
    ),
    ("limit_order_create2", orders(symbol=COIN, amount=1)),
    ("account_create", {"posting": BAD_AUTHORITY, "creator": "Bad"}),
    ("account_update", {"owner": BAD_AUTHORITY}),
    ("claim_account", {"fee": Asset(1_000_000_000)}),
    ("set_reset_account", {"current_reset_account": ""}),
    ("account_witness_proxy", {"proxy": ""}),
    ("feed_publish", {"exchange_rate": Price(Asset(1), Asset(1, SBD))}),
    ("witness_update", {"url": "u" * 2048, **props(account_creation_fee=CoinFee(0, b"\x05COIN\0\0\0"), maximum_block_size=2**32 - 1)}),
    ("witness_set_properties", values(account_creation_fee="", new_signing_key="", nothing="01", maximum_block_size="00000100ff")),
    ("witness_set_properties", values(account_subsidy_budget="ffffff0f", account_subsidy_decay="ffffffff")),
]


@pytest.mark.parametrize(("name", "changes"), PASSES)
def test_what_is_allowed(name: str, changes: dict[str, Any]) -> None:
    operation = replace(sample(name), **changes)
    operation.validate(CODECS)
    packed = CODECS.packer(KIND)(operation)
    assert CODECS.unpack(KIND, packed, exact=True) == operation


def test_json_that_the_reader_refuses_fails_with_its_error() -> None:
    for name in ("comment", "account_create", "account_update2"):
        with pytest.raises(ChainError) as caught:
            replace(sample(name), json_metadata="[1,2").validate(CODECS)
        assert caught.value.NAME == "eof_exception"


def test_minimum_of_the_creation_fee_is_the_build_s() -> None:
    update = WitnessUpdate("alice", "https://a.example")
    update.validate(CODECS)
    assert refusal(update, MAIN) == "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE: "
    set_fee = WitnessSetProperties("alice", (("account_creation_fee", b""), ("key", KEY)))
    set_fee.validate(CODECS)
    assert refusal(set_fee, MAIN).endswith(": account_creation_fee smaller than minimum account creation fee")


# ------------------------------------------------------------------ recorded broadcasts

# Where the reference's frames show that it failed before state was looked at; the same functions serve some evaluators.
STATIC = {
    "steem_operations.cpp", "steem_operations.hpp", "validation.hpp", "authority.cpp", "asset.cpp", "asset.hpp", "datastream.cpp",
    "json.cpp", "sstream.cpp", "string.cpp", "legacy_asset.hpp", "time.cpp", "hex.cpp", "variant.cpp", "static_variant.hpp",
}  # fmt: skip
IN_EVALUATOR = {
    ("authority.cpp", "account_update"), ("authority.cpp", "account_update2"), ("validate_auth_size", "account_create"),
    ("validate_auth_size", "account_update"), ("validate_auth_size", "account_update2"), ("validate_auth_size", "request_account_recovery"),
}  # fmt: skip


def recorded(case: str) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """The operations of a case's broadcasts whose operations are all of this part, with what came of them."""
    for event in read_json_lines(CASES / case / "broadcasts.jsonl.gz"):
        operations = event["trx"].get("operations") if isinstance(event["trx"], dict) else None
        if isinstance(operations, list) and operations and all(part_of(operation) for operation in operations):
            yield operations, event


def part_of(operation: Any) -> bool:
    """Whether an operation of a recorded transaction is one of this part's."""
    name = operation.get("type", "") if isinstance(operation, dict) else ""
    return isinstance(name, str) and name.removesuffix("_operation") in NAMES_A and "value" in operation


def outcome(transaction: Any) -> str:
    """What reading a transaction and validating its operations ends in: the text of the refusal, or nothing."""
    try:
        for operation in RECORDED.transaction_from_json(transaction).operations:
            operation.validate(RECORDED.codecs)
    except ChainError as error:
        return error.message(RECORDED.spec.spell)
    return ""


def expected(operations: list[Any], event: dict[str, Any]) -> str | None:
    """The recorded text, if it is one of reading and validating the operations; nothing for all others; None: not known."""
    if event["ok"]:
        return ""
    data = event["error"].get("data")
    if not isinstance(data, dict) or not data.get("stack"):
        return None
    place = data["stack"][0]["context"]
    names = {operation["type"].removesuffix("_operation") for operation in operations}
    in_evaluator = any((place["file"], name) in IN_EVALUATOR or (place["method"], name) in IN_EVALUATOR for name in names)
    text: str = event["error"]["message"]
    return text if place["file"] in STATIC and not in_evaluator else ""


@pytest.mark.parametrize("case", case_names())
def test_recorded_outcomes(case: str) -> None:
    differences = []
    for operations, event in recorded(case):
        want, got = expected(operations, event), outcome(event["trx"])
        if want is not None and want != got:
            differences.append((event["step"], want, got))
    assert differences == []


def test_recorded_refusals_are_many() -> None:
    texts = {want for case in case_names() for operations, event in recorded(case) if (want := expected(operations, event))}
    assert len(texts) > 120
