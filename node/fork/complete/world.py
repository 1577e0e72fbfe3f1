"""Reads the rows that a chain has once, its head and its blocks from a source."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from node.client.errors import RefusedCall
from node.fork.complete.listings import ACCOUNTS, COMMENTS, SMALL, TOKENS, VOTES, WORLD, Listing, ListReader, Unit
from node.fork.resources import RESOURCE_POOLS, pools_in
from node.fork.rows import Reader
from node.fork.source import Call, Source
from state.portable import Batch
from state.protocol.codec.kinds import SymbolKind
from state.protocol.constants import COIN_MAX_TIME_UNTIL_EXPIRATION
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from state.protocol.values.integers import UINT32_MAX
from state.protocol.values.text import is_valid_account_name

HEAD: Call = ("database_api.get_dynamic_global_properties", {})
SCHEDULE: Call = ("database_api.get_witness_schedule", {})
FEED: Call = ("database_api.get_feed_history", {})
HARDFORKS: Call = ("database_api.get_hardfork_properties", {})
FUNDS: Call = ("database_api.get_reward_funds", {})
OLD_PROPERTIES: Call = ("condenser_api.get_dynamic_global_properties", [])
NAMES: Call = ("database_api.get_nai_pool", {})
POOLS: Call = (RESOURCE_POOLS, {})
NEXT_IDS: Call = ("explorer_api.get_next_ids", {})
VIRTUAL = "account_history_api.get_ops_in_block"
SYMBOL = SymbolKind()
BLOCKS_OF_BATCH = 20
CALLS_AT_ONCE = 90  # between two calls for the head, so that most sources take all in one request
NAME_LENGTH_MAX = 16
SLOTS = 1 << 16
COMMENT_NAME = re.compile(r"@([a-z0-9.-]{3,16})/([^\s/]{1,255})$")  # in memos of transfers
WORD = re.compile(r"[a-z][a-z0-9.-]{2,15}")
COMMENT_MEMBERS = (("author", "permlink"), ("parent_author", "parent_permlink"))


class Head(Struct, frozen=True):
    """The head block of the source: its number and id (hex)."""

    number: int
    block_id: str


class ChainReader:
    """Reads the rows that a chain has once, and blocks."""

    def __init__(self, source: Source, reader: Reader, wire: Wire) -> None:
        self.source, self._reader, self._wire = source, reader, wire
        self.lists = ListReader(source, reader)
        self._calls: list[Call] = []
        self._small: tuple[Listing, ...] = ()

    async def calls(self) -> list[Call]:
        """Return the calls whose results `rows` reads."""
        if not self._calls:
            self._calls = [HEAD, SCHEDULE, FEED, HARDFORKS, FUNDS]
            self._calls += [call for call in (OLD_PROPERTIES, NAMES, POOLS) if await self.source.has(call[0])]
        return self._calls

    def rows(self, results: Sequence[Any]) -> Batch:
        """Return the rows that the chain has once, from the results of `calls`."""
        given = dict(zip((name for name, _ in self._calls), results, strict=True))
        read = self._reader.row
        old = given.get(OLD_PROPERTIES[0])
        props = read("global_properties", HEAD[0], given[HEAD[0]])
        nais: tuple[int, ...] = ()
        if NAMES[0] in given:
            items = self._reader.items(NAMES[0], given[NAMES[0]], "nai_pool")
            nais = tuple(self._reader.parse(SYMBOL, NAMES[0], item, f"nai_pool[{at}]") for at, item in enumerate(items))
        rows = {
            "global_properties": [(read("global_properties", OLD_PROPERTIES[0], old) if old is not None else {}) | props],
            "witness_schedules": [read("witness_schedules", SCHEDULE[0], given[SCHEDULE[0]])],
            "feed_histories": [read("feed_histories", FEED[0], given[FEED[0]])],
            "hardfork_properties": [read("hardfork_properties", HARDFORKS[0], given[HARDFORKS[0]])],
            "reward_funds": self._reader.rows("reward_funds", FUNDS[0], given[FUNDS[0]], "funds"),
            "nai_pools": [{"nais": nais}],
        }
        if RESOURCE_POOLS in given:
            rows["rc/pools"] = [{"pools": pools_in(self._reader, RESOURCE_POOLS, given[RESOURCE_POOLS])}]
        return rows

    async def read_head(self) -> Head:
        """Return the head."""
        return self.head(await self.source.call(*HEAD))

    async def small(self) -> tuple[Listing, ...]:
        """Return the listings of the small tables that the source serves. Not every node has tokens."""
        if not self._small:
            self._small = (*SMALL, *[listing for listing in TOKENS if await self.source.has(listing.method)])
        return self._small

    async def next_ids(self) -> dict[str, int]:
        """Return the ids of the next new rows by table, as far as the source shows them."""
        if not await self.source.has(NEXT_IDS[0]):
            return {}
        found = {}
        for at, item in enumerate(self._reader.items(NEXT_IDS[0], await self.source.call(*NEXT_IDS))):
            table, next_id = (item.get("table"), item.get("next_id")) if type(item) is dict else (None, None)
            if type(table) is not str or type(next_id) is not int or not 0 <= next_id <= UINT32_MAX:
                raise self.source.wrong(NEXT_IDS[0], f"[{at}]", "it is not the next id of a table")
            found[table] = next_id
        return found

    def head(self, result: Any) -> Head:
        """Return the head from the result of the call HEAD."""
        row = self._reader.row("global_properties", HEAD[0], result)
        return Head(row["head_block_number"], row["head_block_id"].hex())

    async def blocks(self, first: int, last: int) -> list[SignedBlock]:
        """Return the blocks with these numbers. The list ends before a block that the source doesn't have or refuses to give."""
        found: list[SignedBlock] = []
        for begin in range(first, last + 1, BLOCKS_OF_BATCH):
            numbers = range(begin, min(last + 1, begin + BLOCKS_OF_BATCH))
            results = await self.source.attempt([("block_api.get_block", {"block_num": number}) for number in numbers])
            for number, result in zip(numbers, results, strict=True):
                value = result.get("block") if type(result) is dict else None
                if not value:
                    return found
                found.append(self._block(number, value))
        return found

    def _block(self, number: int, value: Any) -> SignedBlock:
        try:
            block = self._wire.block_from_json(value)
        except ChainError as error:
            raise self.source.wrong("block_api.get_block", "block", error.message(self._wire.spec.spell)) from None
        if block.number != number:
            raise self.source.wrong("block_api.get_block", "block", f"it is block {block.number} instead of {number}")
        return block

    async def recent(self, number: int, time: int) -> Batch:
        """Return the records of the transactions in blocks up to `number` that have not expired at `time`, the time of that block, and the
        ids of these blocks. Transactions can refer to older blocks, but hardly any do.
        """
        rows: dict[bytes, int] = {}
        ids: dict[int, bytes] = {}
        size = BLOCKS_OF_BATCH
        while number > 0:
            first = max(1, number - size + 1)
            blocks = await self.blocks(first, number)
            if len(blocks) <= number - first and size > 1:
                size = 1  # the source's chain begins here
                continue
            for block in reversed(blocks):
                ids.setdefault(block.number % SLOTS, block.id)
                rows |= {trx.id: trx.expiration for trx in block.transactions if trx.expiration >= time}
            if not blocks or blocks[0].timestamp + COIN_MAX_TIME_UNTIL_EXPIRATION < time:
                break
            number = first - 1
        return {
            "transactions": [{"trx_id": trx_id, "expiration": expiration} for trx_id, expiration in sorted(rows.items())],
            "block_summaries": [{"slot": slot, "block_id": block_id} for slot, block_id in sorted(ids.items())],
        }

    async def named_in(self, first: int, last: int) -> "Named":
        """Return what the blocks with these numbers and their virtual operations name, up to a block that the source doesn't have."""
        named, blocks = Named(), await self.blocks(first, last)
        for block in blocks:
            named.accounts.add(block.witness)
            self.add_named(named, block.transactions)
        last = first + len(blocks) - 1
        if await self.source.has(VIRTUAL):
            for begin in range(first, last + 1, BLOCKS_OF_BATCH):
                numbers = range(begin, min(last + 1, begin + BLOCKS_OF_BATCH))
                for result in await self.source.batch([(VIRTUAL, {"block_num": number, "only_virtual": True}) for number in numbers]):
                    named.add(result)
        return named

    def add_named(self, named: "Named", transactions: Iterable[SignedTransaction]) -> None:
        """Add what transactions name."""
        for trx in transactions:
            named.add(self._wire.transaction_to_json(trx)["operations"])

    async def units(self, units: Iterable[Unit]) -> AsyncIterator[tuple[Head | None, dict[Unit, Batch]]]:
        """Yield the rows of units in parts. Each part has the source's head at which it was read, or None if the head changed meanwhile."""
        wanted = set(units)
        calls = list(self.lists.unit_calls(sorted(wanted - {WORLD}, key=repr)))
        world = await self.calls() if WORLD in wanted else []
        for begin in range(0, max(len(calls), 1), CALLS_AT_ONCE):
            part = calls[begin : begin + CALLS_AT_ONCE]
            before, *results = await self.source.attempt([HEAD, *world, *(call for _, call in part), HEAD])
            after = results.pop()
            for result in (before, after, *results[: len(world)]):
                if isinstance(result, RefusedCall):
                    raise result
            head = self.head(before)
            found: dict[Unit, Batch] = {WORLD: self.rows(results[: len(world)])} if world else {}
            long: list[Unit] = []
            for (some, _), result in zip(part, results[len(world) :], strict=True):
                answers = self.lists.answers(some, result)
                if answers is None:
                    long += some
                else:
                    found |= answers
            world = []
            yield head if head == self.head(after) else None, found
            for unit in long:
                batch = await self.lists.unit(unit)
                yield head if head == await self.read_head() else None, {unit: batch}


class Named:
    """Names of accounts, and authors and permlinks of comments."""

    def __init__(self) -> None:
        self.accounts: set[str] = set()
        self.comments: set[tuple[str, str]] = set()
        self.words: set[str] = set()  # of longer texts, which can mention accounts

    def add(self, value: Any) -> None:
        """Add all names in a JSON value. Texts that look like names of accounts are included."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                waiting += one.values()
                for author, permlink in COMMENT_MEMBERS:
                    if isinstance(one.get(author), str) and isinstance(one.get(permlink), str) and one[author]:
                        self.comments.add((one[author], one[permlink]))
            elif isinstance(one, list):
                waiting += one
            elif isinstance(one, str) and one[:1] in ("{", "["):
                with suppress(msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
                    waiting.append(msgspec.json.decode(one))
            elif isinstance(one, str) and (found := COMMENT_NAME.match(one)):
                self.comments.add((found[1], found[2]))
            elif isinstance(one, str) and len(one) > NAME_LENGTH_MAX:
                self.words.update(WORD.findall(one))
            elif isinstance(one, str) and len(one) <= NAME_LENGTH_MAX and is_valid_account_name(one):
                self.accounts.add(one)

    def units(self, *, with_small: bool) -> Iterator[Unit]:
        """Yield the units of the named accounts and comments, except those of tokens."""
        for name in sorted(self.accounts):
            yield from ((listing.table, (name,)) for listing in ((*SMALL, ACCOUNTS) if with_small else (ACCOUNTS,)))
        for comment in sorted(self.comments):
            yield from ((listing.table, comment) for listing in (COMMENTS, VOTES))
