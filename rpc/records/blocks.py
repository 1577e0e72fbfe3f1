"""Records of blocks, headers and transactions. Source: rpc-api.md §2.1; wire-format.md §5."""

from functools import lru_cache
from typing import Annotated, Any, ClassVar

from msgspec import Struct

from rpc.declare.record_encoder import Json
from state.protocol.codec.kinds import Bool, Extensions, Hash, Hash160, Int32, Many, PublicKey, Signature, Time, UInt16, UInt32
from state.protocol.errors import ChainError
from state.protocol.keys.keys import NULL_KEY, public_key_text
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.operation import OperationKind
from state.protocol.transaction import BlockHeader, SignedBlock, Wire

SIGNERS_KEPT_MAX = 4096


class TransactionRecord(Struct):
    """A transaction (R-trx). In blocks of condenser_api, it also contains its id and its position (R-trx-stored)."""

    APPBASE_ABSENT: ClassVar[tuple[str, ...]] = ("transaction_id", "block_num", "transaction_num")

    ref_block_num: UInt16
    ref_block_prefix: UInt32
    expiration: Time
    operations: Annotated[list[Any], Many(OperationKind())]
    extensions: Extensions
    signatures: Annotated[list[bytes], Many(Hash(65))]
    transaction_id: Hash160
    block_num: UInt32
    transaction_num: UInt32


class BlockRecord(BlockHeader):
    """A block (R-block): the signed block with its id, the key that signed it, and the ids of its transactions."""

    witness_signature: Signature = bytes(65)
    transactions: Annotated[tuple[TransactionRecord, ...], Many(TransactionRecord)] = ()
    block_id: Hash160 = bytes(20)
    signing_key: PublicKey = NULL_KEY
    transaction_ids: Annotated[tuple[bytes, ...], Many(Hash(20))] = ()


class InclusionRecord(Struct):
    """A transaction's position in the chain, or the first block after its expiration (R-sync), read from an `Inclusion`."""

    id: Hash160
    block_num: UInt32
    trx_num: Int32
    expired: Bool


def block_json(wire: Wire, block: SignedBlock, legacy: bool) -> Json:
    """Encode a block with its ids and signing key. With `legacy`, each transaction also has its id and position."""
    shown = wire.block_to_json(block, legacy)
    ids = [trx.id.hex() for trx in block.transactions]
    if legacy:
        for number, (trx, trx_id) in enumerate(zip(shown["transactions"], ids, strict=True)):
            trx |= {"transaction_id": trx_id, "block_num": block.number, "transaction_num": number}
    shown["block_id"] = block.id.hex()
    shown["signing_key"] = public_key_text(block_signer(block.witness_signature, block.digest), wire.spec.key_prefix)
    shown["transaction_ids"] = ids
    return shown


@lru_cache(SIGNERS_KEPT_MAX)
def block_signer(signature: bytes, digest: bytes) -> bytes:
    """Return the key that signed a block, or the null key if the signature is invalid."""
    try:
        return recover(signature, digest, Canonical.bip_0062)
    except ChainError:
        return NULL_KEY
