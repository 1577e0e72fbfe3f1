"""Encodes and restores the whole state of a chain: a header, and one section for each consensus table and each plugin's data.

A snapshot is taken at an irreversible block. It contains only this block; older blocks are read from the block log on demand.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from state.chain.chain import Chain
from state.chain.digest import Compute, state_digest
from state.plugins.registry import PLUGINS
from state.portable import SPECIAL
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock
from state.snapshot.texts import TextsPart
from state.store.columns import CorruptData
from state.store.lazy.background_load import BackgroundLoad
from state.store.serializers import Install, SnapshotPart, TablePart
from state.tables import State

# Raise this with every change in how a block changes the state or a plugin's data. Snapshots of other versions are not used.
RULES = 10

CONSENSUS = "state"
# Large tables that load in the background. Only operations on content or accounts read them; no block step does.
DEFERRED = ("account_authorities", "account_metadata")

Open = Callable[[str], Iterator[bytes]]
"""Yields the chunks of a section by name."""
Older = Callable[[int], bytes | None]
"""Returns the bytes of an irreversible block by number, or None."""


class SnapshotHeader(Struct, frozen=True, kw_only=True):
    """Header of a snapshot: its block (number 0, without a block, at genesis) and the chain data that is not in tables.

    `is_changed_by_hand`: debugging methods have changed the state. These changes are in no block, so a replay results in another state.
    `edits` is the number of such changes after the snapshot's block. The state includes them, so a start must not apply them again.
    """

    number: int
    block_id: str
    time: int
    digest: str
    block: bytes
    hardfork_times: tuple[int, ...]
    is_changed_by_hand: bool
    plugins: tuple[str, ...]
    rules: int = RULES
    edits: int = 0


def parts_of(state: State, *, has_blocks: bool = False) -> dict[str, SnapshotPart]:
    """Return the parts of a snapshot of this state, by section name. `has_blocks` is whether it is used only with the chain's blocks."""
    found: dict[str, SnapshotPart] = {
        f"{CONSENSUS}/{name}": TablePart(table, SPECIAL.get(name), is_deferred=name in DEFERRED) for name, table in state.tables()
    }
    found[f"{CONSENSUS}/comment_contents"] = TextsPart(state.comment_contents, has_positions=has_blocks)
    for name in state.plugins:
        found |= PLUGINS[name].sections(state)
    return found


def head_of(chain: Chain, compute: Compute = iter) -> SnapshotHeader:
    """Return the snapshot header of a chain that is rewound to its last irreversible block (`Chain.rewind`)."""
    state, block = chain.state, chain.head
    return SnapshotHeader(
        number=state.props.head_block_number,
        block_id=state.props.head_block_id.hex(),
        time=state.props.time,
        digest=state_digest(state, compute),
        block=b"" if block is None else state.wire.pack_block(block),
        hardfork_times=tuple(state.hardfork_times),
        is_changed_by_hand=chain.sidecars.is_changed_by_hand,
        plugins=tuple(state.plugins),
        edits=chain.sidecars.irreversible_edits,
    )


def restore(chain: Chain, head: SnapshotHeader, open_section: Open, older: Older) -> list[BackgroundLoad]:
    """Restore a snapshot into a chain without pending transactions or reversible changes. `older` finds blocks that precede those in it.

    Raises CorruptData if the snapshot is invalid. The caller must then restore a savepoint or drop the chain.

    Returns the background loads of large tables that few rules read, and the checks of packed rows. Call `BackgroundLoad.advance` between
    other work; the first access to a table that is loading finishes its load.
    """
    state = chain.state
    assert not len(state.journal), "the state has reversible changes"
    block = block_of(state, head)
    if len(head.hardfork_times) != len(state.hardfork_times):
        raise CorruptData(f"it has {len(head.hardfork_times) - 1} hardforks instead of {len(state.hardfork_times) - 1}")
    parts = parts_of(state)
    installs = [part.read(_interruptible(open_section(name), state)) for name, part in parts.items()]
    try:
        left = _install(state, installs)
        if state.props.head_block_id.hex() != head.block_id or state.props.head_block_number != head.number:
            raise CorruptData("its state is that of another block")
    except (ChainError, CorruptData, StopIteration, TypeError) as error:
        # Rows that clash with each other are found only when they are installed.
        raise CorruptData(str(error)) from None
    state.hardfork_times[:] = head.hardfork_times
    chain.start_at(block, older, is_changed_by_hand=head.is_changed_by_hand, settled_edits=head.edits)
    return left


def block_of(state: State, head: SnapshotHeader) -> SignedBlock | None:
    """Return the block of a snapshot, None at genesis. Raises CorruptData."""
    if not head.number and not head.block:
        return None
    try:
        block, end = state.wire.unpack_block(head.block)
    except ChainError as error:
        raise CorruptData(f"its block can't be read: {error.message(state.spec.spell)}") from None
    if end != len(head.block) or (block.id.hex(), block.number, block.timestamp) != (head.block_id, head.number, head.time):
        raise CorruptData("its block doesn't match its header")
    return block


def _interruptible(chunks: Iterator[bytes], state: State) -> Iterator[bytes]:
    """Yield the chunks. A long job can be interrupted before each of them."""
    for chunk in chunks:
        state.journal.on_undone()
        yield chunk


def _install(state: State, installs: Iterable[Install]) -> list[BackgroundLoad]:
    """Install all parts, refresh the references to single rows, and return the background loads."""
    left = []
    for install in installs:
        if (deferred := install()) is not None:
            left.append(deferred)
        state.journal.on_undone()
    state.find_single_rows()
    for name, kept in state.plugins.items():
        PLUGINS[name].on_restored(kept)
    return sorted(left, key=lambda load: not load.hides_data)  # checks come last, since nothing waits for them
