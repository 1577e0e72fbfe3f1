"""Callbacks over a WebSocket as nodes before version 0.20 had them, and the login that their clients begin with.

Notices are `{"method": "notice", "params": [callback, [value]]}`, where `callback` is the number that the client has given, and values have
the form of the condenser. The clients of those nodes `call` APIs also by numbers: see `dispatch.NUMBERED_GROUPS`.
"""

from typing import Annotated

from rpc.declare.arguments import Example, Text, UInt64
from rpc.declare.method import method
from rpc.push.session import Session, Topic
from state.protocol.errors import require

# The APIs that older nodes gave to everybody, and their numbers: all but the login are in condenser_api now.
APIS = {"database_api": 0, "login_api": 1}
OTHER_APIS, OTHER = ("network_broadcast_api", "follow_api", "market_history_api", "account_by_key_api", "tag_api"), 2


@method("condenser_api.set_block_applied_callback")
@method("database_api.set_block_applied_callback")
def set_block_applied_callback(session: Session, callback: UInt64) -> None:
    """Send the header of each block that is applied from now on, with its signature, in place of an earlier callback.

    There is no notice of blocks that a fork undoes, as on the older nodes.
    """
    session.set_callback(Topic.headers, callback)


@method("condenser_api.set_pending_transaction_callback")
@method("database_api.set_pending_transaction_callback")
def set_pending_transaction_callback(session: Session, callback: UInt64) -> None:
    """Send each transaction that is accepted from now on, in place of an earlier callback."""
    session.set_callback(Topic.pending, callback)


@method("condenser_api.cancel_all_subscriptions")
@method("database_api.cancel_all_subscriptions")
def cancel_all_subscriptions(session: Session) -> None:
    """End all callbacks of this WebSocket."""
    session.cancel_callbacks()


@method("login_api.login")
def login(_session: Session, user: Text, password: Text) -> bool:
    """Return true: everything that older nodes asked a name for is open to all."""
    return True


@method("login_api.get_api_by_name")
def get_api_by_name(_session: Session, api: Annotated[Text, Example("database_api")]) -> int:
    """Return the number by which an API of older nodes can be called over a WebSocket."""
    require(api in APIS or api in OTHER_APIS, "there is no API ${api}", condition="api_map.contains( api )", api=api)
    return APIS.get(api, OTHER)
