"""Selects the chain of a source: the caller's choice, else the data folder's mark, else the known chain that accepts the first blocks."""

from itertools import islice
from pathlib import Path

from node.history.detect_chain import FIRST_BLOCKS, chains_of, takes
from node.history.sources import STANDARD_INPUT, is_pipe, open_source
from node.research.errors import UnknownChain, UnreadableBlocks, as_data_errors
from node.runtime.errors import DiskError, FileError, NodeError
from node.specs.builder import load_spec, spec_names
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import FolderMark, read_chain
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

ANY = "steem-mainnet"  # for checking whether a file contains blocks at all


def chosen_chain(path: Path, chain: str | Path | ChainSpec | None) -> ChainSpec:
    """Return the spec with the name or path `chain`, or without one the spec of the blocks at `path`.

    Raises UnknownChain, also if the blocks belong to another chain, and UnreadableBlocks if they are needed and can't be read.
    """
    if chain is None and not path.exists() and path != STANDARD_INPUT:
        raise UnreadableBlocks(f"{path}: No such file or folder")
    try:
        if chain is None:
            return load_spec(chain_of(path))
        spec = chain if isinstance(chain, ChainSpec) else load_spec(str(chain))
    except NodeError as error:
        raise UnknownChain(str(error)) from None
    require_fitting(path, spec)
    return spec


def chain_of(path: Path) -> str:
    """Return the name of the chain of the blocks at a path. Raises UnknownChain, and NodeError for a damaged folder."""
    marked = mark_at(path)
    if marked is not None and marked.name in spec_names():
        return marked.name
    if not is_pipe(path):
        with as_data_errors():
            open_source(path, Wire(load_spec(ANY))).close()
    found = chains_of(path, 1, "")
    if len(found) > 1:
        # Chains with the same witness keys differ in the signatures of transactions.
        found = chains_of(path, deciding_block(path, load_spec(found[0])), "") or found
    if len(found) == 1:
        return found[0]
    which = f"{' and '.join(found)} both accept the first blocks" if found else f"The known chains are {', '.join(spec_names())}"
    raise UnknownChain(f"{path}: the chain of these blocks is unknown. {which}")


def require_fitting(path: Path, spec: ChainSpec) -> None:
    """Raise UnknownChain if the folder has another chain, or if the spec refuses first blocks that a known chain accepts.

    A pipe is not checked, since it can't be read twice.
    """
    if is_pipe(path) or not path.exists():
        return
    try:
        marked = mark_at(path)
    except NodeError:  # reading the blocks doesn't need the mark
        marked = None
    if marked is not None:
        found = [] if marked.chain_id == spec.chain_id.hex() else [marked.name]
    else:
        number = deciding_block(path, spec)
        found = [] if not number or takes(spec, path, number) else chains_of(path, number, spec.name)
    if found:
        raise UnknownChain(f"{path}: the blocks belong to the chain {' or '.join(found)}, not to {spec.name}")


def mark_at(path: Path) -> FolderMark | None:
    """Return the chain mark of the data folder of a path, or None. Raises NodeError for a damaged folder."""
    folder = path.parent if path.name == LOG_NAME and path.is_file() else path
    try:
        return read_chain(SYSTEM, folder) if folder.is_dir() else None
    except OSError as error:
        raise DiskError(f"{error.filename or folder}: {error.strerror}") from None


def deciding_block(path: Path, spec: ChainSpec) -> int:
    """Return the number of the first block with a transaction among FIRST_BLOCKS, else of the last of them, or 0 without block 1."""
    number = 0
    try:
        source = open_source(path, Wire(spec))
        try:
            for block in islice(source, FIRST_BLOCKS):
                if block.number != number + 1:
                    break
                number += 1
                if block.transactions:
                    break
        finally:
            source.close()
    except FileError:  # possibly readable with another chain's spec
        number += 1
    return number
