"""Messages between the owner of a chain and its readers. They are ordered, so the changes that a reply depends on precede it."""

from msgspec import Struct

from node.devchain.savepoints import DevSettings
from node.ipc.calls import Call, Reply


class PendingTransaction(Struct, frozen=True, array_like=True):
    """A pending transaction: its id, its bytes if it is new, and whether the state includes its effects.

    The state doesn't include them after blocks were undone, or if the time limit for applying pending transactions was reached.
    """

    id: bytes
    packed: bytes
    is_applied: bool


# ------------------------------------------------------------------ from the owner


class Start(Struct, frozen=True, array_like=True, tag=10):
    """The first message: the node's pickled settings, and whether its log format is JSON."""

    settings: bytes
    is_json: bool


class Sync(Struct, frozen=True, array_like=True, tag=11):
    """The current chain: the path of a dump, which the reader removes, and the result of `BlockSidecars.encode`."""

    number: int
    path: str
    sidecars: bytes
    settings: DevSettings
    pending: tuple[PendingTransaction, ...]


class Changes(Struct, frozen=True, array_like=True, tag=12):
    """Changes made by one job, to apply in this order: blocks, as lines of a packed stream; `pending`, the new list of all pending
    transactions, unless it is null; `added`, further pending transactions. `refused` are notices of refusals for subscribers.
    """

    number: int
    lines: tuple[bytes, ...]
    pending: tuple[PendingTransaction, ...] | None
    added: tuple[bytes, ...]
    settings: DevSettings | None
    refused: tuple[bytes, ...]


class Stop(Struct, frozen=True, array_like=True, tag=14):
    """The node is stopping. Open requests get GOODBYE_SECONDS_MAX to finish."""


# ------------------------------------------------------------------ from a reader


class Ready(Struct, frozen=True, array_like=True, tag=20):
    """The program is loaded and waits for the chain."""


class Loaded(Struct, frozen=True, array_like=True, tag=21):
    """The reader has loaded the chain of a `Sync`."""

    number: int


class OutOfSync(Struct, frozen=True, array_like=True, tag=22):
    """A change could not be applied, for this reason. The reader needs a `Sync`."""

    reason: str


class PageRequest(Struct, frozen=True, array_like=True, tag=24):
    """Request for a page of the owner."""

    call: int
    path: str


class Cancel(Struct, frozen=True, array_like=True, tag=25):
    """Cancels a call whose client no longer waits."""

    call: int


class Report(Struct, frozen=True, array_like=True, tag=26):
    """State of a reader: the last applied number, memory in bytes, open connections, calls since its start and their time in seconds,
    units of work for refused calls, and the number of client addresses limited for them.
    """

    number: int = 0
    memory: int = 0
    connections: int = 0
    calls: int = 0
    seconds: float = 0.0
    refused_units: int = 0
    limited: int = 0


FromOwner = Start | Sync | Changes | Reply | Stop
FromReader = Ready | Loaded | OutOfSync | Call | PageRequest | Cancel | Report
