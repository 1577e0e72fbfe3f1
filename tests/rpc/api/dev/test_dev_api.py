"""dev_api in this process: what each method does to the chain, and what it refuses."""

import os
from pathlib import Path

import msgspec
import pytest

from node.snapshots.dumps import dump
from node.storage.disk import Disk
from state.chain.chain import Chain
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret, public_key_text
from state.protocol.values.asset import COIN, Asset
from state.protocol.values.text import time_text
from tests.helpers.api import Site
from tests.helpers.golden import same_as_golden

GIVEN = Transfer(from_="alice", to="bob", amount=Asset(1, COIN))
ALICE = derive_secret("alice", "active", "dev")
KEY = "TST6LLegbAgLAy28EHrffBVuANFWcFgmqRMW13wBmTExqFE9SCkg4"


@pytest.fixture
def site() -> Site:
    """A chain dev as a node starts it."""
    site = Site("dev")
    site.now = 1_800_000_000
    site.call("dev_api.reset")
    return site


def test_reset_makes_the_chain_of_a_first_start(site: Site) -> None:
    for _ in range(2):
        head = site.call("dev_api.reset")
        assert (head["head_block_number"], head["last_irreversible_block_num"]) == (25, 4)
        assert head["head_block_time"] == head["time"] == time_text(1_800_000_000)
        site.call("dev_api.mine", count=30)
        assert site.call("dev_api.snapshot") == {"id": 1}


def test_arguments_by_position_and_by_name(site: Site) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"dev_api.mine","params":%s}'
    for params, number in ((b"[2]", 27), (b'{"count":3}', 30), (b"[]", 31), (b"{}", 32)):
        assert b'"head_block_number":%d,' % number in site.answer(body % params)


def test_mine_goes_with_the_clock_and_runs_ahead_of_it(site: Site) -> None:
    site.now += 60
    assert site.call("dev_api.mine")["head_block_time"] == time_text(site.now)
    head = site.call("dev_api.mine", count=10)
    assert head["head_block_time"] == head["time"] == time_text(site.now + 30)
    assert site.call("dev_api.get_info")["seconds_ahead"] == 30
    site.now += 30
    assert site.call("dev_api.mine")["head_block_time"] == time_text(site.now + 30)


def test_mine_refuses_too_many(site: Site) -> None:
    _, message = site.refused("dev_api.mine", count=1_000_001)
    assert message.endswith("No more than 1000000 blocks can be generated at once")


def test_what_waits_is_not_lost_to_a_pause(site: Site) -> None:
    site.chain.push_transaction(site.transaction(GIVEN, signers=(ALICE,)))
    site.now += 3600
    assert site.call("dev_api.mine")["head_block_time"] == time_text(1_800_000_060)
    head = site.chain.head
    assert head is not None
    assert len(head.transactions) == 1
    assert site.call("dev_api.mine")["head_block_time"] == time_text(site.now)


def test_a_leap_over_missed_slots(site: Site) -> None:
    head = site.call("dev_api.advance_time", seconds=40 * 86_400)
    assert head["head_block_number"] == 26
    assert head["head_block_time"] == head["time"] == time_text(site.now + 40 * 86_400)
    assert site.state.props.participation_count == 0
    assert site.call("dev_api.mine")["head_block_number"] == 27


def test_a_leap_that_produces(site: Site) -> None:
    head = site.call("dev_api.advance_time", seconds=301, leap="produced")
    assert (head["head_block_number"], head["head_block_time"], head["time"]) == (125, time_text(site.now + 300), time_text(site.now + 301))
    assert site.call("dev_api.advance_time", seconds=0, leap="produced")["head_block_number"] == 126


def test_a_leap_puts_what_waits_into_a_block_first(site: Site) -> None:
    site.chain.push_transaction(site.transaction(GIVEN, signers=(ALICE,)))
    assert site.call("dev_api.advance_time", seconds=86_400)["head_block_number"] == 27
    first = site.chain.block_by_number(26)
    assert first is not None
    assert (len(first.transactions), first.timestamp) == (1, site.now + 3)


@pytest.mark.parametrize(
    ("leap", "seconds", "text"),
    [
        ("x", 1, "x is no leap; expected missed or produced"),
        ("produced", 6_100_000, "at most 2000000 are made at once"),
        ("", 2**32 - 1, "is beyond"),
    ],
)
def test_leaps_that_are_refused(site: Site, leap: str, seconds: int, text: str) -> None:
    head = site.state.props.head_block_id
    assert text in site.refused("dev_api.advance_time", seconds=seconds, leap=leap)[1]
    assert site.state.props.head_block_id == head
    assert site.driver.time == site.now


def test_the_time_of_the_next_block(site: Site) -> None:
    assert site.call("dev_api.set_next_block_time", time=time_text(site.now + 100)) == {"next_block_time": time_text(site.now + 102)}
    assert site.call("dev_api.mine", count=2)["head_block_time"] == time_text(site.now + 105)
    _, message = site.refused("dev_api.set_next_block_time", time=time_text(site.now + 105))
    assert message.endswith(f"time {time_text(site.now + 105)} is before the next slot, {time_text(site.now + 108)}")


def test_block_modes(site: Site) -> None:
    for mode in ("manual", "instant", "mixed:0.5", "interval:2", "interval"):
        assert site.call("dev_api.set_block_mode", mode=mode) == {"block_mode": mode}
    same_as_golden(site.refused("dev_api.set_block_mode", mode="x")[1])
    assert site.call("dev_api.get_info")["block_mode"] == "interval"


def test_revert_brings_everything_back(site: Site) -> None:
    site.chain.push_transaction(site.transaction(GIVEN, signers=(ALICE,)))
    site.call("dev_api.impersonate", accounts=["carol"])
    before = site.call("dev_api.get_info")
    assert site.call("dev_api.snapshot") == {"id": 1}
    for _ in range(2):
        site.call("dev_api.set_block_mode", mode="manual")
        site.call("dev_api.advance_time", seconds=86_400)
        site.call("dev_api.mine", count=50)
        site.call("dev_api.set_balance", account="alice", balance="1.000 COIN")
        site.call("dev_api.impersonate", everyone=True)
        site.call("dev_api.set_next_block_time", time=time_text(site.now + 200_000))
        later = site.call("dev_api.snapshot")["id"]
        site.call("dev_api.revert", id=1)
        assert site.call("dev_api.get_info") == before | {"snapshots": [1]}
        assert site.state.account("alice").balance == 100_000_000 - 1
        same_as_golden(site.refused("dev_api.revert", id=later)[1])
    assert site.call("dev_api.mine")["head_block_time"] == time_text(site.now + 3)


def test_no_more_snapshots_than_there_may_be(site: Site) -> None:
    for number in range(256):
        assert site.call("dev_api.snapshot") == {"id": number + 1}
    same_as_golden(site.refused("dev_api.snapshot")[1])
    site.call("dev_api.revert", id=255)
    assert site.call("dev_api.snapshot") == {"id": 257}


def test_popping(site: Site) -> None:
    site.chain.push_transaction(site.transaction(GIVEN, signers=(ALICE,)))
    site.call("dev_api.mine")
    assert site.call("dev_api.pop_blocks")["head_block_number"] == 25
    same_as_golden(site.refused("dev_api.pop_blocks", count=100)[1])
    assert site.call("dev_api.mine")["head_block_number"] == 26
    assert site.call("dev_api.drop_pending") == {"dropped": 1}
    assert site.call("dev_api.drop_pending") == {"dropped": 0}


def test_edits(site: Site) -> None:
    assert site.call("dev_api.set_balance", account="alice", balance="5.000 COIN") == {}
    assert site.call("dev_api.set_balance", account="alice", balance={"amount": "6000", "precision": 3, "nai": "@@000000013"}) == {}
    assert site.call("dev_api.set_vests", account="alice", vests="7.000000 VESTS") == {}
    row = site.state.account("alice")
    assert (row.balance, row.sbd_balance, row.vesting_shares) == (5000, 6000, 7_000_000)
    authority = {"weight_threshold": 2, "account_auths": [["bob", 1]], "key_auths": [[KEY, 1]]}
    assert site.call("dev_api.set_authority", account="alice", role="active", authority=authority) == {}
    assert site.call("dev_api.set_authority", account="alice", role="posting", authority=KEY) == {}
    assert site.call("dev_api.set_authority", account="alice", role="memo", authority=KEY) == {}
    assert site.state.authority("alice").active.weight_threshold == 2
    assert public_key_text(site.state.account("alice").memo_key, "TST") == KEY


def test_the_faucet(site: Site) -> None:
    assert site.call("dev_api.faucet", account="bob") == {
        "account": "bob",
        "balance": "101000.000 COIN",
        "sbd_balance": "1000.000 SBD",
        "vesting_shares": "100000.000000 VESTS",
    }
    assert site.call("dev_api.faucet", account="bob", amount="0.001 SBD")["sbd_balance"] == "1000.001 SBD"
    assert site.call("dev_api.faucet", account="bob", amount="1.000000 VESTS")["vesting_shares"] == "100001.000000 VESTS"


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
            "x is no role; expected one of owner, active, posting",
        ),
        ("set_authority", {"account": "alice", "role": "active", "authority": "STM1"}, "prefix"),
        ("set_authority", {"account": "alice", "role": "memo", "authority": {}}, "expected a public key for the role memo"),
        ("faucet", {"account": "nobody"}, "there is no account nobody"),
        ("faucet", {"account": "bob", "amount": "x"}, ""),
        ("impersonate", {"accounts": ["nobody"]}, "there is no account nobody"),
    ],
)
def test_edits_that_are_refused(site: Site, method: str, params: dict[str, object], text: str) -> None:
    before = site.call("dev_api.get_info")
    assert text in site.refused(f"dev_api.{method}", **params)[1]
    assert site.call("dev_api.get_info") == before


def test_impersonation(site: Site) -> None:
    assert site.call("dev_api.impersonate", accounts=["bob", "alice"]) == {"accounts": ["alice", "bob"], "everyone": False}
    site.chain.push_transaction(site.transaction(GIVEN))
    assert site.call("dev_api.impersonate") == {"accounts": [], "everyone": False}
    site.call("dev_api.mine")
    assert site.state.account("alice").balance == 100_000_000 - 1


def test_it_is_for_chains_made_for_tests_only() -> None:
    site = Site("steem-mainnet", plugins=())
    answer = site.answer(b'{"jsonrpc":"2.0","id":1,"method":"dev_api.mine"}')
    assert b"Could not find API dev_api" in answer
    assert b"made for tests" in answer
    assert b"dev_api" not in site.answer(b'{"jsonrpc":"2.0","id":1,"method":"jsonrpc.get_methods"}')


def test_it_is_for_programs_on_the_same_machine_only(site: Site) -> None:
    assert b"Could not find API dev_api" in site.answer(b'{"jsonrpc":"2.0","id":1,"method":"dev_api.mine"}', local=False)


def test_two_chains_are_compared_by_the_digest(site: Site) -> None:
    before = site.call("dev_api.get_state_digest")
    moment = site.call("dev_api.snapshot")["id"]
    site.call("dev_api.faucet", account="bob")
    other = site.call("dev_api.get_state_digest")
    assert (other["head_block_id"], other["pending"]) == (before["head_block_id"], 0)
    assert other["digest"] != before["digest"]
    site.call("dev_api.revert", id=moment)
    assert site.call("dev_api.get_state_digest") == before


def test_a_dump_and_back(site: Site, tmp_path: Path) -> None:
    site.chain.push_transaction(site.transaction(GIVEN, signers=(ALICE,)))
    site.call("dev_api.mine", count=30)
    site.call("dev_api.faucet", account="bob")
    site.chain.push_transaction(site.transaction(GIVEN, signers=(ALICE,)))
    site.call("dev_api.impersonate", accounts=["carol"])
    before = site.call("dev_api.get_info")
    told = site.call("dev_api.dump", path=str(tmp_path / "one"))
    data = (tmp_path / "one").read_bytes()
    assert (told["path"], told["size"], told["head_block_number"]) == (str(tmp_path / "one"), len(data), 55)
    other = Site("dev")
    other.now = site.now
    for each in (site, other):
        each.call("dev_api.mine", count=3)
        each.call("dev_api.impersonate")
        each.call("dev_api.load", path=str(tmp_path / "one"))
        assert each.call("dev_api.get_info") == before
        each.call("dev_api.dump", path=str(tmp_path / "two"))
        assert (tmp_path / "two").read_bytes() == data
    other.call("dev_api.mine")
    assert other.state.account("alice").balance == 100_000_000 - 2


def test_what_is_no_dump_changes_nothing(site: Site, tmp_path: Path) -> None:
    site.call("dev_api.snapshot")
    before = site.call("dev_api.get_info")
    (tmp_path / "damaged").write_bytes(b"x" * 1000)
    for path in ("/nowhere/at/all", str(tmp_path / "damaged"), str(tmp_path)):
        assert path in site.refused("dev_api.load", path=path)[1]
    same_as_golden(site.refused("dev_api.dump", path="/nowhere/at/all")[1])
    assert site.call("dev_api.get_info") == before


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
def test_a_dump_that_drives_its_chain_impossibly_changes_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: dict[str, object]
) -> None:
    path = str(tmp_path / "hostile")

    def damaged(chain: Chain, path: Path, disk: Disk, extra: bytes) -> int:
        return dump(chain, path, disk, msgspec.json.encode(msgspec.json.decode(extra) | damage))

    monkeypatch.setattr("node.driving.driver.dump", damaged)
    site.call("dev_api.dump", path=path)
    site.call("dev_api.mine")
    before = site.call("dev_api.get_info")
    same_as_golden(site.refused("dev_api.load", path=path)[1])
    assert site.call("dev_api.get_info") == before


@pytest.mark.parametrize("path", ["", ".", "/", "a\0b"])
def test_a_path_that_names_no_file_is_refused(site: Site, path: str) -> None:
    same_as_golden(site.refused("dev_api.dump", path=path)[1])
    site.refused("dev_api.load", path=path)


def test_a_dump_replaces_nothing_but_dumps(site: Site, tmp_path: Path) -> None:
    site.call("dev_api.dump", path=str(tmp_path / "dump"))
    (tmp_path / "letter").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "letter")
    (tmp_path / "other.new").write_text("precious")
    os.mkfifo(tmp_path / "pipe")
    before = {path.name: path.lstat() for path in tmp_path.iterdir()}
    for name in ("letter", "link", "other", "pipe"):
        assert str(tmp_path / name) in site.refused("dev_api.dump", path=str(tmp_path / name))[1]
    assert {name: (tmp_path / name).lstat().st_mtime_ns for name in before} == {name: each.st_mtime_ns for name, each in before.items()}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(before)
    site.call("dev_api.dump", path=str(tmp_path / "dump"))
    # What a dump that was cut short has left.
    (tmp_path / "dump.new").write_bytes(b"")
    site.call("dev_api.dump", path=str(tmp_path / "dump"))


def test_an_impersonated_account_that_is_undone(site: Site, tmp_path: Path) -> None:
    """Returning to a moment at which an account was impersonated that wasn't there."""
    site.call("dev_api.impersonate", everyone=True)
    creation = {"fee": "0.000 COIN", "creator": "alice", "new_account_name": "newcomer"}
    nobody = {"weight_threshold": 1, "account_auths": [], "key_auths": []}
    keys = {"owner": nobody, "active": nobody, "posting": nobody, "memo_key": site.call("dev_api.list_keys")[0]["keys"]["memo"]["public"]}
    creation |= keys | {"json_metadata": ""}
    site.call("dev_api.broadcast_operations", operations=[["account_create", creation]])
    site.call("dev_api.mine")
    site.call("dev_api.impersonate", accounts=["newcomer"])
    site.call("dev_api.pop_blocks")
    site.call("dev_api.drop_pending")
    moment = site.call("dev_api.snapshot")["id"]
    before = site.call("dev_api.get_info")
    site.call("dev_api.dump", path=str(tmp_path / "dump"))
    site.call("dev_api.mine")
    site.call("dev_api.revert", id=moment)
    assert site.call("dev_api.get_info") == before
    site.call("dev_api.load", path=str(tmp_path / "dump"))
    assert site.call("dev_api.get_info") == before
