"""Transactions refused because of their signatures: one for each cause that an explanation can name, and some without a known cause."""

from hashlib import sha256

from state.operations.authorities import AccountUpdate, RecoverAccount
from state.operations.content import Vote
from state.operations.custom import CustomJson
from state.operations.escrow import EscrowTransfer
from state.operations.transfers import Transfer
from state.protocol.authority import key_authority
from state.protocol.keys.keys import secret_from_seed
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.values.text import encode
from tests.rpc.explain.world import (
    OLD_OWNER,
    OLD_POSTING,
    ONE,
    STRANGER,
    TRANSFER,
    Way,
    World,
    altered,
    body,
    for_chain,
    key,
    new_key,
    signed,
    with_digest,
    with_secrets,
    written,
)

ACTIVE, POSTING, OWNER = "missing_active_authority", "missing_posting_authority", "missing_owner_authority"
HIVE = bytes.fromhex("beeab0de" + 56 * "0")
JSON = CustomJson(required_posting_auths=("alice",), id="test", json='{"b":1,"a":[1,2]}')
TEAM = Transfer(from_="team", to="bob", amount=ONE, memo="")
ESCROW = EscrowTransfer("alice", "bob", Asset(0, SBD), ONE, 5, "carol", Asset(0, COIN), "", 1_900_000_000, 1_900_000_001)
NAI_COIN = (3200000035).to_bytes(4, "little")


def coin_bytes(letters: str) -> bytes:
    """Return the bytes of a symbol with these letters and three decimal places."""
    return b"\x03" + letters.encode().ljust(7, b"\0")


def steem(world: World, trx: SignedTransaction) -> bytes:
    """Return the digest of a transaction as it would be on Steem's main chain, whose id and symbols differ."""
    return sha256(bytes(32) + trx.body.replace(coin_bytes("COIN"), coin_bytes("STEEM"))).digest()


def beem_escrow(world: World, trx: SignedTransaction) -> bytes:
    """Return the digest that beem computes for an escrow operation. beem packs this operation differently."""
    pack = world.wire.codecs.packer
    asset = pack(Asset)
    texts = b"".join(bytes((len(name),)) + encode(name) for name in ("alice", "bob", "carol"))
    numbers = (5).to_bytes(4, "little") + asset(Asset(0, SBD)) + asset(ONE) + asset(Asset(0, COIN))
    times = (1_900_000_000).to_bytes(4, "little") + (1_900_000_001).to_bytes(4, "little")
    packed = trx.body[:12] + texts + numbers + times + b"\0" + b"\0"
    return sha256(world.state.spec.chain_id + packed).digest()


SIGNING = (
    # whose keys
    Way("no signature", with_secrets(), ACTIVE, "unsigned"),
    Way("the posting key in place of the active one", signed(TRANSFER, by=(("alice", "posting"),)), ACTIVE, "other_role_key"),
    Way("the memo key", signed(TRANSFER, by=(("alice", "memo"),)), ACTIVE, "other_role_key"),
    Way(
        "the active key for an owner's change",
        signed(AccountUpdate("alice", owner=key_authority(key("bob")), memo_key=key("alice", "memo"))),
        OWNER,
        "other_role_key",
    ),
    Way("the key of another account", signed(TRANSFER, by=(("carol", "active"),)), ACTIVE, "other_account"),
    Way("a stranger's key", with_secrets(STRANGER), ACTIVE),
    Way("a posting authority that a stranger signs", with_secrets(STRANGER, operation=Vote("alice", "alice", "hello", 100)), POSTING),
    Way("a key that was replaced", with_secrets(OLD_POSTING, operation=Vote("grace", "alice", "hello", 100)), POSTING, "replaced_key"),
    Way(
        "an owner key that was replaced",
        with_secrets(OLD_OWNER, operation=AccountUpdate("heidi", owner=key_authority(key("bob")), memo_key=key("heidi", "memo"))),
        OWNER,
        "replaced_key",
    ),
    Way("one of two keys", with_secrets(secret_from_seed("team"), operation=TEAM), ACTIVE, "too_little_weight"),
    Way("one account of two in an authority", signed(TEAM), ACTIVE, "too_little_weight"),
    Way("the posting key of an account in an authority", signed(TEAM, by=(("alice", "posting"),)), ACTIVE, "other_role_key"),
    Way(
        "an authority that the operation gives",
        signed(RecoverAccount("bob", key_authority(new_key("bob")), key_authority(key("bob", "owner")))),
        "missing_other_authority",
        "other_account",
    ),
    # other chains
    Way("the chain id of Steem", with_digest(for_chain(bytes(32))), ACTIVE, "other_chain_id"),
    Way("the chain id of Hive", with_digest(for_chain(HIVE)), ACTIVE, "other_chain_id"),
    Way("the chain id and the symbols of Steem", with_digest(steem), ACTIVE, "other_chain_id"),
    Way(
        "the symbols of a test chain",
        with_digest(body(lambda data: data.replace(coin_bytes("COIN"), coin_bytes("TESTS")))),
        ACTIVE,
        "other_symbols",
    ),
    Way(
        "the symbols of Hive", with_digest(body(lambda data: data.replace(coin_bytes("COIN"), coin_bytes("HIVE")))), ACTIVE, "other_symbols"
    ),
    # changed after signing
    Way("another amount", altered(amount=Asset(10_000, COIN)), ACTIVE, "altered_field"),
    Way("another symbol", altered(amount=Asset(1000, SBD)), ACTIVE, "altered_field"),
    Way(
        "sender and receiver swapped",
        altered(operation=Transfer("bob", "alice", ONE, "hi"), from_="alice", to="bob"),
        ACTIVE,
        "altered_field",
    ),
    Way("an expiration in local time", altered(head={"expiration": 1800}), ACTIVE, "altered_field"),
    Way("another reference block", altered(head={"ref_block_num": 0, "ref_block_prefix": 1}), ACTIVE, "altered_field"),
    Way("a memo without its blanks", altered(operation=Transfer("alice", "bob", ONE, "hi "), memo="hi"), ACTIVE, "altered_field"),
    Way("JSON written anew", altered(JSON, "posting", json='{"b": 1, "a": [1, 2]}'), POSTING, "altered_field"),
    Way(
        "JSON in another order",
        altered(CustomJson(required_posting_auths=("alice",), id="test", json='{"a":[1,2],"b":1}'), "posting", json='{"b":1,"a":[1,2]}'),
        POSTING,
        "altered_field",
    ),
    Way("a name in lower case", altered(operation=Transfer("alice", "Bob", ONE, ""), to="bob"), ACTIVE, "altered_field"),
    Way("a weight in another unit", altered(Vote("alice", "alice", "hello", 100), "posting", weight=10_000), POSTING, "altered_field"),
    # other serialisations
    Way(
        "control characters as beem packs them",
        with_digest(body(lambda data: data.replace(b"\x03a\x02b", b"\x07au0002b")), Transfer("alice", "bob", ONE, "a\x02b")),
        ACTIVE,
        "other_serialization",
    ),
    Way("an escrow as beem packs it", with_digest(beem_escrow, ESCROW), ACTIVE, "other_serialization"),
    Way("no extensions", with_digest(body(lambda data: data[:-1])), ACTIVE, "other_serialization"),
    Way("symbols as numbers", with_digest(body(lambda data: data.replace(coin_bytes("COIN"), NAI_COIN))), ACTIVE, "other_serialization"),
    Way("no chain id in the digest", with_digest(lambda world, trx: sha256(trx.body).digest()), ACTIVE, "other_serialization"),
    # too many, unreadable
    Way(
        "a signature too many",
        signed(TRANSFER, by=(("alice", "active"), ("bob", "active"))),
        "irrelevant_signature",
        "irrelevant_signature",
    ),
    Way(
        "the posting key as well",
        signed(TRANSFER, by=(("alice", "posting"), ("alice", "active"))),
        "irrelevant_signature",
        "irrelevant_signature",
    ),
    Way(
        "the same key twice", signed(TRANSFER, by=(("alice", "active"), ("alice", "active"))), "duplicate_signature", "duplicate_signature"
    ),
    Way("authorities that exclude each other", signed(TRANSFER, Vote("alice", "alice", "hello", 1)), "mixed_authorities"),
    Way("a signature that is cut", written(lambda trx: trx.update(signatures=["1f"])), "signature_not_recoverable"),
    Way("a signature with a wrong header", written(lambda trx: trx.update(signatures=[130 * "f"])), "malformed_signature"),
    Way(
        "a signature that isn't canonical",
        written(lambda trx: trx.update(signatures=["20" + 64 * "1" + 64 * "f"])),
        "signature_not_canonical",
    ),
)
