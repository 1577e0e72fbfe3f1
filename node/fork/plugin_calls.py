"""Calls for the data of plugins: lists are read page by page for many accounts at once, and missing methods are noted."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import trio
from msgspec import Struct

from node.client.errors import RefusedCall
from node.client.http import SHOWN_CHARACTERS_MAX
from node.fork.rows import Parts, Reader
from node.fork.source import Call, Source, is_missing
from node.runtime.errors import NodeError
from node.runtime.shutdown import raised_alone
from state.portable import Batch

ROWS_MAX = 1_000_000  # rows of one list
GATHERING_SECONDS = 0.002  # until calls are sent, so that other tasks can add theirs


Item = TypeVar("Item")


class Listing(Struct, frozen=True):
    """A method that lists rows about an account, page by page.

    `section` is the shape of its records, and `key` the member of the reply with the list. `params` returns the parameters for an account
    and the place of the page's first row: `first`, and later the `place` of the last row of the page before. A page has at most `size`
    rows.
    """

    section: str
    method: str
    params: Callable[[str, Any], Any]
    place: Callable[[Parts], Any]
    first: Any
    size: int
    key: str = ""


class _Asked(Struct, eq=False):
    """Calls that a task has asked for, and later their replies or the error that all tasks get."""

    calls: list[Call]
    done: trio.Event
    replies: list[Any] = []
    error: Exception | None = None


class PluginCalls:
    """Calls of a source for the data of plugins. With `is_complete`, lists are read to their end, otherwise only their first page.

    Tasks that ask at about the same time share a request.
    """

    def __init__(self, source: Source, reader: Reader, *, is_complete: bool) -> None:
        self.source, self.reader, self.is_complete = source, reader, is_complete
        self._waiting: list[_Asked] = []

    async def serves(self, method: str, without: str) -> bool:
        """Whether the source serves a method. If not, add the note `without`, which names the missing rows."""
        if await self.source.has(method):
            return True
        self.reader.notes.add(f"{without} (the source doesn't show them)")
        return False

    async def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls in order, None for a refused one. Raises SourceSilent and SourceWrong."""
        if not calls:
            return []
        asked = _Asked(list(calls), trio.Event())
        self._waiting.append(asked)
        if len(self._waiting) == 1:
            await trio.sleep(GATHERING_SECONDS)
            await self._send()
        else:
            await asked.done.wait()
        if asked.error is not None:
            raise asked.error
        replies = asked.replies
        for (method, _), reply in zip(calls, replies, strict=True):
            if isinstance(reply, RefusedCall):
                why = "the source doesn't serve it" if is_missing(reply) else reply.message[:SHOWN_CHARACTERS_MAX]
                self.reader.notes.add(f"{method} was refused: {why}")
        return [None if isinstance(reply, RefusedCall) else reply for reply in replies]

    async def of_each(self, items: Sequence[Item], calls: Iterable[Call]) -> list[tuple[Item, Any]]:
        """Make a call for each item. Return the items with their results, except those whose call was refused."""
        return [(item, reply) for item, reply in zip(items, await self.ask(list(calls)), strict=True) if reply is not None]

    async def _send(self) -> None:
        """Make the calls that tasks are waiting for."""
        waiting, self._waiting = self._waiting, []
        try:
            replies = iter(await self.source.attempt([call for asked in waiting for call in asked.calls]))
        except NodeError as error:
            for asked in waiting:
                asked.error = error
        else:
            for asked in waiting:
                asked.replies = list(islice(replies, len(asked.calls)))
        for asked in waiting:
            asked.done.set()

    async def listed(self, listing: Listing, names: Iterable[str]) -> dict[str, list[Parts]]:
        """Return the records of a list by account, in the order of the list."""
        found: dict[str, dict[Any, Parts]] = {name: {} for name in names}
        starts = dict.fromkeys(found, listing.first)
        while starts:
            replies = await self.ask([(listing.method, listing.params(name, start)) for name, start in starts.items()])
            following: dict[str, Any] = {}
            for name, reply in zip(starts, replies, strict=True):
                if reply is None:
                    continue
                records, before = found[name], len(found[name])
                values = self.reader.items(listing.method, reply, listing.key, listing.size)
                for at, value in enumerate(values):
                    parts = self.reader.parts(listing.section, listing.method, value, f"{listing.key}[{at}]")
                    records.setdefault(listing.place(parts), parts)
                if len(values) == listing.size and before < len(records) < ROWS_MAX:
                    following[name] = next(reversed(records))
            if following and not self.is_complete:
                self.reader.notes.add(f"{listing.section}: of long lists, only {listing.size} rows of an account were read")
                break
            starts = following
        return {name: list(records.values()) for name, records in found.items()}


async def together(*tasks: Callable[[], Awaitable[object]]) -> None:
    """Run tasks at the same time. Raises the first error of them."""
    with raised_alone():
        async with trio.open_nursery() as nursery:
            for task in tasks:
                nursery.start_soon(task)


def extend(batch: Batch, section: str, rows: Iterable[dict[str, Any]]) -> None:
    """Add rows to a section of a batch, which then exists even if there are no rows."""
    batch.setdefault(section, []).extend(rows)
