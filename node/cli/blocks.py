"""`coind blocks`: checks or repairs the block log of a data folder, without starting a node."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from node.cli.parameters import Config, Flag
from node.history.chain_detection import stored_variant
from node.runtime.errors import NodeError
from node.runtime.output import say
from node.snapshots.base import read_base
from node.specs.builder import load_spec, spec_names
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import fork_in, read_chain, require_chain
from node.storage.edit_log import EDITS_NAME, DamagedEdits, cut_damage, lines_in
from node.storage.repair import check, repair
from state.protocol.transaction import Wire

blocks = App(name="blocks", help="Check or repair the block log of a data folder.", group_commands="Commands")

Folder = Annotated[Path, Parameter(help="The data folder of a node that is not running.")]
Chain = Annotated[str | None, Parameter(help="The chain spec; by default that of the folder.")]


@blocks.command(name="check")
def check_command(folder: Folder, /, *, chain: Chain = None, config: Config = None) -> int:
    """Read every block, and check whether a node can start from the folder (exit status 1: it can't)."""
    found = check(folder, wire_of(folder, chain))
    count, end = len(found.good), found.good.end
    say(f"{count} good blocks, up to byte {end} of {found.size}" + (f", the last is {found.head_id}" if found.head_id else ""))
    say("the folder has no sync mark" if found.known is None else f"at its last sync the folder had {found.known} blocks")
    for line in found.mended:
        say(line)
    edits = damage_of_edits(folder)
    if not found.damage and not edits:
        say("nothing is damaged")
        return 0
    for damage in filter(None, (found.damage, edits)):
        say(f"a node would refuse to start: {damage}")
    option = " --accept-loss" if found.is_loss or edits else ""
    say(f"Restore a good copy, or run: bin/coind blocks repair {folder}{option}")
    return 1


@blocks.command(name="repair")
def repair_command(
    folder: Folder,
    /,
    *,
    chain: Chain = None,
    accept_loss: Annotated[Flag, Parameter(help="Remove the blocks from the first damaged one on, after a copy.")] = False,
    config: Config = None,
) -> int:
    """Repair a folder so that a node can start from it. Damaged files are copied first."""
    wire, damage = wire_of(folder, chain), damage_of_edits(folder)
    if damage and not accept_loss:
        raise NodeError(f"{damage}. Add --accept-loss to remove the damaged lines; the file is copied first.")
    lines = repair(folder, wire, accept_loss=accept_loss)
    if damage:
        lines = [*(line for line in lines if line != "nothing is damaged"), cut_damage(folder, tag_of(folder), SYSTEM)]
        lines.append("the next start refuses a block that needs such an edit")
    for line in lines:
        say(line)
    return 0


def damage_of_edits(folder: Path) -> str:
    """Print the number of valid lines in a folder's edit log, and return a description of its damage, or "" for none."""
    try:
        lines = lines_in(folder, tag_of(folder), SYSTEM)
    except DamagedEdits as error:
        return error.reason
    if lines:
        say(f"{len(lines)} good lines in {EDITS_NAME}, the state edits that the blocks need")
    return ""


def tag_of(folder: Path) -> str:
    """Return the tag of a folder's edit log, or "" if it has none."""
    mark = read_chain(SYSTEM, folder)
    return "" if mark is None else mark.edits


def wire_of(folder: Path, chain: str | None) -> Wire:
    """Return the wire format of the blocks in a folder. Raises NodeError."""
    try:
        mark = read_chain(SYSTEM, folder)
    except OSError as error:
        raise NodeError(f"{error.filename or folder}: {error.strerror}. Give the data folder of a node.") from None
    if not SYSTEM.exists(folder / LOG_NAME):
        raise NodeError(f"{folder} has no {LOG_NAME}. Give the data folder of a node.")
    if (fork := fork_in(folder)) is not None:
        spec = read_base(fork)
        if mark is not None:
            require_chain(folder, mark, spec)
        return Wire(spec)
    if chain is None and mark is None:
        raise NodeError(f"{folder} doesn't name its chain. Give it by --chain.")
    name = chain or (mark.name if mark is not None else "")
    # The folder's content is untrusted, so its chain name must not be used as a path.
    if chain is None and name not in spec_names():
        raise NodeError(f"{folder} has the chain {name}, which doesn't come with coind. Give its spec by --chain.")
    spec = load_spec(name)
    if mark is not None:
        require_chain(folder, mark, stored_variant(spec, folder))
    return Wire(spec)
