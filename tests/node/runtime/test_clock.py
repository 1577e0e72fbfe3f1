"""The clock of a chain: it follows the machine's clock, can be ahead of it, and never goes back."""

import pytest

from node.runtime.clock import ChainClock
from tests.helpers.log_capture import capture_logs

HOUR = 3_600_000


class Machine:
    def __init__(self) -> None:
        self.now, self.passed = 100 * HOUR, 0

    def clock(self) -> int:
        return self.now

    def steady(self) -> int:
        return self.passed

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.passed += milliseconds


def clock_of(machine: Machine, start_ms: int | None = None) -> ChainClock:
    """Return a chain's clock that is based on the machine's clock."""
    return ChainClock(machine.clock, start_ms, machine.steady)


def test_the_clock_follows_the_machine() -> None:
    machine = Machine()
    clock = clock_of(machine)
    machine.wait(5)
    assert (clock(), clock.offset_ms, clock.machine()) == (machine.now, 0, machine.now)


def test_the_clock_never_goes_back() -> None:
    machine = Machine()
    clock, start = clock_of(machine), machine.now
    clock.advance_to(start + HOUR)
    assert clock.offset_ms == HOUR
    machine.wait(10)
    assert clock() == start + HOUR + 10
    machine.now -= 2 * HOUR
    assert clock() == start + HOUR
    machine.wait(10)
    assert clock() == start + HOUR + 10
    clock.advance_to(start)
    assert clock() == start + HOUR + 10


@pytest.mark.parametrize("beyond", [0, 60_000])
def test_a_corrected_machine_clock_adds_only_the_excess(beyond: int) -> None:
    machine = Machine()
    clock, start = clock_of(machine), machine.now
    clock.advance_to(start + HOUR)  # on purpose
    with capture_logs() as lines:
        machine.now -= 5 * HOUR
        for _ in range(3):
            machine.wait(2999)
            clock.advance_to(clock())  # a block
        assert clock() == start + HOUR + 3 * 2999 - 2999  # the first reading revealed the jump
        assert (clock.behind_ms, clock.ahead_ms) == (5 * HOUR - 2999, 6 * HOUR - 2999)
        machine.now += 5 * HOUR + beyond
        machine.wait(2999)
        assert clock() == start + HOUR + 4 * 2999 + beyond
    assert (clock.behind_ms, clock.ahead_ms) == (0, HOUR)
    assert [line["log_level"] for line in lines] == ["warning", "warning"]


def test_time_continues_after_the_machine_clock_is_set_back() -> None:
    machine = Machine()
    clock, start = clock_of(machine), machine.now
    clock.advance_to(start)
    machine.now -= 5 * HOUR
    assert clock() == start
    for passed in range(1, 13):
        machine.wait(HOUR)
        assert clock() == start + passed * HOUR


def test_a_start_before_the_head_time_is_corrected() -> None:
    machine = Machine()
    clock, right = clock_of(machine), machine.now + 5 * HOUR
    clock.resume_from(right)
    assert (clock(), clock.offset_ms) == (right, 0)
    machine.now = right
    assert (clock(), clock.ahead_ms) == (right, 0)


def test_differences_of_a_millisecond_are_not_jumps() -> None:
    machine = Machine()
    clock, start = clock_of(machine), machine.now
    clock.advance_to(start)
    machine.now -= HOUR
    for _ in range(3):
        machine.now += 1
        clock()
        machine.now -= 1
        assert clock() == start
    assert clock.behind_ms == HOUR


def test_only_an_explicit_offset_moves_the_clock_back() -> None:
    machine = Machine()
    clock = clock_of(machine)
    clock.advance_to(machine.now + HOUR)
    clock.set_offset(7)
    assert clock() == machine.now + 7


def test_the_clock_can_start_at_another_time() -> None:
    machine = Machine()
    clock = clock_of(machine, 400_000)
    machine.wait(30)
    clock.advance_to(9_000_000)
    assert clock() == 9_000_000
    clock.start()
    assert clock() == 400_000
