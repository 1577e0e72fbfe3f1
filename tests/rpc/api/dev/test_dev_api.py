"""The methods of dev_api, called in this process: the effect of each method, and its refusals."""

import os
from pathlib import Path

import msgspec
import pytest

from node.snapshots.dumps import dump
from node.storage.disk import Disk
from state.chain.chain import Chain
from state.effects.voting import post_fund
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret, public_key_text
from state.protocol.values.asset import COIN, Asset
from state.protocol.values.text import time_text
from tests.helpers.api import ApiChain
from tests.helpers.golden import same_as_golden

GIVEN = Transfer(from_="alice", to="bob", amount=Asset(1, COIN))
ALICE = derive_secret("alice", "active", "dev")
CLAIMS = 1_000_000_000_000  # of dev at block 1
KEY = "TST6LLegbAgLAy28EHrffBVuANFWcFgmqRMW13wBmTExqFE9SCkg4"


@pytest.fixture
def api() -> ApiChain:
    """A dev chain in the state that it has when a node starts."""
    api = ApiChain("dev")
    api.now = 1_800_000_000
    api.call("dev_api.reset")
    return api


def test_reset_restores_the_chain_of_a_first_start(api: ApiChain) -> None:
    for _ in range(2):
        head = api.call("dev_api.reset")
        assert (head["head_block_number"], head["last_irreversible_block_num"]) == (25, 4)
        assert head["head_block_time"] == head["time"] == time_text(1_800_000_000)
        api.call("dev_api.mine", count=30)
        assert api.call("dev_api.snapshot") == {"id": 1}


def test_arguments_by_position_and_by_name(api: ApiChain) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"dev_api.mine","params":%s}'
    for params, number in ((b"[2]", 27), (b'{"count":3}', 30), (b"[]", 31), (b"{}", 32)):
        assert b'"head_block_number":%d,' % number in api.answer(body % params)


def test_mine_follows_the_clock_and_runs_ahead_of_it(api: ApiChain) -> None:
    api.now += 60
    assert api.call("dev_api.mine")["head_block_time"] == time_text(api.now)
    head = api.call("dev_api.mine", count=10)
    assert head["head_block_time"] == head["time"] == time_text(api.now + 30)
    assert api.call("dev_api.get_info")["seconds_ahead"] == 30
    api.now += 30
    assert api.call("dev_api.mine")["head_block_time"] == time_text(api.now + 30)


def test_mine_refuses_too_many(api: ApiChain) -> None:
    _, message = api.refused("dev_api.mine", count=1_000_001)
    assert message.endswith("No more than 1000000 blocks can be generated at once")


def test_pending_transactions_survive_a_pause(api: ApiChain) -> None:
    api.chain.push_transaction(api.transaction(GIVEN, signers=(ALICE,)))
    api.now += 3600
    assert api.call("dev_api.mine")["head_block_time"] == time_text(1_800_000_060)
    head = api.chain.head
    assert head is not None
    assert len(head.transactions) == 1
    assert api.call("dev_api.mine")["head_block_time"] == time_text(api.now)


def test_a_time_jump_over_missed_slots(api: ApiChain) -> None:
    head = api.call("dev_api.advance_time", seconds=40 * 86_400)
    # One block at the new time, and one every five days before, as in longer gaps the claims on the reward fund would wrap below zero.
    assert head["head_block_number"] == 25 + 8
    assert head["head_block_time"] == head["time"] == time_text(api.now + 40 * 86_400)
    assert api.state.props.participation_count == 0
    assert 0 < post_fund(api.state).recent_claims < CLAIMS // 10
    assert api.call("dev_api.advance_time", seconds=14 * 86_400)["head_block_number"] == 34
    assert 0 < post_fund(api.state).recent_claims < CLAIMS // 100
    assert api.call("dev_api.mine")["head_block_number"] == 35


def test_a_time_jump_that_produces(api: ApiChain) -> None:
    head = api.call("dev_api.advance_time", seconds=301, leap="produced")
    assert (head["head_block_number"], head["head_block_time"], head["time"]) == (125, time_text(api.now + 300), time_text(api.now + 301))
    assert api.call("dev_api.advance_time", seconds=0, leap="produced")["head_block_number"] == 126


def test_a_time_jump_includes_pending_transactions_first(api: ApiChain) -> None:
    api.chain.push_transaction(api.transaction(GIVEN, signers=(ALICE,)))
    assert api.call("dev_api.advance_time", seconds=86_400)["head_block_number"] == 27
    first = api.chain.block_by_number(26)
    assert first is not None
    assert (len(first.transactions), first.timestamp) == (1, api.now + 3)


@pytest.mark.parametrize(
    ("leap", "seconds", "text"),
    [
        ("x", 1, "x is not a leap mode; expected missed or produced"),
        ("produced", 6_100_000, "at most 2000000 are made at once"),
        ("", 2**32 - 1, "is beyond"),
    ],
)
def test_time_jumps_that_are_refused(api: ApiChain, leap: str, seconds: int, text: str) -> None:
    head = api.state.props.head_block_id
    assert text in api.refused("dev_api.advance_time", seconds=seconds, leap=leap)[1]
    assert api.state.props.head_block_id == head
    assert api.devchain.time == api.now


def test_the_time_of_the_next_block(api: ApiChain) -> None:
    assert api.call("dev_api.set_next_block_time", time=time_text(api.now + 100)) == {"next_block_time": time_text(api.now + 102)}
    assert api.call("dev_api.mine", count=2)["head_block_time"] == time_text(api.now + 105)
    _, message = api.refused("dev_api.set_next_block_time", time=time_text(api.now + 105))
    assert message.endswith(f"time {time_text(api.now + 105)} is before the next slot, {time_text(api.now + 108)}")


def test_block_modes(api: ApiChain) -> None:
    for mode in ("manual", "instant", "mixed:0.5", "interval:2", "interval"):
        assert api.call("dev_api.set_block_mode", mode=mode) == {"block_mode": mode}
    same_as_golden(api.refused("dev_api.set_block_mode", mode="x")[1])
    assert api.call("dev_api.get_info")["block_mode"] == "interval"


def test_revert_restores_everything(api: ApiChain) -> None:
    api.chain.push_transaction(api.transaction(GIVEN, signers=(ALICE,)))
    api.call("dev_api.impersonate", accounts=["carol"])
    before = api.call("dev_api.get_info")
    assert api.call("dev_api.snapshot") == {"id": 1}
    for _ in range(2):
        api.call("dev_api.set_block_mode", mode="manual")
        api.call("dev_api.advance_time", seconds=86_400)
        api.call("dev_api.mine", count=50)
        api.call("dev_api.set_balance", account="alice", balance="1.000 COIN")
        api.call("dev_api.impersonate", everyone=True)
        api.call("dev_api.set_next_block_time", time=time_text(api.now + 200_000))
        later = api.call("dev_api.snapshot")["id"]
        api.call("dev_api.revert", id=1)
        assert api.call("dev_api.get_info") == before | {"snapshots": [1]}
        assert api.state.account("alice").balance == 100_000_000 - 1
        same_as_golden(api.refused("dev_api.revert", id=later)[1])
    assert api.call("dev_api.mine")["head_block_time"] == time_text(api.now + 3)


def test_the_number_of_snapshots_is_bounded(api: ApiChain) -> None:
    for number in range(256):
        assert api.call("dev_api.snapshot") == {"id": number + 1}
    same_as_golden(api.refused("dev_api.snapshot")[1])
    api.call("dev_api.revert", id=255)
    assert api.call("dev_api.snapshot") == {"id": 257}


def test_blocks_can_be_popped(api: ApiChain) -> None:
    api.chain.push_transaction(api.transaction(GIVEN, signers=(ALICE,)))
    api.call("dev_api.mine")
    assert api.call("dev_api.pop_blocks")["head_block_number"] == 25
    same_as_golden(api.refused("dev_api.pop_blocks", count=100)[1])
    assert api.call("dev_api.mine")["head_block_number"] == 26
    assert api.call("dev_api.drop_pending") == {"dropped": 1}
    assert api.call("dev_api.drop_pending") == {"dropped": 0}


def test_balances_and_authorities_can_be_set(api: ApiChain) -> None:
    assert api.call("dev_api.set_balance", account="alice", balance="5.000 COIN") == {}
    assert api.call("dev_api.set_balance", account="alice", balance={"amount": "6000", "precision": 3, "nai": "@@000000013"}) == {}
    assert api.call("dev_api.set_vests", account="alice", vests="7.000000 VESTS") == {}
    row = api.state.account("alice")
    assert (row.balance, row.sbd_balance, row.vesting_shares) == (5000, 6000, 7_000_000)
    authority = {"weight_threshold": 2, "account_auths": [["bob", 1]], "key_auths": [[KEY, 1]]}
    assert api.call("dev_api.set_authority", account="alice", role="active", authority=authority) == {}
    assert api.call("dev_api.set_authority", account="alice", role="posting", authority=KEY) == {}
    assert api.call("dev_api.set_authority", account="alice", role="memo", authority=KEY) == {}
    assert api.state.authority("alice").active.weight_threshold == 2
    assert public_key_text(api.state.account("alice").memo_key, "TST") == KEY


def test_the_faucet_credits_an_account(api: ApiChain) -> None:
    assert api.call("dev_api.faucet", account="bob") == {
        "account": "bob",
        "balance": "101000.000 COIN",
        "sbd_balance": "1000.000 SBD",
        "vesting_shares": "10000000.000000 VESTS",
    }
    assert api.call("dev_api.faucet", account="bob", amount="0.001 SBD")["sbd_balance"] == "1000.001 SBD"
    assert api.call("dev_api.faucet", account="bob", amount="1.000000 VESTS")["vesting_shares"] == "10000001.000000 VESTS"


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("set_balance", {"account": "nobody", "balance": "1.000 COIN"}, "there is no account nobody"),
        ("set_balance", {"account": "alice", "balance": "1.000000 VESTS"}, "is not of a liquid symbol"),
        ("set_balance", {"account": "alice", "balance": "-1.000 COIN"}, "must not be negative"),
        ("set_balance", {"account": "alice", "balance": "1.000 TESTS"}, "Cannot parse asset symbol"),
        ("set_vests", {"account": "alice", "vests": "1.000 COIN"}, "is not in VESTS"),
        (
            "set_authority",
            {"account": "alice", "role": "x", "authority": KEY},
            "unknown role x, expected one of owner, active, posting",
        ),
        ("set_authority", {"account": "alice", "role": "active", "authority": "STM1"}, "prefix"),
        ("set_authority", {"account": "alice", "role": "memo", "authority": {}}, "expected a public key for the role memo"),
        ("faucet", {"account": "nobody"}, "there is no account nobody"),
        ("faucet", {"account": "bob", "amount": "x"}, ""),
        ("impersonate", {"accounts": ["nobody"]}, "there is no account nobody"),
    ],
)
def test_edits_that_are_refused(api: ApiChain, method: str, params: dict[str, object], text: str) -> None:
    before = api.call("dev_api.get_info")
    assert text in api.refused(f"dev_api.{method}", **params)[1]
    assert api.call("dev_api.get_info") == before


def test_impersonated_accounts_need_no_signature(api: ApiChain) -> None:
    assert api.call("dev_api.impersonate", accounts=["bob", "alice"]) == {"accounts": ["alice", "bob"], "everyone": False}
    api.chain.push_transaction(api.transaction(GIVEN))
    assert api.call("dev_api.impersonate") == {"accounts": [], "everyone": False}
    api.call("dev_api.mine")
    assert api.state.account("alice").balance == 100_000_000 - 1


def test_dev_api_is_served_on_test_chains_only() -> None:
    api = ApiChain("steem-mainnet", plugins=())
    answer = api.answer(b'{"jsonrpc":"2.0","id":1,"method":"dev_api.mine"}')
    assert b"Could not find API dev_api" in answer
    assert b"only for test chains" in answer
    assert b"dev_api" not in api.answer(b'{"jsonrpc":"2.0","id":1,"method":"jsonrpc.get_methods"}')


def test_dev_api_is_served_to_local_programs_only(api: ApiChain) -> None:
    assert b"Could not find API dev_api" in api.answer(b'{"jsonrpc":"2.0","id":1,"method":"dev_api.mine"}', local=False)


def test_chains_can_be_compared_by_digest(api: ApiChain) -> None:
    before = api.call("dev_api.get_state_digest")
    moment = api.call("dev_api.snapshot")["id"]
    api.call("dev_api.faucet", account="bob")
    other = api.call("dev_api.get_state_digest")
    assert (other["head_block_id"], other["pending"]) == (before["head_block_id"], 0)
    assert other["digest"] != before["digest"]
    api.call("dev_api.revert", id=moment)
    assert api.call("dev_api.get_state_digest") == before
    shown = api.call("dev_api.get_state_digest", shown=True)
    assert len(shown["digest"]) == 64
    assert shown["digest"] != before["digest"]


def test_a_dump_can_be_loaded(api: ApiChain, tmp_path: Path) -> None:
    api.chain.push_transaction(api.transaction(GIVEN, signers=(ALICE,)))
    api.call("dev_api.mine", count=30)
    api.call("dev_api.faucet", account="bob")
    api.chain.push_transaction(api.transaction(GIVEN, signers=(ALICE,)))
    api.call("dev_api.impersonate", accounts=["carol"])
    before = api.call("dev_api.get_info")
    dumped = api.call("dev_api.dump", path=str(tmp_path / "one"))
    data = (tmp_path / "one").read_bytes()
    assert (dumped["path"], dumped["size"], dumped["head_block_number"]) == (str(tmp_path / "one"), len(data), 55)
    other = ApiChain("dev")
    other.now = api.now
    for each in (api, other):
        each.call("dev_api.mine", count=3)
        each.call("dev_api.impersonate")
        each.call("dev_api.load", path=str(tmp_path / "one"))
        assert each.call("dev_api.get_info") == before
        each.call("dev_api.dump", path=str(tmp_path / "two"))
        assert (tmp_path / "two").read_bytes() == data
    other.call("dev_api.mine")
    assert other.state.account("alice").balance == 100_000_000 - 2


def test_an_invalid_dump_changes_nothing(api: ApiChain, tmp_path: Path) -> None:
    api.call("dev_api.snapshot")
    before = api.call("dev_api.get_info")
    (tmp_path / "damaged").write_bytes(b"x" * 1000)
    for path in ("/nowhere/at/all", str(tmp_path / "damaged"), str(tmp_path)):
        assert path in api.refused("dev_api.load", path=path)[1]
    same_as_golden(api.refused("dev_api.dump", path="/nowhere/at/all")[1])
    assert api.call("dev_api.get_info") == before


@pytest.mark.parametrize(
    "damage",
    [
        {"lead_ms": 2**62},
        {"lead_ms": -(2**62)},
        {"lead_ms": 2**70},
        {"next_block_time": -1},
        {"next_block_time": 2**32},
        {"mode": {"kind": "mixed", "seconds": 0}},
        {"mode": {"kind": "interval", "seconds": 1e-9}},
        {"mode": {"kind": "mixed", "seconds": 1e300}},
        {"mode": {"kind": "manual", "seconds": 1}},
        {"mode": {"kind": "never"}},
        {"impersonated": None},
        {"more": 1},
    ],
)
def test_a_dump_with_invalid_settings_changes_nothing(
    api: ApiChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: dict[str, object]
) -> None:
    path = str(tmp_path / "hostile")

    def damaged(chain: Chain, path: Path, disk: Disk, extra: bytes) -> int:
        return dump(chain, path, disk, msgspec.json.encode(msgspec.json.decode(extra) | damage))

    monkeypatch.setattr("node.devchain.devchain.dump", damaged)
    api.call("dev_api.dump", path=path)
    api.call("dev_api.mine")
    before = api.call("dev_api.get_info")
    same_as_golden(api.refused("dev_api.load", path=path)[1])
    assert api.call("dev_api.get_info") == before


@pytest.mark.parametrize("path", ["", ".", "/", "a\0b"])
def test_an_invalid_path_is_refused(api: ApiChain, path: str) -> None:
    same_as_golden(api.refused("dev_api.dump", path=path)[1])
    api.refused("dev_api.load", path=path)


def test_a_dump_replaces_only_dumps(api: ApiChain, tmp_path: Path) -> None:
    api.call("dev_api.dump", path=str(tmp_path / "dump"))
    (tmp_path / "letter").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "letter")
    (tmp_path / "other.new").write_text("precious")
    os.mkfifo(tmp_path / "pipe")
    before = {path.name: path.lstat() for path in tmp_path.iterdir()}
    for name in ("letter", "link", "other", "pipe"):
        assert str(tmp_path / name) in api.refused("dev_api.dump", path=str(tmp_path / name))[1]
    assert {name: (tmp_path / name).lstat().st_mtime_ns for name in before} == {name: each.st_mtime_ns for name, each in before.items()}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(before)
    api.call("dev_api.dump", path=str(tmp_path / "dump"))
    # An interrupted dump leaves this file behind.
    (tmp_path / "dump.new").write_bytes(b"")
    api.call("dev_api.dump", path=str(tmp_path / "dump"))


def test_an_undone_account_can_be_impersonated(api: ApiChain, tmp_path: Path) -> None:
    """Reverting to a dev snapshot or loading a dump succeeds even if an impersonated account doesn't exist in it."""
    api.call("dev_api.impersonate", everyone=True)
    creation = {"fee": "0.000 COIN", "creator": "alice", "new_account_name": "newcomer"}
    nobody = {"weight_threshold": 1, "account_auths": [], "key_auths": []}
    keys = {"owner": nobody, "active": nobody, "posting": nobody, "memo_key": api.call("dev_api.list_keys")[0]["keys"]["memo"]["public"]}
    creation |= keys | {"json_metadata": ""}
    api.call("dev_api.broadcast_operations", operations=[["account_create", creation]])
    api.call("dev_api.mine")
    api.call("dev_api.impersonate", accounts=["newcomer"])
    api.call("dev_api.pop_blocks")
    api.call("dev_api.drop_pending")
    moment = api.call("dev_api.snapshot")["id"]
    before = api.call("dev_api.get_info")
    api.call("dev_api.dump", path=str(tmp_path / "dump"))
    api.call("dev_api.mine")
    api.call("dev_api.revert", id=moment)
    assert api.call("dev_api.get_info") == before
    api.call("dev_api.load", path=str(tmp_path / "dump"))
    assert api.call("dev_api.get_info") == before
