"""Transactions and blocks on the wire, with values derived from their bytes.

`Wire` is a chain's codec for transactions and blocks: bytes and both JSON forms, ids and digests. The module also computes merkle roots,
and reads and writes the frames of a block log. Source: wire-format.md §2, §3, §7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha224, sha256
from struct import Struct as Layout
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from state.protocol.codec.codecs import ChainCodecs, past_end, reading
from state.protocol.codec.fields import kind_of_hint
from state.protocol.codec.kinds import (
    AccountName,
    ChainVariant,
    Codecs,
    Dump,
    Extensions,
    HardforkVersion,
    Hash,
    Hash160,
    Kind,
    Many,
    NotCanonical,
    Pack,
    Parse,
    Release,
    Signature,
    Text,
    Time,
    UInt16,
    UInt32,
    Unpack,
    Variant,
    Void,
    pack_length,
    unpack_count,
)
from state.protocol.errors import require
from state.protocol.keys.keys import ripemd160
from state.protocol.keys.signatures import Canonical, is_canonical, recover
from state.protocol.operation import OperationKind, Operations
from state.protocol.values.convert import to_array, to_object

if TYPE_CHECKING:
    from state.protocol.spec import ChainSpec

ID_BYTES = 20
SIGNATURE_BYTES = 65
ZERO_ID = bytes(ID_BYTES)
VERSION_REPORT, HARDFORK_VOTE, REQUIRED_ACTIONS, OPTIONAL_ACTIONS = 1, 2, 3, 4


HEAD = Layout("<HII")  # reference block, its prefix, expiration
OPERATION = OperationKind()
OPERATIONS = Many(OPERATION)
EXTENSIONS = kind_of_hint(Extensions)
SIGNATURE = Hash(SIGNATURE_BYTES)


class SignedTransaction(Struct, eq=False, gc=False):
    """A transaction with its signatures.

    The fields after the signatures are derived from the fields on the wire. `Wire.seal` computes the packed body, the id (20 bytes) and the
    packed size. The merkle leaf (`leaf_of`) and the signing keys are computed on first use. Keys can also be prefetched.
    """

    ref_block_num: UInt16 = 0
    ref_block_prefix: UInt32 = 0
    expiration: Time = 0
    operations: Operations = ()
    extensions: Extensions = ()
    signatures: Annotated[tuple[bytes, ...], Many(Hash(65))] = ()
    body: bytes = b""
    id: bytes = ZERO_ID
    size: int = 0
    leaf: bytes = b""
    signers: tuple[bytes, ...] | None = None
    # Units of work when it was last applied as a pending transaction.
    units: int = 0


class HardforkVote(Struct, frozen=True):
    """A witness's vote for a hardfork and its time, in a block header."""

    hf_version: HardforkVersion = 0
    hf_time: Time = 0


class ExampleRequiredAction(Struct, frozen=True):
    """The only required automated action of the test build. It has no effect."""

    TAG = 0
    account: AccountName = ""


class ExampleOptionalAction(Struct, frozen=True):
    """The only optional automated action of the test build. It has no effect."""

    TAG = 0
    account: AccountName = ""


RequiredAction = Variant(("example_required_action", ExampleRequiredAction))
OptionalAction = Variant(("example_optional_action", ExampleOptionalAction))


class HeaderExtension(ChainVariant):
    """An element of a block header's extensions. Actions exist only in the test build.

    The trailing `>` in the type names of actions is an accident of the reference (wire-format.md §1.13).
    """

    default = None

    def variant(self, codecs: Codecs) -> Variant:
        members: list[tuple[str, Any]] = [("void_t", Void), ("version", Release()), ("hardfork_version_vote", HardforkVoteKind)]
        if codecs.spec.is_test:
            members += [("required_automated_action>", Many(RequiredAction)), ("optional_automated_action>", Many(OptionalAction))]
        return Variant(*members, legacy_pairs=True)


class _HardforkVoteKind(Kind):
    """Kind of `HardforkVote` as a member of a variant. A separate kind is necessary because the class has no tag."""

    default = HardforkVote()

    def packer(self, codecs: Codecs) -> Pack:
        return codecs.packer(HardforkVote)

    def unpacker(self, codecs: Codecs) -> Unpack:
        return codecs.unpacker(HardforkVote)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(HardforkVote, legacy)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return codecs.parser(HardforkVote, legacy)


HardforkVoteKind = _HardforkVoteKind()
HeaderExtensions = Annotated[tuple[Any, ...], Many(HeaderExtension(), ascending=True)]


class BlockHeader(Struct):
    """The part of a block that its witness signs."""

    previous: Hash160 = ZERO_ID
    timestamp: Time = 0
    witness: Text = ""
    transaction_merkle_root: Hash160 = ZERO_ID
    extensions: HeaderExtensions = ()


class SignedBlock(Struct, eq=False, gc=False):
    """A block with its signature and transactions.

    The fields that are not on the wire are derived from the others. `Wire.seal_block` sets the number, id, header digest and packed size.
    `signer` is the signing key, if known. `packed` contains the bytes from which the block was read, if they are canonical.
    """

    previous: Hash160 = ZERO_ID
    timestamp: Time = 0
    witness: Text = ""
    transaction_merkle_root: Hash160 = ZERO_ID
    extensions: HeaderExtensions = ()
    witness_signature: Signature = bytes(65)
    transactions: tuple[SignedTransaction, ...] = ()
    number: int = 0
    id: bytes = ZERO_ID
    digest: bytes = b""
    size: int = 0
    packed_header: bytes = b""
    signer: bytes | None = None
    packed: bytes = b""


class Wire:
    """The wire format of one chain. `codecs` handles every declared type. Returned transactions and blocks are sealed."""

    def __init__(self, spec: ChainSpec) -> None:
        self.spec = spec
        self.codecs = ChainCodecs(spec)
        self._pack_operation = self.codecs.packer(OPERATION)
        self._pack_extensions = self.codecs.packer(EXTENSIONS)
        self._read_transaction = self._transaction_reader(self.codecs)
        self._read_canonical = self._transaction_reader(ChainCodecs(spec, canonical=True))
        self._read_operation, self._read_operations = self.codecs.unpacker(OPERATION), self.codecs.unpacker(OPERATIONS)
        self._read_extensions = self.codecs.unpacker(EXTENSIONS)
        self._pack_header = self.codecs.packer(BlockHeader)
        self._unpack_header = self.codecs.unpacker(BlockHeader)

    # -------------------------------------------------------------- transactions

    def pack_body(self, trx: SignedTransaction) -> bytes:
        """Encode a transaction without its signatures: the part that is signed."""
        pack = self._pack_operation
        return b"".join(
            (
                HEAD.pack(trx.ref_block_num, trx.ref_block_prefix, trx.expiration),
                pack_length(len(trx.operations)),
                *[pack(operation) for operation in trx.operations],
                self._pack_extensions(trx.extensions),
            )
        )

    def seal(self, trx: SignedTransaction) -> SignedTransaction:
        """Compute the derived values of a transaction from its packed form (wire-format.md §1.2)."""
        trx.body = body = self.pack_body(trx)
        trx.id = sha256(body).digest()[:ID_BYTES]
        trx.size = len(packed_transaction(trx))
        trx.leaf, trx.signers = b"", None
        return trx

    def pack_transaction(self, trx: SignedTransaction) -> bytes:
        """Encode a signed transaction."""
        return packed_transaction(trx)

    def unpack_transaction(self, data: bytes) -> SignedTransaction:
        """Decode a signed transaction. Trailing bytes are ignored. Raises ChainError."""
        trx: SignedTransaction = reading(self._unpack_signed, data, 0)[0]
        return trx

    def unpack_operations(self, data: bytes) -> tuple[bytes, tuple[Any, ...]]:
        """Decode the id and operations of a transaction that this class packed. Trailing bytes are ignored.

        Account history uses this for its pages, because `unpack_transaction` takes one and a half times as long.
        """
        found: tuple[bytes, tuple[Any, ...]] = reading(self._unpack_operations, data, 0)[0]
        return found

    def _unpack_operations(self, data: bytes, start: int) -> tuple[tuple[bytes, tuple[Any, ...]], int]:
        i = start + HEAD.size
        if data[i] == 1:  # as in `_transaction_reader`
            operation, i = self._read_operation(data, i + 1)
            operations = (operation,)
        else:
            operations, i = self._read_operations(data, i)
        end = self._read_extensions(data, i)[1] if data[i] else i + 1
        return (sha256(data[start:end]).digest()[:ID_BYTES], operations), end

    def _unpack_signed(self, data: bytes, i: int) -> tuple[SignedTransaction, int]:
        """Decode a transaction and seal it.

        The id is the hash of the repacked value. For canonical bytes, the normal case, hashing the original bytes gives the same id without
        packing. For other bytes that hash would differ from the reference's id.
        """
        try:
            return self._read_canonical(data, i)
        except NotCanonical:
            trx, end = self._read_transaction(data, i)
            return self.seal(trx), end

    def _transaction_reader(self, codecs: Codecs) -> Callable[[bytes, int], tuple[SignedTransaction, int]]:
        """Return an unpacker of signed transactions. With canonical codecs, the transactions that it returns are sealed."""
        canonical = codecs.canonical
        read_operation, read_operations = codecs.unpacker(OPERATION), codecs.unpacker(OPERATIONS)
        read_extensions = codecs.unpacker(EXTENSIONS)
        read_head, head_bytes = HEAD.unpack_from, HEAD.size

        def unpack(data: bytes, start: int) -> tuple[SignedTransaction, int]:
            number, prefix, expiration = read_head(data, start)
            i = start + head_bytes
            n = data[i]
            if n == 1:  # fast path for nearly all transactions
                operation, i = read_operation(data, i + 1)
                operations = (operation,)
            else:
                operations, i = read_operations(data, i)
            extensions, i = read_extensions(data, i) if data[i] else ((), i + 1)
            body_end = i
            n = data[i]
            i += 1
            if n != 1 or i == len(data):
                n, i = unpack_count(data, i - 1, canonical)
            end = i + SIGNATURE_BYTES * n
            if end > len(data):
                raise past_end(data, end)
            signatures = (data[i:end],) if n == 1 else tuple([data[j : j + SIGNATURE_BYTES] for j in range(i, end, SIGNATURE_BYTES)])
            if not canonical:
                return SignedTransaction(number, prefix, expiration, operations, extensions, signatures), end
            body = data[start:body_end]
            trx_id = sha256(body).digest()[:ID_BYTES]
            return SignedTransaction(number, prefix, expiration, operations, extensions, signatures, body, trx_id, end - start), end

        return unpack

    def transaction_from_json(self, value: Any, legacy: bool = False) -> SignedTransaction:
        """Parse a signed transaction from JSON: the condenser's form if `legacy`, else that of the other API groups."""
        trx: SignedTransaction = self.codecs.parser(SignedTransaction, legacy)(value)
        return self.seal(trx)

    def transaction_to_json(self, trx: SignedTransaction, legacy: bool = False) -> dict[str, Any]:
        """Return the JSON form of a signed transaction: the condenser's if `legacy`, else that of the other API groups."""
        dump = self.codecs.dumper(SignedTransaction, legacy)
        assert dump is not None
        shown: dict[str, Any] = dump(trx)
        return shown

    def signature_digest(self, trx: SignedTransaction) -> bytes:
        """Return the digest that a transaction's signers sign."""
        return sha256(self.spec.chain_id + trx.body).digest()

    def signers(self, trx: SignedTransaction, canonical: Canonical) -> tuple[bytes, ...]:
        """Return the signing keys in the order of the signatures. Each key is recovered only once. Refuse invalid signatures.

        The canonical rule is checked at each call, since it changes with a hardfork and prefetched keys were recovered without it.
        """
        keys = trx.signers
        if keys is not None:
            for signature in trx.signatures:
                if not is_canonical(signature, canonical):
                    break
            else:
                return keys
        digest = self.signature_digest(trx)
        keys = trx.signers = tuple([recover(signature, digest, canonical) for signature in trx.signatures])
        return keys

    # -------------------------------------------------------------- blocks

    def seal_block(self, block: SignedBlock) -> SignedBlock:
        """Compute the derived values of a block whose transactions are sealed."""
        header = self._pack_header(block)
        block.number = int.from_bytes(block.previous[:4], "big") + 1
        block.digest = sha256(header).digest()
        block.packed_header = header + block.witness_signature
        block.id = block.number.to_bytes(5, "big")[-4:] + sha224(block.packed_header).digest()[4:20]
        count = len(block.transactions)
        block.size = len(block.packed_header) + len(pack_length(count)) + sum([trx.size for trx in block.transactions])
        block.signer, block.packed = None, b""
        return block

    def block_signer(self, block: SignedBlock, canonical: Canonical) -> bytes:
        """Return the key that signed a block. The key is recovered only once. Refuse an invalid signature."""
        key = block.signer
        if key is None or not is_canonical(block.witness_signature, canonical):
            key = block.signer = recover(block.witness_signature, block.digest, canonical)
        return key

    def sign_block(self, block: SignedBlock, signature: bytes) -> SignedBlock:
        """Set the signature of a sealed block and update its id."""
        block.witness_signature, block.signer, block.packed = signature, None, b""
        block.packed_header = block.packed_header[:-SIGNATURE_BYTES] + signature
        block.id = block.number.to_bytes(5, "big")[-4:] + sha224(block.packed_header).digest()[4:20]
        return block

    def pack_block(self, block: SignedBlock) -> bytes:
        """Encode a block."""
        if block.packed:
            return block.packed
        parts = [block.packed_header, pack_length(len(block.transactions))]
        for trx in block.transactions:
            parts += (trx.body, pack_length(len(trx.signatures)), *trx.signatures)
        return b"".join(parts)

    def unpack_header(self, data: bytes) -> BlockHeader:
        """Decode the header at the start of a block's bytes. Raises ChainError."""
        header: BlockHeader = reading(self._unpack_header, data, 0)[0]
        return header

    def unpack_block(self, data: bytes, start: int = 0) -> tuple[SignedBlock, int]:
        """Decode a block, and return it with the position after it. Raises ChainError."""
        block, end = reading(self._unpack_block, data, start)
        return block, end

    def _unpack_block(self, data: bytes, start: int) -> tuple[SignedBlock, int]:
        head, i = self._unpack_header(data, start)
        signature = data[i : i + 65]
        i += 65
        n, i = unpack_count(data, i)
        transactions, is_canonical, end = self._unpack_transactions(data, i, n)
        block = SignedBlock(
            head.previous, head.timestamp, head.witness, head.transaction_merkle_root, head.extensions, signature, transactions
        )
        self.seal_block(block)
        # The bytes are retained, so that the block needn't be packed when it becomes irreversible (0.9 % of a replay). Bytes that aren't
        # canonical are not retained. They differ in size (a two-byte number in three bytes) or in the packed header.
        if is_canonical and block.size == end - start and data.startswith(block.packed_header, start):
            block.packed = data[start:end]
        return block, end

    def _unpack_transactions(self, data: bytes, i: int, count: int) -> tuple[tuple[SignedTransaction, ...], bool, int]:
        """Decode `count` transactions. Return them, whether all bytes were canonical, and the position after them."""
        transactions, first, read = [], i, self._read_canonical
        try:
            for _ in range(count):
                trx, i = read(data, i)
                transactions.append(trx)
        except NotCanonical:
            transactions, i, read = [], first, self._unpack_signed
            for _ in range(count):
                trx, i = read(data, i)
                transactions.append(trx)
            return tuple(transactions), False, i
        return tuple(transactions), True, i

    def block_from_json(self, value: Any, legacy: bool = False) -> SignedBlock:
        """Parse a block from JSON, in the condenser's form if `legacy`. Ids and keys, which API replies add to a block, are ignored."""
        head = self.codecs.parser(BlockHeader, legacy)(value)
        given = to_object(value)
        signature = self.codecs.parser(SIGNATURE)(given.get("witness_signature", ""))
        listed = to_array(given.get("transactions", []))
        transactions = tuple([self.transaction_from_json(trx, legacy) for trx in listed])
        block = SignedBlock(
            head.previous, head.timestamp, head.witness, head.transaction_merkle_root, head.extensions, signature, transactions
        )
        return self.seal_block(block)

    def header_to_json(self, block: BlockHeader | SignedBlock, legacy: bool = False) -> dict[str, Any]:
        """Return the JSON form of a block header, in the condenser's form if `legacy`, without the signature."""
        dump = self.codecs.dumper(BlockHeader, legacy)
        assert dump is not None
        shown: dict[str, Any] = dump(block)
        return shown

    def block_to_json(self, block: SignedBlock, legacy: bool = False) -> dict[str, Any]:
        """Return the JSON form of a block, in the condenser's form if `legacy`, without the members that API replies add."""
        shown = self.header_to_json(block, legacy)
        shown["witness_signature"] = block.witness_signature.hex()
        shown["transactions"] = [self.transaction_to_json(trx, legacy) for trx in block.transactions]
        return shown


def packed_transaction(trx: SignedTransaction) -> bytes:
    """Encode a sealed transaction."""
    return trx.body + pack_length(len(trx.signatures)) + b"".join(trx.signatures)


def leaf_of(trx: SignedTransaction) -> bytes:
    """Return the merkle leaf of a sealed transaction, computed on first use. A replay of trusted blocks doesn't need it."""
    if not trx.leaf:
        trx.leaf = sha256(packed_transaction(trx)).digest()
    return trx.leaf


def merkle_root(transactions: tuple[SignedTransaction, ...]) -> bytes:
    """Return the merkle root of a block's transactions: the RIPEMD-160 of the top digest, or 20 zero bytes without transactions."""
    level = [leaf_of(trx) for trx in transactions]
    if not level:
        return ZERO_ID
    while len(level) > 1:
        pairs = [sha256(a + b).digest() for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return ripemd160(level[0])


def block_number(block_id: bytes) -> int:
    """Return the block number of a block id: its first four bytes."""
    return int.from_bytes(block_id[:4], "big")


# ------------------------------------------------------------------ block log framing

OFFSET = Layout("<Q")


def frame(packed: bytes, start: int) -> bytes:
    """Return the bytes that append a packed block to a block log of `start` bytes: the block, then its offset in the log."""
    return packed + OFFSET.pack(start)


def frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Return the positions (start, end) of the blocks in a block log, oldest first. Refuses an invalid offset."""
    places = []
    end = len(data)
    while end:
        require(end > 8, "block log is damaged at byte ${at}", condition="offset", at=end)
        start = OFFSET.unpack_from(data, end - 8)[0]
        require(start < end - 8, "block log is damaged at byte ${at}", condition="offset", at=end)
        places.append((start, end - 8))
        end = start
    return iter(places[::-1])
