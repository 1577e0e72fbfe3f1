"""Which chain blocks are of: the data folder says it, or the first blocks do, which a chain that somebody names must not contradict."""

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

ANY = "steem-mainnet"  # by which it shows whether a file is one of blocks at all


def chosen_chain(path: Path, chain: str | Path | ChainSpec | None) -> ChainSpec:
    """Return the spec of a chain by its name or the path of its file; without one, that of the blocks at a path.

    Raises UnknownChain, also for a chain that the blocks contradict, and UnreadableBlocks where the blocks are to say it.
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
    """Return the name of the chain that the blocks at a path are of. Raises UnknownChain, and NodeError for a damaged folder."""
    marked = mark_at(path)
    if marked is not None and marked.name in spec_names():
        return marked.name
    if not is_pipe(path):
        with as_data_errors():
            open_source(path, Wire(load_spec(ANY))).close()
    found = chains_of(path, 1, "")
    if len(found) > 1:
        # Signatures of transactions tell chains apart whose witnesses have the same keys.
        found = chains_of(path, deciding_block(path, load_spec(found[0])), "") or found
    if len(found) == 1:
        return found[0]
    which = f"{' and '.join(found)} both take the first ones" if found else f"known chains are {', '.join(spec_names())}"
    raise UnknownChain(f"{path}: name the chain of these blocks; {which}")


def require_fitting(path: Path, spec: ChainSpec) -> None:
    """Raise UnknownChain for a chain other than that of the folder, or one that refuses the first blocks where a known chain takes them.

    Of a pipe nothing is known before it is read.
    """
    if is_pipe(path) or not path.exists():
        return
    try:
        marked = mark_at(path)
    except NodeError:  # who reads the blocks doesn't need it
        marked = None
    if marked is not None:
        found = [] if marked.chain_id == spec.chain_id.hex() else [marked.name]
    else:
        number = deciding_block(path, spec)
        found = [] if not number or takes(spec, path, number) else chains_of(path, number, spec.name)
    if found:
        raise UnknownChain(f"{path}: the blocks are of the chain {' or '.join(found)}, not of {spec.name}")


def mark_at(path: Path) -> FolderMark | None:
    """Return what the data folder that the blocks at a path are in says of its chain. Raises NodeError for a damaged one."""
    folder = path.parent if path.name == LOG_NAME and path.is_file() else path
    try:
        return read_chain(SYSTEM, folder) if folder.is_dir() else None
    except OSError as error:
        raise DiskError(f"{error.filename or folder}: {error.strerror}") from None


def deciding_block(path: Path, spec: ChainSpec) -> int:
    """Return the number of the first block with a transaction, of the last of FIRST_BLOCKS without; 0 where block 1 isn't there."""
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
    except FileError:  # another chain may be able to read it
        number += 1
    return number
