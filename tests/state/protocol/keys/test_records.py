"""Batches of signature records. The recovered keys are in the same order as the records; a failed recovery gives zeros."""

from hashlib import sha256

from state.protocol.keys.keys import CURVE_ORDER, NULL_KEY, public_key
from state.protocol.keys.records import RECORD_SIZE, recover_records
from state.protocol.keys.signatures import Canonical, sign


def record(name: bytes) -> tuple[bytes, bytes]:
    """Return a record, and the public key that signed it."""
    secret, digest = sha256(name).digest(), sha256(name + b"!").digest()
    return digest + sign(secret, digest, Canonical.bip_0062), public_key(secret)


def test_keys_come_in_the_order_of_the_records() -> None:
    made = [record(bytes((n,))) for n in range(5)]
    assert recover_records(b"".join([each for each, _ in made])) == b"".join([key for _, key in made])
    assert recover_records(b"") == b""


def test_unrecoverable_signatures_give_zeros() -> None:
    good, key = record(b"good")
    bad = bytes(RECORD_SIZE)
    headless = good[:32] + bytes((26,)) + good[33:]
    outside = good[:65] + CURVE_ORDER.to_bytes(32, "big")
    assert recover_records(bad + good + headless + outside) == NULL_KEY + key + NULL_KEY * 2


def test_no_canonical_rule_is_checked() -> None:
    good, key = record(b"good")
    s = CURVE_ORDER - int.from_bytes(good[65:], "big")
    high = good[:32] + bytes((((good[32] - 27) ^ 1) + 27,)) + good[33:65] + s.to_bytes(32, "big")
    assert recover_records(high) == key
