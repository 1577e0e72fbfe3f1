"""The moments of a chain that `dev_api.snapshot` keeps, by their ids: a checkpoint of the chain, and with it what drives the chain. It must
not know how a chain returns to one.
"""

import msgspec
from msgspec import Struct, field

from node.devchain.block_modes import BlockMode, is_possible
from state.chain.savepoints import Savepoint
from state.protocol.constants import TIME_MAX
from state.protocol.errors import Refused

SAVEPOINTS_MAX = 256


class DevSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What drives a chain beside what is on it, as methods have set it."""

    offset_ms: int = field(name="lead_ms")
    mode: BlockMode
    next_block_time: int | None
    impersonated: tuple[str, ...]
    is_everyone_impersonated: bool


def read_settings(data: bytes, machine_ms: int) -> DevSettings:
    """Return what drove the chain of a dump, whoever has written that; `machine_ms` is the time of the machine. Raises ValueError."""
    try:
        settled = msgspec.json.decode(data, type=DevSettings)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"what drives its chain has another form: {error}") from None
    if not is_possible(settled.mode):
        raise ValueError("its block mode is impossible")
    if not 0 <= machine_ms + settled.offset_ms <= TIME_MAX * 1000 or not 0 <= (settled.next_block_time or 0) <= TIME_MAX:
        raise ValueError("its time doesn't fit into 32 bits")
    return settled


class DevSavepoint(Struct, frozen=True):
    """A chain with what drives it. `edits_size` is how long the file of edits was, in bytes."""

    savepoint: Savepoint
    settings: DevSettings
    edits_size: int


class SavepointStore:
    """The moments that are kept, by ids that begin with 1; an id is never given again, unless all are dropped."""

    def __init__(self) -> None:
        self._savepoints: dict[int, DevSavepoint] = {}
        self._last = 0

    @property
    def ids(self) -> list[int]:
        """The ids of the moments, the oldest first."""
        return list(self._savepoints)

    def require_room(self) -> None:
        """Refuse when as many are kept as there may be."""
        if len(self._savepoints) >= SAVEPOINTS_MAX:
            text = "${most} snapshots are kept already; revert to an earlier one, which drops those after it, or reset"
            raise Refused(text, condition="snapshots.size() < max", most=SAVEPOINTS_MAX)

    def add(self, savepoint: DevSavepoint) -> int:
        """Keep a moment, and return its id."""
        self._last += 1
        self._savepoints[self._last] = savepoint
        return self._last

    def find(self, moment_id: int) -> DevSavepoint:
        """Return the moment of an id, or refuse."""
        savepoint = self._savepoints.get(moment_id)
        if savepoint is None:
            kept = ", ".join(map(str, self._savepoints)) or "none"
            raise Refused("there is no snapshot ${id}; kept are: ${kept}", condition="snapshot != nullptr", id=moment_id, kept=kept)
        return savepoint

    def drop_after(self, moment_id: int) -> None:
        """Drop the moments that were kept later than one."""
        self._savepoints = {kept: savepoint for kept, savepoint in self._savepoints.items() if kept <= moment_id}

    def drop_all(self) -> None:
        """Drop all moments, and begin with 1 again."""
        self._savepoints, self._last = {}, 0
