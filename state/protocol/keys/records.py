"""Fixed-size records for recovering keys in other processes.

A record is a digest and its signature. The answer is the recovered key, or zeros for an invalid signature. For zeros, the rules recover the
key again, so that the signature is refused with the right text, after the checks that precede it. The canonical rule isn't checked here,
because it depends on the block that contains the signature.
"""

from state.protocol.errors import ChainError
from state.protocol.keys.keys import KEY_SIZE, NULL_KEY
from state.protocol.keys.signatures import DIGEST_SIZE, SIGNATURE_SIZE, Canonical, recover

RECORD_SIZE = DIGEST_SIZE + SIGNATURE_SIZE
ANSWER_SIZE = KEY_SIZE


def recover_records(records: bytes) -> bytes:
    """Recover the keys of all records, and return the concatenated answers."""
    assert len(records) % RECORD_SIZE == 0
    return b"".join([_recovered(records[at : at + RECORD_SIZE]) for at in range(0, len(records), RECORD_SIZE)])


def _recovered(record: bytes) -> bytes:
    try:
        return recover(record[DIGEST_SIZE:], record[:DIGEST_SIZE], Canonical.non_canonical)
    except ChainError:
        return NULL_KEY
