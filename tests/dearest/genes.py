"""Genes: each gives the values that a field has in the successive operations of a transaction."""

from typing import Any

from msgspec import Struct

from state.protocol.operation import Operation

Gene = tuple[Any, ...]
Given = dict[str, Gene]


class Counting(Struct, frozen=True):
    """A counter, used as the only value of a gene: a number that increases, or a text whose suffix increases."""

    begin: Any

    def at(self, i: int) -> Any:
        """Return the value for operation `i` of the transaction."""
        return self.begin + i if isinstance(self.begin, int) else f"{self.begin}{i}"


class Part(Struct, frozen=True):
    """An operation class, and the gene of each of its fields."""

    cls: type[Operation]
    genes: Given

    def operation(self, i: int) -> Operation:
        """Return operation `i` of the transaction."""
        return self.cls(**{name: value_at(gene, i) for name, gene in self.genes.items()})


def value_at(gene: Gene, i: int) -> Any:
    """Return a gene's value at an index."""
    return gene[0].at(i) if isinstance(gene[0], Counting) else gene[i % len(gene)]
