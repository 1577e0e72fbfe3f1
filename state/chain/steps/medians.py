"""The median of prices. Equal prices can stand in different amounts: which of them is in the middle depends on how the
reference's library sorts, which is not stable from 17 elements on. It knows no state. Source: block-processing.md §3.10.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from state.protocol.values.asset import Price, price_key

SMALL = 16  # so many elements and fewer are sorted by insertion, which is stable

Item = tuple[Any, Price]


def median(prices: Sequence[Price]) -> Price:
    """The price in the middle, of two the higher one."""
    items: list[Item] = [(price_key(price), price) for price in prices]
    partition(items)
    # What is left to do is done by insertion.
    return sorted(items, key=itemgetter(0))[len(items) // 2][1]


def partition(items: list[Item]) -> None:
    """Quicksort with the median of three as the pivot, down to parts that are small.

    The library goes over to a heap after twice as many rounds as the number of items has bits, which takes prices that are
    chosen for it.
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
    """The place of the middle one of three items."""
    first, second, third = items[a][0], items[b][0], items[c][0]
    if first < second:
        return b if second < third else c if first < third else a
    return a if first < third else c if second < third else b


def split(items: list[Item], low: int, high: int, pivot: Any) -> int:
    """Bring what is below the pivot in front of what is above it; returns where the upper part begins."""
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
