"""The complete contents of a chain, for tests that restore an earlier state."""

from typing import Any

from msgspec import structs

from state.chain.chain import Chain
from state.snapshot.image import parts_of
from state.store.grouped import GroupedIdsIndex
from state.store.packed import PackedRows
from state.store.serializers import TablePart


def all_of(chain: Chain) -> dict[str, Any]:
    """Return the complete contents of a chain in comparable form. This also verifies its tables."""
    state, forks = chain.state, chain.forks
    found: dict[str, Any] = {}
    for name, part in parts_of(state).items():
        found[name] = list(part.dump())
        if isinstance(part, TablePart):
            part._table.check()
            found[name] += [
                [row.id for row in order] for order in part._table._orders if not isinstance(order, PackedRows | GroupedIdsIndex)
            ]
            found[name] += [[row.id for row in order] for order in part._table._lazy]
    found["journal"] = state.journal.position(), len(state.journal)
    found["here"] = structs.astuple(state.position)
    found["hardfork_times"] = tuple(state.hardfork_times)
    found["waiting"] = [trx.id for trx in chain.pending], [trx.id for trx in chain.pool.popped], chain.pool.position
    found["marks"] = tuple(chain.main_branch.positions)
    found["edits"] = dict(chain.sidecars.edits)
    found["blocks"] = (
        chain.irreversible_blocks.found,
        list(chain.irreversible_blocks.blocks_in_memory),
        chain.started_at,
        chain.sidecars.is_changed_by_hand,
    )
    found["main branch"] = forks.head, dict(forks._main), forks.size_max, forks._oldest, forks._irreversible
    found["branches"] = dict(forks._others), {n: list(level) for n, level in forks._others_by_number.items()}
    found["refused"] = dict(forks._refused), dict(forks._siblings), forks.bytes_used
    return found


def deep(chain: Chain) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contents of a chain as it is, and after undoing everything reversible. The chain is restored afterwards."""
    now = chain.savepoint()
    found = all_of(chain)
    chain.rewind()
    rewound = all_of(chain)
    chain.restore(now)
    assert all_of(chain) == found
    return found, rewound
