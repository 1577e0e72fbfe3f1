"""Random operations of a walk. Most are valid in the current state."""

import json
from collections.abc import Callable, Sequence
from random import Random

from state.operations.accounts import ClaimAccount, CreateClaimedAccount
from state.operations.authorities import AccountUpdate2, ChangeRecoveryAccount, DeclineVotingRights
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries, DeleteComment, Vote
from state.operations.custom import CustomJson
from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowTransfer
from state.operations.market import Convert, LimitOrderCancel, LimitOrderCreate
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.operations.rewards import ClaimRewardBalance
from state.operations.transfers import CancelTransferFromSavings, Transfer, TransferFromSavings, TransferToSavings
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote, FeedPublish, WitnessUpdate
from state.protocol.authority import key_authority
from state.protocol.keys.keys import derive_secret, public_key
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price
from state.tables import State

PASSWORD = "dev"
TAGS = ("life", "coin", "walks")
PERMLINKS = ("again", "and-again")  # permlinks of posts that are edited, deleted and replaced
Draw = Callable[[State, Random, str], Operation]


def key_of(name: str, role: str) -> bytes:
    """Return the public key of a walk account's role."""
    return public_key(derive_secret(name, role, PASSWORD))


def someone(state: State, draw: Random) -> str:
    """Return a random account with known keys."""
    return draw.choice([account.name for account in state.accounts if account.id >= 5 or account.name == "alice"])


def amount(draw: Random, symbol: int = COIN) -> Asset:
    """Return a random amount, mostly small, sometimes more than any account has."""
    return Asset(draw.choice((1, 10, 1000, 12_345, 1_000_000, 2**50)) * (1000 if symbol == VESTS else 1), symbol)


def random_post(state: State, draw: Random) -> tuple[str, str]:
    """Return a random comment, sometimes a nonexistent one."""
    rows = state.comments.sample(50)
    if not rows:
        return "alice", "nothing"
    row = draw.choice(sorted(rows, key=lambda row: row.id))
    return row.author, row.permlink


def number(draw: Random) -> str:
    """Return a random word of ten hex digits."""
    return f"{draw.getrandbits(40):010x}"


# ------------------------------------------------------------------ signed with the posting key


def post(state: State, draw: Random, name: str) -> Operation:
    tags = json.dumps({"tags": draw.sample(TAGS, 2)})
    return Comment("", draw.choice(TAGS), name, f"p{number(draw)}", "A title", "word " * draw.randint(1, 40), tags)


def write_again(state: State, draw: Random, name: str) -> Operation:
    """Write a post under one of a few permlinks: a new post, an edit with other tags, or a replacement of a deleted post."""
    permlink, tags = draw.choice(PERMLINKS), draw.sample(TAGS, draw.randint(0, 3))
    row = state.comments.by_permlink.get(name, permlink)
    category = draw.choice(TAGS) if row is None else row.parent_permlink
    return Comment("", category, name, permlink, "A title", f"text {number(draw)}", json.dumps({"tags": tags}))


def reply(state: State, draw: Random, name: str) -> Operation:
    return Comment(*random_post(state, draw), name, f"re{number(draw)}", "", "An answer", "{}")


def vote(state: State, draw: Random, name: str) -> Operation:
    return Vote(name, *random_post(state, draw), draw.choice((10_000, 5_000, 1, -1_000)))


def delete(state: State, draw: Random, name: str) -> Operation:
    rows = sorted((row for row in state.comments.sample(50) if row.author == name), key=lambda row: row.id)
    return DeleteComment(name, draw.choice(rows).permlink if rows else "nothing")


def options(state: State, draw: Random, name: str) -> Operation:
    author, permlink = random_post(state, draw)
    shares = CommentPayoutBeneficiaries((Beneficiary(someone(state, draw), draw.randint(1, 10_000)),))
    return CommentOptions(author, permlink, Asset(1000, SBD), draw.choice((0, 5_000, 10_000)), True, True, (shares,))


def follow(state: State, draw: Random, name: str) -> Operation:
    what = draw.choice((["blog"], ["ignore"], []))
    return posting_json(name, "follow", ["follow", {"follower": name, "following": someone(state, draw), "what": what}])


def reblog(state: State, draw: Random, name: str) -> Operation:
    author, permlink = random_post(state, draw)
    return posting_json(name, "follow", ["reblog", {"account": name, "author": author, "permlink": permlink}])


def subscribe(state: State, draw: Random, name: str) -> Operation:
    return posting_json(name, "community", ["subscribe", {"community": "coin-123456"}])


def posting_json(name: str, custom_id: str, value: object) -> Operation:
    return CustomJson((), (name,), custom_id, json.dumps(value))


def claim_reward(state: State, draw: Random, name: str) -> Operation:
    row = state.account(name)
    coin, sbd, vests = row.reward_coin_balance, row.reward_sbd_balance, row.reward_vesting_balance
    return ClaimRewardBalance(name, Asset(coin, COIN), Asset(sbd, SBD), Asset(vests // draw.choice((1, 2)), VESTS))


# ------------------------------------------------------------------ signed with the active key


def transfer(state: State, draw: Random, name: str) -> Operation:
    to = draw.choice((someone(state, draw), someone(state, draw), "null"))
    return Transfer(name, to, amount(draw, draw.choice((COIN, SBD))), number(draw))


def promote(state: State, draw: Random, name: str) -> Operation:
    author, permlink = random_post(state, draw)
    return Transfer(name, "null", amount(draw, SBD), f"@{author}/{permlink}")


def power_up(state: State, draw: Random, name: str) -> Operation:
    return TransferToVesting(name, someone(state, draw), amount(draw))


def power_down(state: State, draw: Random, name: str) -> Operation:
    return WithdrawVesting(name, draw.choice((amount(draw, VESTS), Asset(0, VESTS))))


def route(state: State, draw: Random, name: str) -> Operation:
    return SetWithdrawVestingRoute(name, someone(state, draw), draw.choice((0, 100, 5_000)), draw.random() < 0.5)


def delegate(state: State, draw: Random, name: str) -> Operation:
    return DelegateVestingShares(name, someone(state, draw), Asset(draw.choice((0, 10**9, 10**10, 10**12)), VESTS))


def order(state: State, draw: Random, name: str) -> Operation:
    sell, receive = draw.choice(((COIN, SBD), (SBD, COIN)))
    much = draw.randint(100, 5000)
    lasting = state.head_time + draw.choice((30, 3600, 86_400))
    return LimitOrderCreate(
        name, draw.getrandbits(16), Asset(much, sell), Asset(much * draw.randint(20, 400) // 100, receive), False, lasting
    )


def cancel(state: State, draw: Random, name: str) -> Operation:
    rows = sorted((row for row in state.limit_orders.sample(50) if row.seller == name), key=lambda row: row.id)
    return LimitOrderCancel(name, draw.choice(rows).orderid if rows else 1)


def convert(state: State, draw: Random, name: str) -> Operation:
    return Convert(name, draw.getrandbits(16), amount(draw, SBD))


def save(state: State, draw: Random, name: str) -> Operation:
    return TransferToSavings(name, someone(state, draw), amount(draw, draw.choice((COIN, SBD))), "")


def take_saved(state: State, draw: Random, name: str) -> Operation:
    return TransferFromSavings(name, draw.randint(0, 5), someone(state, draw), amount(draw, draw.choice((COIN, SBD))), "")


def leave_saved(state: State, draw: Random, name: str) -> Operation:
    return CancelTransferFromSavings(name, draw.randint(0, 5))


def escrow(state: State, draw: Random, name: str) -> Operation:
    now = state.head_time
    until = now + draw.choice((10, 100, 4000))
    fee = Asset(1, COIN)
    return EscrowTransfer(name, someone(state, draw), Asset(10, SBD), amount(draw), draw.randint(0, 3), "judy", fee, "", until, until + 100)


def approve(state: State, draw: Random, name: str) -> Operation:
    for row in sorted(state.escrows.sample(50), key=lambda row: row.id):
        if name in (row.to, row.agent):
            kind = EscrowDispute if row.is_approved else EscrowApprove
            return kind(row.from_, row.to, row.agent, name, row.escrow_id)
    return EscrowDispute("alice", "bob", "judy", name, 1)


def feed(state: State, draw: Random, name: str) -> Operation:
    return FeedPublish(name, Price(Asset(draw.randint(100, 900), SBD), Asset(1000, COIN)))


def witness(state: State, draw: Random, name: str) -> Operation:
    return WitnessUpdate(name, "https://coin.example", key_of(name, draw.choice(("active", "posting"))))


def witness_vote(state: State, draw: Random, name: str) -> Operation:
    rows = sorted(state.witnesses.sample(50), key=lambda row: row.id)
    return AccountWitnessVote(name, draw.choice(rows).owner, draw.random() < 0.8)


def proxy(state: State, draw: Random, name: str) -> Operation:
    return AccountWitnessProxy(name, draw.choice(("", someone(state, draw))))


def claim_account(state: State, draw: Random, name: str) -> Operation:
    return ClaimAccount(name, draw.choice((Asset(0, COIN), state_fee(state))))


def state_fee(state: State) -> Asset:
    return Asset(state.schedule.median_props.account_creation_fee, COIN)


def create(state: State, draw: Random, name: str) -> Operation:
    new = draw.choice(("coin-123456", f"w{number(draw)}"))
    owner, active, posting = [key_authority(key_of(new, role)) for role in ("owner", "active", "posting")]
    return CreateClaimedAccount(name, new, owner, active, posting, key_of(new, "memo"), "")


def change_posting(state: State, draw: Random, name: str) -> Operation:
    return AccountUpdate2(name, posting=state.authority(name).posting, json_metadata="", posting_json_metadata=f'{{"n":"{number(draw)}"}}')


def change_partner(state: State, draw: Random, name: str) -> Operation:
    return ChangeRecoveryAccount(name, someone(state, draw))


def propose(state: State, draw: Random, name: str) -> Operation:
    start = state.head_time + draw.choice((1, 60))
    posts = [row.permlink for row in sorted(state.comments.sample(50), key=lambda row: row.id) if row.author == name]
    permlink = draw.choice(posts) if posts else "nothing"
    return CreateProposal(name, someone(state, draw), start, start + draw.choice((90_000, 200_000)), Asset(1000, SBD), "A plan", permlink)


def vote_proposal(state: State, draw: Random, name: str) -> Operation:
    return UpdateProposalVotes(name, tuple(sorted(draw.sample(range(6), 2))), draw.random() < 0.8)


def remove_proposal(state: State, draw: Random, name: str) -> Operation:
    return RemoveProposal(name, (draw.randint(0, 5),))


POSTING: Sequence[tuple[Draw, int]] = (
    (post, 4),
    (write_again, 4),
    (reply, 4),
    (vote, 10),
    (delete, 2),
    (options, 1),
    (follow, 2),
    (reblog, 2),
    (subscribe, 1),
    (claim_reward, 2),
)
ACTIVE: Sequence[tuple[Draw, int]] = (
    (transfer, 8),
    (promote, 2),
    (power_up, 2),
    (power_down, 2),
    (route, 1),
    (delegate, 3),
    (order, 6),
    (cancel, 1),
    (convert, 1),
    (save, 2),
    (take_saved, 2),
    (leave_saved, 1),
    (escrow, 2),
    (approve, 2),
    (feed, 1),
    (witness, 2),
    (witness_vote, 3),
    (proxy, 1),
    (claim_account, 2),
    (create, 2),
    (change_posting, 1),
    (change_partner, 1),
    (propose, 1),
    (vote_proposal, 1),
    (remove_proposal, 1),
)
ROLES: dict[str, Sequence[tuple[Draw, int]]] = {"posting": POSTING, "active": ACTIVE}


def operations(state: State, draw: Random) -> tuple[list[Operation], str, str]:
    """Return random operations for a transaction, with the account and the role that sign it."""
    name, role = someone(state, draw), draw.choice(tuple(ROLES))
    if draw.random() < 0.01:
        return [DeclineVotingRights(name, decline=True)], name, "owner"
    makers, weights = zip(*ROLES[role], strict=True)
    chosen = draw.choices(makers, weights, k=draw.choice((1, 1, 1, 2, 3)))
    return [make(state, draw, name) for make in chosen], name, role
