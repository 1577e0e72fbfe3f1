"""Trio client of a node: JSON-RPC calls and streams of lines. Other tasks run while it processes large replies."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from node.client.errors import TooLarge, Unreachable
from node.client.http import CONNECT_SECONDS_MAX, RECEIVE_BYTES, REPLY_SECONDS_MAX, Protocol, Steps, T, nobody_answers, reason
from node.client.jsonrpc import encode_call
from node.client.lines import LineSplitter
from rpc.json.reader import MARKS_MAX, count_marks
from rpc.jsonrpc.scheduler import ReplyScheduler

REPLY_BYTES_MAX = 4 << 20


class Connection:
    """A connection to a node, for one request at a time. It reconnects if the node closed it after a reply.

    Received bytes are processed in time slices of `scheduler`. Several connections can share a scheduler.
    """

    def __init__(self, url: str, scheduler: ReplyScheduler) -> None:
        self._scheduler = scheduler
        self._protocol = Protocol(url)
        self.url = self._protocol.url
        self._stream: trio.abc.Stream | None = None
        self._last_id = 0

    async def open(self) -> None:
        """Connect."""
        await self.close()
        self._protocol.begin()
        host, port = self._protocol.address
        try:
            with trio.fail_after(CONNECT_SECONDS_MAX):
                if self._protocol.is_encrypted:
                    self._stream = await trio.open_ssl_over_tcp_stream(host, port, https_compatible=True)
                else:
                    self._stream = await trio.open_tcp_stream(host, port)
        except trio.TooSlowError:
            raise Unreachable(f"no node answers at {self.url} within {CONNECT_SECONDS_MAX} s") from None
        except OSError as error:
            raise nobody_answers(self.url, error) from None

    async def close(self) -> None:
        """Close the connection."""
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)
            self._stream = None

    async def call(
        self,
        method: str,
        params: Any,
        *,
        seconds_max: float = REPLY_SECONDS_MAX,
        size_max: int = REPLY_BYTES_MAX,
        forwarded_for: str = "",
    ) -> Any:
        """Return the result of a call. `forwarded_for` is the address of the client whose request is forwarded. Raises RefusedCall, NoNode
        or Unreachable.
        """
        self._last_id += 1
        with trio.fail_after(seconds_max):
            body = await self.post(encode_call(self._last_id, method, params), size_max, forwarded_for)
            try:
                answer = await self._scheduler.run(partial(_decoded, body))
            except (ValueError, RecursionError):
                answer = None
        return self._protocol.result(method, body, answer)

    async def post(self, body: bytes, size_max: int = REPLY_BYTES_MAX, forwarded_for: str = "") -> bytes:
        """Send a request and return the body of the reply. `status` and `retry_after` describe it. Raises NoNode or Unreachable."""
        await self._send("POST", self._protocol.target, body, forwarded_for)
        return await self._run(self._protocol.reply(size_max))

    @property
    def status(self) -> int:
        """The HTTP status of the last reply."""
        return self._protocol.status

    @property
    def retry_after(self) -> str:
        """The header Retry-After of the last reply, or "" if it had none."""
        return self._protocol.retry_after

    async def open_stream(self, target: str) -> int:
        """Request a stream of lines. Return the HTTP status of the reply."""
        with trio.fail_after(REPLY_SECONDS_MAX):
            await self._send("GET", target)
            return await self._run(self._protocol.head())

    async def lines(self) -> AsyncGenerator[list[bytes]]:
        """Yield the received lines of the stream in non-empty lists. Raises NoNode for a line over LINE_SIZE_MAX."""
        lines = LineSplitter()
        while True:
            with trio.fail_at(lines.latest(trio.current_time())):
                part = await self._run(self._protocol.part())
            if not part:
                return
            if whole := lines.add(part):
                yield whole

    async def _send(self, method: str, target: str, body: bytes = b"", forwarded_for: str = "") -> None:
        if self._stream is None or not self._protocol.is_ready:
            await self.open()
        assert self._stream is not None
        await self._stream.send_all(self._protocol.request(method, target, body, forwarded_for))

    async def _run(self, steps: Steps[T]) -> T:
        """Run the steps of a parser on the received bytes, each in a time slice of the scheduler."""
        assert self._stream is not None
        found: list[T] = []
        data: bytes | None = None

        def advance() -> bool:
            try:
                return steps.send(data)
            except StopIteration as end:
                found.append(end.value)
                return False

        while True:
            needs_bytes = await self._scheduler.run(advance)
            if found:
                return found[0]
            data = bytes(await self._stream.receive_some(RECEIVE_BYTES)) if needs_bytes else None


@asynccontextmanager
async def connected(url: str, scheduler: ReplyScheduler) -> AsyncIterator[Connection]:
    """Connect to a node and yield the connection. Its errors are raised as Unreachable or NoNode."""
    connection = Connection(url, scheduler)
    await connection.open()
    try:
        yield connection
    except trio.TooSlowError:
        raise Unreachable(f"{url} is silent") from None
    except (OSError, trio.BrokenResourceError) as error:
        raise Unreachable(f"the connection to {url} has ended ({reason(error)})") from None
    finally:
        await connection.close()


def _decoded(text: bytes) -> Any:
    """Decode a JSON text. If it has too many values, raise TooLarge before decoding."""
    if count_marks(text) > MARKS_MAX:
        raise TooLarge(f"a text of JSON has more than {MARKS_MAX} commas and brackets")
    return json.loads(text)
