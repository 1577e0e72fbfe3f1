"""The output of a started node: banner lines that work when copied, keys that are not wrapped on a narrow terminal, and the ready file."""

import io
import json
import os
import re
import types
from pathlib import Path
from typing import Any

import msgspec
import pytest

import node.app.banner
from node.app.banner import SHOWN_MAX, WIDTH_MAX, Announcer, duration
from node.app.local_chain import LocalChain
from node.runtime.errors import NodeError
from node.specs.builder import load_spec, spec_names
from state.protocol.keys.keys import derive_secret, wif_from_secret
from state.protocol.spec import ChainSpec
from tests.conftest import ROOT
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import DEV

ADDRESS = "http://127.0.0.1:8090"


class Screen(io.StringIO):
    """An output that claims to be a terminal, so that the banner is formatted for people."""

    def isatty(self) -> bool:
        return True


def banner(spec: ChainSpec = DEV, out: io.StringIO | None = None, **options: Any) -> str:
    """Return the banner as printed on a terminal, without colours."""
    out = out or Screen()
    Announcer(**options).announce(spec, [ADDRESS], "interval", out)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())


def part(text: str, title: str) -> str:
    """Return the lines of the banner below a title."""
    return text.partition(f"\n{title}\n")[2].partition("\n\n")[0]


def test_no_line_is_wider_than_a_terminal() -> None:
    for name in spec_names():
        for shows_keys in (False, True):
            assert max(map(len, banner(load_spec(name), shows_keys=shows_keys).splitlines())) <= WIDTH_MAX, name


def test_the_line_for_curl_is_a_call() -> None:
    found = re.fullmatch(r"curl (\S+) -d '(\{.*\})'", part(banner(), "curl"))
    assert found
    assert "http://" + found[1] == ADDRESS
    assert json.loads(found[2])["method"] == "jsonrpc.get_methods"


def test_the_lines_for_beem_are_those_of_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    documented = (ROOT / "docs/clients.md").read_text().partition("DEV = ")[2].partition("\non_dev")[0]
    given: dict[str, Any] = {}
    beem = types.ModuleType("beem")
    beem.Steem = lambda **options: given.update(options)  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "beem", beem)
    exec(part(banner(), "beem"), {})
    assert given["node"] == ADDRESS
    assert given["custom_chains"] == {"COIN": eval(documented)}
    assert given["keys"] == [wif_from_secret(derive_secret("alice", "active", "dev"))]


def test_the_lines_for_dsteem_name_the_chain_and_what_it_refuses() -> None:
    lines = part(banner(), "dsteem")
    assert f'new dsteem.Client("{ADDRESS}", {{' in lines
    assert f'chainId: "{DEV.chain_id.hex()}"' in lines
    assert 'addressPrefix: "TST"' in lines
    assert "refuses amounts in COIN" in lines
    assert "refuses" not in part(banner(load_spec("steem-testnet")), "dsteem")


def test_all_keys_of_funded_accounts_are_shown_on_request() -> None:
    for role in ("owner", "active", "posting", "memo"):
        key = wif_from_secret(derive_secret("judy", role, "dev"))
        assert (key in banner()) == (role == "active")
        assert re.search(rf"^  judy +{role} +{key}$", banner(shows_keys=True), re.MULTILINE)
        assert f"key judy {role}: {key}\n" in banner(out=io.StringIO(), shows_keys=True)


def test_of_many_accounts_only_some_are_shown() -> None:
    first = DEV.genesis.accounts[0]
    accounts = tuple(msgspec.structs.replace(first, name=f"user{i}", coin=i) for i in range(25))
    spec = msgspec.structs.replace(DEV, genesis=msgspec.structs.replace(DEV.genesis, accounts=accounts))
    text = banner(spec)
    assert "user9 " in text
    assert "user10" not in text
    assert "and 15 more; --show-keys" in text
    assert "user24" in banner(spec, shows_keys=True)
    # The output of a system service goes to its journal.
    lines = banner(spec, io.StringIO()).splitlines()
    assert sum("active key" in line for line in lines) == SHOWN_MAX
    assert any("15 more" in line for line in lines)
    assert "account user24" in banner(spec, io.StringIO(), shows_keys=True)


def test_modes_in_words() -> None:
    said = {}
    for mode in ("interval", "interval:0.5", "instant", "manual", "mixed:5", ""):
        out = io.StringIO()
        Announcer().announce(DEV, [ADDRESS], mode, out)
        said[mode] = re.findall("^blocks: (.*)$", out.getvalue(), re.MULTILINE)[0]
    assert said == {
        "interval": "produced every 3 s",
        "interval:0.5": "produced every 0.5 s",
        "instant": "produced immediately, one per transaction",
        "manual": "produced on request: coind dev mine",
        "mixed:5": "produced immediately for each transaction, and every 5 s",
        "": "none produced",
    }


def test_quiet_prints_nothing() -> None:
    assert banner(is_quiet=True) == ""


# ------------------------------------------------------------------ the file


def test_the_file_is_there_as_long_as_the_node(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    path.write_text('{"pid": 1}')  # left by a killed node
    announcer = Announcer(ready_file=path, is_quiet=True)
    with announcer:
        assert not path.exists()
        announcer.announce(DEV, [ADDRESS], "interval")
        said = json.loads(path.read_text())
        assert said == {"address": ADDRESS, "chain": "dev", "chain_id": DEV.chain_id.hex(), "pid": os.getpid()}
        assert list(tmp_path.iterdir()) == [path]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ['{"pid": 1}', "{}", "[]", "x", "5"])
def test_the_file_of_another_node_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ready.json"
    with Announcer(ready_file=path):
        path.write_text(text)
    assert path.read_text() == text


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    announcer = Announcer(ready_file=tmp_path / "nothing" / "ready.json", is_quiet=True)
    with announcer, fails(NodeError):
        announcer.announce(DEV, [ADDRESS], "interval")
    with fails(NodeError), Announcer(ready_file=tmp_path):
        pass


def test_a_file_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    """A path given by mistake must not destroy another program's file, a link or a pipe."""
    (tmp_path / "letter").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "letter")
    os.mkfifo(tmp_path / "pipe")
    for name in ("letter", "link", "pipe"):
        with fails(NodeError), Announcer(ready_file=tmp_path / name):
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letter", "link", "pipe"]
    assert (tmp_path / "letter").read_text() == "precious"
    with fails(NodeError), Announcer(ready_file=tmp_path / "a\0b"):
        pass


@pytest.mark.parametrize("chain", ["steem-testnet", "testnet"])
def test_a_chain_without_accounts_shows_the_witness_who_holds_everything(chain: str) -> None:
    local = LocalChain(chain)
    (account,) = local.call("condenser_api.get_accounts", [["initminer"]])
    key, spec = local.spec.witness_keys[0], local.spec
    lines = part(banner(spec), "Accounts and their private keys").splitlines()
    assert lines == [
        f"  initminer holds {account['balance']}, {account['sbd_balance']}, 0.000 {spec.coin_symbol} in VESTS.",
        f"  initminer        active   {key}",
    ]
    assert f'keys=["{key}"])' in part(banner(spec), "beem")
    assert f"account initminer: {account['balance']}, {account['sbd_balance']}, " in banner(spec, io.StringIO())
    # Clients can use the printed key: the node itself signs with the same key.
    assert [known["name"] for known in local.call("dev_api.list_keys")] == ["initminer"]
    local.broadcast("transfer", {"from": "initminer", "to": "null", "amount": f"1.000 {spec.coin_symbol}", "memo": ""})
    assert local.accounts["initminer"].active.private == key


def test_a_witness_whose_key_is_not_known_is_not_shown() -> None:
    assert "account " not in banner(load_spec("steem-mainnet"), io.StringIO())
    assert "initminer" not in banner()


# ------------------------------------------------------------------ the end


def goodbye(data: Path | None = None, *, new: int = 1209, seconds: float = 3725, out: io.StringIO | None = None, **options: Any) -> str:
    """Return the summary that a node prints at exit."""
    out = out or Screen()
    Announcer(command="bin/coind run --data 'a b'", **options).goodbye(1234, new, seconds, data, out)
    return out.getvalue()


def test_at_the_end_a_line_says_what_was_and_how_to_go_on() -> None:
    same_as_golden(goodbye())
    same_as_golden(goodbye(Path("a b"), new=0))


def test_it_is_said_to_people_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert goodbye(is_quiet=True) == ""
    assert goodbye(out=io.StringIO()) == ""
    monkeypatch.setattr(node.app.banner, "is_json_lines", lambda: True)
    assert goodbye() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (86_399, "23 h 59 min"), (200_000, "2 d 7 h")],
)
def test_a_time_is_told_in_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_terminal_is_not_commanded_by_the_name_of_a_folder() -> None:
    assert goodbye(Path("a\x1b[2J\nb")).count("\n") == 1
    assert "\x1b" not in goodbye(Path("a\x1b[2J\nb"))
