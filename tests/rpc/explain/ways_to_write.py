"""Transactions that can't be parsed, so they are refused before any rule is checked."""

from typing import Any

from state.operations.accounts import AccountCreate
from state.protocol.authority import key_authority
from state.protocol.values.asset import COIN, Asset
from tests.rpc.explain.world import TRANSFER, Make, Way, key, signed, written

OWN = key_authority(key("bob"))
NEW = AccountCreate(Asset(0, COIN), "alice", "alice2", OWN, OWN, OWN, key("bob"), "")
APPBASE = "network_broadcast_api.broadcast_transaction"


def field(name: str, value: Any, of: Any = TRANSFER) -> Make:
    """Return a function that makes the JSON of a transaction with the operation `of`. The field `name` of that operation has this value."""
    return written(lambda trx: trx["operations"][0][1].update({name: value}), signed(of))


def head(name: str, value: Any) -> Make:
    """Return a function that makes the JSON of a transaction in which its own field `name`, such as the expiration, has this value."""
    return written(lambda trx: trx.update({name: value}))


WRITING = (
    Way("the symbol of another chain", field("amount", "1.000 STEEM"), "unknown_symbol"),
    Way("too few decimal places", field("amount", "1.0 COIN"), "wrong_decimal_places"),
    Way("an amount that is a number", field("amount", 1.5), "wrong_form_of_amount"),
    Way(
        "an amount in the form of the other groups",
        field("amount", {"amount": "1", "precision": 3, "nai": "@@000000021"}),
        "wrong_form_of_amount",
    ),
    Way("the condenser's form elsewhere", written(lambda trx: None), "wrong_form_of_operation", method=APPBASE),
    Way("another key prefix", field("memo_key", "STM8GC13uCZbP44HzMLV6zPZGwVQ8Nt4Kji8PapsPiNq1BK153XTX", NEW), "wrong_key_prefix"),
    Way("a damaged key", field("memo_key", "TST8GC13uCZbP44HzMLV6zPZGwVQ8Nt4Kji8PapsPiNq1BK153XTY", NEW), "damaged_key"),
    Way(
        "a key of another chain in an authority",
        field("owner", {"weight_threshold": 1, "account_auths": [], "key_auths": [["STM1", 1]]}, NEW),
        "wrong_key_prefix",
    ),
    Way("a key that is cut", field("memo_key", "TST1", NEW), "damaged_key"),
    Way("a thirteenth month", head("expiration", "2026-13-01T00:00:00"), "unreadable_time"),
    Way("a day that there isn't", head("expiration", None), "unreadable_time"),
    Way("a clock that is none", head("expiration", "2026-01-01Tab:00:00"), "unreadable_time"),
    Way("a list where a number should be", head("ref_block_num", []), "unreadable_number"),
    Way("a date that is none", head("expiration", "tomorrow"), "unreadable_time"),
    Way("a number that is none", head("ref_block_num", "many"), "unreadable_number"),
    Way("an operation that there isn't", written(lambda trx: trx["operations"][0].__setitem__(0, "transfr")), "unknown_operation"),
    Way("an operation without fields", written(lambda trx: trx["operations"][0].__setitem__(1, None)), "no_object"),
    Way("no list of operations", head("operations", "transfer"), "no_list"),
    Way("a signature that isn't hex", head("signatures", ["zz"]), "unreadable_signature"),
    Way("no transaction", lambda world: {"operations": 1}, "no_list"),
)
