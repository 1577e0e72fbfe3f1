"""The target for the sections of snapshots and dumps: tables with packed rows, positions of texts, values by id, histories.

An input is a section of a chain and changes of its bytes. It is small, and fits every version of the rows.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from struct import Struct as Layout

from msgspec import MsgspecError

from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.snapshot.image import parts_of
from state.store.columns import CorruptData
from state.store.rows import run_steps
from state.store.serializers import SnapshotPart, TablePart
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fuzz.target import Run

# Recorded chains with the number of their blocks. The second one has edited and packed texts, and packed rows of most tables.
CASES_USED = {"communities": 54, "walk_random": 1100}
# Of an input: the section and the case. Of each change: the chunk, the position in it, the bytes removed and added.
HEAD, CHANGE = Layout("<BB"), Layout("<BHBB")


def sections() -> Run:
    """Return a target that loads a section of a chain with changed bytes. A section that loads must be readable, and load again."""
    chains = [grown(*each) for each in CASES_USED.items()]
    every = [list(parts_of(chain.state, has_blocks=True).values()) for chain in chains]

    def run(data: bytes) -> None:
        if len(data) < HEAD.size:
            return
        number, case = HEAD.unpack_from(data)
        parts = every[case % len(every)]
        part = parts[number % len(parts)]
        chunks = changed(list(part.dump()), data[HEAD.size :])
        put_back = run_steps(part.copying())
        try:
            load(part, chunks)
            read(part)
        except CorruptData:
            pass
        finally:
            put_back()

    return run


def grown(case: str, height: int) -> Chain:
    """Return a recorded chain with packed rows."""
    player = Player(CASES / case)
    for block in islice(player.blocks(), height):
        player.chain.push_block(block)
    for part in parts_of(player.chain.state).values():
        if isinstance(part, TablePart) and (packing := part._table.packing) is not None:
            packing.pack(len(packing._queue))
    return player.chain


def changed(chunks: list[bytes], data: bytes) -> list[bytes]:
    """Return chunks with the changes of an input."""
    at = 0
    while at + CHANGE.size <= len(data):
        chunk, position, removed, added = CHANGE.unpack_from(data, at)
        at += CHANGE.size
        old = chunks[chunk % len(chunks)]
        position %= len(old) + 1
        chunks[chunk % len(chunks)] = old[:position] + data[at : at + added] + old[position + removed :]
        at += added
    return chunks


def load(part: SnapshotPart, chunks: Iterable[bytes]) -> None:
    """Load a section as a start does. Raises CorruptData."""
    try:
        later = part.read(iter(chunks))()
    except (ChainError, StopIteration, TypeError) as error:
        raise CorruptData(str(error)) from None
    try:
        if later is not None:
            later.finish()
    except (ChainError, MsgspecError, ValueError) as error:
        raise CorruptData(str(error)) from None


def read(part: SnapshotPart) -> None:
    """Read what was loaded, then save it and load it again. Every failure is a finding."""
    try:
        with suppress(ChainError, CorruptData):  # an operation or a text that isn't in its block, or that can't be unpacked
            for _ in part.entries():
                pass
        load(part, list(part.dump()))
    except CorruptData as error:
        raise AssertionError("a section that was loaded can't be read or saved") from error
