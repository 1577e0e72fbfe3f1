"""Methods of nodes before version 0.20: WebSocket callbacks, and the login call that clients of that time send first.

Notices are `{"method": "notice", "params": [callback, [value]]}`. `callback` is a number chosen by the client, and values have the format
of condenser_api. In `call` requests, these clients give an API's number instead of its name: see `method_names.NUMBERED_GROUPS`.
"""

from typing import Annotated

from rpc.declare.arguments import Example, Text, UInt64
from rpc.declare.method import method
from rpc.push.session import Session, Topic
from state.protocol.errors import require

# The public APIs of older nodes and their numbers. Except for the login, their methods are now in condenser_api.
APIS = {"database_api": 0, "login_api": 1}
OTHER_APIS, OTHER = ("network_broadcast_api", "follow_api", "market_history_api", "account_by_key_api", "tag_api"), 2


@method("condenser_api.set_block_applied_callback")
@method("database_api.set_block_applied_callback")
def set_block_applied_callback(session: Session, callback: UInt64) -> None:
    """Send the signed header of each block that is applied from now on to this callback. The new callback replaces the client's earlier
    block callback.

    As on older nodes, clients get no notice of undone blocks.
    """
    session.set_callback(Topic.headers, callback)


@method("condenser_api.set_pending_transaction_callback")
@method("database_api.set_pending_transaction_callback")
def set_pending_transaction_callback(session: Session, callback: UInt64) -> None:
    """Send each transaction that is accepted from now on to a callback. The callback replaces the client's earlier transaction callback."""
    session.set_callback(Topic.pending, callback)


@method("condenser_api.cancel_all_subscriptions")
@method("database_api.cancel_all_subscriptions")
def cancel_all_subscriptions(session: Session) -> None:
    """Cancel all callbacks of this WebSocket."""
    session.cancel_callbacks()


@method("login_api.login")
def login(_session: Session, user: Text, password: Text) -> bool:
    """Always return true, since all methods for which older nodes required a login are public."""
    return True


@method("login_api.get_api_by_name")
def get_api_by_name(_session: Session, api: Annotated[Text, Example("database_api")]) -> int:
    """Return the number of an API of older nodes. Clients use it to call the API's methods over a WebSocket."""
    require(api in APIS or api in OTHER_APIS, "there is no API ${api}", condition="api_map.contains( api )", api=api)
    return APIS.get(api, OTHER)
