"""`coind keys`: the keys that it prints for an account of a chain, and its errors for keys that are unknown."""

from pathlib import Path

import pytest

from node.cli.keys import DEFAULT_PASSWORD
from node.specs.builder import load_spec
from state.protocol.keys.keys import derive_secret, public_key, public_key_text, wif_from_secret
from tests.helpers.commands import coind
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import DEV

ACTIVE = "--role=active"


def private(name: str, password: str) -> str:
    return wif_from_secret(derive_secret(name, "active", password))


def test_without_a_chain_they_are_those_of_dev(capsys: pytest.CaptureFixture[str]) -> None:
    done = coind(capsys, "keys", "alice")
    same_as_golden(done.lines[0])
    assert len(done.lines) == 9
    assert private("alice", DEFAULT_PASSWORD) in done.out


def test_the_prefix_is_that_of_the_chain(capsys: pytest.CaptureFixture[str]) -> None:
    done = coind(capsys, "keys", "bob", ACTIVE, "--chain", "steem-mainnet", "--password", "secret")
    shown = public_key_text(public_key(derive_secret("bob", "active", "secret")), "STM")
    assert done.lines == [
        "keys of bob, public ones with the prefix of the chain steem-mainnet (STM)",
        f"active  public   {shown}",
        f"active  private  {private('bob', 'secret')}",
    ]


def test_the_password_is_that_of_the_chain_s_accounts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "mine.toml"
    spec.write_text('base = "testnet"\nkey_prefix = "MY"\n[[genesis.accounts]]\nnames = ["zoe"]\npassword = "its own"\n')
    for name in ("zoe", "somebody"):
        done = coind(capsys, "keys", name, ACTIVE, "--chain", str(spec))
        same_as_golden(done.lines[0])
        assert private(name, "its own") in done.out
    assert private("zoe", "other") in coind(capsys, "keys", "zoe", ACTIVE, "--chain", str(spec), "--password", "other").out


@pytest.mark.parametrize("chain", ["steem-testnet", "testnet", "dev"])
def test_a_witness_has_the_key_that_the_chain_produces_with(capsys: pytest.CaptureFixture[str], chain: str) -> None:
    done = coind(capsys, "keys", "initminer", "--chain", chain)
    same_as_golden(done.lines[0])
    assert done.out.count(DEV.witness_keys[0]) == 4
    assert public_key_text(load_spec(chain).genesis.witness_key, "TST") in done.out


def test_a_key_that_nobody_knows_is_not_made_up(capsys: pytest.CaptureFixture[str]) -> None:
    done = coind(capsys, "keys", "initminer", "--chain", "steem-mainnet")
    assert (done.status, done.out) == (1, "")
    same_as_golden(done.err)
    # This chain has no account with a password, so the output names the password that is used.
    assert "from its name and the password dev," in coind(capsys, "keys", "bob", "--chain", "steem-mainnet").out


def test_a_name_must_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    same_as_golden(coind(capsys, "keys", "B").err)
