"""Record of `bridge` for a post that this node doesn't have, because it was deleted or belongs to another chain.

The record is converted from a reply of get_content. Source: social.md §2.2, §3.8.
"""

import re
from typing import Annotated, Any

from msgspec import Struct

from rpc.declare.errors import InvalidParameters
from rpc.declare.record_encoder import Json
from rpc.declare.record_fields import ConstantField
from rpc.records.bridge.kinds import FreeObject, Number, PreformattedTime, SbdNumber, SbdTextAmount, TextList
from rpc.records.bridge.posts import NO_CATEGORY, BridgeVoteRecord, PostStatsRecord
from state.operations.content import Beneficiary
from state.plugins.social.index import Social
from state.plugins.social.post_metadata import blacklists, flag_weight, is_gray, shown_metadata
from state.plugins.social.scores import shown_reputation
from state.protocol.codec.kinds import AccountName, Bool, Many, Text
from state.protocol.values.text import time_text
from state.tables import State

UNSET_YEAR = "1969"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
AMOUNTS = ("total_payout_value", "curator_payout_value", "pending_payout_value")
AMOUNT = re.compile(r"([0-9]{1,16})(?:\.([0-9]{0,3})[0-9]*)?(?: .*)?", re.ASCII)
TEXTS = (
    *("author", "permlink", "category", "title", "root_title", "body", "json_metadata", "url", "max_accepted_payout"),
    *("parent_author", "parent_permlink"),
)


class UnknownPostRecord(Struct, kw_only=True):
    """A post or reply that is not on this chain. It has no id, and is converted from the given members only.

    `net_rshares` can exceed 64 bits. Only replies have `parent_author` and `parent_permlink`.
    """

    post_id: Annotated[None, ConstantField(None)] = None
    author: AccountName
    permlink: Text
    category: Text
    title: Text
    body: Text
    json_metadata: Annotated[Json, FreeObject()]
    created: Annotated[str, PreformattedTime()]
    updated: Annotated[str, PreformattedTime()]
    depth: Annotated[int, Number()]
    children: Annotated[int, Number()]
    net_rshares: Annotated[int, Number()]
    is_paidout: Bool
    payout_at: Annotated[str, PreformattedTime()]
    payout: Annotated[int, SbdNumber()]
    pending_payout_value: SbdTextAmount
    author_payout_value: SbdTextAmount
    curator_payout_value: SbdTextAmount
    promoted: SbdTextAmount
    replies: TextList
    active_votes: Annotated[list[BridgeVoteRecord], Many(BridgeVoteRecord)]
    author_reputation: Annotated[float, Number()]
    stats: PostStatsRecord
    beneficiaries: Annotated[list[Beneficiary], Many(Beneficiary)]
    max_accepted_payout: Text
    url: Text
    blacklists: TextList
    percent_coin_dollars: Annotated[int, Number()]
    parent_author: Text | None = None
    parent_permlink: Text | None = None


def unknown_post(state: State, kept: Social, given: Json) -> UnknownPostRecord:
    """Convert a post from a get_content reply of another node. Members that the reply lacks become empty.

    If a member is invalid, this raises InvalidParameters, always with the same message.
    """
    try:
        return converted(state, kept, given)
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError):
        raise InvalidParameters("post can't be read") from None


def converted(state: State, kept: Social, given: Json) -> UnknownPostRecord:
    """Convert a post from a get_content reply. An invalid member causes a built-in exception, for example ValueError."""
    if not all(isinstance(given.get(name, ""), str) for name in TEXTS):
        raise TypeError
    author, category = given["author"], given.get("category") or NO_CATEGORY
    votes = [BridgeVoteRecord(str(vote["voter"]), int(vote["rshares"])) for vote in given.get("active_votes", [])]
    rshares = [vote.rshares for vote in votes]
    total, curators, pending = (amount_of(given.get(name, "0.000")) for name in AMOUNTS)
    payout, is_paid = total + curators + pending, time_of(given, "cashout_time").startswith(UNSET_YEAR)
    reputation = shown_reputation(int(given.get("author_reputation", 0)))
    is_bad = author in kept.irredeemables
    lists = blacklists(reputation, is_bad)
    parent_author = given.get("parent_author") or None
    return UnknownPostRecord(
        author=author,
        permlink=given["permlink"],
        category=category,
        title=f"RE: {given.get('root_title', '')}" if parent_author else given.get("title", ""),
        body=given.get("body", "").replace("\0", "[NUL]"),
        json_metadata=shown_metadata(given.get("json_metadata", "")),
        created=time_of(given, "created"),
        updated=time_of(given, "last_update"),
        depth=int(given.get("depth", 0)),
        children=int(given.get("children", 0)),
        net_rshares=sum(rshares),
        is_paidout=is_paid,
        payout_at=time_of(given, "last_payout" if is_paid else "cashout_time"),
        payout=payout,
        pending_payout_value=0 if is_paid else payout,
        author_payout_value=payout - curators if is_paid else 0,
        curator_payout_value=curators if is_paid else 0,
        promoted=amount_of(given.get("promoted", "0.000")),
        replies=[],
        active_votes=votes,
        author_reputation=reputation,
        stats=PostStatsRecord(is_bad, is_gray(is_bad, lists), sum(value != 0 for value in rshares), flag_weight(rshares)),
        beneficiaries=[Beneficiary(str(one["account"]), int(one["weight"])) for one in given.get("beneficiaries", [])],
        max_accepted_payout=given.get("max_accepted_payout", f"0.000 {state.spec.debt_symbol}"),
        percent_coin_dollars=int(given.get(state.spec.spell("percent_coin_dollars"), 0)),
        url=given.get("url") or f"/{category}/@{author}/{given['permlink']}",
        blacklists=lists,
        parent_author=parent_author,
        parent_permlink=given.get("parent_permlink", "") if parent_author else None,
    )


def time_of(given: Json, name: str) -> str:
    """Return the time in a member as text. If the member is missing, return the epoch. Raises ValueError if it isn't a time."""
    text = given.get(name, time_text(0))
    if not TIME.fullmatch(text):
        raise ValueError(name)
    return str(text)


def amount_of(text: Any) -> int:
    """Parse the number in an SBD amount, and return it in thousandths. Raises ValueError if it is malformed."""
    match = AMOUNT.fullmatch(str(text))
    if match is None:
        raise ValueError(text)
    return int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0"))
