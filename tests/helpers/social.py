"""A chain with posts, votes and followers, made by operations, behind the RPC service, for tests of the methods that websites call."""

import json
from collections.abc import Sequence

from state.chain.hardforks import set_hardfork
from state.effects.voting import post_fund
from state.operations.content import Comment, Vote
from state.operations.custom import CustomJson
from state.protocol.values.asset import COIN, SBD, Asset, Price
from state.tables import content
from tests.helpers.api import NOW, ApiChain
from tests.helpers.chains import NEWEST, add_account, apply, move_to

PEOPLE = ("alice", "bob", "carol", "dave")
PLUGINS = ("account_history", "reputation", "follow", "tags")
FIVE_MINUTES = 303


def social_site(plugins: Sequence[str] = PLUGINS) -> ApiChain:
    """A chain with all hardforks and four accounts with VESTS. Its reward fund has 1,000 COIN and 10^15 claims, and 1 COIN is worth 0.25
    SBD.
    """
    api = ApiChain(plugins=plugins)
    state = api.state
    set_hardfork(state, NEWEST, apply_now=True)
    state.set_props(head_block_number=1000, time=NOW)
    for name in PEOPLE:
        add_account(state, name, vesting_shares=10**15)
    state.reward_funds.modify(post_fund(state), reward_balance=1_000_000, recent_claims=10**15)
    state.feed_histories.modify(state.feed, current_median_history=Price(Asset(250, SBD), Asset(1000, COIN)))
    return api


def post(
    api: ApiChain, author: str, permlink: str, *tags: str, parent: tuple[str, str] = ("", "life"), title: str = "", body: str = "text"
) -> content.Comment:
    """Write a post, or a reply to `parent`, five minutes after the head block's time."""
    move_to(api.state, api.state.head_time + FIVE_MINUTES)
    metadata = json.dumps({"tags": tags}) if tags else ""
    fields = {"title": title or permlink, "body": body, "json_metadata": metadata}
    apply(api.chain, Comment(parent_author=parent[0], parent_permlink=parent[1], author=author, permlink=permlink, **fields))
    return api.state.comments.by_permlink.find(author, permlink)


def vote(api: ApiChain, voter: str, author: str, permlink: str, weight: int = 10_000) -> content.CommentVote:
    """Cast a vote one block after the head block's time."""
    move_to(api.state, api.state.head_time + 3)
    apply(api.chain, Vote(voter=voter, author=author, permlink=permlink, weight=weight))
    state = api.state
    votes = state.comment_votes.by_comment_voter
    return votes.find(state.comments.by_permlink.find(author, permlink).id, state.account(voter).id)


def tell_follow(api: ApiChain, actor: str, *operation: object) -> None:
    """Apply a custom operation of the follow plugin, one block after the head block's time."""
    move_to(api.state, api.state.head_time + 3)
    apply(api.chain, CustomJson(required_posting_auths=(actor,), id="follow", json=json.dumps(operation)))


def follow(api: ApiChain, follower: str, following: str, *what: str) -> None:
    tell_follow(api, follower, "follow", {"follower": follower, "following": following, "what": what})


def reblog(api: ApiChain, account: str, author: str, permlink: str) -> None:
    tell_follow(api, account, "reblog", {"account": account, "author": author, "permlink": permlink})
