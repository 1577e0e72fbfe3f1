"""Forks of a town with all its accounts and posts: they answer like the source, every kind of operation works, and posts are paid."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.fork.fetch import ForkRequest, make_fork
from node.fork.file import read_fork, write_fork
from node.fork.source import Source
from node.snapshots.base import new_chain
from state.chain.invariants import validate_invariants
from state.protocol.constants import DAY_SECONDS, TIME_MAX
from state.protocol.values.text import time_text
from tests.fork.sources import SourceNode
from tests.fork.town import town

URL = "http://there:8090"
EMPTY = ("null", "temp", "miners")
# Calls that take the name of an account, with the member of their result, if it isn't the whole result.
OF_ACCOUNT: tuple[tuple[str, Any], ...] = (
    ("condenser_api.get_accounts", lambda name: [[name]]),
    ("database_api.find_accounts", lambda name: {"accounts": [name]}),
    ("database_api.find_vesting_delegations", lambda name: {"account": name}),
    ("database_api.find_vesting_delegation_expirations", lambda name: {"account": name}),
    ("database_api.find_withdraw_vesting_routes", lambda name: {"account": name, "order": "by_withdraw_route"}),
    ("database_api.find_limit_orders", lambda name: {"account": name}),
    ("database_api.find_sbd_conversion_requests", lambda name: {"account": name}),
    ("database_api.find_escrows", lambda name: {"from": name}),
    ("database_api.find_savings_withdrawals", lambda name: {"account": name}),
    ("database_api.find_owner_histories", lambda name: {"owner": name}),
    ("database_api.find_account_recovery_requests", lambda name: {"accounts": [name]}),
    ("database_api.find_change_recovery_account_requests", lambda name: {"accounts": [name]}),
    ("database_api.find_decline_voting_rights_requests", lambda name: {"accounts": [name]}),
    ("rc_api.find_rc_accounts", lambda name: {"accounts": [name]}),
    ("condenser_api.get_followers", lambda name: [name, "", "blog", 100]),
    ("condenser_api.get_blog_entries", lambda name: [name, 0, 50]),
    ("bridge.get_profile", lambda name: {"account": name}),
    ("bridge.list_all_subscriptions", lambda name: {"account": name}),
    ("bridge.account_notifications", lambda name: {"account": name, "limit": 50}),
)
OF_POST: tuple[tuple[str, Any], ...] = (
    ("condenser_api.get_content", list),
    ("database_api.find_votes", lambda post: {"author": post[0], "permlink": post[1]}),
    ("bridge.get_discussion", lambda post: {"author": post[0], "permlink": post[1]}),
)

# Ids depend on the order of rows, and the rank of an account on all others.
OMITTED = ("id", "post_id", "rank")


@pytest.fixture(scope="module")
def source() -> LocalChain:
    return town()


def names_of(chain: LocalChain) -> tuple[str, ...]:
    """Return the accounts of people."""
    return tuple(account.name for account in chain.chain.state.accounts if account.name not in (*EMPTY, chain.spec.treasury))


def fork_of(source: LocalChain, flavour: str, path: Path, request: ForkRequest) -> Path:
    """Make a fork file of a chain."""

    async def run() -> None:
        chain, origin = await make_fork(Source(URL, transport=SourceNode(source, flavour).transport()), request, lambda text: None)
        write_fork(chain, path, origin)

    trio.run(run, clock=MockClock(autojump_threshold=0))
    return path


@pytest.fixture(scope="module")
def everybody(source: LocalChain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fork file with all accounts of the town and their posts."""
    request = ForkRequest(accounts=names_of(source), newest_posts=50)
    return fork_of(source, "coind", tmp_path_factory.mktemp("fork") / "f", request)


def without_ids(value: Any) -> Any:
    """Return a reply without ids, and with votes in the order of their voters instead of ids."""
    if isinstance(value, dict):
        return {key: without_ids(inner) for key, inner in value.items() if key not in OMITTED}
    if isinstance(value, list):
        inner = [without_ids(each) for each in value]
        return sorted(inner, key=lambda vote: vote["voter"]) if inner and isinstance(inner[0], dict) and "voter" in inner[0] else inner
    return value


@pytest.mark.parametrize("flavour", ["coind", "steemd"])
def test_accounts_and_posts_are_those_of_the_source(source: LocalChain, flavour: str, tmp_path: Path) -> None:
    names = names_of(source)
    assert len(names) >= 30
    path = fork_of(source, flavour, tmp_path / "f", ForkRequest(accounts=names, newest_posts=50, keys="kept"))
    fork = read_fork(path)
    chain = new_chain(fork.spec, path, fork.spec.plugins)
    validate_invariants(chain.state)
    here, there = SourceNode(chain, "coind"), SourceNode(source, "coind")
    posts = [(post.author, post.permlink) for post in source.chain.state.comments if not post.parent_author]
    assert posts
    calls = [(method, params(name)) for name in names for method, params in OF_ACCOUNT]
    calls += [(method, params(post)) for post in posts for method, params in OF_POST]
    # A steemd has no communities.
    for method, params in [call for call in calls if flavour == "coind" or not call[0].startswith("bridge.")]:
        assert without_ids(answer(here, method, params)) == without_ids(answer(there, method, params)), (method, params)


def answer(node: SourceNode, method: str, params: Any) -> Any:
    """Return the result of a call of a node."""

    async def run() -> Any:
        return await Source(URL, transport=node.transport()).call(method, params)

    return trio.run(run)


def test_posts_are_paid_as_at_the_source(everybody: Path) -> None:
    fork, source = LocalChain(fork=everybody, blocks="manual"), town()
    source.mine()
    before = sum(each.total_payout_value for each in source.chain.state.comments)
    for chain in (fork, source):
        chain.advance(7 * DAY_SECONDS)
    here, there = fork.chain.state, source.chain.state
    assert here.head_time == there.head_time
    for paid in there.comments:
        own = here.comments.by_permlink.find(paid.author, paid.permlink)
        assert (own.total_payout_value, own.curator_payout_value) == (paid.total_payout_value, paid.curator_payout_value)
    assert sum(each.total_payout_value for each in there.comments) > before


def test_the_invariants_hold_after_1000_blocks_and_a_week(everybody: Path) -> None:
    chain = LocalChain(fork=everybody, blocks="manual")
    state = chain.chain.state
    pending = [(post.author, post.permlink) for post in state.comments if post.cashout_time != TIME_MAX and post.net_rshares > 0]
    assert pending
    for number in range(1000):
        chain.broadcast("transfer", {"from": "alice", "to": "bob", "amount": "0.001 COIN", "memo": str(number)})
        chain.mine()
    validate_invariants(state)
    chain.advance(7 * DAY_SECONDS)
    validate_invariants(state)
    assert all(state.comments.by_permlink.find(*key).total_payout_value > 0 for key in pending)


def test_every_kind_of_operation_works(everybody: Path) -> None:
    chain = LocalChain(fork=everybody)
    state = chain.chain.state
    post(chain, "alice", "here")
    chain.broadcast("vote", {"voter": "bob", "author": "alice", "permlink": "here", "weight": 10_000})
    chain.broadcast("vote", {"voter": "bob", "author": "alice", "permlink": "welcome-to-saltmere", "weight": -5_000})
    post(chain, "carol", "re-here", ("alice", "welcome-to-saltmere"))
    order = {"owner": "dave", "orderid": 4711, "amount_to_sell": "5.000 SBD", "min_to_receive": "1.000 COIN", "fill_or_kill": False}
    chain.broadcast("limit_order_create", order | {"expiration": later(chain, DAY_SECONDS)})
    chain.broadcast("withdraw_vesting", {"account": "bob", "vesting_shares": "1300.000000 VESTS"})
    chain.broadcast("delegate_vesting_shares", {"delegator": "erin", "delegatee": "bob", "vesting_shares": "3000.000000 VESTS"})
    chain.broadcast("account_witness_vote", {"account": "frank", "witness": "initminer", "approve": True})
    chain.broadcast("transfer_to_savings", {"from": "grace", "to": "grace", "amount": "2.000 COIN", "memo": ""})
    balance = state.account("bob").balance
    chain.advance(8 * DAY_SECONDS)
    assert state.account("bob").balance > balance
    validate_invariants(state)
    recover(chain, "judy", "heidi")
    chain.advance(30 * DAY_SECONDS)
    validate_invariants(state)


def post(chain: LocalChain, author: str, permlink: str, parent: tuple[str, str] = ("", "news")) -> None:
    """Write a post, or a reply to `parent`."""
    above = {"parent_author": parent[0], "parent_permlink": parent[1]}
    chain.broadcast("comment", above | {"author": author, "permlink": permlink, "title": "", "body": "A text", "json_metadata": ""})


def later(chain: LocalChain, seconds: int) -> str:
    """Return a time after the head, as text."""
    return time_text(chain.chain.state.head_time + seconds)


def recover(chain: LocalChain, name: str, partner: str) -> None:
    """Let an account lose its owner key, and get it back with the help of its recovery partner."""
    keys = {role: getattr(chain.accounts[name], role) for role in ("owner", "active", "posting", "memo")}
    chain.broadcast("change_recovery_account", {"account_to_recover": name, "new_recovery_account": partner, "extensions": []})
    chain.advance(31 * DAY_SECONDS)
    thief = chain.accounts["ivan"].owner
    authority = {"weight_threshold": 1, "account_auths": [], "key_auths": [[thief.public, 1]]}
    update = {"account": name, "owner": authority, "memo_key": keys["memo"].public, "json_metadata": ""}
    chain.broadcast("account_update", update)
    mine = {"weight_threshold": 1, "account_auths": [], "key_auths": [[chain.accounts["alice"].owner.public, 1]]}
    old = {"weight_threshold": 1, "account_auths": [], "key_auths": [[keys["owner"].public, 1]]}
    chain.broadcast("request_account_recovery", {"recovery_account": partner, "account_to_recover": name, "new_owner_authority": mine,
                                                 "extensions": []})  # fmt: skip
    recovery = {"account_to_recover": name, "new_owner_authority": mine, "recent_owner_authority": old, "extensions": []}
    chain.broadcast("recover_account", recovery, keys=[keys["owner"].private, chain.accounts["alice"].owner.private])
    assert chain.chain.state.authority(name).owner.key_auths[0][0] != b""
