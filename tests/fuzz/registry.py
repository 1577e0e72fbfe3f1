"""All fuzzing targets, keyed by name. This module imports none of them, so that a parser is loaded only when its target is built."""

from tests.fuzz.target import Target

WIRES = ("state.protocol", "state.operations")
FILES = ("node.storage",)
CONNECTIONS = ("rpc.http", "hypercorn.protocol", "hypercorn.trio", "h11", "wsproto", "h2")

# The shares add up to nearly 1000; the rest is for the sequences of operations. Measured on one of two busy cores: 200 (WebSocket) to
# 12,000 (keys) inputs a second; with these shares 10^7 inputs take about an hour of one such core.
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("transactions", "wires", 220, WIRES),
        Target("transactions_json", "wires", 100, WIRES, is_json=True),
        Target("blocks", "wires", 140, WIRES, 8192),
        Target("blocks_json", "wires", 80, WIRES, 8192, is_json=True),
        Target("rpc", "requests", 130, ("rpc",), is_json=True),
        Target("block_file", "files", 80, FILES, 8192),
        Target("block_log", "files", 50, FILES, 8192),
        Target("specs", "files", 30, ("node.specs.builder",)),
        Target("snapshots", "snapshots", 20, ("node.snapshots.file",), 8192),
        Target("sections", "sections", 20, ("state.snapshot", "state.store", "state.tables.texts", "state.plugins"), 512),
        Target("keys", "texts", 80, ("state.protocol.keys", "state.protocol.values"), 512),
        Target("signatures", "texts", 30, ("state.protocol.keys",), 128),
        Target("edits", "texts", 40, ("state.effects.body_patch",)),
        Target("http", "connections", 12, CONNECTIONS),
        Target("http2", "connections", 6, CONNECTIONS),
        Target("websocket", "connections", 12, CONNECTIONS),
    )
}
