"""Calls of each method. The arguments have the declared types, are within or beyond their limits, and refer to the chain's largest rows."""

import enum
import json
import types
from random import Random
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from rpc.declare.arguments import AnyOf, MaxValue, OneOfNames, is_query
from rpc.declare.method import METHODS, Method, Parameter
from state.operations.custom import Custom, CustomBinary
from state.operations.transfers import Transfer
from state.protocol.codec.fields import kind_of_hint
from state.protocol.codec.kinds import Bounded, Choice, Flag, Hash, Int, Key, Many, Seconds, String, SymbolKind
from state.protocol.keys.keys import public_key_text
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.dearest.operations import SECRETS, Values
from tests.dearest.world import KEY, NOW, World

NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 10, 100, 1000, 10_000, NOW, -1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
COUNTS = (0, 1, 2, 10, 100, 1000, 10_000)
SORTS = ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted", "blog", "feed", "posts", "comments", "replies")
TIMES = ("1970-01-01T00:00:00", "2023-11-14T22:13:20", "2030-01-01T00:00:00", "2106-02-07T06:28:15")
TEXTS = (
    "",
    "user-0",
    "u",
    "star",
    "post",
    "/trending",
    "/@star",
    "/@star/feed",
    "/life/@star/post-1",
    "5",
    "\u20ac",
    "(a+)+$" * 99,
    "%" * 999,
    "/" * 9999,
    "a" * 99_999,
)
ODD: tuple[Any, ...] = (None, "", 0, -1, 2**64 - 1, [], {}, True, "x" * 100_000, "9" * 1000, [[]] * 1000, 1e300, {"a": 1})
ODD_CHANCE = 0.02
BODY_MAX = 3_900_000


class Call(Struct, frozen=True):
    method: str
    given: dict[str, Any]

    def body(self) -> bytes:
        """Return the request."""
        params = list(self.given.values()) if METHODS[self.method].positional else self.given
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params}).encode()


class Calls:
    """Generates random arguments for the public methods."""

    def __init__(self, world: World, draw: Random) -> None:
        self.world, self.draw = world, draw
        self.methods = [one for one in METHODS.values() if not (one.loopback_only or one.needs_local or one.needs_session)]
        some = (*world.users[:3], *world.voters[:2], world.witnesses[0], world.members[0], *world.communities[:2])
        self.names = ("star", "star", "star", "owner", "maker", "big", "chained-0", "", "nobody", *some)
        last = world.sizes.posts - 1
        self.posts = (
            "post-1",
            "post-2",
            *(f"post-{i}" for i in (0, 3, 5, last)),
            "re-0",
            "deep-0",
            f"deep-{world.sizes.deep - 2}",
            "plan",
            "",
        )
        keys = (KEY, b"\2" * 33)
        self.keys = tuple(public_key_text(key, world.state.spec.key_prefix) for key in keys)
        blocks = (world.chain.block_by_number(n) for n in range(1, world.state.props.head_block_number + 1))
        self.ids = [*[trx.id.hex() for block in blocks if block is not None for trx in block.transactions][:3], "00" * 20]
        self.values = Values(world, draw)
        self.transactions = self._transactions()

    def _transactions(self) -> list[Any]:
        """Return transactions as JSON that are expensive to sign or to parse."""
        wire, names = self.world.state.wire, self.world.names
        many = tuple(Transfer("star", "owner") for _ in range(3000))
        big = self.world.state.authority("big").active
        needing = tuple(CustomBinary(required_auths=(big,) * 30, id="x") for _ in range(20))
        free = msgspec.structs.replace(big, weight_threshold=0)
        cheap = (CustomBinary(required_auths=(free,) * 100, id="x"),)
        everyone = (
            Custom(tuple(sorted(names)), 1, b""),
            *(Custom((name,), 1, b"") for name in self.world.members),
            Custom(("big",), 1, b""),
        )
        made = [self.world.transaction(operations, ()) for operations in (many, needing, cheap, everyone)]
        return [wire.transaction_to_json(trx) for trx in (*made, self.world.transaction(everyone, SECRETS[:1000]))]

    # -------------------------------------------------------------- calls

    def call(self, method: Method) -> Call:
        """Return a call with random arguments."""
        if method.raw:
            return Call(method.name, {"a": self.draw.choice(ODD)})
        return Call(method.name, {self._name(one): self.argument(one) for one in method.parameters})

    def changed(self, call: Call) -> Call:
        """Return a call with one or a few arguments replaced."""
        parameters = METHODS[call.method].parameters
        given = dict(call.given)
        for _ in range(self.draw.choice((1, 1, 2)) if parameters else 0):
            one = self.draw.choice(parameters)
            given[self._name(one)] = self.argument(one)
        return Call(call.method, given)

    def _name(self, parameter: Parameter) -> str:
        return parameter.shown(self.world.state.wire)

    def argument(self, parameter: Parameter) -> Any:
        """Return a value for a parameter, sometimes an invalid one."""
        if self.draw.random() < ODD_CHANCE:
            return self.draw.choice(ODD)
        return self.of(parameter.annotation, parameter.name.rstrip("_"))

    # -------------------------------------------------------------- values

    def of(self, annotation: Any, name: str) -> Any:
        """Return an argument for the parameter `name`, whose annotation is `annotation`."""
        draw = self.draw
        marks = getattr(annotation, "__metadata__", ())
        for mark in marks:
            if isinstance(mark, MaxValue):
                return draw.choice((mark.maximum, mark.maximum, mark.maximum, 1, mark.maximum + 1))
            if isinstance(mark, OneOfNames):
                return draw.choice(mark.names)
            if isinstance(mark, AnyOf):
                return self.of(draw.choice(mark.annotations), name)
        kind, bare = kind_of_hint(annotation), getattr(annotation, "__origin__", annotation) if marks else annotation
        origin = get_origin(bare)
        if origin in (Union, types.UnionType):
            inner = [part for part in get_args(bare) if part is not type(None)]
            return None if draw.random() < 0.2 else self.of(draw.choice(inner), name)
        if isinstance(bare, type) and issubclass(bare, enum.Enum):
            return draw.choice([member.name for member in bare])
        if bare is SignedTransaction:
            return draw.choice(self.transactions)
        if bare is SignedBlock:
            return {}
        if is_query(bare):
            hints = get_type_hints(bare, include_extras=True)
            return {field: self.of(hint, field) for field, hint in hints.items() if draw.random() < 0.7}
        if origin is list:
            return self._list(get_args(bare)[0], name)
        if origin is tuple:
            return [self.of(element, name) for element in get_args(bare) if element is not Ellipsis]
        return self._of_kind(kind, bare, name)

    def _list(self, element: Any, name: str) -> list[Any]:
        draw, count = self.draw, self.draw.choice(COUNTS)
        if "id" in name and element is not str:
            return [draw.choice((i, i, 0)) for i in range(count)]
        some = [self.of(element, name) for _ in range(min(count, draw.choice((1, 50))))]
        if "account" in name and draw.random() < 0.5:
            some = self.world.names
        return (some * (count // max(len(some), 1) + 1))[:count]

    def _of_kind(self, kind: Any, bare: Any, name: str) -> Any:
        draw = self.draw
        match kind:
            case Key():
                return draw.choice(self.keys)
            case Hash():
                return draw.choice(self.ids)
            case Flag():
                return draw.random() < 0.5
            case Seconds():
                return draw.choice(TIMES)
            case Int() | Choice():
                return self._number(name)
            case SymbolKind():
                return {"nai": draw.choice(("@@000000021", "@@000000013", "@@000000037", "@@123456782")), "decimals": 3}
            case Bounded():
                return draw.choice(self.names)
            case Many():
                return self._list(kind.element, name)
            case String():
                return self._text(name)
        if bare is bool:
            return draw.random() < 0.5
        if bare is int:
            return self._number(name)
        if bare is str:
            return self._text(name)
        if "trx" in name:
            return draw.choice(self.transactions)
        if isinstance(kind, type):
            return self.world.state.wire.codecs.dumper(kind, False)(self.values.value(kind, name))  # type: ignore[misc]
        return draw.choice((*self.names, *self.posts, {"author": "star", "permlink": "post-1"}, *ODD))

    def _number(self, name: str) -> int:
        return self.draw.choice((1000, 100, 50, 20) if "limit" in name and self.draw.random() < 0.7 else NUMBERS)

    def _text(self, name: str) -> str:
        draw = self.draw
        if "permlink" in name:
            return draw.choice(self.posts)
        if "tag" in name or name in ("category", "name", "community"):
            return draw.choice((*self.world.communities[:2], "topic-1", "my", "all", "", *self.names))
        if name in ("sort", "order", "type", "follow_type", "order_direction", "status"):
            return draw.choice((*SORTS, "blog", "ignore", "blacklisted", "followed_muted", "by_name"))
        if "date" in name:
            return draw.choice(TIMES)
        if "id" in name:
            return draw.choice(self.ids)
        if name in ("text", "query", "path", "filter"):
            return draw.choice(TEXTS)
        return draw.choice((*self.names, *self.names, *self.posts, *TEXTS))

    def fits(self, call: Call) -> bytes | None:
        """Return the request, or None if it is too large or can't be encoded."""
        body = call.body()
        return body if len(body) <= BODY_MAX else None
