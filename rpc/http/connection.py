"""A client connection: passes received bytes to its protocol handlers, sends replies, and limits how long a client can make the node wait.

An exception on a connection ends only that connection.
"""

import socket
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import trio

from rpc.http.connection_limits import ClientUsage, ConnectionLimiter, address_of
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import LogLimit, bugs_logged
from rpc.log import Log

RECEIVE_SIZE = 1 << 16
SEND_SIZE = 1 << 16
# Chunks of up to this size in bytes are sent without a checkpoint, but at most this number of chunks in a row. Sending one takes 30 µs.
SEND_AT_ONCE_SIZE, SENT_AT_ONCE_MAX = 1 << 16, 16
# A client that receives nothing for SEND_SECONDS_MAX is disconnected. Over longer periods it must receive SEND_RATE_MIN bytes per second.
SEND_SECONDS_MAX = 60
SEND_RATE_MIN = 10_000
CLOSE_SECONDS_MAX = 2
# An idle connection may be closed early by up to 1/IDLE_DIVISOR of the idle timeout.
IDLE_DIVISOR = 64
# At most this many errors that end connections are logged per minute. The other errors are only counted.
ENDED_LOGGED_MAX = 20
ENDED_LOGGED_SECONDS = 60
ERROR_LENGTH_MAX = 200

# Serves the requests on a connection that the handler supports, starting with the bytes already received. Returns received bytes that it
# doesn't serve, for the next handler, or None to end the connection.
ProtocolHandler = Callable[["Connection", ClientUsage, bytes, LogLimit], Awaitable[bytes | None]]

_log = Log("http")


class ErrorLog:
    """Logs the errors that end connections, at a limited rate."""

    def __init__(self) -> None:
        self.bugs = bugs_logged()
        self._ended = LogLimit(ENDED_LOGGED_MAX, ENDED_LOGGED_SECONDS)

    def log(self, client: str, errors: BaseExceptionGroup[Exception]) -> None:
        """Log the error that ended a client's connection, in one line."""
        if not self._ended.is_allowed():
            return
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        # Without source lines, because reading a source file takes tens of milliseconds.
        frames = list(traceback.walk_tb(error.__traceback__))
        where = f"{frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
        message = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]
        _log.warning("a connection was ended", client=client, error=message, where=where, **self._ended.pop_suppressed())


class Connection:
    """An accepted connection: its socket, its protocol handlers, and the cancel scope of all its tasks.

    Any task can call `abort`, which closes the connection at once. A connection is idle while it has no open request.
    """

    def __init__(
        self,
        accepted: socket.socket,
        peer: Any,
        idle_seconds_max: float,
        limiter: ConnectionLimiter,
        input_scheduler: FairInputScheduler,
        handlers: Sequence[ProtocolHandler],
    ) -> None:
        self.client = (str(peer[0]), int(peer[1]))
        self.server: tuple[str, int]
        self.scope = trio.CancelScope()
        self._socket = accepted
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted))
        self._sent_at_once = 0
        self._idle_seconds_max, self._idle_extended_after = idle_seconds_max, idle_seconds_max / IDLE_DIVISOR
        self._limiter = limiter
        self._input_scheduler = input_scheduler
        self._address = address_of(self.client[0])[0]
        self._handlers = handlers
        self._is_idle = True
        self._idle_since = 0.0
        self.is_ending = False
        self._is_input_closed = False
        self._sending = trio.Lock()

    def abort(self) -> None:
        """Close the connection at once, and cancel its tasks."""
        self.scope.cancel()
        self._stream.socket.close()

    def end_when_idle(self) -> None:
        """End the connection as soon as it has no open request."""
        self.is_ending = True
        if self._is_idle:
            self.scope.cancel()

    async def run(self, usage: ClientUsage, data: bytes, error_log: ErrorLog) -> None:
        """Serve the connection to its end, starting with its first bytes, which the input scheduler has already admitted."""
        try:
            with self.scope:
                self.mark_idle(True)
                self.server = self._stream.socket.getsockname()[:2]
                rest: bytes | None = data
                for handler in self._handlers:
                    if rest is not None:
                        rest = await handler(self, usage, rest, error_log.bugs)
                await self.close()
        except* (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        except* Exception as errors:
            error_log.log(self.client[0], errors)
        finally:
            self._limiter.unregister(usage)
            self._stream.socket.close()

    async def receive(self) -> bytes:
        """Return the next bytes once the input scheduler admits them, or b"" at the end of the input. Raises the same errors as trio's
        streams.
        """
        try:
            # Doesn't use trio's stream, which would add a third to the time of a small request. This always contains a checkpoint.
            while True:
                await self._wait_readable()
                try:
                    data = self._socket.recv(RECEIVE_SIZE)
                    break
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise trio.BrokenResourceError from error
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The end of a connection takes CPU time, too, and a thousand connections can end at the same time.
            await self._input_scheduler.wait(self._address)
            raise
        self._sent_at_once = 0
        if not self._input_scheduler.admits(data):
            await self._input_scheduler.wait(self._address, is_page=self._input_scheduler.is_for_page(data))
        return data

    def _wait_readable(self) -> Awaitable[None]:
        """Return an awaitable that waits for input. The method isn't `async`, since another coroutine would slow down each switch to the
        task.
        """
        descriptor = self._socket.fileno()
        if descriptor < 0:
            raise trio.ClosedResourceError("it has been closed here")
        return trio.lowlevel.wait_readable(descriptor)

    async def wait_closed(self) -> None:
        """Wait until the client disconnects. A disconnect isn't detected while earlier input from the client is unread."""
        try:
            await self._wait_readable()
        except trio.ClosedResourceError:
            return
        if not self.is_disconnected():
            await trio.sleep_forever()

    def is_disconnected(self) -> bool:
        """Whether the client has disconnected and the node has read all of its input."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def fileno(self) -> int:
        """Return the socket's file descriptor, or -1 if the socket is closed."""
        return self._socket.fileno()

    async def write(self, *pieces: bytes) -> None:
        """Send bytes. Small chunks are sent without a checkpoint. Disconnect a client that receives too slowly."""
        for piece in pieces:
            rest = self.try_write(piece)
            if rest:
                await self.write_whole(rest)

    def try_write(self, data: bytes) -> bytes:
        """Send as much of a small chunk as the operating system accepts without waiting. Return the rest.

        No other task runs while the head and the body of a reply are sent. The connection therefore can't be evicted in the middle of a
        reply.
        """
        if len(data) > SEND_AT_ONCE_SIZE or self._sent_at_once >= SENT_AT_ONCE_MAX or self._sending.locked():
            return data
        self._sent_at_once += 1
        try:
            sent = self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return data
        except OSError as error:
            raise trio.BrokenResourceError from error
        return data[sent:]

    async def write_whole(self, *pieces: bytes) -> None:
        """Send several chunks, with no other output between them. Disconnect a client that receives too slowly."""
        try:
            self._sending.acquire_nowait()
        except trio.WouldBlock:
            await self._sending.acquire()
        try:
            for piece in pieces:
                await self._send(piece)
            self._sent_at_once = 0
        finally:
            self._sending.release()

    async def _send(self, data: bytes) -> None:
        """Send bytes. Disconnect a client that receives too slowly."""
        view = memoryview(data)
        begun = trio.current_time()
        for start in range(0, len(view), SEND_SIZE):
            now = trio.current_time()
            seconds = min(SEND_SECONDS_MAX, begun + SEND_SECONDS_MAX + start / SEND_RATE_MIN - now)
            with trio.move_on_after(max(0, seconds)) as patience:
                await self._stream.send_all(view[start : start + SEND_SIZE])
            if patience.cancelled_caught:
                self.abort()
                raise trio.BrokenResourceError("the client doesn't read")

    def mark_idle(self, is_idle: bool) -> None:
        """Mark the connection as idle, which starts its idle timeout, or as busy."""
        self._is_idle = is_idle
        if is_idle and self.is_ending:
            self.scope.cancel()
        elif not self._is_input_closed:
            self._idle_since = trio.current_time() if is_idle else float("-inf")
            self.scope.deadline = self._idle_since + self._idle_seconds_max if is_idle else float("inf")

    def start_close_timeout(self) -> None:
        """Allow CLOSE_SECONDS_MAX for the remaining work after the client has closed its output."""
        self._is_input_closed = True
        self.scope.deadline = trio.current_time() + CLOSE_SECONDS_MAX

    def cancel_close_timeout(self) -> None:
        """Cancel the close and idle timeouts, because the connection continues as a WebSocket."""
        self._is_input_closed = False
        self.mark_idle(False)

    def extend_idle(self, now: float) -> None:
        """Mark the connection as idle since `now`, after a request that was answered at once."""
        # Updating a deadline takes a tenth of a small request's time, so it is updated only if the difference matters.
        if now - self._idle_since > self._idle_extended_after:
            self.mark_idle(True)

    async def close(self) -> None:
        """Close the connection's output, then the connection."""
        with suppress(trio.BrokenResourceError, trio.BusyResourceError, trio.ClosedResourceError):
            await self._stream.send_eof()
        await self._stream.aclose()


class ClientEnded(Exception):
    """Raised to end a connection because of the client's behaviour."""
