"""Measures replies in microseconds and in key recoveries, with all plugins, from the complete request body to the reply's bytes.

Run: .venv/bin/python -m bench.rpc [BLOCK_LOG] [--chain NAME] [--profile WORDS]

Without a file, it uses a synthetic chain on which every reply has rows. The figures to compare are those measured with a log of about ten
thousand transactions. Each time is a median. For a file, the output also contains the reference's time in key recoveries, which includes
its HTTP. If a reply has fewer rows than with such a log, it is marked, and the reference's time is omitted.
"""

import argparse
import cProfile
import json
import pstats
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from bench.chain import BenchChain, user
from bench.recovery import recovery_seconds
from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.history.apply import ChainCursor, replay
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.runtime.memory import collect_in_portions, freeze_loaded_objects, tune_collector
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from rpc.caller import LOCAL
from rpc.jsonrpc.dispatch import Service
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED
from state.operations.content import Vote
from state.operations.transfers import Transfer
from state.plugins.account_history import ACCOUNT_HISTORY, history
from state.plugins.registry import PLUGINS, enable
from state.protocol.values.asset import COIN, Asset

SECONDS_EACH = 1.0
CALLS_MIN, CALLS_MAX = 7, 2000
PLENTY_OF_TRANSACTIONS = 50
ACCOUNTS, VOTES, BLOCKS = 1_100, 100, 20
ENTRIES_MAX, WRITERS = 10_000, 20
PROPERTIES: tuple[str, Any] = ("database_api.get_dynamic_global_properties", {})
LINES = 40


class Question(Struct, frozen=True):
    """A request, and the number of rows in its reply. `reference` is the time of the reply on the reference, in key recoveries (0: not
    measured).
    """

    what: str
    method: str
    params: Any
    rows: int = 1
    reference: int = 0

    @property
    def body(self) -> bytes:
        """The request as JSON."""
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": self.params}).encode()


def loaded(path: Path, chain: str) -> Chain:
    """Return a chain with all plugins, to which the blocks of a block log have been applied without checks."""
    state = new_state(load_spec(chain), lambda fresh: enable(fresh, PLUGINS))
    made = Chain(state)
    blocks = BlockFile(path, state.wire)
    trio.run(replay, ChainCursor(made, blocks, skip_flags=TRUSTED))
    return made


def synthetic_chain() -> Chain:
    """Return a chain with all plugins. Each account has a post and an order. There are a few votes, and blocks with transfers of one
    account.
    """
    chain, sender = BenchChain(ACCOUNTS), user(0)
    chain.give_key(sender)
    for number in range(VOTES):  # posts without votes aren't in the trending list
        chain.apply(Vote(user(number + 1), user(number), "post", 10_000))
    chain.produce()
    for block in range(BLOCKS):
        for number in range(PLENTY_OF_TRANSACTIONS):
            chain.push_transaction(chain.signed(Transfer(sender, user(number + 1), Asset(1, COIN), f"{block} {number}")))
        chain.produce()
    return chain


def questions(chain: Chain, busy: tuple[int, int] | None = None, longest: tuple[str, int] | None = None) -> Iterator[Question]:
    """Yield the requests to measure.

    `busy` is the number of a block and how many transactions it has. `longest` is the name of an account and how many history entries it
    has.
    """
    names = [row.name for row in chain.state.accounts.by_name]
    spread = names[:: max(len(names) // 100, 1)][:100]
    block, transactions = busy or busy_block(chain)
    writer, entries = longest or longest_history(chain)
    first_page = {"start": "", "limit": 1000, "order": "by_name"}
    oldest = {"start": ["1970-01-01T00:00:00", "", ""], "limit": 100, "order": "by_cashout_time"}
    yield Question("database_api.get_dynamic_global_properties", *PROPERTIES, 1, 2)
    yield Question("condenser_api.get_dynamic_global_properties", "condenser_api.get_dynamic_global_properties", [], 1, 2)
    yield Question("get_accounts of 1", "condenser_api.get_accounts", [names[len(names) // 2 :][:1]], 1, 4)
    yield Question("get_accounts of 100", "condenser_api.get_accounts", [spread], 100, 304)
    yield Question(
        f"block_api.get_block, {transactions} transactions", "block_api.get_block", {"block_num": block}, PLENTY_OF_TRANSACTIONS, 30
    )
    yield Question(f"condenser_api.get_block, {transactions} transactions", "condenser_api.get_block", [block], PLENTY_OF_TRANSACTIONS, 30)
    yield Question(f"account history of 100 ({entries} there)", "condenser_api.get_account_history", [writer, -1, 100], 100, 35)
    yield Question("list_accounts of 1,000", "database_api.list_accounts", first_page, 1000, 3400)
    yield Question("list_comments of 100", "database_api.list_comments", oldest, 100, 131)
    yield Question("discussions of 20, trending", "condenser_api.get_discussions_by_trending", [{"tag": "", "limit": 20}], 20, 41)
    yield Question("discussions of 20, created", "condenser_api.get_discussions_by_created", [{"tag": "", "limit": 20}], 20, 41)
    yield Question("list_comments of 1,000", "database_api.list_comments", {**oldest, "limit": 1000}, 1000)
    yield Question(f"account history of {entries}", "condenser_api.get_account_history", [writer, -1, entries], entries)


def busy_block(chain: Chain) -> tuple[int, int]:
    """Return the number of the block whose transaction count is closest to 50 (the newest such block), and that count."""
    numbers = range(1, chain.state.props.head_block_number + 1)
    sizes = {number: len(block.transactions) for number in numbers if (block := chain.block_by_number(number)) is not None}
    best = min(reversed(sizes), key=lambda number: abs(sizes[number] - PLENTY_OF_TRANSACTIONS))
    return best, sizes[best]


def longest_history(chain: Chain) -> tuple[str, int]:
    """Return the account with the most history entries, and the number of entries that one query returns for it (at most 10,000)."""
    histories = ACCOUNT_HISTORY.of(chain.state).accounts
    writers = sorted((row.name for row in chain.state.accounts.by_name), key=lambda name: -len(histories.get(name)[1]))[:WRITERS]
    sizes = {name: len(history(chain.state, name, -1, ENTRIES_MAX)) for name in writers}
    name = max(sizes, key=lambda each: sizes[each])
    return name, sizes[name]


def rows_of(reply: bytes) -> int:
    """Return the number of rows in a reply. This is the length of the longest list in its result, or 1 if there is no list."""
    result = json.loads(reply)["result"]
    inside = list(result.values()) if isinstance(result, dict) else [result]
    within = [value for each in inside if isinstance(each, dict) for value in each.values()]
    return max((len(value) for value in inside + within if isinstance(value, list)), default=1)


def answered(service: Service, body: bytes) -> bytes:
    """Return the reply to a request that is answered without waiting. Exit the process if the reply is an error."""
    reply = service.answer(body, LOCAL)
    assert isinstance(reply, bytes)
    if not reply.startswith(b'{"jsonrpc":"2.0","result":'):
        raise SystemExit(f"{body[:200]!r} was refused: {reply[:500]!r}")
    return reply


def median_seconds(service: Service, body: bytes) -> float:
    """Return the median CPU seconds of a reply."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS_EACH
    while len(times) < CALLS_MIN or (time.perf_counter() < end and len(times) < CALLS_MAX):
        start = time.process_time_ns()
        service.answer(body, LOCAL)
        times.append((time.process_time_ns() - start) / 1e9)
    return statistics.median(times)


def in_process(service: Service, asked: list[Question], recovery: float, is_compared: bool) -> None:
    """Print the time of the reply to each request."""
    for question in asked:
        reply = answered(service, question.body)
        seconds = median_seconds(service, question.body)
        note = figure_note(question, rows_of(reply), is_compared)
        print(f"{question.what:46} {seconds * 1e6:10.1f} µs = {seconds / recovery:8.2f} recoveries  {note:24}  {len(reply):9,} bytes")


def figure_note(question: Question, rows: int, is_compared: bool) -> str:
    """Return the text after a figure: a marker if the reply has too few rows, otherwise the reference's time."""
    if rows < question.rows:
        return f"ONLY {rows:,} OF {question.rows:,} ROWS"
    return f"reference {question.reference:5}" if question.reference and is_compared else ""


def profiled(service: Service, asked: list[Question], words: str) -> None:
    """Print a profile of the replies to the requests whose names contain `words`."""
    for question in asked:
        if words in question.what:
            profile = cProfile.Profile()
            profile.runcall(median_seconds, service, question.body)
            print(question.what)
            pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)


def main() -> None:
    """Load a chain, and measure all replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--chain", default="steem-testnet")
    parser.add_argument("--profile", metavar="WORDS")
    options = parser.parse_args()
    tune_collector()
    chain = synthetic_chain() if options.file is None else loaded(options.file, options.chain)
    service = new_service(chain, Processor(chain), DevChain(chain, ChainClock()), tuple(PLUGINS))
    freeze_loaded_objects()
    collect_in_portions()
    asked = list(questions(chain))
    if options.profile is not None:
        profiled(service, asked, options.profile)
        return
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    in_process(service, asked, recovery, is_compared=options.file is not None)


if __name__ == "__main__":
    main()
