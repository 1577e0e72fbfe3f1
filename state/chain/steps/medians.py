"""The median of prices, sorted as the reference's standard library sorts them.

Prices compare as ratios: 1 SBD for 4 COIN equals 2 SBD for 8 COIN, but the state and replies contain the amounts of the price that was
chosen as the median. Which of several equal prices is chosen depends on the sort algorithm. The reference uses std::sort of GNU's C++
library: quicksort down to parts of 16 elements, then insertion sort, which is stable. Up to 16 prices, any stable sort has the same result.
From 17 on (21 witnesses, a history of 84) quicksort reorders equal elements, so its steps are reproduced here.
Source: block-processing.md §3.10.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from state.protocol.values.asset import Price, price_key

SMALL = 16  # elements; parts up to this size are left to the insertion sort

Item = tuple[Any, Price]


def median(prices: Sequence[Price]) -> Price:
    """Return the median price. If the number of prices is even, this is the higher of the two middle prices."""
    items: list[Item] = [(price_key(price), price) for price in prices]
    partition(items)
    # The library's final insertion sort is stable, so Python's stable sort can replace it.
    return sorted(items, key=itemgetter(0))[len(items) // 2][1]


def partition(items: list[Item]) -> None:
    """Quicksort down to small parts, with the median of three as the pivot. The order of the parts doesn't matter.

    std::sort falls back to heapsort after 2*bit_length(n) rounds. This fallback isn't reproduced, since only deliberately crafted prices
    would trigger it.
    """
    parts = [(0, len(items))]
    while parts:
        first, last = parts.pop()
        if last - first > SMALL:
            choice = middle_of_three(items, first + 1, first + (last - first) // 2, last - 1)
            items[first], items[choice] = items[choice], items[first]
            cut = split(items, first + 1, last, items[first][0])
            parts += (first, cut), (cut, last)


def middle_of_three(items: list[Item], a: int, b: int, c: int) -> int:
    """Return the index of the median of three items. Among equal items, choose the one that the reference's C++ library chooses."""
    first, second, third = items[a][0], items[b][0], items[c][0]
    if first < second:
        return b if second < third else c if first < third else a
    return a if first < third else c if second < third else b


def split(items: list[Item], low: int, high: int, pivot: Any) -> int:
    """Swap items until those below the pivot come before those above it. Return the start of the upper part.

    Both loops stop at items equal to the pivot, and swap them as well. This reorders equal prices.
    """
    while True:
        while items[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < items[high][0]:
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1
