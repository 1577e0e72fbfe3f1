"""Explains refusals with the sentences that `table` declares. Functions in this module compute values that a refusal doesn't contain.

In a sentence, `{name}` is replaced by a value of the refusal, a field of the operation, or a computed value.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from rpc.explain.case import Explanation, RefusalCase
from rpc.explain.values import fields_of_operation, filled
from state.chain.transactions import SIZE_MARGIN
from state.effects.comments import require_new_permlink
from state.protocol import constants
from state.protocol.errors import Refused
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.protocol.values.text import time_text

Further = Callable[[RefusalCase, Any], dict[str, Any]]


class Sentence(Struct, frozen=True):
    """Declared explanation: the rule's name, the reason, the advice, and a function that computes additional values for these texts."""

    rule: str
    why: str
    what_to_do: str
    further: Further = lambda case, operation: {}


def explain_by(sentence: Sentence, case: RefusalCase) -> Explanation:
    """Explain a refusal with a declared sentence, in which all values are filled in."""
    values = case.error.values | sentence.further(case, case.operation)
    texts = fields_of_operation(case) | {name: case.shown(value) for name, value in values.items()}
    why, to_do = case.spec.spell(sentence.why), case.spec.spell(sentence.what_to_do)
    fields = {} if case.operation is None else {"fields": fields_of_operation(case)}
    return case.explained(sentence.rule, filled(why, texts), filled(to_do, texts), **values | fields)


def next_vote(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the time of the voter's last vote, and the time from which the voter may vote again."""
    last = case.state.account(operation.voter).last_vote_time
    return {
        "last": time_text(last),
        "again_at": time_text(last + constants.COIN_MIN_VOTE_INTERVAL_SEC),
        "head_block_time": time_text(case.state.head_time),
    }


def next_post(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the time of the author's last post or reply, and the time from which the author may publish another."""
    author = case.state.account(operation.author)
    if operation.parent_author:
        last, again = author.last_post, author.last_post + constants.COIN_MIN_REPLY_INTERVAL_HF20
    else:
        last, again = author.last_root_post, author.last_root_post + constants.COIN_MIN_ROOT_COMMENT_INTERVAL + 1
    return {"last": time_text(last), "again_at": time_text(again), "head_block_time": time_text(case.state.head_time)}


def current_votes(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the account's number of witness votes and its proxy."""
    account = case.state.account(operation.account)
    return {"votes": account.witnesses_voted_for, "present_proxy": account.proxy or "no proxy"}


def refused_permlink(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the text that can't be a permlink, and the name of its field. The category of a post is the permlink of its parent."""
    try:
        require_new_permlink(operation.parent_permlink)
    except Refused:
        return {"field": "parent_permlink" if operation.parent_author else "category", "text": operation.parent_permlink}
    return {"field": "permlink", "text": operation.permlink}


def size_limit(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the size of the transaction and the largest allowed size, in bytes."""
    return {"size": case.transaction.size, "size_max": case.state.props.maximum_block_size - SIZE_MARGIN}


def head_time(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the time of the head block and the expiration of the operation."""
    return {"head_block_time": time_text(case.state.head_time), "expires": time_text(getattr(operation, "expiration", 0))}


def operation_names(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the names of the transaction's operations."""
    return {"operations": [case.name_of(one) for one in case.transaction.operations]}


def unclaimed_rewards(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the account's unclaimed rewards."""
    account = case.state.account(operation.account)
    return {
        "liquid_earned": Asset(account.reward_coin_balance, COIN),
        "sbd_earned": Asset(account.reward_sbd_balance, SBD),
        "vests_earned": Asset(account.reward_vesting_balance, VESTS),
    }


def creation_fee(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the account creation fee that the chain requires."""
    return {"required": case.asset_text(case.state.schedule.median_props.account_creation_fee, COIN)}


def open_requests(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the account's number of pending savings withdrawals, and their limit."""
    account = case.state.account(operation.from_)
    return {"requests": account.savings_withdraw_requests, "requests_max": constants.COIN_SAVINGS_WITHDRAW_REQUEST_LIMIT}


def power_down_rate(case: RefusalCase, operation: Any) -> dict[str, Any]:
    """Return the amount that the account powers down per week."""
    account = case.state.account(operation.account)
    return {"present_rate": Asset(account.vesting_withdraw_rate, VESTS)}
