"""Messages between the owner of a chain and its readers. They arrive in order, so a reader has every change before the replies that depend
on it.
"""

from msgspec import Struct

from node.devchain.savepoints import DevSettings
from node.ipc.calls import Call, Reply

LOADING_SECONDS_MAX = 600  # in which a dump is written and a reader loads it


class PendingTransaction(Struct, frozen=True, array_like=True):
    """A pending transaction: its id, its bytes if the reader doesn't have it yet, and whether it is applied to the state.

    A pending transaction isn't applied after blocks were undone, or if the time limit for applying pending transactions was reached.
    """

    id: bytes
    packed: bytes
    is_applied: bool


# ------------------------------------------------------------------ from the owner


class Start(Struct, frozen=True, array_like=True, tag=10):
    """The first message to a reader: the node's pickled settings, and whether its log format is JSON."""

    settings: bytes
    is_json: bool


class Sync(Struct, frozen=True, array_like=True, tag=11):
    """Replaces the reader's chain. Contains the path of a dump, which exists once the dump is complete, and which the reader removes after
    loading it, and the result of `BlockSidecars.encode`.
    """

    number: int
    path: str
    sidecars: bytes
    settings: DevSettings
    pending: tuple[PendingTransaction, ...]


class Changes(Struct, frozen=True, array_like=True, tag=12):
    """Changes made by one job. The reader applies them in this order: the blocks, as lines of a packed stream; `pending`, which replaces
    the list of pending transactions unless it is null; `added`, which extends that list. `refused` are notices of refusals for
    subscribers.
    """

    number: int
    lines: tuple[bytes, ...]
    pending: tuple[PendingTransaction, ...] | None
    added: tuple[bytes, ...]
    settings: DevSettings | None
    refused: tuple[bytes, ...]


class Stop(Struct, frozen=True, array_like=True, tag=14):
    """Shuts the reader down. Open requests have GOODBYE_SECONDS_MAX to finish."""


# ------------------------------------------------------------------ from a reader


class Ready(Struct, frozen=True, array_like=True, tag=20):
    """Reports that the reader has loaded the program and waits for the chain."""


class Loaded(Struct, frozen=True, array_like=True, tag=21):
    """Reports that the reader has loaded the chain of a `Sync`."""

    number: int


class OutOfSync(Struct, frozen=True, array_like=True, tag=22):
    """Reports that the reader could not apply a change, with the reason. The owner has to send a `Sync`."""

    reason: str


class PageRequest(Struct, frozen=True, array_like=True, tag=24):
    """Requests a page that only the owner serves."""

    call: int
    path: str


class Cancel(Struct, frozen=True, array_like=True, tag=25):
    """Cancels a forwarded call, because its client has disconnected."""

    call: int


class Report(Struct, frozen=True, array_like=True, tag=26):
    """Statistics of a reader: the number of the last applied message, memory in bytes, open connections, the calls since its start and the
    seconds spent on them, units of work for refused calls, and the number of client addresses limited because of refused calls.
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
