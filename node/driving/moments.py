"""The moments of a chain that `dev_api.snapshot` keeps, by their ids: a checkpoint of the chain, and with it what drives the chain. It must
not know how a chain returns to one.
"""

import msgspec
from msgspec import Struct

from node.driving.modes import BlockMode, is_possible
from state.chain.checkpoints import Checkpoint
from state.protocol.constants import TIME_MAX
from state.protocol.errors import Refused

MOMENTS_MAX = 256


class Settled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What drives a chain beside what is on it, as methods have set it."""

    lead_ms: int
    mode: BlockMode
    next_block_time: int | None
    impersonated: tuple[str, ...]
    is_everyone_impersonated: bool


def read_settled(data: bytes, machine_ms: int) -> Settled:
    """Return what drove the chain of a dump, whoever has written that; `machine_ms` is the time of the machine. Raises ValueError."""
    try:
        settled = msgspec.json.decode(data, type=Settled)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"what drives its chain has another form: {error}") from None
    if not is_possible(settled.mode):
        raise ValueError("its block mode is impossible")
    if not 0 <= machine_ms + settled.lead_ms <= TIME_MAX * 1000 or not 0 <= (settled.next_block_time or 0) <= TIME_MAX:
        raise ValueError("its time doesn't fit into 32 bits")
    return settled


class Moment(Struct, frozen=True):
    """A chain with what drives it. `edits_size` is how long the file of edits was, in bytes."""

    checkpoint: Checkpoint
    settled: Settled
    edits_size: int


class Moments:
    """The moments that are kept, by ids that begin with 1; an id is never given again, unless all are dropped."""

    def __init__(self) -> None:
        self._kept: dict[int, Moment] = {}
        self._last = 0

    @property
    def ids(self) -> list[int]:
        """The ids of the moments, the oldest first."""
        return list(self._kept)

    def require_room(self) -> None:
        """Refuse when as many are kept as there may be."""
        if len(self._kept) >= MOMENTS_MAX:
            text = "${most} snapshots are kept already; revert to an earlier one, which drops those after it, or reset"
            raise Refused(text, condition="snapshots.size() < max", most=MOMENTS_MAX)

    def keep(self, moment: Moment) -> int:
        """Keep a moment, and return its id."""
        self._last += 1
        self._kept[self._last] = moment
        return self._last

    def find(self, moment_id: int) -> Moment:
        """Return the moment of an id, or refuse."""
        moment = self._kept.get(moment_id)
        if moment is None:
            kept = ", ".join(map(str, self._kept)) or "none"
            raise Refused("there is no snapshot ${id}; kept are: ${kept}", condition="snapshot != nullptr", id=moment_id, kept=kept)
        return moment

    def drop_after(self, moment_id: int) -> None:
        """Drop the moments that were kept later than one."""
        self._kept = {kept: moment for kept, moment in self._kept.items() if kept <= moment_id}

    def drop_all(self) -> None:
        """Drop all moments, and begin with 1 again."""
        self._kept, self._last = {}, 0
