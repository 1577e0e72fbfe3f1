"""Parses transactions and lists of operations from JSON, in both forms that nodes accept.

Unknown fields are refused. The chain would ignore them, so a misspelt field would change the signed operation.
"""

from typing import Any

from node.runtime.errors import NodeError
from state.protocol.codec.fields import shown_fields
from state.protocol.errors import ChainError
from state.protocol.operation import OPERATIONS, SMT_TAGS, Operation
from state.protocol.transaction import SignedTransaction, Wire

OPERATIONS_MAX = 1000
SUFFIX = "_operation"


def from_json(given: Any, wire: Wire) -> SignedTransaction | tuple[Operation, ...]:
    """Return the operations in a JSON value, or the transaction if it is a signed one. Raises NodeError."""
    if isinstance(given, dict) and "operations" in given:
        return from_transaction(given, wire)
    return operations_of(given if is_list_of_operations(given) else [given], wire)


def from_transaction(given: dict[str, Any], wire: Wire) -> SignedTransaction | tuple[Operation, ...]:
    """Return a signed transaction as it is, or the operations of an unsigned one."""
    operations = operations_of(given["operations"], wire)
    if not given.get("signatures"):
        return operations
    try:
        trx = wire.transaction_from_json({**given, "operations": []})
    except ChainError as error:
        raise NodeError(f"this is not a transaction: {error.message(wire.spec.spell)}") from None
    trx.operations = operations
    return wire.seal(trx)


def is_list_of_operations(given: Any) -> bool:
    """Whether a JSON value is a list of operations, as opposed to one operation written as a list of name and fields."""
    return isinstance(given, list) and not (given and isinstance(given[0], str))


def operations_of(given: Any, wire: Wire) -> tuple[Operation, ...]:
    """Parse a JSON list of operations. Raises NodeError, whose message contains the position of the invalid operation."""
    if not isinstance(given, list) or not given:
        raise NodeError("expected a list of operations, at least one")
    if len(given) > OPERATIONS_MAX:
        raise NodeError(f"expected at most {OPERATIONS_MAX} operations, got {len(given)}")
    return tuple(operation_of(item, position, wire) for position, item in enumerate(given))


def operation_of(given: Any, position: int, wire: Wire) -> Operation:
    """Parse an operation in the condenser's form (`[name, fields]`) or the NAI form (`{"type", "value"}`). Raises NodeError."""
    where = f"operation {position}"
    if isinstance(given, list) and len(given) == 2 and isinstance(given[0], str):
        legacy, name, body = True, given[0], given[1]
    elif isinstance(given, dict) and isinstance(given.get("type"), str) and "value" in given:
        legacy, name, body = False, given["type"], given["value"]
    else:
        raise NodeError(f'{where}: expected ["transfer", {{...}}] or {{"type": "transfer_operation", "value": {{...}}}}')
    cls = find_operation(name, wire)
    if cls is None:
        raise NodeError(f"{where}: unknown operation {name!r}. bin/coind tx --help lists all operations.")
    if not isinstance(body, dict):
        raise NodeError(f"{where}: expected an object with the fields of {cls.NAME}")
    known = [field.json for field in shown_fields(cls, legacy)]
    for member in body:
        if member not in known and member not in map(wire.spec.spell, known):
            raise NodeError(f"{where}: {cls.NAME} has no field {member!r}. Its fields are {', '.join(known)}.")
    try:
        found: Operation = wire.codecs.parser(cls, legacy)(body)
    except ChainError as error:
        raise NodeError(f"{where}, {cls.NAME}: {error.message(wire.spec.spell)}") from None
    return found


def find_operation(name: str, wire: Wire) -> type[Operation] | None:
    """Return the operation with this name, with or without the suffix `_operation`, in coind's or the chain's spelling. Return None if
    there is none.
    """
    for cls in OPERATIONS.values():
        if not cls.VIRTUAL and name.removesuffix(SUFFIX) in (cls.NAME, wire.spec.spell(cls.NAME)):
            return cls
    return None


def to_json(trx: SignedTransaction, wire: Wire) -> dict[str, Any]:
    """Return a transaction as JSON: in the condenser's form if that form supports all its operations, else in the NAI form."""
    return wire.transaction_to_json(trx, is_legacy(trx))


def is_legacy(trx: SignedTransaction) -> bool:
    """Whether the condenser's form supports all operations of a transaction. It supports none that involve tokens (wire-format.md §5)."""
    return all(operation.TAG not in SMT_TAGS for operation in trx.operations)
