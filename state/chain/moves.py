"""What listeners of a chain are called with: how its head has moved, and which edits have become part of it."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from state.chain.edits import Edit
from state.protocol.transaction import SignedBlock


class Move(Struct, frozen=True):
    """How the head has moved: the blocks that were undone, newest first, and then those that were applied, oldest first.

    After a return to a checkpoint the sequences are lazy: a block is unpacked when it is asked for.
    """

    popped: Sequence[SignedBlock]
    applied: Sequence[SignedBlock]


MoveListener = Callable[[Move], None]
EditListener = Callable[[bytes, Edit], None]
"""Called with the id of a block and the edit that has become part of it."""
