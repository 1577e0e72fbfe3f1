"""Makes a fork file with everything of a source."""

from pathlib import Path

from msgspec.structs import replace

from node.fork.building import build_fork, forked_spec
from node.fork.complete.copying import Report, copy_all
from node.fork.complete.pages import PageFolder
from node.fork.fetch import ForkRequest, origin_of
from node.fork.file import write_fork
from node.fork.source import Source
from node.fork.world import World
from state.chain.chain import Chain
from state.chain.irreversible import no_block
from state.plugins.registry import PLUGINS
from state.portable import export_rows
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock
from state.tables import State

# A fork that follows the source's later blocks has the keys and the chain id of the source.
EXACT = ForkRequest(keys="kept", keeps_chain_id=True)


async def write_complete_fork(
    source: Source, path: Path, report: Report, request: ForkRequest = EXACT, spec: ChainSpec | None = None
) -> None:
    """Write a fork file with everything of a source, which differs from the source as requested. Raises NodeError.

    The rows are kept in a folder beside the file until the file is written, so that an interrupted copy can resume. `spec` is the source's
    chain spec; by default it is found out.
    """
    folder = path.with_name(f"{path.name}.pages")
    copy = await copy_all(source, folder, PLUGINS, report, spec)
    header = replace(copy.block, transactions=())
    if request == EXACT:
        chain = Chain(copy.state)
        chain.start_at(header, no_block, is_changed_by_hand=False)
    else:
        report("replacing keys")
        chain = changed(copy.state, header, request)
    origin = origin_of(source, copy.state.spec.chain_id, request, chain, copy.counts, copy.notes, is_complete=True)
    report("writing the file")
    write_fork(chain, path, origin)
    PageFolder(folder).remove()


def changed(state: State, header: SignedBlock, request: ForkRequest) -> Chain:
    """Return a chain with the same rows that this machine makes blocks for, with keys, witnesses and chain id as requested."""
    world = World(header, state.spec, export_rows(state), ())
    spec = forked_spec(
        world,
        keeps_keys=request.keys == "kept",
        witnesses=request.witnesses,
        keeps_chain_id=request.keeps_chain_id,
        is_complete=True,
    )
    return build_fork(spec, world, next_proposal_id=state.proposals.next_id)
