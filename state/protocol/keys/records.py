"""Signatures to recover as records of a fixed size, and the keys that come back: what processes send each other in place of objects.

A record is a digest and its signature. The answer to it is a key, or zeros for a signature that no key can have made: whoever needs that
key recovers it then, and refuses in the words and in the order of the rules. No canonical rule is asked here, since it depends on the
block that a signature is for.
"""

from state.protocol.errors import ChainError
from state.protocol.keys.keys import KEY_SIZE, NULL_KEY
from state.protocol.keys.signatures import DIGEST_SIZE, SIGNATURE_SIZE, Canonical, recover

RECORD_SIZE = DIGEST_SIZE + SIGNATURE_SIZE
ANSWER_SIZE = KEY_SIZE


def recover_records(records: bytes) -> bytes:
    """Return the keys of all records, one after another."""
    assert len(records) % RECORD_SIZE == 0
    return b"".join([_recovered(records[at : at + RECORD_SIZE]) for at in range(0, len(records), RECORD_SIZE)])


def _recovered(record: bytes) -> bytes:
    try:
        return recover(record[DIGEST_SIZE:], record[:DIGEST_SIZE], Canonical.non_canonical)
    except ChainError:
        return NULL_KEY
