"""Measures block delays under load: the slowest replies to single requests, and the delay of blocks while eight connections request them.

Run: .venv/bin/python -m bench.latency [ACCOUNTS] [--blocks N] [--explorers N]
The chain has ACCOUNTS accounts, each with a post of usual size, one account with a history of 10,000 entries, and all plugins. It
produces a block every 3 s in a separate process, and answers over HTTP. The clients run in this process, on the other core, one request
at a time and in batches. Targets: each reply within 200 ms, each block within 500 ms after its slot.

With `--explorers` it measures only block delays while N pages of the explorer are open. Each page follows the block stream and the
notices, and makes the requests of the home page at each block, while one client sends transfers. Target: each block within 50 ms after
its slot.
"""

import argparse
import json
import logging
import multiprocessing
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.queues import Queue
from threading import Event, Thread
from typing import Any

import trio

from bench.clients import HttpClient, SocketClient, Stream
from bench.growth import Site
from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.devchain.producer import Producer
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.runtime.memory import freeze_loaded_objects, tune_collector
from rpc.caller import LOCAL
from rpc.http.access import AccessPolicy
from rpc.http.server import serve
from rpc.jsonrpc.dispatch import Service
from rpc.log import ROOT
from rpc.push.hub import Hub
from state.chain.head_change import HeadChange
from state.operations.content import Comment
from state.operations.transfers import Transfer
from state.plugins.registry import PLUGINS
from state.protocol.authority import key_authority
from state.protocol.keys.keys import public_key
from state.protocol.values.asset import COIN, Asset

ACCOUNTS = 3000
BLOCKS, BLOCKS_ALONE = 10, 3
CONNECTIONS, BATCH = 8, 5
ENTRIES = 10_000
ROUNDS = 7
PORT = 19711
REPLY_MILLISECONDS_MAX, LATE_MILLISECONDS_MAX, LATE_WITH_EXPLORERS_MAX = 200, 500, 50
LOAD_EVERY_SECONDS = 0.02
LOADED_BLOCKS = 40  # blocks that a page loads when it is opened
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
    """Return a chain with the content of the slowest replies."""
    site = Site(accounts)
    site.produce()  # a post can be edited only once per block
    for i in range(accounts):
        site.apply(Comment("", f"topic-{i % 50}", f"user-{i:06d}", "post", f"A title of a post, the {i}th", BODY, METADATA))
    for i in range(ENTRIES):
        site.apply(Transfer(RICH, f"user-{i % accounts:06d}", Asset(1, COIN), f"a memo of usual length, the {i}th"))
    site.state.journal.commit(site.state.journal.position())
    return site


def body_of(what: str) -> bytes:
    """Return the body of the request with this name."""
    method, params = QUESTIONS[what]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def longest_replies(service: Service) -> bool:
    """Print the longest time of each reply. Return whether all are short enough."""
    fine = True
    for what in QUESTIONS:
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            reply = service.answer(body_of(what), LOCAL)
            times.append((time.perf_counter() - start) * 1000)
        assert isinstance(reply, bytes)
        assert reply.startswith(b'{"jsonrpc":"2.0","result":'), reply[:500]
        fine &= max(times) <= REPLY_MILLISECONDS_MAX
        print(f"{what:32} {sorted(times)[ROUNDS // 2]:7.1f} ms, at worst {max(times):7.1f} ms  {len(reply):10,} bytes")
    return fine


async def run_node(site: Site, service: Service, processor: Processor, devchain: DevChain, delays: "Queue[float]") -> None:
    """Serve and produce. Put the delay of each block after its slot, in milliseconds, into a queue."""

    def moved(change: HeadChange) -> None:
        for block in change.applied:
            delays.put(devchain.clock() - block.timestamp * 1000)

    site.chain.on_head_change.append(moved)
    async with trio.open_nursery() as nursery:
        hub, access = Hub(site.chain, devchain.clock), AccessPolicy(has_pages=True)
        await nursery.start(partial(serve, service, "127.0.0.1", PORT, pages={}, push=hub, access=access))
        nursery.start_soon(processor.run)
        nursery.start_soon(Producer(processor, devchain, is_stale_allowed=True).run)


Client = Callable[[Event, list[float]], None]  # runs until the event is set, and appends the time of each reply


def ask_on(body: bytes, stop: Event, waits: list[float]) -> None:
    """Repeat a request until `stop` is set, and record the time of each reply."""
    client = HttpClient(PORT)
    while not stop.is_set():
        start = time.perf_counter()
        client.ask(body)
        waits.append(time.perf_counter() - start)


def body_with(*calls: tuple[str, Any]) -> bytes:
    """Return the request body for calls of an explorer, a batch if there are several."""
    requests = [{"jsonrpc": "2.0", "id": i, "method": method, "params": params} for i, (method, params) in enumerate(calls)]
    return json.dumps(requests if len(calls) > 1 else requests[0]).encode()


def explore(stop: Event, waits: list[float]) -> None:
    """Behave like an open home page of the explorer (app/chain.js, pages/home.js)."""
    client, stream, notices = HttpClient(PORT), Stream(PORT), [SocketClient(PORT) for _ in range(2)]

    def ask(*calls: tuple[str, Any]) -> Any:
        start = time.perf_counter()
        reply = json.loads(client.ask(body_with(*calls)))
        waits.append(time.perf_counter() - start)
        return reply

    def take(listener: SocketClient) -> None:
        try:
            while not stop.is_set():
                listener.receive()
        except (OSError, SystemExit):
            pass  # the node has ended

    for kind, listener in zip(("transactions", "refusals"), notices, strict=True):
        assert b'"result"' in listener.ask(body_with(("dev_api.subscribe", {"kind": kind})))
        Thread(target=take, args=(listener,), daemon=True).start()
    overview = ask(("explorer_api.get_overview", {}))["result"]
    head: int = overview["head_block_number"]
    ask(*[("block_api.get_block", {"block_num": number}) for number in range(max(1, head - LOADED_BLOCKS), head + 1)])
    stream.socket.sendall(f"GET /stream/blocks HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\n\r\n".encode())
    assert b" 200 " in stream.until(b"\r\n\r\n").split(b"\r\n")[0]
    while not stop.is_set():
        line = stream.until(b"\n")
        at = line.find(b'"block_num":')
        if at < 0:
            continue
        number = int(line[at:].split(b":")[1].split(b",")[0].rstrip(b"}\n"))
        ask(("account_history_api.get_ops_in_block", {"block_num": number, "only_virtual": True}))
        ask(("explorer_api.get_overview", {}), ("dev_api.get_info", {}))


def let_send(site: Site) -> Client:
    """Give the account RICH the witness's key, and return a client that sends about 50 of its transfers per second, signed by the node."""
    own = key_authority(public_key(site.secret))
    site.state.account_authorities.modify(site.state.authority(RICH), active=own)
    keys, amount = list(site.state.spec.witness_keys[:1]), f"0.001 {site.state.spec.coin_symbol}"

    def send_on(stop: Event, waits: list[float]) -> None:
        client, count = HttpClient(PORT), 0
        while not stop.is_set():
            count += 1
            transfer = ["transfer", {"from": RICH, "to": "user-000001", "amount": amount, "memo": f"{count}"}]
            start = time.perf_counter()
            reply = client.ask(body_with(("dev_api.broadcast_operations", {"operations": [transfer], "keys": keys})))
            waits.append(time.perf_counter() - start)
            assert reply.startswith(b'{"jsonrpc":"2.0","result":'), reply[:500]
            time.sleep(LOAD_EVERY_SECONDS)

    return send_on


def lateness(run_node: Callable[["Queue[float]"], None], blocks: int, clients: Sequence[Client]) -> list[float]:
    """Return the delays of `blocks` blocks in ms while clients run, and print the clients' reply rate."""
    fork = multiprocessing.get_context("fork")
    delays: Queue[float] = fork.Queue()
    process = fork.Process(target=run_node, args=(delays,), daemon=True)
    process.start()
    stop, waits = Event(), list[float]()
    threads = [Thread(target=client, args=(stop, waits), daemon=True) for client in clients]
    try:
        delays.get(timeout=60)  # the first block can be late, because the node has just started
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
        print(f"{len(clients)} clients got {len(waits) / seconds:.1f} replies per second; the longest wait was {max(waits):.2f} s")
    return late


def main() -> int:
    """Build the chain and measure. Return 1 if something takes too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accounts", nargs="?", type=int, default=ACCOUNTS)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--explorers", type=int, default=0, help="measure block delays while N pages of the explorer are open")
    options = parser.parse_args()
    tune_collector()
    logging.getLogger(ROOT).setLevel(logging.WARNING)
    site = filled(options.accounts)
    # The node's time continues from the head block.
    shift = time.time_ns() // 1_000_000 - site.state.head_time * 1000

    clock = ChainClock(lambda: time.time_ns() // 1_000_000 - shift)
    processor, devchain = Processor(site.chain, clock=clock), DevChain(site.chain, clock, [site.secret])
    service = new_service(site.chain, processor, devchain, tuple(PLUGINS))
    freeze_loaded_objects()

    def run(delays: "Queue[float]") -> None:
        trio.run(run_node, site, service, processor, devchain, delays)

    def is_late(how: str, blocks: int, clients: Sequence[Client], most: int) -> bool:
        late = lateness(run, blocks, clients)
        print(f"{how}: blocks applied {', '.join(f'{ms:.0f}' for ms in late)} ms after their slots, at worst {max(late):.0f} ms")
        return max(late) > most

    if options.explorers:
        clients = [*[explore] * options.explorers, let_send(site)]
        return int(is_late(f"{options.explorers} explorers are open", options.blocks, clients, LATE_WITH_EXPLORERS_MAX))
    fine = longest_replies(service)
    longest = body_of(LONGEST)
    batch = b"[" + b",".join([longest] * BATCH) + b"]"
    asked = {"no clients": [], f"{CONNECTIONS} clients": [longest] * CONNECTIONS, f"{CONNECTIONS} clients, batches": [batch] * CONNECTIONS}

    for how, bodies in asked.items():
        fine &= not is_late(
            how, options.blocks if bodies else BLOCKS_ALONE, [partial(ask_on, body) for body in bodies], LATE_MILLISECONDS_MAX
        )
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
