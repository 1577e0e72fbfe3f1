"""WebSocket subscriptions to blocks, irreversible blocks, operations, transactions and refusals."""

from typing import Annotated

from rpc.declare.arguments import AccountName, Example, Text, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json
from rpc.push.session import CALLBACKS, Filter, Session, Topic
from state.protocol.errors import existing, require
from state.protocol.operation import OPERATIONS, Operation

NAMES_MAX = 100  # the maximum number of accounts, and of operations, in one subscription
SUFFIX = "_operation"

KINDS = tuple(kind.value for kind in Topic if kind not in CALLBACKS)


@method("dev_api.subscribe", key="subscription", loopback_only=True)
def subscribe(session: Session, kind: Annotated[Text, Example("blocks")], accounts: list[AccountName], operations: list[Text]) -> UInt32:
    """Subscribe this WebSocket to notices, and return the number of the subscription.

    `kind` is `blocks`, `irreversible_blocks`, `operations` (of blocks on the main branch, including virtual operations), `transactions`
    (accepted as pending) or `refusals` (of transactions). `accounts` selects operations that affect one of these accounts, and `operations`
    selects operations by name.

    A notice is `{"method": "dev_api.notice", "params": {"subscription", "kind", "block" | "operation" | "transaction" | "refusal": ...}}`.
    When a fork or a revert undoes blocks, subscribers to blocks and operations get `"undone": {"first", "last"}` instead, with the numbers
    of the first and the last undone block. If a client reads too slowly, its WebSocket is closed with code 1013 and a reason.
    """
    text = "unknown kind ${kind}, expected one of ${kinds}"
    require(kind in KINDS, text, condition="kinds.contains( kind )", kind=kind, kinds=", ".join(KINDS))
    is_filtered = bool(accounts or operations)
    require(
        not is_filtered or kind == Topic.operations.value,
        "accounts and operations require the kind operations",
        condition="kind == operations",
    )
    most = max(len(accounts), len(operations))
    require(most <= NAMES_MAX, "accounts and operations can have at most ${n} members each", condition="size <= max", n=NAMES_MAX)
    return session.subscribe(Topic(kind), Filter(frozenset(accounts), frozenset(map(operation_class, operations))))


@method("dev_api.unsubscribe", loopback_only=True)
def unsubscribe(session: Session, subscription: UInt32) -> Json:
    """Cancel a subscription of this WebSocket."""
    session.unsubscribe(subscription)
    return {}


def operation_class(name: str) -> type[Operation]:
    """Return the operation class with this name, for example `transfer` or `transfer_operation`. An unknown name is refused."""
    bare = name.removesuffix(SUFFIX)
    found = next((cls for cls in OPERATIONS.values() if bare == cls.NAME), None)
    return existing(found, "there is no operation ${name}", condition="operations.contains( name )", name=name)
