"""How the head of a chain moves: what listeners are called with, and what is kept of an undone block."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from state.protocol.transaction import SignedBlock


class Move(Struct, frozen=True):
    """How the head has moved: the blocks that were undone, newest first, and then those that were applied, oldest first.

    After a return to a checkpoint the sequences are lazy: a block is unpacked when it is asked for.
    """

    popped: Sequence[SignedBlock]
    applied: Sequence[SignedBlock]


class Undone(Struct, frozen=True):
    """A block that was the head, the flags with which it was applied, and the signing keys that it gave to witnesses."""

    block: SignedBlock
    skip: int
    keys: tuple[tuple[str, bytes], ...]


MoveListener = Callable[[Move], None]
