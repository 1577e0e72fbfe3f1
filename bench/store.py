"""Measures the store. Each figure is in CPU microseconds per call, and in multiples of a key recovery in the same run.

Run: .venv/bin/python -m bench.store [rows ...]         (default: 100000 1000000)
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from bench.recovery import recovery_seconds
from state.store import AppendLists, Journal, Ordered, Row, Table, Unique

SIZES = (100_000, 1_000_000)
CALLS = 20_000
ROUNDS = 5
LAZY_CHANGES = (1, 100, 10_000)


class Account(Row):
    name: str
    proxy: str = ""
    votes: int = 0
    balance: int = 0
    updated: int = 0
    mana: int = 0


class Accounts(Table[Account]):
    """The table for which the performance targets are defined. It has one Unique index and two Ordered indices."""

    by_name = Unique("name")
    by_proxy = Ordered("proxy", "name")
    by_votes = Ordered("-votes", "name")


class Score(Row):
    tag: str
    hot: int = 0


class Scores(Table[Score]):
    by_hot = Ordered("tag", "-hot", lazy=True)


class Report:
    """Prints one line per figure. A new report measures its unit, the time of a key recovery."""

    def __init__(self, title: str) -> None:
        self.recovery = recovery_seconds() * 1e6
        print(f"{title}, key recovery {self.recovery:.2f} µs")

    def line(self, label: str, micros: float) -> None:
        print(f"  {label:<44} {micros:9.3f} µs {micros / self.recovery:9.4f} x")


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Context manager that disables garbage collection, and exempts the existing objects from it."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def best(call: Callable[[Any], object], arguments: list[Any], reset: Callable[[], object] | None = None) -> float:
    """Return the microseconds per call. Each of ROUNDS rounds calls `call` with every argument, and the best round counts.

    `reset` runs after each round and isn't measured.
    """
    seconds = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for argument in arguments:
            call(argument)
        seconds = min(seconds, time.process_time() - start)
        if reset is not None:
            reset()
    return (seconds - empty_seconds(arguments)) / len(arguments) * 1e6


def empty_seconds(arguments: list[Any]) -> float:
    """Return the seconds that the measuring loop takes when it calls nothing."""
    start = time.process_time()
    for _ in arguments:
        pass
    return time.process_time() - start


def with_undo(report: Report, journal: Journal, label: str, call: Callable[[Any], object], arguments: list[Any]) -> None:
    """Measure a write, and then its undo."""
    position = journal.position()
    undone: list[float] = []

    def undo() -> None:
        start = time.process_time()
        journal.undo(position)
        undone.append(time.process_time() - start)

    report.line(label, best(call, arguments, undo))
    report.line(f"  its undo ({label.split(',')[0]})", min(undone) / len(arguments) * 1e6)


def filled(journal: Journal, size: int, random: Random) -> Accounts:
    """Return a table of accounts with random names and votes, whose rows are committed in the journal."""
    accounts = Accounts(journal)
    for n in range(size):
        name = f"user{random.randrange(10**9)}-{n}"
        accounts.insert(Account(name, proxy=random.choice(("", "pool-a", "pool-b")), votes=random.randrange(10**12)))
    journal.commit(journal.position())
    return accounts


def bench_writes(report: Report, accounts: Accounts, journal: Journal, random: Random) -> None:
    """Insert, modify and remove rows in random order, so that memory accesses miss the CPU cache as often as in a node."""
    rows = random.sample(list(accounts), CALLS)
    modify, votes = accounts.modify, {row.id: random.randrange(10**12) for row in rows}
    # Each row object is inserted once per round, and removed by the undo.
    new = [Account(f"new{random.randrange(10**9)}-{n}", votes=random.randrange(10**12)) for n in range(CALLS)]
    with_undo(report, journal, "insert, 1 unique 2 ordered", accounts.insert, new)
    hot = [rows[0]] * CALLS
    with_undo(report, journal, "modify 3 unindexed, one row", lambda row: modify(row, balance=5, updated=7, mana=9), hot)
    with_undo(report, journal, "modify 3 unindexed, random rows", lambda row: modify(row, balance=5, updated=7, mana=9), rows)
    with_undo(report, journal, "modify 1 unindexed, one row", lambda row: modify(row, balance=5), hot)
    with_undo(report, journal, "modify indexed to the same value", lambda row: modify(row, votes=row.votes, balance=5), rows)
    with_undo(report, journal, "modify 1 indexed", lambda row: modify(row, votes=votes[row.id]), rows)
    with_undo(report, journal, "remove", accounts.remove, rows)


def bench_reads(report: Report, accounts: Accounts, random: Random) -> None:
    """Measure reads by key, reads of the first row, and reads of a page of an index."""
    rows = random.sample(list(accounts), CALLS)
    get, by_votes, by_proxy = accounts.by_name.get, accounts.by_votes, accounts.by_proxy
    report.line("get by name, random rows", best(get, [row.name for row in rows]))
    report.line("get by id, random rows", best(accounts.get, [row.id for row in rows]))
    report.line("head of an ordered index", best(lambda _: by_votes.first(), rows))
    report.line("first row from a prefix on", best(lambda row: next(by_votes.starting(row.votes)), rows))
    pages = [row.name for row in rows[: CALLS // 100]]
    page = best(lambda name: [row for row, _ in zip(by_proxy.starting("", name), range(100), strict=False)], pages)
    report.line("row of a page of 100", page / 100)


def bench_lists(report: Report, journal: Journal, keys: int) -> None:
    """Measure append lists with `keys` keys, one for each row."""
    lists: AppendLists[int, int] = AppendLists(journal)
    for key in range(keys):
        lists.append(key, key)
    arguments = [(n * 7919) % keys for n in range(CALLS)]
    with_undo(report, journal, "append to a history", lambda key: lists.append(key, 1), arguments)
    report.line("get a history", best(lists.get, arguments))


def bench_journal(report: Report, journal: Journal) -> None:
    """Measure an empty undo session. Every transaction and operation opens one."""

    def session(_: object) -> None:
        with journal.session():
            pass

    report.line("an empty session", best(session, [None] * CALLS))


def bench_lazy(report: Report, size: int, random: Random) -> None:
    """Measure the first read of a lazy index, in steps as in a node, then reads after some of its rows have changed, and its memory."""
    journal = Journal()
    scores = Scores(journal)
    for _ in range(size):
        scores.insert(Score(random.choice(("life", "art", "")), hot=random.randrange(10**9)))
    steps, longest, whole = journal.read_mode.read_incrementally(scores.by_hot.first), 0.0, time.process_time()
    start = whole
    for _ in steps:
        now = time.process_time()
        longest, start = max(longest, now - start), now
    report.line("lazy: first read, per row", (time.process_time() - whole) / size * 1e6)
    report.line("lazy: longest step of the first read", longest * 1e6)
    rows = list(scores)
    for count in LAZY_CHANGES:
        changed = random.sample(rows, count)
        noted = best(lambda row: scores.modify(row, hot=random.randrange(10**9)), changed)
        start = time.process_time()
        scores.by_hot.first()
        report.line(f"lazy: read after {count} changed, per change", (time.process_time() - start) / count * 1e6)
    report.line("lazy: modify", noted)
    print(f"  lazy: {journal.read_mode.memory.size / size:.1f} bytes per row")


def main(sizes: tuple[int, ...]) -> None:
    """Print all figures for each number of rows."""
    for size in sizes:
        report = Report(f"{size} rows")
        random, journal = Random(size), Journal()
        start = time.process_time()
        accounts = filled(journal, size, random)
        report.line("fill, per row (including its creation)", (time.process_time() - start) / size * 1e6)
        with quiet_collector():
            bench_writes(report, accounts, journal, random)
            bench_reads(report, accounts, random)
            bench_lists(report, journal, size)
            bench_journal(report, journal)
            bench_lazy(report, size, random)
        accounts.check()
        print()


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
