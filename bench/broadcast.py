"""Measures the CPU time that the node needs for a broadcast of a signed transfer, from the complete request body to the reply. Without
HTTP.

The results are multiples of the time of one key recovery.

Run: .venv/bin/python -m bench.broadcast [--profile] [--connections N ...] [--workers N]

It uses a node's service, processor and chain with the default plugins of dev. Single broadcasts are sent over one connection, then over 16
connections at the same time. Batches have 50 transfers, with and without a memo.
"""

import argparse
import cProfile
import json
import pstats
import time
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from bench.chain import signed
from bench.recovery import recovery_seconds
from bench.requests import BATCH, CONNECTIONS, batches
from node.app.context import NodeContext
from node.app.service import new_service
from node.app.settings import Settings
from node.key_recovery.pool import default_workers
from node.monitoring.counters import Counters
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.runtime.memory import collect_in_portions, freeze_loaded_objects, tune_collector
from node.specs.builder import load_spec
from node.specs.plugins import chosen_plugins
from rpc.caller import LOCAL
from rpc.jsonrpc.dispatch import Service
from state.operations.transfers import Transfer
from state.protocol.keys.keys import derive_secret
from state.protocol.values.asset import COIN, Asset

COUNT = 1500
DONE = b'{"jsonrpc":"2.0","result":{},"id":1}'
LINES = 45

Answer = Callable[[bytes], Awaitable[bytes]]


def bodies(context: NodeContext, count: int, memo: bool, serial: int) -> list[bytes]:
    """Return `count` request bodies, each of which broadcasts a different transfer."""
    state, wire = context.chain.state, context.chain.state.wire
    secret, head_id = derive_secret("alice", "active", "dev"), state.props.head_block_id
    made = []
    for number in range(serial, serial + count):
        # Transfers without a memo differ in amount and expiration.
        transfer = Transfer("alice", "bob", Asset(1 + number % 100, COIN), f"invoice {number}" if memo else "")
        trx = signed(wire, secret, head_id, state.head_time + 1800 + number // 100, transfer)
        params = [wire.transaction_to_json(trx, legacy=True)]
        made.append(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "condenser_api.broadcast_transaction", "params": params}).encode())
    return made


async def client(answer: Answer, waiting: list[bytes], expected: bytes) -> None:
    """Send the waiting bodies one after another. Wait for each reply before sending the next body, and compare it with `expected`."""
    while waiting:
        reply = await answer(waiting.pop())
        assert reply == expected, reply[:500]
        # A real connection also waits for its next request.
        await trio.lowlevel.checkpoint()


async def answered(service: Service, body: bytes) -> bytes:
    """Return the reply to a request, computed in the same way as for a request from a client's connection."""
    reply = await service.answer_in_turn(body, LOCAL)
    return reply if isinstance(reply, bytes) else await reply


async def exchange(service: Service, sent: list[bytes], connections: int, expected: bytes) -> float:
    """Send all bodies, distributed over `connections` connections. Return the CPU seconds."""
    start = time.process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(client, partial(answered, service), sent, expected)
    return time.process_time() - start


async def measure(connections: list[int], workers: int, is_profiled: bool) -> None:
    """Print the time of each form of broadcast."""
    spec = load_spec("dev")
    plugins = chosen_plugins(spec)
    context = NodeContext(Settings(spec=spec, plugins=plugins, is_producing=True))
    clock = ChainClock()
    counters = Counters(context.chain, clock)
    processor = Processor(context.chain, clock=clock, workers=workers)
    context.devchain.make_first_blocks()
    counters.attach()
    processor.on_pushed.append(counters.pushed)
    processor.on_accepted.append(context.devchain.automine)
    service = new_service(
        context.chain, processor, context.devchain, plugins, observe=counters.observe, foresee=processor.prefetch_keys if workers else None
    )
    profile = cProfile.Profile() if is_profiled else None
    serial = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(processor.run)
        await exchange(service, bodies(context, 100, True, serial), 1, DONE)
        for memo in (False, True):
            for count in (*connections, 0):
                serial += COUNT
                sent, what, expected = bodies(context, COUNT, memo, serial), f"{count} connections", DONE
                if not count:
                    what, expected = f"batches of {BATCH}", b"[" + b",".join([DONE] * BATCH) + b"]"
                    sent = batches(sent, BATCH)
                freeze_loaded_objects()
                if profile is not None:
                    profile.enable()
                seconds = await exchange(service, sent, count or 1, expected)
                if profile is not None:
                    profile.disable()
                recovery = recovery_seconds()
                how = "with a memo" if memo else "without memo"
                each = seconds / COUNT
                print(f"{what:16} {how:13} {each * 1e6:7.1f} µs per transfer = {each / recovery:5.2f} recoveries ({recovery * 1e6:.1f} µs)")
                context.devchain.make_block()
        nursery.cancel_scope.cancel()
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)


def main() -> None:
    """Parse the options, and run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, CONNECTIONS])
    parser.add_argument("--workers", type=int, default=default_workers(), help="worker processes that recover keys of batches")
    options = parser.parse_args()
    tune_collector()
    collect_in_portions()
    trio.run(measure, options.connections, options.workers, options.profile)


if __name__ == "__main__":
    main()
