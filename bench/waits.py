"""Measures how long a client waits for a small reply while the node does expensive work, on a chain of many posts.

Run: .venv/bin/python -m bench.waits [POSTS] [--only WORDS] [--ahead]

Each line of the output is measured in a separate forked copy of the same chain, so that every measured call is the first one. During the
work, one client requests a small reply every 5 ms in the node's event loop, without sockets. Times are CPU time, because wall-clock time is
unreliable on a busy machine.

`total` is the CPU time of the complete work in this process. `longest` is the longest loop iteration. `waited` is the longest time in which
the other client had no reply, in wall-clock time. `again` is the time of a second call. Targets: no iteration above 100 ms (250 ms on a
chain of more than 500,000 posts), and no first call above 50 ms.
"""

import argparse
import json
import logging
import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import trio
from msgspec import Struct

from bench.bodies import SMALL, bodies
from bench.chain import NOW, BenchChain, user
from bench.memory import watch_own_memory
from bench.recovery import recovery_seconds
from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.monitoring.counters import Counters
from node.monitoring.event_loop import EventLoopMonitor
from node.monitoring.health import Parts
from node.monitoring.metrics import Metrics
from node.monitoring.warm_up import warm_up
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.runtime.forked_child import ForkedChild
from node.runtime.memory import collect_in_portions, freeze_loaded_objects, tune_collector
from node.runtime.process_memory import memory_size
from node.snapshots.folder import load, paths, save
from node.specs.builder import load_spec
from node.storage.disk import SystemDisk
from rpc.caller import LOCAL
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.read_only import answer_read
from rpc.log import ROOT
from rpc.push.hub import Hub
from rpc.push.session import Session, Topic
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED
from state.chain.slots import scheduled_witness, slot_time
from state.chain.steps import heads
from state.effects.balances import adjust_supply
from state.operations.content import Vote
from state.operations.transfers import Transfer
from state.plugins.registry import PLUGINS, enable
from state.protocol import constants
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.values.asset import COIN, Asset
from state.tables.content import CommentVote

POSTS = 100_000
IN_BLOCK = 88  # posts per block, so that 100,000 are made within an hour
BLOCKS = 30  # after them, so that the posts are irreversible and the records of their transactions have expired
ASKED_EVERY_SECONDS = 0.005
LONGEST_MILLISECONDS_MAX, LARGE_LONGEST_MILLISECONDS_MAX, LARGE = 100, 250, 500_000
USER = user(0)
WEEK = 7 * 86_400  # seconds, after which posts are paid out
NAMES = list(map(user, range(1000)))

Work = Callable[["Node"], Awaitable[Any]]


class Node(Struct, eq=False):
    """A chain, with the parts of a node that the measurements need."""

    chain: BenchChain
    processor: Processor
    devchain: DevChain
    service: Service
    coming: SignedBlock | None = None  # the block to push next

    async def ask(self, body: bytes) -> bytes:
        """Send a request as a client with local rights, and return the reply."""
        reply = await self.service.answer_in_turn(body, LOCAL)
        return reply if isinstance(reply, bytes) else await reply


class Figure(Struct):
    """CPU milliseconds of a task: in total, and in its longest loop iteration. `waited` are the wall-clock milliseconds that another client
    waited longest for a reply. `size` is the size of its reply in bytes.
    """

    total: float
    longest: float
    waited: float = 0.0
    size: int = 0


def request(method: str, params: Any) -> bytes:
    """Return the body of a call as JSON."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def listed(name: str, start: Any, order: str) -> tuple[str, Any]:
    """Return a call of a list method that requests the largest allowed number of entries."""
    return f"database_api.{name}", {"start": start, "limit": 1000, "order": order}


QUERY = {"tag": "", "limit": 100}
CALLS: list[tuple[str, Any]] = [
    listed("list_accounts", "", "by_name"),
    listed("list_accounts", ["", ""], "by_proxy"),
    listed("list_comments", ["", ""], "by_permlink"),
    listed("list_comments", ["", "", "", ""], "by_root"),
    listed("list_comments", ["", "", "", ""], "by_parent"),
    listed("list_comments", ["", "2030-01-01T00:00:00", "", ""], "by_last_update"),
    listed("list_comments", ["", "2030-01-01T00:00:00", "", ""], "by_author_last_update"),
    listed("list_comments", ["1970-01-01T00:00:00", "", ""], "by_cashout_time"),
    listed("list_votes", ["", "", ""], "by_comment_voter"),
    listed("list_votes", ["", "", ""], "by_voter_comment"),
    listed("list_limit_orders", ["", 0], "by_account"),
    listed("list_witnesses", "", "by_name"),
    ("database_api.find_accounts", {"accounts": NAMES}),
    ("database_api.find_comments", {"comments": [[name, "post"] for name in NAMES]}),
    ("database_api.find_limit_orders", {"account": USER}),
    ("database_api.get_order_book", {"limit": 500, "base": {"nai": "@@000000013"}}),
    ("condenser_api.get_order_book", [500]),
    ("condenser_api.get_accounts", [NAMES]),
    ("condenser_api.lookup_accounts", ["", 1000]),
    ("condenser_api.lookup_account_names", [NAMES]),
    ("condenser_api.get_account_reputations", ["", 1000]),
    ("condenser_api.get_account_count", []),
    ("condenser_api.get_witnesses_by_vote", ["", 1000]),
    ("condenser_api.get_state", ["/trending"]),
    ("condenser_api.get_account_votes", [USER]),
    ("condenser_api.get_open_orders", [USER]),
    ("condenser_api.get_content_replies", [USER, "post"]),
    ("condenser_api.get_trending_tags", ["", 100]),
    ("condenser_api.get_tags_used_by_author", [USER]),
    *[
        (f"tags_api.get_discussions_by_{order}", QUERY)
        for order in ("trending", "hot", "created", "active", "votes", "children", "promoted", "cashout")
    ],
    ("tags_api.get_post_discussions_by_payout", QUERY),
    ("tags_api.get_comment_discussions_by_payout", QUERY),
    ("tags_api.get_discussions_by_created", {"tag": "topic-7", "limit": 100}),
    ("tags_api.get_discussions_by_author_before_date", {"author": USER, "before_date": "2030-01-01T00:00:00", "limit": 100}),
    ("tags_api.get_replies_by_last_update", {"start_parent_author": USER, "start_permlink": "post", "limit": 100}),
    *[
        ("bridge.get_ranked_posts", {"sort": sort, "tag": tag})
        for sort in ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted")
        for tag in ("", "topic-7")
    ],
    *[("bridge.get_account_posts", {"sort": sort, "account": USER}) for sort in ("blog", "feed", "posts", "comments", "replies", "payout")],
    ("bridge.get_discussion", {"author": USER, "permlink": "post"}),
    ("bridge.get_profile", {"account": USER}),
    ("bridge.get_trending_topics", {}),
    ("bridge.get_payout_stats", {}),
    ("bridge.list_communities", {}),
    ("bridge.list_pop_communities", {}),
    ("bridge.list_all_subscriptions", {"account": USER}),
    ("bridge.account_notifications", {"account": USER}),
    ("follow_api.get_follow_count", {"account": USER}),
    ("follow_api.get_followers", {"account": USER, "start": "", "type": "blog", "limit": 1000}),
    ("follow_api.get_feed", {"account": USER, "start_entry_id": 0, "limit": 100}),
    ("rc_api.find_rc_accounts", {"accounts": NAMES}),
    ("account_history_api.get_account_history", {"account": USER, "start": -1, "limit": 1000}),
    ("explorer_api.find", {"text": "user-0"}),
    ("explorer_api.list_due", {"limit": 500}),
    ("explorer_api.list_due", {"account": USER}),
    *[("explorer_api.list_posts", {"order": order, "limit": 100}) for order in ("trending", "hot", "created", "promoted", "post_payout")],
    ("explorer_api.list_updated_posts", {"limit": 100}),
]


def block(node: Node) -> bytes:
    """Return a call that pushes a block of nearly 2 MB of transfers. The block doesn't link to the chain."""
    transfer = {"from": "user-000000", "to": "user-000001", "amount": {"amount": "1", "precision": 3, "nai": "@@000000021"}, "memo": ""}
    trx = {
        "ref_block_num": 1,
        "ref_block_prefix": 1,
        "expiration": "2030-01-01T00:00:00",
        "operations": [{"type": "transfer_operation", "value": transfer}],
        "extensions": [],
        "signatures": ["1f" + "ab" * 64],
    }
    made = {
        "previous": "00000001" + "00" * 16,
        "timestamp": "2030-01-01T00:00:00",
        "witness": "initminer",
        "transaction_merkle_root": "00" * 20,
        "extensions": [],
        "witness_signature": "1f" + "ab" * 64,
        "transactions": [trx] * 17_000,
    }
    return request("network_broadcast_api.broadcast_block", {"block": made})


def filled(posts: int) -> Node:
    """Return a node whose chain has `posts` accounts, each with a post and an order. A tenth of the posts have a vote.

    The posts and orders are in blocks. On a test network, posts are paid out after an hour, so at most some 103,000 are unpaid. Orders
    expire after two hours. The blocks have packed most other rows.
    """
    chain = BenchChain()
    clock = ChainClock(start_ms=NOW * 1000)
    # As in a node, this copies the chain at its genesis.
    processor, devchain = Processor(chain, clock=clock), DevChain(chain, clock, [chain.secret])
    chain.produce(NOW)
    chain.add_accounts(posts)
    for begin in range(0, posts, IN_BLOCK):
        some = range(begin, min(begin + IN_BLOCK, posts))
        votes = [Vote(user((i + 1) % posts), user(i), "post", 10_000) for i in some[::10]]
        chain.push(*[operation for i in some for operation in chain.content(i)], *votes)
    for _ in range(BLOCKS):
        chain.produce()
    clock.advance_to(chain.state.head_time * 1000)
    service = new_service(chain, processor, devchain, tuple(PLUGINS), gate=processor.gate)
    processor.long_jobs.answer_read = partial(answer_read, service)
    return Node(chain, processor, devchain, service)


# ------------------------------------------------------------------ measuring


async def measured(node: Node, work: Work) -> Figure:
    """Run a task while another client requests small replies. Return the task's CPU times and the size of its reply."""
    loop = EventLoopMonitor()
    figure = Figure(0.0, 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.processor.run)
        nursery.start_soon(ask_on, node, figure)
        await trio.sleep(2 * ASKED_EVERY_SECONDS)
        nursery.start_soon(loop.run)
        await trio.lowlevel.checkpoint()
        begun, figure.waited = time.thread_time(), 0.0
        reply = await work(node)
        figure.size = len(reply) if isinstance(reply, bytes) else 0
        del reply
        # The loop iteration in which the work ended counts, too.
        await trio.sleep(2 * ASKED_EVERY_SECONDS)
        figure.total, figure.longest = (time.thread_time() - begun) * 1000, loop.longest()[1] * 1000
        nursery.cancel_scope.cancel()
    return figure


async def ask_on(node: Node, figure: Figure) -> None:
    """Request a small reply every ASKED_EVERY_SECONDS until cancelled. Record the longest wait."""
    while True:
        begun = time.perf_counter()
        try:
            await node.ask(SMALL)
        finally:
            figure.waited = max(figure.waited, (time.perf_counter() - begun) * 1000)
        await trio.sleep(ASKED_EVERY_SECONDS)


def in_a_copy(node: Node, *works: Work) -> list[Figure]:
    """Run tasks one after another in a forked copy of the node's process, and return their figures."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)

    def run() -> None:
        collect_in_portions()
        there.send([trio.run(measured, node, work) for work in works])

    process = fork.Process(target=run)
    process.start()
    there.close()
    try:
        figures: list[Figure] = here.recv()
    finally:
        process.join()
    return figures


def ask_for(body: bytes) -> Work:
    """Return a task that answers the request `body`."""
    return lambda node: node.ask(body)


def calls(node: Node, words: str) -> bool:
    """Measure the call of each method, and print a line for each. Return whether no loop iteration was too long."""
    fine = True
    for method, params in CALLS:
        what = f"{method} {json.dumps(params)}"[:100]
        if words in what:
            work = ask_for(request(method, params))
            fine &= show(node, what, in_a_copy(node, work, work))
    return fine


def large_bodies(node: Node, words: str) -> bool:
    """Measure the reply to each large body, and print a line for each. Return whether no loop iteration was too long."""
    fine = True
    for what, body in (*bodies(), ("a block of 2 MB", block(node))):
        if words in f"body: {what}":
            fine &= show(node, f"body: {what}, {len(body):,} bytes", in_a_copy(node, ask_for(body)))
    return fine


def events(node: Node, words: str) -> bool:
    """Measure each event of the node and its dev chain, and print a line for each. Return whether no loop iteration was too long."""
    fine = True
    with tempfile.TemporaryDirectory(prefix="coind-waits-") as folder:
        for works in event_works(Path(folder)):
            if words in f"event: {', '.join(works)}":
                for what, figure in zip(works, in_a_copy(node, *works.values()), strict=True):
                    if not what.startswith(PREPARED):
                        fine &= show(node, f"event: {what}", [figure])
    return fine


def event_works(folder: Path) -> list[dict[str, Work]]:
    """Return dicts of tasks by name. The tasks in one dict run one after another in the same copy of the node, and write into `folder`.

    The first task that touches the whole state pays for copying its memory pages (copy-on-write). The dev snapshot is therefore taken
    twice. Tasks whose names begin with PREPARED only prepare the next task.
    """
    ahead: Work = lambda copy: warm_up(copy.chain.state)  # noqa: E731
    dumped = str(folder / "dump")
    return [
        {"an empty block": make_block},
        {"a block after a million missed slots": partial(pay_out, seconds=3 * 10**6)},
        {"a warm-up": ahead, "releasing unread indices": in_turn(lambda copy: copy.chain.state.release_indices(1000))},
        {
            "a dev snapshot": dev_call("snapshot", {}),
            "a dev snapshot, again": dev_call("snapshot", {}),
            f"{PREPARED} a block": make_block,
            "a return to it": dev_call("revert", {"id": 1}),
            "a warm-up, after that": ahead,
        },
        {
            "a dump": dev_call("dump", {"path": dumped}),
            "loading it": dev_call("load", {"path": dumped}),
            "a warm-up, after that": ahead,
        },
        {"saving a snapshot": partial(save_snapshot, folder=folder), "starting from it": partial(start, folder=folder)},
        {
            f"{PREPARED} 1,000 posts": in_turn(partial(postpone_payouts, count=1000)),
            "1,000 posts are paid out": partial(pay_out, seconds=60),
        },
        {"all posts are paid out": pay_out},
        {
            f"{PREPARED} rewards": in_turn(reward_all),
            "all posts are paid out, with rewards": pay_out,
            f"{PREPARED} irreversible": in_turn(lambda copy: keep_reversible(0)),
            "the block that makes the payouts irreversible": make_block,
        },
        {
            f"{PREPARED} two branches": in_turn(partial(fork, blocks=20)),
            "a switch from 20 blocks to 21, of 20 transfers each": switch,
        },
        {
            f"{PREPARED} two long branches": in_turn(partial(fork, blocks=1000)),
            "a switch from 1,000 blocks to 1,001, of 20 transfers each": switch,
            f"{PREPARED} irreversible": in_turn(lambda copy: keep_reversible(1)),
            "a block that makes 1,000 blocks irreversible": make_block,
        },
        {"400 subscribers get a block": partial(notify_subscribers, count=400)},
        {"a scrape of /metrics": scrape, "a scrape of /metrics, again": scrape},
        {"2,000 refusals in a batch, with explanations": lambda copy: copy.ask(refused_batch(copy))},
        {"an explanation of a transaction of 60,000 bytes": lambda copy: copy.ask(large_refusal(copy))},
    ]


PREPARED = "(prepared:"
TRANSFERS = 20


def in_turn(do: Callable[[Node], Any]) -> Work:
    """Return a task that runs a function as a job of the processor."""
    return lambda copy: copy.processor.in_turn(lambda: do(copy))


async def make_block(node: Node) -> None:
    """Make a block, as the producer does."""
    await node.processor.make_block(node.devchain.make_block)


def dev_call(name: str, params: dict[str, Any]) -> Work:
    """Return a task that makes a `dev_api` call."""
    return ask_for(request(f"dev_api.{name}", params))


async def pay_out(node: Node, seconds: int = WEEK) -> None:
    """Advance the time and make a block, which does all work that is due by then. After a week, all posts are paid out."""
    node.devchain.set_next_block_time(node.chain.state.head_time + seconds)
    await node.processor.make_block(node.devchain.make_block)


def postpone_payouts(node: Node, count: int) -> None:
    """Postpone all but `count` payouts by a week, and advance to a minute before the remaining ones, so that no other work is due with
    them.
    """
    state = node.chain.state
    due = state.head_time + WEEK
    for i, row in enumerate(list(state.comments.by_due_payout)):
        state.comments.modify(row, cashout_time=due if i < count else due + WEEK)
    node.devchain.set_next_block_time(due - 60)
    node.devchain.make_block()


def reward_all(node: Node) -> None:
    """Give all unpaid posts rshares and a voter, and the reward fund enough to pay all of them."""
    state = node.chain.state
    unpaid = list(state.comments.by_due_payout)
    for row in unpaid:
        state.comments.modify(row, net_rshares=10**12, vote_rshares=10**12, abs_rshares=10**12, total_vote_weight=10**6)
        voter = state.account(user((row.id + 1) % len(state.comments)))
        if state.comment_votes.by_comment_voter.get(row.id, voter.id) is None:
            state.comment_votes.insert(CommentVote(voter=voter.id, comment=row.id, weight=10**6, rshares=10**12, vote_percent=10_000))
    fund, amount = next(iter(state.reward_funds)), len(unpaid) * 100_000
    state.reward_funds.modify(fund, reward_balance=amount, recent_claims=0)
    adjust_supply(state, amount, COIN)


async def save_snapshot(node: Node, folder: Path) -> None:
    """Save a snapshot in the same way as a node, and print how much memory the child and its children need at most."""

    def saved() -> bytes:
        begun = os.times()
        node.chain.is_disposable = True
        save(node.chain, folder, SystemDisk())
        ended = os.times()
        return json.dumps(sum(ended[:4]) - sum(begun[:4])).encode()

    child, sizes = ForkedChild(saved), [0]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_own_memory, child.pid, sizes)
        seconds = json.loads(await child.wait())
        nursery.cancel_scope.cancel()
    own, all_of_it = max(sizes), memory_size()
    print(f"a fork: {child.pause * 1000:.0f} ms; the child has {own / all_of_it:.0%} of {all_of_it:,} bytes, and works {seconds:.1f} s")


async def start(node: Node, folder: Path) -> None:
    """Start from the saved snapshot in another process, and print how long it takes."""
    path = str(paths(folder, SystemDisk())[0])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(await trio.to_thread.run_sync(pool.apply, start_from, (path,)))


def start_from(path: str) -> str:
    """Load a snapshot and answer a read. Return the times as a sentence."""
    tune_collector()
    begun = time.process_time()
    chain = Chain(new_state(load_spec("testnet"), lambda state: enable(state, PLUGINS)))
    loaded = load(chain, Path(path), SystemDisk())
    seconds = time.process_time() - begun
    first = step = time.process_time()
    longest = 0.0
    for _ in loaded.steps():
        longest, step = max(longest, time.process_time() - step), time.process_time()
    return f"loaded in {seconds:.2f} s; the rest in {time.process_time() - first:.2f} s, the longest step {longest * 1000:.0f} ms"


def transfers(node: Node, size: int = 1) -> SignedTransaction:
    """Return a transaction of `size` transfers with an invalid signature."""
    return node.chain.transaction(*[Transfer(user(i), user(i + 1), Asset(1, COIN), str(i)) for i in range(size)])


def keep_reversible(blocks: int) -> None:
    """Let only blocks become irreversible that are older than the newest `blocks`."""
    heads.constants = SimpleNamespace(**vars(constants) | {"COIN_MAX_WITNESSES": blocks})  # type: ignore[assignment,attr-defined]


def fork(node: Node, blocks: int) -> None:
    """Create two branches of `blocks` and `blocks` + 1 blocks from the same block, and push all their blocks except the last one. No
    payouts are due in them.
    """
    chain, state = node.chain, node.chain.state
    count = len(state.comments)
    for row in list(state.comments.by_due_payout):
        state.comments.modify(row, cashout_time=row.cashout_time + WEEK)

    def grow(blocks: int, slot: int) -> list[SignedBlock]:
        made = []
        for number in range(blocks):
            for i in range(TRANSFERS):
                chain.push_transaction(
                    chain.transaction(Transfer(user(number % count), user((number + i + 1) % count), Asset(1, COIN), "")), TRUSTED
                )
            made.append(chain.generate_block(slot_time(state, slot), scheduled_witness(state, slot), node.chain.secret, TRUSTED))
            slot = 1
        return made

    for _ in range(3):
        chain.produce()
    keep_reversible(blocks + 2)
    longer = grow(blocks + 1, 2)
    chain.pop_blocks(blocks + 1)
    chain.clear_pending()
    grow(blocks, 1)
    for block in longer[:-1]:
        chain.push_block(block, TRUSTED)
    node.coming = longer[-1]


async def switch(node: Node) -> None:
    """Push the last block of the longer branch, which makes it the main branch."""
    block = node.coming
    assert block is not None, "fork has made it"

    def push() -> SignedBlock:
        node.chain.push_block(block, TRUSTED)
        return block

    await node.processor.make_block(push)
    assert node.chain.state.props.head_block_id == block.id, "the other branch is longer"


async def notify_subscribers(node: Node, count: int) -> None:
    """Make a block of 100 transfers, and notify `count` subscribers."""
    hub = Hub(node.chain, node.devchain.clock)
    sessions = [hub.session(lambda: True, lambda: None) for _ in range(count)]
    for session in sessions:
        session.subscribe(Topic.blocks)
        session.subscribe(Topic.operations)
    for _ in range(100):
        node.chain.push_transaction(transfers(node), TRUSTED)

    async def take(session: Session) -> None:
        while await session.next():
            session.sent()

    async with trio.open_nursery() as nursery:
        for session in sessions:
            nursery.start_soon(take, session)
        await node.processor.in_turn(node.chain.produce)
        while hub.held_size:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()


async def scrape(node: Node) -> bytes:
    """Return the text of the page /metrics."""
    counters = Counters(node.chain, node.devchain.clock)
    page = Metrics(Parts(chain=node.chain, clock=node.devchain.clock, counters=counters, processor=node.processor, ending=str))()
    return page.body


def refused_batch(node: Node) -> bytes:
    """Return a batch of transactions with invalid signatures. Each of them is refused and explained."""
    calls = []
    for i in range(2000):
        given = node.chain.state.wire.transaction_to_json(transfers(node)) | {"signatures": ["1f" + f"{i:04x}" * 32]}
        params = {"trx": given}
        calls.append({"jsonrpc": "2.0", "id": i, "method": "network_broadcast_api.broadcast_transaction", "params": params})
    return json.dumps(calls).encode()


def large_refusal(node: Node) -> bytes:
    """Return a call that explains a large transaction with an invalid signature."""
    given = node.chain.state.wire.transaction_to_json(transfers(node, 1300)) | {"signatures": ["1f" + "ab" * 64]}
    return request("dev_api.explain_transaction", {"trx": given})


def show(node: Node, what: str, figures: list[Figure]) -> bool:
    """Print the figures of a task. Return whether no loop iteration was too long."""
    first = figures[0]
    again = f" again {figures[1].total:7.1f}" if figures[1:] else ""
    times = f"total {first.total:7.1f} longest {first.longest:6.1f} waited {first.waited:7.1f}"
    print(f"{what:100} {times}{again} ms {first.size:10,} bytes", flush=True)
    most = LARGE_LONGEST_MILLISECONDS_MAX if len(node.chain.state.comments) > LARGE else LONGEST_MILLISECONDS_MAX
    return max(figure.longest for figure in figures) <= most


def main() -> int:
    """Build the chain, and run the measurements. Return 1 if a loop iteration is too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("posts", nargs="?", type=int, default=POSTS)
    parser.add_argument("--only", default="", help="measure only works with these words in their names")
    parser.add_argument("--ahead", action="store_true", help="warm up first, like a node after its start")
    options = parser.parse_args()
    tune_collector()
    logging.getLogger(ROOT).setLevel(logging.WARNING)
    print(f"one key recovery: {recovery_seconds() * 1e6:.1f} µs")
    node = filled(options.posts)
    if options.ahead:
        trio.run(warm_up, node.chain.state)
    freeze_loaded_objects()
    fine = [kind(node, options.only) for kind in (large_bodies, events, calls)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    raise SystemExit(main())
