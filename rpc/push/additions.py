"""What belongs to the blocks of a chain and isn't in them: edits by hand, and transactions that were accepted as impersonated ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from state.chain.chain import Chain
from state.chain.edits import Edit
from state.chain.moves import Move
from state.protocol.transaction import SignedBlock, block_number
from state.store.rows import Keeping

ACCEPTED_MAX = 1 << 20  # transactions that were accepted as impersonated ones; the oldest are forgotten

Places = tuple[int, ...]


class Additions:
    """The edits and the places of impersonated transactions of every block, irreversible ones included, by the block's id.

    It must be made while the chain is at its genesis, before its first checkpoint, and before whoever asks it in a listener of the chain's
    moves. `on_edited` is called with the number of the block that has got another edit, `on_returned` with that of the first block whose
    edits are others after a return to an earlier moment.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._edits: dict[bytes, tuple[Edit, ...]] = {}
        self._accepted: dict[bytes, Places] = {}
        self._accepted_count = 0
        self.on_edited: list[Callable[[int], None]] = []
        self.on_returned: list[Callable[[int], None]] = []
        chain.on_edited.append(self._edited)
        chain.on_edits_dropped.append(self._drop)
        chain.on_moved.append(self._moved)
        chain.state.keepers.append(self._keeping)

    def adopt(self, edits: Mapping[bytes, Iterable[Edit]], accepted: Mapping[bytes, Places] | None = None) -> None:
        """Take the edits, and accepted transactions, of blocks that are loaded from elsewhere."""
        self._edits = {block_id: tuple(some) for block_id, some in edits.items()}
        if accepted is not None:
            self._accepted, self._accepted_count = dict(accepted), sum(map(len, accepted.values()))

    def edits_of(self, block_id: bytes) -> tuple[Edit, ...]:
        """Return the edits that were made with a block of the main branch, in order."""
        return self._edits.get(block_id, ())

    def accepted_of(self, block_id: bytes) -> Places:
        """Return the places of the transactions in a block that may lack signatures."""
        return self._accepted.get(block_id, ())

    def edited(self) -> Iterator[tuple[int, bytes, tuple[Edit, ...]]]:
        """Yield number, id and edits of every block that has edits, in the order of numbers, those of left branches included."""
        for block_id in sorted(self._edits):
            yield block_number(block_id), block_id, self._edits[block_id]

    def copy(self) -> "Held":
        """Return everything that is held now."""
        return Held(self._edits.copy(), self._accepted.copy())

    def _edited(self, block_id: bytes, edit: Edit) -> None:
        self._edits[block_id] = (*self._edits.get(block_id, ()), edit)
        for listener in self.on_edited:
            listener(block_number(block_id))

    def _drop(self, block_ids: list[bytes]) -> None:
        for block_id in block_ids:
            self._edits.pop(block_id, None)

    def _moved(self, move: Move) -> None:
        known = self._chain.state.impersonated.accepted
        if not known:
            return
        for block in move.applied:
            self._note(block, known)

    def _note(self, block: SignedBlock, known: Mapping[bytes, None]) -> None:
        places = tuple(place for place, trx in enumerate(block.transactions) if trx.id in known)
        if places and block.id not in self._accepted:
            self._accepted[block.id] = places
            self._accepted_count += len(places)
            while self._accepted_count > ACCEPTED_MAX:
                self._accepted_count -= len(self._accepted.pop(next(iter(self._accepted))))

    def _keeping(self) -> Keeping:
        yield from ()
        kept = self._edits.copy()

        def put_back() -> None:
            now, self._edits = self._edits, kept.copy()
            # Accepted transactions stay: they are valid on every branch.
            if changed := [key for key in (*now, *kept) if now.get(key) != kept.get(key)]:
                for listener in self.on_returned:
                    listener(min(map(block_number, changed)))

        return put_back


class Held:
    """The additions of a chain at a moment, by the ids of the blocks."""

    def __init__(self, edits: dict[bytes, tuple[Edit, ...]], accepted: dict[bytes, Places]) -> None:
        self.edits, self.accepted = edits, accepted
