"""Standby: a forked copy of this process that answers reads during a long job. The copy undoes the job, so that its chain is in the state
before the job. It writes nothing, and ends with this process.
"""

import socket
from collections.abc import Callable
from functools import partial
from itertools import count

import msgspec
import trio

from node.ipc.calls import Call, Reply
from node.ipc.channel import HEAD, Channel, framed
from node.runtime.forked_child import ForkedChild
from rpc.caller import Caller
from rpc.jsonrpc.fair_queue import FairLimiter
from rpc.log import Log

_log = Log("processor")

Answer = Callable[[bytes, Caller], bytes]
# Requests in flight; others wait, round-robin by address. During a job this process often sends and reads only every 10 ms.
ASKED_AT_ONCE_MAX = 8


class Standby:
    """The parent's side of a forked copy. The constructor forks, and raises ChildFailed if the system refuses. The caller must then run
    `run`.

    The copy calls `leave_job` once, then `answer` for each request. `answer` returns b"" for a request that the copy can't answer.
    """

    def __init__(self, leave_job: Callable[[], None], answer: Answer) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._child = ForkedChild(partial(serve, theirs, leave_job, answer), inherited=(theirs.fileno(),), niceness=0)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._channel = Channel(ours, Reply)
        self._numbers, self._limiter = count(), FairLimiter(ASKED_AT_ONCE_MAX)
        self._waiting: dict[int, trio.Event] = {}
        self._replies: dict[int, bytes] = {}
        self._is_dismissed = False

    async def run(self) -> None:
        """Receive replies until the copy ends or `end` is called. Then kill the copy."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._channel.run)
                async for reply in self._channel.messages():
                    if (event := self._waiting.get(reply.call)) is not None:
                        self._replies[reply.call] = reply.body
                        event.set()
                nursery.cancel_scope.cancel()
        finally:
            self.end()
            why = await self._child.kill()
            if not self._is_dismissed:
                _log.warning("the standby for reads during a long job has ended, reads wait", reason=why)

    async def ask(self, body: bytes, caller: Caller) -> bytes:
        """Return the copy's reply to a request, or b"" if the copy can't answer it or has ended."""
        if self._channel.closed.is_set():
            return b""
        async with self._limiter.place(caller.queue):
            number = next(self._numbers)
            event = self._waiting[number] = trio.Event()
            self._channel.send(Call.of(number, body, caller))
            try:
                # A channel that closed meanwhile has not set this request's event.
                if not self._channel.closed.is_set():
                    await event.wait()
            finally:
                del self._waiting[number]
                reply = self._replies.pop(number, b"")
        return reply

    def stop(self) -> None:
        """Shut the copy down gracefully. Requests that it has not answered get b""."""
        self._is_dismissed = True
        self.end()

    def end(self) -> None:
        """Close the channel, and answer all pending requests with b""."""
        self._channel.close()
        for event in self._waiting.values():
            event.set()


def serve(sock: socket.socket, abandon_job: Callable[[], None], answer: Answer) -> None:
    """In the forked copy: undo the interrupted job, then answer requests until the channel closes."""
    abandon_job()
    requests, decoder = sock.makefile("rb"), msgspec.msgpack.Decoder(Call)
    while head := requests.read(HEAD.size):
        call = decoder.decode(requests.read(HEAD.unpack(head)[0]))
        sock.sendall(framed(Reply(call.call, answer(call.body, call.caller))))
