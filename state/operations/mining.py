"""Mining, which hardforks have switched off, and reports of witnesses that sign twice. Declarations and what can be refused
without state; sources: operations.md §13, wire-format.md §4.1, §4.3.
"""

from __future__ import annotations

from hashlib import sha224, sha256
from typing import Annotated

from msgspec import Struct, field

from state.operations import checks
from state.operations.witnesses import LegacyChainProperties, PowChainProperties
from state.protocol import pow as work
from state.protocol.authority import key_authority
from state.protocol.codec import Codecs
from state.protocol.errors import require
from state.protocol.kinds import (
    AccountName,
    Dump,
    Hash160,
    Hash256,
    Int,
    Kind,
    Many,
    Pack,
    Parse,
    PublicKey,
    Signature,
    Text,
    Time,
    UInt32,
    UInt64,
    Unpack,
    Variant,
)
from state.protocol.operation import Needed, Operation, operation
from state.protocol.signatures import SIGNATURE_SIZE, Canonical, recover
from state.protocol.transaction import ZERO_ID, HeaderExtensions, block_number

# ------------------------------------------------------------------ pow


class PowWork(Struct, frozen=True):
    """A proof of work by signatures: whose it is, what was signed, the signature, and what came out."""

    worker: PublicKey = bytes(33)
    input: Hash256 = bytes(32)
    signature: Signature = bytes(65)
    work: Hash256 = bytes(32)


@operation(14, impacted=("worker_account",))
class Pow(Operation, frozen=True):
    """Mine a block of the first weeks; needs no signature."""

    worker_account: AccountName = ""
    block_id: Hash160 = ZERO_ID
    nonce: UInt64 = 0
    work: PowWork = PowWork()
    props: PowChainProperties = field(default_factory=PowChainProperties)

    def validate(self, codecs: Codecs) -> None:
        checks.require_chain_properties(self.props, codecs, canonical=True)
        checks.require_account_name(self.worker_account)
        done = self.work
        work.require_pow_input(self.block_id, self.nonce, done.input)
        work.require_pow(done.worker, done.input, done.signature, done.work)


# ------------------------------------------------------------------ pow2


class Pow2Input(Struct, frozen=True):
    """What a proof of work is about: its packed form is what must be worked on."""

    worker_account: AccountName = ""
    prev_block: Hash160 = ZERO_ID
    nonce: UInt64 = 0


class Pow2Work(Struct, frozen=True):
    """A proof of work by signatures, of which only the difficulty is told."""

    TAG = 0
    input: Pow2Input = Pow2Input()
    pow_summary: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        """The difficulty is the one of the input."""
        checks.require_account_name(self.input.worker_account)
        work.require_pow2(codecs.pack(self.input), self.pow_summary)


class EquihashProof(Struct, frozen=True):
    """Inputs whose hashes cancel each other out."""

    n: UInt32 = 0
    k: UInt32 = 0
    seed: Hash256 = bytes(32)
    inputs: Annotated[tuple[int, ...], Many(Int(32))] = ()


class EquihashPow(Struct, frozen=True):
    """A proof of work by memory."""

    TAG = 1
    input: Pow2Input = Pow2Input()
    proof: EquihashProof = EquihashProof()
    prev_block: Hash160 = ZERO_ID
    pow_summary: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        """The proof holds for the input, and the difficulty is its own."""
        checks.require_account_name(self.input.worker_account)
        proof = self.proof
        work.require_equihash(codecs.pack(self.input), proof.n, proof.k, proof.seed, proof.inputs, self.pow_summary)


Pow2Variant = Annotated[
    Pow2Work | EquihashPow,
    Variant(("pow2", Pow2Work), ("equihash_pow", EquihashPow), legacy_pairs=True),
]


@operation(30)
class Pow2(Operation, frozen=True):
    """Mine a block of the first year; a key creates the miner's account with it."""

    work: Pow2Variant = Pow2Work()
    new_owner_key: PublicKey | None = None
    props: LegacyChainProperties = field(default_factory=LegacyChainProperties)

    def authorities(self, needed: Needed) -> None:
        if self.new_owner_key is None:
            needed.active.add(self.work.input.worker_account)
        else:
            needed.other.append(key_authority(self.new_owner_key))

    def impacted(self) -> set[str]:
        return {self.work.input.worker_account}

    def validate(self, codecs: Codecs) -> None:
        checks.require_chain_properties(self.props, codecs, canonical=True)
        self.work.validate(codecs)


# ------------------------------------------------------------------ reports


class SignedHeader(Struct, frozen=True):
    """A block header with its signature, as the proof that a witness signed it."""

    previous: Hash160 = ZERO_ID
    timestamp: Time = 0
    witness: Text = ""
    transaction_merkle_root: Hash160 = ZERO_ID
    extensions: HeaderExtensions = ()
    witness_signature: Signature = bytes(SIGNATURE_SIZE)

    def signer(self, codecs: Codecs) -> bytes:
        """The key that signed it; a signature that nobody can have made is refused."""
        digest = sha256(codecs.pack(self)[:-SIGNATURE_SIZE]).digest()
        return recover(self.witness_signature, digest, Canonical.bip_0062)

    def id(self, codecs: Codecs) -> bytes:
        """The id of its block: the block's number, then what a hash leaves room for."""
        number = (block_number(self.previous) + 1) % (1 << 32)
        return number.to_bytes(4, "big") + sha224(codecs.pack(self)).digest()[4:20]


class SharedForm(Kind):
    """What the condenser writes the way the other groups do, although elsewhere it has its own form for it."""

    def __init__(self, element: type) -> None:
        self.element = element
        self.default = element()

    def packer(self, codecs: Codecs) -> Pack:
        return codecs.packer(self.element)

    def unpacker(self, codecs: Codecs) -> Unpack:
        return codecs.unpacker(self.element)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(self.element)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return codecs.parser(self.element)


ReportedBlock = Annotated[SignedHeader, SharedForm(SignedHeader)]


@operation(16)
class ReportOverProduction(Operation, frozen=True):
    """Report a witness that signed two blocks for one time; needs no signature."""

    reporter: AccountName = ""
    first_block: ReportedBlock = SignedHeader()
    second_block: ReportedBlock = SignedHeader()

    def validate(self, codecs: Codecs) -> None:
        first, second = self.first_block, self.second_block
        checks.require_account_name(self.reporter)
        checks.require_account_name(first.witness)
        require(first.witness == second.witness, condition="first_block.witness == second_block.witness")
        require(first.timestamp == second.timestamp, condition="first_block.timestamp == second_block.timestamp")
        require(first.signer(codecs) == second.signer(codecs), condition="first_block.signee() == second_block.signee()")
        require(first.id(codecs) != second.id(codecs), condition="first_block.id() != second_block.id()")
