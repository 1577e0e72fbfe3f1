"""A chain's whole state as sections of bytes and back: every consensus table, the data of every plugin, and a head with the rest.

A snapshot shows the chain at a block that can't be undone any more. It holds no blocks but that one: the older ones are read where
they are needed, from the block log.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.operations.content import Beneficiary, VotableAssetInfo
from state.operations.smt.types import SmtCappedGenerationPolicy
from state.plugins.registry import PLUGINS
from state.protocol.errors import ChainError
from state.protocol.transaction import ExampleOptionalAction, ExampleRequiredAction, SignedBlock
from state.store.columns import Special, Unreadable
from state.store.deferred import Deferred
from state.store.parts import Install, Part, TablePart
from state.tables import State

# To be raised with every change of what a block does to the state or to a plugin's data: a snapshot of other rules is not used.
RULES = 3

CONSENSUS = "state"
# The types of fields that tables, which must not know operations, declare as Any.
SPECIAL: dict[str, Special] = {
    "comments": {
        "beneficiaries": tuple[Beneficiary, ...],
        "allowed_vote_assets": tuple[tuple[int, VotableAssetInfo], ...],
    },
    "smt_icos": {"capped_generation_policy": SmtCappedGenerationPolicy | None},
    "required_actions": {"action": ExampleRequiredAction | None},
    "optional_actions": {"action": ExampleOptionalAction | None},
}

# Large tables that only operations on content or on accounts read, and no step of a block.
DEFERRED = ("account_authorities", "comment_contents", "account_metadata")

Open = Callable[[str], Iterator[bytes]]
"""Returns the chunks of a section by name."""
Older = Callable[[int], bytes | None]
"""Returns an irreversible block as bytes by number."""


class Head(Struct, frozen=True, kw_only=True):
    """The block that a snapshot was taken at, number 0 without a block at genesis, and what the chain keeps beside tables.

    `is_changed_by_hand`: changes by debugging methods, which are in no block, are part of the state. A replay doesn't lead to it then.
    `edits` is how many of them belong to the block itself: those come after it, and a start must not make them again.
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


def parts_of(state: State) -> dict[str, Part]:
    """Return everything that a snapshot of this state holds, by section."""
    found: dict[str, Part] = {
        f"{CONSENSUS}/{name}": TablePart(table, SPECIAL.get(name), is_deferred=name in DEFERRED) for name, table in state.tables()
    }
    for name in state.plugins:
        found |= PLUGINS[name].sections(state)
    return found


def head_of(chain: Chain) -> Head:
    """Return the head of a snapshot of a chain that has been rewound to its last irreversible block (`Chain.rewind`)."""
    state, block = chain.state, chain.head
    return Head(
        number=state.props.head_block_number,
        block_id=state.props.head_block_id.hex(),
        time=state.props.time,
        digest=state_digest(state),
        block=b"" if block is None else state.wire.pack_block(block),
        hardfork_times=tuple(state.hardfork_times),
        is_changed_by_hand=chain.is_changed_by_hand,
        plugins=tuple(state.plugins),
        edits=chain.settled_edits,
    )


def restore(chain: Chain, head: Head, open_section: Open, older: Older) -> list[Deferred]:
    """Put the chain where a snapshot was taken; `older` finds blocks before it. Raises Unreadable, and then nothing has changed.

    Returns what is left to do: large tables that few rules read. It may be done in steps between other work (`Deferred.advance`);
    the first access to such a table finishes it at once.

    Nothing may wait or be undoable in the chain.
    """
    state = chain.state
    assert not len(state.journal), "a state with changes that can be undone"
    block = block_of(state, head)
    if len(head.hardfork_times) != len(state.hardfork_times):
        raise Unreadable(f"it knows {len(head.hardfork_times) - 1} hardforks")
    parts = parts_of(state)
    before = {name: list(part.dump()) for name, part in parts.items()}
    installs = [part.read(open_section(name)) for name, part in parts.items()]
    try:
        left = _install(state, installs)
        if state.props.head_block_id.hex() != head.block_id or state.props.head_block_number != head.number:
            raise Unreadable("its state is that of another block")
    except (ChainError, Unreadable, StopIteration, TypeError) as error:
        # Rows that clash show only when they are put in place.
        for deferred in _install(state, [part.read(iter(before[name])) for name, part in parts.items()]):
            deferred.finish()
        raise Unreadable(str(error)) from None
    state.hardfork_times[:] = head.hardfork_times
    chain.start_at(block, older, is_changed_by_hand=head.is_changed_by_hand, settled_edits=head.edits)
    return left


def block_of(state: State, head: Head) -> SignedBlock | None:
    """Return the block that a snapshot was taken at, None at genesis. Raises Unreadable."""
    if not head.number and not head.block:
        return None
    try:
        block, end = state.wire.unpack_block(head.block)
    except ChainError as error:
        raise Unreadable(f"its block can't be read: {error.message(state.spec.spell)}") from None
    if end != len(head.block) or (block.id.hex(), block.number, block.timestamp) != (head.block_id, head.number, head.time):
        raise Unreadable("its block is another one than it names")
    return block


def _install(state: State, installs: Iterable[Install]) -> list[Deferred]:
    """Put all parts in place, point the references to single rows at the new ones, and return what is left to do."""
    left = [deferred for install in installs if (deferred := install()) is not None]
    state.find_single_rows()
    for name, kept in state.plugins.items():
        PLUGINS[name].restored(kept)
    return left
