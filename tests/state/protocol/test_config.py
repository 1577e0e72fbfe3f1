"""get_config returns the reference's reply, including the order of its keys, for each chain."""

from typing import Any

import msgspec
import pytest

from node.specs.builder import load_spec
from state.protocol.config import KEYS, config_object
from state.protocol.spec import ChainSpec
from tests.helpers.wire import vector

TESTNET, MAIN = vector("get_config.testnet")["expect"], vector("get_config.main")["expect"]
MAINNET = load_spec("steem-mainnet")
OF_MAINNET = {MAINNET.spell(key): value for key, value in MAIN.items() if not key.startswith("SMT_")}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(load_spec("testnet"), TESTNET, id="testnet"),
        pytest.param(MAINNET, OF_MAINNET | {"STEEM_ENABLE_SMT": False, "STEEM_TREASURY_ACCOUNT": "steem.dao"}, id="mainnet"),
        pytest.param(msgspec.structs.replace(MAINNET, brand="coin", smt=True), MAIN, id="main with SMTs"),
    ],
)
def test_get_config_equals_the_vector(spec: ChainSpec, expected: dict[str, Any]) -> None:
    made = config_object(spec)
    assert made == expected
    assert list(made) == list(expected)


def test_a_chain_without_a_block_limit_has_no_such_key() -> None:
    made = config_object(load_spec("dev"))
    assert made["COIN_GENESIS_TIME"] == "2026-01-01T00:00:00"
    assert list(made) == [key for key in TESTNET if key != "TESTNET_BLOCK_LIMIT"]


def test_no_key_is_listed_twice() -> None:
    keys = [word.partition(":")[0] for word in KEYS.split()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", ["dev", "testnet", "steem-testnet", "steem-mainnet"])
def test_numbers_beyond_32_bits_are_text(name: str) -> None:
    numbers = [value for value in config_object(load_spec(name)).values() if isinstance(value, int)]
    assert all(value <= 0xFFFFFFFF for value in numbers)
