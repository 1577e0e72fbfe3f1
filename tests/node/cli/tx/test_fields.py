"""Every command of `coind tx` and its fields. An operation that is written as command line arguments is parsed to an equal operation."""

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import node.cli.tx.app as module
from node.cli.tx.app import tx, verb_name
from node.cli.tx.field_texts import PROPERTIES, Context, is_nested
from node.cli.tx.fields import arguments, signers_words
from node.cli.tx.sender import SendOptions
from node.runtime.errors import NodeError
from state.operations.witness_properties import PACKED, read_properties
from state.protocol.authority import key_authority
from state.protocol.codec.fields import field_default, wire_fields
from state.protocol.codec.kinds import AssetKind, Codecs, Many, Maybe, PriceKind
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price, is_smt
from tests.helpers.golden import fails
from tests.helpers.operations import CODECS, KEY, sample
from tests.helpers.values import Values

REAL = [cls for _, cls in sorted(OPERATIONS.items()) if not cls.VIRTUAL]
KEY_TEXT = CODECS.dump(key_authority(KEY), True)["key_auths"][0][0]
NOW = 1_800_000_000
TOKENS = (Asset(2_000_000, VESTS), Asset(15, 10_000_000 << 5 | 0x10 | 1))


def read(*words: str) -> Operation:
    """Run a command line of `coind tx`, and return the operation that it would send."""
    found: list[Operation] = []

    def noted(make: Any, options: SendOptions) -> int:
        found.extend(make(None, Context(CODECS, NOW)))
        return 0

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "send", noted)
        assert tx(list(words), result_action="return_value", exit_on_error=False, print_error=False) == 0
    (operation,) = found
    return operation


def written(operation: Operation) -> list[str]:
    """Return the command line arguments for an operation. Fields that have their default value are left out."""
    fields = {field.name: field for field in wire_fields(type(operation))}
    positions, options = [], []
    for argument in arguments(type(operation)):
        value = getattr(operation, argument.name)
        default = field_default(CODECS, type(operation), fields[argument.name])
        if argument.is_required:
            positions.append(text_of(argument.kind, value, CODECS))
        elif argument.is_flag:
            options.append(argument.option if value else argument.option.replace("--", "--no-", 1))
        elif value != default or argument.default_text is not None:
            options.append(f"{argument.option}={text_of(argument.kind, value, CODECS)}")
    return [verb_name(type(operation)), *options, "--", *positions]


def text_of(kind: Any, value: Any, codecs: Codecs) -> str:
    """Return a field's value as text for the command line."""
    inner = kind.element if isinstance(kind, Maybe) else kind
    if isinstance(inner, Many) and not is_nested(inner.element):
        return json.dumps([text_of(inner.element, item, codecs) for item in value])
    legacy = not has_token(inner, value)
    dump = codecs.dumper(inner, legacy)
    shown = value if dump is None else dump(value)
    return shown if isinstance(shown, str) else json.dumps(shown)


def has_token(kind: Any, value: Any) -> bool:
    """Whether a value contains a token symbol, which the condenser's form can't represent."""
    if isinstance(kind, AssetKind):
        return is_smt(value.symbol)
    return isinstance(kind, PriceKind) and (is_smt(value.base.symbol) or is_smt(value.quote.symbol))


@pytest.mark.parametrize("cls", REAL, ids=lambda cls: cls.NAME)
def test_each_verb_makes_its_operation(cls: type[Operation]) -> None:
    operation = sample(cls.NAME)
    assert read(*written(operation)) == operation


@settings(max_examples=100)
@given(data=st.data())
def test_random_operations_come_back(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(REAL))
    operation = data.draw(Values(CODECS, "legacy").of(cls))
    words = written(operation)
    # A shell can't pass a NUL to a program.
    assume(not any("\0" in word for word in words))
    assert read(*words) == operation


def test_every_operation_has_a_verb_with_help() -> None:
    for cls in REAL:
        verb = tx[verb_name(cls)]
        assert verb.help
        for argument in arguments(cls):
            assert argument.description
    assert {cls.NAME for cls in REAL if not signers_words(cls)} == {
        "account_update", "account_update2", "custom", "custom_binary", "custom_json", "pow", "pow2", "recover_account",
        "report_over_production", "set_reset_account", "witness_set_properties",
    }  # fmt: skip


def test_help_shows_fields_with_types(capsys: pytest.CaptureFixture[str]) -> None:
    tx(["transfer", "--help"], result_action="return_value", exit_on_error=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "FROM account name [required]" in shown
    assert 'AMOUNT amount, for example "1.000 COIN" [required]' in shown
    assert "--memo STR text" in shown
    assert "Signed with the active authority of FROM." in shown


def test_short_forms() -> None:
    assert getattr(read("transfer", "alice", "bob", "1 COIN"), "amount", None) == Asset(1000, COIN)
    assert getattr(read("vote", "alice", "bob", "x", "-50%"), "weight", None) == -5000
    assert getattr(read("vote", "alice", "bob", "x", "-12.5%"), "weight", None) == -1250
    order = read("limit-order-create", "alice", "1", "1 COIN", "1 SBD")
    assert getattr(order, "expiration", None) == NOW + 27 * 86_400
    assert getattr(read("limit-order-create", "alice", "1", "1 COIN", "1 SBD", "--expiration", "+1h"), "expiration", None) == NOW + 3600
    assert getattr(read("update-proposal-votes", "alice", "3,1,2", "--approve"), "proposal_ids", None) == (1, 2, 3)
    feed = read("feed-publish", "alice", "0.25 SBD / 1 COIN")
    assert getattr(feed, "exchange_rate", None) == Price(Asset(250, SBD), Asset(1000, COIN))
    made = read("account-update2", "alice", "--posting", KEY_TEXT)
    assert getattr(made, "posting", None) == key_authority(KEY)
    assert getattr(made, "owner", 0) is None
    for words in (("--required-posting-auths", "bob,alice"), ("--required-posting-auths", "bob", "--required-posting-auths", "alice")):
        assert getattr(read("custom-json", "x", "{}", *words), "required_posting_auths", None) == ("alice", "bob")
    assert getattr(read("claim-reward-balance2", "alice", "2 VESTS,1.5 @@100000006"), "reward_tokens", None) == TOKENS


def test_witness_properties_are_packed_by_name() -> None:
    given = {
        "key": KEY_TEXT, "new_signing_key": KEY_TEXT, "account_creation_fee": "1 COIN", "maximum_block_size": 65536,
        "sbd_interest_rate": "10%", "sbd_exchange_rate": "0.250 SBD/1.000 COIN", "url": "https://x", "account_subsidy_budget": 797,
        "account_subsidy_decay": 347321,
    }  # fmt: skip
    assert set(given) == set(PROPERTIES) == set(PACKED)
    operation = read("witness-set-properties", "alice", json.dumps(given))
    found = read_properties(getattr(operation, "props", ()), CODECS)
    assert (found.account_creation_fee, found.url, found.sbd_interest_rate) == (Asset(1000, COIN), "https://x", 1000)
    assert (found.new_signing_key, found.maximum_block_size) == (KEY, 65536)
    assert found.sbd_exchange_rate == Price(Asset(250, SBD), Asset(1000, COIN))


@pytest.mark.parametrize(
    "words",
    [
        ("transfer", "alice", "bob", "5"),
        ("transfer", "alice", "bob", "1.000 coin"),
        ("transfer", "alice", "bob", "-1.000 COIN"),
        ("transfer", "alice", "bob", "1,000 COIN"),
        ("transfer", "alice", "bob", "1.0000 COIN"),
        ("transfer", "alice", "bob", "1.000 STEEM"),
        ("transfer", "alice", "bob", "9999999999999999 COIN"),
        ("transfer", "a" * 17, "bob", "1 COIN"),
        ("vote", "alice", "bob", "x", "40000"),
        ("vote", "alice", "bob", "x", "much"),
        ("convert", "alice", "50%", "1 SBD"),
        ("limit-order-create", "alice", "1", "1 COIN", "1 SBD", "--expiration", "soon"),
        ("feed-publish", "alice", "1 COIN"),
        ("feed-publish", "alice", '{"base": "1 SBD"}'),
        ("account-update2", "alice", "--posting", "TST1"),
        ("account-update2", "alice", "--posting", '{"threshold": 1}'),
        ("account-update2", "alice", "--posting", "{"),
        ("witness-update", "alice", "x", KEY_TEXT, "0 COIN", "--props", "[]"),
        ("witness-set-properties", "alice", '{"fee": 1}'),
        ("custom", "7", "zz"),
        ("update-proposal-votes", "alice", "1,x"),
        ("comment-options", "alice", "x", "--extensions", "x"),
        ("smt-create", "alice", "@@1", "1 COIN"),
        ("pow", "alice", "00", "1", "{}"),
    ],
)
def test_what_cannot_be_read_is_named(words: tuple[str, ...]) -> None:
    with fails(NodeError):
        read(*words)
