"""The state after a block and inside a block, compared with a replay. Also tests requests that are refused."""

import shutil
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.research.library import BeyondEnd, CallRefused, ChainAt, DataError, InvalidPosition, RefusedBlock, UnknownChain, chain_at
from node.research.library.chains import is_asking
from node.snapshots.folder import folder_of, save
from node.specs.builder import load_spec
from node.storage.disk import SystemDisk
from rpc.declare.method import METHODS
from state.chain.chain import Chain
from state.chain.digest import state_digest, table_bytes
from state.chain.genesis import new_state
from state.plugins.registry import PLUGINS, enable
from tests.conformance import run
from tests.conformance.play import Player
from tests.helpers.golden import fails
from tests.helpers.nodes import case_log, case_wire, json_lines, write_as

SPEC = load_spec("steem-testnet")
CASE = "rewards"
LOG, LAST = case_log(CASE), 105


@cache
def digests(case: str) -> list[str]:
    """Return the state digest after each block of a test case, from genesis on, computed by a replay with all checks."""
    player = Player(case_log(case).parent)
    found = [state_digest(player.chain.state)]
    for block in player.blocks():
        player.chain.push_block(block)
        found.append(state_digest(player.chain.state))
    return found


@settings(max_examples=6)
@given(number=st.integers(0, LAST))
def test_a_state_is_that_of_a_replay(number: int) -> None:
    with chain_at(LOG, number, "steem-testnet", plugins=()) as chain:
        assert (chain.number, chain.digest) == (number, digests(CASE)[number])


@pytest.mark.parametrize("case", ["market_orders", "smt_tokens"])
def test_the_end_of_a_case_is_that_of_a_replay(case: str) -> None:
    last = len(digests(case)) - 1
    assert chain_at(case_log(case), str(last), plugins=()).digest == digests(case)[-1]


def test_checks_lead_to_the_same_state() -> None:
    assert chain_at(LOG, 60, is_checked=True).digest == digests(CASE)[60]


@pytest.mark.parametrize("form", ["log.gz", "log.zst"])
def test_compressed_files_keep_their_blocks(form: str, tmp_path: Path) -> None:
    with chain_at(write_as(tmp_path / form, LOG.read_bytes()), 80, "steem-testnet") as chain:
        assert chain.digest == digests(CASE)[80]
        assert chain.call("block_api.get_block", {"block_num": 3})["block"]["block_id"] == chain.block(3).id


# ------------------------------------------------------------------ inside of a block


def applied_by_hand(number: int, count: int) -> Chain:
    """Return a chain at block `number` - 1, to which the first `count` transactions of the next block have been pushed."""
    player = Player(LOG.parent, plugins=())
    player.advance(number - 1)
    block = list(player.blocks())[number - 1]
    for trx in block.transactions[:count]:
        player.chain.push_transaction(trx)
    return player.chain


def rows_but_of_the_header(chain: Chain) -> dict[str, list[bytes]]:
    """Return the rows of all tables, except for the tables that a block header changes."""
    return {name: list(table_bytes(table)) for name, table in chain.state.tables() if name not in ("global_properties", "witnesses")}


@settings(max_examples=5)
@given(st.data())
def test_a_position_in_a_block_includes_its_first_transactions(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from([25, 26, 27, 80]))
    size = len(list(Player(LOG.parent, plugins=()).blocks())[number - 1].transactions)
    count = data.draw(st.integers(0, size))
    with chain_at(LOG, f"{number}:{count}", "steem-testnet", plugins=()) as chain:
        assert (chain.number, chain.transactions) == (number - 1, count)
        assert rows_but_of_the_header(chain._chain) == rows_but_of_the_header(applied_by_hand(number, count))


def test_transfers_within_a_block_are_visible() -> None:
    def balance(at: str) -> int:
        found: int = chain_at(LOG, at, "steem-testnet", plugins=()).tables["accounts"]["ada"].balance
        return found

    assert [balance("25:1"), balance("25:2"), balance("25")] == [0, 100_000, 100_000]


# ------------------------------------------------------------------ data folders


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that has a snapshot at block 84."""
    folder = tmp_path_factory.mktemp("data")
    shutil.copy(LOG, folder)
    player = Player(LOG.parent)
    player.advance(LAST)
    save(player.chain, folder_of(folder), SystemDisk())
    return folder


@pytest.mark.parametrize(("at", "begins"), [(105, 84), ("85:0", 84), (84, 84), (83, 0), ("84:0", 0), (0, 0)])
def test_an_earlier_snapshot_is_the_start(at: int | str, begins: int, data_folder: Path) -> None:
    with chain_at(data_folder, at) as chain:
        assert chain._chain.started_at == begins
        if isinstance(at, int):
            assert chain.digest == digests(CASE)[at]
        if chain.number > 2:
            assert chain.block(2).number == 2


def test_a_damaged_snapshot_is_skipped(data_folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "data"
    shutil.copytree(data_folder, damaged)
    (path,) = folder_of(damaged).iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with chain_at(damaged, 90) as chain:
        assert (chain._chain.started_at, chain.digest) == (0, digests(CASE)[90])
    assert [each.name for each in folder_of(damaged).iterdir()] == [path.name], "nothing is written into the folder"


def test_a_folder_with_edits_is_refused(data_folder: Path, tmp_path: Path) -> None:
    edited = tmp_path / "data"
    shutil.copytree(data_folder, edited)
    (edited / "edits").touch()
    with fails(DataError):
        chain_at(edited, 90, "steem-testnet")


# ------------------------------------------------------------------ calls


def test_calls_answer_as_the_reference_did() -> None:
    player = Player(LOG.parent)
    events = [each for each in run.lines(LOG.parent / "queries.jsonl") if each["height"] == LAST and "result" in each]
    with chain_at(LOG, LAST, plugins=PLUGINS) as chain:
        asked = [each for each in events if each["method"] in player.served and is_asking(METHODS[each["method"]])][::3]
        for event in asked:
            assert list(run.differences(run.repaired(event), chain.call(event["method"], event["params"] or ()))) == [], event["method"]
    assert len(asked) > 5


def test_served_methods_can_not_change_the_chain() -> None:
    asking = {name for name, method in METHODS.items() if is_asking(method)}
    assert {"condenser_api.get_accounts", "database_api.find_accounts", "bridge.get_post", "block_api.get_block"} <= asking
    assert not [name for name in asking if "broadcast" in name or METHODS[name].waits]


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("condenser_api.get_accounts", [5], "Bad Cast"),
        ("condenser_api.get_nothing", [], "Could not find method get_nothing"),
        ("condenser_api.broadcast_transaction", [{}], "it changes the chain, or needs a running node"),
        ("dev_api.mine", {"count": 1}, "it changes the chain, or needs a running node"),
    ],
)
def test_a_refused_call_is_an_exception(method: str, params: Any, text: str) -> None:
    with pytest.raises(CallRefused, match=text) as caught:
        genesis().call(method, params)
    assert (caught.value.method, type(caught.value.code)) == (method, int)


@cache
def genesis() -> ChainAt:
    """A chain in the state before block 1."""
    return chain_at(LOG, 0, SPEC)


def test_genesis_has_no_block() -> None:
    chain = genesis()
    assert (chain.number, chain.transactions, chain.chain, repr(chain)) == (0, None, "steem-testnet", "<chain steem-testnet at block 0>")
    assert chain.digest == state_digest(new_state(SPEC, partial(enable, names=())))
    with pytest.raises(BeyondEnd):
        chain.block(1)


# ------------------------------------------------------------------ moments that aren't


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        (106, BeyondEnd),
        ("107:0", BeyondEnd),
        ("106:0", BeyondEnd),
        ("25:16", InvalidPosition),
        ("0:0", InvalidPosition),
        (-1, InvalidPosition),
        ("25:", InvalidPosition),
        (True, InvalidPosition),
    ],
)
def test_invalid_positions_are_refused(at: int | str, kind: type[DataError]) -> None:
    with fails(kind):
        chain_at(LOG, at, "steem-testnet", plugins=())


def test_the_end_of_a_compressed_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BeyondEnd) as caught:
        chain_at(write_as(tmp_path / "log.gz", LOG.read_bytes()), 500, "steem-testnet", plugins=())
    assert (caught.value.number, caught.value.last) == (500, LAST)


def test_the_right_chain_is_named() -> None:
    with fails(UnknownChain):
        chain_at(LOG, 5, "dev")


def test_blocks_without_a_beginning_are_refused(tmp_path: Path) -> None:
    lines = json_lines(case_wire(), [each for each in Player(LOG.parent).blocks() if each.number > 50])
    with fails(RefusedBlock):
        chain_at(write_as(tmp_path / "late", lines), 60, "steem-testnet")
