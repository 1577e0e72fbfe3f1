"""Compares an export with a chain that has replayed the same blocks: operations for each block, and totals."""

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import trio

from node.research.columns.column_buffer import KEYS, ORDER, Dataset
from node.research.columns.names import names_of
from node.research.export.run import Export, ExportOptions
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from rpc.api.history import get_ops_in_block
from rpc.declare.arguments import APPBASE
from rpc.declare.record_encoder import RecordEncoder
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED
from state.plugins.registry import PLUGINS, enable
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import COIN, SBD, VESTS, nai_text
from state.protocol.values.text import time_from_text
from state.tables import State

CHAIN = "steem-testnet"
# Operations that affect no account, so that account_history doesn't record them.
UNRECORDED = {"comment_reward", "comment_payout_update", "clear_null_account_balance", "report_over_production"}

Key = tuple[int, ...]


@cache
def every_table() -> tuple[str, ...]:
    """Return the names of all tables, including those of plugins."""
    return tuple(names_of(new_state(load_spec(CHAIN), partial(enable, names=PLUGINS))))


def wanted_of(source: Path, to: Path, **changes: Any) -> ExportOptions:
    """Return the tests' export options: a block log of the recorded chain, trusted, with all tables."""
    given: dict[str, Any] = {"skip": TRUSTED, "tables": dict.fromkeys(every_table(), 0)}
    return ExportOptions(spec=load_spec(CHAIN), source=source, to=to, **given | changes)


def exported(wanted: ExportOptions) -> Export:
    export = Export(wanted)
    assert trio.run(export.run)
    return export


def replayed(source: Path, spec: ChainSpec) -> Chain:
    """Return a chain with all plugins that has replayed the blocks of a file."""
    chain = Chain(new_state(spec, partial(enable, names=PLUGINS)))
    for block in BlockFile(source, chain.state.wire):
        chain.push_block(block, TRUSTED)
    return chain


class Reader:
    """The datasets of an export as DuckDB views, one for each kind of operation and each table, including empty ones."""

    def __init__(self, export: Export) -> None:
        self.folder, self.spec = export.wanted.to, export.wanted.spec
        self.kinds = [name for name in export.datasets if name != "blocks"]
        self.schemas: dict[str, Any] = {}
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._connection.execute("set TimeZone = 'UTC'")
        paths = [chunk.path for each in export.manifest.ranges for chunk in each.chunks]
        for name, dataset in (*export.datasets.items(), *export.tables.items()):
            self.schemas[name] = dataset.schema
            self._connection.register(name, self._table(dataset, [path for path in paths if path.startswith(f"{dataset.folder}/")]))

    def _table(self, dataset: Dataset, paths: list[str]) -> Any:
        # For a table, only its newest rows.
        chosen = paths[-1:] if dataset.folder.startswith("tables/") else paths
        tables = [pq.read_table(self.folder / path, partitioning=None) for path in chosen]
        assert all(table.schema.equals(dataset.schema) for table in tables)
        return pa.concat_tables([dataset.schema.empty_table(), *tables])

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        found: list[tuple[Any, ...]] = self._connection.sql(self.spec.spell(text)).fetchall()
        return found

    def number(self, text: str) -> int:
        """Run a query and return its single number."""
        return int(self.ask(text)[0][0] or 0)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a dataset in order."""
        found: list[dict[str, Any]] = (
            self._connection.sql(f'select * from "{name}"').to_arrow_table().cast(self.schemas[name]).to_pylist(maps_as_pydicts="strict")
        )
        return found


# ------------------------------------------------------------------ operations


def compare_operations(reader: Reader, chain: Chain) -> Counter[str]:
    """Compare all operations with `account_history_api.get_ops_in_block`. Return the number of operations of each kind."""
    state, show, counts = chain.state, RecordEncoder(chain.state.wire, APPBASE), Counter[str]()
    rows: dict[int, dict[Key, tuple[str, dict[str, Any]]]] = {}
    times = {row["block"]: row["time"] for row in reader.rows("blocks")}
    letters = {nai_text(symbol): text for symbol, text in state.wire.codecs.symbols.letters.items()}
    for kind in reader.kinds:
        last: Key = ()
        for row in reader.rows(kind):
            key = tuple(row[name] for name in KEYS.names[:ORDER])
            assert last < key, f"{kind} {key} isn't in order"
            assert key not in rows.setdefault(row["block"], {})
            rows[row["block"]][key] = kind, row
            last = key
            counts[kind] += 1
    for number in range(1, state.props.head_block_number + 1):
        there = rows.pop(number, {})
        for shown in get_ops_in_block(state, show, number):
            key = shown["block"], shown["trx_in_block"], shown["op_in_trx"], shown["virtual_op"]
            kind, row = there.pop(key)
            assert shown["op"]["type"] == f"{kind}_operation"
            assert row["time"] == times[number]
            assert row["trx_id"] == (shown["trx_id"] if set(shown["trx_id"]) != {"0"} else None)
            own = [field for field in reader.schemas[kind] if field.name not in KEYS.names]
            value = renamed(kind, shown["op"]["value"])
            assert {field.name: row[field.name] for field in own} == expected(own, value, letters), f"{kind} {key}"
        assert {kind for kind, _ in there.values()} <= UNRECORDED
    assert not rows
    return counts


def renamed(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's fields under their column names, including those from its extensions."""
    found = {f"{kind}_{name}" if name in KEYS.names else name: each for name, each in value.items()}
    if kind == "comment_options":
        named = [each["value"]["beneficiaries"] for each in value["extensions"] if each["type"] == "comment_payout_beneficiaries"]
        found["beneficiaries"] = named[0] if named else []
    return found


def expected(fields: list[Any], value: dict[str, Any], letters: dict[str, str]) -> dict[str, Any]:
    """Return the expected column values of an object from its JSON."""
    flat: dict[str, Any] = {}
    for name, each in value.items():
        flatten(name, each, letters, flat)
    assert flat.keys() <= {field.name for field in fields}
    return {field.name: of_type(flat.get(field.name), field.type, letters) for field in fields}


def flatten(name: str, value: Any, letters: dict[str, str], found: dict[str, Any]) -> None:
    """Split an amount or a price into its columns, and convert a symbol to text."""
    if isinstance(value, dict) and value.keys() == {"amount", "precision", "nai"}:
        found[name], found[f"{name}_symbol"] = int(value["amount"]), letters.get(value["nai"], value["nai"])
    elif isinstance(value, dict) and value.keys() == {"base", "quote"}:
        for side in ("base", "quote"):
            flatten(f"{name}_{side}", value[side], letters, found)
    elif isinstance(value, dict) and value.keys() == {"nai", "decimals"}:
        found[name] = letters.get(value["nai"], value["nai"])
    else:
        found[name] = value


def of_type(value: Any, of: Any, letters: dict[str, str]) -> Any:
    """Convert a JSON value to the Python value that pyarrow returns for a type."""
    types = pa.types
    if value is None:
        return None
    if types.is_timestamp(of):
        return datetime.fromtimestamp(time_from_text(value), UTC)
    if types.is_decimal(of):
        return Decimal(value)
    if types.is_integer(of):
        return int(value)
    if types.is_map(of):
        return {key: of_type(each, of.item_type, letters) for key, each in value}
    if types.is_list(of):
        return [of_type({"": each}, of.value_type, letters) if is_amount(each) else of_type(each, of.value_type, letters) for each in value]
    if types.is_struct(of):
        if "" in value:  # an amount in a list
            amount = value[""]
            return {"amount": int(amount["amount"]), "symbol": letters.get(amount["nai"], amount["nai"])}
        return expected(list(of), value, letters)
    if types.is_string(of) and not isinstance(value, str):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return value


def is_amount(value: Any) -> bool:
    """Whether a JSON value is an amount."""
    return isinstance(value, dict) and "nai" in value and "amount" in value


# ------------------------------------------------------------------ totals

HELD = {
    COIN: """
        (select sum(balance + savings_balance + reward_coin_balance) from accounts) +
        (select coalesce(sum(for_sale) filter (sell_price_base_symbol = '{coin}'), 0) from limit_orders) +
        (select coalesce(sum(coin_balance), 0) + coalesce(sum(pending_fee) filter (pending_fee_symbol = '{coin}'), 0) from escrows) +
        (select coalesce(sum(amount) filter (amount_symbol = '{coin}'), 0) from savings_withdraws) +
        (select coalesce(sum(reward_balance), 0) from reward_funds) + (select coalesce(sum(contribution), 0) from smt_contributions) +
        (select coalesce(sum(market_maker_coin_balance), 0) from smt_tokens) +
        (select total_vesting_fund_coin + total_reward_fund_coin + pending_rewarded_vesting_coin from global_properties)""",
    SBD: """
        (select sum(sbd_balance + savings_sbd_balance + reward_sbd_balance) from accounts) +
        (select coalesce(sum(amount), 0) from convert_requests) +
        (select coalesce(sum(for_sale) filter (sell_price_base_symbol = '{sbd}'), 0) from limit_orders) +
        (select coalesce(sum(sbd_balance), 0) + coalesce(sum(pending_fee) filter (pending_fee_symbol = '{sbd}'), 0) from escrows) +
        (select coalesce(sum(amount) filter (amount_symbol = '{sbd}'), 0) from savings_withdraws)""",
}
WITNESS_VOTES = """
    select w.owner, coalesce(sum(a.vesting_shares + list_sum(a.proxied_vsf_votes)) filter (a.proxy = ''), 0) from witnesses w
    left join witness_votes v on v.witness = w.owner left join accounts a on a.name = v.account group by w.owner"""
# Rewards received minus rewards claimed, which is the account's pending balance since hardfork 17.
REWARDS = """
    with paid as (
        select author as name, coin_payout as coin, sbd_payout as sbd, vesting_payout as vests from author_reward
        union all select benefactor, coin_payout, sbd_payout, vesting_payout from comment_benefactor_reward
        union all select curator, 0, 0, reward from curation_reward
        union all select account, -reward_coin, -reward_sbd, -reward_vests from claim_reward_balance
        union all
        select account, -t.amount * (t.symbol = '{coin}')::int, -t.amount * (t.symbol = '{sbd}')::int,
            -t.amount * (t.symbol = '{vests}')::int
        from (select account, unnest(reward_tokens) as t from claim_reward_balance2))
    select name, sum(coin), sum(sbd), sum(vests) from paid group by name"""
POST_VOTES = """
    with cast_votes as (select voter, author, permlink, arg_max(weight, (block, trx, op)) as percent from vote group by all)
    select count(*), count(*) filter (c.percent = v.vote_percent) from comment_votes v
    join accounts a on a.id = v.voter join comments p on p.id = v.comment
    join cast_votes c on c.voter = a.name and c.author = p.author and c.permlink = p.permlink"""


def compare_totals(reader: Reader, chain: Chain) -> None:
    """Compare totals that SQL computes from operations and tables with those of the state."""
    state, letters = chain.state, chain.state.wire.codecs.symbols.letters
    props = state.props
    held = {symbol: reader.number("select " + text.format(coin=letters[COIN], sbd=letters[SBD])) for symbol, text in HELD.items()}
    assert held == {COIN: props.current_supply, SBD: props.current_sbd_supply + props.init_sbd_supply}
    vests = reader.number("select sum(vesting_shares + reward_vesting_balance) from accounts")
    assert vests == props.total_vesting_shares + props.pending_rewarded_vesting_shares
    accounts = reader.ask("select name, balance, sbd_balance, savings_balance, vesting_shares from accounts")
    assert accounts == [(each.name, each.balance, each.sbd_balance, each.savings_balance, each.vesting_shares) for each in state.accounts]
    if state.hardfork >= 3:  # earlier hardforks counted votes wrongly
        assert dict(reader.ask(WITNESS_VOTES)) == {witness.owner: witness.votes for witness in state.witnesses}
    found, right = reader.ask(POST_VOTES)[0]
    assert found == right
    compare_counts(reader, chain)


def compare_rewards(reader: Reader, state: State) -> int:
    """Compare the rewards of each account with its pending balances. Return the number of accounts with rewards.

    The chain must start at the last hardfork, since the rules before hardfork 17 paid rewards immediately.
    """
    waiting = {each.name: (each.reward_coin_balance, each.reward_sbd_balance, each.reward_vesting_balance) for each in state.accounts}
    waiting.pop("null", None)  # its balance is destroyed
    letters = state.wire.codecs.symbols.letters
    question = REWARDS.format(coin=letters[COIN], sbd=letters[SBD], vests=letters[VESTS])
    paid = {name: (int(coin), int(sbd), int(vests)) for name, coin, sbd, vests in reader.ask(question)}
    nothing = 0, 0, 0
    assert {name: each for name, each in waiting.items() if paid.get(name, nothing) != each} == {}
    return len(paid)


def compare_counts(reader: Reader, chain: Chain) -> None:
    """Compare row counts with counters of the state, and check the sequence of blocks."""
    state = chain.state
    assert reader.number("select count(*) from blocks") == state.props.head_block_number
    assert not reader.ask("select a.block from blocks a join blocks b on b.block = a.block + 1 where a.block_id <> b.previous")
    ordinary = sum(reader.number(f'select count(*) from "{kind}" where virtual_op = 0') for kind in reader.kinds)
    assert reader.number("select sum(operations) from blocks") == ordinary
    for name, table in names_of(state).items():
        if name in reader.schemas and not is_different(name):
            assert reader.number(f'select count(*) from "{name}"') == len(table), name


def is_different(name: str) -> bool:
    """Whether the contents of a plugin's table depend on which other plugins are enabled."""
    return name.startswith("communities_") or name == "follow_reputations"
