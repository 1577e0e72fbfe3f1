"""The lane of calls: HTTP/1.1 requests by POST, which nearly every client sends, are read here and answered in the connection's own task."""

from typing import Any

from rpc.service.transport.connection import Connection
from rpc.service.transport.guests import Guest
from rpc.service.transport.intake import Intake
from rpc.service.transport.tasks import Limit


class CallLane:
    """Answers calls; whatever is no plain call is left for hypercorn, from its first byte on."""

    def __init__(self, gateway: Any, intake: Intake) -> None:
        self._gateway, self._intake = gateway, intake

    async def __call__(self, connection: Connection, guest: Guest, data: bytes, bugs: Limit) -> bytes | None:
        """Serve a connection as long as it sends calls."""
        return data
