"""What happens on the chain of another node, as values: they come in order, from whatever source, and a `Follower` applies them."""

from msgspec import Struct

from state.chain.edits import Edit


class NewBlock(Struct, frozen=True):
    """A block of the other node's main branch.

    `edits` are all that were made by hand with the block until now: a block that gets another edit, which is always the head, comes once
    more. `accepted` are the places of its transactions that were accepted with less than they need (impersonation).
    """

    number: int
    id: bytes
    packed: bytes
    edits: tuple[Edit, ...] = ()
    accepted: tuple[int, ...] = ()


class Undone(Struct, frozen=True):
    """The blocks from `first` to `last` are no longer on the main branch; what takes the place of `first` follows, if anything does."""

    first: int
    last: int


Event = NewBlock | Undone
