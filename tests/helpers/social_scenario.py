"""The scenario of tests/vectors/social.json. The scenario's steps set state directly and call the social index. The calls of RPC methods go
through the RPC service, and every result must have the declared shape.
"""

import json
from bisect import bisect_right
from calendar import timegm
from time import strptime
from typing import Any

import rpc.api
import state.operations
from rpc.declare.method import METHODS
from rpc.jsonrpc.dispatch import Service
from state.chain.genesis import new_state
from state.chain.hardforks import set_hardfork
from state.effects.interpreters import interpret
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.custom import CustomJson
from state.operations.transfers import Transfer
from state.plugins.follow.plugin import FOLLOW
from state.plugins.registry import enable
from state.plugins.reputation import Reputation
from state.plugins.social.chain_reader import RANKS, ChainReader, Worth
from state.plugins.social.communities.actions import on_custom_json
from state.plugins.social.index import Social
from state.plugins.social.plugin import COMMUNITIES, register
from state.plugins.social.posts import placement as social_posts
from state.protocol.constants import TIME_MAX
from state.protocol.values.asset import SBD, Asset
from state.protocol.virtual import CommentPayoutUpdate
from state.tables import State
from state.tables.accounts import Account, AccountMetadata
from state.tables.content import Comment as CommentRow
from state.tables.content import CommentVote
from state.tables.texts import CommentContent
from tests.conftest import VECTORS, read_json
from tests.helpers.chains import genesis_spec
from tests.helpers.method_coverage import watched
from tests.helpers.shapes import mismatches, shapes

assert rpc.api
assert state.operations

SOCIAL = read_json(VECTORS / "social.json")
SHAPES = shapes()
PAYOUT_SECONDS = 7 * 86400
NEWEST = 23


def seconds(text: str) -> int:
    """Parse a time."""
    return timegm(strptime(text, "%Y-%m-%dT%H:%M:%S"))


def thousandths(text: str) -> int:
    """Parse an SBD amount into thousandths."""
    return int(text.split()[0].replace(".", ""))


def class_of_rank(rank: int | None) -> int:
    """Return the class of a rank. None, for an account without a rank, belongs to the last class."""
    return len(RANKS) if rank is None else bisect_right(RANKS, rank)


class GivenChain(ChainReader):
    """A chain reader that returns the ranks, reputations and pending payouts that the test provides."""

    def __init__(self) -> None:
        self.ranks: dict[str, int | None] = {}
        self.pending: dict[int, int] = {}

    def rank(self, state: State, account: Account) -> int | None:
        """Return the rank that the test provided."""
        return self.ranks.get(account.name)

    def rank_class(self, state: State, account: Account) -> int:
        """Return the class of the rank that the test provided."""
        return class_of_rank(self.rank(state, account))

    def earning(self, state: State, comment: CommentRow) -> int:
        """Return the payout that the test provided."""
        return self.pending.get(comment.id, 0)

    def worth(self, state: State) -> Worth:
        """Return a function that returns its argument, because the test provides payouts instead of earnings."""
        return lambda earning: earning


class SocialScenario:
    """A state with the social index, and its RPC service."""

    def __init__(self, spec: str = "testnet") -> None:
        self.state = new_state(genesis_spec(spec), prepare=lambda state: enable(state, (FOLLOW.name, COMMUNITIES.name)))
        set_hardfork(self.state, NEWEST, apply_now=True)
        self.social: Social = COMMUNITIES.of(self.state)
        self.facts = self.social.facts = GivenChain()
        names = [method for method in watched(METHODS.values()) if method.group == "bridge"]
        self.service = Service(names, wire=self.state.wire, state=self.state)

    # -------------------------------------------------------------- facts and events

    def at(self, time: str) -> None:
        self.state.set_props(time=seconds(time))

    def account(self, name: str, rank: int | None = None, reputation: int = 0, vote_weight: float = 0, metadata: str = "") -> Account:
        state = self.state
        shares = round(vote_weight * 10**6)
        row = state.accounts.by_name.get(name)
        if row is None:
            row = state.accounts.insert(Account(name=name, created=state.head_time, mined=False))
            state.account_metadata.insert(AccountMetadata(account=row.id, json_metadata=metadata))
        state.accounts.modify(row, vesting_shares=shares, created=state.head_time)
        self.facts.ranks[name] = rank
        if reputation:
            FOLLOW.of(state).reputations.insert(Reputation(account=name, reputation=reputation))
        self.social.dirty.name(name)
        register(state, self.social, name)
        return row

    def comment(self, **fields: str) -> CommentRow:
        """Write or edit a post or reply. The fields are those of the operation, with the body "text" by default."""
        state, operation = self.state, Comment(**{"body": "text"} | fields)
        row = state.comments.by_permlink.get(operation.author, operation.permlink)
        texts: dict[str, Any] = {"title": operation.title, "body": operation.body, "json_metadata": operation.json_metadata}
        now = state.head_time
        if row is None:
            parent = state.comments.by_permlink.get(operation.parent_author, operation.parent_permlink)
            place: dict[str, Any] = {"category": operation.parent_permlink, "root_comment": state.comments.next_id}
            if parent is not None:
                place = {"category": parent.category, "root_comment": parent.root_comment, "depth": parent.depth + 1}
                place |= {"parent_author": parent.author, "parent_permlink": parent.permlink}
                self.count(parent, 1)
            times: dict[str, Any] = {"created": now, "last_update": now, "cashout_time": now + PAYOUT_SECONDS}
            row = state.comments.insert(CommentRow(author=operation.author, permlink=operation.permlink, **place, **times))
            state.comment_contents.insert(CommentContent(comment=row.id, **texts))
        else:
            state.comments.modify(row, last_update=now)
            state.comment_contents.modify(state.comment_contents.by_comment.find(row.id), **texts)
        social_posts.on_comment(state, self.social, operation)
        return row

    def count(self, parent: CommentRow | None, change: int) -> None:
        """Add `change` to the descendant counts of a comment and its ancestors."""
        comments = self.state.comments
        while parent is not None:
            comments.modify(parent, children=parent.children + change)
            parent = comments.by_permlink.get(parent.parent_author, parent.parent_permlink)

    def delete(self, author: str, permlink: str) -> None:
        comments = self.state.comments
        row = comments.by_permlink.find(author, permlink)
        self.count(comments.by_permlink.get(row.parent_author, row.parent_permlink), -1)
        operation = DeleteComment(author=author, permlink=permlink)
        social_posts.remember_deleted(self.state, self.social, operation)
        comments.remove(row)
        social_posts.mark_deleted(self.state, self.social, operation)

    def vote(self, voter: str, author: str, permlink: str, rshares: int, net_rshares: int, pending: int) -> None:
        """Cast a vote. The arguments give the results that the chain would compute."""
        state = self.state
        row = state.comments.by_permlink.find(author, permlink)
        account = state.accounts.by_name.find(voter)
        state.comment_votes.insert(CommentVote(voter=account.id, comment=row.id, rshares=rshares, last_update=state.head_time))
        state.comments.modify(row, net_rshares=net_rshares)
        self.facts.pending[row.id] = pending
        social_posts.on_vote(state, self.social, Vote(voter=voter, author=author, permlink=permlink))

    def pay(self, author: str, permlink: str, total: int, curators: int) -> None:
        state = self.state
        row = state.comments.by_permlink.find(author, permlink)
        paid = {"net_rshares": 0, "cashout_time": TIME_MAX, "last_payout": state.head_time}
        state.comments.modify(row, total_payout_value=total, curator_payout_value=curators, **paid)
        self.facts.pending[row.id] = 0
        social_posts.on_payout(state, self.social, CommentPayoutUpdate(author=author, permlink=permlink))

    def custom(self, **fields: Any) -> None:
        """Apply a custom operation, first to the chain's own plugins, then to the social index."""
        operation = CustomJson(**fields)
        interpret(self.state, operation)
        on_custom_json(self.state, self.social, operation)

    def act(self, actor: str, value: Any, custom_id: str = "community") -> None:
        """Apply a custom operation of an account."""
        self.custom(id=custom_id, json=json.dumps(value), required_posting_auths=(actor,))

    def transfer(self, sender: str, to: str, amount: Asset, memo: str) -> None:
        social_posts.promote(self.state, self.social, Transfer(from_=sender, to=to, amount=amount, memo=memo))

    def step(self, step: dict[str, Any]) -> None:
        """Apply a step of the scenario."""
        self.at(step["block_time"])
        after, op = step.get("after", {}), step.get("op", {})
        match step["type"]:
            case "account":
                self.account(step["name"], step["rank"], int(step["reputation"]), step["vote_weight"])
            case "comment":
                self.comment(**op)
            case "delete_comment":
                self.delete(**op)
            case "vote":
                names = step["voter"], step["author"], step["permlink"]
                self.vote(*names, step["rshares"], after["net_rshares"], thousandths(after["pending_payout_value"]))
            case "payout":
                totals = thousandths(after["total_payout_value"]), thousandths(after["curator_payout_value"])
                self.pay(step["author"], step["permlink"], *totals)
            case "transfer":
                self.transfer(op["from"], op["to"], Asset(thousandths(op["amount"]), SBD), op["memo"])
            case _:
                self.custom(
                    id=op["id"],
                    json=op["json"],
                    required_auths=tuple(op["required_auths"]),
                    required_posting_auths=tuple(op["required_posting_auths"]),
                )

    # -------------------------------------------------------------- questions

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Return the response to a call. A result must have its declared shape."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.service.answer(json.dumps(request).encode())
        assert isinstance(answer, bytes)
        reply: dict[str, Any] = json.loads(answer)
        if reply.get("result") is not None:
            assert list(mismatches(SHAPES[method], reply["result"])) == []
        return reply

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the `bridge` group and return its result."""
        reply = self.ask(f"bridge.{method}", params)
        assert "result" in reply, reply
        return reply["result"]

    def refused(self, method: str, params: Any) -> str:
        """Return the error text of a refused call."""
        error = self.ask(f"bridge.{method}", params)["error"]
        assert (error["code"], error["message"]) == (-32602, "Invalid parameters")
        return str(error["data"])


def scenario() -> SocialScenario:
    """The scenario after all of its steps, at the time at which its calls are made."""
    world, given = SocialScenario(), SOCIAL["scenario"]
    for step in given["steps"]:
        world.step(step)
    world.at(given["head_time"])
    world.state.set_props(total_vesting_fund_coin=round(given["coin_per_mvest"] * 1000), total_vesting_shares=10**12)
    return world
