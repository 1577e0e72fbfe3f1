"""The program of a process that recovers keys: `python -P -m node.key_recovery.worker`. It reads batches from its standard input and
answers each on its standard output, until the input ends: with the process that has started it, however that ends.

It imports as little as recovering needs, so that it starts soon and stays small.
"""

import os
import sys
from struct import Struct as Layout
from zlib import crc32

from state.protocol.keys.records import recover_records

HEAD = Layout("<III")
"""In front of each batch and of each answer: its number, how many bytes follow, and in front of an answer the checksum."""


def main() -> None:
    """Answer batches until there are none."""
    batches = os.fdopen(0, "rb")
    while len(head := batches.read(HEAD.size)) == HEAD.size:
        number, size, _ = HEAD.unpack(head)
        records = batches.read(size)
        if len(records) < size:
            return
        answer = recover_records(records)
        write(HEAD.pack(number, len(answer), checksum(records, answer)) + answer)


def checksum(records: bytes, answer: bytes) -> int:
    """Return a checksum of an answer and of the records that it is for: another batch's keys never count for these signatures."""
    return crc32(answer, crc32(records))


def write(data: bytes) -> None:
    """Write all of some bytes; ends the process when nobody reads them any more."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        sys.exit()


if __name__ == "__main__":
    main()
