"""What a call names is fetched from a source and stays, within limits; a source that gives nothing stops nothing else."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trio

from node.client.lines import LINE_SIZE_MAX
from node.fork import demand as demand_module
from node.fork import limits as limits_module
from node.fork.cache import FetchCache
from node.fork.calls import ForkCalls
from node.fork.demand import KEYS_MAX, UNKNOWN_BLOCKS, Demand, Fetched, keys_in
from node.fork.history import SourceHistory
from node.fork.limits import CALL_SECONDS_MAX, SILENT_SECONDS, SourceLimits
from node.fork.reader import FETCH_SIZE_MAX
from node.fork.source import SourceSilent
from node.runtime.errors import NodeError
from rpc.caller import LOCAL, Caller
from rpc.declare.demand import AccountKey, Key, PostKey, PostsKey, ProposalKey
from rpc.fork import Fetch
from rpc.push.events import NewBlock, decode_line, encode_line
from state.chain.chain import Chain
from state.chain.state_edits import ImportRows
from state.portable import BATCH_SIZE_MAX, Batch, account_level
from state.protocol.authority import Authority, key_authority
from state.protocol.constants import COIN_SOFT_MAX_BLOCK_SIZE
from state.protocol.keys.keys import public_key, secret_from_seed, wif_from_secret
from tests.fork.forked import ForkedNode
from tests.fork.town import town
from tests.helpers.partial import partial_chain

SOURCE = "http://source"
START = 1_798_761_600
REMOTE = Caller("192.0.2.1", "it is on another machine")
SECRET = secret_from_seed("quinn")
EXPLANATION = ("rule", "why", "what_to_do", "values")


class FakeReader:
    """A source with these accounts and posts. It answers once `opened` is set, and raises `error` if there is one."""

    def __init__(self, *keys: Key, members: dict[str, str] | None = None) -> None:
        self.keys, self.members = keys, members or {}
        self.opened = trio.Event()
        self.opened.set()
        self.error: Exception | None = None
        self.read_keys: list[list[Key]] = []

    async def read(self, keys: Sequence[Key]) -> Fetched:
        """Return the rows of keys."""
        self.read_keys.append(list(keys))
        await self.opened.wait()
        if self.error is not None:
            raise self.error
        batch: Batch = {"accounts": [], "account_authorities": [], "comments": []}
        for key in keys:
            if key in self.keys and isinstance(key, AccountKey):
                member = self.members.get(key.name)
                authority = key_authority(public_key(SECRET)) if member is None else Authority(1, ((member, 1),), ())
                batch["accounts"].append({"name": key.name})
                batch["account_authorities"].append({"account": key.name, "owner": authority, "active": authority, "posting": authority})
            elif key in self.keys and isinstance(key, PostKey):
                batch["comments"].append({"author": key.author, "permlink": key.permlink, "root_comment": (key.author, key.permlink)})
        return Fetched([batch], frozenset(key for key in keys if key not in self.keys))


class Fork(ForkedNode):
    """A chain with the account alice, and a source. `fetches` are its finished fetches."""

    def __init__(self, reader: FakeReader) -> None:
        source = source_chain()
        super().__init__(partial_chain(source, ["alice"], *source.state.plugins))
        self.reader, self.fetches = reader, list[Fetch]()
        limits = SourceLimits(SOURCE, trio.current_time)
        self.demand = Demand(self.chain, reader, self.processor.in_turn, limits, lambda: START, self.fetches.append)
        self.serve(ForkCalls(self.demand, SourceHistory(self.chain, None, None)))


@cache
def source_chain() -> Chain:
    """The chain of the source at the fork block."""
    return town().chain


@asynccontextmanager
async def forked(reader: FakeReader) -> AsyncIterator[Fork]:
    """Run a fork."""
    fork = Fork(reader)
    async with trio.open_nursery() as nursery:
        await nursery.start(fork.demand.run)
        yield fork
        nursery.cancel_scope.cancel()


QUINN, RUTH, POST = AccountKey("quinn"), AccountKey("ruth"), PostKey("quinn", "first")


async def test_what_a_call_names_is_fetched_once_and_stays() -> None:
    async with forked(FakeReader(QUINN, RUTH)) as fork:
        assert await fork.names("quinn", "quinn", "ruth", "sofia", "no name") == ["quinn", "quinn", "ruth"]
        assert fork.reader.read_keys == [[QUINN, RUTH, AccountKey("sofia")]]
        assert await fork.names("quinn", "sofia") == ["quinn"]
        assert len(fork.reader.read_keys) == 1
        assert [edit.__class__.__name__ for edits in fork.chain.sidecars.edits.values() for edit in edits] == ["ImportRows"]
        [fetch] = fork.fetches
        assert (fetch.what, fetch.error, fetch.rows) == ("quinn, ruth, sofia", "", 4)
        assert fetch.size > 0


async def test_a_name_that_the_source_doesnt_have_is_asked_for_again_after_some_blocks() -> None:
    async with forked(FakeReader()) as fork:
        for blocks, reads in ((0, 1), (UNKNOWN_BLOCKS, 1), (1, 2)):
            for _ in range(blocks):
                fork.devchain.make_block()
            assert await fork.names("quinn") == []
            assert len(fork.reader.read_keys) == reads


async def test_calls_that_name_the_same_share_a_fetch_and_others_dont_wait() -> None:
    reader = FakeReader(QUINN, RUTH)
    reader.opened = trio.Event()
    found: list[list[str]] = []
    async with forked(reader) as fork, trio.open_nursery() as nursery:

        async def ask(*names: str) -> None:
            found.append(await fork.names(*names))

        for names in (("quinn",), ("quinn",), ("ruth", "quinn")):
            nursery.start_soon(ask, *names)
        await trio.testing.wait_all_tasks_blocked()
        assert await fork.names("alice") == ["alice"]
        fork.devchain.make_block()
        assert not found
        reader.opened.set()
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(found) == [["quinn"], ["quinn"], ["ruth", "quinn"]]
        assert sorted(key.name for keys in reader.read_keys for key in keys if isinstance(key, AccountKey)) == ["quinn", "ruth"]


async def test_a_client_that_leaves_doesnt_end_the_fetch_of_another() -> None:
    reader = FakeReader(QUINN)
    reader.opened = trio.Event()
    async with forked(reader) as fork, trio.open_nursery() as nursery:
        found: list[list[str]] = []
        with trio.CancelScope() as scope:

            async def leave() -> None:
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()

            nursery.start_soon(leave)
            await fork.names("quinn")

        async def ask() -> None:
            found.append(await fork.names("quinn"))

        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        reader.opened.set()
        await trio.testing.wait_all_tasks_blocked()
        assert found == [["quinn"]]
        assert len(reader.read_keys) == 1


async def test_a_fetch_that_takes_too_long_refuses_the_call_and_serves_the_next(autojump_clock: trio.abc.Clock) -> None:
    reader = FakeReader(QUINN)
    reader.opened = trio.Event()
    async with forked(reader) as fork:
        start = trio.current_time()
        refused = await fork.call("condenser_api.get_accounts", [["quinn"]])
        assert refused["data"]["explain"]["rule"] == "source_gives_no_answer"
        assert trio.current_time() - start == CALL_SECONDS_MAX
        reader.opened.set()
        assert await fork.names("quinn") == ["quinn"]
        assert len(reader.read_keys) == 1


@pytest.mark.parametrize("error", [SourceSilent("it is silent"), NodeError("it answers nonsense"), ValueError("no row"), KeyError("a bug")])
async def test_a_source_without_an_answer_refuses_only_what_needs_it(error: Exception, autojump_clock: trio.abc.Clock) -> None:
    reader = FakeReader(QUINN)
    reader.error = error
    async with forked(reader) as fork:
        refused = await fork.call("condenser_api.get_accounts", [["quinn", "alice"]])
        explain = refused["data"]["explain"]
        assert set(explain) == set(EXPLANATION)
        assert (explain["rule"], explain["values"]["what"], explain["values"]["source"]) == ("source_gives_no_answer", "quinn", SOURCE)
        assert await fork.names("alice") == ["alice"]
        assert [bool(fetch.error) for fetch in fork.fetches] == [True]
        reader.error = None
        is_silent = isinstance(error, SourceSilent)
        again = await fork.call("condenser_api.get_accounts", [["quinn"]])
        assert isinstance(again, dict) == is_silent
        await trio.sleep(SILENT_SECONDS)
        assert await fork.names("quinn") == ["quinn"]


async def test_rows_that_the_state_refuses_change_nothing() -> None:
    class Broken(FakeReader):
        async def read(self, keys: Sequence[Key]) -> Fetched:
            return Fetched([{"accounts": [{"name": "quinn"}, {"name": "quinn", "balance": "much"}]}], frozenset())

    async with forked(Broken()) as fork:
        assert "explain" in (await fork.call("condenser_api.get_accounts", [["quinn"]]))["data"]
        assert fork.chain.state.accounts.by_name.get("quinn") is None
        assert not fork.chain.sidecars.edits


async def test_a_transaction_gets_its_accounts_and_those_that_sign_for_them() -> None:
    names = ("quinn", "ruth", "sofia", "tilda", "urs-x")
    reader = FakeReader(*map(AccountKey, names), members={"quinn": "ruth", "ruth": "sofia", "sofia": "tilda"})
    async with forked(reader) as fork:
        operation = ["transfer", {"from": "quinn", "to": "urs-x", "amount": "0.001 COIN", "memo": ""}]
        refused = await fork.call("dev_api.broadcast_operations", {"operations": [operation], "keys": [wif_from_secret(SECRET)]})
        assert refused["data"]["explain"]["rule"] == "missing_active_authority"
        found = {name for name in names if account_level(fork.state, name) == "full"}
        assert found == set(names) - {"tilda"}  # the check of signatures goes no deeper


async def test_limits_of_a_call_an_address_and_a_chain(monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.abc.Clock) -> None:
    names = [f"account{i}" for i in range(1000)]
    async with forked(FakeReader(*map(AccountKey, names))) as fork:
        refused = await fork.call("condenser_api.get_accounts", [names[: KEYS_MAX + 1]], REMOTE)
        assert refused["data"]["explain"]["rule"] == "too_many_to_fetch"
        monkeypatch.setattr(limits_module, "UNITS_PER_KEY", 20_000 // KEYS_MAX)
        assert len(await fork.names(*names[:KEYS_MAX], caller=REMOTE)) == KEYS_MAX
        refused = await fork.call("condenser_api.get_accounts", [names[-1:]], REMOTE)
        assert refused["data"]["explain"]["rule"] == "fetched_too_often"
        assert await fork.names(names[-1]) == names[-1:]
        await trio.sleep(20)
        assert await fork.names(names[-2], caller=REMOTE) == [names[-2]]
        monkeypatch.setattr(demand_module, "FETCHED_SIZE_MAX", sum(fetch.size for fetch in fork.fetches))
        assert (await fork.call("condenser_api.get_accounts", [[names[-3]]]))["data"]["explain"]["rule"] == "fetched_too_much"
        monkeypatch.setattr(demand_module, "FETCHED_SIZE_MAX", 1 + sum(fetch.size for fetch in fork.fetches))
        refused = await fork.call("condenser_api.get_accounts", [[names[-3]]], REMOTE)
        assert refused["data"]["explain"]["rule"] == "fetched_too_much"
        assert await fork.names(names[-3]) == [names[-3]]


async def test_fetches_that_wait_for_a_place_keep_the_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand_module, "FETCHED_SIZE_MAX", 1)
    names = [f"account{i}" for i in range(2 * limits_module.FETCHES_MAX)]
    async with forked(FakeReader(*map(AccountKey, names))) as fork, trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(fork.call, "condenser_api.get_accounts", [[name]])
    assert len(fork.reader.read_keys) <= limits_module.FETCHES_MAX


async def test_what_was_fetched_returns_without_the_source_after_a_revert() -> None:
    async with forked(FakeReader(QUINN, POST)) as fork:
        snapshot = await fork.call("dev_api.snapshot", {})
        assert await fork.names("quinn") == ["quinn"]
        await fork.call("dev_api.revert", snapshot)
        assert fork.chain.state.accounts.by_name.get("quinn") is None
        assert await fork.names("quinn") == ["quinn"]
        assert len(fork.reader.read_keys) == 1


async def test_a_post_that_was_deleted_here_isnt_fetched_again() -> None:
    async with forked(FakeReader(QUINN, POST)) as fork:
        await fork.call("database_api.find_comments", {"start": [["quinn", "first"]]})
        state = fork.chain.state
        state.comments.remove(next(iter(state.comments)))
        again = Demand(
            fork.chain, fork.reader, fork.demand._edit, fork.demand.limits, lambda: START, fork.fetches.append
        )  # after a restart
        for demand in (fork.demand, again):
            assert list(demand.missing([POST, PostsKey("quinn"), ProposalKey(3)])) == [PostsKey("quinn"), ProposalKey(3)]


async def test_names_that_the_source_lacks_are_stored_only_for_programs_of_this_machine(tmp_path: Path) -> None:
    async with forked(FakeReader()) as fork:
        fork.demand._cache = FetchCache(tmp_path / "f", "digest")
        await fork.demand.fetch([RUTH], REMOTE)
        await fork.demand.fetch([QUINN], LOCAL)
        assert [entry.unknown for entry in FetchCache(tmp_path / "f", "digest").read()] == [(QUINN,)]


async def test_a_post_can_be_written_though_the_source_is_silent() -> None:
    reader = FakeReader()
    reader.error = SourceSilent("it is silent")
    post = {"parent_author": "", "parent_permlink": "life", "author": "alice", "permlink": "new", "title": "New", "json_metadata": ""}
    async with forked(reader) as fork:
        for body, is_accepted in (("@@ -1 +1 @@", False), ("New", True)):
            done = await fork.call("dev_api.broadcast_operations", {"operations": [["comment", post | {"body": body}]]})
            assert ("id" in done) == is_accepted, done
        assert len(reader.read_keys) == 1  # a silent source isn't asked again at once


async def test_what_doesnt_fit_into_a_block_waits_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"account{i}" for i in range(20)]
    reader = FakeReader(*map(AccountKey, names))
    async with forked(reader) as fork:
        await fork.names(names[0])
        monkeypatch.setattr(demand_module, "BLOCK_SIZE_MAX", 3 * fork.fetches[0].size)
        refused = [isinstance(await fork.call("condenser_api.get_accounts", [[name]]), dict) for name in names]
        in_block = refused.index(True)
        assert in_block > 1
        assert all(refused[in_block:])
        [edits] = fork.chain.sidecars.edits.values()
        assert len(edits) == in_block
        reads = len(reader.read_keys)
        key = (await fork.call("condenser_api.get_accounts", [["alice"]]))[0]["memo_key"]
        for operation in ("transfer", "account_create"):
            found = await fork.call("dev_api.broadcast_operations", {"operations": [named(operation, names[-1], key)]})
            assert found["data"]["explain"]["rule"] == "fetched_too_much_in_a_block", found
        fork.devchain.make_block()
        assert await fork.names(names[-1]) == [names[-1]]
        assert len(reader.read_keys) == reads


def named(operation: str, name: str, memo_key: str) -> list[Any]:
    """Return an operation that names an account, or makes it."""
    if operation == "transfer":
        return ["transfer", {"from": "alice", "to": name, "amount": "0.001 COIN", "memo": ""}]
    authority = {"weight_threshold": 1, "account_auths": [], "key_auths": []}
    fields = {"owner": authority, "active": authority, "posting": authority, "memo_key": memo_key, "json_metadata": ""}
    return ["account_create", {"fee": "0.000 COIN", "creator": "alice", "new_account_name": name} | fields]


async def test_a_post_of_the_fork_file_that_was_deleted_isnt_fetched() -> None:
    post = {"parent_author": "", "parent_permlink": "life", "author": "alice", "permlink": "new", "title": "New", "json_metadata": ""}
    key = PostKey("alice", "new")
    async with forked(FakeReader()) as fork:
        for operation in (["comment", post | {"body": "New"}], ["delete_comment", {"author": "alice", "permlink": "new"}]):
            done = await fork.call("dev_api.broadcast_operations", {"operations": [operation]})
            assert "id" in done, done
            fork.devchain.make_block()
        for _ in range(UNKNOWN_BLOCKS):
            fork.devchain.make_block()
        fork.reader.keys = (key,)
        reads = len(fork.reader.read_keys)
        assert (await fork.call("database_api.find_comments", {"start": [["alice", "new"]]}))["comments"] == []
        assert len(fork.reader.read_keys) == reads


def test_replicas_accept_the_line_of_a_block_with_the_largest_fetch() -> None:
    block = b"\0" * COIN_SOFT_MAX_BLOCK_SIZE
    edits = tuple(ImportRows(b"\0" * BATCH_SIZE_MAX) for _ in range(FETCH_SIZE_MAX // BATCH_SIZE_MAX))
    line = encode_line(NewBlock(1, b"\0" * 20, block, edits))
    assert len(line) <= LINE_SIZE_MAX
    assert decode_line(line) == NewBlock(1, b"\0" * 20, block, edits)
    assert demand_module.BLOCK_SIZE_MAX <= FETCH_SIZE_MAX


def test_light_accounts_of_an_edit_are_still_fetched() -> None:
    """After a restart, too, when the keys are taken from the edits."""
    rows: Batch = {"accounts": [{"name": "quinn"}, {"name": "rose", "is_light": True}], "proposals": [{"proposal_id": 3}]}
    assert list(keys_in(rows)) == [AccountKey("quinn"), ProposalKey(3)]
