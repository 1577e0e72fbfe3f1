"""The cache of a fork: what was fetched is here again without the source, also after damage, and only for its own fork file."""

from pathlib import Path

import pytest
import trio

from node.app.local_chain import LocalChain
from node.client.dev_api import CallRefused
from node.fork import cache as cache_module
from node.fork.cache import CacheEntry, FetchCache, cache_of
from node.fork.fetch import ForkRequest, write_new_fork
from node.fork.source import Source
from node.runtime.errors import FileError
from rpc.declare.demand import AccountKey, PostKey, PostsKey, ProposalKey
from state.chain.digest import state_digest
from tests.fork.sources import SourceNode
from tests.fork.town import town
from tests.helpers.golden import fails

KEYS = (AccountKey("alice"), PostKey("alice", "first"), PostsKey("alice"), ProposalKey(3))
ENTRY = CacheEntry(KEYS, (b"rows", b"more"))


def test_entries_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "f.fetched"
    for count in range(3):
        cache = FetchCache(path, "digest")
        assert cache.read() == [ENTRY] * count
        cache.append(ENTRY)
    assert cache_of(tmp_path / "f") == path


def test_an_incomplete_entry_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "f"
    cache = FetchCache(path, "digest")
    cache.append(ENTRY)
    cache.append(ENTRY)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        cache = FetchCache(path, "digest")
        found = cache.read()
        assert len(found) == (size >= len(whole) - (len(whole) - 15) // 2) or size < 15 or found == [ENTRY]
        cache.append(ENTRY)
        assert FetchCache(path, "digest").read() == [*found, ENTRY]


def test_other_files_are_refused(tmp_path: Path) -> None:
    FetchCache(tmp_path / "f", "digest").append(ENTRY)
    with fails(FileError):
        FetchCache(tmp_path / "f", "other digest").read()
    (tmp_path / "folder").mkdir()
    with fails(FileError):
        FetchCache(tmp_path / "folder", "digest").read()
    FetchCache(tmp_path / "folder", "digest").append(ENTRY)


def test_a_cache_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = FetchCache(tmp_path / "f", "digest")
    cache.append(ENTRY)
    monkeypatch.setattr(cache_module, "CACHE_SIZE_MAX", (tmp_path / "f").stat().st_size)
    cache.append(ENTRY)
    assert FetchCache(tmp_path / "f", "digest").read() == [ENTRY]


def test_a_chain_is_the_same_without_its_source(tmp_path: Path) -> None:
    node, path = SourceNode(town()), tmp_path / "f"

    async def make(url: str) -> None:
        source = Source(url)
        await write_new_fork(source, ForkRequest(), path, lambda text: None)
        await source.close()

    def play(chain: LocalChain) -> str:
        assert chain.call("condenser_api.get_accounts", [["alice", "bob"]])
        assert chain.call("condenser_api.get_content", ["kim", "first-steps"])["author"]
        assert chain.call("bridge.get_account_posts", {"sort": "posts", "account": "olivia"})
        chain.broadcast("transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""})
        return state_digest(chain.chain.state)

    with node.listening() as url:
        trio.run(make, url)
        digest = play(LocalChain(fork=path, fetch=True))
    requests = node.request_count
    chain = LocalChain(fork=path)
    assert play(chain) == digest
    assert play(LocalChain(fork=path, fetch=True)) == digest
    assert node.request_count == requests
    assert chain.call("condenser_api.get_accounts", [["victor"]]) == []
    with pytest.raises(CallRefused):
        chain.call("condenser_api.get_block", [1])
