"""Prefetched keys of a block: extracts the block's signatures, and stores the recovered keys in the block, where its rules find them.

A stored key only identifies the signer. Each use of the signature still checks the canonical rule (`Wire.signers`, `Wire.block_signer`).
"""

from hashlib import sha256

from state.protocol.keys.records import ANSWER_SIZE, RECORD_SIZE
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire


def records_of(wire: Wire, block: SignedBlock) -> bytes:
    """Return the records of a block's signatures: the header's, then those of the transactions in order.

    The result is b"" if a signature has another size than usual, since then the keys couldn't be assigned.
    """
    chain_id = wire.spec.chain_id
    parts = [block.digest, block.witness_signature]
    for trx in block.transactions:
        signatures = trx.signatures
        # `Wire.signature_digest`, inlined: it runs for each transaction of a replay.
        digest = sha256(chain_id + trx.body).digest()
        if len(signatures) == 1:
            parts += (digest, signatures[0])
        else:
            for signature in signatures:
                parts += (digest, signature)
    records = b"".join(parts)
    return records if len(records) == len(parts) // 2 * RECORD_SIZE else b""


def keep_keys(block: SignedBlock, keys: bytes) -> None:
    """Store the keys that were recovered from a block's signature records in the block. Keys of only zeros are not stored."""
    if keys[0]:
        block.signer = keys[:ANSWER_SIZE]
    at = ANSWER_SIZE
    for trx in block.transactions:
        count = len(trx.signatures)
        end = at + ANSWER_SIZE * count
        if count == 1:
            # `keep_signers`, inlined for nearly all transactions of a replay.
            if keys[at]:
                trx.signers = (keys[at:end],)
        else:
            keep_signers(trx, keys[at:end])
        at = end
    assert at == len(keys)


def signer_records(wire: Wire, trx: SignedTransaction) -> bytes:
    """Return the records from which the keys of a transaction's signatures are recovered."""
    digest = wire.signature_digest(trx)
    return b"".join([digest + signature for signature in trx.signatures])


def keep_signers(trx: SignedTransaction, found: bytes) -> None:
    """Store the keys recovered from a transaction's signature records in the transaction, unless a key consists of only zeros."""
    if all(found[::ANSWER_SIZE]):
        trx.signers = tuple([found[i : i + ANSWER_SIZE] for i in range(0, len(found), ANSWER_SIZE)])


def forget_keys(block: SignedBlock) -> bool:
    """Drop all recovered keys of a block, so that the rules must recover them themselves. Return whether the block had any."""
    had = block.signer is not None or any(trx.signers is not None for trx in block.transactions)
    block.signer = None
    for trx in block.transactions:
        trx.signers = None
    return had
