"""A process that verifies one range: it reads it as JSON from stdin, and writes lines of JSON: numbers of blocks, then the outcome."""

import sys

import msgspec

from node.replay.parallel.ranges import Range, RangeResult, verify_range


def main() -> None:
    """Verify the range that stdin names."""
    part = msgspec.json.decode(sys.stdin.buffer.read(), type=Range)
    write(verify_range(part, write))


def write(value: int | RangeResult) -> None:
    """Write a line."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
