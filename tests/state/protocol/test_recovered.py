"""Verification with keys that were recovered in advance has the same outcome for each signature as verification without them."""

from collections.abc import Callable
from functools import partial

import pytest

from state.protocol.errors import ChainError
from state.protocol.keys.keys import CURVE_ORDER
from state.protocol.keys.records import RECORD_SIZE, recover_records
from state.protocol.keys.signatures import Canonical, is_canonical, sign
from state.protocol.recovered import forget_keys, keep_keys, records_of
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.helpers.nodes import SECRET, dev_chain, make_block, transfer

CHAIN = dev_chain()
WIRE = CHAIN.state.wire


def negated(signature: bytes) -> bytes:
    """Return the equivalent signature with a high S."""
    s = CURVE_ORDER - int.from_bytes(signature[33:], "big")
    return bytes((((signature[0] - 27) ^ 1) + 27,)) + signature[1:33] + s.to_bytes(32, "big")


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "good": lambda signature: signature,
    "of another key": lambda signature: signature[:40] + bytes((signature[40] ^ 1,)) + signature[41:],
    "high": negated,
    "without a header": lambda signature: b"\x1a" + signature[1:],
    "beyond the headers": lambda signature: b"\x23" + signature[1:],
    "uncompressed": lambda signature: bytes((signature[0] - 4,)) + signature[1:],
    "of another point": lambda signature: bytes((signature[0] ^ 1,)) + signature[1:],
    "outside of the curve": lambda signature: signature[:1] + b"\xff" * 32 + signature[33:],
    "zeros": lambda signature: bytes(65),
}


def signed(count: int, memo: str, place: int = 0, change: Callable[[bytes], bytes] = WAYS["good"]) -> SignedTransaction:
    """Return a transfer with `count` signatures. `change` is applied to the one at index `place`."""
    trx = transfer(CHAIN, memo)
    digest = WIRE.signature_digest(trx)
    signatures = [sign(bytes(31) + bytes((n + 1,)), digest, Canonical.bip_0062) for n in range(count)]
    if count:
        signatures[place] = change(signatures[place])
    trx.signatures = tuple(signatures)
    return WIRE.seal(trx)


def block_of(*transactions: SignedTransaction, change: Callable[[bytes], bytes] = WAYS["good"]) -> SignedBlock:
    """Return a block with these transactions. The blocks to which they and the block refer don't exist."""
    block = SignedBlock(timestamp=1_800_000_000, witness="alice", transactions=transactions)
    WIRE.seal_block(block)
    block.witness_signature = change(sign(SECRET, block.digest, Canonical.bip_0062))
    return WIRE.seal_block(block)


def outcomes(block: SignedBlock) -> list[object]:
    """Return the key of each signature of a block under each canonical rule, or the text of the refusal."""
    found: list[object] = []
    for rule in (*Canonical, *reversed(Canonical)):
        reads: list[Callable[[], object]] = [partial(WIRE.block_signer, block, rule)]
        reads += [partial(WIRE.signers, trx, rule) for trx in block.transactions]
        for read in reads:
            try:
                found.append(read())
            except ChainError as error:
                found.append((type(error), error.message()))
    return found


def with_keys(block: SignedBlock) -> SignedBlock:
    """Return the same block with keys recovered in advance."""
    made = WIRE.unpack_block(WIRE.pack_block(block))[0]
    keep_keys(made, recover_records(records_of(WIRE, made)))
    return made


@pytest.mark.parametrize("way", WAYS)
def test_the_outcome_is_the_same_with_stored_keys(way: str) -> None:
    change = WAYS[way]
    one, three = signed(1, "1", 0, change), [signed(3, f"3 {place}", place, change) for place in range(3)]
    block = block_of(signed(1, "first"), one, signed(0, "unsigned"), *three, signed(2, "last"), change=change)
    assert outcomes(with_keys(block)) == outcomes(block)


def test_keys_are_stored_if_all_were_recovered() -> None:
    block = with_keys(block_of(signed(2, "bad", 1, WAYS["zeros"]), signed(2, "high", 1, negated), signed(0, "none"), change=WAYS["zeros"]))
    bad, high, none = block.transactions
    assert block.signer is None
    assert bad.signers is None
    assert none.signers == ()
    # The key was recovered without a canonical rule. The rule that applies refuses the signature.
    assert high.signers is not None
    assert not is_canonical(high.signatures[1], Canonical.bip_0062)
    with pytest.raises(ChainError, match="signature is not canonical"):
        WIRE.signers(high, Canonical.bip_0062)
    assert len(WIRE.signers(high, Canonical.non_canonical)) == 2


def test_stored_keys_are_not_recovered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = block_of(signed(1, "1"), signed(3, "3"))
    block, rule = with_keys(plain), Canonical.bip_0062
    expected = [WIRE.block_signer(plain, rule), *[WIRE.signers(trx, rule) for trx in plain.transactions]]
    monkeypatch.delattr("state.protocol.transaction.recover")
    assert [WIRE.block_signer(block, rule), *[WIRE.signers(trx, rule) for trx in block.transactions]] == expected


def test_keys_can_be_forgotten() -> None:
    block = block_of(signed(1, "1"))
    assert not forget_keys(block)
    assert forget_keys(with_keys(block))
    made = with_keys(block)
    forget_keys(made)
    assert made.signer is None
    assert made.transactions[0].signers is None


def test_sealing_drops_recovered_keys() -> None:
    block = with_keys(block_of(signed(1, "1")))
    assert WIRE.seal(block.transactions[0]).signers is None
    assert WIRE.seal_block(block).signer is None


def test_signatures_of_another_size_have_no_records() -> None:
    block = block_of(signed(1, "1"), signed(1, "2"))
    assert len(records_of(WIRE, block)) == 3 * RECORD_SIZE
    block.transactions[0].signatures = (bytes(64),)
    assert records_of(WIRE, block) == b""


def test_another_chain_has_other_digests() -> None:
    block = make_block(CHAIN)
    trx = transfer(CHAIN)
    other = block_of(trx)
    assert records_of(WIRE, other)[RECORD_SIZE:][:32] == WIRE.signature_digest(trx)
    assert records_of(WIRE, block)[:32] == block.digest
