"""The memory of a codec is bounded: it stores functions only for declared kinds, and nothing for each value that it decodes."""

import ast

from state.plugins.follow.operations import FollowOperation, packed_operations
from tests.helpers.nodes import dev_chain, make_block
from tests.helpers.sources import sources

MAKERS = {"packer", "unpacker", "dumper", "parser", "unpack"}


def test_decoding_blocks_and_custom_operations_retains_nothing() -> None:
    chain = dev_chain()
    wire, block = chain.state.wire, make_block(chain)
    shown = wire.block_to_json(block)
    packed = wire.codecs.pack(FollowOperation("alice", "bob", ("blog",)))
    sizes = set()
    for _ in range(3):
        assert wire.block_from_json(shown).id == block.id
        packed_operations(wire.codecs, b"\x01\x00" + packed)
        packed_operations(wire.codecs, b"\x00" + packed)
        sizes.add(len(wire.codecs._made))
    assert len(sizes) == 1


def test_calls_that_ask_for_functions_create_no_kind() -> None:
    """Kinds are compared by identity. If the call created a new kind each time, the codec's cache would grow with every call."""
    found = [
        f"{source.path}:{node.lineno}"
        for source in sources("state", "rpc", "node")
        if not source.path.startswith("state/protocol/codec/") and any(f".{maker}(" in source.text for maker in MAKERS)
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKERS
        if node.args
        and isinstance(node.args[0], ast.Call)
        and isinstance(node.args[0].func, ast.Name)
        and node.args[0].func.id[0].isupper()
    ]
    assert found == []
