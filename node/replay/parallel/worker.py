"""Process that verifies one range. It reads the range as JSON from stdin, and writes lines of JSON to stdout: block numbers, then the
result.
"""

import sys

import msgspec

from node.replay.parallel.ranges import Range, RangeResult, verify_range


def main() -> None:
    """Verify the range given on stdin."""
    part = msgspec.json.decode(sys.stdin.buffer.read(), type=Range)
    write(verify_range(part, write))


def write(value: int | RangeResult) -> None:
    """Write a value as a line of JSON to stdout."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
