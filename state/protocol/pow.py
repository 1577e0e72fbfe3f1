"""Validity of proofs of work (pow, pow2, equihash), independent of the chain's difficulty.

Sources: wire-format.md §4.3, operations.md §13.
"""

from collections.abc import Sequence
from functools import reduce
from hashlib import blake2b, sha256
from operator import xor
from struct import Struct

from state.protocol.codec.kinds import pack_length
from state.protocol.errors import require
from state.protocol.keys.signatures import Canonical, recover, sign_deterministic

EQUIHASH_N = 140
EQUIHASH_K = 6
EQUIHASH_PERSONAL = 2
"""The number that the reference hashes before each input."""
EQUIHASH_WORDS = 7
EQUIHASH_WORD_MASK = 0xFFFFF000
"""Selects the upper 20 bits of each 32-bit word."""

NO_WORK = bytes(32)

_EQUIHASH_ITEM = Struct("<II")
_EQUIHASH_MASK = int.from_bytes(EQUIHASH_WORD_MASK.to_bytes(4, "little") * EQUIHASH_WORDS, "little")


def require_pow_input(block_id: bytes, nonce: int, recorded: bytes) -> None:
    """Refuse a `pow` unless its recorded input was computed from its block and nonce."""
    require(
        pow_input(block_id, nonce) == recorded, "Determninistic input does not match recorded input", condition="work_input() == work.input"
    )


def require_pow(worker: bytes, work_input: bytes, signature: bytes, work: bytes) -> None:
    """Refuse a `pow` unless its work was computed from its worker's signature. A signature that `recover` refuses is also refused."""
    require(work != NO_WORK, condition="work != fc::sha256()")
    require(
        recover(signature, work_input, Canonical.non_canonical) == worker,
        condition="public_key_type(fc::ecc::public_key( signature, input, fc::ecc::non_canonical ) ) == worker",
    )
    recovered = recover(signature, sha256(signature).digest(), Canonical.non_canonical)
    require(work == sha256(recovered).digest(), condition="work == fc::sha256::hash(recover)")


def pow_input(block_id: bytes, nonce: int) -> bytes:
    """Return the digest that the worker of a `pow` signs."""
    return sha256(nonce.to_bytes(8, "little") + sha256(block_id).digest()[8:]).digest()


def require_pow2(packed_input: bytes, pow_summary: int) -> None:
    """Refuse a `pow2` whose summary wasn't computed from its input."""
    require(
        pow_summary == pow2_summary(packed_input),
        "reported work does not match calculated work",
        condition="pow_summary == tmp.pow_summary",
    )


def pow2_summary(packed_input: bytes) -> int:
    """Return the work of a packed `pow2_input` (account, block id, nonce) as a `log32`."""
    secret = sha256(packed_input).digest()
    digest = sha256(secret).digest()
    signature = sign_deterministic(secret, digest, Canonical.fc_canonical)
    key = recover(signature, sha256(signature).digest(), Canonical.fc_canonical)
    return log32(sha256(digest + key).digest())


def require_equihash(packed_input: bytes, n: int, k: int, seed: bytes, inputs: Sequence[int], pow_summary: int) -> None:
    """Refuse an `equihash_pow` whose proof is invalid, or isn't a proof for its packed `pow2_input`."""
    require(n == EQUIHASH_N, "proof of work 'n' value is incorrect", condition="proof.n == COIN_EQUIHASH_N")
    require(k == EQUIHASH_K, "proof of work 'k' value is incorrect", condition="proof.k == COIN_EQUIHASH_K")
    require(seed == sha256(packed_input).digest(), "proof of work seed does not match expected seed", condition="proof.seed == seed")
    require(is_equihash_solution(seed, inputs), "proof of work is not a solution", condition="proof.is_valid()")
    require(pow_summary == equihash_summary(inputs), condition="pow_summary == fc::sha256::hash( proof.inputs ).approx_log_32()")


def is_equihash_solution(seed: bytes, inputs: Sequence[int]) -> bool:
    """Whether the XOR of all inputs' hashes is zero. As in the reference, inputs can have any number and order, and can repeat."""
    key = equihash_key(seed)
    # Masking each word commutes with XOR, so the mask is applied once, at the end.
    return bool(inputs) and reduce(xor, (_equihash_hash(key, i) for i in inputs)) & _EQUIHASH_MASK == 0


def equihash_key(seed: bytes) -> bytes:
    """Return the 16 bytes that are part of each hash: the XOR of the seed's halves."""
    return bytes(map(xor, seed[:16], seed[16:]))


def equihash_summary(inputs: Sequence[int]) -> int:
    """Return the work of a proof: `log32` of the hash of its packed inputs."""
    packed = pack_length(len(inputs)) + b"".join(item.to_bytes(4, "little") for item in inputs)
    return log32(sha256(packed).digest())


def _equihash_hash(key: bytes, item: int) -> int:
    """Return the first seven 32-bit words of an input's hash as one number."""
    digest = blake2b(key + _EQUIHASH_ITEM.pack(EQUIHASH_PERSONAL, item), digest_size=32).digest()
    return int.from_bytes(digest[: 4 * EQUIHASH_WORDS], "little")


def log32(digest: bytes) -> int:
    """Return the binary logarithm of a hash in 8.24 fixed point, linear between powers of two."""
    value = int.from_bytes(digest, "big")
    if value == 0:
        return 0
    exponent = value.bit_length() - 1
    return exponent << 24 | (value << 24 >> exponent) & 0xFFFFFF
