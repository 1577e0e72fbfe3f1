"""Some of the attacks on the files that `bin/test attack` runs: power losses, kills, failing disks and damaged files."""

import pytest

from tests.attack import damage, power


@pytest.mark.parametrize("is_based", [False, True])
def test_power_losses(is_based: bool) -> None:
    counts = power.run(60, 1000, is_based=is_based)
    assert min(counts[name] for name in ("starts", "syncs", "switches", "kills", "losses of power", "failures")) > 0


def test_a_torn_end_that_ends_like_an_offset() -> None:
    # The block that a kill cuts off here ends in eight zeros, as the offset of block 1 does.
    assert power.run(1, 964395680)["kills"] == 1


@pytest.mark.parametrize("is_based", [False, True])
def test_damaged_files(is_based: bool) -> None:
    counts = damage.run(200, 1000, is_based=is_based)
    assert min(counts.values()) > 5
    started = {f"started as it was{how}" for how in ("", ", from the snapshot", ", without the snapshot")}
    assert set(counts) == {"refused", *started}


def test_two_damages_with_equal_checksums() -> None:
    # Equal changes of two bytes, at a distance at which a CRC-32 of CRC-32 checksums doesn't change.
    assert damage.run(1, 570872458) == {"refused": 1}


def test_a_renamed_snapshot_of_another_branch() -> None:
    assert damage.run(1, 158) == {"started as it was, without the snapshot": 1}
