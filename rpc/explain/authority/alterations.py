"""Variants of a refused transaction. In each variant, one field has the value that it may have had when the client signed."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rpc.explain.authority.texts import earlier_names, earlier_texts, is_name, is_text
from rpc.explain.case import RefusalCase, shortened
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import AssetKind, Flag, Int
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.protocol.values.integers import INT64_MAX, UINT32_MAX
from state.protocol.values.text import time_text

ALTERED_BYTES_MAX = 20_000  # larger transactions have no variants, since packing each takes too long
BLOCKS_MAX = 64  # newest blocks to try as the reference block
SHIFTS = (
    *(sign * hours * 3600 for hours in range(1, 15) for sign in (1, -1)),
    *(sign * minutes * 60 for minutes in (1, 2, 5, 10, 15, 20, 30, 59, 90, 150, 210, 270, 330, 345, 390, 570) for sign in (1, -1)),
    *(sign * seconds for seconds in (1, 2, 3, 5, 10, 30) for sign in (1, -1)),
)
FACTORS = (10, 100, 1000)  # between amounts of different precision
NAMES_SWAPPED_MAX = 4  # account names to swap in pairs, and operations to omit


class FieldChange(Struct, frozen=True):
    """A variant of the refused transaction that the client may have signed before one field was changed.

    `change` describes the change, `signed` is the value that was signed, and `advice` tells how to avoid the change.
    """

    trx: SignedTransaction
    change: str  # for example "expiration was changed"
    signed: str
    advice: str


def altered_transactions(case: RefusalCase, trx: SignedTransaction) -> Iterator[FieldChange]:
    """Yield variants of a transaction. Each of them reverts one change that may have been made after signing."""
    if trx.size > ALTERED_BYTES_MAX:
        return
    for index, operation in enumerate(trx.operations):
        for change, value, advice in altered_fields(case, operation):
            others = (*trx.operations[:index], replace(operation, **value), *trx.operations[index + 1 :])
            signed = ", ".join(shortened(shown(case, one)) for one in value.values())
            yield FieldChange(replace(trx, operations=others), f"operations[{index}].{change}", signed, advice)
    yield from altered_expiration(trx)
    yield from altered_reference(case, trx)
    if trx.operations[1:]:
        yield FieldChange(
            replace(trx, operations=trx.operations[::-1]), "the order of the operations was changed", "the reverse order", "keep the order"
        )
        for index in range(min(len(trx.operations), NAMES_SWAPPED_MAX)):
            fewer = (*trx.operations[:index], *trx.operations[index + 1 :])
            signed = f"no operations[{index}]"
            yield FieldChange(replace(trx, operations=fewer), "the list of operations was changed", signed, "don't add any later")


def altered_expiration(trx: SignedTransaction) -> Iterator[FieldChange]:
    """Yield the transaction with its expiration shifted by typical mistakes, for example time zone offsets."""
    for shift in SHIFTS:
        time = trx.expiration + shift
        if 0 <= time <= UINT32_MAX:
            advice = "write the expiration in UTC, and don't change it after signing"
            yield FieldChange(replace(trx, expiration=time), "expiration was changed", time_text(time), advice)


def altered_reference(case: RefusalCase, trx: SignedTransaction) -> Iterator[FieldChange]:
    """Yield the transaction with each of the newest BLOCKS_MAX blocks as its reference block."""
    advice = "don't change the reference block after signing"
    number = case.state.props.head_block_number
    for back in range(BLOCKS_MAX):
        row = case.state.block_summaries.by_slot.get((number - back) % 2**16)
        if number <= back or row is None:
            return
        prefix = int.from_bytes(row.block_id[4:8], "little")
        altered = replace(trx, ref_block_num=(number - back) % 2**16, ref_block_prefix=prefix)
        yield FieldChange(altered, "the reference block was changed", f"block {number - back}", advice)
        if back < 2:
            reversed_prefix = replace(trx, ref_block_prefix=int.from_bytes(row.block_id[4:8], "big"))
            signed = f"the bytes of block {number - back} in reverse order"
            yield FieldChange(reversed_prefix, "ref_block_prefix was changed", signed, advice)


def shown(case: RefusalCase, value: Any) -> str:
    """Format a field's value for use in a sentence."""
    return case.wire.codecs.symbols.asset_text(value) if isinstance(value, Asset) else repr(value)


def altered_fields(case: RefusalCase, operation: Operation) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield changes that may have been made to the operation's fields after signing.

    Each item consists of a description of the change, the values before it by field name, and advice on how to avoid it.
    """
    fields, spell = wire_fields(type(operation)), case.spec.spell
    for field in fields:
        name, value = spell(field.json), getattr(operation, field.name)
        if is_name(field.kind):
            for words, earlier in earlier_names(value):
                yield (
                    f"{name} (signed with {words}) was changed",
                    {field.name: earlier},
                    "write names before signing as they are on the chain",
                )
        elif is_text(field.kind):
            for words, earlier in earlier_texts(value):
                yield f"{name} (signed with {words}) was changed", {field.name: earlier}, "don't normalize strings after signing"
        elif isinstance(field.kind, AssetKind):
            for asset in earlier_amounts(value):
                yield f"{name} was changed", {field.name: asset}, "use the amount with the symbol and the decimal places that are sent"
        elif isinstance(field.kind, Flag):
            yield f"{name} was changed", {field.name: not value}, "don't change it after signing"
        elif isinstance(field.kind, Int):
            for number in earlier_numbers(value, field.kind):
                yield f"{name} was changed", {field.name: number}, "don't change it after signing"
    yield from swapped_names(operation, spell)


def earlier_amounts(asset: Asset) -> Iterator[Asset]:
    """Yield variants of an amount: with other decimal places, rounded differently, or with another symbol."""
    amounts = [asset.amount + 1, asset.amount - 1]
    amounts += [asset.amount * factor for factor in FACTORS] + [asset.amount // factor for factor in FACTORS if asset.amount % factor == 0]
    yield from (Asset(amount, asset.symbol) for amount in amounts if abs(amount) <= INT64_MAX)
    for symbol in (COIN, SBD, VESTS):
        if symbol != asset.symbol:
            yield Asset(asset.amount, symbol)
            factor = 1000 if symbol == VESTS else 1
            yield Asset(asset.amount * factor if abs(asset.amount) <= INT64_MAX // factor else asset.amount, symbol)


def earlier_numbers(number: int, kind: Int) -> Iterator[int]:
    """Yield variants of an integer: negated, in another unit, one more, one less, and 0. Values out of the kind's range are omitted."""
    least = -(1 << (kind.bits - 1)) if kind.signed else 0
    most = (1 << (kind.bits - kind.signed)) - 1
    numbers = [-number, number * 100, number // 100, number + 1, number - 1, 0]
    yield from (one for one in numbers if least <= one <= most)


def swapped_names(operation: Operation, spell: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the possible swaps of two account names in the operation, as tuples of the same form as those of `altered_fields`."""
    names = [field for field in wire_fields(type(operation)) if is_name(field.kind)][:NAMES_SWAPPED_MAX]
    for one, other in combinations(names, 2):
        swapped = {one.name: getattr(operation, other.name), other.name: getattr(operation, one.name)}
        words = f"{spell(one.json)} and {spell(other.json)}"
        yield f"{words} were swapped", swapped, "don't swap them after signing"
