"""To which readers connections are handed on, and what they may ask the owner for."""

import socket
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from node.ipc.channel import Channel
from node.processor.processor import Processor
from node.replicas.readers.messages import FromOwner, FromReader, PageRequest, Start
from node.replicas.readers.pool import QUIET_SECONDS_MAX, ReaderPool
from node.replicas.readers.publisher import Publisher
from rpc.http import asgi_app
from rpc.http.asgi_app import PageReply
from rpc.jsonrpc.dispatch import Service
from tests.helpers.followed import new_site


async def test_a_reader_that_is_silent_or_loads_a_dump_is_given_nothing(autojump_clock: MockClock) -> None:
    context = new_site(is_producing=True)
    publisher = Publisher(context.chain, context.devchain)
    readers = ReaderPool(1, publisher, Processor(context.chain), None)
    (reader,) = readers.each
    ours, theirs = socket.socketpair()
    line, _peer = socket.socketpair()
    reader.doors, doors = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = reader.channel = Channel(ours, FromReader)

    def handed() -> int:
        """How many of two turns are the reader's."""
        return sum(readers.hand_off(line.dup(), ("127.0.0.1", 1)) for _ in range(2))

    with ours, theirs, line, _peer, reader.doors, doors:
        assert handed() == 0
        reader.problem, reader.heard_at = "", trio.current_time()
        assert handed() == 1
        publisher.add(channel)
        (folder,) = publisher._loading[channel]
        assert handed() == 0
        publisher.loaded(channel)
        assert handed() == 1
        await trio.sleep(QUIET_SECONDS_MAX + 1)
        assert handed() == 0
        reader.heard_at = trio.current_time()
        assert handed() == 1
        publisher._loading[channel] = [folder]
        publisher.remove(channel)
        assert not folder.exists()


async def test_a_page_is_not_made_again_for_each_that_asks_a_reader_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi_app, "PAGE_KEPT_TIMES", 1e12)
    monkeypatch.setattr(asgi_app, "PAGE_KEPT_SECONDS_MAX", 1e12)
    context = new_site(is_producing=True)
    readers = ReaderPool(1, Publisher(context.chain, context.devchain), Processor(context.chain), None)
    made = count()
    readers.serve(Service([], wire=context.chain.state.wire), {"/health": lambda: PageReply(b"%d" % next(made))})
    ours, theirs = socket.socketpair()
    channel, other = Channel(ours, FromReader), Channel(theirs, FromOwner)
    with ours, theirs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readers._talk, readers.each[0], channel)
            for number in range(3):
                other.send(PageRequest(number, "/health"))
            messages = other.messages()
            assert isinstance(await anext(messages), Start)
            assert [(await anext(messages)).body for _ in range(3)] == [b"0"] * 3
            nursery.cancel_scope.cancel()
