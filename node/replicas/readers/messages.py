"""What the owner of a chain and its readers say to each other, as values. They come in order: what a reply depends on comes before it."""

from msgspec import Struct

from node.devchain.savepoints import DevSettings
from node.ipc.calls import Call, Reply


class PendingTransaction(Struct, frozen=True, array_like=True):
    """A transaction that waits: its id, its bytes if it is new, and whether the state has its effects; after blocks were undone, and where
    time was up, it has not.
    """

    id: bytes
    packed: bytes
    is_applied: bool


# ------------------------------------------------------------------ from the owner


class Start(Struct, frozen=True, array_like=True, tag=10):
    """The first message: the pickled settings of the node, and whether its log is written as JSON."""

    settings: bytes
    is_json: bool


class Sync(Struct, frozen=True, array_like=True, tag=11):
    """Everything as it is now: the path of a dump, which the reader removes, and what `BlockSidecars.encode` has returned."""

    number: int
    path: str
    sidecars: bytes
    settled: DevSettings
    waiting: tuple[PendingTransaction, ...]


class Changes(Struct, frozen=True, array_like=True, tag=12):
    """What one job has changed: first the blocks, as lines of a packed stream; then `waiting`, unless it is null: all transactions that
    wait; then `taken`, the transactions that wait in addition. `refused` are refusals as subscribers get them.
    """

    number: int
    lines: tuple[bytes, ...]
    waiting: tuple[PendingTransaction, ...] | None
    taken: tuple[bytes, ...]
    settled: DevSettings | None
    refused: tuple[bytes, ...]


class Stop(Struct, frozen=True, array_like=True, tag=14):
    """The node is stopping: open requests have a moment to end."""


# ------------------------------------------------------------------ from a reader


class Ready(Struct, frozen=True, array_like=True, tag=20):
    """The program is loaded, and waits for the chain."""


class Loaded(Struct, frozen=True, array_like=True, tag=21):
    """The chain of a `Sync` is here."""

    number: int


class OutOfSync(Struct, frozen=True, array_like=True, tag=22):
    """A change could not be made, and why: a `Sync` is needed."""

    reason: str


class PageRequest(Struct, frozen=True, array_like=True, tag=24):
    """The path of a page that somebody wants to see."""

    call: int
    path: str


class Cancel(Struct, frozen=True, array_like=True, tag=25):
    """Nobody waits for the reply to a call any more."""

    call: int


class Report(Struct, frozen=True, array_like=True, tag=26):
    """How a reader is: the last number that it has applied, its memory in bytes, its connections, the calls that it has answered since its
    start and their time, the units of work of those that it has refused, and how many addresses it limits for that.
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
