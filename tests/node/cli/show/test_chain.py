"""`coind show` on a forked chain: where it comes from, and that lists have only what is here."""

from typing import Any

import pytest

from node.app.local_chain import LocalChain
from node.cli.show.chain import chain_name
from node.specs.builder import load_spec
from tests.fork.sources import Fault, SourceNode
from tests.helpers.commands import coind

FORK: dict[str, Any] = {
    "source": "https://api.example",
    "block_num": 50_000_000,
    "time": "2023-11-14T22:13:21",
    "is_complete": False,
    "source_chain_id": load_spec("mainnet-like").chain_id.hex(),
    "accounts": ["alice", "bob"],
    "posts": [],
    "newest_posts": 5,
    "fetches": 3,
    "failed_fetches": 1,
    "last_fetches": [{"what": "account carol", "error": "it is silent"}],
}
LISTS = ("accounts", "posts", "market", "proposals")


def a_node(fork: Any) -> SourceNode:
    return SourceNode(LocalChain(), "coind", Fault(result=lambda method, params, result: fork, methods="explorer_api.get_fork"))


def test_the_chain_says_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    with a_node(FORK).listening() as url:
        shown = coind(capsys, "show", "chain", "--url", url).pairs["fork of"]
    for part in ("https://api.example", "50000000", "accounts: 2", "up to 5", "account carol", "it is silent"):
        assert part in shown
    assert chain_name(load_spec("dev"), FORK) == "fork of mainnet-like"
    assert chain_name(load_spec("mainnet-like"), FORK) == "mainnet-like"
    with a_node(FORK | {"is_complete": True, "fetches": 0}).listening() as url:
        assert "complete" in coind(capsys, "show", "chain", "--url", url).pairs["fork of"]
    with a_node(None).listening() as url:
        assert "fork of" not in coind(capsys, "show", "chain", "--url", url).pairs


@pytest.mark.parametrize("command", LISTS)
def test_lists_have_only_what_is_here(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with a_node(FORK).listening() as url:
        found = coind(capsys, "show", command, "--url", url)
        assert found.status == 0
        assert "https://api.example" in found.err
        assert coind(capsys, "show", "account", "alice", "--url", url).err == ""
    for other in (None, FORK | {"is_complete": True}):
        with a_node(other).listening() as url:
            assert coind(capsys, "show", command, "--url", url).err == ""
