"""Types for changes of the head: the event that listeners receive, and the record of a popped block."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from state.protocol.transaction import SignedBlock


class HeadChange(Struct, frozen=True):
    """A change of the head: the popped blocks, newest first, then the applied blocks, oldest first.

    After a return to a savepoint the sequences are lazy, and unpack a block on access.
    """

    popped: Sequence[SignedBlock]
    applied: Sequence[SignedBlock]


class PoppedBlock(Struct, frozen=True):
    """A popped block, the skip flags it was applied with, and the signing keys that it gave to witnesses."""

    block: SignedBlock
    skip: int
    keys: tuple[tuple[str, bytes], ...]


HeadChangeListener = Callable[[HeadChange], None]
