"""`coind show block`, `blocks`, `tx` and `history`."""

from collections.abc import Iterable, Iterator
from typing import Any

from node.cli.remote import Remote
from node.cli.show.reply_fields import call_if_served, operation_brief, operation_parts, require_found
from node.client.errors import RefusedCall
from node.runtime.errors import NodeError
from node.runtime.output import say, write_pairs, write_table

ID_DIGITS = 40
VIRTUAL = "virtual_operations"


def ask_block(remote: Remote, number: str) -> Any:
    """Return a block, with its virtual operations if the node serves them. Raises NodeError."""
    wanted = remote.head()["head_block_number"] if number == "head" else int(number)
    block = require_found(remote.call("condenser_api.get_block", [wanted]), f"block {wanted}")
    block["block_num"] = wanted
    found = call_if_served(remote, "condenser_api.get_ops_in_block", [wanted, True])
    if found is not None:
        block[VIRTUAL] = found
    return block


def write_block(remote: Remote, block: Any) -> None:
    """Print a block."""
    write_pairs(
        [
            ("id", block.get("block_id", "")),
            ("time", block["timestamp"]),
            ("witness", block["witness"]),
            ("signed by", block.get("signing_key", "")),
            ("previous", block["previous"]),
            ("merkle root", block["transaction_merkle_root"]),
        ],
        title=f"block {block['block_num']}",
    )
    say("")
    ids = block.get("transaction_ids") or [trx.get("transaction_id", "") for trx in block["transactions"]]
    write_table([">#", "=id", "operation", "fields"], transaction_rows(ids, block["transactions"]), empty="no transactions")
    virtual = [operation_brief(entry["op"]) for entry in block.get(VIRTUAL, [])]
    if virtual:
        say("")
        write_table(["virtual operation", "fields"], virtual)


def transaction_rows(ids: list[str], transactions: list[dict[str, Any]]) -> Iterator[list[object]]:
    """Yield a row for each operation of a block. A transaction's number and id are in the row of its first operation."""
    for place, (trx_id, trx) in enumerate(zip(ids, transactions, strict=False)):
        for index, operation in enumerate(trx["operations"]):
            yield ["" if index else place, "" if index else trx_id, *operation_brief(operation)]


def ask_blocks(remote: Remote, count: int) -> Any:
    """Return the newest blocks, newest first. The blocks of a forked chain begin after its fork block."""
    head = remote.head()["head_block_number"]
    found: list[Any] = []
    for number in range(head, max(0, head - count), -1):
        try:
            block = remote.call("condenser_api.get_block", [number])
        except RefusedCall:
            if not found:
                raise
            break
        if block is None:
            break
        found.append(block | {"block_num": number})
    return found


def write_blocks(remote: Remote, blocks: Any) -> None:
    """Print blocks, one per line."""
    rows = [
        (block["block_num"], block["timestamp"], block["witness"], len(block["transactions"]), counted(block["transactions"]))
        for block in blocks
    ]
    write_table([">block", "time", "witness", ">transactions", "operations"], rows, empty="no blocks yet")


def counted(transactions: Iterable[dict[str, Any]]) -> str:
    """Return the names of the transactions' operations with their counts, for example `3 vote, transfer`."""
    counts: dict[str, int] = {}
    for trx in transactions:
        for operation in trx["operations"]:
            name = operation_parts(operation)[0]
            counts[name] = counts.get(name, 0) + 1
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())


def ask_transaction(remote: Remote, transaction_id: str) -> Any:
    """Return a transaction with its block. Raises NodeError."""
    if len(transaction_id) != ID_DIGITS or not all(digit in "0123456789abcdefABCDEF" for digit in transaction_id):
        raise NodeError(f"{transaction_id!r} is not the id of a transaction. Expected {ID_DIGITS} hex digits.")
    return remote.call("condenser_api.get_transaction", [transaction_id])


def write_transaction(remote: Remote, trx: Any) -> None:
    """Print a transaction."""
    write_pairs(
        [
            ("id", trx["transaction_id"]),
            ("block", f"{trx['block_num']}, transaction {trx['transaction_num']} of it"),
            ("expiration", trx["expiration"]),
            ("reference", f"block {trx['ref_block_num']} (16 bits), prefix {trx['ref_block_prefix']}"),
            *(("signature", signature) for signature in trx["signatures"]),
        ],
        title="transaction",
    )
    for operation in trx["operations"]:
        name, fields = operation_parts(operation)
        say("")
        write_pairs(fields.items(), title=name)


def ask_history(remote: Remote, name: str, count: int, before: int | None) -> Any:
    """Return `count` entries of an account's history, newest first, starting before entry number `before`. Raises NodeError for an unknown
    account.
    """
    require_found(remote.call("condenser_api.get_accounts", [[name]]), f"account {name}")
    start = -1 if before is None else before - 1
    if before is not None and before < 1:
        return []
    # A node returns the requested number of entries before the start, in addition to the one at the start.
    limit = count - 1 if start < 0 else min(count - 1, start)
    return remote.call("condenser_api.get_account_history", [name, start, limit])[::-1][:count]


def write_history(remote: Remote, entries: Any) -> None:
    """Print entries of an account's history."""
    rows = [(number, entry["block"], entry["timestamp"], *operation_brief(entry["op"])) for number, entry in entries]
    write_table([">#", ">block", "time", "operation", "fields"], rows, empty="no operations")
