"""Errors of the library for scripts and notebooks. They have a common base class."""

from collections.abc import Iterator
from contextlib import contextmanager

from node.client.errors import RefusedCall
from node.history.chain_detection import ChainUnclear
from node.runtime.errors import DiskError, FileError, NodeError
from node.snapshots.file import SnapshotError
from node.specs.builder import SpecError


class DataError(Exception):
    """Base class of all errors of the library. The text contains the reason and, if it isn't obvious, the remedy."""


class UnreadableBlocks(DataError):
    """A file of blocks can't be opened or read."""


class UnknownChain(DataError):
    """No chain spec matches: its name is unknown, the blocks belong to another chain, or their chain can't be detected."""


class RefusedBlock(DataError):
    """A block can't be applied. `number` is the block's number, `reason` the chain's error message."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"block {number}: {reason}")
        self.number, self.reason = number, reason


class InvalidPosition(DataError, ValueError):
    """An invalid position in a chain: a number below 0, or more transactions than the block has."""


class BeyondEnd(DataError, LookupError):
    """There is no block `number`: the blocks end with block `last`."""

    def __init__(self, number: int, last: int) -> None:
        super().__init__(f"there is no block {number}: the blocks end with block {last}")
        self.number, self.last = number, last


class NotThere(DataError, LookupError):
    """No table, index or row has this name or key."""


class CallRefused(DataError, RefusedCall):
    """A method of the API refused a call. `code`, `message` and `data` are the members of the JSON-RPC error."""


class MissingLibrary(DataError, ImportError):
    """An optional library isn't installed."""


@contextmanager
def as_data_errors() -> Iterator[None]:
    """Context manager that converts errors of the node to errors of the library."""
    try:
        yield
    except (ChainUnclear, SpecError) as error:
        raise UnknownChain(str(error)) from None
    except (FileError, DiskError, SnapshotError) as error:
        raise UnreadableBlocks(str(error)) from None
    except NodeError as error:
        raise DataError(str(error)) from None
