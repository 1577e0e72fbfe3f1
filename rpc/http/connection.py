"""One connection: hands what arrives to its lanes, sends the answers, and ends. Whatever is raised in
it ends this connection only. It bounds the time that a client may let the node wait. It knows nothing of requests.
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
# So small a piece is sent without letting others run in between, so many times in a row.
SEND_AT_ONCE_SIZE, SENT_AT_ONCE_MAX = 1 << 12, 16
# A client that takes nothing for so long is gone; over longer times it must take SEND_RATE_MIN bytes a second.
SEND_SECONDS_MAX = 60
SEND_RATE_MIN = 10_000
CLOSE_SECONDS_MAX = 2
# An idle connection may be ended earlier by one part in so many of its time.
IDLE_PARTS = 64
# Connections that end by an error are logged one by one up to so many a minute, then counted.
ENDED_LOGGED_MAX = 20
ENDED_LOGGED_SECONDS = 60
ERROR_LENGTH_MAX = 200

# A lane serves what it knows on a connection, from the bytes on that have been read. It returns what it has read and not served, for the
# next one, or None when the connection is to end.
ProtocolHandler = Callable[["Connection", ClientUsage, bytes, LogLimit], Awaitable[bytes | None]]

_log = Log("http")


class ErrorLog:
    """Logs what goes wrong with connections, in a bounded number of lines."""

    def __init__(self) -> None:
        self.bugs = bugs_logged()
        self._ended = LogLimit(ENDED_LOGGED_MAX, ENDED_LOGGED_SECONDS)

    def log(self, client: str, errors: BaseExceptionGroup[Exception]) -> None:
        """Log in one line what ended the connection of a client."""
        if not self._ended.is_allowed():
            return
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        # Without the text of the lines, since reading a source file takes tens of milliseconds.
        frames = list(traceback.walk_tb(error.__traceback__))
        where = f"{frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
        said = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]
        _log.warning("a connection was ended", client=client, error=said, where=where, **self._ended.pop_suppressed())


class Connection:
    """A connection that was accepted: its socket, its lanes, and the scope of all its tasks.

    `abort` ends it at once, from anywhere. Idle is a connection on which no request is open.
    """

    def __init__(
        self,
        accepted: socket.socket,
        peer: Any,
        idle_seconds_max: float,
        limiter: ConnectionLimiter,
        input_scheduler: FairInputScheduler,
        lanes: Sequence[ProtocolHandler],
    ) -> None:
        self.client = (str(peer[0]), int(peer[1]))
        self.server: tuple[str, int]
        self.scope = trio.CancelScope()
        self._socket = accepted
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted))
        self._sent_at_once = 0
        self._idle_seconds_max = idle_seconds_max
        self._limiter = limiter
        self._input_scheduler = input_scheduler
        self._address = address_of(self.client[0])[0]
        self._lanes = lanes
        self._is_idle = True
        self._idle_since = 0.0
        self.is_ending = False
        self._is_closed = False
        self._sending = trio.Lock()

    def abort(self) -> None:
        """Close it; its tasks are cancelled."""
        self.scope.cancel()
        self._stream.socket.close()

    def end_when_idle(self) -> None:
        """Take no further request."""
        self.is_ending = True
        if self._is_idle:
            self.scope.cancel()

    async def run(self, usage: ClientUsage, data: bytes, error_log: ErrorLog) -> None:
        """Serve it to its end, from its first bytes on, which the intake has let in."""
        try:
            with self.scope:
                self.mark_idle(True)
                self.server = self._stream.socket.getsockname()[:2]
                rest: bytes | None = data
                for lane in self._lanes:
                    if rest is not None:
                        rest = await lane(self, usage, rest, error_log.bugs)
                await self.close()
        except* (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        except* Exception as errors:
            error_log.log(self.client[0], errors)
        finally:
            self._limiter.unregister(usage)
            self._stream.socket.close()

    async def receive(self) -> bytes:
        """Return what arrives next, once the intake lets it in; nothing when nothing more will come. Raises as a stream of trio does."""
        try:
            # Not by trio's stream, which takes a third more of a small request's time. It always lets others run in between.
            data = None
            while data is None:
                await self._wait_readable()
                data = self._read_at_once()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The end of a connection is work as well, and a thousand can end at once.
            await self._input_scheduler.wait(self._address)
            raise
        self._sent_at_once = 0
        is_page = self._input_scheduler.is_for_page(data)
        if not self._input_scheduler.is_open(is_page):
            await self._input_scheduler.wait(self._address, is_page=is_page)
        return data

    def _read_at_once(self) -> bytes | None:
        """Return what has arrived, None when nothing has."""
        try:
            return self._socket.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return None
        except OSError as error:
            raise trio.BrokenResourceError from error

    def _wait_readable(self) -> Awaitable[None]:
        """Return what waits until something can be read: a function of its own that waits would take time at each turn of its task."""
        descriptor = self._socket.fileno()
        if descriptor < 0:
            raise trio.ClosedResourceError("it has been closed here")
        return trio.lowlevel.wait_readable(descriptor)

    async def turn(self) -> None:
        """Let others run, and wait until more input may be worked on."""
        await trio.lowlevel.checkpoint()
        await self._input_scheduler.wait(self._address)

    async def wait_closed(self) -> None:
        """Wait until the client has left. One that has sent more isn't known to leave."""
        try:
            await self._wait_readable()
        except trio.ClosedResourceError:
            return
        if not self.is_disconnected():
            await trio.sleep_forever()

    def is_disconnected(self) -> bool:
        """Whether nothing more will come, and nothing has come that was not read."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def fileno(self) -> int:
        """Return the descriptor of its socket, -1 once that is closed."""
        return self._socket.fileno()

    async def write(self, *pieces: bytes) -> None:
        """Send bytes, small ones at once. A client that doesn't take them in time is cut off."""
        for piece in pieces:
            rest = self.try_write(piece)
            if rest:
                await self.write_whole(rest)

    def try_write(self, data: bytes) -> bytes:
        """Send of a small piece what the system takes at once; returns the rest.

        Between the head of a reply and its body nobody else runs: a reply that has begun is not cut in favour of a newcomer.
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
        """Send bytes after those of others, with nothing in between. A client that doesn't take them in time is cut off."""
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
        """Send bytes; a client that doesn't take them in time is cut off."""
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
        """Give an idle connection some time until the next request."""
        self._is_idle = is_idle
        if is_idle and self.is_ending:
            self.scope.cancel()
        elif not self._is_closed:
            self._idle_since = trio.current_time() if is_idle else float("-inf")
            self.scope.deadline = self._idle_since + self._idle_seconds_max if is_idle else float("inf")

    def start_close_timeout(self) -> None:
        """Note that nothing more comes from the client: what is still to be done for it has CLOSE_SECONDS_MAX."""
        self._is_closed = True
        self.scope.deadline = trio.current_time() + CLOSE_SECONDS_MAX

    def cancel_close_timeout(self) -> None:
        """Take that back: the connection goes on in another way, and may be silent for as long as it likes."""
        self._is_closed = False
        self.mark_idle(False)

    def begin_answer(self) -> None:
        """Note that a request is being answered at once: its connection isn't idle."""
        self._is_idle = False

    def end_answer(self, now: float) -> None:
        """Note that a request has been answered, at the time `now`: from then on its connection is idle."""
        self._is_idle = True
        # To move a deadline takes a tenth of a small request's time, so it is moved only when that makes a difference.
        if self.is_ending or now - self._idle_since > self._idle_seconds_max / IDLE_PARTS:
            self.mark_idle(True)

    async def close(self) -> None:
        """Say that nothing more will come, and close."""
        with suppress(trio.BrokenResourceError, trio.BusyResourceError, trio.ClosedResourceError):
            await self._stream.send_eof()
        await self._stream.aclose()


class ClientEnded(Exception):
    """The connection has to end, for a reason that is the client's."""
