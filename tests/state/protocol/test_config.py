"""get_config: the object that the reference answers, key by key and in its order, for each of the chains."""

import gzip
import json
from typing import Any

import msgspec
import pytest

from node.specs.builder import load_spec
from state.protocol.config import KEYS, config_object
from state.protocol.spec import ChainSpec
from tests.conftest import CASES, VECTORS


def vector(name: str) -> dict[str, Any]:
    vectors = json.loads((VECTORS / "wire.json").read_text())["vectors"]
    found: dict[str, Any] = next(vector["expect"] for vector in vectors if vector["id"] == name)
    return found


def recorded() -> list[dict[str, Any]]:
    with gzip.open(CASES / "rpc_envelope" / "queries.jsonl.gz") as lines:
        events = [json.loads(line) for line in lines if b'_api.get_config"' in line]
    return [event["result"] for event in events if event["method"].endswith("_api.get_config")]


def test_testnet_is_the_vector() -> None:
    expected = vector("get_config.testnet")
    made = config_object(load_spec("testnet"))
    assert made == expected
    assert list(made) == list(expected)


def test_mainnet_is_the_vector_without_smts_in_its_own_spelling() -> None:
    spec = load_spec("steem-mainnet")
    expected = {spec.spell(key): value for key, value in vector("get_config.main").items() if not key.startswith("SMT_")}
    expected |= {"STEEM_ENABLE_SMT": False, "STEEM_TREASURY_ACCOUNT": "steem.dao"}
    made = config_object(spec)
    assert made == expected
    assert list(made) == list(expected)


def test_main_build_with_smts_is_the_vector() -> None:
    spec: ChainSpec = msgspec.structs.replace(load_spec("steem-mainnet"), brand="coin", smt=True)
    expected = vector("get_config.main")
    made = config_object(spec)
    assert made == expected
    assert list(made) == list(expected)


def test_steem_testnet_is_what_was_recorded() -> None:
    answers = recorded()
    made = config_object(load_spec("steem-testnet"))
    assert len(answers) == 2
    for answer in answers:
        assert made == answer
        assert list(made) == list(answer)


def test_a_chain_without_block_limit_tells_none() -> None:
    made = config_object(load_spec("dev"))
    assert "TESTNET_BLOCK_LIMIT" not in made
    assert made["COIN_GENESIS_TIME"] == "2026-01-01T00:00:00"
    assert list(made) == [key for key in vector("get_config.testnet") if key != "TESTNET_BLOCK_LIMIT"]


def test_no_key_stands_twice() -> None:
    keys = [word.partition(":")[0] for word in KEYS.split()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", ["dev", "testnet", "steem-testnet", "steem-mainnet"])
def test_numbers_beyond_32_bits_are_text(name: str) -> None:
    numbers = [value for value in config_object(load_spec(name)).values() if isinstance(value, int)]
    assert all(value <= 0xFFFFFFFF for value in numbers)
