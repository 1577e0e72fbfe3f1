"""`coind tx` and `coind show` against a real node, from arguments to terminal output."""

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from state.protocol.keys.keys import derive_secret, public_key, public_key_text, wif_from_secret
from tests.conftest import ROOT
from tests.end_to_end.test_command import Running, environment, forked, node
from tests.helpers.commands import CommandResult, coind
from tests.helpers.golden import same_as_golden

Command = Callable[..., CommandResult]
PUBLIC = {role: public_key_text(public_key(derive_secret("erin", role, "dev")), "TST") for role in ("owner", "active", "posting", "memo")}


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A running node that produces blocks, shared by the tests of this module."""
    with node("--produce") as started:
        yield started


@pytest.fixture
def run(running: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """A function that runs the command line against the node."""
    monkeypatch.setenv("COIND_URL", running.url)
    return lambda *words: coind(capsys, *words)


def good(done: CommandResult) -> CommandResult:
    assert (done.status, done.err) == (0, ""), done
    return done


# ------------------------------------------------------------------ tx


def test_transfer_waits_for_its_block(run: Command, running: Running) -> None:
    told = json.loads(good(run("tx", "transfer", "alice", "bob", "1 COIN", "--memo", "thanks", "--wait", "--json")).out)
    block = running.call("condenser_api.get_block", [told["block_num"]])["result"]
    assert block["transaction_ids"][told["trx_num"]] == told["id"]
    shown = good(run("show", "tx", told["id"]))
    assert shown.pairs["amount"] == "1.000 COIN"
    assert shown.pairs["memo"] == "thanks"
    assert shown.pairs["block"] == f"{told['block_num']}, transaction {told['trx_num']} of it"


def test_immediate_block_is_printed(run: Command, running: Running) -> None:
    running.call("dev_api.set_block_mode", ["instant"])
    try:
        told = good(run("tx", "transfer", "alice", "bob", "1 COIN"))
        block = running.call("dev_api.get_info", [])["result"]["head_block_number"]
        assert told.pairs["block"] == f"{block}, transaction 0 of it"
        assert "state" not in told.pairs
    finally:
        running.call("dev_api.set_block_mode", ["interval"])


def test_unknown_account_needs_no_key(run: Command) -> None:
    same_as_golden(run("tx", "vote", "nobodyy", "b", "c", "1").err)


def test_unquoted_words_are_reported(run: Command) -> None:
    done = run("tx", "transfer", "alice", "bob", "1.000", "COIN")
    assert done.status == 2
    assert "'COIN'" in done.err
    assert "in quotes" in done.err


def test_the_same_command_can_be_given_twice(run: Command) -> None:
    first, second = (good(run("tx", "transfer", "alice", "bob", "0.001 COIN")).pairs for _ in range(2))
    assert first["accepted"] == "transfer"
    assert first["id"] != second["id"]


def test_roles_are_chosen_from_the_operation(run: Command) -> None:
    for words, role in (
        (("vote", "alice", "bob", "x", "50%"), "posting"),
        (("transfer", "alice", "bob", "1 COIN"), "active"),
        (("change-recovery-account", "alice", "bob"), "owner"),
    ):
        found = json.loads(run("tx", *words, "--dry-run", "--json").out)
        assert [signer["belongs_to"] for signer in found["signers"]] == [f"alice ({role})"]
        assert found["missing"] == ""


def test_dry_run_prints_but_does_not_send(run: Command, running: Running) -> None:
    before = running.call("condenser_api.get_accounts", [["carol"]])["result"]
    shown = good(run("tx", "transfer", "carol", "bob", "1 COIN", "--dry-run"))
    pairs = shown.pairs
    assert pairs["chain"].startswith("dev bd145557")
    assert len(pairs["id"]) == 40
    assert len(pairs["digest"]) == 64
    assert pairs["size"] == f"{len(pairs['bytes']) // 2} bytes"
    assert any(line.endswith("carol (active)") for line in shown.lines)
    assert running.call("condenser_api.get_accounts", [["carol"]])["result"] == before
    refused = run("tx", "transfer", "carol", "bob", "0 COIN", "--dry-run")
    same_as_golden(refused.err)


def test_signed_transaction_can_be_sent_later(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = good(run("tx", "transfer", "alice", "bob", "1 COIN", "--sign-only")).out
    assert len(json.loads(signed)["signatures"]) == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO(signed))
    assert good(run("tx", "send", "-")).pairs["accepted"] == "transfer"
    again = tmp_path / "again.json"
    again.write_text(signed)
    refused = run("tx", "send", str(again))
    assert refused.status == 1
    assert "Duplicate transaction check failed" in refused.err


def test_several_operations_in_one_transaction(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "operations.json"
    body = {"from": "alice", "to": "bob", "amount": "0.002 COIN", "memo": ""}
    other = {"from": "bob", "to": "carol", "amount": {"amount": "3", "precision": 3, "nai": "@@000000021"}, "memo": ""}
    file.write_text(json.dumps([["transfer", body], {"type": "transfer_operation", "value": other}]))
    assert good(run("tx", "send", str(file))).pairs["accepted"] == "transfer, transfer"


@pytest.mark.parametrize(
    "given",
    [
        "{",
        "[]",
        '["transfers", {}]',
        '["transfer", {"form": "alice"}]',
        '["transfer", {"amount": 5}]',
        '["transfer", []]',
        "[7]",
        '{"operations": [["vote", {}]], "signatures": [7, {}]}',
        '[["vote", {"voter": "alice"}], ["transfer", {"from": "alice"}]]',
    ],
)
def test_wrong_file_is_reported(run: Command, tmp_path: Path, given: str) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(given)
    done = run("tx", "send", str(file))
    assert done.status == 1
    same_as_golden(done.err)


def test_token_operations_use_appbase_json(run: Command) -> None:
    done = run("tx", "smt-create", "alice", "@@100000006.3", "1.000 COIN")
    assert done.status == 1
    same_as_golden(done.err)


def test_accounts_with_other_keys(run: Command, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {role: derive_secret("walter", role, "secret") for role in ("owner", "active", "posting", "memo")}
    keys = {role: public_key_text(public_key(secret), "TST") for role, secret in secrets.items()}
    good(run("tx", "account-create", "0 COIN", "alice", "walter", *keys.values()))
    good(run("tx", "transfer", "alice", "walter", "5 COIN"))
    good(run("tx", "delegate-vesting-shares", "alice", "walter", "100 VESTS"))
    refused = run("tx", "transfer", "walter", "bob", "1 COIN")
    assert refused.status == 1
    same_as_golden(refused.err)
    assert good(run("tx", "transfer", "walter", "bob", "1 COIN", "--key", wif_from_secret(secrets["active"]))).pairs["accepted"]
    monkeypatch.setenv("COIND_KEY", " ".join(wif_from_secret(secrets[role]) for role in ("posting", "active")))
    assert good(run("tx", "transfer", "walter", "bob", "2 COIN")).pairs["accepted"]
    monkeypatch.delenv("COIND_KEY")
    # The command also signs with an insufficient key, since the node explains the error best.
    wrong = run("tx", "transfer", "walter", "bob", "1 COIN", "--key", wif_from_secret(secrets["posting"]))
    assert wrong.status == 1
    assert "refuses condenser_api.broadcast_transaction: missing required active authority" in wrong.err
    # The same holds if a known key would be sufficient: `--key` takes precedence. A key in the variable is only an additional one.
    posting = wif_from_secret(secrets["posting"])
    other = run("tx", "transfer", "alice", "bob", "1 COIN", "--key", posting)
    assert other.status == 1
    same_as_golden(other.err)
    monkeypatch.setenv("COIND_KEY", posting)
    assert good(run("tx", "transfer", "alice", "bob", "1 COIN")).pairs["accepted"]
    monkeypatch.delenv("COIND_KEY")
    for key in ("5abc", wif_from_secret(secrets["active"])[:-1]):
        bad = run("tx", "transfer", "walter", "bob", "1 COIN", "--key", key)
        same_as_golden(bad.err)
        assert key not in bad.err + bad.out


def test_a_missing_key_is_asked_for_on_a_terminal(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = derive_secret("xavier", "active", "secret")
    key = public_key_text(public_key(secret), "TST")
    good(run("tx", "account-create", "0 COIN", "alice", "xavier", key, key, key, key))
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return wif_from_secret(secret)

    monkeypatch.setattr("getpass.getpass", answer)
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True, raising=False)
    told = run("tx", "vote", "xavier", "bob", "nothing", "1")
    same_as_golden(asked[0])
    assert "unknown key" in told.err


def test_minimal_signatures(run: Command) -> None:
    shared = {"weight_threshold": 2, "account_auths": [["bob", 1], ["carol", 1], ["dave", 1]], "key_auths": []}
    good(run("tx", "account-update", "frank", "--active", json.dumps(shared)))
    found = json.loads(run("tx", "transfer", "frank", "bob", "1 COIN", "--dry-run", "--json").out)
    assert sorted(signer["belongs_to"] for signer in found["signers"]) == ["bob (active)", "carol (active)"]
    good(run("tx", "transfer", "frank", "bob", "1 COIN"))


def test_key_of_first_witness_is_known(run: Command) -> None:
    assert good(run("tx", "feed-publish", "initminer", "0.3 SBD/1 COIN")).pairs["accepted"] == "feed_publish"
    key = public_key_text(public_key(derive_secret("initminer", "x", "")), "TST")
    done = run("tx", "witness-set-properties", "initminer", json.dumps({"key": key, "url": "https://x"}), "--dry-run")
    same_as_golden(done.err)
    for props in ('{"url": "https://x"}', "[]"):
        assert "PROPS" in run("tx", "witness-set-properties", "initminer", props, "--dry-run").err


def test_mistakes_are_refused_before_sending(run: Command) -> None:
    for words, said in (
        (("transfer", "alice", "bob", "5"), "AMOUNT '5': expected an amount"),
        (("transfer", "nobody-here", "bob", "5 COIN"), "there is no account nobody-here on this chain"),
        (("transfer", "alice", "bob", "5 COIN", "--expire", "4000"), "Must be <= 3600"),
        (("transfer", "alice", "bob", "5 COIN", "--dry-run", "--sign-only"), "Give one of them"),
        (("transfer", "alice", "bob"), "requires an argument"),
        (("transfers", "alice"), "Unknown command"),
        (("transfer", "alice", "bob", "5 COIN", "--unsigned"), "missing required active authority"),
    ):
        done = run("tx", *words)
        assert done.status in (1, 2), words
        assert said in done.err, done.err


# ------------------------------------------------------------------ show


@pytest.fixture(scope="module")
def lived(running: Running) -> Running:
    """The running node, whose chain has some data: a post with a vote and a reply, orders, and a proposal."""
    environ = environment() | {"COIND_URL": running.url}

    def tx(*words: str) -> None:
        ran = subprocess.run(forked("tx", *words), env=environ, cwd=ROOT, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr

    tx("comment", "blog", "erin", "hello", "First **post** [red]", "--title", "Hello", "--json-metadata", '{"tags":["blog"]}')
    tx("comment", "hello", "grace", "re-hello", "nice\x1b[31m", "--parent-author", "erin")
    tx("vote", "heidi", "erin", "hello", "100%")
    tx("limit-order-create", "ivan", "1", "12 COIN", "4.1 SBD")
    tx("limit-order-create", "judy", "7", "10 SBD", "45 COIN")
    tx("limit-order-create", "judy", "8", "1 SBD", "2 COIN")
    tx("account-witness-vote", "erin", "initminer")
    running.generate(2)
    return running


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (("chain",), ["symbols        COIN SBD VESTS", "key prefix     TST"]),
        (("account", "erin", "grace"), ["erin", f"active       1  {PUBLIC['active']}       1", "witnesses   initminer"]),
        (("accounts", "--count", "2", "--start", "erin"), ["name           balance           SBD", "erin  "]),
        (("key", PUBLIC["posting"]), ["erin"]),
        (("post", "erin/hello"), ["First **post** [red]", "grace/re-hello  "]),
        (("post", "@grace/re-hello"), ["nice\\x1b[31m", "reply to erin/hello"]),
        (("posts",), ["erin/hello  "]),
        (("posts", "--by", "blog", "--tag", "erin"), ["erin/hello  "]),
        (("market",), ["0.222222  45.000  10.000", "COIN / SBD"]),
        (("orders", "judy"), ["    7  10.000 SBD  45.000 COIN  0.222222  "]),
        (("orders", "alice"), ["no open orders"]),
        (("witnesses",), ["#  witness  ", "1  initminer  "]),
        (("witness", "initminer"), ["version      0.24.0"]),
        (("proposals",), ["no proposals"]),
        (("history", "judy"), ["2 "]),
        (("history", "judy", "--before", "1", "--count", "5"), ["no operations"]),
        (("block", "2"), ["block 2", "no transactions"]),
        (("block",), ["witness      initminer"]),
        (("blocks", "--count", "3"), ["block  time  "]),
    ],
)
def test_output_of_each_command(lived: Running, run: Command, words: tuple[str, ...], lines: list[str]) -> None:
    done = good(run("show", *words))
    for line in lines:
        assert any(shown.startswith(line) for shown in done.lines), (line, done.out)
    assert all(line.isprintable() for line in done.lines)
    found: Any = json.loads(good(run("show", *words, "--json")).out)
    assert isinstance(found, dict | list)


@pytest.mark.parametrize(
    "words",
    [
        ("account", "nix"),
        ("account",),
        ("block", "99999999"),
        ("block", "x"),
        ("tx", "12"),
        ("tx", "00" * 20),
        ("post", "erin"),
        ("post", "erin/nix"),
        ("posts", "--by", "blog"),
        ("witness", "alice"),
        ("history", "nix"),
        ("key", "TST1"),
    ],
)
def test_missing_objects_are_reported(run: Command, words: tuple[str, ...]) -> None:
    done = run("show", *words)
    assert done.status == 1
    same_as_golden(done.err)


def test_unreachable_node_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    done = coind(capsys, "show", "chain", "--url", "127.0.0.1:9")
    assert done.status == 1
    same_as_golden(done.err)


def test_start_does_not_import_the_wallet() -> None:
    program = (
        "import sys\n"
        "from node.cli.app import app\n"
        "app.parse_args(['run', '--chain', 'dev'])\n"
        "print([name for name in sys.modules if name.startswith(('node.cli.tx', 'node.cli.show', 'node.cli.dev',"
        " 'node.client.http'))])"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
