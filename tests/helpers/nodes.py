"""Shared helpers of the node's tests: small chains with blocks, block files in every format, and a clock driven by trio."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import trio
import zstandard
from msgspec import structs

from node.specs.builder import load_spec
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.slots import scheduled_witness, slot_time
from state.operations.transfers import Transfer
from state.plugins.registry import enable
from state.protocol.keys.keys import derive_secret, secret_from_wif
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.operation import Operation
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire, merkle_root
from state.protocol.values.asset import Asset
from tests.conftest import CASES
from tests.helpers.chains import genesis_spec

DEV = genesis_spec("dev")
SECRET = secret_from_wif(DEV.witness_keys[0])
START = 1_800_000_000  # some time after the genesis of dev, on a slot


def dev_chain(*plugins: str) -> Chain:
    """A dev chain at genesis."""
    return Chain(new_state(DEV, lambda fresh: enable(fresh, plugins)))


def grown_chain(count: int, *plugins: str) -> Chain:
    """Return a dev chain with `count` empty blocks."""
    chain = dev_chain(*plugins)
    for _ in range(count):
        make_block(chain)
    return chain


def make_block(chain: Chain, missed: int = 0) -> SignedBlock:
    """Make the chain's next block after `missed` missed slots."""
    state = chain.state
    return chain.generate_block(slot_time(state, missed + 1), scheduled_witness(state, missed + 1), SECRET)


def empty_blocks(count: int) -> tuple[Wire, list[SignedBlock]]:
    """Return the first blocks of a dev chain without transactions, and its wire format."""
    chain = dev_chain()
    return chain.state.wire, [make_block(chain) for _ in range(count)]


def block_at(chain: Chain, number: int) -> SignedBlock:
    """Return the block of the main branch with this number."""
    block = chain.block_by_number(number)
    assert block is not None
    return block


def copy_of(chain: Chain, last: int | None = None) -> Chain:
    """Return another dev chain with the same plugins and blocks, up to the block `last`, or all."""
    other = dev_chain(*chain.state.plugins)
    for number in range(1, (chain.state.props.head_block_number if last is None else last) + 1):
        other.push_block(structs.replace(block_at(chain, number)))
    return other


def signed_block(chain: Chain, block: SignedBlock, secret: bytes = SECRET) -> SignedBlock:
    """Set the Merkle root of a block, sign it, and return the resulting block."""
    wire = chain.state.wire
    block.transaction_merkle_root = merkle_root(block.transactions)
    wire.seal_block(block)
    block.witness_signature = sign(secret, block.digest, Canonical.bip_0062)
    return wire.seal_block(block)


def signed_transaction(chain: Chain, operations: Iterable[Operation], *secrets: bytes, seconds: int = 60) -> SignedTransaction:
    """Return a transaction, signed with these secrets, that refers to the head block and expires `seconds` after it."""
    props, wire = chain.state.props, chain.state.wire
    trx = SignedTransaction(
        ref_block_num=props.head_block_number & 0xFFFF,
        ref_block_prefix=int.from_bytes(props.head_block_id[4:8], "little"),
        expiration=props.time + seconds,
        operations=tuple(operations),
    )
    digest = wire.signature_digest(wire.seal(trx))
    trx.signatures = tuple(sign(secret, digest, Canonical.bip_0062) for secret in secrets)
    return wire.seal(trx)


def transfer(chain: Chain, memo: str = "", seconds: int = 60) -> SignedTransaction:
    """Return a signed transfer of 0.001 COIN from alice to bob that expires `seconds` after the head block."""
    operation = Transfer("alice", "bob", Asset(1), memo)
    return signed_transaction(chain, [operation], derive_secret("alice", "active", "dev"), seconds=seconds)


def time_text(seconds: int) -> str:
    """Format a time as in JSON."""
    from state.protocol.values import text

    return text.time_text(seconds)


def case_log(name: str) -> Path:
    """The recorded block log of a case."""
    return CASES / name / "block_log"


def case_wire() -> Wire:
    """The wire format of the recorded cases."""
    return Wire(load_spec("steem-testnet"))


def json_lines(wire: Wire, blocks: Iterator[SignedBlock] | list[SignedBlock], legacy: bool = False) -> bytes:
    return b"".join(json.dumps(wire.block_to_json(block, legacy)).encode() + b"\n" for block in blocks)


def write_as(path: Path, data: bytes) -> Path:
    """Write a file, compressed according to its suffix."""
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = zstandard.compress(data)
    path.write_bytes(data)
    return path


def trio_clock() -> int:
    """The clock of a node under trio's clock, in milliseconds since 1970. It shows START when trio's clock shows 0."""
    return START * 1000 + round(trio.current_time() * 1000)


class Watch:
    """A stopwatch that advances by a fixed number of seconds at each reading."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now = seconds, 0.0

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now
