"""What operations of witnesses and the votes for them refuse without state, each by one change of an accepted operation."""

from typing import Any

from node.specs.builder import load_spec
from state.operations import witnesses
from state.operations.chain_properties import LegacyChainProperties
from state.operations.witnesses import WitnessSetProperties, WitnessUpdate
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import CoinFee
from state.protocol.values.asset import SBD, VESTS, Asset, Price
from tests.helpers.operations import CODECS, KEY
from tests.helpers.refused import NULL_BASE, NULL_QUOTE, ODD, Change, Rows, full_refusal, refusal_tests

MAIN = ChainCodecs(load_spec("steem-mainnet"))


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

REFUSALS: dict[str, Rows] = {
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
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "feed_publish": "publisher",
    "witness_update": "owner",
    "account_witness_vote": "account witness",
    "account_witness_proxy": "account proxy?",
    "witness_set_properties": "owner",
}


ACCEPTED: list[tuple[str, Change]] = [
    ("account_witness_proxy", {"proxy": ""}),
    ("feed_publish", {"exchange_rate": Price(Asset(1), Asset(1, SBD))}),
    ("witness_update", {"url": "u" * 2048, **props(account_creation_fee=CoinFee(0, b"\x05COIN\0\0\0"), maximum_block_size=2**32 - 1)}),
    ("witness_set_properties", values(account_creation_fee="", new_signing_key="", nothing="01", maximum_block_size="00000100ff")),
    ("witness_set_properties", values(account_subsidy_budget="ffffff0f", account_subsidy_decay="ffffffff")),
]


test_refusal, test_accepted = refusal_tests(witnesses, NAMES, REFUSALS, ACCEPTED)


def test_minimum_of_the_creation_fee_is_the_build_s() -> None:
    update = WitnessUpdate("alice", "https://a.example")
    update.validate(CODECS)
    assert full_refusal(update, MAIN) == "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE: "
    set_fee = WitnessSetProperties("alice", (("account_creation_fee", b""), ("key", KEY)))
    set_fee.validate(CODECS)
    assert full_refusal(set_fee, MAIN).endswith(": account_creation_fee smaller than minimum account creation fee")
