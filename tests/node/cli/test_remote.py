"""How a command identifies the chain of a node: a known chain, an unknown chain, a chain that differs from the expected one, and a node
without a valid reply.
"""

import json
from collections.abc import Iterator

import pytest

from node.cli.remote import Remote
from node.specs.builder import load_spec
from state.protocol.config import config_object
from state.protocol.keys.keys import derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.transaction import Wire
from tests.helpers.commands import coind
from tests.helpers.golden import same_as_golden
from tests.helpers.stub_server import StubServer, answering

HIVE_ID = "beeab0de" + "00" * 28
PROPS = {
    "head_block_number": 77_000_000,
    "head_block_id": "0496ed40" + "11" * 16,
    "time": "2026-01-31T12:00:00",
    "current_supply": "400000000.000 HIVE",
    "current_hbd_supply": "30000000.000 HBD",
    "total_vesting_shares": "100000000000.000000 VESTS",
}
CONFIG = {
    "IS_TEST_NET": False,
    "HIVE_ADDRESS_PREFIX": "STM",
    "HIVE_CHAIN_ID": HIVE_ID,
    "HIVE_MIN_ACCOUNT_CREATION_FEE": 7,
    "HIVE_BLOCKCHAIN_VERSION": "1.27.5",
    "HIVE_INIT_MINER_NAME": "initminer",
}
SECRET = derive_secret("gtg", "active", "something")
KEY = public_key_text(public_key(SECRET), "STM")
AUTHORITY = {"weight_threshold": 1, "account_auths": [], "key_auths": [[KEY, 1]]}
ACCOUNT = {"name": "gtg", "owner": AUTHORITY, "active": AUTHORITY, "posting": AUTHORITY}


@pytest.fixture
def hive() -> Iterator[StubServer]:
    """A stub server for a node whose chain has no spec in `genesis/`."""
    with answering() as server:
        server.results = {
            "condenser_api.get_config": CONFIG,
            "condenser_api.get_version": {"blockchain_version": "1.27.5", "chain_id": HIVE_ID},
            "condenser_api.get_dynamic_global_properties": PROPS,
            "condenser_api.get_accounts": [ACCOUNT],
        }
        yield server


def test_an_unknown_chain_is_built_from_what_the_node_says(hive: StubServer) -> None:
    spec = Remote(hive.url).spec
    assert (spec.brand, spec.coin_symbol, spec.debt_symbol, spec.vests_symbol, spec.key_prefix) == ("hive", "HIVE", "HBD", "VESTS", "STM")
    assert spec.chain_id.hex() == HIVE_ID
    assert not spec.smt
    assert spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE == 7
    assert spec.witness_keys == ()


def test_its_transactions_are_signed_for_it(hive: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("tx", "transfer", "gtg", "bob", "1.000 HIVE", "--url", hive.url, "--sign-only")
    shown = json.loads(coind(capsys, *words, "--key", wif_from_secret(SECRET)).out)
    wire = Wire(Remote(hive.url).spec)
    trx = wire.transaction_from_json(shown, legacy=True)
    assert recover(trx.signatures[0], wire.signature_digest(trx), Canonical.bip_0062) == public_key(SECRET)
    assert shown["operations"] == [["transfer", {"from": "gtg", "to": "bob", "amount": "1.000 HIVE", "memo": ""}]]
    assert trx.ref_block_num == PROPS["head_block_number"] % 65536  # type: ignore[operator]
    refused = coind(capsys, *words)
    assert refused.status == 1
    same_as_golden(refused.err)
    same_as_golden(coind(capsys, "tx", "transfer", "gtg", "bob", "1.000 COIN", "--url", hive.url).err)


def test_a_known_chain_is_ours() -> None:
    with answering() as server:
        for name in ("dev", "testnet", "steem-testnet", "steem-mainnet"):
            known = load_spec(name)
            server.results = {
                "condenser_api.get_config": config_object(known),
                "condenser_api.get_version": {"blockchain_version": "0.23.0"},
                "condenser_api.get_dynamic_global_properties": PROPS
                | {
                    "current_supply": f"1.000 {known.coin_symbol}",
                    "current_hbd_supply": f"1.000 {known.debt_symbol}",
                },
            }
            assert Remote(server.url).spec == known


def test_another_chain_than_was_meant_is_refused(hive: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = coind(capsys, "tx", "transfer", "gtg", "bob", "1.000 HIVE", "--url", hive.url, "--chain", "dev")
    assert done.status == 1
    same_as_golden(done.err)
    assert not any(method.endswith("broadcast_transaction") for method, _ in hive.calls)


@pytest.mark.parametrize(
    "changed",
    [
        {"condenser_api.get_config": None},
        {"condenser_api.get_config": {}},
        {"condenser_api.get_config": {"HIVE_ADDRESS_PREFIX": "STM"}, "condenser_api.get_version": {}},
        {"condenser_api.get_dynamic_global_properties": {}},
    ],
)
def test_another_family_is_named(hive: StubServer, changed: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    hive.results |= changed
    done = coind(capsys, "show", "chain", "--url", hive.url)
    assert done.status == 1
    same_as_golden(done.err)
    del hive.results["condenser_api.get_config"]
    same_as_golden(coind(capsys, "show", "chain", "--url", hive.url).err)


def test_a_refusal_is_explained(hive: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    explain = {"rule": "x", "why": "gtg has 0.000 HIVE", "what_to_do": "send less"}
    error = {"code": -32000, "message": "insufficient", "data": {"explain": explain}}
    hive.errors["condenser_api.broadcast_transaction"] = error
    words = ("tx", "transfer", "gtg", "bob", "1.000 HIVE", "--url", hive.url, "--key", wif_from_secret(SECRET))
    done = coind(capsys, *words)
    assert done.status == 1
    assert done.err.splitlines() == [
        f"coind: {hive.url} refuses condenser_api.broadcast_transaction: insufficient",
        "why: gtg has 0.000 HIVE",
        "what to do: send less",
    ]
    assert json.loads(coind(capsys, *words, "--json").out) == {"error": error}


@pytest.mark.parametrize("strange", [None, [], {}, "x", 1, [None], {"name": []}, [{"name": "gtg"}]])
@pytest.mark.parametrize(
    "words", [("show", "account", "gtg"), ("show", "chain"), ("show", "witnesses"), ("show", "market"), ("dev", "info")]
)
def test_malformed_results_are_reported_in_a_sentence(
    hive: StubServer, words: tuple[str, ...], strange: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command reports every malformed result of a node in one sentence, without a traceback."""
    kept = {name: hive.results[name] for name in ("condenser_api.get_config", "condenser_api.get_version")}
    methods = (
        "get_accounts",
        "get_witness_schedule",
        "get_dynamic_global_properties",
        "get_witnesses_by_vote",
        "get_ticker",
        "get_order_book",
    )
    hive.results = dict.fromkeys((*(f"condenser_api.{name}" for name in methods), "dev_api.get_info"), strange) | kept
    done = coind(capsys, *words, "--url", hive.url)
    assert done.status in (0, 1)
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("method", "strange"),
    [
        ("condenser_api.get_accounts", [ACCOUNT | {"active": AUTHORITY | {"key_auths": "x"}}]),
        ("condenser_api.get_accounts", [ACCOUNT | {"active": AUTHORITY | {"key_auths": [["STM1", 1]]}}]),
        ("condenser_api.get_accounts", [ACCOUNT | {"owner": 5}]),
        ("condenser_api.get_dynamic_global_properties", PROPS | {"time": "2106-02-07T06:28:15"}),
        ("dev_api.list_keys", [{"name": "gtg", "keys": {"active": {"private": "5J"}}}]),
        ("dev_api.list_keys", [{"name": "gtg", "keys": {"active": {"private": wif_from_secret(bytes(32))}}}]),
    ],
)
def test_who_signs_is_not_found_in_strange_results(
    hive: StubServer, method: str, strange: object, capsys: pytest.CaptureFixture[str]
) -> None:
    hive.results[method] = strange
    key = [] if "list_keys" in method else ["--key", wif_from_secret(SECRET)]
    done = coind(capsys, "tx", "transfer", "gtg", "bob", "1.000 HIVE", "--url", hive.url, *key)
    assert done.status == 1
    same_as_golden(done.err)
    assert "broadcast" not in str(hive.calls)
