"""Measures get_ranked_posts with few and many posts, and the overhead of the social index per operation, in key recoveries.

Run: .venv/bin/python -m bench.social
Times are CPU time. The synthetic posts are from one week: a fifth in ten communities, the rest under fifty tags, half of them with
votes. A page is 20 posts.
"""

import json
import random
import time
from collections.abc import Callable
from functools import partial

import rpc.api
import state.operations
from bench.recovery import recovery_seconds
from node.specs.builder import load_spec
from rpc.declare.method import METHODS
from rpc.jsonrpc.dispatch import Service
from state.chain.genesis import new_state
from state.chain.hardforks import set_hardfork
from state.operations.content import Comment, Vote
from state.plugins.follow.plugin import FOLLOW
from state.plugins.registry import enable
from state.plugins.social.plugin import COMMUNITIES, register
from state.plugins.social.posts.placement import on_comment, on_vote
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment as CommentRow
from state.tables.content import CommentContent, CommentVote

assert rpc.api
assert state.operations

SIZES = (1_000, 100_000)
AUTHORS, PLACES, TAGS = 500, 10, 50
WEEK = 7 * 86400
NOW = 1_800_000_000
ROUNDS = 50
SORTS = ("trending", "hot", "created", "payout", "muted")


def synthetic(count: int) -> tuple[State, float, float]:
    """Return a state with `count` posts, and the index's seconds per comment and per vote."""
    chance = random.Random(1)
    made = new_state(load_spec("dev"), prepare=lambda fresh: enable(fresh, (FOLLOW.name, COMMUNITIES.name)))
    kept = COMMUNITIES.of(made)
    set_hardfork(made, 23, apply_now=True)
    made.set_props(time=NOW)
    fund = next(iter(made.reward_funds))
    made.reward_funds.modify(fund, reward_balance=10**9, recent_claims=10**17)
    names = [f"author{i:04}" for i in range(AUTHORS)] + [f"coin-1{i:05}" for i in range(PLACES)]
    for name in names:
        made.accounts.insert(Account(name=name, mined=False, vesting_shares=chance.randrange(10**12)))
        register(made, kept, name)
    written = voted = 0.0
    votes = 0
    for number in range(count):
        author, created = names[number % AUTHORS], NOW - WEEK + WEEK * number // count
        category = names[AUTHORS + number // 5 % PLACES] if number % 5 == 0 else f"tag{number % TAGS}"
        made.set_props(time=created)
        row = CommentRow(
            author=author, permlink=f"p{number}", category=category, created=created, last_update=created, cashout_time=created + WEEK + 1
        )
        made.comments.modify(made.comments.insert(row), root_comment=row.id)
        metadata = json.dumps({"tags": [f"tag{(number + i) % TAGS}" for i in range(4)]})
        made.comment_contents.insert(CommentContent(comment=row.id, title="title", body="A body of some words.", json_metadata=metadata))
        start = time.process_time()
        on_comment(made, kept, Comment(author=author, permlink=row.permlink))
        written += time.process_time() - start
        if number % 2:
            votes += 1
            voter, rshares = made.accounts.by_name.find(names[chance.randrange(AUTHORS)]), chance.randrange(10**10)
            made.comment_votes.insert(CommentVote(comment=row.id, voter=voter.id, rshares=rshares, last_update=created))
            made.comments.modify(row, net_rshares=rshares)
            start = time.process_time()
            on_vote(made, kept, Vote(voter=voter.name, author=author, permlink=row.permlink))
            voted += time.process_time() - start
        if number % 1000 == 0:
            made.journal.commit(made.journal.position())
    made.set_props(time=NOW)
    return made, written / count, voted / votes


def seconds(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the seconds of the best of several rounds, because noise only adds time."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def measure(count: int, recovery: float) -> None:
    """Print all figures for `count` posts."""
    made, comment, vote = synthetic(count)
    service = Service([method for method in METHODS.values() if method.group == "bridge"], wire=made.wire, state=made)
    print(f"{count:,} posts: the index adds {comment * 1e6:.1f} µs to a comment, {vote * 1e6:.1f} µs to a vote")

    def asker(params: dict[str, object]) -> Callable[[], object]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "bridge.get_ranked_posts", "params": params}).encode()
        return lambda: service.answer(body)

    start = time.process_time()
    asker({"sort": "trending"})()
    print(f"  the very first call, which ranks all: {(time.process_time() - start) * 1e3:.0f} ms")
    for tag in ("", "tag7", "coin-100003", "all"):
        for sort in SORTS:
            ask = asker({"sort": sort, "tag": tag})
            first = seconds(ask, 1)
            again = seconds(ask)
            voted = seconds(partial(after_vote, made, count // 2, ask))
            name = f"{sort} {tag or 'everything'}"
            print(f"  {name:24} first {first * 1e3:8.2f} ms, then {again * 1e6:6.0f} µs = {again / recovery:5.1f} recoveries", end="")
            print(f", after a vote {voted * 1e6:6.0f} µs = {voted / recovery:5.1f}")


def after_vote(made: State, comment: int, ask: Callable[[], object]) -> None:
    """Change a value that ranks a post, and request the ranked posts."""
    row = made.comments.find(comment)
    made.comments.modify(row, net_rshares=row.net_rshares + 10**9)
    COMMUNITIES.of(made).dirty.row(comment)
    ask()


def main() -> None:
    """Measure a small and a large chain."""
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    for count in SIZES:
        measure(count, recovery)


if __name__ == "__main__":
    main()
