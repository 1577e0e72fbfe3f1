"""The median of prices of which some are equal: it must be the middle element after sorting with GNU's std::sort, as in the reference."""

import pytest

from state.chain.steps.medians import median
from state.protocol.values.asset import COIN, SBD, Asset, Price

# The index of the median, and the prices, where equal digits are equal prices.
VECTORS = [
    (11, "01001000110000110"),
    (11, "010000001000000011"),
    (16, "0111101111001010101"),
    (17, "01110110101010110110"),
    (7, "110011110000100111010"),
    (17, "002122011012010101001"),
    (32, "110000010011101011011001011100010"),
    (37, "111000010110101101110100000111101011110100000011010101"),
    (19, "001101011100111101100000110100110100101111011011000100100001000010011100010011001101"),
    (55, "212220002021201010221022200120021011011122101120111110112002020121020001020010000112"),
    (
        39,
        "011111010111010100001001000100100010001010100110101011110101110111111010100000101100101001"
        "001010110011000001010100010001110101011000010100110011101011101111000001001110",
    ),
]


def prices(digits: str) -> list[Price]:
    """Return a price in SBD per COIN for each digit. The amounts of equal prices differ, but not their ratio."""
    return [Price(Asset((int(digit) + 1) * i, SBD), Asset(i, COIN)) for i, digit in enumerate(digits, 1)]


@pytest.mark.parametrize(("place", "digits"), VECTORS)
def test_median_of_equal_prices(place: int, digits: str) -> None:
    given = prices(digits)
    assert median(given) == given[place]


@pytest.mark.parametrize(("place", "digits"), [(0, "7"), (1, "12"), (0, "21"), (2, "5555"), (8, "1111111111111111"), (2, "0012")])
def test_up_to_sixteen_prices_are_sorted_stably(place: int, digits: str) -> None:
    given = prices(digits)
    assert median(tuple(given)) == given[place]
    assert given == prices(digits)
