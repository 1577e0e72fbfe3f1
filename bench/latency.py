"""Measures whether blocks stay on time: the longest replies that one request can ask for, and the delay of blocks while eight
connections ask for nothing else, one at a time and in batches.

Run: .venv/bin/python -m bench.latency [ACCOUNTS] [--blocks N]
A chain with ACCOUNTS accounts, each with a post of usual size, and one account with a history of 10,000 entries, all plugins
on, produces every 3 s in a process of its own and answers over HTTP; the clients run in this process, on the other core.
The aims: each reply within 200 ms, each block within 500 ms after its slot.
"""

import argparse
import json
import logging
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.queues import Queue
from threading import Event, Thread
from typing import Any

import trio

from bench.clients import HttpClient
from bench.growth import Site
from node.clock import ChainClock
from node.driving.driver import Driver
from node.driving.producer import Producer
from node.memory import keep_what_is_loaded, tune_collector
from node.processor import Processor
from node.service import new_service
from rpc.log import ROOT
from rpc.service.envelope import Service
from rpc.service.transport.asgi import serve
from state.chain.moves import Move
from state.operations.content import Comment
from state.operations.transfers import Transfer
from state.plugins.registry import PLUGINS
from state.protocol.values.asset import COIN, Asset

ACCOUNTS = 3000
BLOCKS, BLOCKS_ALONE = 10, 3
CONNECTIONS, BATCH = 8, 5
ENTRIES = 10_000
ROUNDS = 7
PORT = 19711
REPLY_MILLISECONDS_MAX, LATE_MILLISECONDS_MAX = 200, 500
RICH = "user-000000"
BODY = "Some words about nothing, as they stand in posts. " * 40
METADATA = json.dumps({"tags": ["one", "two", "three"], "image": ["https://example.com/" + "x" * 80], "app": "bench/1.0"})

QUESTIONS: dict[str, tuple[str, Any]] = {
    "1,000 accounts": ("database_api.list_accounts", {"start": "", "limit": 1000, "order": "by_name"}),
    "1,000 accounts, extended": ("condenser_api.get_accounts", [[f"user-{i:06d}" for i in range(1000)]]),
    "1,000 comments": ("database_api.list_comments", {"start": ["", ""], "limit": 1000, "order": "by_permlink"}),
    "10,000 entries of a history": ("condenser_api.get_account_history", [RICH, -1, ENTRIES]),
    "10,000 entries, other form": ("account_history_api.get_account_history", {"account": RICH, "start": -1, "limit": ENTRIES}),
}
LONGEST = "10,000 entries, other form"


def filled(accounts: int) -> Site:
    """Return a chain with the content of the longest replies."""
    site = Site(accounts)
    site.produce()  # posts can be edited once a block
    for i in range(accounts):
        site.apply(Comment("", f"topic-{i % 50}", f"user-{i:06d}", "post", f"A title of a post, the {i}th", BODY, METADATA))
    for i in range(ENTRIES):
        site.apply(Transfer(RICH, f"user-{i % accounts:06d}", Asset(1, COIN), f"a memo of usual length, the {i}th"))
    site.state.journal.cut(site.state.journal.mark())
    return site


def body_of(what: str) -> bytes:
    """Return the request for a reply, by its name."""
    method, params = QUESTIONS[what]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def longest_replies(service: Service) -> bool:
    """Print the longest time of each; returns whether all are short enough."""
    fine = True
    for what in QUESTIONS:
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            reply = service.answer(body_of(what), True)
            times.append((time.perf_counter() - start) * 1000)
        assert isinstance(reply, bytes)
        assert reply.startswith(b'{"jsonrpc":"2.0","result":'), reply[:500]
        fine &= max(times) <= REPLY_MILLISECONDS_MAX
        print(f"{what:32} {sorted(times)[ROUNDS // 2]:7.1f} ms, at worst {max(times):7.1f} ms  {len(reply):10,} bytes")
    return fine


async def run_node(site: Site, service: Service, processor: Processor, driver: Driver, delays: "Queue[float]") -> None:
    """Answer and produce; puts the delay of each block after its slot, in milliseconds, into a queue."""

    def moved(move: Move) -> None:
        for block in move.applied:
            delays.put(driver.clock() - block.timestamp * 1000)

    site.chain.on_moved.append(moved)
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: serve(service, "127.0.0.1", PORT, pages={}, task_status=task_status))
        nursery.start_soon(processor.run)
        nursery.start_soon(Producer(processor, driver, is_stale_allowed=True).run)


def ask_on(body: bytes, stop: Event, waits: list[float]) -> None:
    """Ask for the same until `stop` is set, and note the time of each reply."""
    client = HttpClient(PORT)
    while not stop.is_set():
        start = time.perf_counter()
        client.ask(body)
        waits.append(time.perf_counter() - start)


def lateness(run_node: Callable[["Queue[float]"], None], blocks: int, asked: list[bytes]) -> list[float]:
    """Return the delays of a number of blocks, in ms, while clients ask for these; prints what the clients got."""
    fork = multiprocessing.get_context("fork")
    delays: Queue[float] = fork.Queue()
    process = fork.Process(target=run_node, args=(delays,), daemon=True)
    process.start()
    stop, waits = Event(), list[float]()
    threads = [Thread(target=ask_on, args=(body, stop, waits)) for body in asked]
    try:
        delays.get(timeout=60)  # the first one may come late: the node has just started
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        late = [delays.get(timeout=60) for _ in range(blocks)]
        seconds = time.perf_counter() - start
    finally:
        stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        process.kill()
        process.join()
    if waits:
        print(f"{len(asked)} connections got {len(waits) / seconds:.1f} replies a second; the longest wait was {max(waits):.2f} s")
    return late


def main() -> int:
    """Build the chain, measure; 1 if something takes too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accounts", nargs="?", type=int, default=ACCOUNTS)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    options = parser.parse_args()
    tune_collector()
    logging.getLogger(ROOT).setLevel(logging.WARNING)
    site = filled(options.accounts)
    # The node's time goes on from the head block.
    shift = time.time_ns() // 1_000_000 - site.state.head_time * 1000

    clock = ChainClock(lambda: time.time_ns() // 1_000_000 - shift)
    processor, driver = Processor(site.chain, clock=clock), Driver(site.chain, clock, [site.secret])
    service = new_service(site.chain, processor, driver, tuple(PLUGINS))
    keep_what_is_loaded()
    fine = longest_replies(service)
    longest = body_of(LONGEST)
    batch = b"[" + b",".join([longest] * BATCH) + b"]"
    asked = {"nobody asks": [], f"{CONNECTIONS} ask on": [longest] * CONNECTIONS, f"{CONNECTIONS} ask in batches": [batch] * CONNECTIONS}

    def run(delays: "Queue[float]") -> None:
        trio.run(run_node, site, service, processor, driver, delays)

    for how, bodies in asked.items():
        late = lateness(run, options.blocks if bodies else BLOCKS_ALONE, bodies)
        print(f"{how}: blocks applied {', '.join(f'{ms:.0f}' for ms in late)} ms after their slots, at worst {max(late):.0f} ms")
        fine &= max(late) <= LATE_MILLISECONDS_MAX
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
