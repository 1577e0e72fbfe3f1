"""Calls of a node by JSON-RPC over HTTP, with the standard library: what commands need that talk to a node. It knows no method.

Each failure is a NodeError with a sentence for the user: nobody answers, something else than a node answers, or the node refuses.
"""

import http.client
import io
import json
import os
import socket
import time
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from node.failures import NodeError

DEFAULT_URL = "http://127.0.0.1:8090"
CONNECT_SECONDS_MAX = 10
IDLE_SECONDS_MAX = 3
REPLY_SECONDS_MAX = 60
PART_BYTES = 1 << 20
REPLY_BYTES_MAX = 64 * 1024 * 1024
SHOWN_CHARACTERS_MAX = 200
PORTS = {"http": 80, "https": 443}

UNKNOWN = ("Could not find API", "Could not find method", "Method not found", "api_itr != _registered_apis.end()")


class Unreachable(NodeError):
    """No node answers at the address."""


class NoNode(NodeError):
    """Something answers at the address, but not as a node of this chain family."""


class RefusedCall(NodeError):
    """The node has answered a call with an error; `message` and `data` are its own."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        self.error = error
        self.message = str(error.get("message", "an error without a message"))
        data = error.get("data")
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self.method = method
        super().__init__(f"{method} is refused: {self.message}")

    @property
    def explanation(self) -> dict[str, Any]:
        """Why a transaction was refused and what to do about it, as the node explains it; empty for a node that doesn't."""
        found = self.data.get("explain")
        return found if isinstance(found, dict) else {}

    @property
    def hint(self) -> str:
        """The node's hint why it doesn't serve a method, or what to do; "" without one."""
        hint = self.data.get("hint")
        return hint if isinstance(hint, str) else ""

    @property
    def closest(self) -> list[str]:
        """The methods that may have been meant in place of an unknown one, as the node guesses."""
        found = self.data.get("closest")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []

    @property
    def is_unknown_method(self) -> bool:
        """Whether the node doesn't have the method, or its group."""
        return any(text in self.message for text in UNKNOWN)


class Timely(io.RawIOBase):
    """What a socket receives until a point in time: with a bound for each read alone, what drips or never ends would go on for ever."""

    def __init__(self, line: socket.socket, latest: float) -> None:
        super().__init__()
        self._line, self._latest = line, latest
        self._raw = line.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what is there, or comes in time. Raises TimeoutError."""
        seconds = self._latest - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        self._line.settimeout(seconds)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Give the socket back."""
        self._raw.close()
        super().close()


class Reply(http.client.HTTPResponse):
    """A reply of which everything, from the first byte of its head on, has come at a point in time."""

    def __init__(self, sock: socket.socket, method: str | None = None, *, latest: float) -> None:
        super().__init__(sock, method=method)
        self.fp.close()
        self.fp = io.BufferedReader(Timely(sock, latest))


class Client:
    """A node at an address; one connection is used for all calls."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._parts = parts_of(url)
        self._connection: http.client.HTTPConnection | None = None
        self._id = 0
        self.last_method = ""  # that was called
        self._used = 0.0

    def call(self, method: str, params: Any = (), *, seconds_max: float = REPLY_SECONDS_MAX) -> Any:
        """Return the result of a call. Raises Unreachable, NoNode or RefusedCall."""
        self._id += 1
        self.last_method = method
        body = json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode()
        status, reply = self._post(body, seconds_max)
        try:
            answer = json.loads(reply)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not ("result" in answer or "error" in answer):
            shown = reply[:SHOWN_CHARACTERS_MAX].decode("utf-8", "replace").strip()
            raise NoNode(f"{self.url} answers, but not as a node of this chain family (status {status}: {shown})")
        if "result" not in answer:
            error = answer["error"]
            raise RefusedCall(method, error if isinstance(error, dict) else {"message": str(error)})
        return answer["result"]

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes, seconds_max: float) -> tuple[int, bytes]:
        """Send a request. It is never repeated: nobody knows whether a node that gives no answer has done it."""
        try:
            return self._exchange(body, seconds_max)
        except TimeoutError as error:
            self.close()
            raise Unreachable(f"{self.url} gives no answer within {seconds_max:g} s") from error
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
            self.close()
            raise Unreachable(f"{self.url} ends the connection without an answer") from error
        except http.client.HTTPException as error:
            self.close()
            raise NoNode(f"{self.url} answers, but not in HTTP ({type(error).__name__}); is it the port of a node?") from error
        except OSError as error:
            self.close()
            raise Unreachable(self._nobody(error)) from error

    def _exchange(self, body: bytes, seconds_max: float) -> tuple[int, bytes]:
        connection = self._open()
        connection.sock.settimeout(seconds_max)
        latest = time.monotonic() + seconds_max
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        connection.response_class = partial(Reply, latest=latest)  # type: ignore[assignment]
        response = connection.getresponse()
        reply = bytearray()
        while len(reply) <= REPLY_BYTES_MAX and (part := response.read1(PART_BYTES)):
            reply += part
        # Reading in parts doesn't say by itself that the reply is whole; the connection takes the next request only then.
        response.close()
        self._used = time.monotonic()
        if len(reply) > REPLY_BYTES_MAX:
            self.close()
            raise NoNode(f"{self.url} answers with more than {REPLY_BYTES_MAX // 1024 // 1024} MiB")
        return response.status, bytes(reply)

    def _open(self) -> http.client.HTTPConnection:
        """Return the connection; a new one when the old one is closed, or so old that the node may close it at any moment."""
        if self._connection is not None and self._connection.sock is not None and time.monotonic() - self._used < IDLE_SECONDS_MAX:
            return self._connection
        self.close()
        return self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        parts = self._parts
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        assert parts.hostname is not None
        connection = kind(parts.hostname, parts.port or PORTS[parts.scheme], timeout=CONNECT_SECONDS_MAX)
        connection.connect()
        self._connection = connection
        return connection

    def _nobody(self, error: OSError) -> str:
        why = error.strerror or (os.strerror(error.errno) if error.errno else str(error) or type(error).__name__)
        return f"no node answers at {self.url} ({why}). Start one with bin/coind run, or name another one with --url or COIND_URL"


def parts_of(url: str) -> SplitResult:
    """Return the parts of an address; HOST:PORT stands for http://HOST:PORT. Raises NodeError."""
    wrong = NodeError(f"{url!r} is no address of a node; expected one like {DEFAULT_URL}")
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        usable = parts.scheme in PORTS and parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
        (parts.hostname or "").encode("idna")  # as it is looked up
    except ValueError:
        raise wrong from None
    if not usable:
        raise wrong
    return parts
