"""The transaction index, compared with a dictionary."""

from random import Random

import pytest
from msgspec import msgpack

from state.plugins import transaction_index
from state.plugins.transaction_index import BUCKETS, RECORD_BYTES, TransactionIndex, TransactionIndexPart
from state.store.columns import CorruptData
from state.store.rows import run_steps


def test_the_index_behaves_like_a_dictionary() -> None:
    random, places, expected = Random(1), TransactionIndex(), dict[bytes, int]()
    for step in range(3000):
        # The ids have few different first bits, so many of them share a bucket.
        trx_id = bytes([step % 3, 0]) + random.randbytes(18)
        action = random.randrange(5)
        if action < 3 or not expected:
            expected[trx_id] = place = random.randrange(2**64)
            places.add(trx_id, place)
        elif action == 3:
            last = next(reversed(expected))
            places.drop_last(last)
            del expected[last]
        else:
            first, place = next(iter(expected.items()))
            places.drop_first(first)
            assert places.get(first) is None
            places.put_first(first, place)
        assert places.get(trx_id) == expected.get(trx_id)
    assert len(places) == len(expected)
    assert dict(places) == expected
    assert all(places.get(trx_id) == place for trx_id, place in expected.items())
    for trx_id in expected:
        for size in (1, 3, 20):
            prefix = trx_id[:size]
            assert dict(places.starting(prefix)) == {one: place for one, place in expected.items() if one.startswith(prefix)}


def test_bytes_across_two_records_are_not_an_id() -> None:
    places, first, second = TransactionIndex(), bytes(20), b"\0\0" + bytes(range(1, 19))
    across = first[12:] + bytes(8) + second[:4]
    places.add(first[:12] + b"\1" * 8, 0)
    places.add(second, 7)
    assert places.get(across) is None
    places.add(across, 9)
    assert (places.get(across), places.get(second)) == (9, 7)


def test_a_search_for_first_bytes_stops_after_a_number_of_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_index, "MATCHES_MAX", 10)
    places = TransactionIndex()
    for place in range(20):
        places.add(bytes(19) + bytes([place]), place)
    # The zeros in the middle of a record match, too.
    assert [trx_id[-1] for trx_id, _ in places.starting(bytes(12))] == [0]


def test_an_id_of_another_size_is_unknown() -> None:
    places = TransactionIndex()
    places.add(bytes(20), 5)
    assert places.get(bytes(20)) == 5
    assert places.get(bytes(19)) is None
    assert places.get(b"") is None


def test_snapshot_round_trip_and_refusals() -> None:
    places, other = TransactionIndex(), TransactionIndex()
    for number in range(100):
        places.add(bytes([number]) * 20, number)
    part = TransactionIndexPart(other)
    put_back = run_steps(part.copying())
    part.read(TransactionIndexPart(places).dump())()
    assert list(other) == list(places)
    assert dict(part.entries())[bytes(20)] == {"value": "0"}
    put_back()
    assert not len(other)
    for sizes, data in (([RECORD_BYTES], b""), ([1], b"x"), ([-RECORD_BYTES, RECORD_BYTES], b""), ([0] * (BUCKETS + 1), b"")):
        with pytest.raises(CorruptData):
            part.read(iter([msgpack.encode((sizes, data))]))
