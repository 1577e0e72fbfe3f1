"""`coind blocks`: looks at the block log of a data folder and repairs it, without starting a node."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from node.commands.shared import Flag, say
from node.failures import NodeError
from node.specs import load_spec
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import mark_of, read_chain, require_chain
from node.storage.repair import check, repair
from state.protocol.transaction import Wire

blocks = App(name="blocks", help="Check or repair the block log of a data folder.", group_commands="Commands")

Folder = Annotated[Path, Parameter(help="The data folder of a node that is not running.")]
Chain = Annotated[str | None, Parameter(help="The chain spec; by default the one that the folder names.")]


@blocks.command(name="check")
def check_command(folder: Folder, /, *, chain: Chain = None) -> int:
    """Read every block, and say whether a node can start from the folder; ends with status 1 if not."""
    found = check(folder, wire_of(folder, chain))
    say(
        f"{found.good} good blocks, up to byte {found.end} of {found.size}"
        + (f"; the last one is {found.head_id}" if found.head_id else "")
    )
    say("the folder has no mark of its last block" if found.known is None else f"at its last sync the folder had {found.known} blocks")
    for line in found.mended:
        say(line)
    if not found.damage:
        say("nothing is damaged")
        return 0
    say(f"a start would be refused: {found.damage}")
    option = " --accept-loss" if found.is_loss else ""
    say(f"put a good copy in its place, or run: bin/coind blocks repair {folder}{option}")
    return 1


@blocks.command(name="repair")
def repair_command(
    folder: Folder,
    /,
    *,
    chain: Chain = None,
    accept_loss: Annotated[bool, Flag, Parameter(help="Cut off the blocks from the first damaged one on, after a copy.")] = False,
) -> int:
    """Make a folder fit to start from again; a copy of what was there is kept."""
    for line in repair(folder, wire_of(folder, chain), accept_loss=accept_loss):
        say(line)
    return 0


def wire_of(folder: Path, chain: str | None) -> Wire:
    """Return the wire format of a folder's blocks. Raises NodeError."""
    try:
        mark = read_chain(SYSTEM, folder)
    except OSError as error:
        raise NodeError(f"{error.filename or folder}: {error.strerror}; name the data folder of a node") from None
    if not SYSTEM.exists(folder / LOG_NAME):
        raise NodeError(f"{folder} has no {LOG_NAME}; name the data folder of a node")
    if chain is None and mark is None:
        raise NodeError(f"{folder} doesn't name its chain; name it by --chain")
    spec = load_spec(chain or (mark.name if mark is not None else ""))
    if mark is not None:
        require_chain(folder, mark, mark_of(spec))
    return Wire(spec)
