"""Field values of an operation that vary from one operation of a transaction to the next."""

from typing import Any

from msgspec import Struct

from state.protocol.operation import Operation

Gene = tuple[Any, ...]
Given = dict[str, Gene]


class Counting(Struct, frozen=True):
    """The only value of a gene that counts on: a number, or a text that a number follows."""

    begin: Any

    def at(self, i: int) -> Any:
        """Return the value for the operation with an index."""
        return self.begin + i if isinstance(self.begin, int) else f"{self.begin}{i}"


class Part(Struct, frozen=True):
    """A kind of operation with its fields."""

    cls: type[Operation]
    genes: Given

    def operation(self, i: int) -> Operation:
        """Return the operation with an index."""
        return self.cls(**{name: value_at(gene, i) for name, gene in self.genes.items()})


def value_at(gene: Gene, i: int) -> Any:
    """Return a gene's value at an index."""
    return gene[0].at(i) if isinstance(gene[0], Counting) else gene[i % len(gene)]
