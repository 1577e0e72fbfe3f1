"""The median of prices, as the reference's standard library sorts them. It knows no state.

Prices compare as ratios, so 1 SBD for 4 COIN and 2 for 8 are equal, and yet differ in the state and in replies, where the one
in the middle is found with its amounts. Which of several equal prices gets there depends on the sorting. The reference calls
std::sort of GNU's C++ library: quicksort down to parts of 16 elements, then insertion sort, which is stable. So up to 16 prices
any stable sort does. From 17 on (21 witnesses, a history of 84) quicksort moves equal elements past each other, and has to be
followed step by step. Source: block-processing.md §3.10.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from state.protocol.values.asset import Price, price_key

SMALL = 16  # parts of so many elements or fewer are left to the insertion sort

Item = tuple[Any, Price]


def median(prices: Sequence[Price]) -> Price:
    """Return the price in the middle, of two the higher one."""
    items: list[Item] = [(price_key(price), price) for price in prices]
    partition(items)
    # The insertion sort that finishes the library's work is stable, as Python's sort is, which may therefore replace it.
    return sorted(items, key=itemgetter(0))[len(items) // 2][1]


def partition(items: list[Item]) -> None:
    """Quicksort down to small parts, with the median of three as the pivot; the order of the parts doesn't matter.

    The library changes to heapsort when the parts stay large for twice as many rounds as the number of items has bits. That is
    not done here: only prices that are chosen for it lead there.
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
    """Return the place of the middle one of three items, the library's choice where some are equal."""
    first, second, third = items[a][0], items[b][0], items[c][0]
    if first < second:
        return b if second < third else c if first < third else a
    return a if first < third else c if second < third else b


def split(items: list[Item], low: int, high: int, pivot: Any) -> int:
    """Swap items until those below the pivot come before those above it; returns where the upper part begins.

    Both loops stop at items equal to the pivot and swap them too: here equal prices change places.
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
