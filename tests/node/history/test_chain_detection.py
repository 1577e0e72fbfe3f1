"""Detection of the chain from the data folder and the first blocks, and refusals of a spec that contradicts them."""

import os
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from node.app.context import NodeContext
from node.app.local_chain import LocalChain
from node.app.settings import Settings
from node.cli.chain_of_blocks import spec_of_node
from node.history.chain_detection import ChainUnclear, detect_chain, followed_variant, former_spec
from node.runtime import former_chains
from node.runtime.errors import NodeError
from node.specs.builder import load_spec, with_accounts, with_main_chain_id, with_witnesses
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import CHAIN_NAME, DataFolder
from rpc.push.events import encode_line
from rpc.push.header import stream_header
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.protocol.spec import ACCOUNTS_PER_BLOCK, ChainSpec
from tests.helpers.commands import coind
from tests.helpers.followed import answering, reply
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV, block_at, case_log, dev_chain, json_lines, make_block, transfer

LOG = case_log("rewards")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder of a dev chain. Its blocks have no transactions, so they could also belong to the chain dev-tests."""
    chain = dev_chain()
    data = DataFolder(tmp_path / "data", DEV, chain.state.wire)
    data.log.switch((), [make_block(chain) for _ in range(3)])
    data.close()
    return data.path


@pytest.mark.parametrize("name", ["dev", "dev-tests", "steem-mainnet"])
def test_a_chain_that_the_first_blocks_contradict_is_refused(name: str) -> None:
    assert detect_chain(LOG, None).name == detect_chain(LOG, load_spec("steem-testnet")).name == "steem-testnet"
    with pytest.raises(ChainUnclear):
        detect_chain(LOG, load_spec(name))


def test_a_data_folder_names_its_chain(folder: Path, tmp_path: Path) -> None:
    for path in (folder, folder / LOG_NAME):
        assert detect_chain(path, None).name == "dev"
        with pytest.raises(ChainUnclear):
            detect_chain(path, load_spec("dev-tests"))
    alone = tmp_path / "alone"
    alone.write_bytes((folder / LOG_NAME).read_bytes())
    assert detect_chain(alone, load_spec("dev-tests")).name == "dev-tests"
    with pytest.raises(ChainUnclear):
        detect_chain(alone, None)


def test_a_transaction_in_a_later_block_tells_chains_apart(tmp_path: Path) -> None:
    chain = dev_chain()
    blocks = [make_block(chain)]
    chain.push_transaction(transfer(chain))
    blocks.append(make_block(chain))
    path = tmp_path / "lines"
    path.write_bytes(json_lines(chain.state.wire, blocks))
    assert detect_chain(path, None).name == "dev"
    with pytest.raises(ChainUnclear):
        detect_chain(path, load_spec("dev-tests"))


def test_block_1_shows_where_the_accounts_were_created(tmp_path: Path) -> None:
    dev = load_spec("dev")
    in_blocks, at_genesis, none = tmp_path / "blocks", tmp_path / "genesis", tmp_path / "none"
    chain = LocalChain().chain
    in_blocks.write_bytes(json_lines(chain.state.wire, [block_at(chain, number) for number in range(1, 4)]))
    chain = dev_chain()
    at_genesis.write_bytes(json_lines(chain.state.wire, [make_block(chain) for _ in range(3)]))
    none.mkdir()
    (none / LOG_NAME).touch()
    for path, expected in ((in_blocks, True), (at_genesis, False), (none, True)):
        assert detect_chain(path, dev).genesis.accounts_in_blocks == expected
    # The accounts are created by transactions, which tell the chain from dev-tests.
    assert detect_chain(in_blocks, None) == dev
    with pytest.raises(ChainUnclear):
        detect_chain(in_blocks, load_spec("dev-tests"))


@pytest.mark.parametrize("count", [3, 10, 11, ACCOUNTS_PER_BLOCK, ACCOUNTS_PER_BLOCK + 1])
def test_the_first_blocks_show_the_number_of_accounts(tmp_path: Path, count: int) -> None:
    chain = LocalChain(accounts=count).chain
    path = tmp_path / "blocks"
    path.write_bytes(json_lines(chain.state.wire, [block_at(chain, number) for number in range(1, 6)]))
    for given in (None, load_spec("dev")):
        assert detect_chain(path, given) == chain.state.spec


@pytest.mark.parametrize("chain_id", former_chains.FORMER)
def test_blocks_of_a_former_chain_are_refused(tmp_path: Path, chain_id: str) -> None:
    name = former_chains.FORMER[chain_id]
    former = former_spec(chain_id)
    chain = Chain(new_state(former))
    chain.push_transaction(transfer(chain))
    data = DataFolder(tmp_path / "data", former, chain.state.wire)
    data.log.append(make_block(chain))
    data.close()
    alone = tmp_path / "alone"
    alone.write_bytes((data.path / LOG_NAME).read_bytes())
    for path in (data.path, alone):
        for given in (None, load_spec(name)):
            with fails(ChainUnclear):
                detect_chain(path, given)
        assert detect_chain(path, former) == former


def test_a_folder_with_the_chain_id_of_the_public_network(tmp_path: Path) -> None:
    plain = load_spec("mainnet-like")
    spec = with_main_chain_id(plain)
    chain = LocalChain(spec)
    data = DataFolder(tmp_path, spec, chain.chain.state.wire)
    data.log.switch((), [block for number in range(1, 26) if (block := chain.chain.block_by_number(number))])
    data.close()
    for given in (None, plain, spec):
        assert detect_chain(tmp_path, given) == spec
    # Only the option makes a node continue it.
    with fails(NodeError):
        DataFolder(tmp_path, NodeContext(Settings(spec=plain, plugins=(), data=tmp_path)).settings.spec, chain.chain.state.wire)
    assert NodeContext(Settings(spec=spec, plugins=(), data=tmp_path)).settings.spec == spec
    with pytest.raises(ChainUnclear):
        detect_chain(tmp_path, load_spec("dev"))


def test_an_unreadable_chain_file_is_refused(folder: Path) -> None:
    (folder / CHAIN_NAME).unlink()
    os.mkfifo(folder / CHAIN_NAME)
    with pytest.raises(ChainUnclear):
        detect_chain(folder, None)
    assert detect_chain(folder, load_spec("dev")).name == "dev"


def test_commands_find_the_chain_and_refuse_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("node.cli.run_options.configure_logs", lambda *_, **__: None)
    commands = (
        ("export", str(LOG), "--to", "export", "--verify", "none", "--only", "blocks"),
        ("report", "export", "--to", "report.html"),
        ("report", str(LOG), "--at", "9", "--to", "report.html", "--verify", "none"),
        ("replay", str(LOG), "--until", "9", "--workers", "0"),
    )
    for words in commands:
        assert coind(capsys, *words, "--chain", "dev-tests").status == 1
        assert coind(capsys, *words).status == 0


@pytest.mark.parametrize(
    "spec",
    [
        DEV,
        with_main_chain_id(DEV),
        with_witnesses(with_accounts(DEV, 30), 3),
        DEV.with_accounts_in_blocks(not DEV.genesis.accounts_in_blocks),
        load_spec("steem-testnet"),
    ],
)
def test_the_header_of_a_stream_tells_the_genesis(spec: ChainSpec) -> None:
    header = stream_header(Chain(new_state(spec)), 1)
    assert followed_variant(load_spec(spec.name), header) == spec


async def test_a_followed_node_names_its_chain() -> None:
    header = stream_header(dev_chain(), 1)
    async with answering(lambda *_: reply(encode_line(header) + b"\n")) as url:
        assert await trio.to_thread.run_sync(spec_of_node, url, None) == DEV
    unclear = [encode_line(replace(header, base=7)), encode_line(replace(header, name="mine"))]
    for answer in (reply(b"", "404 Not Found"), *(reply(line + b"\n") for line in unclear)):
        async with answering(lambda *_, answer=answer: answer) as url:
            with fails(NodeError):
                await trio.to_thread.run_sync(spec_of_node, url, None)
