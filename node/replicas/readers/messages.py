"""Messages between the owner of a chain and its readers. They are ordered, so changes arrive before the replies that depend on them."""

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
    """Replaces the reader's chain: the path of a dump, which the reader removes, and the result of `BlockSidecars.encode`."""

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
    """Shuts the reader down. Open requests get GOODBYE_SECONDS_MAX to finish."""


# ------------------------------------------------------------------ from a reader


class Ready(Struct, frozen=True, array_like=True, tag=20):
    """Reports that the reader has loaded the program and waits for the chain."""


class Loaded(Struct, frozen=True, array_like=True, tag=21):
    """Reports that the reader has loaded the chain of a `Sync`."""

    number: int


class OutOfSync(Struct, frozen=True, array_like=True, tag=22):
    """Reports that a change could not be applied, with the reason. The reader needs a `Sync`."""

    reason: str


class PageRequest(Struct, frozen=True, array_like=True, tag=24):
    """Requests a page that only the owner serves."""

    call: int
    path: str


class Cancel(Struct, frozen=True, array_like=True, tag=25):
    """Cancels a call whose client has disconnected."""

    call: int


class Report(Struct, frozen=True, array_like=True, tag=26):
    """State of a reader: the number of the last applied message, memory in bytes, open connections, calls since its start and their time in
    seconds, units of work for refused calls, and the number of client addresses limited for them.
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
