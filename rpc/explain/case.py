"""What an explanation is, and the case that it is made of. Nothing here knows a kind of refusal."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from msgspec import Struct

from rpc.declare.errors import jsonable
from rpc.explain.budget import Budget
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key_text
from state.protocol.operation import Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.asset import Asset
from state.tables import State

TEXT_MAX = 200  # characters of a text in a value
MEMBERS_MAX = 40  # of a list or an object in a value; an authority has no more keys
DEPTH_MAX = 6  # of lists and objects in a value
ALL_MEMBERS_MAX = 5000  # of all lists and objects in a value together: 20 authorities with their keys have as many


class Explanation(Struct, frozen=True):
    """Why a transaction is refused: a stable name of the rule, a sentence with the values, a sentence of advice, and the values."""

    rule: str
    why: str
    what_to_do: str
    values: dict[str, Any] = {}


class KnownChain(Struct, frozen=True):
    """A chain that a client may have meant: its name, its id, and the letters of its symbols."""

    name: str
    chain_id: bytes
    coin: str
    debt: str
    vests: str


KnownChains = Callable[[], tuple[KnownChain, ...]]


def no_chains() -> tuple[KnownChain, ...]:
    """Return no known chains."""
    return ()


class OutputLimit:
    """How many members of lists and objects may still be shown."""

    __slots__ = ("left",)

    def __init__(self, left: int = ALL_MEMBERS_MAX) -> None:
        self.left = left

    def take(self, size: int) -> int:
        """Return how many of so many members there is room for, and take it."""
        taken = max(0, min(size, MEMBERS_MAX, self.left))
        self.left -= taken
        return taken


class RefusalCase(Struct, frozen=True):
    """A refused transaction with its error. `trx` is None where it couldn't be read; then `given` is what came, in one of the two forms.

    `now` is the time of the node's clock, in seconds since 1970.
    """

    chain: Chain
    error: ChainError
    trx: SignedTransaction | None
    budget: Budget
    given: Any = None
    is_legacy: bool = False
    known_chains: KnownChains = no_chains
    now: int = 0

    @property
    def state(self) -> State:
        """The state that the transaction was refused on, or that of a moment later."""
        return self.chain.state

    @property
    def spec(self) -> ChainSpec:
        """The chain's spec."""
        return self.chain.state.spec

    @property
    def wire(self) -> Wire:
        """The chain's wire format."""
        return self.chain.state.wire

    @property
    def operation(self) -> Operation | None:
        """The operation that is refused; None where it is the transaction as a whole."""
        index = self.error.operation
        return None if index is None or self.trx is None else self.trx.operations[index]

    def name_of(self, operation: Operation) -> str:
        """Return the name of an operation as clients know it."""
        return self.spec.spell(operation.NAME)

    def place(self) -> dict[str, Any]:
        """Return the index and the name of the refused operation, nothing where there is none."""
        operation = self.operation
        return {} if operation is None else {"operation": self.error.operation, "operation_name": self.name_of(operation)}

    def key_text(self, key: bytes) -> str:
        """Return a public key as clients know it."""
        return public_key_text(key, self.spec.key_prefix)

    def asset_text(self, amount: int, symbol: int) -> str:
        """Return an amount as people write it."""
        return self.wire.codecs.symbols.asset_text(Asset(amount, symbol))

    def explained(self, rule: str, why: str, what_to_do: str, /, **values: Any) -> Explanation:
        """Return an explanation; values in their JSON form, long ones cut. The sentences are spelled for the chain already."""
        shown = {name: self.shown(value) for name, value in (self.place() | values).items()}
        return Explanation(rule, clean(why), clean(what_to_do), shown)

    def shown(self, value: Any, depth: int = DEPTH_MAX, room: OutputLimit | None = None) -> Any:
        """Return the JSON form of a value, with amounts as people write them, and without what is too much."""
        room = room or OutputLimit()
        if isinstance(value, Asset):
            return self.wire.codecs.symbols.asset_text(value)
        if isinstance(value, str):
            return shortened(value)
        if isinstance(value, dict):
            few = list(islice(value.items(), room.take(len(value)) if depth else 0))
            return {shortened(str(name)): self.shown(member, depth - 1, room) for name, member in few}
        if isinstance(value, (list, tuple)):
            return [self.shown(member, depth - 1, room) for member in value[: room.take(len(value)) if depth else 0]]
        if isinstance(value, (set, frozenset)):
            return self.shown(sorted(value), depth, room)
        if isinstance(value, bytes):
            return shortened(value[:TEXT_MAX].hex())
        made = jsonable(value, self.wire)
        return self.shown(made, depth - 1, room) if isinstance(made, (str, dict, list)) and depth else made


def shortened(text: str) -> str:
    """Return a text, or the beginning of a long one."""
    return clean(text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}...")


def clean(text: str) -> str:
    """Return a text with U+FFFD in place of bytes that were no UTF-8, which no JSON can hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def span(seconds: int) -> str:
    """Return a duration in words, in its two largest units."""
    rest, parts = abs(seconds), []
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts[:2]) or "0 seconds"
