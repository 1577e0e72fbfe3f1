"""Measures replies: microseconds and key recoveries of each, from the complete body to the reply's bytes, on a replayed chain with
all plugins; and apart from it what HTTP and WebSocket add to a small reply, single and in batches.

Run: .venv/bin/python -m bench.rpc [BLOCK_LOG] [--chain NAME] [--profile WORDS]
Without a file it takes the longest block log of the recorded cases, which is short: figures to compare need a log of some ten
thousand transactions. Each reply's time is the median of many. Beside ours stand the reference's recoveries for such a log, in
which its HTTP is included.
"""

import argparse
import cProfile
import json
import multiprocessing
import pstats
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from bench.clients import HttpClient, SocketClient
from bench.recovery import recovery_seconds
from bench.replay import CASES
from node.memory import keep_what_is_loaded, tune_collector
from node.processor import Processor
from node.progress import Progress
from node.replay import replay
from node.service import new_service
from node.specs import load_spec
from node.storage.blockfile import BlockFile
from rpc.service.envelope import Service
from rpc.service.transport.asgi import serve
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED
from state.plugins.account_history import ACCOUNT_HISTORY
from state.plugins.registry import PLUGINS, enable

SECONDS_EACH = 1.0
CALLS_MIN, CALLS_MAX = 7, 2000
PORT = 19701
PLENTY_OF_TRANSACTIONS = 50
BATCH = 50
EXCHANGES = 1500
PROPERTIES: tuple[str, Any] = ("database_api.get_dynamic_global_properties", {})
LINES = 40


class Question(Struct, frozen=True):
    """A request, and how many recoveries the reference needs for it (0: nobody has measured)."""

    what: str
    method: str
    params: Any
    reference: int = 0

    @property
    def body(self) -> bytes:
        """The bytes of the request."""
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": self.params}).encode()


# ------------------------------------------------------------------ the requests


def loaded(path: Path, chain: str) -> Chain:
    """A chain that has applied a block log, trusting it, with all plugins."""
    state = new_state(load_spec(chain), lambda fresh: enable(fresh, PLUGINS))
    made = Chain(state)
    blocks = BlockFile(path, state.wire)
    trio.run(lambda: replay(made, blocks, Progress(blocks.size, blocks.last), skip=TRUSTED))
    return made


def questions(chain: Chain) -> Iterator[Question]:
    """Return the requests whose replies are measured."""
    names = [row.name for row in chain.state.accounts.by_name]
    spread = names[:: max(len(names) // 100, 1)][:100]
    block, transactions = busy_block(chain)
    writer, entries = longest_history(chain)
    first_page = {"start": "", "limit": 1000, "order": "by_name"}
    oldest = {"start": ["1970-01-01T00:00:00", "", ""], "limit": 100, "order": "by_cashout_time"}
    yield Question("database_api.get_dynamic_global_properties", *PROPERTIES, 2)
    yield Question("condenser_api.get_dynamic_global_properties", "condenser_api.get_dynamic_global_properties", [], 2)
    yield Question("get_accounts of 1", "condenser_api.get_accounts", [names[len(names) // 2 :][:1]], 4)
    yield Question("get_accounts of 100", "condenser_api.get_accounts", [spread], 304)
    yield Question(f"block_api.get_block, {transactions} transactions", "block_api.get_block", {"block_num": block}, 30)
    yield Question(f"condenser_api.get_block, {transactions} transactions", "condenser_api.get_block", [block], 30)
    yield Question(f"account history of 100 ({entries} there)", "condenser_api.get_account_history", [writer, -1, 100], 35)
    yield Question("list_accounts of 1,000", "database_api.list_accounts", first_page, 3400)
    yield Question("list_comments of 100", "database_api.list_comments", oldest, 131)
    yield Question("discussions of 20, trending", "condenser_api.get_discussions_by_trending", [{"tag": "", "limit": 20}], 41)
    yield Question("discussions of 20, created", "condenser_api.get_discussions_by_created", [{"tag": "", "limit": 20}], 41)
    yield Question("list_comments of 1,000", "database_api.list_comments", {**oldest, "limit": 1000})
    yield Question(f"account history of {min(entries, 10_000)}", "condenser_api.get_account_history", [writer, -1, min(entries, 10_000)])


def busy_block(chain: Chain) -> tuple[int, int]:
    """Return the block whose number of transactions is nearest to 50, the newest of these; and that number."""
    numbers = range(1, chain.state.props.head_block_number + 1)
    sizes = {number: len(block.transactions) for number in numbers if (block := chain.block_by_number(number)) is not None}
    best = min(reversed(sizes), key=lambda number: abs(sizes[number] - PLENTY_OF_TRANSACTIONS))
    return best, sizes[best]


def longest_history(chain: Chain) -> tuple[str, int]:
    """Return the account with the most entries in its history, and their number."""
    accounts = ACCOUNT_HISTORY.of(chain.state).accounts
    sizes = {row.name: len(accounts.get(row.name)) - accounts.get(row.name).first for row in chain.state.accounts.by_name}
    name = max(sizes, key=lambda each: sizes[each])
    return name, sizes[name]


# ------------------------------------------------------------------ in this process


def answered(service: Service, body: bytes) -> bytes:
    """The reply to one request that answers at once; it must be a result."""
    reply = service.answer(body, True)
    assert isinstance(reply, bytes)
    if not reply.startswith(b'{"jsonrpc":"2.0","result":'):
        raise SystemExit(f"{body[:200]!r} was refused: {reply[:500]!r}")
    return reply


def median_seconds(service: Service, body: bytes) -> float:
    """The median time of a reply, in processor time."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS_EACH
    while len(times) < CALLS_MIN or (time.perf_counter() < end and len(times) < CALLS_MAX):
        start = time.process_time_ns()
        service.answer(body, True)
        times.append((time.process_time_ns() - start) / 1e9)
    return statistics.median(times)


def in_process(service: Service, asked: list[Question], recovery: float) -> None:
    """Print what each reply takes."""
    for question in asked:
        size = len(answered(service, question.body))
        seconds = median_seconds(service, question.body)
        against = f"reference {question.reference:5}" if question.reference else ""
        print(f"{question.what:46} {seconds * 1e6:10.1f} µs = {seconds / recovery:8.2f} recoveries  {against:15}  {size:9,} bytes")


def profiled(service: Service, asked: list[Question], words: str) -> None:
    """Print a profile of the replies whose names hold these words."""
    for question in asked:
        if words in question.what:
            profile = cProfile.Profile()
            profile.runcall(median_seconds, service, question.body)
            print(question.what)
            pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)


# ------------------------------------------------------------------ over the wire


@contextmanager
def served(service: Service) -> Iterator[int]:
    """A node of its own process that answers on PORT; gives the number of that process."""
    fork = multiprocessing.get_context("fork")
    is_up = fork.Event()

    async def answer() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: serve(service, "127.0.0.1", PORT, health=dict, task_status=task_status))
            is_up.set()

    process = fork.Process(target=trio.run, args=(answer,), daemon=True)
    process.start()
    try:
        if not is_up.wait(10):
            raise SystemExit("the node did not start")
        assert process.pid is not None
        yield process.pid
    finally:
        process.kill()
        process.join()


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has had, as Linux counts it."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def over_the_wire(service: Service, recovery: float) -> None:
    """Print what HTTP and WebSocket add to a small reply: the node's processor time, and what a client waits."""
    one = Question("", *PROPERTIES).body
    bodies = {"single": (one, 1), f"in batches of {BATCH}": (b"[" + b",".join([one] * BATCH) + b"]", BATCH)}
    inside = median_seconds(service, one)
    print(f"\nget_dynamic_global_properties takes {inside * 1e6:.1f} µs; to each one of them adds")
    with served(service) as pid:
        for client in (HttpClient(PORT), SocketClient(PORT)):
            for how, (body, count) in bodies.items():
                rounds = EXCHANGES // (1 if count == 1 else 10)
                client.ask(body)
                before, start = processor_seconds(pid), time.perf_counter()
                for _ in range(rounds):
                    client.ask(body)
                waited = (time.perf_counter() - start) / rounds / count
                added = (processor_seconds(pid) - before) / rounds / count - inside
                shown = f"{added * 1e6:8.1f} µs = {added / recovery:6.2f} recoveries of the node's time"
                print(f"{client.NAME:10} {how:16} {shown}; a client waits {waited * 1e6:8.1f} µs for each")


def main() -> None:
    """Load a chain, measure all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--chain", default="steem-testnet")
    parser.add_argument("--profile", metavar="WORDS")
    options = parser.parse_args()
    tune_collector()
    chain = loaded(options.file or max(CASES.glob("*/block_log"), key=lambda log: log.stat().st_size), options.chain)
    service = new_service(chain, Processor(chain), tuple(PLUGINS), lambda: time.time_ns() // 1_000_000)
    keep_what_is_loaded()
    asked = list(questions(chain))
    if options.profile is not None:
        profiled(service, asked, options.profile)
        return
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    in_process(service, asked, recovery)
    over_the_wire(service, recovery)


if __name__ == "__main__":
    main()
