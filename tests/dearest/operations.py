"""Recipes of transactions: which operations, how often, with what in their fields; and how a recipe is changed.

A field has a list of values that take turns from one operation to the next, or a text or number that counts on.
"""

from __future__ import annotations

import json

from random import Random
from typing import Any

from msgspec import Struct, structs

import state.operations.smt
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, ClaimAccount, CreateClaimedAccount
from state.operations.authorities import AccountUpdate, AccountUpdate2, ChangeRecoveryAccount, DeclineVotingRights, RequestAccountRecovery
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries, DeleteComment, Vote
from state.operations.custom import Custom, CustomBinary, CustomJson
from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowRelease, EscrowTransfer
from state.operations.market import Convert, LimitOrderCancel, LimitOrderCreate, LimitOrderCreate2
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.operations.rewards import ClaimRewardBalance
from state.operations.transfers import CancelTransferFromSavings, Transfer, TransferFromSavings, TransferToSavings
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote, FeedPublish, WitnessSetProperties, WitnessUpdate
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import (
    AssetKind,
    Blob,
    Bounded,
    ChainVariant,
    Choice,
    Flag,
    Hash,
    Int,
    Key,
    Many,
    Maybe,
    Pairs,
    PriceKind,
    Release,
    Seconds,
    ShareAmount,
    String,
    SymbolKind,
    Tagged,
    Variant,
)
from state.protocol.codec.kinds.containers import ordered, pair_key, sort_key
from state.protocol.errors import ChainError
from state.protocol.keys.authority import Authority, key_authority
from state.protocol.keys.keys import public_key, secret_from_seed
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price, symbol_from_digits
from tests.dearest.world import KEY, LONG, MEMBERS, NOW, SECRET, World

SIZE_MAX = 130_000
COUNT_MAX = 12_000
SIGNATURES_MAX = 1900
NUMBERS = (0, 1, -1, 2, 5, 10, 100, 1000, 10_000, -10_000, 10**6, 10**9, 10**12, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
TIMES = (0, NOW, NOW + 3, NOW + 30, NOW + 61, NOW + 200, NOW + 86_400, NOW + 10**6, 2**32 - 1)
LENGTHS = (0, 1, 10, 16, 100, 255, 256, 2000, 8000, 60_000, 120_000)
LISTS = (0, 1, 2, 5, 10, 39, 40, 127, 255, 1000, 4000)
CLASSES = tuple(cls for _, cls in sorted(OPERATIONS.items()) if not cls.VIRTUAL)
SECRETS = tuple(secret_from_seed(f"other {i}") for i in range(SIGNATURES_MAX))
CUSTOM_IDS = ("follow", "community", "notify", "rc", "other")

Gene = tuple[Any, ...]
Given = dict[str, Gene]


class Counting(Struct, frozen=True):
    """The only value of a gene that counts on: a number, or a text that a number follows."""

    begin: Any

    def at(self, i: int) -> Any:
        """Return the value of an operation by its place."""
        return self.begin + i if isinstance(self.begin, int) else f"{self.begin}{i}"


class Part(Struct, frozen=True):
    """A kind of operation with its fields."""

    cls: type[Operation]
    genes: Given

    def operation(self, i: int) -> Operation:
        """Return the operation at a place."""
        return self.cls(**{name: value_at(gene, i) for name, gene in self.genes.items()})


def value_at(gene: Gene, i: int) -> Any:
    """Return a gene's value at a place."""
    return gene[0].at(i) if isinstance(gene[0], Counting) else gene[i % len(gene)]


class Recipe(Struct, frozen=True):
    """A transaction: parts that take turns, at most so many bytes, so many signatures, and in which form it is sent."""

    parts: tuple[Part, ...]
    size: int = SIZE_MAX
    signatures: int = 1
    is_legacy: bool = False

    @property
    def kind(self) -> str:
        """What it is made of."""
        return "+".join(part.cls.NAME for part in self.parts)

    def transaction(self, world: World) -> SignedTransaction:
        """Return the signed transaction. Raises what packing raises for values that no bytes can hold."""
        made: list[Operation] = []
        pack, size, room = world.state.wire.codecs.packer(state_kind()), 0, self.size - 65 * self.signatures
        while len(made) < COUNT_MAX:
            one = self.parts[len(made) % len(self.parts)].operation(len(made))
            size += len(pack(one))
            if made and size > room:
                break
            made.append(one)
        return world.transaction(tuple(made), (SECRET, *SECRETS)[: self.signatures])

    def body(self, world: World) -> bytes:
        """Return the broadcast."""
        given = world.state.wire.transaction_to_json(self.transaction(world), self.is_legacy)
        method, params = "network_broadcast_api.broadcast_transaction", {"trx": given}
        if self.is_legacy:
            return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "condenser_api.broadcast_transaction", "params": [given]}).encode()
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def state_kind() -> Any:
    """The kind of an operation."""
    from state.protocol.transaction import OPERATION

    return OPERATION


# ------------------------------------------------------------------ values of fields


class Values:
    """Values for fields that are nasty now and then, from a seed."""

    def __init__(self, world: World, draw: Random) -> None:
        self.world, self.draw = world, draw
        self.names = world.names

    def gene(self, kind: Any, name: str) -> Gene:
        """Return values that take turns, or one that counts on."""
        draw = self.draw
        if isinstance(kind, Int) and draw.random() < 0.3:
            return (Counting(draw.choice((0, 100_000))),)
        if type(kind) is String and draw.random() < 0.3:
            return (Counting(draw.choice(("post-", "re-", "new-", "x" * 240))),)
        count = draw.choice((1, 1, 1, 2, 2, 7, 50))
        return tuple(self.value(kind, name) for _ in range(count))

    def name(self) -> str:
        """Mostly an account whose key is known."""
        draw, world = self.draw, self.world
        some = (world.users, world.users, world.voters, world.chained, world.witnesses, world.named, world.members, world.communities)
        return draw.choice(draw.choice((*some, ("", "nobody", "null", "initminer", "temp", "x" * 16))))

    def text(self, name: str) -> str:
        """A text of any length; where posts are named, often that of one."""
        draw = self.draw
        if "permlink" in name and draw.random() < 0.7:
            return f"{draw.choice(('post', 're', 'deep'))}-{draw.randrange(self.world.sizes.posts)}"
        if "json" in name and draw.random() < 0.7:
            return json.dumps(self.tree())
        if name == "id":
            return draw.choice(CUSTOM_IDS)
        letters = draw.choice(("a", "word ", "\u20ac", "\U0001f600", "@star ", "[](x)", "5K", "{", '"', "\\", "-", "@@ -1,8 +1,8 @@\n-a\n+b\n"))
        return (letters * (draw.choice(LENGTHS) // len(letters) + 1))[: draw.choice(LENGTHS)]

    def tree(self) -> Any:
        """What a custom operation or metadata may hold."""
        draw, pick = self.draw, self.name
        star = {"account": pick(), "author": "star", "permlink": f"post-{draw.randrange(self.world.sizes.posts)}"}
        follow = {"follower": pick(), "following": pick(), "what": [draw.choice(("blog", "ignore", ""))] * draw.choice((1, 2, 500))}
        several = [["follow", follow], ["reblog", star]] * draw.choice((1, 20, 60))
        some = {"tags": [f"t{i}" for i in range(draw.choice(LISTS))], "users": [pick()] * draw.choice(LISTS), "app": "x", "image": ["x"] * 9}
        community = [draw.choice(("subscribe", "setRole", "mutePost", "updateProps", "pinPost")), {"community": self.world.communities[0]}]
        deep: Any = 1
        for _ in range(draw.choice((10, 90))):
            deep = draw.choice(([deep], {"a": deep}))
        return draw.choice((["follow", follow], ["reblog", star], several, some, community, deep, list(range(draw.choice(LISTS)))))

    def authority(self) -> Authority:
        """One of one key, or of as many members as there may be."""
        draw = self.draw
        count = draw.choice((0, 1, MEMBERS, MEMBERS + 1, 500))
        names = tuple((name, 1) for name in sorted(set(self.names[:count])))
        keys = tuple((key, 1) for key in sorted({KEY, *(public_key(secret) for secret in SECRETS[: min(count, 40)])}))
        return draw.choice((key_authority(KEY), Authority(1, names, ()), Authority(1, (), keys), Authority(2**32 - 1, names, keys)))

    def amount(self) -> Asset:
        """Mostly one of the three symbols."""
        draw = self.draw
        symbol = draw.choice((COIN, COIN, SBD, SBD, VESTS, VESTS, symbol_from_digits(123456, 3)))
        return Asset(abs(draw.choice(NUMBERS)), symbol)

    def value(self, kind: Any, name: str) -> Any:
        """Return a value of a kind, or of a declared class."""
        draw = self.draw
        if isinstance(kind, type):
            if kind is Authority:
                return self.authority()
            return kind(**{field.name: self.value(field.kind, field.name) for field in wire_fields(kind)})
        match kind:
            case ShareAmount() | Int():
                low, high = (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
                return min(max(draw.choice(NUMBERS), low), high)
            case Bounded():
                return draw.choice(CUSTOM_IDS) if name == "id" else self.name()
            case String():
                return self.text(name)
            case AssetKind():
                return self.amount()
            case PriceKind():
                return Price(Asset(draw.choice(NUMBERS[1:2] + NUMBERS[5:12]), SBD), Asset(draw.choice(NUMBERS[5:12]), COIN))
            case Seconds():
                return draw.choice(TIMES)
            case Flag():
                return draw.random() < 0.5
            case Key():
                return draw.choice((KEY, bytes(33), b"\2" * 33))
            case Hash():
                return bytes(kind.size)
            case Blob():
                return bytes(draw.choice(LENGTHS))
            case Many():
                members = [self.value(kind.element, name) for _ in range(draw.choice(LISTS[:8] if draw.random() < 0.8 else LISTS))]
                return ordered(members, sort_key) if kind.ascending else tuple(members)
            case Pairs():
                pairs = [(self.value(kind.key, name), self.value(kind.value, name)) for _ in range(draw.choice(LISTS[:6]))]
                return ordered(pairs, pair_key)
            case Maybe():
                return None if draw.random() < 0.3 else self.value(kind.element, name)
            case ChainVariant():
                return self.value(kind.variant(self.world.state.wire.codecs), name)
            case Variant():
                tag = draw.randrange(len(kind.members))
                of = kind.members[tag][1]
                made = self.value(of, name)
                return made if isinstance(of, type) else Tagged(tag, made)
            case SymbolKind():
                return draw.choice((COIN, SBD, VESTS, symbol_from_digits(123456, 3)))
            case Choice() | Release():
                return 0
        element = getattr(kind, "element", None)
        return self.world.state.wire.codecs.default(kind) if element is None else self.value(element, name)

    def part(self, cls: type[Operation]) -> Part:
        """Return an operation of a class with any values; where there is a sample, half of the values are its."""
        known = dict(self.draw.choice(seeds(self.world).get(cls) or [{}]))
        genes = {field.name: self.gene(field.kind, field.name) for field in wire_fields(cls) if field.name not in known}
        return Part(cls, genes | known)

    def changed(self, recipe: Recipe) -> Recipe:
        """Return a recipe that differs in one thing or a few."""
        draw = self.draw
        for _ in range(draw.choice((1, 1, 2, 3))):
            at = draw.randrange(len(recipe.parts))
            part = recipe.parts[at]
            chance = draw.random()
            if chance < 0.7 and part.genes:
                field = draw.choice([field for field in wire_fields(part.cls)])
                other = Part(part.cls, part.genes | {field.name: self.gene(field.kind, field.name)})
                recipe = structs.replace(recipe, parts=(*recipe.parts[:at], other, *recipe.parts[at + 1 :]))
            elif chance < 0.8:
                recipe = structs.replace(recipe, parts=(*recipe.parts, self.part(part.cls))[-3:])
            elif chance < 0.85:
                recipe = structs.replace(recipe, parts=(*recipe.parts, self.part(draw.choice(CLASSES)))[-3:])
            elif chance < 0.9:
                recipe = structs.replace(recipe, parts=(part,))
            elif chance < 0.95:
                recipe = structs.replace(recipe, signatures=draw.choice((0, 1, 1, 2, 100, SIGNATURES_MAX)))
            else:
                recipe = structs.replace(recipe, is_legacy=not recipe.is_legacy)
        return recipe


# ------------------------------------------------------------------ where the search begins


def one(**fields: Any) -> Given:
    """Genes: a list takes turns, anything else is always the same."""
    return {name: tuple(value) if isinstance(value, list) else (value,) for name, value in fields.items()}


def seeds(world: World) -> dict[type[Operation], list[Given]]:
    """Return fields with which operations do most, as far as somebody knew."""
    found = world.__dict__.get("seeds")
    if found is None:
        found = world.__dict__["seeds"] = _seeds(world)
    return found  # type: ignore[no-any-return]


def _seeds(world: World) -> dict[type[Operation], list[Given]]:
    users, voter, orders = world.users, world.voters[0], world.sizes.orders
    coin, sbd, vests = Asset(1, COIN), Asset(1, SBD), Asset(10**10, VESTS)
    fresh, posts = Counting("new-"), [f"post-{i}" for i in range(0, world.sizes.posts) if i % 4]
    own = key_authority(KEY)
    reblogs = [json.dumps([["reblog", {"account": "star", "author": user, "permlink": f"post-{i * 4}"}] for i in range(60)]) for user in users]
    far, count = NOW + 10**6, Counting(0)
    account = {"owner": own, "active": own, "posting": own, "memo_key": KEY, "json_metadata": ""}
    kill = {"owner": voter, "orderid": count, "expiration": far}
    return {
        Vote: [one(voter=users, author="star", permlink=posts, weight=10_000), one(voter="star", author=users, permlink=Counting("re-"), weight=1)],
        Comment: [
            one(parent_author="", parent_permlink=world.communities[0], author=users, permlink=fresh, title="", body=LONG, json_metadata=""),
            one(parent_author="", parent_permlink="life", author="star", permlink=fresh, title="", body="b", json_metadata='{"tags":["a"]}'),
            one(parent_author="star", parent_permlink="post-1", author=users, permlink=fresh, title="", body="b", json_metadata=""),
        ],
        Transfer: [one(from_=voter, to=users, amount=coin, memo="m" * 20), one(from_="star", to="null", amount=sbd, memo=["@star/post-1", "@star/post-2"])],
        TransferToVesting: [one(from_=voter, to=voter, amount=coin), one(from_=voter, to="chained-0", amount=coin)],
        WithdrawVesting: [one(account=voter, vesting_shares=[vests, Asset(0, VESTS)])],
        LimitOrderCreate: [
            one(amount_to_sell=Asset(orders, SBD), min_to_receive=Asset(orders, COIN), fill_or_kill=True, **kill),
            one(amount_to_sell=Asset(orders * 7, SBD), min_to_receive=coin, fill_or_kill=False, **kill),
            one(amount_to_sell=sbd, min_to_receive=coin, fill_or_kill=False, **kill),
            one(amount_to_sell=coin, min_to_receive=Asset(1000, SBD), fill_or_kill=False, **kill),
        ],
        LimitOrderCreate2: [one(amount_to_sell=Asset(orders * 7, SBD), exchange_rate=Price(Asset(9, SBD), coin), fill_or_kill=False, **kill)],
        LimitOrderCancel: [one(owner="maker", orderid=count)],
        FeedPublish: [one(publisher=world.witnesses, exchange_rate=Price(Asset(250, SBD), Asset(1000, COIN)))],
        Convert: [one(owner=voter, requestid=count, amount=sbd)],
        AccountCreate: [one(creator=voter, fee=Asset(1000, COIN), new_account_name=fresh, **account)],
        AccountCreateWithDelegation: [one(creator=voter, fee=Asset(1000, COIN), delegation=vests, new_account_name=fresh, **account)],
        ClaimAccount: [one(creator=voter, fee=Asset(0, COIN), extensions=())],
        CreateClaimedAccount: [one(creator=voter, new_account_name=fresh, extensions=(), **account)],
        AccountUpdate: [one(account=users, **account)],
        AccountUpdate2: [one(account=users, extensions=(), posting_json_metadata="", **account)],
        WitnessUpdate: [one(owner=world.witnesses, url="u", block_signing_key=KEY, fee=Asset(0, COIN))],
        WitnessSetProperties: [one(owner=world.witnesses, props=(("key", KEY), ("url", b"\1u")), extensions=())],
        AccountWitnessVote: [one(account="chained-5", witness=world.witnesses[:30], approve=True), one(account=voter, witness=world.witnesses[40], approve=True)],
        AccountWitnessProxy: [one(account=voter, proxy=["star", ""]), one(account=voter, proxy=["chained-0", ""]), one(account="star", proxy=[voter, ""])],
        Custom: [one(required_auths=[(user,) for user in users], id=1, data=b"x")],
        CustomJson: [
            one(required_auths=(), required_posting_auths=("star",), id="follow", json=reblogs),
            one(required_auths=(), required_posting_auths=[(user,) for user in users], id=["follow", "community"]),
        ],
        CustomBinary: [one(required_owner_auths=(), required_active_auths=(), required_posting_auths=[(user,) for user in users], required_auths=())],
        DeleteComment: [one(author=users, permlink=Counting("re-")), one(author="star", permlink=posts)],
        CommentOptions: [
            one(author="star", permlink=posts, max_accepted_payout=Asset(1000, SBD), percent_coin_dollars=10_000, allow_votes=True,
                allow_curation_rewards=True,
                extensions=(CommentPayoutBeneficiaries(tuple(Beneficiary(name, 10) for name in sorted(users)[:8])),)),
        ],
        SetWithdrawVestingRoute: [one(from_account="star", to_account=users[:10], percent=[100, 1000], auto_vest=True)],
        RequestAccountRecovery: [one(recovery_account="", account_to_recover=users, new_owner_authority=own, extensions=())],
        ChangeRecoveryAccount: [one(account_to_recover=users, new_recovery_account=["star", "owner"], extensions=())],
        EscrowTransfer: [one(from_=voter, to=users, sbd_amount=Asset(0, SBD), coin_amount=coin, escrow_id=count, agent="owner", fee=coin,
                             json_meta="", ratification_deadline=NOW + 600, escrow_expiration=NOW + 700)],
        EscrowApprove: [one(from_="star", to=users, agent="owner", who="owner", escrow_id=count, approve=[True, False])],
        EscrowDispute: [one(from_="star", to=users, agent="owner", who="star", escrow_id=count)],
        EscrowRelease: [one(from_="star", to=users, agent="owner", who="star", receiver=users, escrow_id=count, sbd_amount=Asset(0, SBD), coin_amount=coin)],
        TransferToSavings: [one(from_=voter, to=users, amount=coin, memo="")],
        TransferFromSavings: [one(from_=users, request_id=count, to="star", amount=coin, memo="")],
        CancelTransferFromSavings: [one(from_="star", request_id=count)],
        DeclineVotingRights: [one(account=users, decline=[True, False])],
        ClaimRewardBalance: [one(account=users, reward_coin=Asset(0, COIN), reward_sbd=Asset(0, SBD), reward_vests=Asset(1, VESTS))],
        DelegateVestingShares: [one(delegator=voter, delegatee=users, vesting_shares=vests), one(delegator="star", delegatee=users, vesting_shares=Asset(0, VESTS))],
        CreateProposal: [one(creator="owner", receiver="owner", start_date=NOW + 60, end_date=NOW + 10**6, daily_pay=Asset(1, SBD), subject="s",
                             permlink="plan", extensions=())],
        UpdateProposalVotes: [one(voter=users, proposal_ids=[(1, 2, 3, 4, 5)], approve=[True, False], extensions=())],
        RemoveProposal: [one(proposal_owner="owner", proposal_ids=[tuple(range(i, i + 5)) for i in range(0, 1000, 5)], extensions=())],
    }


def first_recipes(values: Values, cls: type[Operation]) -> list[Recipe]:
    """Return the recipes of a class that the search begins with."""
    known = seeds(values.world).get(cls) or [{}]
    drawn = [{field.name: values.gene(field.kind, field.name) for field in wire_fields(cls)} for _ in range(3)]
    return [Recipe((Part(cls, drawn[0] | genes),)) for genes in known] + [Recipe((Part(cls, genes),)) for genes in drawn]


def fits(recipe: Recipe, world: World) -> bytes | None:
    """Return the body of a recipe, None when no bytes can hold its values."""
    try:
        return recipe.body(world)
    except (ChainError, ValueError, OverflowError, KeyError, AttributeError, TypeError):
        return None
    except Exception as error:
        if type(error).__name__ == "error":  # of struct
            return None
        raise


assert state.operations.smt
