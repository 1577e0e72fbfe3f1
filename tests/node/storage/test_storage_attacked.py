"""The attacks on the file layer, a part of those that `bin/test attack` makes: losses of power, kills, failing disks, damaged files."""

from tests.attack import damage, power


def test_losses_of_power() -> None:
    counts = power.run(60, 1000)
    assert min(counts[name] for name in ("starts", "syncs", "switches", "kills", "losses of power", "failures")) > 0


def test_damaged_files() -> None:
    counts = damage.run(200, 1000)
    assert min(counts.values()) > 40
    assert set(counts) == {"refused", "started, as it was"}
