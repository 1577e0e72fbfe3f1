"""The clock of a chain: it follows another one, runs ahead when it is made to, and never goes back behind what it has reached."""

from node.clock import ChainClock


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_it_follows_the_other_clock() -> None:
    hand = Hand()
    clock = ChainClock(hand)
    hand.now += 5
    assert (clock(), clock.lead_ms, clock.machine()) == (hand.now, 0, hand.now)


def test_what_it_has_reached_stays_when_the_other_clock_is_set_back() -> None:
    hand = Hand()
    clock = ChainClock(hand)
    clock.reach(1_500_000)
    assert clock.lead_ms == 500_000
    hand.now += 10
    assert clock() == 1_500_010
    hand.now -= 600_000
    assert clock() == 1_500_000
    hand.now += 10
    assert clock() == 1_500_010
    clock.reach(1_400_000)
    assert clock() == 1_500_010


def test_only_by_hand_it_goes_back() -> None:
    hand = Hand()
    clock = ChainClock(hand)
    clock.reach(2_000_000)
    clock.set_back(7)
    assert clock() == 1_000_007


def test_it_can_start_at_another_time() -> None:
    hand = Hand()
    clock = ChainClock(hand, 400_000)
    hand.now += 30
    clock.reach(9_000_000)
    assert clock() == 9_000_000
    clock.start()
    assert clock() == 400_000
