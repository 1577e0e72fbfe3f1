"""HTTP/1.1 from a trio task to another node: calls of JSON-RPC, and lines of a stream. It knows no method and no block.

Whatever the other side sends is bounded in size and time; what goes wrong is an Unreachable or a NoNode with a sentence for the user.
"""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import h11
import trio

from node.commands.client import CONNECT_SECONDS_MAX, PORTS, NoNode, RefusedCall, Unreachable, parts_of

PART_SIZE = 1 << 16
REPLY_SIZE_MAX = 64 << 20
REPLY_SECONDS_MAX = 60
# A packed stream gives a sign of life every few seconds; of others nobody knows when the next block comes.
SILENCE_SECONDS_MAX = 30
LINE_SIZE_MAX = 16 << 20


class Reply:
    """The status of a reply, and its body in parts as they come."""

    def __init__(self, connection: "Connection", status: int) -> None:
        self._connection, self.status = connection, status

    async def part(self, seconds_max: float) -> bytes:
        """Return the next part of the body, b"" at its end."""
        with trio.fail_after(seconds_max):
            while True:
                event = await self._connection.event()
                if isinstance(event, h11.Data):
                    return bytes(event.data)
                if isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
                    return b""

    async def whole(self) -> bytes:
        """Return the whole body."""
        body = bytearray()
        with trio.fail_after(REPLY_SECONDS_MAX):
            while part := await self.part(REPLY_SECONDS_MAX):
                body += part
                if len(body) > REPLY_SIZE_MAX:
                    raise NoNode(f"a reply has more than {REPLY_SIZE_MAX >> 20} MiB")
        return bytes(body)

    async def lines(self, silence_seconds_max: float) -> AsyncGenerator[list[bytes]]:
        """Yield the whole lines that have come, each time at least one. Raises Unreachable for a line without end."""
        rest = b""
        while part := await self.part(silence_seconds_max):
            rest += part
            if b"\n" in part:
                *lines, rest = rest.split(b"\n")
                yield lines
            if len(rest) > LINE_SIZE_MAX:
                raise NoNode(f"a line of the stream has more than {LINE_SIZE_MAX >> 20} MiB")


class Connection:
    """A connection to a node, for one request after another; it is opened again where the node closes it after a reply."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._parts = parts_of(url)
        self._stream: trio.abc.Stream | None = None
        self._http = h11.Connection(h11.CLIENT)
        self._last_id = 0

    async def open(self) -> None:
        """Connect."""
        await self.close()
        host, port = self._parts.hostname, self._parts.port or PORTS[self._parts.scheme]
        assert host is not None
        self._http = h11.Connection(h11.CLIENT)
        try:
            with trio.fail_after(CONNECT_SECONDS_MAX):
                if self._parts.scheme == "https":
                    self._stream = await trio.open_ssl_over_tcp_stream(host, port, https_compatible=True)
                else:
                    self._stream = await trio.open_tcp_stream(host, port)
        except trio.TooSlowError:
            raise Unreachable(f"no node answers at {self._url} within {CONNECT_SECONDS_MAX} s") from None
        except OSError as error:
            raise Unreachable(f"no node answers at {self._url} ({error.strerror or error})") from None

    async def close(self) -> None:
        """Close the connection."""
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)
            self._stream = None

    async def request(self, method: str, path: str, body: bytes = b"") -> Reply:
        """Send a request; returns the reply when its head is there."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        if self._stream is None or self._http.our_state is not h11.IDLE:
            await self.open()
        assert self._stream is not None
        host = self._parts.netloc.rpartition("@")[2]
        headers = [("host", host), ("content-length", str(len(body))), ("content-type", "application/json")]
        data = self._http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        data += (self._http.send(h11.Data(data=body)) or b"") + (self._http.send(h11.EndOfMessage()) or b"")
        with trio.fail_after(REPLY_SECONDS_MAX):
            await self._stream.send_all(data)
            while True:
                event = await self.event()
                if isinstance(event, h11.Response):
                    return Reply(self, event.status_code)
                if isinstance(event, h11.ConnectionClosed):
                    raise Unreachable(f"{self._url} ends the connection without an answer")

    async def event(self) -> Any:
        """Return the next event of HTTP that has come."""
        assert self._stream is not None
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(bytes(await self._stream.receive_some(PART_SIZE)))
        return event

    async def call(self, method: str, params: Any, *, seconds_max: float = REPLY_SECONDS_MAX) -> Any:
        """Return the result of a call. Raises RefusedCall, NoNode or Unreachable."""
        self._last_id += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}).encode()
        with trio.fail_after(seconds_max):
            reply = await self.request("POST", self._parts.path or "/", body)
            given = await reply.whole()
        try:
            answer = json.loads(given)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not ("result" in answer or "error" in answer):
            raise NoNode(f"{self._url} answers, but not as a node of this chain family (status {reply.status})")
        if "result" not in answer:
            error = answer["error"]
            raise RefusedCall(method, error if isinstance(error, dict) else {"message": str(error)})
        return answer["result"]


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """Open a connection to a node for a while. What goes wrong in it is raised as Unreachable or NoNode."""
    connection = Connection(url)
    await connection.open()
    try:
        yield connection
    except trio.TooSlowError:
        raise Unreachable(f"{url} is silent") from None
    except (OSError, trio.BrokenResourceError, ssl.SSLError) as error:
        raise Unreachable(f"the connection to {url} has ended ({error})") from None
    except h11.ProtocolError as error:
        raise NoNode(f"{url} answers, but not in HTTP ({error}); is it the port of a node?") from None
    finally:
        await connection.close()
