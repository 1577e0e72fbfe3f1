"""A reader's program, run in the process of the tests."""

import pickle
import socket
from itertools import count
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from node.app.reader import ReaderNode, run_reader
from node.app.settings import Settings
from node.ipc.calls import Reply
from node.ipc.channel import Channel
from node.replicas.readers.messages import Changes, FromReader, Loaded, Ready, Start
from node.replicas.readers.publisher import Publisher
from node.runtime.address import Address
from tests.helpers.followed import new_site
from tests.helpers.here import Here
from tests.helpers.nodes import DEV, transfer

MESSAGES = 200  # as many as fit into a socket's buffer
TICKS = count()


def ticks() -> float:
    """Return the time of a stopwatch that advances by a second each time it is read."""
    return next(TICKS)


async def test_clients_have_their_turn_however_much_the_owner_says_at_once() -> None:
    ours, theirs = socket.socketpair()
    doors, _peer = socket.socketpair()
    owner = Channel(ours, FromReader)
    turns = 0

    async def client() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    with ours, doors, _peer:
        async with trio.open_nursery() as clients:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run_reader, theirs, doors)
                owner.send(Start(pickle.dumps(Settings(spec=DEV, plugins=(), stopwatch=ticks)), False))
                assert isinstance(await anext(owner.messages()), Ready)
                await wait_all_tasks_blocked()
                for number in range(MESSAGES):
                    owner.send(Reply(number, b""))
                owner.close()
                clients.start_soon(client)
            clients.cancel_scope.cancel()
    assert turns > MESSAGES


async def test_clients_have_their_turn_while_a_block_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    doors, _peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    owner, process, turns = Channel(ours, FromReader), ReaderNode._process, 0
    during: list[int] = []

    def heard(mind: ReaderNode, message: Any) -> None:
        before = turns
        process(mind, message)
        if isinstance(message, Changes) and message.lines:
            during.append(turns - before)

    async def client() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    monkeypatch.setattr(ReaderNode, "_process", heard)
    context = new_site(is_producing=True)
    publisher = Publisher(context.chain, context.devchain, Here)
    context.devchain.make_first_blocks()
    with ours, doors, _peer:
        async with trio.open_nursery() as clients:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run_reader, theirs, doors)
                nursery.start_soon(owner.run)
                settings = Settings(spec=DEV, plugins=(), http=Address("127.0.0.1", 0), stopwatch=ticks)
                owner.send(Start(pickle.dumps(settings), False))
                messages = owner.messages()
                assert isinstance(await anext(messages), Ready)
                publisher.add(owner)
                while not isinstance(await anext(messages), Loaded):
                    pass
                clients.start_soon(client)
                for number in range(50):
                    context.chain.push_transaction(transfer(context.chain, str(number)))
                list(context.devchain.mine(1))
                publisher.flush()
                while not during:
                    await trio.lowlevel.checkpoint()
                owner.close()
            clients.cancel_scope.cancel()
    assert during[0] > 0
