"""Pool of reader processes: starts and restarts them, hands connections off to them, and answers the calls that they forward."""

import pickle
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
import trio

from node.ipc.calls import Call, Reply
from node.ipc.channel import Channel
from node.processor.processor import Processor
from node.replicas.readers.messages import (
    LOADING_SECONDS_MAX,
    Cancel,
    FromReader,
    Loaded,
    OutOfSync,
    PageRequest,
    Ready,
    Report,
    Start,
    Stop,
)
from node.replicas.readers.publisher import Publisher
from node.runtime.errors import NodeError
from node.runtime.install_location import own_environment
from node.runtime.logs import is_json_lines
from rpc.http.pages import CachedPage, PageReply
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.memory import MemoryReservation, Overloaded
from rpc.log import Log
from state.protocol.errors import ChainError

COMMAND = (sys.executable, "-P", "-m", "node.app.reader")
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.5, 30.0
# A process that ran for this long is restarted with the shortest pause again.
STEADY_SECONDS = 60
# The node reports that it has started when its readers are ready, or after this time.
READY_SECONDS_MAX = 30
END_SECONDS_MAX = 4
# A reader that is silent for this long is considered hung. It is silent while it loads a chain.
SILENT_SECONDS_MAX = 15
# A reader reports every second. After this silence it gets no connections.
QUIET_SECONDS_MAX = 3
PEER_SIZE_MAX = 1 << 10

_log = Log("readers")

Pages = dict[str, Callable[[], PageReply]]


class ReaderProcess:
    """A slot of the pool, with its current process. `problem` is the reason why the process doesn't serve, or "" while it serves."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pid, self.starts, self.connections = 0, 0, 0
        self.problem = "it is starting"
        self.report = Report()
        self.last_message_at = 0.0
        self.channel: Channel | None = None
        self.handoff: socket.socket | None = None
        self.calls: dict[int, trio.CancelScope] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the process accepts connections."""
        return not self.problem


class ReaderPool:
    """The reader processes of a node, which are kept running while `run` runs. New connections are handed round-robin to these processes
    and to their owner, the process that writes the chain.
    """

    def __init__(self, count: int, publisher: Publisher, processor: Processor, settings: Any) -> None:
        self.each = [ReaderProcess(number) for number in range(1, count + 1)]
        self._publisher, self._processor, self._settings = publisher, processor, settings
        self._next = 0
        self._is_stopping = False
        self._service: Service
        self._pages: Pages = {}
        processor.on_done.append(publisher.flush)

    @property
    def number(self) -> int:
        """The number of the last message that was sent about the chain."""
        return self._publisher.number

    def serve(self, service: Service, pages: Pages) -> None:
        """Set the service that answers forwarded calls, and the pages that the owner serves for readers."""
        self._service, self._pages = service, {path: CachedPage(page) for path, page in pages.items()}

    def refuse(self, notice: bytes) -> None:
        """Send the notice of a refusal to all readers, for their subscribers."""
        self._publisher.refuse(notice)

    def hand_off(self, sock: socket.socket, peer: Any) -> bool:
        """Hand a connection off and return True. The readers and the owner of the chain take connections in turn: return False if it is the
        owner's turn, or if the reader can't take the connection.
        """
        ready = [reader for reader in self.each if self._is_listening(reader)]
        self._next += 1
        index = self._next % (len(ready) + 1)
        if not index:
            return False
        reader = ready[index - 1]
        assert reader.handoff is not None
        try:
            socket.send_fds(reader.handoff, [msgspec.msgpack.encode((str(peer[0]), int(peer[1])))], [sock.fileno()])
        except OSError:
            return False
        reader.connections += 1
        sock.close()
        return True

    def _is_listening(self, reader: ReaderProcess) -> bool:
        """Whether a reader is ready, has reported recently and isn't loading a chain."""
        is_quiet = trio.current_time() - reader.last_message_at > QUIET_SECONDS_MAX
        return reader.is_ready and not is_quiet and not self._publisher.is_loading(reader.channel)

    async def ready(self) -> None:
        """Wait until all readers are ready, but at most READY_SECONDS_MAX."""
        with trio.move_on_after(READY_SECONDS_MAX):
            while not all(reader.is_ready for reader in self.each):
                await trio.sleep(0.02)

    async def run(self) -> None:
        """Keep a process running in each slot until cancelled."""
        async with trio.open_nursery() as nursery:
            for reader in self.each:
                nursery.start_soon(self._keep_running, reader)

    def stop(self) -> None:
        """Shut the readers down gracefully: they accept no new connections and finish open requests."""
        self._is_stopping = True
        for reader in self.each:
            if reader.channel is not None:
                reader.channel.send(Stop())

    async def stopped(self) -> None:
        """Wait until all readers have exited."""
        while any(reader.channel is not None for reader in self.each):
            await trio.sleep(0.01)

    # -------------------------------------------------------------- processes

    async def _keep_running(self, reader: ReaderProcess) -> None:
        pause = PAUSE_SECONDS_MIN
        while True:
            begun = trio.current_time()
            reader.starts += 1
            try:
                why = await self._run_process(reader)
            except OSError as error:
                why = f"it can't be started: {error.strerror}"
            if self._is_stopping:
                reader.problem = "the node is stopping"
                return
            reader.problem = why
            if trio.current_time() - begun > STEADY_SECONDS:
                pause = PAUSE_SECONDS_MIN
            _log.warning("reader process ended, restarting", reader=reader.number, pid=reader.pid, reason=why, seconds=pause)
            await trio.sleep(pause)
            pause = min(PAUSE_SECONDS_MAX, pause * 2)

    async def _run_process(self, reader: ReaderProcess) -> str:
        """Run one process until it exits. Return the reason for its exit. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        our_handoff, their_handoff = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, their_handoff, our_handoff:
            our_handoff.setblocking(False)
            given = (theirs.fileno(), their_handoff.fileno())
            try:
                process = subprocess.Popen(
                    [*COMMAND, *map(str, given)],
                    pass_fds=given,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=own_environment(),
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
            theirs.close()
            their_handoff.close()
            channel = reader.channel = Channel(ours, FromReader)
            reader.handoff, reader.pid, reader.problem = our_handoff, process.pid, "it is starting"
            try:
                return await self._exchange(reader, channel)
            finally:
                reader.problem = reader.problem or "it has ended"
                self._publisher.remove(channel)
                channel.close()
                with trio.CancelScope(shield=True):
                    await _ended(process, END_SECONDS_MAX if self._is_stopping else 0)
                reader.channel = reader.handoff = None
                reader.report = Report()

    async def _exchange(self, reader: ReaderProcess, channel: Channel) -> str:
        """Exchange messages with a reader until the channel closes. Return the reason why it closed."""
        why = "it has ended"
        reader.last_message_at, reader.calls = trio.current_time(), {}
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                nonlocal why
                while True:
                    await trio.sleep(1)
                    self._publisher.check_dumps()
                    is_loading = not reader.is_ready or self._publisher.is_loading(channel)
                    limit = LOADING_SECONDS_MAX if is_loading else SILENT_SECONDS_MAX
                    if trio.current_time() - reader.last_message_at > limit:
                        why = f"it was silent for {limit} seconds"
                        nursery.cancel_scope.cancel()

            nursery.start_soon(channel.run)
            nursery.start_soon(watch)
            channel.send(Start(pickle.dumps(self._settings), is_json_lines()))
            async for message in channel.messages():
                reader.last_message_at = trio.current_time()
                if isinstance(message, Call):
                    nursery.start_soon(self._answer, reader, channel, message)
                elif isinstance(message, Report):
                    reader.report = message
                elif isinstance(message, Cancel):
                    if scope := reader.calls.get(message.call):
                        scope.cancel()
                elif isinstance(message, PageRequest):
                    shown = self._pages[message.path]()
                    channel.send(Reply(message.call, shown.body, shown.status, shown.content_type))
                elif isinstance(message, Loaded):
                    reader.problem = ""
                    self._publisher.loaded(channel)
                elif isinstance(message, (Ready, OutOfSync)):
                    if isinstance(message, OutOfSync):
                        _log.warning("reader process out of sync, sending the chain again", reader=reader.number, reason=message.reason)
                    nursery.start_soon(self._send_chain, channel)
            nursery.cancel_scope.cancel()
        return why

    async def _send_chain(self, channel: Channel) -> None:
        """Send a reader the current chain. This is done in a job of the processor, so that the reader gets every later change."""
        try:
            await self._processor.in_turn(lambda: self._publisher.add(channel))
        except (ChainError, NodeError):  # the node is ending
            channel.close()

    async def _answer(self, reader: ReaderProcess, channel: Channel, call: Call) -> None:
        with trio.CancelScope() as scope:
            reader.calls[call.call] = scope
            try:
                with self._service.memory.reserve(call.caller) as reserved:
                    reply = await self._reply(call, reserved)
                    # Send the changes that a call made before its reply, so that the client reads its own writes. While a job is
                    # interrupted, all earlier changes have already been sent.
                    if not self._processor.gate.is_closed:
                        self._publisher.flush()
                    channel.send(Reply(call.call, reply))
                    del reply
                    await channel.sent()
            finally:
                del reader.calls[call.call]

    async def _reply(self, call: Call, reserved: MemoryReservation) -> bytes:
        """Return the reply to a forwarded call. The memory of its body, and then of its reply, is reserved here as well as in the
        reader.
        """
        try:
            reserved.add(len(call.body))
            reply: bytes | Awaitable[bytes] = await self._service.answer_in_turn(call.body, call.caller)
            if not isinstance(reply, bytes):
                reply = await reply
            reserved.add(len(reply))
        except Overloaded as error:
            return self._service.refuse(error)
        return reply


async def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Wait up to `seconds` for a process to exit, then kill it."""
    with trio.move_on_after(seconds):
        while process.poll() is None:
            await trio.sleep(0.01)
    if process.poll() is None:
        process.kill()
        while process.poll() is None:
            await trio.sleep(0.01)
    with suppress(OSError):
        process.wait(0)
