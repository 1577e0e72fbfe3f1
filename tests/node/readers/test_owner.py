"""To which readers connections are handed on."""

import socket

import trio
from trio.testing import MockClock

from node.processor import Processor
from node.readers.link import Link
from node.readers.messages import FromReader
from node.readers.owner import QUIET_SECONDS_MAX, Readers
from node.readers.publishing import Publisher
from tests.node.readers.test_applying import new_site


async def test_a_reader_that_is_silent_or_loads_a_dump_is_given_nothing(autojump_clock: MockClock) -> None:
    site = new_site()
    publisher = Publisher(site.chain, site.additions, site.driver)
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
