"""Access to fields of replies whose names depend on the chain's brand, and formatting of their values."""

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from node.cli.remote import Remote
from node.client.errors import RefusedCall
from node.runtime.errors import NodeError

BRIEF_CHARACTERS_MAX = 60
KEY_SHOWN = 8
NEVER = ("1970-01-01T00:00:00", "1969-12-31T23:59:59")
# The names of the debt token in members of chains of the family.
DEBT_WORDS = ("sbd", "hbd")
COIN_WORD = "coin"
VESTS_PLACES = 6


def member(value: dict[str, Any], name: str, remote: Remote, default: Any = "") -> Any:
    """Return a field of a reply. In `name`, `coin` and `sbd` are replaced by the chain's brand and its debt token."""
    brand = remote.spec.brand
    for word in DEBT_WORDS:
        spelled = "_".join({COIN_WORD: brand, "sbd": word}.get(part, part) for part in name.split("_"))
        for key in (spelled, name):
            if key in value:
                return value[key]
    return default


def call_if_served(remote: Remote, method: str, params: Any) -> Any:
    """Return the result of a method that not every node serves, or None if the node refuses the call."""
    try:
        return remote.call(method, params)
    except RefusedCall:
        return None


def require_found(found: Any, what: str) -> Any:
    """Return `found`. If it is empty, raise NodeError, which says that the chain has no `what`."""
    if not found:
        raise NodeError(f"there is no {what} on this chain")
    return found


def units(amount: str) -> int:
    """Return an amount in the smallest unit of its symbol."""
    number = amount.split(" ", maxsplit=1)[0]
    return int(number.replace(".", "") or 0)


def symbol(amount: str) -> str:
    """Return the symbol of an amount."""
    return amount.rpartition(" ")[2]


def amount_text(amount: int, places: int, letters: str) -> str:
    """Format an amount, given in its smallest unit, with its symbol."""
    digits = str(abs(amount)).rjust(places + 1, "0")
    sign = "-" if amount < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]} {letters}"


def sum_text(first: str, *others: tuple[int, str]) -> str:
    """Return `first` plus the other amounts, each multiplied by its sign (1 or -1). All amounts have the same symbol."""
    total = units(first) + sum(sign * units(amount) for sign, amount in others)
    places = len(first.split(" ", maxsplit=1)[0].partition(".")[2])
    return amount_text(total, places, symbol(first))


def percent(part: int, whole: int) -> str:
    """Return `part` in percent of `whole`, with two decimals."""
    hundredths = part * 10_000 // whole if whole else 0
    return f"{hundredths // 100}.{hundredths % 100:02}%"


def basis_points(number: int) -> str:
    """Format basis points in percent."""
    return percent(number, 10_000)


def ratio(numerator: int, denominator: int, places: int) -> str:
    """Return a quotient with `places` decimals, rounded down."""
    return amount_text(numerator * 10**places // denominator if denominator else 0, places, "").rstrip()


def decimal_text(value: Any, places: int) -> str:
    """Format a real number with `places` decimals. Nodes return it as a string or as a number."""
    try:
        return f"{Decimal(str(value)):.{places}f}"
    except InvalidOperation:
        return str(value)


def time_or_never(text: str) -> str:
    """Return a time, or `never` for the values that nodes use for "no time"."""
    return "never" if text in NEVER else text


def brief(value: Any) -> str:
    """Format a value on one short line, truncated with `...` if necessary."""
    if isinstance(value, dict) and "weight_threshold" in value:
        value = authority_brief(value)
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= BRIEF_CHARACTERS_MAX else text[: BRIEF_CHARACTERS_MAX - 3] + "..."


def authority_brief(authority: dict[str, Any]) -> str:
    """Return the keys and accounts of an authority as text, with abbreviated keys."""
    members = [f"{key[:KEY_SHOWN]}..." for key, _ in authority["key_auths"]] + [name for name, _ in authority["account_auths"]]
    return ",".join(members) if authority["weight_threshold"] == 1 else f"{authority['weight_threshold']}of({','.join(members)})"


def operation_parts(operation: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the fields of an operation, given in the condenser's or the NAI form."""
    if isinstance(operation, dict):
        return str(operation["type"]).removesuffix("_operation"), operation["value"]
    return str(operation[0]), operation[1]


def operation_brief(operation: Any) -> tuple[str, str]:
    """Return an operation's name, and its non-empty fields in one short line."""
    name, fields = operation_parts(operation)
    shown = [f"{key}={brief(value)}" for key, value in fields.items() if value not in ("", [], {}, None)]
    return name, " ".join(shown)


def authority_rows(account: dict[str, Any]) -> Iterator[list[object]]:
    """Yield a row for each key and account in an account's authorities."""
    for role in ("owner", "active", "posting"):
        authority = account[role]
        members = [*authority["key_auths"], *([f"account {name}", weight] for name, weight in authority["account_auths"])]
        for place, (who, weight) in enumerate(members):
            yield [role if place == 0 else "", authority["weight_threshold"] if place == 0 else "", who, weight]
        if not members:
            yield [role, authority["weight_threshold"], "nobody", ""]
    yield ["memo", "", account["memo_key"], ""]
