"""Variants of a transaction that may have been signed before one of its fields was changed."""

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

ALTERED_BYTES_MAX = 20_000  # larger transactions are skipped, since packing every variant takes too long
BLOCKS_MAX = 64  # newest blocks that are tried as the reference block
SHIFTS = (
    *(sign * hours * 3600 for hours in range(1, 15) for sign in (1, -1)),
    *(sign * minutes * 60 for minutes in (1, 2, 5, 10, 15, 20, 30, 59, 90, 150, 210, 270, 330, 345, 390, 570) for sign in (1, -1)),
    *(sign * seconds for seconds in (1, 2, 3, 5, 10, 30) for sign in (1, -1)),
)
FACTORS = (10, 100, 1000)  # for amounts with another precision
NAMES_SWAPPED_MAX = 4  # names of an operation that are swapped in pairs, and operations that are left out


class FieldChange(Struct, frozen=True):
    """A variant that may have been signed: the transaction, the changed field, its signed value, and how to avoid the change."""

    trx: SignedTransaction
    field: str
    signed: str
    advice: str


def altered_transactions(case: RefusalCase, trx: SignedTransaction) -> Iterator[FieldChange]:
    """Yield variants of the transaction, each with one change undone."""
    if trx.size > ALTERED_BYTES_MAX:
        return
    for index, operation in enumerate(trx.operations):
        for name, value, advice in altered_fields(case, operation):
            others = (*trx.operations[:index], replace(operation, **value), *trx.operations[index + 1 :])
            signed = ", ".join(shortened(shown(case, one)) for one in value.values())
            yield FieldChange(replace(trx, operations=others), f"operations[{index}].{name}", signed, advice)
    yield from altered_expiration(trx)
    yield from altered_reference(case, trx)
    if trx.operations[1:]:
        yield FieldChange(replace(trx, operations=trx.operations[::-1]), "the order of the operations", "the reverse order", "keep it")
        for index in range(min(len(trx.operations), NAMES_SWAPPED_MAX)):
            fewer = (*trx.operations[:index], *trx.operations[index + 1 :])
            yield FieldChange(replace(trx, operations=fewer), "the list of operations", f"no operations[{index}]", "add none afterwards")


def altered_expiration(trx: SignedTransaction) -> Iterator[FieldChange]:
    """Yield the transaction with other expirations."""
    for shift in SHIFTS:
        time = trx.expiration + shift
        if 0 <= time <= UINT32_MAX:
            advice = "write the expiration in UTC, and don't change it after signing"
            yield FieldChange(replace(trx, expiration=time), "expiration", time_text(time), advice)


def altered_reference(case: RefusalCase, trx: SignedTransaction) -> Iterator[FieldChange]:
    """Yield the transaction with each of the last BLOCKS_MAX blocks as its reference block."""
    advice = "don't change the reference block after signing"
    number = case.state.props.head_block_number
    for back in range(BLOCKS_MAX):
        row = case.state.block_summaries.by_slot.get((number - back) % 2**16)
        if number <= back or row is None:
            return
        prefix = int.from_bytes(row.block_id[4:8], "little")
        altered = replace(trx, ref_block_num=(number - back) % 2**16, ref_block_prefix=prefix)
        yield FieldChange(altered, "the reference block", f"block {number - back}", advice)
        if back < 2:
            turned = replace(trx, ref_block_prefix=int.from_bytes(row.block_id[4:8], "big"))
            yield FieldChange(turned, "ref_block_prefix", f"the bytes of block {number - back} in reverse order", advice)


def shown(case: RefusalCase, value: Any) -> str:
    """Format a value for a sentence."""
    return case.wire.codecs.symbols.asset_text(value) if isinstance(value, Asset) else repr(value)


def altered_fields(case: RefusalCase, operation: Operation) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the field's name, its possible earlier value, and how to avoid the change."""
    fields, spell = wire_fields(type(operation)), case.spec.spell
    for field in fields:
        name, value = spell(field.json), getattr(operation, field.name)
        if is_name(field.kind):
            for words, earlier in earlier_names(value):
                yield f"{name} (signed with {words})", {field.name: earlier}, "write names as they are on the chain before signing"
        elif is_text(field.kind):
            for words, earlier in earlier_texts(value):
                yield f"{name} (signed with {words})", {field.name: earlier}, "don't tidy texts up after signing"
        elif isinstance(field.kind, AssetKind):
            for asset in earlier_amounts(value):
                yield name, {field.name: asset}, "use the amount with the symbol and the decimal places that are sent"
        elif isinstance(field.kind, Flag):
            yield name, {field.name: not value}, "don't change it after signing"
        elif isinstance(field.kind, Int):
            for number in earlier_numbers(value, field.kind):
                yield name, {field.name: number}, "don't change it after signing"
    yield from swapped_names(operation, spell)


def earlier_amounts(asset: Asset) -> Iterator[Asset]:
    """Yield an amount with another precision, another symbol, or another rounding."""
    amounts = [asset.amount + 1, asset.amount - 1]
    amounts += [asset.amount * factor for factor in FACTORS] + [asset.amount // factor for factor in FACTORS if asset.amount % factor == 0]
    yield from (Asset(amount, asset.symbol) for amount in amounts if abs(amount) <= INT64_MAX)
    for symbol in (COIN, SBD, VESTS):
        if symbol != asset.symbol:
            yield Asset(asset.amount, symbol)
            factor = 1000 if symbol == VESTS else 1
            yield Asset(asset.amount * factor if abs(asset.amount) <= INT64_MAX // factor else asset.amount, symbol)


def earlier_numbers(number: int, kind: Int) -> Iterator[int]:
    """Yield a number with the other sign, in another unit, or one away."""
    least = -(1 << (kind.bits - 1)) if kind.signed else 0
    most = (1 << (kind.bits - kind.signed)) - 1
    numbers = [-number, number * 100, number // 100, number + 1, number - 1, 0]
    yield from (one for one in numbers if least <= one <= most)


def swapped_names(operation: Operation, spell: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the operation with two names swapped."""
    names = [field for field in wire_fields(type(operation)) if is_name(field.kind)][:NAMES_SWAPPED_MAX]
    for one, other in combinations(names, 2):
        swapped = {one.name: getattr(operation, other.name), other.name: getattr(operation, one.name)}
        words = f"{spell(one.json)} and {spell(other.json)}"
        yield f"{words} (signed in each other's place)", swapped, "don't swap them after signing"
