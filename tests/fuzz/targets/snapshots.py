"""The target for snapshot files. Digests cover their whole content, so the digests of an input are corrected first. The fuzzer then reaches
the code behind the digest check.
"""

import contextlib
import json
from hashlib import blake2b
from importlib import import_module
from typing import Any

from node.runtime.errors import FileError
from node.storage.disk import SystemDisk
from tests.fuzz.target import Run
from tests.fuzz.targets.files import scratch, write

START_SIZE, PLACE_SIZE, DIGEST_SIZE = 16, 8, 32
CHUNKS_SIZE_MAX = 1 << 24  # bytes read from one input


def snapshots() -> Run:
    """Return a target that opens a snapshot, checks it, and unpacks its sections."""
    # Imported by name, so that this module loads even without the snapshot modules.
    opened: Any = import_module("node.snapshots.file").Snapshot
    path, disk = scratch() / "0000000001.snapshot", SystemDisk()

    def run(data: bytes) -> None:
        write(path, with_digests(data))
        with contextlib.suppress(FileError):
            snapshot = opened(path, disk)
            try:
                snapshot.check()
                for section in snapshot.index.sections:
                    size = 0
                    for chunk in snapshot.chunks(section.name):
                        size += len(chunk)
                        if size > CHUNKS_SIZE_MAX:
                            break
            finally:
                snapshot.close()

    return run


def with_digests(data: bytes) -> bytes:
    """Return the file with correct digests, as far as its index can be parsed."""
    tail = PLACE_SIZE + DIGEST_SIZE
    begin = int.from_bytes(data[-tail:-DIGEST_SIZE], "little")
    if not START_SIZE <= begin <= len(data) - tail:
        return data
    index = data[begin:-tail]
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        value = json.loads(index)
        for section in value["sections"]:
            section["digest"] = digest(data[section["start"] : section["start"] + section["size"]]).hex()
        index = json.dumps(value).encode()
    end = index + begin.to_bytes(PLACE_SIZE, "little")
    return data[:begin] + end + digest(data[:START_SIZE] + end)


def digest(data: bytes) -> bytes:
    """Return the digest that the format uses."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest()
