"""Compares a large chain with a small one: memory, blocks, operations and calls at 10^6 accounts, posts and blocks, with all plugins.

Run: .venv/bin/python -m bench.scale [--accounts N] [--posts N] [--blocks N] [--body BYTES]

Accounts are inserted into the tables directly. Then blocks are pushed: first blocks of 50 posts, in which every tenth post has a vote, then
empty blocks, during which the posts are paid out, and finally blocks of 50 transfers. All blocks go to a block log in a temporary folder,
as with `--data`. Each size runs in a separate process, the small one first, so that its memory can be measured. Times are medians of CPU
time, as multiples of those at 10^4. The first call of a kind, which can include sorting, has a separate figure. Targets: factors of at most
1.5, 1.8 GB of memory after the load and 3 GB after the calls, 800 bytes for an account, and 500 for a paid post with --body 1500.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.chain import METADATA, NOW, BenchChain, user
from bench.recovery import recovery_seconds
from bench.rpc import Question, answered, median_seconds, questions
from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.runtime.memory import collect_in_portions, freeze_loaded_objects, tune_collector
from node.runtime.process_memory import memory_size
from node.storage.blocklog import BlockLog
from state.chain.chain import Chain
from state.chain.skip import TRUSTED
from state.operations.content import Comment, Vote
from state.operations.market import LimitOrderCreate
from state.operations.transfers import Transfer
from state.plugins.registry import PLUGINS
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, Asset

SMALL, LARGE = 10_000, 1_000_000
IN_BLOCK, BUSY_BLOCKS, VOTED = 50, 200, 10  # operations per block, blocks of transfers, posts per vote
TIMED_BLOCKS = 300
CALLS = 100
SENDER = user(0)
BODY, BODY_BYTES = "A body of some length, as posts have one: ", 210
RANKED = ("trending", "hot", "created", "promoted", "payout")
DISCUSSED = (*RANKED[:4], "active", "cashout", "votes", "children")


def say(line: str) -> None:
    """Print a line about the progress."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class ScaleChain(BenchChain):
    """A chain that stores its blocks in a block log. Its posts are part of its blocks, and not only inserted into the tables."""

    def __init__(self, folder: Path, body_bytes: int) -> None:
        super().__init__()
        self.body = (BODY * (body_bytes // len(BODY) + 1))[:body_bytes]
        self.log = BlockLog(folder, self.state.wire)
        self.on_head_change.append(lambda change: self.log.switch(change.popped, change.applied))
        self.irreversible_blocks.attach_log(self.log.packed, self.log.__len__, self.log.part)
        self.produce(NOW)

    def add_posts(self, count: int, accounts: int) -> None:
        """Push blocks of posts and votes."""
        for begin in range(0, count, IN_BLOCK):
            some, body = range(begin, begin + IN_BLOCK), self.body
            posts = [Comment("", f"topic-{i % 50}", user(i % accounts), f"post-{i}", f"Title {i}", f"{i} {body}", METADATA) for i in some]
            votes = [Vote(user((i + 7) % accounts), user(i % accounts), f"post-{i}", 10_000) for i in some if i % VOTED == 0]
            self.push(*posts, *votes)

    def add_blocks(self, count: int) -> None:
        """Push empty blocks, then blocks of transfers from one account."""
        for _ in range(count):
            self.push()
        for number in range(BUSY_BLOCKS):
            self.push(*[Transfer(SENDER, user(1 + i), Asset(1, COIN), f"{number}") for i in range(IN_BLOCK)])


def median_of(work: Callable[[int], object], calls: int) -> float:
    """Return the median CPU time of a call, in seconds."""
    times = []
    for i in range(calls):
        start = time.process_time_ns()
        work(i)
        times.append((time.process_time_ns() - start) / 1e9)
    return statistics.median(times)


def operations(chain: ScaleChain, accounts: int, posts: int) -> dict[str, float]:
    """Return the times of a block and of each kind of operation, in seconds."""
    step, first = max(accounts // CALLS, 1), max(posts - accounts, 0)
    state, newest = chain.state, min(posts, accounts)

    def account(i: int) -> str:
        return user(i * step % accounts)

    def post(i: int) -> tuple[str, str]:
        at = first + i * max(newest // CALLS, 1) % newest
        return user(at % accounts), f"post-{at}"

    def order(i: int) -> Operation:
        return LimitOrderCreate(account(i), i, Asset(1000, COIN), Asset(20_000_000 + i, SBD), False, state.head_time + 86_400)

    def mixed(i: int) -> list[Operation]:
        some = range(i * IN_BLOCK, i * IN_BLOCK + IN_BLOCK)
        return [Transfer(user(n * 977 % accounts), user(n * 31 % accounts), Asset(1, COIN), "") for n in some]

    figures = {"empty block": median_of(lambda _: chain.push(), TIMED_BLOCKS)}
    times = []
    for i in range(TIMED_BLOCKS // 10):
        block = chain.block(*mixed(i))
        start = time.process_time_ns()
        chain.push_block(block, TRUSTED)
        times.append((time.process_time_ns() - start) / 1e9)
    figures[f"block of {IN_BLOCK} transfers"] = statistics.median(times)
    position = state.journal.position()
    figures["transfer"] = median_of(lambda i: chain.apply(Transfer(account(i), account(i + 1), Asset(1, COIN), "")), CALLS)
    figures["order"] = median_of(lambda i: chain.apply(order(i)), CALLS)
    figures["comment"] = median_of(lambda i: chain.apply(Comment(*post(i), account(i), f"re-{i}", "", "A reply", "{}")), CALLS)
    figures["vote"] = median_of(lambda i: chain.apply(Vote(account(i), account(i), f"re-{i}", 10_000)), CALLS)
    state.journal.undo(position)
    return figures


def asked_of(chain: Chain) -> Iterator[Question]:
    """Yield the calls to measure: the calls of bench.rpc, then the ranked lists of posts."""
    head = chain.state.props.last_irreversible_block_num
    blocks = ((number, chain.block_by_number(number)) for number in range(head, 0, -1))
    number = next(number for number, block in blocks if block is not None and len(block.transactions) == IN_BLOCK)
    yield from questions(chain, (number, IN_BLOCK), (SENDER, min(BUSY_BLOCKS * IN_BLOCK, 10_000)))
    for sort in DISCUSSED:
        yield Question(f"discussions of 20, {sort}", f"condenser_api.get_discussions_by_{sort}", [{"tag": "", "limit": 20}])
    for sort in RANKED:
        yield Question(f"ranked posts of 20, {sort}", "bridge.get_ranked_posts", {"sort": sort, "tag": "", "observer": "", "limit": 20})
    for order, start in {"by_proxy": "", "by_next_vesting_withdrawal": "1970-01-01T00:00:00"}.items():
        params = {"start": [start, ""], "limit": 1000, "order": order}
        yield Question(f"accounts of 1,000, {order}", "database_api.list_accounts", params)


def calls(chain: Chain, devchain: DevChain) -> Iterator[tuple[str, float]]:
    """Yield the name and seconds of each kind of call. The first call of each kind has a separate entry, because it can be slower."""
    service = new_service(chain, Processor(chain), devchain, tuple(PLUGINS))
    freeze_loaded_objects()
    collect_in_portions()
    for question in asked_of(chain):
        body = question.body
        start = time.process_time_ns()
        answered(service, body)
        yield f"{question.what}, first", (time.process_time_ns() - start) / 1e9
        yield question.what, median_seconds(service, body)


def measure(accounts: int, posts: int, blocks: int, body_bytes: int) -> dict[str, dict[str, float]]:
    """Return the figures of a chain of this size: bytes of memory, and seconds of each kind of work."""
    tune_collector()
    with tempfile.TemporaryDirectory(prefix="coind-scale-") as folder:
        chain = ScaleChain(Path(folder), body_bytes)
        # As in a node, this copies the chain at its genesis. Later, the copy would have all rows.
        devchain = DevChain(chain, ChainClock())
        sizes = [memory_size()]
        empty = max(blocks - posts // IN_BLOCK - BUSY_BLOCKS, 0)
        stages: tuple[Callable[[], None], ...] = (
            lambda: chain.add_accounts(accounts),
            lambda: chain.add_posts(posts, accounts),
            lambda: chain.add_blocks(empty),
        )
        for stage in stages:
            begun = time.perf_counter()
            stage()
            gc.collect()
            gc.freeze()
            sizes.append(memory_size())
            say(f"  in {time.perf_counter() - begun:.0f} s, {memory_size() / 1e9:.2f} GB")
        found = {"recovery": {"recovery": recovery_seconds()}, "operations": operations(chain, accounts, posts)}
        found["calls"] = dict(calls(chain, devchain))
        each = [(end - start) / count for start, end, count in zip(sizes, sizes[1:], (accounts, posts, empty), strict=False)]
        found["memory"] = dict(zip(("an account", "a post", "an empty block"), each, strict=True))
        found["memory"] |= {"all": sizes[-1], "all, after the calls": memory_size(), "block log": chain.log.size}
        chain.log.close()
    return found


def in_process(*sizes: int) -> dict[str, dict[str, float]]:
    """Measure chains of these sizes in a separate process, and return the figures."""
    run = subprocess.run([sys.executable, "-m", "bench.scale", "--one", *map(str, sizes)], stdout=subprocess.PIPE, check=True)
    found: dict[str, dict[str, float]] = json.loads(run.stdout)
    return found


def shown(small: dict[str, dict[str, float]], large: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines that compare the figures of two chains."""
    yield "memory"
    for what, count in large["memory"].items():
        yield f"  {what:56} {count:14,.0f} bytes   {small['memory'][what]:14,.0f} at the small size"
    recovery = large["recovery"]["recovery"]
    yield f"one key recovery: {recovery * 1e6:.1f} µs, at the small size {small['recovery']['recovery'] * 1e6:.1f} µs"
    for group in ("operations", "calls"):
        yield group
        for what, seconds in large[group].items():
            if what in small[group]:
                before = small[group][what]
                ratio = seconds / recovery / (before / small["recovery"]["recovery"])
                yield f"  {what:56} {seconds * 1e6:12.1f} µs {before * 1e6:12.1f} µs  ×{ratio:.2f}"


def main() -> None:
    """Measure a small and a large chain, and print a comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for what in ("accounts", "posts", "blocks"):
        parser.add_argument(f"--{what}", type=int, default=LARGE)
    parser.add_argument("--body", type=int, default=BODY_BYTES, help="bytes of the body of a post")
    parser.add_argument("--one", type=int, nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one)))
        return
    begun = time.perf_counter()
    say(f"{SMALL:,} accounts, posts and blocks")
    small = in_process(SMALL, SMALL, SMALL, given.body)
    say(f"{given.accounts:,} accounts, {given.posts:,} posts, {given.blocks:,} blocks")
    large = in_process(given.accounts, given.posts, given.blocks, given.body)
    for line in shown(small, large):
        print(line)
    print(f"measured in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
