"""The process of a reader, in this one."""

import pickle
import socket
from itertools import count

import trio
from trio.testing import wait_all_tasks_blocked

from node.node import Settings
from node.readers.link import Link
from node.readers.messages import FromReader, Ready, Reply, Start
from node.readers.reader import read
from tests.helpers.nodes import DEV

MESSAGES = 200  # as many as a socket takes at once
TICKS = count()


def ticks() -> float:
    """A stopwatch by which everything takes long."""
    return next(TICKS)


async def test_clients_have_their_turn_however_much_the_owner_says_at_once() -> None:
    ours, theirs = socket.socketpair()
    doors, _peer = socket.socketpair()
    owner = Link(ours, FromReader)
    turns = 0

    async def client() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    with ours, doors, _peer:
        async with trio.open_nursery() as clients:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(read, theirs, doors)
                owner.send(Start(pickle.dumps(Settings(spec=DEV, plugins=(), stopwatch=ticks)), False))
                assert isinstance(await anext(owner.messages()), Ready)
                await wait_all_tasks_blocked()
                for number in range(MESSAGES):
                    owner.send(Reply(number, b""))
                owner.close()
                clients.start_soon(client)
            clients.cancel_scope.cancel()
    assert turns > MESSAGES
