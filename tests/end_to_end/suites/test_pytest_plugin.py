"""The pytest plugin in a user's test suite whose packages are named `node`, `state` and `rpc`."""

import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from node.app.local_chain import LocalChain
from tests.conftest import ROOT
from tests.end_to_end.suites.project import OWN, Project
from tests.fork.sources import SourceNode

PLUGIN = ROOT / "bin" / "package"

TRANSFERS = """
import node, rpc, state, bin, tests

TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]

def balance(chain, name):
    return chain.call("condenser_api.get_accounts", [[name]])[0]["balance"]

def test_the_packages_are_mine():
    assert (node.MINE, state.MINE, rpc.MINE, bin.MINE) == ("node", "state", "rpc", "bin")

def test_one(coin_chain):
    assert balance(coin_chain, "bob") == "100000.000 COIN"
    assert coin_chain.broadcast(TRANSFER)["block_num"] == coin_chain.info()["head_block_number"]
    assert balance(coin_chain, "bob") == "100001.000 COIN"

def test_two_begins_as_one_did(coin_chain):
    assert balance(coin_chain, "bob") == "100000.000 COIN"
    coin_chain.broadcast(*TRANSFER)
    coin_chain.broadcast(TRANSFER, TRANSFER)
    assert balance(coin_chain, "bob") == "100003.000 COIN"

def test_pending_transactions_are_gone(coin_chain):
    assert balance(coin_chain, "bob") == "100000.000 COIN"
    coin_chain.set_block_mode("manual")
    assert coin_chain.broadcast(TRANSFER)["block_num"] is None

def test_block_mode_and_time_are_back(coin_chain):
    info = coin_chain.info()
    assert (info["block_mode"], info["pending"], info["seconds_ahead"]) == ("instant", 0, 0)
    coin_chain.advance(86400 * 40)
    assert coin_chain.info()["seconds_ahead"] > 86400 * 39

def test_time_is_back(coin_chain):
    assert coin_chain.info()["seconds_ahead"] == 0

def test_mine(coin_chain):
    before = coin_chain.info()["head_block_number"]
    assert coin_chain.mine(10)["head_block_number"] == before + 10
    assert coin_chain.pop_blocks(3)["head_block_number"] == before + 7

def test_moments_within_a_test(coin_chain):
    moment = coin_chain.snapshot()
    coin_chain.broadcast(TRANSFER)
    coin_chain.revert(moment)
    assert balance(coin_chain, "bob") == "100000.000 COIN"

def test_edits(coin_chain):
    coin_chain.set_balance("bob", "5.000 COIN")
    coin_chain.faucet("bob", "1.000 COIN")
    coin_chain.set_vests("bob", "7.000000 VESTS")
    assert balance(coin_chain, "bob") == "6.000 COIN"
    coin_chain.impersonate("carol")
    coin_chain.set_authority("carol", "active", coin_chain.accounts["bob"].active.public)
    coin_chain.set_block_mode("manual")
    coin_chain.set_next_block_time("2036-01-01T00:00:00")
    coin_chain.broadcast(TRANSFER)
    assert coin_chain.drop_pending() == 1
    unsigned = {"ref_block_num": 0, "ref_block_prefix": 0, "expiration": "2036-01-01T00:01:00", "operations": [TRANSFER], "signatures": []}
    assert coin_chain.explain(unsigned)["rule"] == "missing_active_authority"

def test_the_keys_fit(coin_chain, coin_node):
    alice = coin_chain.accounts["alice"]
    assert alice.active.private.startswith("5")
    assert coin_chain.call("condenser_api.get_accounts", [["alice"]])[0]["memo_key"] == alice.memo.public
    assert coin_node.call("account_by_key_api.get_key_references", {"keys": [alice.posting.public]}) == {"accounts": [["alice"]]}
    assert coin_chain.url == coin_node.url

def test_a_reset_within_a_test(coin_chain):
    coin_chain.broadcast(TRANSFER)
    coin_chain.reset()

def test_after_the_reset(coin_chain):
    assert balance(coin_chain, "bob") == "100000.000 COIN"
"""


def outcomes(text: str) -> dict[str, int]:
    """Return the number of passed, failed, ... tests in pytest's last line."""
    line = text.strip().splitlines()[-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", line)}


def passed(ran: "subprocess.CompletedProcess[str]", count: int) -> bool:
    """Whether exactly `count` tests passed and none failed. Otherwise the output becomes the assertion message."""
    assert (ran.returncode, outcomes(ran.stdout)) == (0, {"passed": count}), ran.stdout + ran.stderr
    return True


def test_each_test_has_a_new_chain(project: Project) -> None:
    project.write(TRANSFERS)
    assert passed(project.run(), 12)


FORKED = """
def test_one(coin_chain):
    assert coin_chain.call("explorer_api.get_fork")["accounts"] == ["alice"]
    assert coin_chain.call("condenser_api.get_accounts", [["alice"]])[0]["name"] == "alice"
    coin_chain.broadcast("transfer", {"from": "alice", "to": "null", "amount": "1.000 COIN", "memo": ""})
    coin_chain.advance(86400 * 7)

def test_two_begins_at_the_fork_block(coin_chain):
    assert coin_chain.info()["head_block_number"] == coin_chain.call("explorer_api.get_fork")["block_num"] + 1
"""


def test_the_chain_can_begin_with_a_fork_file(project: Project) -> None:
    (project.folder / "files").mkdir()
    with SourceNode(LocalChain(), "coind").listening() as url:
        subprocess.run([project.command, "fork", url, "--accounts", "alice", "--to", project.folder / "files" / "f"], check=True)
    project.write(FORKED)
    project.settings("coin_fork = files/f")
    assert passed(project.run(), 2)
    project.settings("")
    assert passed(project.run("--coind-fork", "files/f"), 2)


def test_each_worker_has_a_node(project: Project) -> None:
    """Each xdist worker starts a separate node; the tests write their node's address to a file."""
    project.write(TRANSFERS)
    text = "import pytest\n\n@pytest.mark.parametrize('n', range(8))\ndef test_where(coin_chain, request, n, worker_id):\n"
    project.write(text + "    (request.config.rootpath / f'{worker_id}-{coin_chain.url[-5:]}').touch()\n    coin_chain.mine()\n")
    assert passed(project.run("-n", "2", plugins=("coind.pytest_plugin", "xdist")), 8)
    found = sorted(path.name for path in project.folder.glob("gw*"))
    assert [name[:3] for name in found] == ["gw0", "gw1"]
    assert len({name[4:] for name in found}) == 2


def test_changes_of_a_wider_fixture_persist(project: Project) -> None:
    project.write("""
import pytest
TRANSFER = ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]

@pytest.fixture(scope="module")
def rich(coin_node):
    coin_node.chain.broadcast(TRANSFER)

def balance(chain):
    return chain.call("condenser_api.get_accounts", [["bob"]])[0]["balance"]

def test_before(coin_chain):
    assert balance(coin_chain) == "100000.000 COIN"

@pytest.mark.parametrize("n", range(3))
def test_with(rich, coin_chain, n):
    assert balance(coin_chain) == "100001.000 COIN"
    coin_chain.broadcast(TRANSFER)

def test_few_snapshots_are_enough(coin_chain):
    assert coin_chain.info()["snapshots"] == [1, 2]
""")
    assert passed(project.run(), 5)


# ------------------------------------------------------------------ refusals

REFUSALS = """
import urllib.request, json
MUCH = ["transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""}]

def test_expected(coin_chain):
    with coin_chain.refused("insufficient_funds") as refusal:
        coin_chain.broadcast(MUCH)
    assert "sufficient funds" in refusal.message
    assert refusal.rule == "insufficient_funds"
    assert refusal.why and refusal.what_to_do and refusal.values

def test_any_rule(coin_chain):
    with coin_chain.refused() as refusal:
        coin_chain.broadcast(["transfer", {"from": "nobody", "to": "bob", "amount": "1.000 COIN", "memo": ""}])
    assert refusal.error.code == -32000

def test_another_client(coin_chain):
    for _ in range(2):
        with coin_chain.refused("missing_active_authority"):
            other_client(coin_chain)

def test_not_refused(coin_chain):
    with coin_chain.refused("insufficient_funds"):
        coin_chain.mine()

def test_another_rule(coin_chain):
    with coin_chain.refused("missing_active_authority"):
        coin_chain.broadcast(MUCH)

def test_unexpected(coin_chain):
    coin_chain.broadcast(MUCH)

def test_a_misspelt_method(coin_chain):
    coin_chain.call("condenser_api.get_acounts", [["alice"]])

def test_another_error(coin_chain):
    with coin_chain.refused():
        raise KeyError("mine")

def test_another_client_fails(coin_chain):
    other_client(coin_chain)

def other_client(chain):
    trx = {"ref_block_num": 0, "ref_block_prefix": 0, "expiration": "2036-01-01T00:00:00", "extensions": [], "signatures": [],
           "operations": [["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}]]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "condenser_api.broadcast_transaction", "params": [trx]}
    answer = json.load(urllib.request.urlopen(chain.url, json.dumps(body).encode()))
    if "error" in answer:
        raise OSError("refused by the node")
"""


def test_refusals_explain_themselves(project: Project) -> None:
    project.write(REFUSALS)
    ran = project.run()
    assert outcomes(ran.stdout) == {"passed": 3, "failed": 6}, ran.stdout
    for text in (
        "nothing was refused, although a refusal by insufficient_funds was expected",
        "refused by insufficient_funds, although a refusal by missing_active_authority was expected",
        "KeyError: 'mine'",
        "OSError: refused by the node",
    ):
        assert text in ran.stdout
    failures = ran.stdout.partition("= FAILURES =")[2].split("\n____")
    unexpected = next(text for text in failures if " test_unexpected " in text)
    assert re.search(r"Refused: .*sufficient funds.*\n.*rule: insufficient_funds\n.*why: .*\n.*what to do: ", unexpected)
    # The report ends at the line of the test and gives the reason once.
    assert "pytest_plugin/node.py" not in unexpected
    assert "dev_api.py" not in unexpected
    assert unexpected.count("why: ") == 1
    assert re.search(r"method: condenser_api.get_acounts; is it condenser_api.get_accounts\b", ran.stdout)
    other = next(text for text in failures if " test_another_client_fails " in text)
    assert "coind: refused transactions" in other
    assert other.count("rule: missing_active_authority") == 1


# ------------------------------------------------------------------ the command, and the process


@pytest.mark.parametrize("way", ["option", "setting", "PATH"])
def test_command_is_found(project: Project, way: str) -> None:
    project.write("def test_it(coin_chain):\n    coin_chain.mine()\n")
    options: list[str] = []
    if way == "option":
        options = ["--coind", "'a node/coind'"]
    elif way == "setting":
        project.settings("coind_command = a node/coind")
    else:
        project.environment["PATH"] = f"{project.command.parent}:{project.environment['PATH']}"
    assert passed(project.run(*options, command=None), 1)


def test_default_node_is_the_plugin_s(project: Project) -> None:
    project.write("def test_it(coin_chain):\n    coin_chain.mine()\n")
    assert passed(project.run(command=None), 1)


def test_editable_install_uses_the_checkout_s_node(project: Project) -> None:
    """An editable install of the plugin (`pip install --editable`) runs the checkout's bin/coind."""
    checkout = project.folder / "checkout" / "bin"
    shutil.copytree(PLUGIN, checkout / "package", ignore=shutil.ignore_patterns("__pycache__"))
    project.launcher(checkout / "coind")
    for name in OWN:
        shutil.rmtree(project.folder / name)
    project.environment["PYTHONPATH"] = f"{checkout / 'package'}:{ROOT}"
    project.write("def test_it(coin_chain):\n    coin_chain.mine()\n")
    assert passed(project.run(command=None), 1)


@pytest.mark.parametrize(
    ("command", "text"), [("nowhere/coind", "there is no program nowhere/coind"), ("coindd run", "there is no program coindd")]
)
def test_missing_command_is_reported(project: Project, command: str, text: str) -> None:
    project.write("def test_it(coin_chain):\n    pass\n")
    ran = project.run("--coind", command)
    assert ran.returncode
    assert f"--coind: {text}" in ran.stdout


def test_log_of_a_node_that_exits_is_shown(project: Project) -> None:
    project.write("def test_it(coin_chain):\n    pass\n")
    project.settings("coind_chain = nowhere")
    ran = project.run()
    assert outcomes(ran.stdout) == {"error": 1}
    assert "ended with status" in ran.stdout
    assert "neither a chain nor the path" in ran.stdout


def test_the_look_alike_of_the_public_network_with_its_chain_id(project: Project) -> None:
    project.settings("coind_chain = mainnet-like\ncoind_options = --main-chain-id")
    project.write(
        "def test_it(coin_chain, coin_node):\n"
        "    assert coin_node.chain_id == 64 * '0'\n"
        "    coin_chain.broadcast('transfer', {'from': 'ned', 'to': 'guest123', 'amount': '1.000 STEEM', 'memo': ''})\n"
        "    assert coin_chain.call('condenser_api.get_accounts', [['guest123']])[0]['balance'] == '100001.000 STEEM'\n"
    )
    assert passed(project.run(), 1)


def test_settings_choose_chain_and_blocks(project: Project) -> None:
    project.settings("coind_chain = steem-testnet\ncoind_blocks = manual\ncoind_options = --time 2027-01-01T00:00:00")
    project.write("""
def test_it(coin_chain):
    info = coin_chain.info()
    assert (info["chain"], info["block_mode"]) == ("steem-testnet", "manual")
    assert info["time"].startswith("2027-01-01T00:")
""")
    assert passed(project.run(), 1)


def test_node_ends_with_a_killed_session(project: Project) -> None:
    project.write("""
import os, signal

def test_it(coin_node, request):
    (request.config.rootpath / "url").write_text(coin_node.url)
    os.kill(os.getpid(), signal.SIGKILL)
""")
    assert project.run().returncode == -signal.SIGKILL
    url = (project.folder / "url").read_text()
    end = time.monotonic() + 20
    while answers(url):
        assert time.monotonic() < end, "the node is still running"
        time.sleep(0.05)


def answers(url: str) -> bool:
    """Whether a node answers at an address."""
    import urllib.request

    try:
        with urllib.request.urlopen(url + "/health", timeout=5):
            return True
    except OSError:
        return False


def test_session_without_a_node_imports_little(project: Project) -> None:
    program = "import sys, pytest; before = {*sys.modules}; import coind.pytest_plugin; print(*{*sys.modules} - before)"
    ran = subprocess.run([sys.executable, "-c", program], env=project.environment, capture_output=True, text=True, check=True)
    loaded = ran.stdout.split()
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == {"coind"}
    assert not {"asyncio", "email", "http", "ssl", "urllib.request"} & set(loaded)
    assert [name for name in loaded if name.startswith(("coind.rpc", "coind.state"))] == []


def test_environment_options_do_not_affect_the_suite_s_node(project: Project) -> None:
    own = {"COIND_DATA": str(project.folder / "kept"), "COIND_HTTP": "127.0.0.1:1", "COIND_CHAIN": "testnet", "COIND_VERBOSE": "1"}
    project.environment |= own
    project.write("def test_chain(coin_node):\n    assert coin_node.chain_name == 'dev'\n")
    ran = project.run()
    assert "1 passed" in ran.stdout, ran.stdout
    assert not (project.folder / "kept").exists()
