"""Creates 65-byte signatures and recovers their keys. The caller passes the canonical rule that applies.

Source: wire-format.md §1.8.
"""

import hmac
from collections.abc import Iterator
from enum import Enum

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

from state.protocol.errors import ChainError, Refused, require
from state.protocol.keys.keys import CURVE_ORDER, compressed, is_secret, public_key

SIGNATURE_SIZE = 65
DIGEST_SIZE = 32

HEADER_MIN = 27
HEADER_MAX = 34
HEADER_WRITTEN = 31
"""Added to the recovery id in the first byte: 27, plus 4 for a compressed key."""

BIP_0062_S_MAX = bytes.fromhex("a0201b68462fe9df1d50a457736e575dffffffffffffffffffffffffffffff7f")
"""Half of the curve order in the wrong byte order: the reference compares with the memory of a number."""

SIGN_ATTEMPTS_MAX = 256
"""Each attempt is canonical with a probability of about one half."""

CANONICAL_CONDITION = "is_canonical( c, canon_type )"
RECOVER_CONDITION = (
    "secp256k1_ecdsa_recover_compact( detail::_get_context(), (unsigned char*) digest.data(), (unsigned char*) c.begin() + 1, "
    "(unsigned char*) my->_key.begin(), (int*) &pk_len, 1, (*c.begin() - 27) & 3 )"
)


class Canonical(Enum):
    """Rules against malleable signatures."""

    fc_canonical = "fc_canonical"
    """Before hardfork 20, and within pow2."""
    bip_0062 = "bip_0062"
    """From hardfork 20 on."""
    non_canonical = "non_canonical"
    """No rule, for pow."""


def is_canonical(signature: bytes, canonical: Canonical) -> bool:
    """Whether R and S of a signature conform to a canonical rule."""
    if canonical is Canonical.bip_0062:
        return signature[33:] <= BIP_0062_S_MAX
    if canonical is Canonical.fc_canonical:
        return _is_minimal_positive(signature[1], signature[2]) and _is_minimal_positive(signature[33], signature[34])
    return True


def recover(signature: bytes, digest: bytes, canonical: Canonical) -> bytes:
    """Recover the public key that signed a digest.

    Refuses invalid signatures in the reference's order: header, canonical rule, curve. The function is thread-safe: it writes only to its
    own memory, and the library releases the GIL.
    """
    assert len(digest) == DIGEST_SIZE
    if len(signature) != SIGNATURE_SIZE or not HEADER_MIN <= signature[0] <= HEADER_MAX:
        raise ChainError("unable to reconstruct public key from signature")
    if not is_canonical(signature, canonical):
        raise Refused("signature is not canonical", condition=CANONICAL_CONDITION)
    parsed, point = _new(_RECOVERABLE), _new(_POINT)
    recovery_id = (signature[0] - HEADER_MIN) & 3
    if not _parse(_CONTEXT, parsed, signature[1:], recovery_id) or not _recover(_CONTEXT, point, parsed, digest):
        raise Refused(condition=RECOVER_CONDITION)
    return compressed(point)


def sign(secret: bytes, digest: bytes, canonical: Canonical) -> bytes:
    """Sign a digest. The signature is canonical, has a low S, and is deterministic."""
    _check_signer(secret, digest)
    made, content, recovery_id = _new(_RECOVERABLE), _new(_CONTENT), _new(_INT)
    for attempt in range(SIGN_ATTEMPTS_MAX):
        # The first nonce is that of RFC 6979. Extra data makes the following nonces differ.
        extra = attempt.to_bytes(32, "little") if attempt else ffi.NULL
        signed = lib.secp256k1_ecdsa_sign_recoverable(_CONTEXT, made, digest, secret, ffi.NULL, extra)
        assert signed
        lib.secp256k1_ecdsa_recoverable_signature_serialize_compact(_CONTEXT, content, recovery_id, made)
        signature = bytes((HEADER_WRITTEN + recovery_id[0],)) + bytes(_buffer(content))
        if is_canonical(signature, canonical):
            return signature
    raise AssertionError("no canonical signature found")


def sign_deterministic(secret: bytes, digest: bytes, canonical: Canonical) -> bytes:
    """Sign a digest exactly like the reference. The work of a pow2 depends on these bytes.

    The nonces are those of RFC 6979, except the first. This function is not hardened against timing attacks: use `sign` for real secrets.
    """
    _check_signer(secret, digest)
    nonces = _nonces(secret, digest)
    next(nonces)
    for _ in range(SIGN_ATTEMPTS_MAX):
        signature = _signature_with_nonce(secret, digest, next(nonces))
        if signature is not None and is_canonical(signature, canonical):
            return signature
    raise AssertionError("no canonical signature found")


# Looked up once, because `recover` is called for every signature of every block.
_CONTEXT = GLOBAL_CONTEXT.ctx
_RECOVERABLE = ffi.typeof("secp256k1_ecdsa_recoverable_signature *")
_POINT = ffi.typeof("secp256k1_pubkey *")
_CONTENT = ffi.typeof(f"unsigned char[{SIGNATURE_SIZE - 1}]")
_INT = ffi.typeof("int *")
_new = ffi.new
_buffer = ffi.buffer
_parse = lib.secp256k1_ecdsa_recoverable_signature_parse_compact
_recover = lib.secp256k1_ecdsa_recover


def _is_minimal_positive(first: int, second: int) -> bool:
    """Whether a signed number with these first two bytes is positive and not padded."""
    return first < 0x80 and (first > 0 or second >= 0x80)


def _check_signer(secret: bytes, digest: bytes) -> None:
    assert len(digest) == DIGEST_SIZE
    require(is_secret(secret), "the secret is not within the curve's order", condition="my->_key != empty_priv")


def _nonces(secret: bytes, digest: bytes) -> Iterator[bytes]:
    """Yield the candidates of RFC 6979 §3.2 with HMAC-SHA256. The digest is used as it is, not modulo the order."""
    key, value = bytes(32), b"\x01" * 32
    for separator in (b"\x00", b"\x01"):
        key = hmac.digest(key, value + separator + secret + digest, "sha256")
        value = hmac.digest(key, value, "sha256")
    while True:
        value = hmac.digest(key, value, "sha256")
        yield value
        key = hmac.digest(key, value + b"\x00", "sha256")
        value = hmac.digest(key, value, "sha256")


def _signature_with_nonce(secret: bytes, digest: bytes, nonce: bytes) -> bytes | None:
    """Return the ECDSA signature with low S for a nonce, or None for an unusable nonce."""
    if not is_secret(nonce):
        return None
    point = public_key(nonce)
    x = int.from_bytes(point[1:], "big")
    r = x % CURVE_ORDER
    product = int.from_bytes(digest, "big") + r * int.from_bytes(secret, "big")
    s = pow(int.from_bytes(nonce, "big"), -1, CURVE_ORDER) * product % CURVE_ORDER
    if r == 0 or s == 0:
        return None
    recovery_id = (point[0] & 1) | (2 if x >= CURVE_ORDER else 0)
    if s > CURVE_ORDER // 2:
        s = CURVE_ORDER - s
        recovery_id ^= 1
    return bytes((HEADER_WRITTEN + recovery_id,)) + r.to_bytes(32, "big") + s.to_bytes(32, "big")
