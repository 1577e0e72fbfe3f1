"""Program of a worker process: `python -P -m node.key_recovery.worker`. It reads batches from its standard input and writes the answers to
its standard output. It exits when the input ends, which also happens if the parent is killed.

It imports only modules that recovery needs, so that it starts fast and stays small.
"""

import os
import sys
from struct import Struct as Layout
from zlib import crc32

from state.protocol.keys.records import recover_records

HEAD = Layout("<III")
"""Header of each batch and answer: number, size in bytes, and checksum (0 for a batch)."""


def main() -> None:
    """Answer batches until the input ends."""
    batches = os.fdopen(0, "rb")
    while len(head := batches.read(HEAD.size)) == HEAD.size:
        number, size, _ = HEAD.unpack(head)
        records = batches.read(size)
        if len(records) < size:
            return
        answer = recover_records(records)
        write(HEAD.pack(number, len(answer), checksum(records, answer)) + answer)


def checksum(records: bytes, answer: bytes) -> int:
    """Return a checksum of an answer and of the records that it answers. With it, the node never uses an answer for the records of another
    batch.
    """
    return crc32(answer, crc32(records))


def write(data: bytes) -> None:
    """Write all data. Exit if the reader has closed the pipe."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        sys.exit()


if __name__ == "__main__":
    main()
