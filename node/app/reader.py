"""Program of a reader process: `python -P -m node.app.reader CHANNEL SOCKETS`, where both arguments are descriptors of inherited sockets.

The process has a copy of its owner's chain. It answers reads from the copy, forwards other calls to the owner, and exits when the owner
does.
"""

import pickle
import socket
import sys
from collections.abc import Callable, Generator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import trio
from msgspec.structs import replace

from node.app.context import NodeContext
from node.app.node import GOODBYE_SECONDS_MAX, new_fork_parts
from node.app.service import new_service
from node.app.settings import Settings
from node.ipc.calls import Call, Reply
from node.ipc.channel import Channel
from node.monitoring.counters import Counters
from node.monitoring.warm_up import warm_periodically
from node.processor.long_jobs import FORK_AFTER_SECONDS, LongJobs
from node.replicas.readers.messages import (
    LOADING_SECONDS_MAX,
    Cancel,
    Changes,
    FromOwner,
    Loaded,
    OutOfSync,
    PageRequest,
    Ready,
    Report,
    Start,
    Stop,
    Sync,
)
from node.replicas.readers.reader_chain import ReaderChain
from node.runtime.errors import NodeError
from node.runtime.logs import configure_logs
from node.runtime.memory import collect_in_portions, freeze_loaded_objects, tune_collector
from node.runtime.process_memory import memory_size
from rpc.caller import Caller
from rpc.http.access import AccessPolicy
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.listener import Take
from rpc.http.pages import PageReply
from rpc.http.server import serve
from rpc.jsonrpc.allowance import Allowances
from rpc.jsonrpc.read_only import answer_read
from rpc.jsonrpc.scheduler import ReplyScheduler
from rpc.log import Log
from rpc.push.hub import Hub

REPORT_SECONDS = 1
FILE_POLL_SECONDS = 0.002
TAKEN_AT_ONCE_MAX = 64
PEER_SIZE_MAX = 1 << 10
PAGES = ("/health", "/metrics", "/metrics/history")

Result = TypeVar("Result")

_log = Log("readers")


def main() -> int:
    """Run as a reader until the owner exits. Return the exit status of the process."""
    tune_collector()
    channel, sockets = (socket.socket(fileno=int(word)) for word in sys.argv[1:3])
    trio.run(partial(run_reader, channel, sockets))
    return 0


async def run_reader(channel_socket: socket.socket, sockets: socket.socket) -> None:
    """Run as a reader until the channel closes."""
    channel = Channel(channel_socket, FromOwner)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        messages = channel.messages()
        async for start in messages:
            assert isinstance(start, Start)
            configure_logs("warning", is_json=start.is_json)
            settings = pickle.loads(start.settings)
            reader = ReaderNode(channel, sockets, settings, nursery)
            channel.send(Ready())
            async for message in messages:
                await reader.take(message)
        nursery.cancel_scope.cancel()


class ReaderNode:
    """Chain and service of a reader process. The caller must pass the owner's messages to `take` in order."""

    def __init__(self, channel: Channel, sockets: socket.socket, settings: Settings, nursery: trio.Nursery) -> None:
        self._channel, self._sockets, self._nursery = channel, sockets, nursery
        # Only the owner writes files, produces blocks and checks invariants.
        # The chain comes from the owner's dump, so this process doesn't read the fork file.
        self._context = NodeContext(
            replace(settings, base=None, data=None, is_producing=False, follow="", workers=0, check_invariants=0, readers=0)
        )
        context = self._context
        self._reader_chain = ReaderChain(context.chain, context.devchain, context.time_limit)
        self._counters = Counters(context.chain, context.clock)
        self._limiter = ConnectionLimiter(limits_for())
        self._allowances = Allowances(settings.stopwatch)
        self._push = Hub(context.chain, context.clock)
        self._scheduler = ReplyScheduler(settings.stopwatch)
        self._long_jobs = LongJobs(context.chain, context.gate, context.time_limit, settings.stopwatch)
        self._numbers = count(1)
        self._waiting: dict[int, trio.Event] = {}
        self._replies: dict[int, Reply] = {}
        self._is_serving = False

    async def take(self, message: Any) -> None:
        """Process a message in steps, with other tasks in between, since many messages can arrive together and blocks can be large."""
        work = partial(self._process, message)
        if not isinstance(message, (Changes, Sync)):
            await self._scheduler.run(work)
            return
        if isinstance(message, Sync):
            await self._written(Path(message.path))
        if not await self._scheduler.run(partial(self._long_jobs.start, work, is_abortable=isinstance(message, Changes))):
            await self._long_jobs.finish()
        if isinstance(message, Sync):
            if self._is_serving:
                self._channel.send(Loaded(message.number))
            else:
                self._is_serving = True
                self._nursery.start_soon(self._serve)

    async def _written(self, path: Path) -> None:
        """Wait until the owner has written a dump. If it can't write it, it kills this process. Raises NodeError after LOADING_SECONDS_MAX.

        If this takes longer than a short moment, reads are answered from the chain before the dump.
        """
        gate = self._context.gate
        gate.close()
        try:
            for number in range(round(LOADING_SECONDS_MAX / FILE_POLL_SECONDS)):
                if path.exists():
                    return
                if number * FILE_POLL_SECONDS > FORK_AFTER_SECONDS:
                    gate.open()
                await trio.sleep(FILE_POLL_SECONDS)
        finally:
            gate.open()
        raise NodeError(f"{path}: the owner has not written it")

    def _process(self, message: Any) -> None:
        if isinstance(message, Reply):
            event = self._waiting.get(message.call)
            if event is not None:
                self._replies[message.call] = message
                event.set()
        elif isinstance(message, Changes):
            problem = self._reader_chain.apply(message)
            if problem:
                self._channel.send(OutOfSync(problem))
            for refusal in message.refused:
                self._push.notify_refusal(refusal)
        elif isinstance(message, Sync):
            self._reader_chain.load(message)
        elif isinstance(message, Stop):
            self._context.stop.set()

    # -------------------------------------------------------------- serving

    async def _serve(self) -> None:
        context, settings = self._context, self._context.settings
        assert settings.http is not None
        http = settings.http
        fork = new_fork_parts(context, OwnProcessor().in_turn)
        access = AccessPolicy(http.host, settings.origins, settings.is_debug_allowed, settings.has_explorer, http.hosts, settings.proxies)
        service = new_service(
            context.chain,
            OwnProcessor(),  # type: ignore[arg-type]
            context.devchain,
            settings.plugins,
            withheld=access.withheld,
            observe=self._counters.observe,
            stopwatch=settings.stopwatch,
            elsewhere=self._call,
            allowances=self._allowances,
            gate=context.gate,
            call_guard=None if fork is None else fork.calls,
        )
        self._long_jobs.answer_read = partial(answer_read, service)
        freeze_loaded_objects()
        collect_in_portions()
        served = trio.Event()

        async def answer(*, task_status: trio.TaskStatus[list[str]]) -> None:
            await serve(
                service,
                http.host,
                http.port,
                pages={path: partial(self._show, path) for path in PAGES},
                push=self._push,
                access=access,
                is_http2=settings.is_http2,
                limiter=self._limiter,
                acceptor=lambda _host, _port: HandedOffAcceptor(self._sockets),
                shutdown=context.stop.wait,
                task_status=task_status,
            )
            served.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._report)
            nursery.start_soon(warm_periodically, context.chain.state, context.gate)
            await nursery.start(answer)
            self._channel.send(Loaded(self._reader_chain.number))
            await context.stop.wait()
            with trio.move_on_after(GOODBYE_SECONDS_MAX):
                await served.wait()
            nursery.cancel_scope.cancel()
        # Closing the channel tells the owner that all requests are answered.
        self._channel.close()

    async def _report(self) -> None:
        while not self._context.stop.is_set():
            calls = self._counters.calls.values()
            connections = self._limiter.used()["connections"][0]
            made, seconds = sum(sum(each.counts) for each in calls), sum(each.seconds for each in calls)
            refused, limited = sum(self._allowances.refused.values()), self._allowances.limited
            self._channel.send(Report(self._reader_chain.number, memory_size(), connections, made, seconds, refused, limited))
            with trio.move_on_after(REPORT_SECONDS):
                await self._context.stop.wait()

    # -------------------------------------------------------------- calls to the owner

    async def _call(self, body: bytes, caller: Caller) -> bytes:
        reply = await self._ask(lambda call: Call.of(call, body, caller))
        return reply.body

    async def _show(self, path: str) -> PageReply:
        reply = await self._ask(lambda call: PageRequest(call, path))
        return PageReply(reply.body, reply.status, reply.content_type)

    async def _ask(self, question: Callable[[int], Call | PageRequest]) -> Reply:
        """Send a question to the owner and return its reply. Messages are ordered, so the reader applies the changes that the reply depends
        on before the reply arrives.
        """
        call = next(self._numbers)
        event = self._waiting[call] = trio.Event()
        self._channel.send(question(call))
        try:
            await event.wait()
            return self._replies.pop(call)
        except BaseException:
            self._replies.pop(call, None)
            self._channel.send(Cancel(call))
            raise
        finally:
            del self._waiting[call]


class HandedOffAcceptor:
    """Acceptor of the connections that the owner hands off to this process."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        sock.setblocking(False)
        self.addresses: list[str] = []

    async def run(self, take: Take) -> None:
        """Pass each connection to `take` until cancelled. After the owner has exited, wait without doing anything."""
        while True:
            await trio.lowlevel.wait_readable(self._sock)
            for _ in range(TAKEN_AT_ONCE_MAX):
                try:
                    data, descriptors, _flags, _address = socket.recv_fds(self._sock, PEER_SIZE_MAX, 1)
                except BlockingIOError:
                    break
                if not data:
                    await trio.sleep_forever()
                for descriptor in descriptors:
                    take(socket.socket(fileno=descriptor), tuple(msgspec.msgpack.decode(data)))
            await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Accept no further connections."""
        self._sock.close()


class OwnProcessor:
    """Processor for the methods that a reader answers itself. It passes all other calls to the owner's processor."""

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Refuse, since only the owner changes the chain."""
        raise AssertionError("a reader fetches nothing itself")

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run all steps of a read-only job without yielding to other tasks, so that the chain can't change meanwhile."""
        steps = work()
        while True:
            try:
                next(steps)
            except StopIteration as end:
                value: Result = end.value
                return value


if __name__ == "__main__":
    sys.exit(main())
