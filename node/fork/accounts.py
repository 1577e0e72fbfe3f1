"""Reads accounts of a source, with the rows that belong to them: delegations, orders, pending payments, recoveries, votes.

A light account is only the account, its authorities and its metadata. Of the rows that belong to two accounts, only those are read that
belong to the account first: the family has no method that lists delegations by receiver.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from node.client.errors import RefusedCall
from node.client.http import SHOWN_CHARACTERS_MAX
from node.fork.rows import Notes, Reader
from node.fork.source import Source, is_missing
from node.fork.spec import chunks, reader_of
from state.portable import Batch, PortableRow
from state.protocol.constants import COIN_MAX_ACCOUNT_WITNESS_VOTES, COIN_MAX_PROXY_RECURSION_DEPTH, COIN_PROXY_TO_SELF_ACCOUNT
from state.protocol.values.text import is_valid_account_name

NAMES_AT_ONCE = 500
PAGE = 1000
ROWS_MAX = 10_000
"""Rows of one kind that are read of an account."""

FIND_ACCOUNTS, GET_ACCOUNTS = "database_api.find_accounts", "condenser_api.get_accounts"
FIND_WITNESSES, GET_WITNESS = "database_api.find_witnesses", "condenser_api.get_witness_by_account"
EPOCH = "1970-01-01T00:00:00"
LEAST_SYMBOL = {"nai": "@@000000013", "decimals": 3}


Method = tuple[str, Any, str]
"""The name of a method, its params, and the member of its result that has the list. In params, NAME and LAST stand for the account and for
the key of the last row.
"""
NAME, LAST = "\0name", "\0last"


def _find(name: str, key: str, argument: str = "account", value: Any = NAME, **more: str) -> Method:
    return f"database_api.find_{name}", {argument: value, **more}, key


def _list(name: str, key: str, order: str, *start: Any, limit: int = PAGE, **more: str) -> Method:
    return f"database_api.list_{name}", {"start": [NAME, *start], "limit": limit, "order": order, **more}, key


def _condenser(name: str, *params: Any) -> Method:
    return f"condenser_api.{name}", [NAME, *params], ""


class Query(Struct, frozen=True):
    """How the rows of a table that belong to an account are read.

    `owner` is the column with the account. `methods` are in order of preference, and so are `pages`, which return the rows after the row
    whose column `key` is LAST. The query is made only if the column `count` of the account isn't 0.
    """

    table: str
    owner: str
    methods: tuple[Method, ...]
    count: str = ""
    key: str = ""
    pages: tuple[Method, ...] = ()


ASCENDING: dict[str, Any] = {"order_direction": "ascending", "status": "all"}
QUERIES = (
    Query(
        "vesting_delegations",
        "delegator",
        (_find("vesting_delegations", "delegations"), _condenser("get_vesting_delegations", "", PAGE)),
        key="delegatee",
        pages=(
            _list("vesting_delegations", "delegations", "by_delegation", LAST),
            _condenser("get_vesting_delegations", LAST, PAGE),
        ),
    ),
    Query(
        "delegation_expirations",
        "delegator",
        (_find("vesting_delegation_expirations", "delegations"), _condenser("get_expiring_vesting_delegations", EPOCH, PAGE)),
        count="delegated_vesting_shares",
    ),
    Query(
        "withdraw_routes",
        "from_account",
        (_find("withdraw_vesting_routes", "routes", order="by_withdraw_route"), _condenser("get_withdraw_routes", "outgoing")),
        count="withdraw_routes",
    ),
    Query(
        "limit_orders",
        "seller",
        (_find("limit_orders", "orders"), _condenser("get_open_orders")),
        key="orderid",
        pages=(_list("limit_orders", "orders", "by_account", LAST),),
    ),
    Query(
        "convert_requests",
        "owner",
        (
            _find("sbd_conversion_requests", "requests"),
            _find("hbd_conversion_requests", "requests"),
            _condenser("get_conversion_requests"),
        ),
    ),
    Query("escrows", "from_", (_find("escrows", "escrows", "from"),)),
    Query(
        "savings_withdraws",
        "from_",
        (_find("savings_withdrawals", "withdrawals"), _condenser("get_savings_withdraw_from")),
        count="savings_withdraw_requests",
    ),
    Query("owner_histories", "account", (_find("owner_histories", "owner_auths", "owner"), _condenser("get_owner_history"))),
    Query(
        "recovery_requests",
        "account_to_recover",
        (_find("account_recovery_requests", "requests", "accounts", [NAME]), _condenser("get_recovery_request")),
    ),
    Query(
        "change_recovery_requests",
        "account_to_recover",
        (_find("change_recovery_account_requests", "requests", "accounts", [NAME]),),
    ),
    Query("decline_voting_requests", "account", (_find("decline_voting_rights_requests", "requests", "accounts", [NAME]),)),
    Query(
        "witness_votes",
        "account",
        (_list("witness_votes", "votes", "by_account_witness", "", limit=COIN_MAX_ACCOUNT_WITNESS_VOTES),),
        count="witnesses_voted_for",
    ),
    Query(
        "proposal_votes",
        "voter",
        (
            _list("proposal_votes", "proposal_votes", "by_voter_proposal", 0, **ASCENDING),
            ("condenser_api.list_proposal_votes", [[NAME, 0], PAGE, "by_voter_proposal", *ASCENDING.values()], ""),
        ),
    ),
    Query("smt_contributions", "contributor", (_list("smt_contributions", "contributions", "by_contributor", LEAST_SYMBOL, 0),)),
)
# The notes on tables whose rows a source has no method for, if they aren't the usual ones.
UNASKED = {
    "escrows": "escrows: the source doesn't list them, so their amounts are with all others",
    "change_recovery_requests": "changes of recovery accounts that haven't taken effect: the source doesn't show them",
    "decline_voting_requests": "requests to decline voting rights: the source doesn't show them",
    "smt_contributions": "",
    "witness_votes": "",
}


async def read_accounts(source: Source, names: Iterable[str], *, is_light: bool = False) -> Batch:
    """Read accounts with the rows that belong to them, or without these rows if they are `is_light`.

    The accounts that they use as proxies, directly or not, are read as light accounts. Names that the source doesn't have are omitted.
    The notes of the source's reader name the rows that it doesn't show. Raises RefusedCall, SourceSilent and SourceWrong.
    """
    reader = await reader_of(source)
    batch: Batch = {}
    wanted = list(dict.fromkeys(name for name in names if is_valid_account_name(name)))
    found = await add_accounts(source, reader, batch, wanted, is_light=is_light)
    if not is_light:
        await _add_rows(source, reader, batch, found)
        await _add_witnesses(source, reader, batch, found)
        await _add_proxies(source, reader, batch, found)
    sort_accounts(batch)
    return batch


def sort_accounts(batch: Batch) -> None:
    """Sort the accounts of a batch by their ids at the source. Methods show votes on posts in the order of the voters' ids."""
    batch.get("accounts", []).sort(key=lambda row: row.get("id", 0))


async def add_accounts(source: Source, reader: Reader, batch: Batch, names: Iterable[str], *, is_light: bool) -> list[PortableRow]:
    """Add the rows of accounts, their authorities and their metadata to a batch. Return the accounts' rows."""
    calls = [account_call(part, is_condenser=not await source.has(FIND_ACCOUNTS)) for part in chunks(names, NAMES_AT_ONCE)]
    found = []
    for (method, params), reply in zip(calls, await source.batch(calls), strict=True):
        found += account_rows(reader, batch, method, params, reply, is_light=is_light)
    return found


def account_call(names: Iterable[str], *, is_condenser: bool) -> tuple[str, Any]:
    """Return the call for accounts."""
    return (GET_ACCOUNTS, [list(names)]) if is_condenser else (FIND_ACCOUNTS, {"accounts": list(names)})


def account_rows(reader: Reader, batch: Batch, method: str, params: Any, reply: Any, *, is_light: bool) -> list[PortableRow]:
    """Add the rows in the reply to an `account_call` to a batch. Return the accounts' rows."""
    asked = set(params[0] if type(params) is list else params["accounts"])
    found = []
    for at, value in enumerate(reader.items(method, reply, "accounts", len(asked))):
        member = f"accounts[{at}]"
        parts = reader.parts("accounts", method, value, member)
        row = parts["row"]
        name = row["name"]
        if type(value.get("id")) is int:
            row["id"] = value["id"]
        if name not in asked:
            raise reader.wrong(method, f"{member}.name", "it is not an account that was asked for, or it is there twice")
        asked.remove(name)
        add(batch, "accounts", row | {"is_light": True} if is_light else row)
        add(batch, "account_authorities", {"account": name, **parts["authority"]})
        add(batch, "account_metadata", {"account": name, **parts["metadata"]})
        if not is_light and "witness_votes" in value:
            for witness in reader.items(method, value["witness_votes"], "", COIN_MAX_ACCOUNT_WITNESS_VOTES):
                add(batch, "witness_votes", {"account": name, "witness": reader.parse_name(method, witness, f"{member}.witness_votes")})
        found.append(row)
    return found


def add(batch: Batch, table: str, row: PortableRow) -> None:
    """Add a row to a batch."""
    batch.setdefault(table, []).append(row)


async def _add_rows(source: Source, reader: Reader, batch: Batch, accounts: list[PortableRow]) -> None:
    """Add the rows that belong to accounts."""
    await source.find(*(method for query in QUERIES for method, _, _ in query.methods))
    asked: list[tuple[Query, str, Method]] = []
    for query in QUERIES:
        if query.table == "smt_contributions" and not reader.spec.smt:
            continue
        if query.table == "witness_votes" and query.table in batch:  # the accounts' replies had them
            continue
        known = await source.first_served(query.methods)
        if known is None:
            _note_unasked(reader.notes, query.table)
            continue
        asked += [(query, row["name"], known) for row in accounts if not query.count or row.get(query.count)]
    calls = [(method, _filled(params, name, "")) for _, name, (method, params, _) in asked]
    for (query, name, (method, _, key)), reply in zip(asked, await source.attempt(calls), strict=True):
        if isinstance(reply, RefusedCall):
            _note_unasked(reader.notes, query.table, "" if is_missing(reply) else reply.message)
            continue
        rows = _rows_of(reader, batch, query, name, method, reply, key)
        if len(rows) >= PAGE:
            await _add_pages(source, reader, batch, query, name, rows)


def _note_unasked(notes: Notes, table: str, why: str = "") -> None:
    text = UNASKED.get(table, f"{table.replace('_', ' ')}: the source doesn't show them")
    notes.add(f"{text or table} ({why[:SHOWN_CHARACTERS_MAX]})" if why else text)


async def _add_pages(source: Source, reader: Reader, batch: Batch, query: Query, name: str, rows: list[PortableRow]) -> None:
    """Add the rows after the first page, up to ROWS_MAX in all."""
    known = await source.first_served(query.pages)
    count = len(rows)
    while known is not None and count < ROWS_MAX:
        method, params, key = known
        last = rows[-1][query.key]
        reply = await source.call(method, _filled(params, name, last))
        rows = [row for row in _rows_of(reader, {}, query, name, method, reply, key) if row[query.key] > last]
        for row in rows:
            add(batch, query.table, row)
        count += len(rows)
        if len(rows) < PAGE - 1:
            return
    reader.notes.add(f"{query.table.replace('_', ' ')} of {name}: only the first {count} were read")


def _rows_of(reader: Reader, batch: Batch, query: Query, name: str, method: str, reply: Any, key: str) -> list[PortableRow]:
    """Add the rows in a reply that belong to an account to a batch, and return them. Lists go on with the rows of the next account."""
    rows = []
    # A method for a single row returns null if there is none.
    values = [] if reply is None else [reply] if not key and type(reply) is dict else reader.items(method, reply, key, ROWS_MAX)
    for at, value in enumerate(values):
        parts = reader.parts(query.table, method, value, f"{key}[{at}]")
        row = next(iter(parts.values()))
        if row[query.owner] != name:
            continue
        if query.table == "proposal_votes":
            # A vote contains its proposal.
            proposal = parts["proposal.row"]
            row["proposal_id"] = proposal["proposal_id"]
            add(batch, "proposals", proposal)
        add(batch, query.table, row)
        rows.append(row)
    return rows


def _filled(params: Any, name: str, last: Any) -> Any:
    """Return params in which `name` and `last` replace NAME and LAST."""
    if type(params) is dict:
        return {key: _filled(value, name, last) for key, value in params.items()}
    if type(params) is list:
        return [_filled(value, name, last) for value in params]
    return name if params == NAME else last if params == LAST else params


async def _add_witnesses(source: Source, reader: Reader, batch: Batch, accounts: list[PortableRow]) -> None:
    """Add the witnesses that the accounts are or vote for."""
    names = dict.fromkeys(row["name"] for row in accounts)
    names |= dict.fromkeys(row["witness"] for row in batch.get("witness_votes", ()))
    calls = list(witness_calls(names, is_condenser=not await source.has(FIND_WITNESSES)))
    for (method, _), reply in zip(calls, await source.batch(calls), strict=True):
        add_witness_rows(reader, batch, method, reply)


def witness_calls(names: Iterable[str], *, is_condenser: bool) -> Iterator[tuple[str, Any]]:
    """Yield the calls for witnesses."""
    if is_condenser:
        yield from ((GET_WITNESS, [name]) for name in names)
    else:
        yield from ((FIND_WITNESSES, {"owners": part}) for part in chunks(names, NAMES_AT_ONCE))


def add_witness_rows(reader: Reader, batch: Batch, method: str, reply: Any) -> None:
    """Add the rows in the reply to a `witness_calls` call to a batch."""
    if method != GET_WITNESS:
        for row in reader.rows("witnesses", method, reply, "witnesses"):
            add(batch, "witnesses", row)
    elif reply is not None:
        add(batch, "witnesses", reader.row("witnesses", method, reply))


async def _add_proxies(source: Source, reader: Reader, batch: Batch, accounts: list[PortableRow]) -> None:
    """Add the accounts that vote for others, directly or not, as light accounts."""
    known = {row["name"] for row in accounts}
    for _ in range(COIN_MAX_PROXY_RECURSION_DEPTH):
        proxies = {row["proxy"] for row in accounts} - known - {COIN_PROXY_TO_SELF_ACCOUNT}
        if not proxies:
            return
        known |= proxies
        accounts = await add_accounts(source, reader, batch, sorted(proxies), is_light=True)
