"""Keys that were recovered ahead of a block: which signatures it has, and where their keys are kept until its rules ask for them.

A key that is kept says only who signed. Whether the signature may be used is asked each time it is (`Wire.signers`, `Wire.block_signer`).
"""

from hashlib import sha256

from state.protocol.keys.records import ANSWER_SIZE, RECORD_SIZE
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire


def records_of(wire: Wire, block: SignedBlock) -> bytes:
    """Return the records of a block's signatures: that of its header first, then those of its transactions in their order.

    No bytes are returned for a block that was put together with signatures of another size: its keys couldn't be told apart.
    """
    chain_id = wire.spec.chain_id
    parts = [block.digest, block.witness_signature]
    for trx in block.transactions:
        signatures = trx.signatures
        # `Wire.signature_digest` without the call, for each transaction of a replay.
        digest = sha256(chain_id + trx.body).digest()
        if len(signatures) == 1:
            parts += (digest, signatures[0])
        else:
            for signature in signatures:
                parts += (digest, signature)
    records = b"".join(parts)
    return records if len(records) == len(parts) // 2 * RECORD_SIZE else b""


def keep_keys(block: SignedBlock, keys: bytes) -> None:
    """Keep the answers to the records of a block where its rules look for them; zeros leave the place empty."""
    if keys[0]:
        block.signer = keys[:ANSWER_SIZE]
    at = ANSWER_SIZE
    for trx in block.transactions:
        end = at + ANSWER_SIZE * len(trx.signatures)
        keep_signers(trx, keys[at:end])
        at = end
    assert at == len(keys)


def signer_records(wire: Wire, trx: SignedTransaction) -> bytes:
    """Return the records of a transaction's signatures."""
    digest = wire.signature_digest(trx)
    return b"".join([digest + signature for signature in trx.signatures])


def keep_signers(trx: SignedTransaction, found: bytes) -> None:
    """Keep the answers to the records of a transaction where its rules look for them, unless one of them is zeros."""
    if all(found[::ANSWER_SIZE]):
        trx.signers = tuple([found[i : i + ANSWER_SIZE] for i in range(0, len(found), ANSWER_SIZE)])


def forget_keys(block: SignedBlock) -> bool:
    """Have the rules recover all keys of a block themselves; returns whether any was kept."""
    had = block.signer is not None or any(trx.signers is not None for trx in block.transactions)
    block.signer = None
    for trx in block.transactions:
        trx.signers = None
    return had
