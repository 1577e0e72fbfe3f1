"""Copies every recorded chain at three heights from hardfork 20 on, and compares all later recorded events on it and on the copy.

`bin/test forks [CASE ...]`
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conformance.play import Player
from tests.conftest import CASES, case_names
from tests.fork.copies import compare

HARDFORK = 20


def heights(case: str) -> list[int]:
    """Return the heights at which a case is copied."""
    player = Player(CASES / case, ())
    first, last = 1, len(player.places)
    while player.chain.state.hardfork < HARDFORK and first < last:
        player.advance(first)
        first += 1
    return sorted({first + (last - first) * part // 10 for part in (2, 5, 8)}) if player.chain.state.hardfork >= HARDFORK else []


def main() -> int:
    """Compare the named cases, or all. Return 1 if there are differences."""
    status = 0
    for case in sys.argv[1:] or case_names():
        for height in heights(case):
            with TemporaryDirectory() as folder:
                found = compare(case, height, Path(folder))
            print(f"{case} at {height}: {'; '.join(found) or 'equal'}", flush=True)
            status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
