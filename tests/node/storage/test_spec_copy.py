"""The copy of the spec in a data folder. When a folder or a snapshot is refused, the error names the differences between the copy and the
new spec.
"""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from node.history.chain_detection import former_spec
from node.runtime import former_chains
from node.runtime.errors import NodeError
from node.snapshots.file import IncompatibleSnapshot
from node.snapshots.folder import load
from node.specs.builder import load_spec, with_accounts, with_witnesses
from node.storage.datafolder import DataFolder, mark_of, require_chain
from node.storage.disk import SystemDisk
from node.storage.spec_copy import NAMED_MAX, SPEC_NAME, decisive, difference, digest_of
from rpc.push.header import genesis_fingerprint
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import DEV
from tests.node.snapshots.test_folder import saved

WAYS_OUT = ". Start with the spec, --witnesses and --accounts as they were, or give --data a fresh folder"


def opened(folder: Path, spec: ChainSpec) -> None:
    DataFolder(folder, spec, Wire(spec)).close()


def refusal(folder: Path, spec: ChainSpec) -> str:
    with pytest.raises(NodeError) as refused:
        opened(folder, spec)
    return str(refused.value)


def differences(spec: ChainSpec, other: ChainSpec) -> str:
    return difference(decisive(spec), mark_of(spec).genesis, other)


def test_the_digest_of_the_copy_is_in_the_mark(tmp_path: Path) -> None:
    opened(tmp_path, DEV)
    assert digest_of((tmp_path / SPEC_NAME).read_bytes()) == mark_of(DEV).genesis


def test_chains_of_older_versions_are_the_same() -> None:
    """Folders, snapshots and streams of chains from older versions are still accepted, since fields that are new in the spec are left
    out.
    """
    digests = {
        name: (mark_of(spec).genesis[:8], genesis_fingerprint(spec)[:8])
        for name in ("testnet", "steem-mainnet")
        if (spec := load_spec(name))
    }
    assert digests == {"testnet": ("78bd3ecf", "aa10da38"), "steem-mainnet": ("3a5611a2", "3ac8f7e0")}


@pytest.mark.parametrize("chain_id", former_chains.FORMER)
def test_a_former_chain_is_refused_with_the_way_to_use_it(tmp_path: Path, chain_id: str) -> None:
    name = former_chains.FORMER[chain_id]
    former = former_spec(chain_id)
    opened(tmp_path / "data", former)
    said = refusal(tmp_path / "data", load_spec(name))
    same_as_golden(said)
    path = tmp_path / "file.toml"
    path.write_text("\n".join(said.rpartition("lines: ")[2].split(", ")))
    assert mark_of(load_spec(str(path))).genesis == mark_of(former).genesis
    assert mark_of(former).genesis[:8] == {"dev": "448cbd45", "dev-tests": "70fd18b5"}[name]
    opened(tmp_path / "data", load_spec(str(path)))


def test_a_refusal_names_differing_constants(tmp_path: Path) -> None:
    opened(tmp_path, DEV)
    other = replace(DEV, constants=replace(DEV.constants, COIN_GENESIS_TIME=1_735_689_600, COIN_CASHOUT_WINDOW_SECONDS=60), block_limit=5)
    same_as_golden(refusal(tmp_path, other))
    opened(tmp_path, DEV)


def test_differing_genesis_values_are_named_as_in_a_spec_file() -> None:
    assert differences(DEV, with_witnesses(DEV, 2)) == 'genesis.witnesses: there none, here ["initminer2"]'
    assert differences(DEV, with_accounts(DEV, 11)) == (
        "genesis.accounts: there 10, here 11; genesis.accounts.user11: there none, here an account"
    )
    first = DEV.genesis.accounts[0]
    richer = replace(DEV, genesis=replace(DEV.genesis, accounts=(replace(first, coin=1), *DEV.genesis.accounts[1:])))
    assert differences(DEV, richer) == "genesis.accounts.alice.coin: there 100000.000, here 0.001"
    assert differences(DEV, replace(DEV, coin_symbol="OTHER", smt=not DEV.smt)) == (
        f"smt: there {str(DEV.smt).lower()}, here {str(not DEV.smt).lower()}; symbols.coin: there COIN, here OTHER"
    )
    keyed = replace(DEV, genesis=replace(DEV.genesis, witness_key=first.owner))
    assert differences(DEV, keyed) == (
        "genesis.witness_key: there TST6LLegbAgLAy28EHrffBVuANFWcFgmqRMW13wBmTExqFE9SCkg4,"
        " here TST5DhoqwH4Udxf7mRikHXhSasmy8XJaiUT3gsvgFdCL8RAi8rmke"
    )


def test_of_many_differences_only_the_first_are_named() -> None:
    text = differences(DEV, with_accounts(DEV, 30))
    assert text.count("there") == NAMED_MAX
    same_as_golden(text)


def test_a_folder_without_a_copy_gets_one_at_its_next_start(tmp_path: Path) -> None:
    opened(tmp_path, DEV)
    (tmp_path / SPEC_NAME).unlink()
    other = replace(DEV, block_limit=5)
    same_as_golden(refusal(tmp_path, other))
    assert not (tmp_path / SPEC_NAME).exists()
    opened(tmp_path, DEV)
    same_as_golden(refusal(tmp_path, other))


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", decisive(load_spec("testnet"))])
def test_a_copy_of_another_spec_is_replaced(tmp_path: Path, content: bytes) -> None:
    opened(tmp_path, DEV)
    (tmp_path / SPEC_NAME).write_bytes(content)
    same_as_golden(refusal(tmp_path, replace(DEV, block_limit=5)))
    opened(tmp_path, DEV)
    assert (tmp_path / SPEC_NAME).read_bytes() == decisive(DEV)


def test_tools_refuse_another_spec(tmp_path: Path) -> None:
    opened(tmp_path, DEV)
    with fails(NodeError):
        require_chain(tmp_path, mark_of(DEV), replace(DEV, block_limit=5))


def test_a_snapshot_of_another_spec_is_incompatible(tmp_path: Path) -> None:
    (path,) = saved(tmp_path, 25)
    other = Chain(new_state(replace(DEV, block_limit=5)))
    with fails(IncompatibleSnapshot):
        load(other, path, SystemDisk())


@pytest.mark.parametrize(
    "forged",
    [
        b"",
        b"[",
        b"\xff",
        b'{"genesis":{"accounts":5}}',
        b'{"genesis":{"accounts":[1]}}',
        b'{"genesis":{"accounts":[{"name":"x"},{"name":[]}],"x":[' + b"[" * 100_000,
        b'{"AAA_TIME":' + b"9" * 18 + b"}",
        b'{"0":"' + b"9" * 5000 + b'","genesis":{"accounts":{}}}',
    ],
)
def test_a_forged_copy_is_unknown(forged: bytes, tmp_path: Path) -> None:
    """The digest of the forged copy matches, because `chain.json` is forged too."""
    opened(tmp_path, DEV)
    (tmp_path / SPEC_NAME).write_bytes(forged)
    made_up = replace(mark_of(DEV), genesis=digest_of(forged))
    with fails(NodeError):
        require_chain(tmp_path, made_up, DEV)
    assert len(difference(forged, digest_of(forged), DEV)) < 1000


def test_names_of_a_forged_copy_are_shortened_and_cheap() -> None:
    """Comparing each name with all others would take hours."""
    long = b'{"' + b"0" * 100_000 + b'":1}'
    assert len(difference(long, digest_of(long), DEV)) < 1000
    many = b"{" + b",".join(b'"0%d":1' % number for number in range(100_000)) + b"}"
    start = time.process_time()
    assert difference(many, digest_of(many), DEV).startswith("00: there 1, here none; 01: ")
    assert time.process_time() - start < 5
