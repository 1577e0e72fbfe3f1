"""The most expensive known field values of each operation, where the search starts."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, ClaimAccount, CreateClaimedAccount
from state.operations.authorities import (
    AccountUpdate,
    AccountUpdate2,
    ChangeRecoveryAccount,
    DeclineVotingRights,
    RequestAccountRecovery,
)
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries, DeleteComment, Vote
from state.operations.custom import Custom, CustomBinary, CustomJson
from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowRelease, EscrowTransfer
from state.operations.market import Convert, LimitOrderCancel, LimitOrderCreate, LimitOrderCreate2
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.operations.rewards import ClaimRewardBalance
from state.operations.transfers import CancelTransferFromSavings, Transfer, TransferFromSavings, TransferToSavings
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote, FeedPublish, WitnessSetProperties, WitnessUpdate
from state.protocol.authority import key_authority
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price
from tests.dearest.genes import Counting, Gene
from tests.dearest.world import KEY, LONG, NOW, World

Samples = dict[type[Operation], list[dict[str, Gene]]]

FAR = NOW + 10**6
C, S, V = Asset(1, COIN), Asset(1, SBD), Asset(10**10, VESTS)
NO_COIN, NO_SBD, FEE = Asset(0, COIN), Asset(0, SBD), Asset(1000, COIN)
OWN = key_authority(KEY)
AUTHORITIES = {"owner": OWN, "active": OWN, "posting": OWN, "memo_key": KEY, "json_metadata": ""}
ON_OFF, COUNT, FRESH, REPLIES = [True, False], Counting(0), Counting("new-"), Counting("re-")


def with_(**fields: Any) -> dict[str, Gene]:
    """Return a gene for each field: the elements of a list are used in turn, and any other value is constant."""
    return {name: tuple(value) if isinstance(value, list) else (value,) for name, value in fields.items()}


@cache
def samples(world: World) -> Samples:
    return content(world) | market(world) | governance(world) | payments(world) | accounts(world)


def each(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return one single-element tuple for each name."""
    return [(name,) for name in names]


def content(world: World) -> Samples:
    """Return samples of posts, votes and custom operations."""
    users, posts = world.users, [f"post-{i}" for i in range(world.sizes.posts) if i % 4]
    reblog = [{"account": "star", "author": user, "permlink": f"post-{i * 4}"} for i, user in enumerate(users)]
    reblogs = [json.dumps([["reblog", reblog[(i * 60 + n) % len(reblog)]] for n in range(60)]) for i in range(len(users) // 60 + 1)]
    post = {"parent_author": "", "title": "", "permlink": FRESH, "json_metadata": ""}
    few = (CommentPayoutBeneficiaries(tuple(Beneficiary(name, 10) for name in sorted(users)[:8])),)
    allowed = {"percent_coin_dollars": 10_000, "allow_votes": True, "allow_curation_rewards": True, "extensions": few}
    return {
        Vote: [
            with_(voter=users, author="star", permlink=posts, weight=10_000),
            with_(voter="star", author=users, permlink=REPLIES, weight=1),
        ],
        Comment: [
            with_(parent_permlink=world.communities[0], author=users, body=LONG, **post),
            with_(parent_permlink="life", author="star", body="b", **post),
            with_(parent_permlink="post-1", author=users, body="b", **post | {"parent_author": "star"}),
        ],
        CustomJson: [
            with_(required_auths=(), required_posting_auths=("star",), id="follow", json=reblogs),
            with_(required_auths=(), required_posting_auths=each(users), id=["follow", "community"]),
        ],
        Custom: [with_(required_auths=each(users), id=1, data=b"x")],
        CustomBinary: [with_(required_owner_auths=(), required_active_auths=(), required_posting_auths=each(users), required_auths=())],
        DeleteComment: [with_(author=users, permlink=REPLIES), with_(author="star", permlink=posts)],
        CommentOptions: [with_(author="star", permlink=posts, max_accepted_payout=Asset(1000, SBD), **allowed)],
    }


def market(world: World) -> Samples:
    """Return samples of conversions and of orders that match many others, one or none."""
    voter, count = world.voters[0], world.sizes.orders
    kill = {"owner": voter, "orderid": COUNT, "expiration": FAR}
    price = Price(Asset(9, SBD), C)
    return {
        LimitOrderCreate: [
            with_(amount_to_sell=Asset(count, SBD), min_to_receive=Asset(count, COIN), fill_or_kill=True, **kill),
            with_(amount_to_sell=Asset(count * 7, SBD), min_to_receive=C, fill_or_kill=False, **kill),
            with_(amount_to_sell=S, min_to_receive=C, fill_or_kill=False, **kill),
            with_(amount_to_sell=C, min_to_receive=Asset(1000, SBD), fill_or_kill=False, **kill),
        ],
        LimitOrderCreate2: [with_(amount_to_sell=Asset(count * 7, SBD), exchange_rate=price, fill_or_kill=False, **kill)],
        LimitOrderCancel: [with_(owner="maker", orderid=COUNT)],
        Convert: [with_(owner=voter, requestid=COUNT, amount=S)],
        FeedPublish: [with_(publisher=world.witnesses, exchange_rate=Price(Asset(250, SBD), Asset(1000, COIN)))],
    }


def governance(world: World) -> Samples:
    """Return samples of witness, proxy and proposal operations."""
    voter, ids = world.voters[0], [tuple(range(i, i + 5)) for i in range(0, world.sizes.proposals, 5)]
    plan = {"receiver": "owner", "start_date": NOW + 60, "end_date": FAR, "daily_pay": S, "subject": "s", "permlink": "plan"}
    return {
        WitnessUpdate: [with_(owner=world.witnesses, url="u", block_signing_key=KEY, fee=NO_COIN)],
        WitnessSetProperties: [with_(owner=world.witnesses, props=(("key", KEY), ("url", b"\1u")), extensions=())],
        AccountWitnessVote: [
            with_(account="owner", witness=world.witnesses[:30], approve=True),
            with_(account="chained-5", witness=world.witnesses[0], approve=ON_OFF),
        ],
        AccountWitnessProxy: [
            with_(account=voter, proxy=["star", ""]),
            with_(account=voter, proxy=["chained-0", ""]),
            with_(account="star", proxy=[voter, ""]),
        ],
        CreateProposal: [with_(creator="owner", extensions=(), **plan)],
        UpdateProposalVotes: [with_(voter=world.users, proposal_ids=[(1, 2, 3, 4, 5)], approve=ON_OFF, extensions=())],
        RemoveProposal: [with_(proposal_owner="owner", proposal_ids=ids, extensions=())],
    }


def payments(world: World) -> Samples:
    """Return samples of transfers, vesting, savings, escrows and rewards."""
    users, voter = world.users, world.voters[0]
    until = {"ratification_deadline": NOW + 600, "escrow_expiration": NOW + 700, "json_meta": ""}
    deal = {"from_": "star", "to": users, "agent": "owner", "escrow_id": COUNT}
    return {
        Transfer: [with_(from_=voter, to=users, amount=C, memo="m" * 20), with_(from_="star", to="null", amount=S, memo=["@star/post-1"])],
        TransferToVesting: [with_(from_=voter, to=voter, amount=C), with_(from_=voter, to="chained-0", amount=C)],
        WithdrawVesting: [with_(account=voter, vesting_shares=[V, Asset(0, VESTS)])],
        SetWithdrawVestingRoute: [with_(from_account="star", to_account=users[:10], percent=[100, 1000], auto_vest=True)],
        DelegateVestingShares: [
            with_(delegator=voter, delegatee=users, vesting_shares=V),
            with_(delegator="star", delegatee=users, vesting_shares=Asset(0, VESTS)),
        ],
        TransferToSavings: [with_(from_=voter, to=users, amount=C, memo="")],
        TransferFromSavings: [with_(from_=users, request_id=COUNT, to="star", amount=C, memo="")],
        CancelTransferFromSavings: [with_(from_="star", request_id=COUNT)],
        EscrowTransfer: [with_(sbd_amount=NO_SBD, coin_amount=C, fee=C, **until, **deal | {"from_": voter})],
        EscrowApprove: [with_(who="owner", approve=ON_OFF, **deal)],
        EscrowDispute: [with_(who="star", **deal)],
        EscrowRelease: [with_(who="star", receiver=users, sbd_amount=NO_SBD, coin_amount=C, **deal)],
        ClaimRewardBalance: [with_(account=users, reward_coin=NO_COIN, reward_sbd=NO_SBD, reward_vests=Asset(1, VESTS))],
    }


def accounts(world: World) -> Samples:
    """Return samples of account creation and account changes."""
    users, new = world.users, {"creator": world.voters[0], "new_account_name": FRESH}
    return {
        AccountCreate: [with_(fee=FEE, **new, **AUTHORITIES)],
        AccountCreateWithDelegation: [with_(fee=FEE, delegation=V, **new, **AUTHORITIES)],
        ClaimAccount: [with_(creator=world.voters[0], fee=NO_COIN, extensions=())],
        CreateClaimedAccount: [with_(extensions=(), **new, **AUTHORITIES)],
        AccountUpdate: [with_(account=users, **AUTHORITIES)],
        AccountUpdate2: [with_(account=users, extensions=(), posting_json_metadata="", **AUTHORITIES)],
        RequestAccountRecovery: [with_(recovery_account="", account_to_recover=users, new_owner_authority=OWN, extensions=())],
        ChangeRecoveryAccount: [with_(account_to_recover=users, new_recovery_account=["star", "owner"], extensions=())],
        DeclineVotingRights: [with_(account=users, decline=ON_OFF)],
    }
