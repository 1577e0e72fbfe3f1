"""Declares the list_* methods of database_api from the sort orders of their tables. Source: rpc-api.md §3.8."""

import enum
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from rpc.declare.arguments import AnyOf, Argument, EnumTitle, ExactLength, MaxValue, OneOfNames, UInt32, argument
from rpc.declare.errors import BadArgument
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from state.protocol.errors import ChainError, Refused, require
from state.protocol.transaction import Wire
from state.protocol.values.convert import to_array
from state.store import Row
from state.store.ordered import OrderedIndex
from state.store.unique import UniqueIndex
from state.tables import State

QUERY_LIMIT = 1000
LIMIT_CONDITION = "args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT"
WHOLE_LIST_MAX = 10_000
READERS_KEPT_MAX = 1024
BEGINNING: Any = msgspec.UNSET

RowT = TypeVar("RowT", bound=Row)
View = Callable[[State, Any], Any]
Bound = Callable[..., tuple[Any, ...]]
Member = Callable[[int], Any]
Place = Callable[[State, Member], tuple[Any, ...]]


class SortOrder(enum.Enum):
    """Names of the sort orders of all lists, with their numbers in the reference."""

    by_name = 0
    by_proxy = 1
    by_next_vesting_withdrawal = 2
    by_account = 3
    by_expiration = 4
    by_effective_date = 5
    by_vote_name = 6
    by_schedule_time = 7
    by_account_witness = 8
    by_witness_account = 9
    by_from_id = 10
    by_ratification_deadline = 11
    by_withdraw_route = 12
    by_destination = 13
    by_complete_from_id = 14
    by_to_complete = 15
    by_delegation = 16
    by_account_expiration = 17
    by_conversion_date = 18
    by_cashout_time = 19
    by_permlink = 20
    by_root = 21
    by_parent = 22
    by_last_update = 23
    by_author_last_update = 24
    by_comment_voter = 25
    by_voter_comment = 26
    by_price = 27
    by_symbol_contributor = 28
    by_symbol = 29
    by_control_account = 30
    by_symbol_time = 31
    by_creator = 32
    by_start_date = 33
    by_end_date = 34
    by_total_votes = 35
    by_voter_proposal = 36
    by_proposal_voter = 37
    by_contributor = 38
    by_symbol_id = 39


Order = Annotated[SortOrder, EnumTitle("coin::plugins::database_api::sort_order_type")]
ListLimit = Annotated[UInt32, MaxValue(QUERY_LIMIT, condition=LIMIT_CONDITION)]


class By(Struct, frozen=True):
    """Sort order of a list: its index, and the type of the argument `start`.

    `start` is an annotation. A tuple type accepts arrays of up to two elements, and missing elements get default values. With
    `ExactLength`, it accepts only arrays of that size, and also an empty array if `or_empty` is set. With `or_alone`, an array that
    contains only a name is accepted instead of the name.

    `bound` gets the state and the elements of `start`, and returns a key prefix of the index. If the annotation is Any, it gets `start`
    unparsed. `place` replaces `bound` where the reference looks up rows before it has parsed all elements. Instead of the elements, `place`
    gets a function that parses the element at an index. It must parse elements and look up rows in the reference's sequence, so that the
    same error is reported first.
    """

    index: Callable[[State], OrderedIndex[Any]]
    start: Any
    bound: Bound | None = None
    place: Place | None = None
    or_empty: bool = False
    or_alone: bool = False

    def rows(self, state: State, wire: Wire, start: Any, descending: bool = False) -> Iterator[Any]:
        """Return the rows from `start` on, or all rows if `start` is omitted.

        With `descending`, return the rows before `start` in reverse order; an empty `start` then returns all rows (rpc-api.md §9.3).
        """
        index, prefix = self.index(state), () if descending and start == [] else self.prefix(state, wire, start)
        if descending:
            return index.before(*prefix) if prefix else reversed(index)
        return index.starting(*prefix) if prefix else iter(index)

    def prefix(self, state: State, wire: Wire, start: Any) -> tuple[Any, ...]:
        """Convert `start` to a key prefix of the index. The empty prefix () selects all rows."""
        try:
            return self._prefix(state, wire, start)
        except ChainError as error:
            raise BadArgument(error, "start") from None

    def _prefix(self, state: State, wire: Wire, start: Any) -> tuple[Any, ...]:
        if start is BEGINNING or (self.or_empty and start == []):
            return ()
        if self.place is not None:
            return self.place(state, member_reader(self.start, wire, start))
        if self.or_alone and type(start) is list and len(start) == 1 and type(start[0]) is str:
            start = start[0]
        value = start_reader(self.start, wire).read(start)
        members = value if isinstance(value, tuple) else (value,)
        return members if self.bound is None else self.bound(state, *members)


def member_reader(annotation: Any, wire: Wire, start: Any) -> Member:
    """Check the size of the array `start`. Return a function that parses the element at an index."""
    given, elements = to_array(start), get_args(annotation.__origin__)
    annotation.__metadata__[0].check(given, len(elements))
    return lambda i: start_reader(elements[i], wire).read(given[i])


@lru_cache(READERS_KEPT_MAX)
def start_reader(annotation: Any, wire: Wire) -> Argument[Any]:
    """Return the converter for the argument `start` of a sort order."""
    return argument(annotation, wire)


def exactly(order: str, types: str, *members: Any, condition: str = "") -> Any:
    """Return the annotation of a start array with exactly these elements. `types` is the C++ type list in the reference's refusal."""
    start: Any = tuple[members]  # type: ignore[valid-type]
    return Annotated[start, ExactLength(f"{order} start requires {len(members)} values. ({types}", condition)]


def read_argument(name: str, annotation: Any, wire: Wire, given: Any) -> Any:
    """Parse an argument whose type depends on another argument."""
    try:
        return start_reader(annotation, wire).read(given)
    except ChainError as error:
        raise BadArgument(error, name) from None


def declare_list(name: str, about: str, *, key: str, record: type, view: View = lambda state, row: row, **orders: By) -> None:
    """Declare a list method: its docstring, the key of the list in its result, the record of the list's elements, and its sort orders.

    `view` gets the state and a row, and returns the object that is encoded as `record`. The first order is the default.
    """
    first = SortOrder[next(iter(orders))]
    assert all(order in SortOrder.__members__ for order in orders), f"{name} has orders that nobody knows"

    def list_rows(
        state: State, show: RecordEncoder, /, start: Any = BEGINNING, limit: ListLimit = QUERY_LIMIT, order: Order = first
    ) -> list[Json]:
        by = chosen(orders, order)
        dump = show.by(record)
        return [dump(view(state, row)) for row in islice(by.rows(state, show.wire, start), limit)]

    list_rows.__doc__ = about
    list_rows.__annotations__["start"] = Annotated[Any, AnyOf(start_types(orders))]
    list_rows.__annotations__["order"] = Annotated[Order, OneOfNames(tuple(orders))]
    method(name, key=key, record=record)(list_rows)


def start_types(orders: dict[str, By]) -> tuple[Any, ...]:
    """Return the types that the argument `start` can have, one for each of these sort orders."""
    return tuple(dict.fromkeys(by.start for by in orders.values()))


def chosen(orders: dict[str, By], order: enum.Enum) -> By:
    """Return the requested sort order. Raises BadArgument if the list doesn't have it."""
    by = orders.get(order.name)
    if by is None:
        raise unknown_order()
    return by


def unknown_order() -> BadArgument:
    """Return the error for a sort order that the list doesn't have."""
    return BadArgument(Refused("Unknown or unsupported sort order", condition="false"), "order")


def few(index: OrderedIndex[RowT], *prefix: Any) -> Iterator[RowT]:
    """Return at most QUERY_LIMIT rows whose key starts with `prefix`."""
    return islice(index.equal(*prefix), QUERY_LIMIT)


def named(index: OrderedIndex[RowT] | UniqueIndex[RowT], argument: str, names: list[str]) -> Iterator[RowT]:
    """Return the rows with these names, in the given order. Unknown names are omitted; more than QUERY_LIMIT names are refused."""
    require_few(argument, names)
    return (row for name in names if (row := index.get(name)) is not None)


def whole(index: OrderedIndex[RowT], *prefix: Any) -> Iterator[RowT]:
    """Return at most WHOLE_LIST_MAX rows whose key starts with `prefix`. This bounds the lists that are unlimited in the reference."""
    return islice(index.equal(*prefix), WHOLE_LIST_MAX)


def require_few(name: str, values: list[Any]) -> None:
    """Refuse a list argument with more than QUERY_LIMIT elements."""
    require(len(values) <= QUERY_LIMIT, condition=f"args.{name}.size() <= DATABASE_API_SINGLE_QUERY_LIMIT")
