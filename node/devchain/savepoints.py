"""Dev snapshots (`dev_api.snapshot`), keyed by id. Each consists of a savepoint of the chain and the settings of the dev chain."""

import msgspec
from msgspec import Struct, field

from node.devchain.block_modes import BlockMode, is_possible
from state.chain.savepoints import Savepoint
from state.protocol.constants import TIME_MAX
from state.protocol.errors import Refused

SAVEPOINTS_MAX = 256


class DevSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a dev chain that are not in its state: clock offset, block mode, next block time, impersonation. Dumps contain them."""

    offset_ms: int = field(name="lead_ms")
    mode: BlockMode
    next_block_time: int | None
    impersonated: tuple[str, ...]
    is_everyone_impersonated: bool


def read_settings(data: bytes, machine_ms: int) -> DevSettings:
    """Parse and check the settings in a dump, which is untrusted. `machine_ms` is the machine's current time. Raises ValueError."""
    try:
        settings = msgspec.json.decode(data, type=DevSettings)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"its settings are malformed: {error}") from None
    if not is_possible(settings.mode):
        raise ValueError("its block mode is impossible")
    if not 0 <= machine_ms + settings.offset_ms <= TIME_MAX * 1000 or not 0 <= (settings.next_block_time or 0) <= TIME_MAX:
        raise ValueError("its time doesn't fit into 32 bits")
    return settings


class DevSavepoint(Struct, frozen=True):
    """A dev snapshot: the savepoint, the settings, and the size of the edit log in bytes when it was taken."""

    savepoint: Savepoint
    settings: DevSettings
    edits_size: int


class SavepointStore:
    """Dev snapshots, keyed by ids that count up from 1. Ids are not reused until `drop_all`."""

    def __init__(self) -> None:
        self._savepoints: dict[int, DevSavepoint] = {}
        self._last = 0

    @property
    def ids(self) -> list[int]:
        """The ids, oldest first."""
        return list(self._savepoints)

    def require_room(self) -> None:
        """Raise Refused if the store is full."""
        if len(self._savepoints) >= SAVEPOINTS_MAX:
            text = "there are ${most} snapshots already, which is the limit; revert to an earlier one, which drops later ones, or reset"
            raise Refused(text, condition="snapshots.size() < max", most=SAVEPOINTS_MAX)

    def add(self, savepoint: DevSavepoint) -> int:
        """Store a dev snapshot, and return its id."""
        self._last += 1
        self._savepoints[self._last] = savepoint
        return self._last

    def find(self, snapshot_id: int) -> DevSavepoint:
        """Return the dev snapshot with an id. Raises Refused if there is none."""
        savepoint = self._savepoints.get(snapshot_id)
        if savepoint is None:
            kept = ", ".join(map(str, self._savepoints)) or "none"
            raise Refused("there is no snapshot ${id}; existing ones: ${kept}", condition="snapshot != nullptr", id=snapshot_id, kept=kept)
        return savepoint

    def drop_after(self, snapshot_id: int) -> None:
        """Drop the dev snapshots taken after `snapshot_id`."""
        for later in [kept for kept in self._savepoints if kept > snapshot_id]:
            self._savepoints.pop(later).savepoint.state.discard()

    def drop_all(self) -> None:
        """Drop all dev snapshots. The next id is 1 again."""
        self.drop_after(0)
        self._last = 0
