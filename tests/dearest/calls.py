"""Calls: for each method the arguments of its example, and how they are changed: by what they are called, and what they look like."""

import json
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from rpc.service.arguments import Example
from rpc.service.describe.signature import shown_argument
from rpc.service.method import METHODS, Method
from state.protocol.keys.keys import public_key_text
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.dearest.world import KEY, NOW, World

LIMITS = (1000, 100, 10_000, 500, 50, 250, 20, 1, 0, -1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
SORTS = ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted", "blog", "feed", "posts", "comments", "replies")
TIMES = ("1970-01-01T00:00:00", "2023-11-14T22:13:20", "2030-01-01T00:00:00", "2106-02-07T06:28:15")
REPEATED = (0, 1, 2, 10, 100, 1000, 10_000, 100_000)
BODY_MAX = 3_900_000


class Call(Struct, frozen=True):
    """A method and its arguments."""

    method: str
    params: Any

    def body(self) -> bytes:
        """Return the request."""
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": self.params}).encode()


class Calls:
    """Arguments for the methods that anybody may call, from a seed."""

    def __init__(self, world: World, draw: Random) -> None:
        self.world, self.draw = world, draw
        wire, state = world.state.wire, world.state
        self.methods = {name: one for name, one in METHODS.items() if not one.loopback_only and not one.needs_local and not one.needs_session}
        posts = world.sizes.posts
        names = ["star", "star", "owner", "maker", "big", *world.users[:3], *world.voters[:2], world.witnesses[0], world.members[0], "chained-0", "", "nobody"]
        self.names = names
        self.posts = [*(f"post-{i}" for i in (0, 1, 2, 3, 5, posts - 1)), "re-0", "deep-0", f"deep-{world.sizes.deep - 2}", "plan", ""]
        self.keys = [public_key_text(KEY, state.spec.key_prefix), public_key_text(b"\2" * 33, state.spec.key_prefix)]
        self.ids = [trx.id.hex() for trx in self._transactions()][:3] + ["00" * 20]
        self.orders = sorted({name for text in self._orders() for name in text})
        own = world.transaction(())
        self.trx = wire.transaction_to_json(own)

    def _transactions(self) -> list[SignedTransaction]:
        blocks = (self.world.chain.block_by_number(n) for n in range(1, self.world.state.props.head_block_number + 1))
        return [trx for block in blocks if block is not None for trx in block.transactions]

    def _orders(self) -> list[list[str]]:
        """The names of all enumerations."""
        import enum

        found = []
        for method in self.methods.values():
            for parameter in method.parameters:
                bare = getattr(parameter.annotation, "__origin__", parameter.annotation)
                if isinstance(bare, type) and issubclass(bare, enum.Enum):
                    found.append([member.name for member in bare])
        return found

    # -------------------------------------------------------------- arguments

    def first(self, method: Method) -> Call:
        """Return the call of the docs, with all its arguments."""
        wire = self.world.state.wire
        if method.raw:
            return Call(method.name, {})
        given: dict[str, Any] = {}
        for parameter in method.parameters:
            marks = getattr(parameter.annotation, "__metadata__", ())
            value = next((mark.value for mark in marks if isinstance(mark, Example)), msgspec.UNSET)
            if parameter.annotation is SignedTransaction:
                value = self.trx
            elif value is msgspec.UNSET and parameter.annotation is not SignedBlock:
                value = shown_argument(parameter, method, wire)
            given[parameter.shown(wire)] = self.leaf(parameter.name, None if value is msgspec.UNSET else value)
        return Call(method.name, list(given.values()) if method.positional else given)

    def changed(self, call: Call) -> Call:
        """Return a call with other arguments: one, or a few."""
        params = call.params
        for _ in range(self.draw.choice((1, 1, 2, 3))):
            params = self._changed(params, "")
        names = [parameter.name for parameter in self.methods[call.method].parameters]
        if isinstance(params, list) and len(params) == len(names):
            # By position nothing says what an argument is.
            at = self.draw.randrange(len(names)) if names else 0
            params = [self.leaf(names[at], value) if i == at else value for i, value in enumerate(params)]
        return Call(call.method, params)

    def _changed(self, value: Any, name: str) -> Any:
        draw = self.draw
        if isinstance(value, dict) and value and draw.random() < 0.95:
            key = draw.choice(list(value))
            return value | {key: self._changed(value[key], key)}
        if isinstance(value, list) and value and draw.random() < 0.6:
            if draw.random() < 0.5:
                at = draw.randrange(len(value))
                return [*value[:at], self._changed(value[at], name), *value[at + 1 :]]
            return ([self.leaf(name, value[0]) for _ in range(7)] * draw.choice(REPEATED))[: draw.choice(REPEATED)]
        return self.leaf(name, value)

    def leaf(self, name: str, value: Any) -> Any:
        """Return a value for an argument of this name in the place of another one."""
        draw, low = self.draw, name.rstrip("_").lower()
        if draw.random() < 0.03:
            return draw.choice((None, "", 0, -1, 2**64 - 1, [], {}, True, "x" * 100_000, "9" * 1000, [[]] * 1000, 1e300, {"a": 1}))
        if isinstance(value, bool):
            return draw.random() < 0.5
        if "start" in low and value in (None, [], ""):
            return self.start()
        if isinstance(value, dict):
            return self._changed(value, name) if value else draw.choice(({}, {"author": "star", "permlink": "post-1"}, self.trx))
        if "permlink" in low:
            return draw.choice(self.posts)
        if low in ("limit", "count", "num") or "limit" in low:
            return draw.choice(LIMITS)
        if "key" in low:
            return [draw.choice(self.keys)] * draw.choice(REPEATED) if isinstance(value, list) else draw.choice(self.keys)
        if low in ("order", "sort", "order_direction", "status", "type", "follow_type", "state"):
            return draw.choice([*self.orders, *SORTS, "blog", "ignore"])
        if isinstance(value, list):
            inner = value[0] if value else ""
            return [self._changed(inner, name) if isinstance(inner, list) else self.leaf(name, inner) for _ in range(draw.choice((1, 3, 30)))] * draw.choice(
                (1, 1, 10, 33, 1000)
            )
        if "time" in low or "date" in low or "expiration" in low or low in ("from", "end"):
            return draw.choice(TIMES)
        if isinstance(value, int):
            return draw.choice((0, 1, 2, 3, 4, 5, 6, 7, NOW, *LIMITS))
        if low in ("id", "trx_id", "transaction_id"):
            return draw.choice((*self.ids, draw.choice(LIMITS)))
        if "tag" in low or low in ("category", "name", "community"):
            return draw.choice((*self.world.communities[:2], "topic-1", "my", "all", "", *self.names))
        if low in ("text", "query", "path"):
            some = ("user-0", "u", "star", "post", "", "a" * 100_000, "/trending", "/@star", "/@star/feed", "/life/@star/post-1", "5", "\u20ac")
            return draw.choice((*some, "(a+)+$" * 1000, "%" * 1000, "/" * 10_000))
        if isinstance(value, str) or value is None:
            return draw.choice((*self.names, *self.names, *self.posts, *self.keys, *TIMES, "x" * 100_000))
        return value

    def start(self) -> Any:
        """Return where a list may begin: each list has keys of its own."""
        draw = self.draw
        return draw.choice((None, "", 0, -1, *self.names, [draw.choice(("", 0, *TIMES[:3], *self.names, *self.posts)) for _ in range(draw.randrange(5))]))

    def fits(self, call: Call) -> bytes | None:
        """Return the request, None for one that is too large or no JSON."""
        try:
            body = call.body()
        except (ValueError, TypeError):
            return None
        return body if len(body) <= BODY_MAX else None
