"""Reads the world of a source: the rows that concern the whole chain, as of one block.

The source makes blocks while it is read. Therefore, all calls are sent at once, between two calls for the head block, and again if the head
block has changed. The first passes find out the names and pages to read.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from node.client.errors import RefusedCall
from node.fork.accounts import FIND_ACCOUNTS, NAMES_AT_ONCE, account_call, account_rows, add, add_witness_rows
from node.fork.resources import RESOURCE_PARAMETERS, RESOURCE_POOLS, object_in, pools_in, resources_in
from node.fork.rows import Reader
from node.fork.source import Call, Source, is_missing
from node.fork.spec import HARDFORK_MAX, chunks, reader_of
from state.portable import PORTABLE, Batch, PortableRow
from state.protocol import constants
from state.protocol.codec.kinds import Many, Release, Seconds, SymbolKind
from state.protocol.errors import ChainError
from state.protocol.keys.keys import NULL_KEY
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, Wire
from state.protocol.values.asset import Asset

PAGE, PAGES_MAX = 1000, 20
# Passes in which the head block may change before rows of different blocks are accepted, and passes in all.
MOVED_MAX, PASSES_MAX = 6, 40

LEGACY = "condenser_api."
GET_BLOCK, LIST_WITNESSES = "block_api.get_block", "database_api.list_witnesses"
TIME, HARDFORK_VERSION, SYMBOLS = Seconds(), Release(0xFFFF0000), Many(SymbolKind())
FUND = constants.COIN_POST_REWARD_FUND_NAME
PROPOSALS = {"limit": PAGE, "order": "by_creator", "order_direction": "ascending", "status": "all"}
# The methods for each part of the world, in order of preference, each with its params.
PARTS: dict[str, tuple[Call, ...]] = {
    "head": (("database_api.get_dynamic_global_properties", {}), ("condenser_api.get_dynamic_global_properties", [])),
    "legacy head": (("condenser_api.get_dynamic_global_properties", []),),
    "schedule": (("database_api.get_witness_schedule", {}), ("condenser_api.get_witness_schedule", [])),
    "hardforks": (("database_api.get_hardfork_properties", {}), ("condenser_api.get_hardfork_version", [])),
    "next hardfork": (("condenser_api.get_next_scheduled_hardfork", []),),
    "feed": (("database_api.get_feed_history", {}), ("condenser_api.get_feed_history", [])),
    "funds": (("database_api.get_reward_funds", {}), ("condenser_api.get_reward_fund", [FUND])),
    "names of tokens": (("database_api.get_nai_pool", {}), ("condenser_api.get_nai_pool", [])),
    "resources": ((RESOURCE_PARAMETERS, {}),),
    "resource pools": ((RESOURCE_POOLS, {}),),
}
OPTIONAL = {
    "legacy head": "",
    "next hardfork": "",
    "names of tokens": "names for new tokens: the source doesn't show them",
    "resources": "parameters of resource credits: the source doesn't show them, so they are the usual ones",
    "resource pools": "pools of resource credits: the source doesn't show them, so they are as full as without any use",
}
SMT_PARTS = ("names of tokens",)


class Pages(Struct, frozen=True):
    """A list that is read page by page: its methods, which get the start of a page, the start of the first page, the member with the list,
    and the start of the page that begins with a record.
    """

    methods: tuple[tuple[str, Callable[[Any], Any]], ...]
    first: Any
    key: str
    next: Callable[[Any], Any]
    is_smt: bool = False


LISTS: dict[str, Pages] = {
    "witnesses": Pages(
        (
            (LIST_WITNESSES, lambda start: {"start": start, "limit": PAGE, "order": "by_name"}),
            ("condenser_api.get_witnesses_by_vote", lambda start: [start, PAGE]),
        ),
        "",
        "witnesses",
        lambda value: value["owner"],
    ),
    "proposals": Pages(
        (
            ("database_api.list_proposals", lambda start: {"start": start, **PROPOSALS}),
            ("condenser_api.list_proposals", lambda start: [start, *PROPOSALS.values()]),
        ),
        ["", 0],
        "proposals",
        lambda value: [value["creator"], value["proposal_id"]],
    ),
    "tokens": Pages(
        (("database_api.list_smt_tokens", lambda start: {"start": start, "limit": PAGE, "order": "by_symbol"}),),
        {},
        "tokens",
        lambda value: value["token"]["liquid_symbol"],
        is_smt=True,
    ),
    "emissions of tokens": Pages(
        (("database_api.list_smt_token_emissions", lambda start: {"start": start, "limit": PAGE, "order": "by_symbol_time"}),),
        [],
        "token_emissions",
        lambda value: [value["symbol"], value["schedule_time"]],
        is_smt=True,
    ),
}


class World(Struct):
    """The world of a source at a block. `header` is this block without its transactions. `notes` name data that the source doesn't show,
    and rules that aren't implemented here.
    """

    header: SignedBlock
    spec: ChainSpec
    batch: Batch
    notes: tuple[str, ...]


class Asked(Struct, frozen=True):
    """A call of a pass, the part of the world that it asks for, and the member of its result that has a list."""

    part: str
    call: Call
    key: str = ""


async def read_world(source: Source) -> World:
    """Read the world of a source as of one block. If the source's head changes too often, rows of several blocks are taken, and a note
    says so.

    Raises NoNode, RefusedCall, SourceSilent and SourceWrong.
    """
    reader = await reader_of(source)
    starts: dict[str, list[Any]] = {name: [pages.first] for name, pages in LISTS.items()}
    names = _special_accounts(reader.spec)
    moved = 0
    for _ in range(PASSES_MAX):
        one_pass = await _Pass.made(source, reader, starts, names)
        if one_pass.add_starts(starts) or not one_pass.accounts_needed() <= set(names):
            names = sorted({*names, *one_pass.accounts_needed()})
            continue
        props = one_pass.properties()
        number, is_last = props["head_block_number"], moved == MOVED_MAX
        header = await read_header(source, reader, number)
        if header.id == props["head_block_id"] and (one_pass.is_still or is_last):
            break
        if is_last:
            raise reader.wrong(GET_BLOCK, "block", f"block {number} has the id {header.id.hex()}, the head {props['head_block_id'].hex()}")
        moved += 1
    else:
        raise reader.wrong(LIST_WITNESSES, "witnesses", "they change with each reading")
    if not one_pass.is_still:
        reader.notes.add("the source made blocks while its world was read: not all rows are of the same block")
    return World(header, reader.spec, one_pass.batch(), reader.notes.texts)


async def read_header(source: Source, reader: Reader, number: int) -> SignedBlock:
    """Return a block of the source without its transactions."""
    found = await source.first_of((GET_BLOCK, {"block_num": number}), ("condenser_api.get_block", [number]))
    if found is None:
        raise reader.wrong(GET_BLOCK, "", "it is not served")
    method, reply = found
    is_legacy = method.startswith(LEGACY)
    value = reply if is_legacy or type(reply) is not dict else reply.get("block")
    if type(value) is not dict:
        raise reader.wrong(method, "block", f"there is no block {number}")
    wire = Wire(reader.spec)
    try:
        return wire.block_from_json({**value, "transactions": []}, is_legacy)
    except ChainError as error:
        raise reader.wrong(method, "block", str(error)) from None


def _special_accounts(spec: ChainSpec) -> list[str]:
    """Return the accounts that the rules use."""
    names = (constants.COIN_NULL_ACCOUNT, constants.COIN_TEMP_ACCOUNT, constants.COIN_MINER_ACCOUNT, spec.genesis.witness, spec.treasury)
    return sorted({*names})


class _Pass:
    """The replies of one pass."""

    def __init__(self, reader: Reader, asked: list[Asked], replies: list[Any]) -> None:
        self._reader, self._asked, self._replies = reader, asked, replies
        self._witnesses: Batch = {}
        for method, reply in self._of("witnesses"):
            add_witness_rows(reader, self._witnesses, method, reply)
        self._witness_rows = distinct("witnesses", self._witnesses.get("witnesses", []))
        self._schedule = reader.row("witness_schedules", *self._one("schedule"))
        self._props = [reader.row("global_properties", method, reply) for method, reply in self._of("head")]

    @classmethod
    async def made(cls, source: Source, reader: Reader, starts: dict[str, list[Any]], names: list[str]) -> "_Pass":
        """Make the calls of a pass."""
        await source.find(*(method for calls in PARTS.values() for method, _ in calls), FIND_ACCOUNTS)
        await source.find(*(method for pages in LISTS.values() for method, _ in pages.methods))
        asked = []
        for part, calls in PARTS.items():
            if part in SMT_PARTS and not reader.spec.smt:
                continue
            call = await source.first_served(calls)
            if call is not None:
                asked.append(Asked(part, call))
            elif part not in OPTIONAL:
                raise reader.wrong(calls[0][0], "", "it is not served")
            elif OPTIONAL[part]:
                reader.notes.add(OPTIONAL[part])
        for part, pages in LISTS.items():
            if pages.is_smt and not reader.spec.smt:
                continue
            known = await source.first_served(pages.methods)
            if known is None:
                reader.notes.add(f"{part}: the source doesn't show them")
            else:
                method, params = known
                asked += [Asked(part, (method, params(start)), "" if method.startswith(LEGACY) else pages.key) for start in starts[part]]
        is_condenser = not await source.has(FIND_ACCOUNTS)
        asked += [Asked("accounts", account_call(some, is_condenser=is_condenser)) for some in chunks(names, NAMES_AT_ONCE)]
        asked.append(next(one for one in asked if one.part == "head"))
        replies = await source.attempt([one.call for one in asked])
        kept = []
        for one, reply in zip(asked, replies, strict=True):
            if not isinstance(reply, RefusedCall):
                kept.append((one, reply))
            elif one.part in OPTIONAL or is_missing(reply):
                reader.notes.add(OPTIONAL.get(one.part, f"{one.part}: the source doesn't show them"))
            else:
                raise reply
        return cls(reader, [one for one, _ in kept], [reply for _, reply in kept])

    @property
    def is_still(self) -> bool:
        """Whether the head block was the same before and after the pass."""
        return len({row["head_block_id"] for row in self._props}) == 1

    def add_starts(self, starts: dict[str, list[Any]]) -> bool:
        """Add the start of the page after the last one to each list that goes on. Return whether there is one."""
        is_more = False
        for part, pages in LISTS.items():
            replies = self._of(part)
            if not replies:
                continue
            method, reply = replies[-1]
            values = self._reader.items(method, reply, "" if method.startswith(LEGACY) else pages.key, PAGE)
            if len(values) == PAGE and len(starts[part]) < PAGES_MAX:
                try:
                    starts[part].append(pages.next(values[-1]))
                except (KeyError, TypeError):
                    raise self._reader.wrong(method, pages.key, "a record has no key") from None
                is_more = True
        return is_more

    def accounts_needed(self) -> set[str]:
        """Return the witnesses that can make blocks."""
        active = {row["owner"] for row in self._witness_rows if row["signing_key"] != NULL_KEY}
        return active | {name for name in self._schedule["current_shuffled_witnesses"] if name}

    def batch(self) -> Batch:
        """Return the rows of the world."""
        reader, batch = self._reader, Batch()
        batch["global_properties"] = [self.properties()]
        batch["witness_schedules"] = [self._schedule]
        batch["feed_histories"] = [reader.row("feed_histories", *self._one("feed"))]
        batch["hardfork_properties"] = [self._hardforks()]
        method, funds = self._one("funds")
        batch["reward_funds"] = reader.rows("reward_funds", method, [funds] if method.startswith(LEGACY) else funds, "funds")
        nais = self._of("names of tokens")
        shown = nais[0][1] if nais else []
        names = shown.get("nai_pool") if type(shown) is dict else shown
        batch["nai_pools"] = [{"nais": reader.parse(SYMBOLS, nais[0][0], names, "nai_pool") if nais else ()}]
        batch["witnesses"] = self._witness_rows
        self._add_accounts(batch)
        for method, reply in self._of("proposals"):
            for row in reader.rows("proposals", method, reply, "" if method.startswith(LEGACY) else "proposals"):
                add(batch, "proposals", row)
        self._add_tokens(batch)
        for table in ("proposals", "smt_tokens", "smt_icos", "smt_emissions"):
            batch[table] = distinct(table, batch.get(table, []))
        self._add_resources(batch)
        return batch

    def _of(self, part: str) -> list[tuple[str, Any]]:
        """Return the methods and replies for a part of the world."""
        return [(one.call[0], reply) for one, reply in zip(self._asked, self._replies, strict=True) if one.part == part]

    def _one(self, part: str) -> tuple[str, Any]:
        found = self._of(part)
        if not found:
            raise self._reader.wrong(PARTS[part][0][0], "", "it is not served")
        return found[0]

    def properties(self) -> PortableRow:
        """Return the row of global properties. Either group of methods shows members that the other lacks."""
        row = dict(self._props[0])
        for method, reply in self._of("legacy head"):
            row = self._reader.row("global_properties", method, reply) | row
        return row

    def _hardforks(self) -> PortableRow:
        """Return the row of hardforks. Without database_api, the times of past hardforks are those of the spec."""
        reader, spec = self._reader, self._reader.spec
        method, reply = self._one("hardforks")
        if method.startswith(LEGACY):
            version = reader.parse(HARDFORK_VERSION, method, reply)
            last = version >> 16 & 0xFF
            row = {"last_hardfork": last, "current_hardfork_version": version, "next_hardfork": version}
            row["processed_hardforks"] = spec.hardfork_times[: last + 1]
            row["next_hardfork_time"] = row["processed_hardforks"][-1]
            reader.notes.add("times of past hardforks: the source doesn't show them, so they are those of the chain's spec")
            for method, following in self._of("next hardfork"):
                if type(following) is dict:
                    row["next_hardfork"] = reader.parse(HARDFORK_VERSION, method, following.get("hf_version"), "hf_version")
                    row["next_hardfork_time"] = reader.parse(TIME, method, following.get("live_time"), "live_time")
        else:
            row = reader.row("hardfork_properties", method, reply)
        last = row["last_hardfork"]
        if not 0 <= last < len(row["processed_hardforks"]) and last <= HARDFORK_MAX:
            raise reader.wrong(method, "processed_hardforks", f"they don't have hardfork {last}")
        if last > HARDFORK_MAX:
            reader.notes.add(f"hardforks {HARDFORK_MAX + 1} to {last} of the source: their rules aren't here")
            times = row["processed_hardforks"][: HARDFORK_MAX + 1]
            version = HARDFORK_MAX << 16
            row |= {"processed_hardforks": times, "last_hardfork": HARDFORK_MAX, "current_hardfork_version": version}
            row |= {"next_hardfork": version, "next_hardfork_time": times[-1]}
        return row

    def _add_accounts(self, batch: Batch) -> None:
        for one, reply in zip(self._asked, self._replies, strict=True):
            if one.part == "accounts":
                account_rows(self._reader, batch, *one.call, reply, is_light=True)

    def _add_tokens(self, batch: Batch) -> None:
        reader = self._reader
        for method, reply in self._of("tokens"):
            for at, value in enumerate(reader.items(method, reply, "tokens", PAGE)):
                member = f"tokens[{at}]"
                if type(value) is not dict:
                    raise reader.wrong(method, member, "it is not an object")
                token = value.get("token")
                row = reader.row("smt_tokens", method, token, f"{member}.token")
                shown = object_in(self._reader, method, token, "market_maker", f"{member}.token").get("token_balance")
                row["market_maker_token_balance"] = reader.parse(Asset, method, shown, f"{member}.token.market_maker.token_balance").amount
                add(batch, "smt_tokens", row)
                if value.get("ico") is not None:
                    add(batch, "smt_icos", reader.row("smt_icos", method, value["ico"], f"{member}.ico"))
        for method, reply in self._of("emissions of tokens"):
            for row in reader.rows("smt_emissions", method, reply, "token_emissions"):
                add(batch, "smt_emissions", row)

    def _add_resources(self, batch: Batch) -> None:
        """Add the parameters and pools of resource credits."""
        for method, reply in self._of("resources"):
            batch["rc/parameters"] = [{"resources": resources_in(self._reader, method, reply)}]
        for method, reply in self._of("resource pools"):
            batch["rc/pools"] = [{"pools": pools_in(self._reader, method, reply)}]


def distinct(table: str, rows: Iterable[PortableRow]) -> list[PortableRow]:
    """Return the rows without repetitions, in order. A page begins with the last row of the one before."""
    key = PORTABLE[table].key
    return list({tuple(row[column] for column in key): row for row in rows}.values())
