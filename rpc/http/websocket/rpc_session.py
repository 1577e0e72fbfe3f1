"""JSON-RPC session over a WebSocket: answers requests, and sends notices between the replies.

Source: rpc-api.md §1.2.
"""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Protocol

import trio
from msgspec.structs import replace

from rpc.caller import Caller
from rpc.http.connection_limits import ClientResource, ClientUsage, ConnectionLimiter
from rpc.http.tasks import frames_cleared
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.eager import Completed, start_eagerly
from rpc.push.hub import Hub
from rpc.push.session import Session

# Maximum number of concurrent broadcasts per WebSocket.
WAITING_PER_SOCKET_MAX = 64
TRY_AGAIN_LATER = 1013  # close code
NO_TEXT = b"error: string payload expected"
NOTICES = " notices"  # appended to a client's address so that its notices have a separate queue

# A function that waits until the scheduler admits an input or output of an address.
Turn = Callable[[str], Awaitable[None]]


class MessageChannel(Protocol):
    """Interface of an open WebSocket. Texts are UTF-8 bytes."""

    async def receive(self) -> bytes | None:
        """Return the next text message, or None for a binary message. Raises trio.EndOfChannel at the end of the input."""

    async def answer(self, text: bytes) -> None:
        """Send a reply. Disconnect a client that leaves too many replies unread."""

    async def send(self, *pieces: bytes) -> None:
        """Send a text message in chunks. Disconnect a client that receives too slowly."""

    async def close(self, code: int, reason: str) -> None:
        """Send a close frame."""


class RpcSession:
    """Runs JSON-RPC over WebSockets. `push` supplies the notices to send. If it is None, no notices are sent."""

    def __init__(self, service: Service, limiter: ConnectionLimiter, push: Hub | None, turn: Turn) -> None:
        self._service, self._limiter, self._push, self._turn = service, limiter, push, turn
        self.memory = service.memory

    async def run(self, usage: ClientUsage, client: Caller, channel: MessageChannel) -> None:
        """Serve a client over one WebSocket until it disconnects, or until the node disconnects it because it is too slow."""
        session = None if self._push is None else self._session(self._push, usage)
        try:
            async with trio.open_nursery() as nursery:
                if session is not None:
                    session.on_first = partial(nursery.start_soon, self._notify, usage, session, channel, nursery.cancel_scope)
                places = trio.Semaphore(WAITING_PER_SOCKET_MAX)
                with frames_cleared():
                    await self._answer(usage, replace(client, session=session), channel, nursery, places)
        finally:
            if session is not None:
                session.close()

    def _session(self, push: Hub, usage: ClientUsage) -> Session:
        kind = ClientResource.SUBSCRIPTIONS
        return push.session(partial(self._limiter.acquire, usage, kind), partial(self._limiter.release, usage, kind))

    async def _notify(self, usage: ClientUsage, session: Session, channel: MessageChannel, scope: trio.CancelScope) -> None:
        """Send the notices of a WebSocket. A client that is too slow gets a close frame with the reason. If it doesn't receive that frame,
        its connection is aborted.
        """
        with session.patience:
            while (notice := await session.next()) is not None:
                # Notices have a separate queue, since the address's requests must not wait for the thousand notices that a block can cause.
                await self._turn(usage.address + NOTICES)
                await channel.send(*notice)
                session.sent()
                self._limiter.touch(usage)
            await channel.close(TRY_AGAIN_LATER, session.reason)
        if session.patience.cancelled_caught:
            usage.abort()
        scope.cancel()

    async def _answer(
        self, usage: ClientUsage, caller: Caller, channel: MessageChannel, nursery: trio.Nursery, places: trio.Semaphore
    ) -> None:
        """Answer requests until the client disconnects, which cancels the nursery. Replies are sent in request order.

        If a broadcast waits, it is answered later. Another task of the nursery then answers the requests that follow it.
        """
        session: Session | None = caller.session
        while True:
            try:
                body = await channel.receive()
            except trio.EndOfChannel:
                nursery.cancel_scope.cancel()
                return
            if body is None:
                await channel.send(NO_TEXT)
                continue
            if not places.value:
                await places.acquire()
                places.release()
            self._limiter.touch(usage)
            usage.requests_in_progress += 1
            with nullcontext() if session is None else session.paused():
                reply = await self._service.answer_in_turn(body, caller)
                if not isinstance(reply, bytes):
                    started = start_eagerly(reply)
                    reply = started.value if isinstance(started, Completed) else started
                if isinstance(reply, bytes):
                    usage.requests_in_progress -= 1
                    await channel.answer(reply)
            if not isinstance(reply, bytes):
                break
            del body, reply  # frees the memory while waiting for the next request
        places.acquire_nowait()
        nursery.start_soon(self._answer, usage, caller, channel, nursery, places)
        del body  # the awaitable holds what it needs
        try:
            with frames_cleared():
                try:
                    text = await reply
                finally:
                    usage.requests_in_progress -= 1
                await channel.answer(text)
        finally:
            places.release()
