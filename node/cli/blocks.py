"""`coind blocks`: looks at the block log of a data folder and repairs it, without starting a node."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from node.cli.parameters import Config, Flag
from node.runtime.errors import NodeError
from node.runtime.output import say
from node.specs.builder import load_spec, spec_names
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import read_chain, require_chain
from node.storage.edit_log import EDITS_NAME, DamagedEdits, cut_damage, lines_in
from node.storage.repair import check, repair
from state.protocol.transaction import Wire

blocks = App(name="blocks", help="Check or repair the block log of a data folder.", group_commands="Commands")

Folder = Annotated[Path, Parameter(help="The data folder of a node that is not running.")]
Chain = Annotated[str | None, Parameter(help="The chain spec; by default the one that the folder names.")]


@blocks.command(name="check")
def check_command(folder: Folder, /, *, chain: Chain = None, config: Config = None) -> int:
    """Read every block, and say whether a node can start from the folder; ends with status 1 if not."""
    found = check(folder, wire_of(folder, chain))
    say(
        f"{found.good} good blocks, up to byte {found.end} of {found.size}"
        + (f"; the last one is {found.head_id}" if found.head_id else "")
    )
    say("the folder has no mark of its last block" if found.known is None else f"at its last sync the folder had {found.known} blocks")
    for line in found.mended:
        say(line)
    edits = damage_of_edits(folder)
    if not found.damage and not edits:
        say("nothing is damaged")
        return 0
    for damage in filter(None, (found.damage, edits)):
        say(f"a start would be refused: {damage}")
    option = " --accept-loss" if found.is_loss or edits else ""
    say(f"put a good copy in its place, or run: bin/coind blocks repair {folder}{option}")
    return 1


@blocks.command(name="repair")
def repair_command(
    folder: Folder,
    /,
    *,
    chain: Chain = None,
    accept_loss: Annotated[bool, Flag, Parameter(help="Cut off the blocks from the first damaged one on, after a copy.")] = False,
    config: Config = None,
) -> int:
    """Make a folder fit to start from again; a copy of what was there is kept."""
    wire, damage = wire_of(folder, chain), damage_of_edits(folder)
    if damage and not accept_loss:
        raise NodeError(f"{damage}; add --accept-loss to go on without what is damaged there and keep a copy of the file as it is")
    lines = repair(folder, wire, accept_loss=accept_loss)
    if damage:
        lines = [*(line for line in lines if line != "nothing is damaged"), cut_damage(folder, tag_of(folder), SYSTEM)]
        lines.append("a block that needs such an edit is refused at the next start")
    for line in lines:
        say(line)
    return 0


def damage_of_edits(folder: Path) -> str:
    """Return what is damaged in a folder's edits by hand, and say how many there are; empty when nothing is."""
    try:
        lines = lines_in(folder, tag_of(folder), SYSTEM)
    except DamagedEdits as error:
        return error.reason
    if lines:
        say(f"{len(lines)} good lines in {EDITS_NAME}, the changes by hand that the blocks need")
    return ""


def tag_of(folder: Path) -> str:
    """Return what a folder knows of its edits by hand."""
    mark = read_chain(SYSTEM, folder)
    return "" if mark is None else mark.edits


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
    name = chain or (mark.name if mark is not None else "")
    # A folder may come from a stranger: what it names is no path.
    if chain is None and name not in spec_names():
        raise NodeError(f"{folder} holds the chain {name}, which doesn't come with coind; name its spec by --chain")
    spec = load_spec(name)
    if mark is not None:
        require_chain(folder, mark, spec)
    return Wire(spec)
