"""The unit of the benchmarks: one recovery of a public key with coincurve, which is the most expensive step of a transaction."""

import time
from hashlib import sha256

from coincurve import PrivateKey, PublicKey

ROUNDS = 7
RECOVERIES = 300


def recovery_seconds() -> float:
    """Return the CPU seconds of one key recovery, in the fastest of several rounds, because noise only adds time."""
    key = PrivateKey(sha256(b"bench").digest())
    digests = [sha256(n.to_bytes(4, "big")).digest() for n in range(RECOVERIES)]
    signed = [(key.sign_recoverable(digest, hasher=None), digest) for digest in digests]
    recover = PublicKey.from_signature_and_message
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for signature, digest in signed:
            recover(signature, digest, hasher=None)
        best = min(best, time.process_time() - start)
    return best / RECOVERIES


if __name__ == "__main__":
    print(f"{recovery_seconds() * 1e6:.2f} µs per recovered key")
