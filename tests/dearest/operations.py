"""Recipes of transactions: operations, their number and field values, and random changes of recipes."""

import json
from random import Random
from typing import Any

from msgspec import Struct, structs

from state.protocol.authority import Authority, key_authority
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import (
    AssetKind,
    Blob,
    Bounded,
    ChainVariant,
    Choice,
    Flag,
    Hash,
    Int,
    Key,
    Many,
    Maybe,
    Pairs,
    PriceKind,
    Release,
    Seconds,
    ShareAmount,
    String,
    SymbolKind,
    Tagged,
    Variant,
)
from state.protocol.codec.kinds.containers import pair_key, sort_key, sorted_unique
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key, secret_from_seed
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import OPERATION, SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price, symbol_from_digits
from tests.dearest.genes import Counting, Gene, Part
from tests.dearest.samples import samples
from tests.dearest.world import KEY, MEMBERS, NOW, SECRET, World

SIZE_MAX = 130_000
COUNT_MAX = 12_000
SIGNATURES_MAX = 1900
NUMBERS = (0, 1, -1, 2, 5, 10, 100, 1000, 10_000, -10_000, 10**6, 10**9, 10**12, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
TIMES = (0, NOW, NOW + 3, NOW + 30, NOW + 61, NOW + 200, NOW + 86_400, NOW + 10**6, 2**32 - 1)
LENGTHS = (0, 1, 10, 16, 100, 255, 256, 2000, 8000, 60_000, 120_000)
LISTS = (0, 1, 2, 5, 10, 39, 40, 127, 255, 1000, 4000)
DRAWN_MAX = 6  # number of different elements in a list
CLASSES = tuple(cls for _, cls in sorted(OPERATIONS.items()) if not cls.VIRTUAL)
SECRETS = tuple(secret_from_seed(f"other {i}") for i in range(SIGNATURES_MAX))
LETTERS = ("a", "word ", "\u20ac", "\U0001f600", "@star ", "[](x)", "5K", "{", '"', "\\", "-", "@@ -1,8 +1,8 @@\n-a\n+b\n")
CUSTOM_IDS = ("follow", "community", "notify", "rc", "other")


class Recipe(Struct, frozen=True):
    """A transaction: alternating operations, its maximum size, the number of signatures, and its JSON form."""

    parts: tuple[Part, ...]
    size: int = SIZE_MAX
    signatures: int = 1
    is_legacy: bool = False

    def transaction(self, world: World) -> SignedTransaction:
        """Return the signed transaction. Raises an encoding error for invalid values."""
        made: list[Operation] = []
        pack, size, room = world.state.wire.codecs.packer(OPERATION), 0, self.size - 65 * self.signatures
        while len(made) < COUNT_MAX:
            one = self.parts[len(made) % len(self.parts)].operation(len(made))
            size += len(pack(one))
            if made and size > room:
                break
            made.append(one)
        return world.transaction(tuple(made), (SECRET, *SECRETS)[: self.signatures])

    def body(self, world: World) -> bytes:
        """Return the body of the broadcast request."""
        given = world.state.wire.transaction_to_json(self.transaction(world), self.is_legacy)
        group, params = ("condenser_api", [given]) if self.is_legacy else ("network_broadcast_api", {"trx": given})
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"{group}.broadcast_transaction", "params": params}).encode()


# ------------------------------------------------------------------ values of fields


class Values:
    """Generates random field values, including extreme ones."""

    def __init__(self, world: World, draw: Random) -> None:
        self.world, self.draw = world, draw
        self.names = world.names
        self.keys = tuple((key, 1) for key in sorted({KEY, *(public_key(secret) for secret in SECRETS[:MEMBERS])}))

    def gene(self, kind: Any, name: str) -> Gene:
        """Return a gene whose values alternate or count up."""
        draw = self.draw
        if isinstance(kind, Int) and draw.random() < 0.3:
            return (Counting(draw.choice((0, 100_000))),)
        if type(kind) is String and draw.random() < 0.3:
            return (Counting(draw.choice(("post-", "re-", "new-", "x" * 240))),)
        count = draw.choice((1, 1, 1, 2, 2, 7, 50))
        return tuple(self.value(kind, name) for _ in range(count))

    def name(self) -> str:
        """Return a name, mostly of an account with a known key."""
        draw, world = self.draw, self.world
        some = (world.users, world.users, world.voters, world.chained, world.witnesses, world.named, world.members, world.communities)
        return draw.choice(draw.choice((*some, ("", "nobody", "null", "initminer", "temp", "x" * 16))))

    def text(self, name: str) -> str:
        """Return a text of random length. For a permlink field, it is often the permlink of an existing post."""
        draw = self.draw
        if "permlink" in name and draw.random() < 0.7:
            return f"{draw.choice(('post', 're', 'deep'))}-{draw.randrange(self.world.sizes.posts)}"
        if "json" in name and draw.random() < 0.7:
            return json.dumps(self.tree())
        if name == "id":
            return draw.choice(CUSTOM_IDS)
        letters = draw.choice(LETTERS)
        return (letters * (draw.choice(LENGTHS) // len(letters) + 1))[: draw.choice(LENGTHS)]

    def tree(self) -> Any:
        """Random content for custom operations and metadata."""
        draw, pick = self.draw, self.name
        count = draw.choice(LISTS)
        star = {"account": pick(), "author": "star", "permlink": f"post-{draw.randrange(self.world.sizes.posts)}"}
        follow = {"follower": pick(), "following": pick(), "what": [draw.choice(("blog", "ignore", ""))] * draw.choice((1, 2, 500))}
        several = [["follow", follow], ["reblog", star]] * draw.choice((1, 20, 60))
        some = {
            "tags": [f"t{i}" for i in range(draw.choice(LISTS))],
            "users": [pick()] * draw.choice(LISTS),
            "app": "x",
            "image": ["x"] * 9,
        }
        act = draw.choice(("subscribe", "setRole", "mutePost", "updateProps", "pinPost"))
        community = [act, {"community": self.world.communities[0]}]
        deep: Any = 1
        for _ in range(draw.choice((10, 90))):
            deep = draw.choice(([deep], {"a": deep}))
        return draw.choice((["follow", follow], ["reblog", star], several, some, community, deep, list(range(count))))

    def authority(self) -> Authority:
        """Return an authority with one key, or with the maximum number of members."""
        draw = self.draw
        count = draw.choice((0, 1, MEMBERS, MEMBERS + 1, 500))
        names = tuple((name, 1) for name in sorted(set(self.names[:count])))
        keys = self.keys[:count]
        return draw.choice((key_authority(KEY), Authority(1, names, ()), Authority(1, (), keys), Authority(2**32 - 1, names, keys)))

    def amount(self) -> Asset:
        """Return an amount, mostly in one of the three main symbols."""
        draw = self.draw
        symbol = draw.choice((COIN, COIN, SBD, SBD, VESTS, VESTS, symbol_from_digits(123456, 3)))
        return Asset(abs(draw.choice(NUMBERS)), symbol)

    def value(self, kind: Any, name: str) -> Any:
        """Return a random value of a kind or a declared class."""
        draw = self.draw
        if isinstance(kind, type):
            if kind is Authority:
                return self.authority()
            return kind(**{field.name: self.value(field.kind, field.name) for field in wire_fields(kind)})
        match kind:
            case ShareAmount() | Int():
                low, high = (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
                return min(max(draw.choice(NUMBERS), low), high)
            case Bounded():
                return draw.choice(CUSTOM_IDS) if name == "id" else self.name()
            case String():
                return self.text(name)
            case AssetKind():
                return self.amount()
            case PriceKind():
                return Price(Asset(draw.choice(NUMBERS[1:2] + NUMBERS[5:12]), SBD), Asset(draw.choice(NUMBERS[5:12]), COIN))
            case Seconds():
                return draw.choice(TIMES)
            case Flag():
                return draw.random() < 0.5
            case Key():
                return draw.choice((KEY, bytes(33), b"\2" * 33))
            case Hash():
                return bytes(kind.size)
            case Blob():
                return bytes(draw.choice(LENGTHS))
            case Many():
                count = draw.choice(LISTS[:8] if draw.random() < 0.8 else LISTS)
                members = [self.value(kind.element, name) for _ in range(min(count, DRAWN_MAX))]
                return sorted_unique(members, sort_key) if kind.ascending else (tuple(members) * count)[:count]
            case Pairs():
                pairs = [(self.value(kind.key, name), self.value(kind.value, name)) for _ in range(draw.choice((0, 1, DRAWN_MAX)))]
                return sorted_unique(pairs, pair_key)
            case Maybe():
                return None if draw.random() < 0.3 else self.value(kind.element, name)
            case ChainVariant():
                return self.value(kind.variant(self.world.state.wire.codecs), name)
            case Variant():
                tag = draw.randrange(len(kind.members))
                of = kind.members[tag][1]
                made = self.value(of, name)
                return made if isinstance(of, type) else Tagged(tag, made)
            case SymbolKind():
                return draw.choice((COIN, SBD, VESTS, symbol_from_digits(123456, 3)))
            case Choice() | Release():
                return 0
        element = getattr(kind, "element", None)
        return self.world.state.wire.codecs.default(kind) if element is None else self.value(element, name)

    def part(self, cls: type[Operation]) -> Part:
        """Return an operation of a class with random values. If samples exist, half of the values come from them."""
        known = dict(self.draw.choice(samples(self.world).get(cls) or [{}]))
        genes = {field.name: self.gene(field.kind, field.name) for field in wire_fields(cls) if field.name not in known}
        return Part(cls, genes | known)

    def changed(self, recipe: Recipe) -> Recipe:
        """Return a recipe with one or a few changes."""
        draw = self.draw
        for _ in range(draw.choice((1, 1, 2, 3))):
            at = draw.randrange(len(recipe.parts))
            part = recipe.parts[at]
            chance = draw.random()
            if chance < 0.7 and part.genes:
                field = draw.choice(wire_fields(part.cls))
                other = Part(part.cls, part.genes | {field.name: self.gene(field.kind, field.name)})
                recipe = structs.replace(recipe, parts=(*recipe.parts[:at], other, *recipe.parts[at + 1 :]))
            elif chance < 0.8:
                recipe = structs.replace(recipe, parts=(*recipe.parts, self.part(part.cls))[-3:])
            elif chance < 0.85:
                recipe = structs.replace(recipe, parts=(*recipe.parts, self.part(draw.choice(CLASSES)))[-3:])
            elif chance < 0.9:
                recipe = structs.replace(recipe, parts=(part,))
            elif chance < 0.95:
                recipe = structs.replace(recipe, signatures=draw.choice((0, 1, 1, 2, 100, SIGNATURES_MAX)))
            else:
                recipe = structs.replace(recipe, is_legacy=not recipe.is_legacy)
        return recipe


def first_recipes(values: Values, cls: type[Operation]) -> list[Recipe]:
    """Return the initial recipes of a class."""
    known = samples(values.world).get(cls) or [{}]
    drawn = [{field.name: values.gene(field.kind, field.name) for field in wire_fields(cls)} for _ in range(3)]
    return [Recipe((Part(cls, drawn[0] | genes),)) for genes in known] + [Recipe((Part(cls, genes),)) for genes in drawn]


def fits(recipe: Recipe, world: World) -> bytes | None:
    """Return the body of a recipe's broadcast request, or None if its values can't be encoded."""
    try:
        return recipe.body(world)
    except (ChainError, ValueError, OverflowError, KeyError, AttributeError, TypeError):
        return None
    except Exception as error:
        if type(error).__name__ == "error":  # struct.error
            return None
        raise
