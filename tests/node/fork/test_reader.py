"""A fork that begins with nothing: accounts, posts and proposals come from the source when they are named, and equal the source's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import pytest
import trio

from node.app.local_chain import LocalChain
from node.fork.calls import ForkCalls
from node.fork.demand import Demand
from node.fork.fetch import ForkRequest, make_fork
from node.fork.history import SourceHistory
from node.fork.limits import SourceLimits
from node.fork.reader import SourceReader, divided
from node.fork.source import Source
from rpc.fork import Fetch
from state.chain.invariants import validate_invariants
from state.portable import BATCH_SIZE_MAX, pack_batch
from tests.fork.forked import ForkedNode
from tests.fork.sources import FAULTS, SourceNode
from tests.fork.town import town

URL = "http://source"
FLAVOURS = ("coind", "steemd", "jussi")


@cache
def source_chain() -> LocalChain:
    """The chain of the source, in which no further block is made."""
    return town()


class Fork(ForkedNode):
    """A fork with nothing but the world, and its source."""

    def __init__(self, chain: Any, node: SourceNode, source: Source) -> None:
        super().__init__(chain)
        self.node, self.fetches = node, list[Fetch]()
        limits = SourceLimits(URL, trio.current_time)
        reader = SourceReader(source, self.state.spec, node.spec.chain_id.hex())
        self.demand = Demand(chain, reader, self.processor.in_turn, limits, lambda: 0, self.fetches.append)
        self.serve(ForkCalls(self.demand, SourceHistory(chain, source, limits)))


@asynccontextmanager
async def forked(flavour: str = "coind", *, keys: Any = "kept") -> AsyncIterator[Fork]:
    """Run a fork."""
    node = SourceNode(source_chain(), flavour)
    source = Source(URL, transport=node.transport(), patience_seconds=2)
    chain, _ = await make_fork(source, ForkRequest(keys=keys), lambda text: None)
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
# What a source behind an indexer doesn't show, and what plugins don't read yet.
UNSHOWN = ("id", "last_post_edit", "stats", "author_payout_value", "post_id", "allowed_vote_assets")


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("method", "params"), CALLS)
async def test_what_is_named_equals_the_sources(method: str, params: Any, flavour: str) -> None:
    if flavour == "jussi" and method in ("database_api.find_escrows", "condenser_api.find_proposals", "rc_api.find_rc_accounts"):
        return  # such a source has no method for them
    async with forked(flavour) as fork:
        found = await fork.call(method, params)
        assert found
        assert differences(found, source_chain().call(method, params)) == []


def differences(found: Any, wanted: Any) -> list[str]:
    """Return the paths at which two results differ, without what isn't shown."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        hidden = (*UNSHOWN, "reputation") if "voter" in wanted else UNSHOWN  # only the names of voters are here
        names = sorted(name for name in found.keys() | wanted.keys() if name not in hidden)
        return [f"{name}.{path}" for name in names for path in differences(found.get(name), wanted.get(name))]
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        if all(isinstance(one, dict) and "voter" in one for one in (*found, *wanted)):  # ordered by the accounts' ids
            found, wanted = (sorted(votes, key=lambda vote: str(vote["voter"])) for votes in (found, wanted))
        return [f"[{at}]{path}" for at in range(len(found)) for path in differences(found[at], wanted[at])]
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


async def test_payouts_of_fetched_posts_are_made() -> None:
    async with forked(keys="derived") as fork:
        await fork.call("condenser_api.get_content", POST)
        await fork.call("dev_api.advance_time", {"seconds": 8 * 86_400})
        fork.devchain.make_block()
        shown = await fork.call("condenser_api.get_content", POST)
        assert shown["last_payout"] > shown["created"]
        validate_invariants(fork.state)


async def test_a_batch_of_posts_is_divided_by_its_comments() -> None:
    comments = [{"author": "kim", "permlink": f"re-{i}"} for i in range(8)]
    contents = [{"comment": ("kim", f"re-{i}"), "body": "x" * (1 << 20)} for i in range(8)]
    parts = divided({"comments": comments, "comment_contents": contents, "comment_votes": [{"comment": ("kim", "re-7"), "voter": "bob"}]})
    assert [row for part in parts for row in part["comments"]] == comments
    assert all(len(pack_batch(part)) <= BATCH_SIZE_MAX for part in parts)
    assert parts[-1]["comment_votes"]


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
