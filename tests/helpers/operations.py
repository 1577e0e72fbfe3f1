"""The operations of the `op.*` vectors as objects, on the vectors' chain, for the tests of operations."""

from msgspec.structs import replace

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.operation import Operation, OperationKind
from tests.conftest import VECTORS, read_json

# The vectors' chain: the product's symbols with the key prefix of the public chain.
CODECS = ChainCodecs(replace(load_spec("testnet"), key_prefix="STM"))
KIND = OperationKind()
SAMPLES = {vector["id"].split(".")[2]: vector for vector in read_json(VECTORS / "wire.json")["vectors"] if vector["group"] == "op"}
KEY = bytes.fromhex("0375a6dfff7649647cc074d86386862087a154088d952da64af9dac429559a8d0c")


def sample(name: str) -> Operation:
    """Return the operation in the vector with this name."""
    parsed: Operation = CODECS.parser(KIND)(SAMPLES[name]["input"]["json"])
    return parsed
