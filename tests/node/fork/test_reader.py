"""A fork that begins with nothing: accounts, posts and proposals come from the source when they are named, and equal the source's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from node.app.local_chain import LocalChain
from node.fork.calls import ForkCalls
from node.fork.demand import Demand
from node.fork.fetch import ForkRequest, make_fork
from node.fork.history import SourceHistory
from node.fork.limits import SourceLimits
from node.fork.mirror import APPLIED, Mirror
from node.fork.reader import SourceReader, bounded
from node.fork.source import Source
from node.runtime.errors import NodeError
from node.snapshots.base import new_chain, read_base, write_base
from rpc.declare.demand import PostsKey
from rpc.fork import Fetch, ForkOrigin
from rpc.fork import Fork as RunningFork
from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.portable import Batch
from tests.fork.forked import ForkedNode
from tests.fork.sources import FAULTS, HiveSpelling, SourceNode
from tests.fork.town import town

URL = "http://source"
FLAVOURS = ("coind", "steemd", "jussi", "hive")


@cache
def source_chain() -> LocalChain:
    """The chain of the source, in which no further block is made."""
    return town()


class Fork(ForkedNode):
    """A fork with nothing but the world, and its source."""

    def __init__(self, chain: Chain, node: SourceNode, source: Source) -> None:
        super().__init__(chain)
        self.node, self.fetches = node, list[Fetch]()
        limits = SourceLimits(URL, trio.current_time)
        reader = SourceReader(source, self.state.spec, node.spec.chain_id.hex())
        self.demand = Demand(chain, reader, self.processor.in_turn, limits, lambda: 0, self.fetches.append)
        self.serve(ForkCalls(self.demand, SourceHistory(chain, source, limits)))
        origin = ForkOrigin(source=URL, chain_id="", number=chain.base, block_id="", time=0)
        self.mirror = Mirror(chain, source, self.processor, RunningFork(origin))


@asynccontextmanager
async def forked(
    flavour: str = "coind", *, keys: Any = "kept", of: LocalChain | None = None, file: Path | None = None
) -> AsyncIterator[Fork]:
    """Run a fork. With `file`, it is started from a file, and so has a base."""
    node = SourceNode(of or source_chain(), flavour)
    source = Source(URL, transport=node.transport(), patience_seconds=2)
    chain, _ = await make_fork(source, ForkRequest(keys=keys), lambda text: None)
    if file is not None:
        write_base(chain, file)
        chain = new_chain(read_base(file), file, chain.state.plugins)
    fork = Fork(chain, node, source)
    async with trio.open_nursery() as nursery:
        await nursery.start(fork.demand.run)
        yield fork
        nursery.cancel_scope.cancel()
    validate_invariants(fork.state)


PEOPLE = ["alice", "bob", "kim", "laura", "mallory", "niaj", "olivia", "peggy", "quentin", "victor"]
POST = ["kim", "first-steps"]
CALLS: list[tuple[str, Any]] = [
    ("condenser_api.get_accounts", [PEOPLE]),
    ("database_api.find_accounts", {"accounts": PEOPLE}),
    ("condenser_api.get_open_orders", ["kim"]),
    ("condenser_api.get_conversion_requests", ["laura"]),
    ("condenser_api.get_savings_withdraw_from", ["niaj"]),
    ("database_api.find_escrows", {"from": "kim"}),
    ("condenser_api.get_withdraw_routes", ["quentin", "outgoing"]),
    ("condenser_api.get_vesting_delegations", ["alice", "", 100]),
    ("condenser_api.get_owner_history", ["victor"]),
    ("condenser_api.find_proposals", [[0, 1]]),
    ("condenser_api.get_content", POST),
    ("condenser_api.get_content_replies", POST),
    ("condenser_api.get_active_votes", POST),
    ("bridge.get_discussion", POST),
    ("database_api.find_comments", {"start": [POST, ["laura", "re-4"]]}),
    ("condenser_api.get_follow_count", ["alice"]),
    ("condenser_api.get_following", ["laura", "", "blog", 10]),
    ("condenser_api.get_blog_entries", ["olivia", 0, 10]),
    ("condenser_api.get_account_reputations", ["alice", 1]),
    ("bridge.get_profile", ["alice"]),
    ("rc_api.find_rc_accounts", {"accounts": ["alice", "kim"]}),
    ("condenser_api.get_discussions_by_author_before_date", ["olivia", "", "2037-01-01T00:00:00", 10]),
]
# Numbers of the source's rows, ranks among everybody, and what a source behind an indexer doesn't show.
UNSHOWN = {"id", "post_id", "rank", "last_post_edit", "allowed_vote_assets"}


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("method", "params"), CALLS)
async def test_what_is_named_equals_the_sources(method: str, params: Any, flavour: str) -> None:
    if flavour == "jussi" and method in ("database_api.find_escrows", "condenser_api.find_proposals", "rc_api.find_rc_accounts"):
        return  # such a source has no method for them
    async with forked(flavour) as fork:
        found = await fork.call(method, params)
        assert found
        wanted = source_chain().call(method, params)
        hidden = UNSHOWN
        if flavour == "hive":
            # The fork has the names of members that steemd has.
            found, wanted = (HiveSpelling.reply(method, result, fork.node) for result in (found, wanted))
            hidden = UNSHOWN | HiveSpelling.MISSING
        assert differences(found, wanted, hidden) == []


def differences(found: Any, wanted: Any, hidden: set[str]) -> list[str]:
    """Return the paths at which two results differ, without the members `hidden`."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        names = sorted(name for name in found.keys() | wanted.keys() if name not in hidden)
        return [f"{name}.{path}" for name in names for path in differences(found.get(name), wanted.get(name), hidden)]
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        if all(isinstance(one, dict) and "voter" in one for one in (*found, *wanted)):  # ordered by the accounts' ids
            found, wanted = (sorted(votes, key=lambda vote: str(vote["voter"])) for votes in (found, wanted))
        return [f"[{at}]{path}" for at in range(len(found)) for path in differences(found[at], wanted[at], hidden)]
    return [] if found == wanted else [f"{found!r} instead of {wanted!r}"]


TRANSACTIONS: list[Any] = [
    ["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}],
    ["transfer_to_vesting", {"from": "bob", "to": "carol", "amount": "1.000 COIN"}],
    ["vote", {"voter": "carol", "author": "kim", "permlink": "first-steps", "weight": 10000}],
    [
        "comment",
        {
            "parent_author": "laura",
            "parent_permlink": "re-0",
            "author": "bob",
            "permlink": "re",
            "title": "",
            "body": "x",
            "json_metadata": "",
        },
    ],
    ["limit_order_cancel", {"owner": "kim", "orderid": 7}],
    ["delegate_vesting_shares", {"delegator": "alice", "delegatee": "peggy", "vesting_shares": "100000.000000 VESTS"}],
    ["account_witness_vote", {"account": "alice", "witness": "rupert", "approve": True}],
    ["update_proposal_votes", {"voter": "alice", "proposal_ids": [1], "approve": True, "extensions": []}],
    [
        "escrow_release",
        {
            "from": "kim",
            "to": "laura",
            "agent": "judy",
            "who": "kim",
            "receiver": "laura",
            "escrow_id": 2,
            "sbd_amount": "0.500 SBD",
            "coin_amount": "0.700 COIN",
        },
    ],
    [
        "custom_json",
        {
            "required_auths": [],
            "required_posting_auths": ["niaj"],
            "id": "follow",
            "json": '["follow",{"follower":"niaj","following":"kim","what":["blog"]}]',
        },
    ],
]


@pytest.mark.parametrize("operation", TRANSACTIONS)
async def test_a_transaction_is_accepted_though_nothing_that_it_names_was_here(operation: Any) -> None:
    async with forked(keys="derived") as fork:
        accepted = await fork.call("dev_api.broadcast_operations", {"operations": [operation]})
        assert "id" in accepted, accepted
        fork.devchain.make_block()
        validate_invariants(fork.state)


async def test_a_new_account_cant_have_the_name_of_one_at_the_source() -> None:
    async with forked(keys="derived") as fork:
        assert await fork.names("alice") == ["alice"]
        key = (await fork.call("condenser_api.get_accounts", [["alice"]]))[0]["memo_key"]
        authority = {"weight_threshold": 1, "account_auths": [], "key_auths": [[key, 1]]}
        fields = {"fee": "0.000 COIN", "creator": "alice", "owner": authority, "active": authority, "posting": authority, "memo_key": key}
        for name, is_new in (("wendy", False), ("zoe", True)):
            operation = ["account_create", fields | {"new_account_name": name, "json_metadata": ""}]
            accepted = await fork.call("dev_api.broadcast_operations", {"operations": [operation]})
            assert ("id" in accepted) == is_new, accepted


async def test_history_of_hive(tmp_path: Path) -> None:
    chain = town()
    chain.broadcast(["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}])
    chain.mine()
    assert chain.chain.head is not None
    number, trx = chain.chain.head.number, chain.chain.head.transactions[0].id.hex()
    async with forked("hive", of=chain, file=tmp_path / "fork") as fork:
        for method, params in (
            ("condenser_api.get_block", [number]),
            ("block_api.get_block", {"block_num": number}),
            ("condenser_api.get_ops_in_block", [number, False]),
            ("account_history_api.get_transaction", {"id": trx}),
            ("condenser_api.get_account_history", ["alice", -1, 100]),
        ):
            assert await fork.call(method, params) == HiveSpelling.reply(method, chain.call(method, params), fork.node)


async def test_operations_of_hive_are_mirrored(tmp_path: Path) -> None:
    chain = town()
    async with forked("hive", keys="derived", of=chain, file=tmp_path / "fork") as fork:
        [before] = await fork.call("condenser_api.get_accounts", [["bob"]])
        await fork.names("alice")
        chain.broadcast(["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}])
        chain.mine()
        await fork.mirror.follow()
        fork.devchain.make_block()
        assert fork.mirror._fork.mirrored[APPLIED] == 1
        [after] = await fork.call("condenser_api.get_accounts", [["bob"]])
        assert float(after["balance"].split()[0]) == float(before["balance"].split()[0]) + 1


async def test_payouts_of_fetched_posts_are_made() -> None:
    async with forked(keys="derived") as fork:
        await fork.call("condenser_api.get_content", POST)
        await fork.call("dev_api.advance_time", {"seconds": 8 * 86_400})
        fork.devchain.make_block()
        shown = await fork.call("condenser_api.get_content", POST)
        assert shown["last_payout"] > shown["created"]
        validate_invariants(fork.state)


def test_a_long_discussion_loses_its_newest_replies() -> None:
    noise = Random(1)
    keys = [("kim", f"re-{i}") for i in range(12)]
    comments = [{"author": author, "permlink": permlink, "parent_author": "", "parent_permlink": "life"} for author, permlink in keys]
    comments[11] |= {"parent_author": "kim", "parent_permlink": "re-10"}
    contents = [{"comment": key, "body": noise.randbytes(500_000).hex()} for key in keys]
    votes = [{"comment": key, "voter": "bob"} for key in keys]
    given: Batch = {"comments": comments, "comment_contents": contents, "comment_votes": votes, "follow/blogs": []}
    found = bounded(given, [keys[11]])
    kept = [(row["author"], row["permlink"]) for row in found["comments"]]
    assert kept == [*keys[:2], *keys[10:]]
    assert [row["comment"] for row in found["comment_contents"]] == [row["comment"] for row in found["comment_votes"]] == kept
    assert "follow/blogs" in found
    with pytest.raises(NodeError):
        bounded(given, keys)


@pytest.mark.parametrize("name", FAULTS)
async def test_a_faulty_source_breaks_nothing(name: str, autojump_clock: trio.abc.Clock) -> None:
    async with forked() as fork:
        assert await fork.names("alice") == ["alice"]
        fork.node.faults.append(FAULTS[name]())
        for method, params in CALLS[:4] + CALLS[9:12]:
            assert "internal error" not in str(await fork.call(method, params))
            assert await fork.names("alice") == ["alice"]
        fork.devchain.make_block()
        validate_invariants(fork.state)
        assert all("log of the node" not in fetch.error for fetch in fork.fetches)


async def test_a_removed_proposal_isnt_fetched() -> None:
    async with forked(keys="derived") as fork:
        [proposal] = await fork.call("condenser_api.find_proposals", [[0]])
        remove = {"proposal_owner": proposal["creator"], "proposal_ids": [0], "extensions": []}
        assert "id" in await fork.call("dev_api.broadcast_operations", {"operations": [["remove_proposal", remove]]})
        fork.devchain.make_block()
        fetches = len(fork.fetches)
        assert await fork.call("condenser_api.find_proposals", [[0]]) == []
        assert len(fork.fetches) == fetches


async def test_posts_of_somebody_without_posts_are_unknown() -> None:
    async with forked() as fork:
        reader, nobody = fork.demand.reader, PostsKey("nobody.here")
        assert reader is not None
        assert (await reader.read([PostsKey("carol"), nobody])).unknown == {nobody}
