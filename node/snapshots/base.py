"""Fork files: a chain that doesn't begin at genesis begins with the state in such a file. It is a snapshot with the chain's spec.

`ChainSpec.base` identifies the file by its digest. A data folder keeps a copy of it (`node/storage/datafolder.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from node.runtime.memory import collector_off
from node.snapshots.file import CorruptSnapshot, IncompatibleSnapshot, Snapshot, SnapshotWriter
from node.snapshots.folder import require_fit, write_sections
from node.specs.encoder import check_spec
from node.specs.tables import Fault
from node.storage.disk import Disk, SystemDisk, written_whole
from node.version import VERSION
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.invariants import InvariantBroken, validate_invariants
from state.chain.irreversible import no_block
from state.plugins.registry import enable
from state.protocol.errors import ChainError
from state.protocol.spec import Base, ChainSpec
from state.snapshot.image import head_of, restore
from state.store.columns import CorruptData

SPEC = "base/spec"  # the section with the whole spec as JSON
SYSTEM = SystemDisk()


def write_base(chain: Chain, path: Path, disk: Disk = SYSTEM, sections: Mapping[str, bytes] | None = None) -> None:
    """Write a fork file with the state of a chain at its head. The head block is written without its transactions.

    `sections` are additional sections by name. Raises OSError.
    """
    assert chain.head is not None, "a chain begins after a block"
    assert not chain.pending, "the state is that of the head block"
    spec, block = replace(chain.state.spec, base=Base()), replace(chain.head, transactions=())
    head = replace(head_of(chain), block=chain.state.wire.pack_block(block))
    with written_whole(disk, path) as file:
        writer = write_sections(SnapshotWriter(file), chain, head, with_blocks=False)
        for name, data in {SPEC: msgspec.json.encode(spec), **(sections or {})}.items():
            writer.section(name, name, iter([data]))
        writer.finish(VERSION, spec, head)


def read_base(path: Path, disk: Disk = SYSTEM) -> ChainSpec:
    """Return the spec of the chain that begins with a fork file. Raises SnapshotError."""
    with _opened(path, disk) as snapshot:
        snapshot.check_schema(SPEC, SPEC)
        try:
            spec = msgspec.json.decode(b"".join(snapshot.chunks(SPEC)), type=ChainSpec)
            check_spec(spec)
            block_id = bytes.fromhex(snapshot.head.block_id)
        except Fault as fault:
            raise CorruptSnapshot(f"{path}: its spec is invalid: {fault.key}: {fault.expected}") from None
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise CorruptSnapshot(f"{path}: its spec can't be read: {error}") from None
        return replace(spec, base=Base(number=snapshot.head.number, block_id=block_id, time=snapshot.head.time, digest=snapshot.digest))


def new_chain(
    spec: ChainSpec,
    fork: Path | None = None,
    plugins: Iterable[str] = (),
    disk: Disk = SYSTEM,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Chain:
    """Return a chain with these plugins at genesis or, with `fork`, at the state in this fork file. Raises SnapshotError."""
    try:
        state = new_state(spec, partial(enable, names=tuple(plugins)))
    except ChainError as error:
        if fork is None:
            raise
        raise CorruptSnapshot(f"{fork}: no chain can have its spec: {error.message(spec.spell)}") from None
    chain = Chain(state, out_of_time)
    if fork is not None:
        _restore(chain, fork, disk)
    return chain


def _restore(chain: Chain, path: Path, disk: Disk) -> None:
    spec = chain.state.spec
    with _opened(path, disk) as snapshot:
        if snapshot.digest != spec.base.digest:
            raise IncompatibleSnapshot(f"{path}: is not the file with which the chain {spec.name} begins ({spec.base.digest[:16]})")
        require_fit(snapshot, chain.state, replace(spec, base=Base()), advice="use that version, or fork the chain again")
        with collector_off():
            for deferred in restore(chain, snapshot.head, snapshot.chunks, no_block):
                deferred.finish()
        try:
            validate_invariants(chain.state)
        except InvariantBroken as error:
            raise CorruptData(f"its state doesn't add up: {error}") from None


@contextmanager
def _opened(path: Path, disk: Disk) -> Iterator[Snapshot]:
    """Open a fork file, and add advice to the error for a damaged one."""
    try:
        with closing(Snapshot(path, disk)) as snapshot:
            yield snapshot
    except (CorruptData, CorruptSnapshot) as error:
        raise CorruptSnapshot(f"{path}: can't be read: {error}; put a good copy of the fork file in its place") from None
