"""Block sidecars: data that belongs to a block but isn't part of it.

These are state edits, and the positions of transactions that were accepted through impersonation.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from state.chain.state_edits import WRITTEN, StateEdit, apply_edit
from state.protocol.transaction import SignedBlock, block_number
from state.tables import State

ACCEPTED_MAX = 1 << 20  # transactions accepted through impersonation; the oldest are forgotten

Edits = dict[bytes, tuple[StateEdit, ...]]
Positions = tuple[int, ...]
EditListener = Callable[[bytes, StateEdit], None]
"""Called with a block's id and the edit added to the block."""

_DECODER = msgspec.msgpack.Decoder(tuple[dict[bytes, tuple[WRITTEN, ...]], dict[bytes, Positions]])


class BlockSidecars:
    """The edits of each block and the positions of its transactions accepted through impersonation, by block id.

    `is_changed_by_hand` is whether edits have changed the state since genesis, so that a replay of the blocks alone doesn't reproduce it.
    `irreversible_edits` is the number of edits of the last irreversible block.

    Irreversible blocks are included; blocks that can't be applied again are forgotten. `on_added` is called when an edit is added to a
    block, not when the block and its edits are applied again. `on_dropped` gets the ids of popped blocks that lost their edits.
    `on_restored` gets the number of the first block whose edits changed for any other reason.
    """

    def __init__(self) -> None:
        self.edits: Edits = {}
        self.is_changed_by_hand = False
        self.irreversible_edits = 0
        self._accepted: dict[bytes, Positions] = {}
        self._accepted_count = 0
        self.on_added: list[EditListener] = []
        self.on_dropped: list[Callable[[list[bytes]], None]] = []
        self.on_restored: list[Callable[[int], None]] = []

    def edits_of(self, block_id: bytes) -> tuple[StateEdit, ...]:
        """Return the edits of a block in order."""
        return self.edits.get(block_id, ())

    def has_edits_after(self, number: int) -> bool:
        """Whether a block after this number has edits, on any branch."""
        return any(block_number(block_id) > number for block_id in self.edits)

    def apply(self, state: State, block_id: bytes) -> None:
        """Apply a block's edits to the state after that block."""
        self._apply(state, self.edits_of(block_id), 0)

    def add_to_head(self, state: State, edits: Iterable[StateEdit], *, is_reversible: bool, are_known: bool = False) -> None:
        """Make edits on the state after the head block, and add them to the block without calling listeners.

        `is_reversible` is whether the head block is reversible. With `are_known`, `edits` are all edits of the head block. If that block is
        irreversible, the state loaded from a snapshot already includes the first `irreversible_edits` of them, and only the others are
        made.
        """
        head_id, added = state.props.head_block_id, tuple(edits)
        made = len(self.edits_of(head_id)) if is_reversible else self.irreversible_edits
        new = added[made:] if are_known and not is_reversible else added
        self._apply(state, new, made)
        self.add(head_id, added)
        if not is_reversible:
            self.irreversible_edits = made + len(new)

    def _apply(self, state: State, edits: Iterable[StateEdit], place: int) -> None:
        for at, edit in enumerate(edits, place):
            apply_edit(state, edit, at)
            self.is_changed_by_hand = True

    def accepted_of(self, block_id: bytes) -> Positions:
        """Return the positions of a block's transactions accepted through impersonation."""
        return self._accepted.get(block_id, ())

    def add(self, block_id: bytes, edits: Iterable[StateEdit]) -> None:
        """Add edits to a block without calling listeners."""
        if added := tuple(edits):
            self.edits[block_id] = (*self.edits_of(block_id), *added)

    def forget(self, block_ids: Iterable[bytes]) -> list[bytes]:
        """Forget the edits of blocks without calling listeners. Return the ids of the blocks that had edits."""
        return [block_id for block_id in block_ids if self.edits.pop(block_id, None)]

    def forget_after(self, number: int) -> None:
        """Forget the edits of all blocks after this number without calling listeners."""
        self.edits = {block_id: edits for block_id, edits in self.edits.items() if block_number(block_id) <= number}

    def drop(self, block_ids: Iterable[bytes]) -> bool:
        """Forget the edits of blocks, and return whether there were any. If there were, call `on_dropped`."""
        dropped = self.forget(block_ids)
        if dropped:
            for listener in self.on_dropped:
                listener(dropped)
        return bool(dropped)

    def restore(self, edits: Edits) -> None:
        """Replace all edits with those of a savepoint. If they differ from the current edits, call `on_restored`."""
        before, self.edits = self.edits, edits.copy()
        self.compare(before)

    def compare(self, before: Edits) -> None:
        """Call `on_restored` if the current edits differ from `before`."""
        now = self.edits
        if changed := [block_id for block_id in (*before, *now) if before.get(block_id) != now.get(block_id)]:
            for listener in self.on_restored:
                listener(min(map(block_number, changed)))

    def accept(self, block: SignedBlock, transactions: Mapping[bytes, None]) -> None:
        """Record which of a block's transactions were accepted through impersonation. `transactions` contains the ids of all that were."""
        positions = tuple(position for position, trx in enumerate(block.transactions) if trx.id in transactions)
        if positions and block.id not in self._accepted:
            self._accepted[block.id] = positions
            self._accepted_count += len(positions)
            while self._accepted_count > ACCEPTED_MAX:
                self._accepted_count -= len(self._accepted.pop(next(iter(self._accepted))))

    def encode(self) -> bytes:
        """Return all sidecars as bytes."""
        return msgspec.msgpack.encode((self.edits, self._accepted))

    def decode(self, data: bytes) -> None:
        """Replace all sidecars with decoded ones (from `encode`), without calling listeners."""
        edits, self._accepted = _DECODER.decode(data)
        self.edits = {**edits}
        self._accepted_count = sum(map(len, self._accepted.values()))
