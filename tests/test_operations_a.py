"""Operations on accounts, transfers, vesting, witnesses, content and the market: their bytes, JSON, signers, impacted accounts.

Bytes and JSON come from the vectors `op.*`; what is refused is in test_refusals_a.py.
"""

import pytest
from msgspec.structs import replace

import state.operations
from state.operations.authorities import AccountUpdate, AccountUpdate2, SetResetAccount
from state.operations.witness_properties import WitnessProperties
from state.operations.witnesses import NOBODY, WitnessSetProperties
from state.protocol.asset import COIN, SBD, Asset, Price
from state.protocol.authority import Authority, key_authority
from state.protocol.codec import Codecs
from state.protocol.errors import OutOfRange, Refused
from state.protocol.kinds import NotCanonical
from state.protocol.operation import OPERATIONS, Needed, Operation
from tests.operation_samples import CODECS, KEY, KIND, NAMES_A, PART_A, SAMPLES, sample

MINE = {cls.NAME: cls for cls in OPERATIONS.values() if cls.NAME in NAMES_A}


# ------------------------------------------------------------------ declarations


def test_all_operations_of_this_part_are_there() -> None:
    tags = {*range(14), 17, *range(19, 27), *range(32, 35), *range(36, 39), *range(40, 44)}
    assert {cls.TAG for cls in MINE.values()} == tags
    assert set(state.operations.__all__) >= {module.__name__.rpartition(".")[2] for module in PART_A}


@pytest.mark.parametrize("name", MINE)
def test_bytes_and_json(name: str) -> None:
    given, expected = SAMPLES[name]["input"], SAMPLES[name]["expect"]
    parsed = sample(name)
    packed = CODECS.packer(KIND)(parsed)
    assert packed.hex() == expected["hex"]
    assert type(parsed).TAG == packed[0] == expected["which"]
    assert CODECS.unpack(KIND, packed, exact=True) == parsed
    assert CODECS.dumper(KIND)(parsed) == given["json"]  # type: ignore[misc]
    assert CODECS.dumper(KIND, True)(parsed) == given["legacy"]  # type: ignore[misc]
    assert CODECS.parser(KIND, True)(given["legacy"]) == parsed


@pytest.mark.parametrize("name", MINE)
def test_signers_and_validity(name: str) -> None:
    expected = SAMPLES[name]["expect"]
    operation = sample(name)
    needed = Needed.by((operation,))
    assert [sorted(needed.posting), sorted(needed.active), sorted(needed.owner)] == [
        expected[role] for role in ("posting", "active", "owner")
    ]
    assert [CODECS.dump(authority) for authority in needed.other] == expected["other"]
    assert expected["validate"] == "ok"
    operation.validate(CODECS)


def test_left_out_fields_keep_their_default() -> None:
    for name, cls in MINE.items():
        assert CODECS.parser(KIND)({"type": f"{name}_operation", "value": {}}) == cls()


def test_signers_that_depend_on_the_content() -> None:
    def needed(operation: Operation) -> tuple[set[str], set[str], set[str]]:
        all_of_it = Needed.by((operation,))
        return all_of_it.posting, all_of_it.active, all_of_it.owner

    authority, alice = Authority(), {"alice"}
    assert needed(AccountUpdate("alice", owner=authority, posting=authority)) == (set(), set(), alice)
    assert needed(AccountUpdate("alice", posting=authority)) == (set(), alice, set())
    assert needed(AccountUpdate2("alice", owner=authority, memo_key=KEY)) == (set(), set(), alice)
    for active in ({"active": authority}, {"posting": authority}, {"memo_key": KEY}, {"json_metadata": "{}"}):
        assert needed(AccountUpdate2("alice", **active)) == (set(), alice, set())
    assert needed(AccountUpdate2("alice", posting_json_metadata="{}")) == (alice, set(), set())
    assert needed(SetResetAccount("alice", "bob", "carol")) == (set(), set(), alice)
    assert needed(SetResetAccount("alice", "", "carol")) == (alice, set(), set())


IMPACTED = {
    "vote": "author voter",
    "comment": "author parent_author",
    "transfer": "from_ to",
    "transfer_to_vesting": "from_ to",
    "withdraw_vesting": "account",
    "limit_order_create": "owner",
    "limit_order_cancel": "owner",
    "feed_publish": "publisher",
    "convert": "owner",
    "account_create": "creator new_account_name",
    "account_update": "account",
    "witness_update": "owner",
    "account_witness_vote": "account witness",
    "account_witness_proxy": "account proxy",
    "delete_comment": "author",
    "comment_options": "author",
    "set_withdraw_vesting_route": "from_account to_account",
    "limit_order_create2": "owner",
    "claim_account": "creator",
    "create_claimed_account": "creator new_account_name",
    "request_account_recovery": "account_to_recover recovery_account",
    "recover_account": "account_to_recover",
    "change_recovery_account": "account_to_recover",
    "transfer_to_savings": "from_ to",
    "transfer_from_savings": "from_ to",
    "cancel_transfer_from_savings": "from_",
    "decline_voting_rights": "account",
    "reset_account": "reset_account",
    "set_reset_account": "account",
    "delegate_vesting_shares": "delegatee delegator",
    "account_create_with_delegation": "creator new_account_name",
    "witness_set_properties": "owner",
    "account_update2": "account",
}


@pytest.mark.parametrize("name", MINE)
def test_impacted_accounts(name: str) -> None:
    fields = IMPACTED[name].split()
    operation = replace(sample(name), **{field: f"in-{field.strip('_')}" for field in fields})
    assert operation.impacted() == {f"in-{field.strip('_')}" for field in fields}


def test_impacted_accounts_where_a_name_may_be_empty() -> None:
    assert replace(sample("comment"), parent_author="", author="alice").impacted() == {"alice"}
    assert replace(sample("transfer_to_vesting"), from_="alice", to="").impacted() == {"alice"}
    assert replace(sample("account_witness_proxy"), account="alice", proxy="").impacted() == {"alice", ""}


# ------------------------------------------------------------------ forms that differ


def test_vote_assets_do_not_exist_without_smt() -> None:
    with_assets = CODECS.packer(KIND)(sample("comment_options"))
    with pytest.raises(Refused, match=r"w < count\(\) && w >= 0: "):
        Codecs(replace(CODECS.spec, smt=False)).unpack(KIND, with_assets)


def test_condenser_copies_allow_votes() -> None:
    """Unlike the reference, whose condenser makes it true: a signature over `false` would not verify (rpc-api.md §4.3, §9.3)."""
    name, given = SAMPLES["comment_options"]["input"]["legacy"]
    assert CODECS.parser(KIND, True)([name, given | {"allow_votes": False}]).allow_votes is False
    assert CODECS.parser(KIND, True)([name, {}]).allow_votes is True


def test_condenser_names_of_converted_operations() -> None:
    converted = """transfer transfer_to_vesting withdraw_vesting limit_order_create limit_order_create2 feed_publish convert account_create
        account_create_with_delegation witness_update comment_options transfer_to_savings transfer_from_savings delegate_vesting_shares
        claim_account"""
    for name in MINE:
        full = f"legacy_{name}_operation" if name in converted.split() else f"{name}_operation"
        given = SAMPLES[name]["input"]["legacy"][1]
        assert CODECS.parser(KIND, True)([full, given]) == sample(name)


# ------------------------------------------------------------------ the values of witness_set_properties


def test_witness_properties_are_read() -> None:
    operation = sample("witness_set_properties")
    assert isinstance(operation, WitnessSetProperties)
    assert operation.properties(CODECS) == WitnessProperties(
        account_creation_fee=Asset(3000),
        maximum_block_size=65536,
        sbd_interest_rate=0,
        new_signing_key=bytes.fromhex("032747c05d4aa44704a196493e1fa0c26137abfca64991a9b9faeb9204ee9897ef"),
        sbd_exchange_rate=Price(Asset(1000, SBD), Asset(3000)),
        url="https://example.com",
        account_subsidy_budget=797,
        account_subsidy_decay=347321,
    )
    assert WitnessSetProperties("alice", (("key", KEY), ("what", b"1"))).properties(CODECS) == WitnessProperties()


def test_witness_properties_without_key_are_signed_by_nobody() -> None:
    assert Needed.by((WitnessSetProperties("alice"),)).other == [NOBODY]
    assert Needed.by((WitnessSetProperties("alice", (("key", b""),)),)).other == [key_authority(bytes(33))]
    with pytest.raises(OutOfRange, match="length 2 over by -1"):
        Needed.by((WitnessSetProperties("alice", (("key", b"\2\3"),)),))


ASSET = "error unpacking coin::protocol::asset"
AMOUNT = "error unpacking int64_tError unpacking field amount"
SYMBOL = "Error unpacking field symbol"
BASE, QUOTE, PRICE = "Error unpacking field base", "Error unpacking field quote", 2 * "error unpacking coin::protocol::price"
ONE = "e803000000000000"
COIN_BYTES, SBD_BYTES, SMT_BYTES = "03434f494e000000", "0353424400000000", "d36ba650"
IN_SMT_SPACE = (
    "(nai_data_digits >= SMT_MIN_NAI) & (nai_data_digits <= SMT_MAX_NAI) & (nai_1bit == SMT_ASSET_NUM_CONTROL_MASK) & "
    "(nai_decimal_places <= COIN_ASSET_MAX_DECIMALS)"
)
SHORT = [
    ("maximum_block_size", "", "read datastream of length 0 over by 1error unpacking uint32_terror unpacking uint32_t"),
    ("sbd_interest_rate", "", "read datastream of length 0 over by 1error unpacking uint16_terror unpacking uint16_t"),
    ("account_subsidy_budget", "01", "read datastream of length 1 over by 0error unpacking int32_terror unpacking int32_t"),
    ("url", "05aa", "read datastream of length 2 over by 0error unpacking string"),
    ("url", "80", "get datastream of length 1 over by 1error unpacking string"),
    ("account_creation_fee", ONE[:-2], f"read datastream of length 7 over by -6{AMOUNT}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE, f"read datastream of length 8 over by 1{SYMBOL}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE + COIN_BYTES[:6], f"read datastream of length 11 over by -2{SYMBOL}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE + COIN_BYTES[:8], f"read datastream of length 12 over by 1{SYMBOL}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE + COIN_BYTES[:14], f"read datastream of length 15 over by -2{SYMBOL}{ASSET}{ASSET}"),
    ("sbd_exchange_rate", ONE + SBD_BYTES[:14], f"read datastream of length 15 over by -2{SYMBOL}{ASSET}{BASE}{PRICE}"),
    ("sbd_exchange_rate", ONE + SBD_BYTES, f"read datastream of length 16 over by 1{AMOUNT}{ASSET}{QUOTE}{PRICE}"),
    ("sbd_exchange_rate", ONE + SMT_BYTES + ONE[:-2], f"read datastream of length 19 over by -6{AMOUNT}{ASSET}{QUOTE}{PRICE}"),
    ("sbd_exchange_rate", ONE + SBD_BYTES + ONE + COIN_BYTES[:14], f"read datastream of length 31 over by -2{SYMBOL}{ASSET}{QUOTE}{PRICE}"),
]


@pytest.mark.parametrize(("name", "data", "text"), SHORT)
def test_short_values(name: str, data: str, text: str) -> None:
    operation = WitnessSetProperties("alice", (("key", KEY), (name, bytes.fromhex(data))))
    with pytest.raises(OutOfRange) as caught:
        operation.validate(CODECS)
    assert caught.value.message() == f"Out of Range:{text}"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("account_creation_fee", ONE + COIN_BYTES[:-2] + "01", f"ser == COIN_SYMBOL_SER: invalid asset bits{SYMBOL}{ASSET}{ASSET}"),
        ("sbd_exchange_rate", ONE + SBD_BYTES[:-2] + "01", f"ser == SBD_SYMBOL_SER: invalid asset bits{SYMBOL}{ASSET}{BASE}{PRICE}"),
        ("account_creation_fee", ONE + "0d000000", f"{IN_SMT_SPACE}: Cannot determine space for asset 13{SYMBOL}{ASSET}{ASSET}"),
        ("account_creation_fee", ONE + SMT_BYTES, "account_creation_fee.symbol == COIN_SYMBOL: account_creation_fee must be in COIN"),
        ("url", "808080051f", "size.value < MAX_ARRAY_ALLOC_SIZE: error unpacking string"),
    ],
)
def test_values_that_cannot_be(name: str, data: str, text: str) -> None:
    with pytest.raises(Refused) as caught:
        WitnessSetProperties("alice", (("key", KEY), (name, bytes.fromhex(data)))).validate(CODECS)
    assert caught.value.message() == f"Assert Exception:{text}"


def test_a_fixed_symbol_by_its_number() -> None:
    """The reference takes it, and packs it as the eight bytes again."""
    fee = bytes.fromhex(ONE) + COIN.to_bytes(4, "little")
    operation = WitnessSetProperties("alice", (("key", KEY), ("account_creation_fee", fee)))
    operation.validate(CODECS)
    assert operation.properties(CODECS).account_creation_fee == CODECS.unpack(Asset, fee) == Asset(1000)
    with pytest.raises(NotCanonical):
        Codecs(CODECS.spec, canonical=True).unpack(Asset, fee)
