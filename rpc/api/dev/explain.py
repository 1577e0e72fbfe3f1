"""dev_api.explain_transaction and dev_api.list_refused, which explain why transactions are refused."""

from typing import Annotated, Any, TypedDict

from rpc.declare.arguments import AnyOf, MaxValue, UInt32
from rpc.declare.errors import BadArgument
from rpc.declare.method import method
from rpc.declare.record_encoder import Json
from rpc.explain.budget import Budget
from rpc.explain.explainer import Explainer
from rpc.explain.fields import fields_of
from rpc.explain.refused_log import REFUSED_MAX
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.text import time_text

RefusedLimit = Annotated[UInt32, MaxValue(REFUSED_MAX, f"At most {REFUSED_MAX} refused transactions are retained")]

# A transaction in either JSON form.
AnyTransaction = Annotated[Any, AnyOf((SignedTransaction,))]


class FieldPlace(TypedDict):
    """A field of a transaction: its byte offset, its bytes in hex, and its value."""

    path: str
    offset: int
    size: int
    hex: str
    value: Any


class ExplainedTransaction(TypedDict):
    """A transaction's bytes and fields, and the explanation of its refusal.

    `rule`, `why` and `what_to_do` are null if the transaction would be accepted.
    """

    rule: str | None
    why: str | None
    what_to_do: str | None
    values: Json
    message: str | None
    id: str
    digest: str
    size: int
    hex: str
    fields: list[FieldPlace]


class RefusedTransaction(TypedDict):
    """A refused transaction. If it couldn't be parsed, its `id` is null. If it was too large to be retained, `transaction` is null."""

    time: str
    head_block_number: int
    id: str | None
    transaction: Json
    message: str
    explain: Json


@method("dev_api.explain_transaction", loopback_only=True)
def explain_transaction(chain: Chain, explainer: Explainer, /, trx: AnyTransaction) -> ExplainedTransaction:
    """Return why a transaction would be refused now, its packed bytes, and the offsets of its fields. The call doesn't change the chain.

    The transaction's operations have one of two formats: `["transfer", {...}]` or `{"type": "transfer_operation", "value": {...}}`.
    """
    wire = chain.state.wire
    given = read_transaction(wire, trx)
    error = chain.pool.refusal_of(given)
    found = None if error is None else explainer.explain(given, error, Budget())
    return {
        "rule": None if found is None else found.rule,
        "why": None if found is None else found.why,
        "what_to_do": None if found is None else found.what_to_do,
        "values": {} if found is None else found.values,
        "message": None if error is None else error.message(wire.spec.spell),
        "id": given.id.hex(),
        "digest": wire.signature_digest(given).hex(),
        "size": given.size,
        "hex": wire.pack_transaction(given).hex(),
        "fields": [
            {"path": field.path, "offset": field.offset, "size": len(field.data), "hex": field.data.hex(), "value": field.value}
            for field in fields_of(wire, given)
        ],
    }


@method("dev_api.list_refused", loopback_only=True)
def list_refused(explainer: Explainer, limit: RefusedLimit = 100) -> list[RefusedTransaction]:
    """Return the most recent refused transactions, newest first, each with its message and explanation."""
    return [
        {
            "time": time_text(entry.time),
            "head_block_number": entry.head_block_number,
            "id": None if entry.id is None else entry.id.hex(),
            "transaction": transaction,
            "message": entry.message,
            "explain": explanation,
        }
        for entry, transaction, explanation in explainer.refused.newest(limit)
    ]


def read_transaction(wire: Wire, trx: Any) -> SignedTransaction:
    """Parse a transaction in the JSON form of condenser_api or of the other APIs. The form is recognised from the operations. Raises
    BadArgument if the transaction is malformed.
    """
    operations = trx.get("operations") if isinstance(trx, dict) else None
    is_legacy = isinstance(operations, list) and any(isinstance(operation, list) for operation in operations)
    try:
        return wire.transaction_from_json(trx, is_legacy)
    except ChainError as error:
        raise BadArgument(error, "trx") from None
