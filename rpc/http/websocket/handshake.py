"""The WebSocket handshake: recognises requests for a WebSocket, and encodes the responses."""

from collections.abc import Iterable

import h11
from hypercorn.protocol.ws_stream import Handshake
from wsproto.utilities import split_comma_header

FORBIDDEN = 403

_VERSION = b"1.1"
_REFUSED = [(b"content-length", b"0"), (b"connection", b"close")]


class UpgradeRequest(Exception):
    """Raised for a valid request to open a WebSocket. The function that reads the connection then parses the input as frames."""

    def __init__(self, request: h11.Request, connection: h11.Connection) -> None:
        self.headers = list(request.headers)
        self._connection = connection

    def accept(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Encode the response that opens the WebSocket."""
        status, own, _ = Handshake(self.headers, _VERSION.decode()).accept(None, headers)
        return self._connection.send(h11.InformationalResponse(status_code=status, headers=own)) or b""

    def refuse(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Encode the response that refuses the WebSocket."""
        answer = h11.Response(status_code=FORBIDDEN, headers=[*_REFUSED, *headers])
        return (self._connection.send(answer) or b"") + (self._connection.send(h11.EndOfMessage()) or b"")


def asks(request: h11.Request) -> bool:
    """Whether a request asks for a WebSocket. Some requests with `Upgrade: websocket` don't ask for one, and are ordinary requests."""
    # If a header is repeated, its last value counts, here and in `is_valid`.
    tokens = [split_comma_header(value) for name, value in request.headers if name == b"connection"]
    return request.method.upper() == b"GET" and bool(tokens) and any(token.lower() == "upgrade" for token in tokens[-1])


def is_valid(request: h11.Request) -> bool:
    """Whether the handshake is valid according to RFC 6455 §4.2.1."""
    return request.http_version == _VERSION and Handshake(list(request.headers), _VERSION.decode()).is_valid()
