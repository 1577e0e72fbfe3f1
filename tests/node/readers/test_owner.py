"""To which readers connections are handed on, and what they may ask the owner for."""

import socket
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from node.processor import Processor
from node.readers.link import Link
from node.readers.messages import Ask, FromOwner, FromReader, Start
from node.readers.owner import QUIET_SECONDS_MAX, Readers
from node.readers.publishing import Publisher
from rpc.service.envelope import Service
from rpc.service.transport import asgi
from rpc.service.transport.asgi import PageReply
from tests.helpers.followed import new_site


async def test_a_reader_that_is_silent_or_loads_a_dump_is_given_nothing(autojump_clock: MockClock) -> None:
    site = new_site(is_producing=True)
    publisher = Publisher(site.chain, site.driver)
    readers = Readers(1, publisher, Processor(site.chain), None)
    (reader,) = readers.each
    ours, theirs = socket.socketpair()
    line, _peer = socket.socketpair()
    reader.doors, doors = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link = reader.link = Link(ours, FromReader)

    def handed() -> int:
        """How many of two turns are the reader's."""
        return sum(readers.hand_on(line.dup(), ("127.0.0.1", 1)) for _ in range(2))

    with ours, theirs, line, _peer, reader.doors, doors:
        assert handed() == 0
        reader.problem, reader.heard = "", trio.current_time()
        assert handed() == 1
        publisher.add(link)
        (folder,) = publisher._loading[link]
        assert handed() == 0
        publisher.loaded(link)
        assert handed() == 1
        await trio.sleep(QUIET_SECONDS_MAX + 1)
        assert handed() == 0
        reader.heard = trio.current_time()
        assert handed() == 1
        publisher._loading[link] = [folder]
        publisher.remove(link)
        assert not folder.exists()


async def test_a_page_is_not_made_again_for_each_that_asks_a_reader_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "PAGE_KEPT_TIMES", 1e12)
    monkeypatch.setattr(asgi, "PAGE_KEPT_SECONDS_MAX", 1e12)
    site = new_site(is_producing=True)
    readers = Readers(1, Publisher(site.chain, site.driver), Processor(site.chain), None)
    made = count()
    readers.serve(Service([], wire=site.chain.state.wire), {"/health": lambda: PageReply(b"%d" % next(made))})
    ours, theirs = socket.socketpair()
    link, other = Link(ours, FromReader), Link(theirs, FromOwner)
    with ours, theirs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readers._talk, readers.each[0], link)
            for number in range(3):
                other.send(Ask(number, "/health"))
            messages = other.messages()
            assert isinstance(await anext(messages), Start)
            assert [(await anext(messages)).body for _ in range(3)] == [b"0"] * 3
            nursery.cancel_scope.cancel()
