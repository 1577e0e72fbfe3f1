"""Measures forks: what reading from a source costs, how soon a node with a fork file answers, fresh forked chains for tests, and the copy
of a whole chain.

Run: .venv/bin/python -m bench.fork [--accounts N] [--large N]

The source is a coind on the same machine. It has N accounts (1,000), each with a post, a vote and an order. First, its replies are read in
this process: CPU time of both sides, requests and bytes. Then a file with all of these accounts and posts is made, a node is started with
it, and chains in this process and in a node are restored as after a test. At last, a source with `--large` accounts (100,000; 0: skip) is
copied by `coind fork --all`. Targets: 0.6 s until the first reply, 30 ms for a fresh chain, 60 s for the copy.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import trio

from bench.start import LAUNCHER, started
from node.app.local_chain import LocalChain
from node.client.http import Client
from node.fork.accounts import read_accounts
from node.fork.fetch import ForkRequest, make_fork
from node.fork.file import write_fork
from node.fork.posts import read_posts
from node.fork.source import Source
from node.fork.transport import HttpReply
from node.fork.world import read_world
from tests.fork.sources import SourceNode

ACCOUNTS, LARGE = 1000, 100_000
START_SECONDS_MAX, TEST_SECONDS_MAX, COPY_SECONDS_MAX = 0.6, 0.03, 60.0
OPERATIONS_PER_BLOCK, ROUNDS, PAGE_ROWS, PAGES = 100, 10, 1000, 10
# A chain with many accounts, which are created at genesis, so that the source starts at once.
SPEC = """base = "dev"

[genesis]
accounts_in_blocks = false
[[genesis.accounts]]
names = [{names}]
password = "dev"
coin = "100.000"
sbd = "10.000"
vesting = "100.000"
"""
# Each list that a complete copy reads, with its order and the first start.
LISTS: dict[str, tuple[str, Any]] = {
    "database_api.list_accounts": ("by_name", ""),
    "database_api.list_comments": ("by_permlink", ["", "", "", ""]),
    "database_api.list_votes": ("by_comment_voter", ["", "", ""]),
    "database_api.list_limit_orders": ("by_account", ["", 0]),
}


class MeasuredNode(SourceNode):
    """A source that measures its CPU time and counts the bytes of its replies."""

    def __init__(self, chain: LocalChain) -> None:
        super().__init__(chain)
        self.cpu_seconds, self.sent_bytes = 0.0, 0

    def post(self, body: bytes) -> HttpReply | None:
        begun = time.process_time()
        reply = super().post(body)
        self.cpu_seconds += time.process_time() - begun
        self.sent_bytes += 0 if reply is None else len(reply.body)
        return reply


def source_chain(count: int) -> LocalChain:
    """Return a chain with `count` accounts, each with a post, a vote and an order."""
    chain = LocalChain("dev", accounts=count, blocks="manual")
    chain.impersonate(everyone=True)
    names = [account.name for account in chain.chain.state.accounts if account.balance and account.sbd_balance][:count]
    expiration = "2027-01-20T00:00:00"
    for first in range(0, len(names), OPERATIONS_PER_BLOCK):
        for name in names[first : first + OPERATIONS_PER_BLOCK]:
            post = {"parent_author": "", "parent_permlink": "bench", "author": name, "permlink": "post", "title": "A title"}
            order = {"owner": name, "orderid": 1, "amount_to_sell": "1.000 COIN", "min_to_receive": "100.000 SBD", "fill_or_kill": False}
            chain.broadcast(
                ["comment", {**post, "body": "A body of some length. " * 20, "json_metadata": '{"tags":["bench"]}'}],
                ["vote", {"voter": name, "author": name, "permlink": "post", "weight": 10_000}],
            )
            chain.broadcast("limit_order_create", {**order, "expiration": expiration})
        chain.mine()
    chain.mine(25)
    return chain


def names_of(chain: LocalChain) -> list[str]:
    return [order.seller for order in chain.chain.state.limit_orders]


def reading(node: MeasuredNode, name: str, rows: int, work: Callable[[Source], Awaitable[object]]) -> None:
    """Print what reading takes: requests, bytes, and CPU time of the source and of the reader."""
    node.cpu_seconds, node.sent_bytes, node.request_count = 0.0, 0, 0
    begun = time.process_time()
    trio.run(lambda: work(Source("http://source:8090", transport=node.transport())))
    ours = time.process_time() - begun - node.cpu_seconds
    theirs, kilobytes, each = node.cpu_seconds, node.sent_bytes / 1000, "row" if rows > 1 else "call"
    print(
        f"{name:34} {node.request_count:4} requests, {kilobytes:9,.0f} kB; CPU time of the source {theirs * 1000:7.1f} ms, "
        f"of the reader {ours * 1000:7.1f} ms ({(theirs + ours) * 1e6 / rows:,.0f} µs per {each})"
    )


def pages(chain: LocalChain) -> None:
    """Print the cost of reading from a source."""
    names = names_of(chain)
    for method, (order, start) in LISTS.items():
        node = MeasuredNode(chain)
        params = {"start": start, "limit": PAGE_ROWS, "order": order}
        name = f"{method.partition('.')[2]}, a page of {PAGE_ROWS:,}"
        reading(node, name, PAGE_ROWS, partial(Source.call, method=method, params=params))
    reading(MeasuredNode(chain), "the world", 1, read_world)
    reading(MeasuredNode(chain), f"{len(names):,} accounts", len(names), lambda source: read_accounts(source, names))
    reading(MeasuredNode(chain), f"{len(names):,} posts", len(names), lambda source: read_posts(source, [(name, "post") for name in names]))


def make_file(chain: LocalChain, path: Path) -> None:
    """Make a fork file with all accounts and posts of a chain."""
    names = names_of(chain)
    request = ForkRequest(accounts=tuple(names), posts=tuple((name, "post") for name in names))

    async def make() -> None:
        source = Source("http://source:8090", transport=SourceNode(chain).transport())
        forked, origin = await make_fork(source, request, lambda text: None)
        write_fork(forked, path, origin)

    begun = time.perf_counter()
    trio.run(make)
    print(f"a file with all of them: {time.perf_counter() - begun:.2f} s, {path.stat().st_size / 1000:,.0f} kB")


def first_replies(path: Path) -> bool:
    """Print the time until a node with a fork file answers. Return whether it took too long."""
    seconds = []
    for _ in range(ROUNDS):
        with started(["--fork", str(path)]) as node:
            seconds.append(node.seconds)
    middle, worst = statistics.median(seconds), max(seconds)
    print(f"run --fork FILE: first reply after {middle:.3f} s, at worst {worst:.3f} s (at most {START_SECONDS_MAX} s)")
    return worst > START_SECONDS_MAX


def fresh_chains(path: Path) -> bool:
    """Print the time that a fresh forked chain takes for each test. Return whether it took too long."""
    begun = time.perf_counter()
    chain = LocalChain(fork=path)
    print(f"LocalChain(fork=FILE): {time.perf_counter() - begun:.3f} s, once")
    name = names_of(chain)[0]
    transfer = ["transfer", {"from": name, "to": names_of(chain)[1], "amount": "1.000 COIN", "memo": ""}]
    is_late = False
    with started(["--fork", str(path), "--blocks", "instant"]) as node:
        client = Client(f"http://127.0.0.1:{node.port}")
        for where, call in (("in the process", chain.call), ("in a node", client.call)):
            snapshot = call("dev_api.snapshot", {})["id"]
            seconds = []
            for _ in range(ROUNDS):
                call("dev_api.broadcast_operations", {"operations": [transfer], "keys": []})
                begun = time.perf_counter()
                call("dev_api.revert", {"id": snapshot})
                seconds.append(time.perf_counter() - begun)
            middle, worst = statistics.median(seconds), max(seconds)
            print(
                f"a fresh chain {where}: {middle * 1000:.1f} ms, at worst {worst * 1000:.1f} ms (at most {TEST_SECONDS_MAX * 1000:.0f} ms)"
            )
            is_late |= worst > TEST_SECONDS_MAX
    return is_late


def whole_copy(count: int, folder: Path) -> bool:
    """Print the time of a complete copy. Return whether it took too long."""
    names = ",".join(f'"user{number:06}"' for number in range(count))
    spec = folder / "large.toml"
    spec.write_text(SPEC.format(names=names), "utf-8")
    with started(["--chain", str(spec)]) as node:
        command = [*LAUNCHER, "fork", f"http://127.0.0.1:{node.port}", "--all", "--to", str(folder / "whole")]
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        taken = time.perf_counter() - begun
    size = (folder / "whole").stat().st_size
    print(f"coind fork --all of {count:,} accounts: {taken:.1f} s (at most {COPY_SECONDS_MAX:.0f} s), {size / 1e6:,.1f} MB")
    return taken > COPY_SECONDS_MAX


def main() -> int:
    """Measure everything. Return 1 if something takes too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", type=int, default=ACCOUNTS)
    parser.add_argument("--large", type=int, default=LARGE)
    options = parser.parse_args()
    chain = source_chain(options.accounts)
    pages(chain)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        make_file(chain, path)
        is_late = first_replies(path) | fresh_chains(path)
        if options.large:
            is_late |= whole_copy(options.large, Path(folder))
    return int(is_late)


if __name__ == "__main__":
    sys.exit(main())
