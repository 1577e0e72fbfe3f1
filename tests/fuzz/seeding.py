"""Writes the seed inputs of the targets from recorded cases and vectors: `python -m tests.fuzz.seeding`. Run after adding an operation."""

import gzip
import json
import sys
from collections.abc import Iterator
from typing import Any

import zstandard

from node.specs.builder import SPEC_FOLDER, load_spec
from state.protocol.keys.keys import public_key, public_key_text, secret_from_seed, wif_from_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import OFFSET, Wire, frames
from tests.conformance.run import lines
from tests.conftest import CASES, case_names
from tests.fuzz.target import SEEDS, name_of
from tests.fuzz.targets.connections import SPLIT
from tests.fuzz.targets.sections import CHANGE, HEAD

SIZE_MAX = 300_000  # total size of all seeds, in bytes
SEED_SIZE_MAX = 1500
QUERY_SIZE_MAX = 400
LOG_CASE = "block_feed"
SECTIONS, SECTIONS_APART = 73, 5


def main() -> int:
    """Write all seeds."""
    wire = Wire(load_spec("steem-testnet"))
    transactions, blocks = recorded(wire)
    write("transactions", [wire.pack_transaction(trx) for trx in transactions])
    write("transactions_json", [as_json(wire.transaction_to_json(trx, i % 2 == 0)) for i, trx in enumerate(transactions)])
    write("blocks", [wire.pack_block(block) for block in blocks])
    write("blocks_json", [as_json(wire.block_to_json(block, i % 2 == 0)) for i, block in enumerate(blocks)])
    write("rpc", [*requests(), *(request_of(wire.transaction_to_json(trx)) for trx in transactions[::3])])
    others = {
        "block_file": block_files(),
        "block_log": block_logs(),
        "snapshots": snapshots(),
        "sections": sections(),
        "specs": specs(),
        "keys": keys(),
        "edits": edits(),
    }
    for name, seeds in others.items():
        write(name, list(seeds))
    write(
        "signatures", [sign(secret_from_seed("a"), bytes(31) + bytes([i]), Canonical.bip_0062) + bytes(31) + bytes([i]) for i in range(3)]
    )
    write("http", list(http()))
    write("http2", list(http2()))
    write("websocket", list(websocket()))
    size = sum(path.stat().st_size for path in SEEDS.rglob("*") if path.is_file())
    print(f"{size:,} bytes of seeds")
    return 0 if size <= SIZE_MAX else 1


def write(name: str, seeds: list[bytes]) -> None:
    """Replace the seeds of a target."""
    folder = SEEDS / name
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for seed in seeds:
        (folder / name_of(seed)).write_bytes(seed)


def as_json(value: Any) -> bytes:
    """Encode a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def recorded(wire: Wire) -> tuple[list[Any], list[Any]]:
    """Return recorded transactions and blocks: for each operation a small transaction that begins with it, and some blocks with 0 to 3
    transactions.
    """
    transactions: dict[type, Any] = {}
    blocks: dict[tuple[int, int], Any] = {}
    for case in case_names():
        log = CASES / case / "block_log"
        data = log.read_bytes() if log.exists() else gzip.decompress((CASES / case / "block_log.gz").read_bytes())
        for start, _ in frames(data):
            block = wire.unpack_block(data, start)[0]
            kind = (min(len(block.transactions), 3), len(block.extensions))
            if block.size < SEED_SIZE_MAX and kind not in blocks:
                blocks[kind] = block
            for trx in block.transactions:
                first = type(trx.operations[0])
                if trx.size < SEED_SIZE_MAX and (first not in transactions or trx.size < transactions[first].size):
                    transactions[first] = trx
    return list(transactions.values()), list(blocks.values())


def requests() -> Iterator[bytes]:
    """Yield a small recorded query of each method. Every third one uses the JSON-RPC method `call`."""
    seen: set[str] = set()
    for case in case_names():
        for event in lines(CASES / case / "queries.jsonl"):
            method = event["method"]
            body = as_json({"jsonrpc": "2.0", "id": 1, "method": method, "params": event["params"]})
            if method in seen or len(body) > QUERY_SIZE_MAX or "." not in method:
                continue
            seen.add(method)
            if len(seen) % 3 == 0:
                body = as_json({"jsonrpc": "2.0", "id": 1, "method": "call", "params": [*method.split("."), event["params"]]})
            yield body
    yield b'[{"jsonrpc":"2.0","id":1,"method":"jsonrpc.get_methods"},{"jsonrpc":"2.0","id":"a","method":"rpc.discover"}]'


def request_of(shown: Any) -> bytes:
    """Return the broadcast request of a transaction."""
    return as_json({"jsonrpc": "2.0", "id": 1, "method": "network_broadcast_api.broadcast_transaction", "params": {"trx": shown}})


def log_bytes(count: int) -> bytes:
    """Return the first blocks of a recorded log."""
    data = (CASES / LOG_CASE / "block_log").read_bytes()
    return data[: list(frames(data))[count - 1][1] + OFFSET.size]


def block_files() -> Iterator[bytes]:
    """Yield block files: a log, plain and compressed, and JSON lines."""
    yield log_bytes(4)
    yield gzip.compress(log_bytes(2), mtime=0)
    wire = Wire(load_spec("steem-testnet"))
    block = wire.unpack_block(log_bytes(1))[0]
    yield as_json(wire.block_to_json(block)) + b"\n" + as_json({"block": wire.block_to_json(block, legacy=True)}) + b"\n"


def block_logs() -> Iterator[bytes]:
    """Yield block logs with an index that is valid, missing, torn, or that of another log."""
    for count, indexed, cut in ((1, 1, 0), (4, 4, 0), (3, 0, 0), (4, 3, 5), (2, 4, 0)):
        data = log_bytes(count)
        index = b"".join(OFFSET.pack(start) for start, _ in frames(log_bytes(indexed))) if indexed else b""
        data = data[: len(data) - cut]
        yield len(data).to_bytes(4, "little") + data + index


def snapshots() -> Iterator[bytes]:
    """Yield valid snapshot files: without sections, and with sections of no, one and two chunks."""
    yield snapshot({})
    yield snapshot({"rows": [b"abc" * 50], "none": []})
    yield snapshot({"a": [b"x" * 2000, b"y"], "b": [bytes(range(256))], "c": [b""]})


def sections() -> Iterator[bytes]:
    """Yield changes of one byte, of the first chunk and of the last one of some sections."""
    for number in range(0, SECTIONS, SECTIONS_APART):
        for chunk, position in ((0, 2), (-1, 300)):
            yield HEAD.pack(number, number % 2) + CHANGE.pack(chunk % 256, position, 1, 1) + bytes([number])


def snapshot(sections: dict[str, list[bytes]]) -> bytes:
    """Return a snapshot file of format version 1 (node/snapshots/file.py) with zeros for digests."""
    data, index = b"COINSNAP" + (1).to_bytes(4, "little") + bytes(4), []
    for name, chunks in sections.items():
        packed = [zstandard.compress(chunk, 1) for chunk in chunks]
        framed = b"".join(
            len(each).to_bytes(4, "little") + len(chunk).to_bytes(4, "little") + each for each, chunk in zip(packed, chunks, strict=True)
        )
        index.append({"name": name, "schema": "", "start": len(data), "size": len(framed), "digest": ""})
        data += framed
    chain = {"name": "dev", "chain_id": "00" * 32, "genesis": "00" * 32}
    head = {"number": 1, "block_id": "00" * 20, "time": 1, "digest": "", "block": "", "hardfork_times": [1], "is_changed_by_hand": False}
    end = as_json({"program": "coind", "chain": chain, "head": {**head, "plugins": []}, "sections": index})
    return data + end + len(data).to_bytes(8, "little") + bytes(32)


def specs() -> Iterator[bytes]:
    """Yield the project's chain specs, and small ones based on them."""
    yield from (path.read_bytes() for path in sorted(SPEC_FOLDER.glob("*.toml")))
    yield b'base = "dev"\nplugins = ["tags"]\n[constants]\nCOIN_SBD_INIT_SUPPLY = 1\n'
    yield b'base = "testnet"\nname = "x"\n[symbols]\ncoin = "ABC"\n[[genesis.accounts]]\nnames = ["a-b.c"]\ncoin = "1.000"\n'


def keys() -> Iterator[bytes]:
    """Yield keys in every text format."""
    secret = secret_from_seed("a")
    yield wif_from_secret(secret).encode()
    yield public_key_text(public_key(secret), "TST").encode()
    yield b"TST8GC13uCZbP44HzMLV6zPZGwVQ8Nt4Kji8PapsPiNq1BK153XTX"
    yield b"xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"
    yield b"init-miner.x1"


def edits() -> Iterator[bytes]:
    """Yield an old text with an edit: patches with all kinds of lines, and a new text."""
    old = "The quick brown fox jumps over the lazy dog. äöü 🎈\n" * 3
    for edit in (
        "@@ -1,8 +1,8 @@\n The \n-quick\n+slow\n  bro\n",
        "@@ -5,5 +5,4 @@\n-quick\n+slow%0A\n@@ -40,0 +39,3 @@\n+%C3%A4b\n",
        "@@ -1 +1 @@\n-T\n+%F0%9F%8E%88\n",
        "@@ -9000,2000 +10,0 @@\n-" + "q" * 60,
        "another text",
        "\n@@ -0,0 +1,2 @@\n+%e4x\n",
    ):
        yield len(old).to_bytes(2, "little") + (old + edit).encode()


def http() -> Iterator[bytes]:
    """Yield HTTP/1.1 requests of all kinds."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_version","params":[]}'
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1:8090\r\nContent-Type: application/json\r\n"
    yield head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    yield head + b"Transfer-Encoding: chunked\r\n\r\n10\r\n" + body[:16] + b"\r\n" + SPLIT + b"0;x=y\r\n\r\n"
    yield b"GET /health HTTP/1.0\r\n\r\n"
    yield b"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\nConnection: close\r\n\r\n" * 2
    yield head + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n" + SPLIT + b"12345"
    yield b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, keep-alive\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n"
    yield b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n" + SPLIT + b"HEAD /docs HTTP/1.1\r\nHost: x\r\n\r\n"


def http2() -> Iterator[bytes]:
    """Yield HTTP/2 frames after the preface: settings, a request with a body, priorities, resets, window updates."""
    settings = bytes.fromhex("000000040000000000")
    request = bytes.fromhex("00000e0105000000018286844187") + bytes.fromhex("089d5c0b8170dc")[:7]
    yield settings + request
    yield settings + SPLIT + bytes.fromhex("0000050200000000030000000010") + bytes.fromhex("00000403000000000100000008")
    yield settings + bytes.fromhex("000004080000000000000000ff") + bytes.fromhex("0000080600000000000102030405060708")
    yield settings + bytes.fromhex("000003010500000001828684") + bytes.fromhex("0000080700000000000000000000000000")


def websocket() -> Iterator[bytes]:
    """Yield client frames: text, binary, fragments, ping, close. Their mask is zero, so that they stay readable."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_version","params":[]}'
    yield SPLIT + b"\x81" + bytes([0x80 | len(body)]) + bytes(4) + body
    yield SPLIT + b"\x82\x83" + bytes(4) + b"abc" + b"\x88\x82" + bytes(4) + b"\x03\xe8"
    yield SPLIT + b"\x01\x85" + bytes(4) + body[:5] + b"\x89\x81" + bytes(4) + b"p" + SPLIT + b"\x80\x85" + bytes(4) + body[5:10]
    yield SPLIT + b"\x81\xfe\x00\x10" + bytes(4) + body[:16] + b"\x88\x80" + bytes(4)
    yield SPLIT + b"\x81\xff" + (70).to_bytes(8, "big") + bytes(4) + body[:70]


if __name__ == "__main__":
    sys.exit(main())
