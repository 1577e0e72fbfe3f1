"""Measures notices: CPU time, in key recoveries, for sending a block to one of many subscribers.

It excludes producing and encoding the block, which happens once for all subscribers.

Run: .venv/bin/python -m bench.notices [--subscribers N] [--blocks N]
"""

import argparse
import multiprocessing
import os
import selectors
import time
from functools import partial
from multiprocessing.synchronize import Event

import trio

from bench.clients import SocketClient
from bench.growth import Site
from bench.recovery import recovery_seconds
from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.http.server import serve
from rpc.push.hub import Hub

ROUNDS = 7
ACCOUNTS = 10
CHUNK_SIZE = 1 << 20
SUBSCRIBE = b'{"jsonrpc":"2.0","id":1,"method":"dev_api.subscribe","params":{"kind":"blocks"}}'


def listen(port: int, count: int, are_there: Event) -> None:
    """Subscribe `count` times, and receive until killed."""
    selector = selectors.DefaultSelector()
    clients = []
    for _ in range(count):
        client = SocketClient(port)
        assert b'"subscription":1' in client.ask(SUBSCRIBE)
        selector.register(client.descriptor, selectors.EVENT_READ)
        clients.append(client)
    are_there.set()
    while True:
        for key, _ in selector.select():
            if not os.read(key.fd, CHUNK_SIZE):
                return


async def send_blocks(site: Site, hub: Hub, count: int) -> float:
    """Produce `count` blocks, each after the previous one is sent to all. Return the CPU seconds of sending."""
    seconds = 0.0
    for _ in range(count):
        site.produce()
        begun = time.process_time()
        while hub.held_size:
            await trio.lowlevel.checkpoint()
        seconds += time.process_time() - begun
    return seconds


async def measure(subscribers: int, blocks: int) -> None:
    """Print the time of one notice."""
    site = Site(ACCOUNTS)
    clock = ChainClock()
    hub = Hub(site.chain, clock)
    service = new_service(site.chain, Processor(site.chain), DevChain(site.chain, clock), ())
    fork = multiprocessing.get_context("fork")
    are_there = fork.Event()
    async with trio.open_nursery() as nursery:
        addresses: list[str] = await nursery.start(partial(serve, service, "127.0.0.1", 0, pages={}, push=hub))
        port = int(addresses[0].rpartition(":")[2])
        client = fork.Process(target=listen, args=(port, subscribers, are_there), daemon=True)
        client.start()
        await trio.to_thread.run_sync(are_there.wait)
        best = float("inf")
        for _ in range(ROUNDS):
            recovery = recovery_seconds()
            best = min(best, await send_blocks(site, hub, blocks) / subscribers / blocks / recovery)
        print(f"{subscribers} subscribers: {best:.2f} recoveries per notice of a block")
        client.kill()
        nursery.cancel_scope.cancel()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscribers", type=int, default=100)
    parser.add_argument("--blocks", type=int, default=50)
    options = parser.parse_args()
    trio.run(measure, options.subscribers, options.blocks)


if __name__ == "__main__":
    main()
