"""Makes a fork file with everything of a source."""

from pathlib import Path

from msgspec.structs import replace

from node.fork.complete.copying import Report, copy_all
from node.fork.complete.pages import PageFolder
from node.fork.fetch import NOTES_MAX, without_secrets
from node.fork.file import ForkOrigin, write_fork
from node.fork.source import Source
from node.runtime.errors import on_one_line
from state.chain.chain import Chain
from state.chain.irreversible import no_block
from state.plugins.registry import PLUGINS
from state.protocol.spec import ChainSpec


async def write_complete_fork(source: Source, path: Path, report: Report, spec: ChainSpec | None = None) -> None:
    """Write a fork file with everything of a source, whose chain id and keys it keeps. Raises NodeError.

    What was read is kept in a folder beside the file until the file is written, so that a copy that was interrupted can go on. `spec` is
    the source's chain spec; by default it is found out.
    """
    folder = path.with_name(f"{path.name}.pages")
    copy = await copy_all(source, folder, PLUGINS, report, spec)
    chain = Chain(copy.state)
    chain.start_at(replace(copy.block, transactions=()), no_block, is_changed_by_hand=False)
    origin = ForkOrigin(
        source=without_secrets(source.url),
        chain_id=copy.state.spec.chain_id.hex(),
        number=copy.block.number,
        block_id=copy.block.id.hex(),
        time=copy.block.timestamp,
        is_complete=True,
        keys="kept",
        counts=copy.counts,
        notes=tuple(map(on_one_line, copy.notes))[:NOTES_MAX],
    )
    report("writing the file")
    write_fork(chain, path, origin)
    PageFolder(folder).remove()
