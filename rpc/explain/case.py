"""Types for explanations: a refused transaction with its circumstances, and the explanation of the refusal."""

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

TEXT_MAX = 200  # the maximum number of characters per string
MEMBERS_MAX = 40  # the maximum number of members per list or object; an authority has at most 40 keys
DEPTH_MAX = 6  # the maximum depth of nested lists and objects
ALL_MEMBERS_MAX = 5000  # the maximum number of members in total per value, enough for 20 authorities with their keys


class Explanation(Struct, frozen=True):
    """Explanation of a refusal: the stable name of the violated rule, a sentence with the reason, advice, and the values involved."""

    rule: str
    why: str
    what_to_do: str
    values: dict[str, Any] = {}


class KnownChain(Struct, frozen=True):
    """A chain for which a client may have signed by mistake, with its id and symbols."""

    name: str
    chain_id: bytes
    coin: str
    debt: str
    vests: str


KnownChains = Callable[[], tuple[KnownChain, ...]]


def no_chains() -> tuple[KnownChain, ...]:
    """Return an empty tuple. This is the default source of known chains."""
    return ()


class OutputLimit:
    """Limit on the size of an explanation: the number of list elements and object members that can still be included."""

    __slots__ = ("left",)

    def __init__(self, left: int = ALL_MEMBERS_MAX) -> None:
        self.left = left

    def take(self, size: int) -> int:
        """Return how many of `size` members may be included, and deduct that number."""
        taken = max(0, min(size, MEMBERS_MAX, self.left))
        self.left -= taken
        return taken


class RefusalCase(Struct, frozen=True):
    """A refused transaction with its error. If it couldn't be parsed, `trx` is None and `given` is the received JSON.

    `is_legacy` is true for the JSON form of condenser_api. `now` is the time of the node's clock, in seconds since 1970.
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
        """The current state. It may be slightly newer than the state at the refusal."""
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
    def transaction(self) -> SignedTransaction:
        """The parsed transaction. Only functions that explain parsed transactions may read it."""
        assert self.trx is not None
        return self.trx

    @property
    def operation(self) -> Operation | None:
        """The refused operation, or None if the transaction as a whole is refused."""
        index = self.error.operation
        return None if index is None or self.trx is None else self.trx.operations[index]

    def name_of(self, operation: Operation) -> str:
        """Return the operation's name with the symbols of this chain."""
        return self.spec.spell(operation.NAME)

    def place(self) -> dict[str, Any]:
        """Return the index and name of the refused operation, or an empty dict if the transaction as a whole is refused."""
        operation = self.operation
        return {} if operation is None else {"operation": self.error.operation, "operation_name": self.name_of(operation)}

    def key_text(self, key: bytes) -> str:
        """Return a public key as text, with this chain's prefix."""
        return public_key_text(key, self.spec.key_prefix)

    def asset_text(self, amount: int, symbol: int) -> str:
        """Format an amount with its symbol, for example "1.000 STEEM"."""
        return self.wire.codecs.symbols.asset_text(Asset(amount, symbol))

    def explained(self, rule: str, why: str, what_to_do: str, /, **values: Any) -> Explanation:
        """Return an explanation with `values`, truncated and as JSON. The sentences must already contain the symbols of this chain."""
        shown = {name: self.shown(value) for name, value in (self.place() | values).items()}
        return Explanation(rule, clean(why), clean(what_to_do), shown)

    def shown(self, value: Any, depth: int = DEPTH_MAX, room: OutputLimit | None = None) -> Any:
        """Convert a value to JSON, truncated to the limits of this module. Amounts become strings."""
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
    """Truncate a string to TEXT_MAX characters."""
    return clean(text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}...")


def clean(text: str) -> str:
    """Replace surrogates by U+FFFD. Surrogates represent bytes that aren't valid UTF-8, which JSON can't contain."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def span(seconds: int) -> str:
    """Format a duration with its two largest units, for example "2 hours 5 minutes"."""
    rest, parts = abs(seconds), []
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts[:2]) or "0 seconds"
