"""Keys, their text formats, and signatures: the vectors of the groups `key` and `sig`, round trips, and invalid input."""

import hashlib
from typing import Any

import base58
import pytest
from Crypto.Hash import RIPEMD160
from hypothesis import assume, given
from hypothesis import strategies as st

from state.protocol.errors import ChainError, OutOfRange, ParseError, Refused
from state.protocol.keys import keys, signatures
from state.protocol.keys.signatures import Canonical
from tests.helpers.wire import VECTORS

KEY_VECTORS = {vector["id"]: vector for vector in VECTORS if vector["group"] == "key"}
SIGNATURE_VECTORS = {vector["id"]: vector for vector in VECTORS if vector["group"] == "sig"}

KEY_TEXT = "TST6LLegbAgLAy28EHrffBVuANFWcFgmqRMW13wBmTExqFE9SCkg4"
SECRET = keys.secret_from_seed("init_key")
DIGEST = hashlib.sha256(b"hello").digest()

secrets = st.binary(min_size=32, max_size=32).filter(keys.is_secret)
digests = st.binary(min_size=32, max_size=32)
modes = st.sampled_from(Canonical)


def vector_secret(given_key: dict[str, str], expect: dict[str, str]) -> bytes:
    """Return the secret that the input of a vector describes."""
    match given_key:
        case {"seed": seed}:
            return keys.secret_from_seed(seed)
        case {"wif": wif}:
            return keys.secret_from_wif(wif)
        case {"account": account, "role": role, "password": password}:
            return keys.derive_secret(account, role, password)
    return bytes.fromhex(expect["secret"])


# ------------------------------------------------------------------ vectors of keys


@pytest.mark.parametrize("name", [name for name, vector in KEY_VECTORS.items() if "secret" in vector["expect"]])
def test_secret_vectors(name: str) -> None:
    expect = KEY_VECTORS[name]["expect"]
    secret = vector_secret(KEY_VECTORS[name]["input"], expect)
    public = keys.public_key(secret)
    assert secret.hex() == expect["secret"]
    assert keys.wif_from_secret(secret) == expect["wif"]
    assert keys.secret_from_wif(expect["wif"]) == secret
    assert public.hex() == expect["public_hex"]
    assert keys.public_key_text(public, expect["public"][:3]) == expect["public"]


@pytest.mark.parametrize("name", ["null", "decode", "genesis.main"])
def test_text_vectors(name: str) -> None:
    both = KEY_VECTORS[name]["input"] | KEY_VECTORS[name]["expect"]
    assert keys.public_key_text(bytes.fromhex(both["public_hex"]), "STM") == both["public"]
    assert keys.public_key_from_text(both["public"], "STM").hex() == both["public_hex"]


def test_refused_text_vectors() -> None:
    vector = KEY_VECTORS["bad.checksum"]
    assert vector["expect"]["accepted"] == [False] * len(vector["input"]["public"])
    for text in vector["input"]["public"]:
        with pytest.raises(Refused):
            keys.public_key_from_text(text, "STM")


def test_keys_sort_by_their_bytes() -> None:
    vector = KEY_VECTORS["authority.sorting"]
    weights = {keys.public_key_from_text(text, "STM"): weight for text, weight in vector["input"]["json"]["key_auths"]}
    packed = b"".join(key + weights[key].to_bytes(2, "little") for key in sorted(weights))
    assert vector["expect"]["hex"].endswith("02" + packed.hex())


@pytest.mark.parametrize("name", [name for name in KEY_VECTORS if name.startswith("chain_id.")])
def test_chain_id_vectors(name: str) -> None:
    """A chain's id is the SHA-256 of its packed name, or zeros without a name."""
    vector = KEY_VECTORS[name]
    data = vector["input"]["name"].encode()
    chain_id = hashlib.sha256(bytes((len(data),)) + data).digest() if data else bytes(32)
    assert chain_id.hex() == vector["expect"]["chain_id"]


# ------------------------------------------------------------------ texts of keys


@pytest.mark.parametrize(
    ("text", "error", "start"),
    [
        ("TST", Refused, "Assert Exception:base58str.size() > prefix_len: "),
        ("\u00e9", Refused, "Assert Exception:base58str.size() > prefix_len: "),
        ("\u00e9\u00e9", Refused, "Assert Exception:base58str.substr( 0, prefix_len ) == prefix: "),
        ("tst" + KEY_TEXT[3:], Refused, "Assert Exception:base58str.substr( 0, prefix_len ) == prefix: "),
        (KEY_TEXT[:-1] + "0", ParseError, "Parse Error:Unable to decode base58 string 6LLeg"),
        (KEY_TEXT[:20] + " " + KEY_TEXT[20:], ParseError, "Parse Error:Unable to decode base58 string 6LLeg"),
        ("TST\u00e9", ParseError, "Parse Error:Unable to decode base58 string \u00e9"),
        ("TST" + "1" * 5000, ParseError, "Parse Error:Unable to decode base58 string 111"),
        (
            "TST" + "1" * 36,
            OutOfRange,
            "Out of Range:read datastream of length 36 over by -2error unpacking uint32_tError unpacking field check"
            + 2 * "error unpacking coin::protocol::public_key_type::binary_key",
        ),
        (
            KEY_TEXT[:-1] + "5",
            Refused,
            "Assert Exception:fc::ripemd160::hash( key_data.data, key_data.size() )._hash[0] == bin_key.check: ",
        ),
        ("TST ", Refused, "Assert Exception:fc::ripemd160::hash( key_data.data, key_data.size() )._hash[0] == bin_key.check: "),
    ],
)
def test_refusals_of_key_texts(text: str, error: type[ChainError], start: str) -> None:
    with pytest.raises(error) as caught:
        keys.public_key_from_text(text, "TST")
    assert str(caught.value).startswith(start)


def test_lenient_key_texts() -> None:
    key = keys.public_key(SECRET)
    extra = keys.base58_text(key + keys.ripemd160(key)[:4] + b"more")
    for text in (KEY_TEXT, "TST \t" + KEY_TEXT[3:] + "\r\n", KEY_TEXT + "\0 0Il", "TST" + extra):
        assert keys.public_key_from_text(text, "TST") == key


@given(st.binary(min_size=33, max_size=33), st.sampled_from(["STM", "TST", "", "X"]))
def test_key_texts_go_both_ways(key: bytes, prefix: str) -> None:
    assert keys.public_key_from_text(keys.public_key_text(key, prefix), prefix) == key


@given(st.text() | st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZ \0", max_size=80), st.sampled_from(["TST", ""]))
def test_garbage_instead_of_key_texts(text: str, prefix: str) -> None:
    with pytest.raises(ChainError) as caught:
        keys.public_key_from_text(prefix + text, "TST")
    assert str(caught.value)


# ------------------------------------------------------------------ secrets


@given(secrets)
def test_wif_round_trips(secret: bytes) -> None:
    assert keys.secret_from_wif(keys.wif_from_secret(secret)) == secret


@given(st.text() | st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZ", max_size=60))
def test_garbage_instead_of_wif(text: str) -> None:
    with pytest.raises(Refused, match="unable to parse private key"):
        keys.secret_from_wif(text)


@given(st.text(st.characters(), max_size=20) | st.just("\ud800 \udc80"))
def test_any_password_makes_a_secret(password: str) -> None:
    assert len(keys.derive_secret("alice", "owner", password)) == 32


def wif_of(content: bytes, rounds: int) -> str:
    checksum = content
    for _ in range(rounds):
        checksum = hashlib.sha256(checksum).digest()
    return keys.base58_text(content + checksum[:4])


def test_lenient_wif() -> None:
    for content in (b"\x80" + SECRET, b"\x00" + SECRET, b"\x80" + SECRET + b"\x01"):
        assert keys.secret_from_wif(wif_of(content, 1)) == SECRET
        assert keys.secret_from_wif(wif_of(content, 2)) == SECRET
    assert keys.secret_from_wif(wif_of(b"\x80short", 2)) == b"short".ljust(32, b"\0")
    for content, rounds in ((b"\x80" + SECRET, 3), (b"", 1)):
        with pytest.raises(Refused):
            keys.secret_from_wif(wif_of(content, rounds))


@pytest.mark.parametrize("secret", [bytes(32), keys.CURVE_ORDER.to_bytes(32, "big"), b"\xff" * 32, b"short"])
def test_secrets_without_a_key(secret: bytes) -> None:
    assert not keys.is_secret(secret)
    with pytest.raises(Refused):
        keys.public_key(secret)
    with pytest.raises(Refused):
        signatures.sign(secret, DIGEST, Canonical.bip_0062)
    with pytest.raises(Refused):
        signatures.sign_deterministic(secret, DIGEST, Canonical.bip_0062)


def extended_text(secret: bytes, magic: str = "0488ade4") -> str:
    """Return the text of a BIP32 root private key with a valid checksum."""
    data = bytes.fromhex(magic) + bytes(9) + b"c" * 32 + b"\0" + secret
    return keys.base58_text(data + hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4])


def test_extended_private_key_of_bip32() -> None:
    text = "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"
    expect = "e8f32e723decf4051aefac8e2c93c9c5b214313817cdb01a1494b917c8436b35"
    assert keys.secret_from_extended_key(text) == bytes.fromhex(expect)


def test_lenient_extended_private_keys() -> None:
    text = extended_text(SECRET)
    unchecked = keys.base58_text(keys.bytes_from_base58(text)[:-4] + b"\0\0\0\0")
    for lenient in (text, f" {text}\n", unchecked):
        assert keys.secret_from_extended_key(lenient) == SECRET
    # The first 62 bytes: 59 are taken as data, of which 46 precede the secret, and the last 3 as the start of a checksum.
    short = keys.base58_text(keys.bytes_from_base58(text)[:62])
    assert keys.secret_from_extended_key(short) == SECRET[:13].ljust(32, b"\0")


@pytest.mark.parametrize(
    "text",
    ["", "hello world", keys.wif_from_secret(SECRET), KEY_TEXT, extended_text(SECRET, "0488b21e"), extended_text(bytes(32)), "z" * 2100],
)
def test_other_texts_than_extended_private_keys(text: str) -> None:
    assert keys.secret_from_extended_key(text) is None


@given(secrets)
def test_extended_private_keys_are_read(secret: bytes) -> None:
    assert keys.secret_from_extended_key(extended_text(secret)) == secret


@given(st.text())
def test_garbage_instead_of_extended_private_keys(text: str) -> None:
    assert keys.secret_from_extended_key(text) is None


# ------------------------------------------------------------------ hashes


@given(st.binary(max_size=200))
def test_base58_round_trips(data: bytes) -> None:
    text = keys.base58_text(data)
    assert keys.bytes_from_base58(text) == base58.b58decode(text) == data


@given(st.binary(max_size=200))
def test_ripemd160_is_the_same_everywhere(data: bytes) -> None:
    assert keys.ripemd160(data) == RIPEMD160.new(data).digest()


def test_ripemd160_where_openssl_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ValueError(f"unsupported hash type {name}")

    monkeypatch.setattr(hashlib, "new", refuse)
    assert isinstance(keys.ripemd160_start(), RIPEMD160.RIPEMD160Hash)


# ------------------------------------------------------------------ vectors of signatures


@pytest.mark.parametrize("name", [name for name in SIGNATURE_VECTORS if name.startswith("det.")])
def test_deterministic_signature_vectors(name: str) -> None:
    vector: dict[str, Any] = SIGNATURE_VECTORS[name]
    digest, canonical = bytes.fromhex(vector["input"]["digest"]), Canonical(vector["input"]["canon"])
    signature = signatures.sign_deterministic(bytes.fromhex(vector["input"]["secret"]), digest, canonical)
    assert signature.hex() == vector["expect"]["signature"]
    assert signatures.recover(signature, digest, canonical).hex() == vector["expect"]["public_hex"]


@pytest.mark.parametrize("name", ["high_s.above", "high_s.below"])
def test_high_s_vectors(name: str) -> None:
    vector = SIGNATURE_VECTORS[name]
    digest, expect = bytes.fromhex(vector["input"]["digest"]), vector["expect"]
    for which in ("low_s", "high_s"):
        signature = bytes.fromhex(vector["input"][which])
        for mode, accepted in expect[which].items():
            if accepted:
                assert signatures.recover(signature, digest, Canonical(mode)).hex() == expect["public_hex"]
            else:
                assert refusal(signature, digest, Canonical(mode)) == NOT_CANONICAL


def test_header_vectors() -> None:
    vector = SIGNATURE_VECTORS["header_byte"]
    digest, signature = bytes.fromhex(vector["input"]["digest"]), bytes.fromhex(vector["input"]["signature"])
    for header in vector["expect"]["same_key_with_header_bytes"]:
        key = signatures.recover(bytes((header,)) + signature[1:], digest, Canonical.bip_0062)
        assert key.hex() == vector["expect"]["public_hex"]
    for header in vector["expect"]["rejected_header_bytes"]:
        assert refusal(bytes((header,)) + signature[1:], digest, Canonical.bip_0062) == NO_HEADER


# ------------------------------------------------------------------ refusals of signatures

NO_HEADER = "unspecified:unable to reconstruct public key from signature"
NOT_CANONICAL = "Assert Exception:is_canonical( c, canon_type ): signature is not canonical"
NO_POINT = (
    "Assert Exception:secp256k1_ecdsa_recover_compact( detail::_get_context(), (unsigned char*) digest.data(), "
    "(unsigned char*) c.begin() + 1, (unsigned char*) my->_key.begin(), (int*) &pk_len, 1, (*c.begin() - 27) & 3 ): "
)


def refusal(signature: bytes, digest: bytes, canonical: Canonical) -> str:
    with pytest.raises(ChainError) as caught:
        signatures.recover(signature, digest, canonical)
    return str(caught.value)


ORDER = keys.CURVE_ORDER.to_bytes(32, "big")
ONE = (1).to_bytes(32, "big")


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        (b"", NO_HEADER),
        (b"\x1f" * 64, NO_HEADER),
        (b"\x1f" * 66, NO_HEADER),
        (bytes(65), NO_HEADER),
        (b"\x1a" + ONE + ONE, NO_HEADER),
        (b"\x23" + ONE + ONE, NO_HEADER),
        (b"\x1f" + ONE + b"\xa1" * 32, NOT_CANONICAL),
        (b"\x1f" + bytes(32) + ONE, NO_POINT),
        (b"\x1f" + ONE + bytes(32), NO_POINT),
        (b"\x1f" + ORDER + ONE, NO_POINT),
        (b"\x1f" + b"\x11" * 64, NO_POINT),
        (b"\x21" + b"\x22" * 32 + ONE, NO_POINT),
    ],
)
def test_refusals_of_signatures(signature: bytes, text: str) -> None:
    assert refusal(signature, DIGEST, Canonical.bip_0062) == text


def test_s_beyond_the_order_without_a_rule() -> None:
    assert refusal(b"\x1f" + ONE + ORDER, DIGEST, Canonical.non_canonical) == NO_POINT


def test_edges_of_the_canonical_rules() -> None:
    bound = signatures.BIP_0062_S_MAX
    above = (int.from_bytes(bound, "big") + 1).to_bytes(32, "big")
    assert signatures.is_canonical(b"\x1f" + ORDER + bound, Canonical.bip_0062)
    assert not signatures.is_canonical(b"\x1f" + ORDER + above, Canonical.bip_0062)
    good = b"\x00\x80".ljust(32, b"\0")
    for bad in (b"\x80", b"\x00\x7f", b"\xff"):
        assert not signatures.is_canonical(b"\x1f" + bad.ljust(32, b"\0") + good, Canonical.fc_canonical)
        assert not signatures.is_canonical(b"\x1f" + good + bad.ljust(32, b"\0"), Canonical.fc_canonical)
    assert signatures.is_canonical(b"\x1f" + good + good, Canonical.fc_canonical)


@given(st.binary(max_size=70) | st.binary(min_size=65, max_size=65), digests, modes)
def test_garbage_instead_of_signatures(signature: bytes, digest: bytes, canonical: Canonical) -> None:
    check_garbage(signature, digest, canonical)


@given(st.integers(27, 34), st.binary(min_size=64, max_size=64), digests, modes)
def test_garbage_behind_a_good_header(header: int, content: bytes, digest: bytes, canonical: Canonical) -> None:
    check_garbage(bytes((header,)) + content, digest, canonical)


def check_garbage(signature: bytes, digest: bytes, canonical: Canonical) -> None:
    """If a signature obeys the canonical rule, assert that a key is recovered from it, or that it is refused with one of three texts."""
    key, text = b"", ""
    try:
        key = signatures.recover(signature, digest, canonical)
    except ChainError as error:
        text = str(error)
    if key:
        assert len(key) == 33
        assert key[0] in (2, 3)
        assert signatures.is_canonical(signature, canonical)
    else:
        assert text in (NO_HEADER, NOT_CANONICAL, NO_POINT)


# ------------------------------------------------------------------ signing


@given(secrets, digests, modes)
def test_signatures_recover_to_their_key(secret: bytes, digest: bytes, canonical: Canonical) -> None:
    for make in (signatures.sign, signatures.sign_deterministic):
        signature = make(secret, digest, canonical)
        assert 31 <= signature[0] <= 34
        assert 0 < int.from_bytes(signature[33:], "big") <= keys.CURVE_ORDER // 2
        assert signatures.recover(signature, digest, canonical) == keys.public_key(secret)
        assert make(secret, digest, canonical) == signature


@given(secrets, digests, digests)
def test_another_digest_gives_another_key(secret: bytes, digest: bytes, other: bytes) -> None:
    assume(digest != other)
    signature = signatures.sign(secret, digest, Canonical.bip_0062)
    assert signatures.recover(signature, other, Canonical.bip_0062) != keys.public_key(secret)
