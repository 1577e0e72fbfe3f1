"""The pool of reader processes: which readers get connections, and how the pool serves the requests that they forward."""

import socket
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from node.ipc.calls import Call
from node.ipc.channel import Channel
from node.processor.processor import Processor
from node.replicas.readers.messages import FromOwner, FromReader, PageRequest, Start
from node.replicas.readers.pool import QUIET_SECONDS_MAX, ReaderPool
from node.replicas.readers.publisher import Publisher
from rpc.declare.method import Method, method
from rpc.http import pages
from rpc.http.pages import PageReply
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.memory import MemoryLimiter
from tests.helpers.followed import new_site
from tests.helpers.here import Here


async def test_a_silent_or_loading_reader_gets_no_connections(autojump_clock: MockClock) -> None:
    context = new_site(is_producing=True)
    publisher = Publisher(context.chain, context.devchain, Here)
    readers = ReaderPool(1, publisher, Processor(context.chain), None)
    (reader,) = readers.each
    ours, theirs = socket.socketpair()
    line, _peer = socket.socketpair()
    reader.handoff, doors = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = reader.channel = Channel(ours, FromReader)

    def handed() -> int:
        """Hand off two connections, and return how many of them the reader gets."""
        return sum(readers.hand_off(line.dup(), ("127.0.0.1", 1)) for _ in range(2))

    with ours, theirs, line, _peer, reader.handoff, doors:
        assert handed() == 0
        reader.problem, reader.last_message_at = "", trio.current_time()
        assert handed() == 1
        publisher.add(channel)
        (folder,) = publisher._loading[channel]
        assert handed() == 0
        publisher.loaded(channel)
        assert handed() == 1
        await trio.sleep(QUIET_SECONDS_MAX + 1)
        assert handed() == 0
        reader.last_message_at = trio.current_time()
        assert handed() == 1
        publisher._loading[channel] = [folder]
        publisher.remove(channel)
        assert not folder.exists()


async def test_a_page_is_cached_for_clients_of_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_KEPT_TIMES", 1e12)
    monkeypatch.setattr(pages, "PAGE_KEPT_SECONDS_MAX", 1e12)
    context = new_site(is_producing=True)
    readers = ReaderPool(1, Publisher(context.chain, context.devchain, Here), Processor(context.chain), None)
    made = count()
    readers.serve(Service([], wire=context.chain.state.wire), {"/health": lambda: PageReply(b"%d" % next(made))})
    ours, theirs = socket.socketpair()
    channel, other = Channel(ours, FromReader), Channel(theirs, FromOwner)
    with ours, theirs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readers._exchange, readers.each[0], channel)
            for number in range(3):
                other.send(PageRequest(number, "/health"))
            messages = other.messages()
            assert isinstance(await anext(messages), Start)
            assert [(await anext(messages)).body for _ in range(3)] == [b"0"] * 3
            nursery.cancel_scope.cancel()


async def test_memory_of_reader_clients_is_reserved_until_the_reply_is_taken() -> None:
    context, memory = new_site(is_producing=True), MemoryLimiter(4_000_000)
    readers = ReaderPool(1, Publisher(context.chain, context.devchain, Here), Processor(context.chain), None)
    registry: dict[str, Method] = {}

    @method("a_api.much", registry=registry)
    def much(state: None) -> str:
        """Return a reply that is larger than a socket's buffer."""
        return "x" * 1_500_000

    readers.serve(Service(registry.values(), wire=context.chain.state.wire, memory=memory, state=None), {})
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    channel, other = Channel(ours, FromReader), Channel(theirs, FromOwner)
    call = b'{"jsonrpc":"2.0","method":"a_api.much"}'
    with ours, theirs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readers._exchange, readers.each[0], channel)
            nursery.start_soon(other.run)
            for number, body in enumerate((call, call, b" " * 4_000_000)):
                other.send(Call(number, body, "192.0.2.1", "it is elsewhere", False))
            with trio.fail_after(20):
                while memory.used()["remote_bytes"][0] < 1_500_000:
                    await trio.sleep(0.01)
                messages = other.messages()
                assert isinstance(await anext(messages), Start)
                replies = [await anext(messages) for _ in range(3)]
                # The second call finds no memory for its reply, the third none for its body.
                assert [len(reply.body) > 1_500_000 for reply in replies] == [True, False, False]
                assert all(b"of 4000000 bytes" in reply.body for reply in replies[1:])
                while memory.used()["remote_bytes"][0]:
                    await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
