"""Complete copies of recorded chains: the rest of the blocks, and the recorded events after the copy, have the same outcomes on both."""

from pathlib import Path

import pytest

from tests.fork.copies import compare

# Cases with the heights at which they are copied, all from hardfork 20 on. `bin/test forks` copies every case at three heights.
FEW = {"rewards": 60, "communities": 27, "smt_tokens": 25, "walk_hardforks": 2233, "walk_random": 2200}


@pytest.mark.parametrize(("case", "height"), FEW.items())
def test_a_recorded_chain_and_its_copy_answer_alike(case: str, height: int, tmp_path: Path) -> None:
    assert compare(case, height, tmp_path) == []
