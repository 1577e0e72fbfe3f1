"""Measures how costs grow with the state: a vote, a transfer, an order, a comment and an empty block at three sizes.

Run: .venv/bin/python -m bench.growth [SIZE ...]
The sizes are 10^3, 10^4 and 10^5 accounts, posts and open orders, with all plugins. Accounts are inserted into the tables directly; each
has one post, published by an operation, and one open order. Times are medians of single applications, without signatures, and
multiples of those at the smallest size.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.recovery import recovery_seconds
from node.runtime.memory import tune_collector
from node.specs.builder import load_spec
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.chain.transactions import apply_transaction
from state.operations.content import Comment, Vote
from state.operations.market import LimitOrderCreate
from state.operations.transfers import Transfer
from state.plugins.registry import PLUGINS, enable
from state.protocol.authority import key_authority
from state.protocol.keys.keys import secret_from_wif
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, Asset
from state.tables.accounts import Account, AccountAuthority, AccountMetadata

SIZES = (1_000, 10_000, 100_000)
CALLS = 300
BLOCKS = 40
UNSIGNED = Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK | Skip.TAPOS_CHECK
VESTS = 1_000_000_000_000
NOW = 1_700_000_000


class Site:
    """A chain with `size` accounts, each with a post and an order."""

    def __init__(self, size: int) -> None:
        spec = load_spec("testnet")
        self.chain = Chain(new_state(spec, lambda state: enable(state, PLUGINS)))
        self.state = self.chain.state
        self.secret = secret_from_wif(spec.witness_keys[0])
        self.size = size
        self.serial = 0
        self.produce(NOW)
        self.fill()
        self.produce()

    def produce(self, when: int = 0) -> None:
        """Make a block of the pending transactions."""
        slot = 1
        when = when or slot_time(self.state, slot)
        self.chain.generate_block(when, scheduled_witness(self.state, slot), self.secret)

    def fill(self) -> None:
        """Insert the accounts, their posts and their orders, as part of the head block."""
        state = self.state
        key = key_authority(bytes(33))
        for i in range(self.size):
            name = f"user-{i:06d}"
            row = state.accounts.insert(Account(name=name, balance=10**9, sbd_balance=10**9, vesting_shares=VESTS, created=NOW))
            state.account_authorities.insert(AccountAuthority(account=name, owner=key, active=key, posting=key))
            state.account_metadata.insert(AccountMetadata(account=row.id))
        state.set_props(total_vesting_shares=self.size * VESTS, total_vesting_fund_coin=self.size * VESTS // 1000)
        for i in range(self.size):
            self.apply(Comment("", f"topic-{i % 50}", f"user-{i:06d}", "post", "A title", "A body", '{"tags":["one","two"]}'))
            self.apply(self.order(i))
        state.journal.commit(state.journal.position())

    def order(self, i: int) -> Operation:
        """Return an order that matches no other."""
        sell, receive = Asset(1000, COIN), Asset(10_000_000 + i % 1000, SBD)
        return LimitOrderCreate(f"user-{i:06d}", i, sell, receive, False, self.state.head_time + 86_400)

    def apply(self, operation: Operation) -> None:
        """Apply an operation in a separate transaction, without signatures."""
        self.serial += 1
        trx = SignedTransaction(expiration=self.state.head_time + 60, operations=(operation,), id=self.serial.to_bytes(20, "big"), size=200)
        apply_transaction(self.state, trx, UNSIGNED)


def median_of(work: Callable[[int], Any], calls: int) -> float:
    """Return the median seconds of a call."""
    times = []
    for i in range(calls):
        start = time.perf_counter()
        work(i)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(size: int) -> dict[str, float]:
    """Return the seconds of each kind at one size."""
    site = Site(size)
    step = max(size // CALLS, 1)

    def user(i: int) -> str:
        return f"user-{i * step % size:06d}"

    def other(i: int) -> str:
        return f"user-{(i * step + size // 2) % size:06d}"

    gc.collect()
    gc.freeze()
    figures = {
        "vote": median_of(lambda i: site.apply(Vote(user(i), other(i), "post", 10_000)), CALLS),
        "transfer": median_of(lambda i: site.apply(Transfer(user(i), other(i), Asset(1, COIN), "")), CALLS),
        "order": median_of(lambda i: site.apply(order_of(site, user(i), i)), CALLS),
    }
    site.produce()
    site.produce()
    figures["comment"] = median_of(lambda i: site.apply(Comment(other(i), "post", user(i), f"re-{i}", "", "A reply", "{}")), CALLS)
    site.produce()
    figures["empty block"] = median_of(lambda _: site.produce(), BLOCKS)
    return figures


def order_of(site: Site, name: str, i: int) -> Operation:
    """Return an operation that creates another order of an account."""
    return LimitOrderCreate(name, 2**31 + i, Asset(1000, COIN), Asset(20_000_000 + i, SBD), False, site.state.head_time + 86_400)


def main() -> None:
    """Measure all sizes and print a comparison."""
    tune_collector()
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    base: dict[str, float] = {}
    for size in sizes:
        figures = measure(size)
        base = base or figures
        shown = ", ".join(f"{what} {seconds * 1e6:.1f} µs (×{seconds / base[what]:.2f})" for what, seconds in figures.items())
        print(f"{size:>7}: {shown}")


if __name__ == "__main__":
    main()
