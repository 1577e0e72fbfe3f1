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
from node.following.parsing import Cutter, TooLarge, json_in_steps
from rpc.service.turns import Turns

PART_SIZE = 1 << 16
# Chunks can be as small as a byte, and h11 takes some 20 µs for each: after so many it is asked whether others have their turn.
EVENTS_AT_ONCE_MAX = 100
# Heads that may come before that of the reply, as 100 Continue.
ANNOUNCED_MAX = 10
REPLY_SIZE_MAX = 4 << 20
REPLY_SECONDS_MAX = 60
# A packed stream has a line every few seconds. One that has begun may take longer as long as LINE_RATE_MIN bytes a second come.
SILENCE_SECONDS_MAX = 30
LINE_RATE_MIN = 10_000


class Reply:
    """The status of a reply, and its body in parts as they come."""

    def __init__(self, connection: "Connection", status: int) -> None:
        self._connection, self.status = connection, status

    async def part(self) -> bytes:
        """Return the next part of the body, b"" at its end."""
        while True:
            event = await self._connection.event()
            if isinstance(event, h11.Data):
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                return b""

    async def whole(self, size_max: int) -> bytes:
        """Return the whole body. Raises TooLarge."""
        body = bytearray()
        while part := await self.part():
            body += part
            if len(body) > size_max:
                raise TooLarge(f"a reply has more than {size_max >> 20} MiB")
        return bytes(body)

    async def lines(self) -> AsyncGenerator[list[bytes]]:
        """Yield the whole lines that have come, each time at least one. Raises NoNode for a line without end."""
        cutter = Cutter()
        latest = trio.current_time() + SILENCE_SECONDS_MAX
        while True:
            with trio.fail_at(latest + cutter.size / LINE_RATE_MIN):
                part = await self.part()
            if not part:
                return
            has_begun = cutter.size > 0
            lines = cutter.add(part)
            if lines:
                yield lines
            if lines or not has_begun:
                latest = trio.current_time() + SILENCE_SECONDS_MAX


class Connection:
    """A connection to a node, for one request after another; it is opened again where the node closes it after a reply.

    What comes is read in `turns`, those of all connections that share them.
    """

    def __init__(self, url: str, turns: Turns) -> None:
        self._url, self._turns = url, turns
        self._parts = parts_of(url)
        self._stream: trio.abc.Stream | None = None
        self._http = h11.Connection(h11.CLIENT)
        self._ahead: Any = None  # an event that has come after data
        self._last_id = 0

    async def open(self) -> None:
        """Connect."""
        await self.close()
        host, port = self._parts.hostname, self._parts.port or PORTS[self._parts.scheme]
        assert host is not None
        self._http, self._ahead = h11.Connection(h11.CLIENT), None
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

    async def request(
        self, method: str, path: str, body: bytes = b"", seconds_max: float = REPLY_SECONDS_MAX, forwarded_for: str = ""
    ) -> Reply:
        """Send a request, for the client at an address if it isn't our own; returns the reply when its head is there."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        if self._stream is None or self._http.our_state is not h11.IDLE:
            await self.open()
        assert self._stream is not None
        host = self._parts.netloc.rpartition("@")[2]
        headers = [("host", host), ("content-length", str(len(body))), ("content-type", "application/json")]
        headers += [("x-forwarded-for", forwarded_for)] if forwarded_for else []
        data = self._http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        data += (self._http.send(h11.Data(data=body)) or b"") + (self._http.send(h11.EndOfMessage()) or b"")
        with trio.fail_after(seconds_max):
            await self._stream.send_all(data)
            for _ in range(1 + ANNOUNCED_MAX):
                event = await self.event()
                if isinstance(event, h11.Response):
                    return Reply(self, event.status_code)
        raise NoNode(f"{self._url} announces an answer again and again, and gives none")

    async def event(self) -> Any:
        """Return the next event of HTTP that has come; data of many chunks as one."""
        assert self._stream is not None
        data = None
        try:
            while (event := await self._turns.take(self._next)) is h11.NEED_DATA:
                data = bytes(await self._stream.receive_some(PART_SIZE))
                self._http.receive_data(data)
        except h11.RemoteProtocolError:
            if data == b"":
                raise Unreachable(f"{self._url} ends the connection before its answer is whole") from None
            raise
        return event

    def _next(self) -> Any:
        pieces: list[bytes] = []
        while len(pieces) < EVENTS_AT_ONCE_MAX:
            event, self._ahead = self._ahead or self._http.next_event(), None
            if not isinstance(event, h11.Data):
                if not pieces:
                    return event
                self._ahead = None if event is h11.NEED_DATA else event
                break
            pieces.append(event.data)
        return h11.Data(data=b"".join(pieces))

    async def call(
        self,
        method: str,
        params: Any,
        *,
        seconds_max: float = REPLY_SECONDS_MAX,
        size_max: int = REPLY_SIZE_MAX,
        forwarded_for: str = "",
    ) -> Any:
        """Return the result of a call. Raises RefusedCall, NoNode or Unreachable."""
        self._last_id += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}).encode()
        with trio.fail_after(seconds_max):
            reply = await self.request("POST", self._parts.path or "/", body, seconds_max, forwarded_for)
            body = await reply.whole(size_max)
            try:
                answer = await self._turns.take_steps(json_in_steps(body))
            except (ValueError, RecursionError):
                answer = None
        if not isinstance(answer, dict) or not ("result" in answer or "error" in answer):
            raise NoNode(f"{self._url} answers, but not as a node of this chain family (status {reply.status})")
        if "result" not in answer:
            error = answer["error"]
            raise RefusedCall(method, error if isinstance(error, dict) else {"message": str(error)})
        return answer["result"]


@asynccontextmanager
async def connected(url: str, turns: Turns) -> AsyncIterator[Connection]:
    """Open a connection to a node for a while. What goes wrong in it is raised as Unreachable or NoNode."""
    connection = Connection(url, turns)
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
