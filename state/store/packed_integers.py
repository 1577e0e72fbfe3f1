"""Lists of integers below 2^32 in 4 bytes each, for values by id (`state.store.slots`) and other large collections of lists."""

from array import array
from struct import Struct as Layout
from typing import Union

UINT32 = "I"  # type code of arrays
UINT32_BYTES = array(UINT32).itemsize
assert UINT32_BYTES == 4
pack_uint32 = Layout("=I").pack  # bound once, since each operation calls it

Integers = Union[bytes, "array[int]"]
"""A list of integers. A short one is bytes, because an array takes 100 bytes more."""


def as_array(integers: Integers) -> "array[int]":
    """Return integers as an array, which the caller doesn't change."""
    return array(UINT32, integers) if isinstance(integers, bytes) else integers
