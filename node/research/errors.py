"""The errors of the library for scripts and notebooks: plain exceptions, all of one base class. Nothing here knows a command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from node.client.errors import RefusedCall
from node.runtime.errors import DiskError, FileError, NodeError
from node.snapshots.file import SnapshotError


class DataError(Exception):
    """The base of all errors of the library; the text says why, and what to do where that isn't plain."""


class UnreadableBlocks(DataError):
    """A file of blocks can't be opened, or can't be read any further."""


class UnknownChain(DataError):
    """No chain spec fits: there is none of that name, it is wrong, or the blocks don't say which chain they are of."""


class RefusedBlock(DataError):
    """A block can't be applied: its `number`, and the `reason` in the chain's spelling."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"block {number}: {reason}")
        self.number, self.reason = number, reason


class InvalidPosition(DataError, ValueError):
    """A moment of a chain isn't one: a number below 0, or more transactions than the block has."""


class BeyondEnd(DataError, LookupError):
    """There is no block `number`: the blocks end with block `last`."""

    def __init__(self, number: int, last: int) -> None:
        super().__init__(f"there is no block {number}: the blocks end with block {last}")
        self.number, self.last = number, last


class NotThere(DataError, LookupError):
    """There is no table, index or row of that name or key."""


class CallRefused(DataError, RefusedCall):
    """A method of the API refused a call: `code`, `message` and `data` are those of the JSON-RPC error."""


class MissingLibrary(DataError, ImportError):
    """A library that only some users need isn't installed."""


@contextmanager
def as_data_errors() -> Iterator[None]:
    """Raise the errors of the node as those of the library."""
    try:
        yield
    except (FileError, DiskError, SnapshotError) as error:
        raise UnreadableBlocks(str(error)) from None
    except NodeError as error:
        raise DataError(str(error)) from None
