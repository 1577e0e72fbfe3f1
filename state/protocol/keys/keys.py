"""Public keys, private keys (secrets) and their texts. Callers pass the chain's key prefix.

A public key is 33 bytes, a compressed point of secp256k1 that isn't checked to be on the curve. All zeros means "no key". A secret is 32
bytes. Source: wire-format.md §1.7.
"""

import hashlib
from functools import lru_cache
from typing import Any

import base58
from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT
from coincurve.flags import EC_COMPRESSED

from state.protocol.errors import OutOfRange, ParseError, cut_short, require
from state.protocol.values.text import encode, size

CURVE_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
KEY_SIZE = 33
SECRET_SIZE = 32
CHECKSUM_SIZE = 4
ROLES = ("owner", "active", "posting", "memo")  # of the keys of a new account
NULL_KEY = bytes(KEY_SIZE)

BASE58_DIGITS_MAX = 2048
"""Longer texts are refused without decoding, which takes quadratic time. A memo, the longest text that is tried, is shorter."""

KEY_TEXTS_MAX = 65536
"""Cached conversions in each direction: replies contain the same keys again and again."""

WIF_VERSION = b"\x80"
EXTENDED_PRIVATE_MAGIC = bytes.fromhex("0488ade4")
EXTENDED_KEY_SIZE = 78
EXTENDED_SECRET_OFFSET = 46

_WHITE_SPACE = " \t\n\v\f\r"

# Looked up once, because a key is serialized for every signature of every block.
_CONTEXT = GLOBAL_CONTEXT.ctx
_POINT = ffi.typeof("secp256k1_pubkey *")
_KEY = ffi.typeof(f"unsigned char[{KEY_SIZE}]")
_SIZE = ffi.typeof("size_t *")
_new = ffi.new
_buffer = ffi.buffer
_serialize = lib.secp256k1_ec_pubkey_serialize


@lru_cache(maxsize=KEY_TEXTS_MAX)
def public_key_text(key: bytes, prefix: str) -> str:
    """Return the text of a public key: prefix, then base58 of the key and its checksum."""
    assert len(key) == KEY_SIZE
    return prefix + base58_text(key + ripemd160(key)[:CHECKSUM_SIZE])


@lru_cache(maxsize=KEY_TEXTS_MAX)
def public_key_from_text(text: str, prefix: str) -> bytes:
    """Parse the text of a public key. A wrong prefix, length or checksum is refused, with the texts and in the order of the reference."""
    require(size(text) > len(prefix), condition="base58str.size() > prefix_len")
    require(text.startswith(prefix), condition="base58str.substr( 0, prefix_len ) == prefix", base58str=text)
    data = bytes_from_base58(text[len(prefix) :])
    # If there are no digits, key and checksum are zeros in the reference, and these don't match.
    data = data or bytes(KEY_SIZE + CHECKSUM_SIZE)
    if len(data) < KEY_SIZE + CHECKSUM_SIZE:
        raise _key_too_short(len(data))
    key, checksum = data[:KEY_SIZE], data[KEY_SIZE : KEY_SIZE + CHECKSUM_SIZE]
    require(
        ripemd160(key)[:CHECKSUM_SIZE] == checksum,
        condition="fc::ripemd160::hash( key_data.data, key_data.size() )._hash[0] == bin_key.check",
    )
    return key


def public_key(secret: bytes) -> bytes:
    """Return the public key of a secret. Refuses a secret outside the range from 1 to the curve's order − 1."""
    require(secret != bytes(SECRET_SIZE), condition="my->_key != empty_priv")
    require(
        is_secret(secret),
        condition="secp256k1_ec_pubkey_create( detail::_get_context(), (unsigned char*) pub.begin(), "
        "(int*) &pk_len, (unsigned char*) my->_key.data(), 1 )",
    )
    # Like coincurve's PublicKey, without creating that object, which takes 3 % of the time.
    point = _new(_POINT)
    created = lib.secp256k1_ec_pubkey_create(_CONTEXT, point, secret)
    assert created
    return compressed(point)


def compressed(point: Any) -> bytes:
    """Return the 33 bytes of a point of the elliptic curve, in compressed form."""
    key = _new(_KEY)
    _serialize(_CONTEXT, key, _new(_SIZE, KEY_SIZE), point, EC_COMPRESSED)
    return bytes(_buffer(key))


def is_secret(data: bytes) -> bool:
    """Whether the data is 32 bytes long and a secret within the curve's order."""
    return len(data) == SECRET_SIZE and 0 < int.from_bytes(data, "big") < CURVE_ORDER


def secret_from_seed(text: str) -> bytes:
    """Return the secret of a seed text: its SHA-256."""
    return hashlib.sha256(encode(text)).digest()


def derive_secret(account: str, role: str, password: str) -> bytes:
    """Derive a secret from a password in the same way as clients. `role` is owner, active, posting or memo."""
    return secret_from_seed(account + role + password)


def wif_from_secret(secret: bytes) -> str:
    """Encode a secret in wallet import format."""
    assert len(secret) == SECRET_SIZE
    data = WIF_VERSION + secret
    return base58_text(data + _double_sha256(data)[:CHECKSUM_SIZE])


def secret_from_wif(text: str) -> bytes:
    """Parse a secret in wallet import format, as leniently as the reference.

    Any version byte is accepted. The secret can have any length, and is truncated or zero-filled to 32 bytes. The checksum can be computed
    with one or with two rounds of SHA-256.
    """
    try:
        data = bytes_from_base58(text)
    except ParseError:
        data = b""
    content, checksum = data[:-CHECKSUM_SIZE], data[-CHECKSUM_SIZE:]
    checksums = (hashlib.sha256(content).digest()[:CHECKSUM_SIZE], _double_sha256(content)[:CHECKSUM_SIZE])
    require(content and checksum in checksums, "unable to parse private key", condition="private_key.valid()")
    return content[1 : 1 + SECRET_SIZE].ljust(SECRET_SIZE, b"\0")


def secret_from_extended_key(text: str) -> bytes | None:
    """Return the secret in the text of an extended (BIP32) private key, or None if the reference finds no usable secret.

    As in the reference, only the magic bytes at the start are checked, not the checksum, and missing bytes are zero. The soft rule about
    memos uses this (block-processing.md §4.6).
    """
    if len(text) < EXTENDED_SECRET_OFFSET:
        # A digit is at most one byte, so such a text ends before the secret.
        return None
    try:
        decoded = bytes_from_base58(text)
    except ParseError:
        return None
    # The reference stops one byte late: the data of a short text includes the first byte of its checksum.
    data = decoded[: max(len(decoded) - CHECKSUM_SIZE + 1, 0)][:EXTENDED_KEY_SIZE].ljust(EXTENDED_KEY_SIZE, b"\0")
    secret = data[EXTENDED_SECRET_OFFSET:]
    return secret if data.startswith(EXTENDED_PRIVATE_MAGIC) and is_secret(secret) else None


def base58_text(data: bytes) -> str:
    """Encode bytes in Bitcoin's base58."""
    return base58.b58encode(data).decode("ascii")


def bytes_from_base58(text: str) -> bytes:
    """Decode base58. White space around the digits and everything after a NUL is ignored."""
    try:
        digits = text.partition("\0")[0].strip(_WHITE_SPACE).encode("ascii")
        significant = digits.lstrip(base58.BITCOIN_ALPHABET[:1])
        if len(digits) <= BASE58_DIGITS_MAX:
            # base58.b58decode converts the number byte by byte, which is slower.
            number = base58.b58decode_int(significant)
            return bytes(len(digits) - len(significant)) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    except ValueError:
        pass
    raise ParseError("Unable to decode base58 string ${base58_str}", base58_str=text)


def ripemd160(data: bytes) -> bytes:
    """Return the RIPEMD-160 digest."""
    state = _RIPEMD160_START.copy()
    state.update(data)
    digest: bytes = state.digest()
    return digest


def ripemd160_start() -> Any:
    """Return an empty RIPEMD-160 hash to copy.

    The implementation is OpenSSL's if that works, otherwise a portable one. Some builds of OpenSSL list the algorithm but fail.
    """
    try:
        return hashlib.new("ripemd160")
    except ValueError:
        # Imported on demand, because it takes as long as twenty of our modules.
        from Crypto.Hash import RIPEMD160

        return RIPEMD160.new()


_RIPEMD160_START = ripemd160_start()


def _double_sha256(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def _key_too_short(length: int) -> OutOfRange:
    """Return the reference's error for bytes that end within the key or the checksum."""
    if length < KEY_SIZE:
        place, left = "fc::array<type,length>Error unpacking field data", length
    else:
        place, left = "error unpacking uint32_tError unpacking field check", length - KEY_SIZE
    error = cut_short(length, left)
    error.context = place + 2 * "error unpacking coin::protocol::public_key_type::binary_key"
    return error
