"""Prefetching of keys for transactions. They are accepted and refused in the same way as without prefetching."""

import sys
from collections.abc import Iterator

import pytest

from node.key_recovery import key_prefetcher
from node.key_recovery.key_prefetcher import BATCH_TRANSACTIONS, FIRST_SKIPPED, KeyPrefetcher
from node.key_recovery.pool import Pool
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction
from tests.helpers.nodes import dev_chain, make_block, transfer
from tests.node.key_recovery.test_block_prefetcher import warm_pool
from tests.node.key_recovery.test_pool import PATIENCE, PROGRAM, processes
from tests.state.protocol.test_recovered import WAYS

# A program that answers with keys that belong to no account.
LIE = (
    PROGRAM
    + """
while True:
    n, size = struct.unpack("<III", os.read(0, 12))[:2]
    data = os.read(0, size)
    keys = recover_records(data)
    if size > 97:
        keys = keys[:-32] + bytes(32)
    answer(n, data, keys)
"""
)


@pytest.fixture
def chain() -> Chain:
    made = dev_chain()
    make_block(made)
    return made


@pytest.fixture
def ahead(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyPrefetcher]:
    """A prefetcher whose two processes are running."""
    monkeypatch.setattr(key_prefetcher, "Pool", warm_pool())
    monkeypatch.setattr(key_prefetcher, "TRANSACTIONS_BEFORE_START", 1)
    made = KeyPrefetcher(chain, 2)
    yield made
    made.close()


def wait(ahead: KeyPrefetcher) -> None:
    """Wait until all keys have arrived."""
    assert ahead._pool is not None
    for key_range in ahead._key_ranges.values():
        ahead._pool.wait(key_range.batch, PATIENCE)


def outcome(chain: Chain, push: KeyPrefetcher | Chain, trx: SignedTransaction) -> str:
    """Push a transaction. Return the error message, or "accepted" if there is none."""
    try:
        push.push(trx) if isinstance(push, KeyPrefetcher) else chain.push_transaction(trx)
    except ChainError as error:
        return error.message()
    return "accepted"


def test_only_the_first_transactions_are_not_prefetched(chain: Chain, ahead: KeyPrefetcher, plain_recoveries: list[bytes]) -> None:
    made = [transfer(chain, str(number)) for number in range(40)]
    ahead.prefetch(made)
    wait(ahead)
    for trx in made:
        ahead.push(trx)
    assert list(chain.pending) == made
    assert plain_recoveries == [trx.signatures[0] for trx in made[:FIRST_SKIPPED]]
    assert ahead._key_ranges == {}


def test_transactions_can_come_in_another_order(chain: Chain, ahead: KeyPrefetcher) -> None:
    made = [transfer(chain, str(number)) for number in range(20)]
    ahead.prefetch(made)
    wait(ahead)
    order = [*reversed(made[:10]), transfer(chain, "another"), *made[10:]]
    for trx in order:
        ahead.push(trx)
    assert list(chain.pending) == order


@pytest.mark.parametrize("way", WAYS)
def test_wrong_signatures_are_refused_with_the_same_text(chain: Chain, ahead: KeyPrefetcher, way: str) -> None:
    trx = transfer(chain, "changed")
    trx.signatures = (WAYS[way](trx.signatures[0]),)
    chain.state.wire.seal(trx)
    twice = transfer(chain, "twice")
    twice.signatures *= 2
    chain.state.wire.seal(twice)
    made = [*[transfer(chain, str(number)) for number in range(FIRST_SKIPPED)], trx, twice, transfer(chain, "last")]
    plain = [outcome(chain, chain, chain.state.wire.unpack_transaction(chain.state.wire.pack_transaction(each))) for each in made]
    chain.clear_pending()
    ahead.prefetch(made)
    wait(ahead)
    assert [outcome(chain, ahead, each) for each in made] == plain
    assert plain[-2:] == ["duplicate signature included:Duplicate Signature detected", "accepted"]


@pytest.mark.parametrize("program", [LIE, ""])
def test_failing_processes_refuse_no_valid_transaction(chain: Chain, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(key_prefetcher, "Pool", warm_pool((sys.executable, "-P", "-c", program)))
    monkeypatch.setattr(key_prefetcher, "TRANSACTIONS_BEFORE_START", 1)
    monkeypatch.setattr("node.key_recovery.pool.random.randrange", lambda count: count - 1)
    ahead = KeyPrefetcher(chain, 1)
    made = [transfer(chain, str(number)) for number in range(20)]
    ahead.prefetch(made)
    wait(ahead)
    assert [outcome(chain, ahead, trx) for trx in made] == ["accepted"] * 20
    assert ahead._pool is not None
    assert processes(ahead._pool) == []
    ahead.prefetch([transfer(chain, f"again {number}") for number in range(20)])
    ahead.close()


def test_prefetching_is_bounded(chain: Chain, ahead: KeyPrefetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_prefetcher, "WAITING_MAX", 30)
    unsigned, many = transfer(chain, "unsigned"), transfer(chain, "many")
    unsigned.signatures, many.signatures = (), many.signatures * 5
    for trx in (unsigned, many):
        chain.state.wire.seal(trx)
    ahead.prefetch([*[transfer(chain, str(number)) for number in range(FIRST_SKIPPED)], unsigned, many])
    assert ahead._key_ranges == {}
    for name in ("a", "b", "c", "d"):
        ahead.prefetch([transfer(chain, f"{name} {number}") for number in range(FIRST_SKIPPED + BATCH_TRANSACTIONS)])
        assert 0 < len(ahead._key_ranges) <= 30
    # For a transaction that was dropped from the queue, the chain recovers the key.
    ahead.push(transfer(chain, "a 5"))
    assert len(chain.pending) == 1


def test_processes_start_after_many_transactions(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[int] = []

    def counted(workers: int) -> Pool:
        pools.append(workers)
        return Pool(0)

    monkeypatch.setattr(key_prefetcher, "Pool", counted)
    monkeypatch.setattr(key_prefetcher, "TRANSACTIONS_BEFORE_START", 20)
    ahead = KeyPrefetcher(chain, 2)
    made = [transfer(chain, str(number)) for number in range(20)]
    ahead.prefetch(made[:19])
    for trx in made[:19]:
        ahead.push(trx)
    assert (pools, ahead._key_ranges, list(chain.pending)) == ([], {}, made[:19])
    for _ in range(2):
        ahead.prefetch(made[19:])
    assert pools == [2]
    ahead.push(made[19])
    ahead.close()
    assert list(chain.pending) == made
