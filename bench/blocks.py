"""Measures blocks by content: empty, with many transfers, with payouts, and after missed slots, with all plugins.

Run: .venv/bin/python -m bench.blocks [KIND ...] [--count N]
Each figure is the median CPU time of blocks, also in key recoveries. `produced` blocks are made, signed and applied by the chain.
`applied` blocks come as bytes from another chain, and are unpacked and applied with every check; `trusted` blocks without the checks that
a trusting replay skips. `transfers` is a block of 2,000 pending transfers, made and applied. Gaps are in slots.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable

from msgspec import structs

from bench.growth import Site
from bench.recovery import recovery_seconds
from node.runtime.memory import tune_collector
from state.chain.skip import TRUSTED, Skip
from state.chain.slots import scheduled_witness, slot_time
from state.chain.transactions import canonical_rule
from state.operations.content import Vote
from state.operations.transfers import Transfer
from state.protocol.authority import key_authority
from state.protocol.keys.keys import public_key
from state.protocol.keys.signatures import sign
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, Asset

ACCOUNTS = 200
BLOCKS = 200
TRANSFERS = 2000
VOTERS = 50
GAPS = (1, 20, 10**6)


def seconds_of(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def produced(count: int, gap: int = 0) -> list[float]:
    """Measure empty blocks that the chain makes itself, each after a gap of missed slots."""
    site, slot = Site(ACCOUNTS), gap + 1
    return [seconds_of(lambda: site.produce(slot_time(site.state, slot))) for _ in range(count)]


def applied(count: int, skip_flags: int, gap: int = 0) -> list[float]:
    """Measure empty blocks that come as bytes."""
    source, target = Site(ACCOUNTS), Site(ACCOUNTS)
    wire, slot = source.state.wire, gap + 1
    packed = []
    for _ in range(count):
        when = slot_time(source.state, slot)
        packed.append(wire.pack_block(source.chain.generate_block(when, scheduled_witness(source.state, slot), source.secret)))
    return [seconds_of(lambda data=data: target.chain.push_block(wire.unpack_block(data)[0], skip_flags)) for data in packed]  # type: ignore[misc]


def transfers(count: int) -> list[float]:
    """Measure blocks of pending transfers, made and applied. Keys were recovered when the transactions were pushed."""
    site = Site(ACCOUNTS)
    site.state.set_props(maximum_block_size=2**20)
    state, key = site.state, public_key(site.secret)
    for row in site.state.account_authorities:
        authority = key_authority(key)
        state.account_authorities.modify(row, active=authority, posting=authority)
    for name in list(state.witnesses):
        state.witnesses.modify(name, props=structs.replace(name.props, maximum_block_size=2**20))
    times = []
    for _ in range(count):
        for i in range(TRANSFERS):
            site.chain.push_transaction(signed(site, Transfer(user(i), user(i + 1), Asset(1 + i // ACCOUNTS, COIN), "")))
        start = time.process_time()
        site.produce()
        times.append(time.process_time() - start)
        head = site.chain.head
        assert head is not None
        assert len(head.transactions) == TRANSFERS
    return times


def cash_outs(count: int) -> list[float]:
    """Measure payouts of posts with votes, in seconds per post. All are due in the same block."""
    times: list[float] = []
    while len(times) < count:
        site = Site(ACCOUNTS)
        state = site.state
        for fund in list(state.reward_funds):
            state.reward_funds.modify(fund, reward_balance=10**12)
        for i in range(1, VOTERS + 1):
            site.produce()
            for j in range(ACCOUNTS):
                site.apply(Vote(user(i + j), user(j), "post", 100))
        site.produce()
        last = max(comment.cashout_time for comment in state.comments)
        slot = (last - state.head_time) // 3 + 1
        start = time.process_time()
        site.produce(slot_time(state, slot))
        passed = time.process_time() - start
        paid = sum(comment.last_payout > 0 and comment.total_payout_value > 0 for comment in state.comments)
        assert paid == ACCOUNTS, f"{paid} posts were paid"
        times.append(passed / paid)
    return times


def user(i: int) -> str:
    """Return the name of an account."""
    return f"user-{i % ACCOUNTS:06d}"


def signed(site: Site, operation: Operation) -> SignedTransaction:
    """Return a signed transaction that refers to the head block."""
    state = site.state
    head = state.props.head_block_id
    trx = SignedTransaction(
        ref_block_num=int.from_bytes(head[2:4], "big"),
        ref_block_prefix=int.from_bytes(head[4:8], "little"),
        expiration=state.head_time + 600,
        operations=(operation,),
    )
    digest = state.wire.signature_digest(state.wire.seal(trx))
    trx.signatures = (sign(site.secret, digest, canonical_rule(state)),)
    return state.wire.seal(trx)


KINDS: dict[str, Callable[[int], list[float]]] = {
    "produced": produced,
    "applied": lambda count: applied(count, Skip.NOTHING),
    "trusted": lambda count: applied(count, TRUSTED),
    **{f"gap-{gap}": lambda count, gap=gap: applied(min(count, 1000), Skip.NOTHING, gap) for gap in GAPS},  # type: ignore[misc]
    "transfers": lambda count: transfers(max(1, count // 40)),
    "cash-outs": lambda count: cash_outs(max(1, count // 40)),
}


def main() -> None:
    """Measure the given kinds, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS])
    parser.add_argument("--count", type=int, default=BLOCKS)
    options = parser.parse_args()
    tune_collector()
    gc.freeze()
    recovery = recovery_seconds()
    print(f"one key recovery: {recovery * 1e6:.1f} µs")
    for kind in options.kinds or KINDS:
        each = statistics.median(KINDS[kind](options.count))
        print(f"{kind:>10}: {each * 1e6:9.1f} µs = {each / recovery:8.2f} recoveries", flush=True)


if __name__ == "__main__":
    main()
