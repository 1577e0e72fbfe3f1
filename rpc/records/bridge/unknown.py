"""A post of another chain, or one that is gone, as `bridge` would show it: made of what get_content told. Source: social.md §2.2, §3.8."""

import re
from typing import Any

from rpc.records.bridge.posts import NO_CATEGORY, debt, number
from rpc.service.refusal import InvalidParameters
from rpc.service.show import Json
from state.plugins.social.index import Social
from state.plugins.social.posts.texts import blacklists, flag_weight, is_gray, shown_metadata
from state.plugins.social.scores import shown_reputation
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


def unknown_post(state: State, kept: Social, told: Json) -> Json:
    """The record of a post that nobody here knows; what wasn't told is empty."""
    try:
        return converted(state, kept, told)
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError):
        raise InvalidParameters("post can't be read") from None


def converted(state: State, kept: Social, told: Json) -> Json:
    """The same, as long as all that was told is what get_content tells."""
    demand_texts(told)
    author, category = told["author"], told.get("category") or NO_CATEGORY
    votes = [{"voter": str(vote["voter"]), "rshares": str(int(vote["rshares"]))} for vote in told.get("active_votes", [])]
    rshares = [int(vote["rshares"]) for vote in votes]
    total, curators, pending = (amount_of(told.get(name, "0.000")) for name in AMOUNTS)
    payout, is_paid = total + curators + pending, time_of(told, "cashout_time").startswith(UNSET_YEAR)
    reputation = shown_reputation(int(told.get("author_reputation", 0)))
    is_bad = author in kept.irredeemables
    lists = blacklists(reputation, is_bad)
    found: Json = {
        "post_id": None,
        "author": author,
        "permlink": told["permlink"],
        "category": category,
        "title": f"RE: {told.get('root_title', '')}" if told.get("parent_author") else told.get("title", ""),
        "body": told.get("body", "").replace("\0", "[NUL]"),
        "json_metadata": shown_metadata(told.get("json_metadata", "")),
        "created": time_of(told, "created"),
        "updated": time_of(told, "last_update"),
        "depth": int(told.get("depth", 0)),
        "children": int(told.get("children", 0)),
        "net_rshares": sum(rshares),
        "is_paidout": is_paid,
        "payout_at": time_of(told, "last_payout" if is_paid else "cashout_time"),
        "payout": number(payout),
        "pending_payout_value": debt(state, 0 if is_paid else payout),
        "author_payout_value": debt(state, payout - curators if is_paid else 0),
        "curator_payout_value": debt(state, curators if is_paid else 0),
        "promoted": debt(state, amount_of(told.get("promoted", "0.000"))),
        "replies": [],
        "active_votes": votes,
        "author_reputation": reputation,
        "stats": {
            "hide": is_bad,
            "gray": is_gray(is_bad, lists),
            "total_votes": sum(value != 0 for value in rshares),
            "flag_weight": flag_weight(rshares),
        },
        "beneficiaries": [{"account": str(one["account"]), "weight": int(one["weight"])} for one in told.get("beneficiaries", [])],
        "max_accepted_payout": told.get("max_accepted_payout", debt(state, 0)),
        "url": told.get("url") or f"/{category}/@{author}/{told['permlink']}",
        "blacklists": lists,
    }
    percent = state.spec.spell("percent_coin_dollars")
    found[percent] = int(told.get(percent, 0))
    if told.get("parent_author"):
        found |= {"parent_author": told["parent_author"], "parent_permlink": told.get("parent_permlink", "")}
    return found


def demand_texts(told: Json) -> None:
    """What is passed on as it was told is a text."""
    for name in TEXTS:
        if not isinstance(told.get(name, ""), str):
            raise TypeError(name)


def time_of(told: Json, name: str) -> str:
    """A time; the beginning of all times when it wasn't told."""
    text = told.get(name, time_text(0))
    if not TIME.fullmatch(text):
        raise ValueError(name)
    return str(text)


def amount_of(text: Any) -> int:
    """The number in an amount of SBD, in thousandths."""
    match = AMOUNT.fullmatch(str(text))
    if match is None:
        raise ValueError(text)
    return int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0"))
