"""Formats results of dev_api as text."""

from collections.abc import Iterator
from typing import Any

from node.cli.times import seconds_of, span_text
from state.protocol.keys.keys import ROLES

HEAD = ("head_block_number", "head_block_id", "head_block_time", "last_irreversible_block_num", "time")
Pairs = Iterator[tuple[str, object]]


def head_pairs(result: dict[str, Any]) -> Pairs:
    """Yield the head and the time of a chain, as pairs of name and value."""
    yield "head", f"block {result['head_block_number']}, {result['head_block_id']}"
    yield "irreversible", f"block {result['last_irreversible_block_num']}"
    yield "head time", result["head_block_time"]
    ahead = seconds_of(result["time"]) - seconds_of(result["head_block_time"])
    yield "chain time", result["time"] + (f" ({span_text(ahead)} after the head)" if ahead > 0 else "")


def info_pairs(result: dict[str, Any]) -> Pairs:
    """Yield the names and values of all settings of a local chain."""
    yield "chain", f"{result.get('chain', '')} {result.get('chain_id', '')}"
    yield "version", result.get("version", "")
    yield from head_pairs(result)
    impersonated = result.get("impersonated", {})
    ahead = int(result.get("seconds_ahead", 0))
    yield "clock", f"{span_text(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} the machine's" if ahead else "that of the machine"
    yield "blocks", f"{result.get('block_mode', '')}, slots skipped by a time jump are {result.get('leap', '')}"
    yield "witnesses", result.get("witnesses", "")
    yield "pending", f"{result.get('pending', 0)} transactions"
    yield "snapshots", ", ".join(map(str, result.get("snapshots", []))) or "none"
    yield "impersonated", "everyone" if impersonated.get("everyone") else ", ".join(impersonated.get("accounts", [])) or "nobody"


def pairs_of(result: Any) -> Pairs:
    """Yield the fields of a result, or `done` for an empty result."""
    if not isinstance(result, dict) or not result:
        yield "done", ""
        return
    for name, value in result.items():
        yield name.replace("_", " "), shown(value)


def shown(value: Any) -> str:
    """Format a value of a result as a string."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "none"
    return "none" if value is None else str(value)


def key_rows(result: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield a row for each key of each account."""
    for account in result:
        for role in ROLES:
            pair = account["keys"].get(role)
            if pair:
                yield [account["name"], role, pair["private"], pair["public"]]


def explanation_pairs(result: dict[str, Any]) -> Pairs:
    """Yield whether a transaction would be accepted, and its id, digest and size, as pairs of name and value."""
    if result.get("rule"):
        for name in ("message", "rule", "why", "what_to_do"):
            yield name.replace("_", " "), result.get(name) or ""
    else:
        yield "result", "the node would accept it"
    for name in ("id", "digest", "size"):
        yield name, result.get(name, "")


def refusal_rows(result: list[dict[str, Any]]) -> Iterator[list[object]]:
    """Yield a row for each refused transaction."""
    for entry in result:
        trx = entry.get("transaction") or {}
        names = [item["type"] if isinstance(item, dict) else item[0] for item in trx.get("operations", [])]
        why = (entry.get("explain") or {}).get("why") or entry["message"]
        yield [entry["time"], entry["head_block_number"], ", ".join(name.removesuffix("_operation") for name in names), why]
