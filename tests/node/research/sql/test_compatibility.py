"""The views of the schemas `steemsql` and `hive`, compared with the operations of the chain and with our own views."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from node.research.export.run import Export, ExportOptions
from node.research.library import open_export, replayed
from node.research.sql.compatibility import HIVE_IDS, STEEMSQL, brand_of, hive_name
from node.specs.builder import load_spec
from state.chain.skip import TRUSTED
from tests.helpers.exported import CHAIN, WORKLOAD
from tests.helpers.nodes import case_log
from tests.node.research.sql.conftest import Exported

OUTSIDE = 4294967295


def with_hive_names(value: Any) -> Any:
    """Return the JSON of an operation with the names of Hive's fields."""
    if isinstance(value, dict):
        return {hive_name(name, "steem"): with_hive_names(each) for name, each in value.items()}
    return [with_hive_names(each) for each in value] if isinstance(value, list) else value


def has_user_token(value: Any) -> bool:
    """Whether the JSON of an operation contains an amount of a user token, whose precision is not in an export."""
    if isinstance(value, dict):
        return value.get("nai", "@@00000") > "@@00000004" or any(map(has_user_token, value.values()))
    return isinstance(value, list) and any(map(has_user_token, value))


@pytest.mark.parametrize(
    "case", ["walk_random", "accounts_update", "escrow_paths", "natural_hardforks", "post_options", "proposal_cycles", "rewards"]
)
def test_bodies_are_the_operations_in_json(tmp_path: Path, case: str) -> None:
    trio.run(Export(ExportOptions(spec=load_spec(CHAIN), source=case_log(case), to=tmp_path / "export", skip=TRUSTED)).run)
    with open_export(tmp_path / "export") as database:
        columns = "block_num, trx_in_block, op_pos, op_type_id, body, id"
        rows = database.sql(f"SELECT {columns} FROM hive.operations_view ORDER BY id").fetchall()
    found: dict[Any, list[Any]] = {}
    for *place, body, _ in rows:
        if not has_user_token(json.loads(body)):
            found.setdefault(tuple(place), []).append(json.loads(body))
    wanted: dict[Any, list[Any]] = {}
    for step in replayed(case_log(case), CHAIN, has_changes=False):
        for each in step.operations:
            if each.kind in HIVE_IDS and not has_user_token(each.json()):
                trx, op = (-1, each.virtual_op - 1) if each.trx == OUTSIDE else (each.trx, each.op)
                wanted.setdefault((each.block, trx, op, HIVE_IDS[each.kind]), []).append(with_hive_names(each.json()))
    assert found == wanted
    assert len({row[5] for row in rows}) == len(rows)
    assert all(row[5] >> 32 == row[0] and row[5] % 256 == row[3] for row in rows)


def test_every_view_can_be_read(workload: Exported) -> None:
    views = workload.rows("SELECT schema_name, view_name FROM duckdb_views() WHERE schema_name IN ('steemsql', 'hive')")
    assert len(views) > len(STEEMSQL)
    for view in views:
        name = f'{view["schema_name"]}."{view["view_name"]}"'
        workload.connection.sql(f"SELECT * FROM {name}").to_arrow_table()
    # Only tables that the export has.
    assert {"Accounts"} <= {view["view_name"] for view in views}
    assert "Comments" not in {view["view_name"] for view in views}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            "sum(vesting_payout), sum(sbd_payout) FROM steemsql.VOAuthorRewards",
            "vests(sum(vesting_payout)), coins(sum(sbd_payout)) FROM author_reward",
        ),
        ("count(*), count(DISTINCT tx_id) FROM steemsql.TxVotes", "count(*), count(DISTINCT trx_id) FROM vote"),
        ("sum(amount) FROM steemsql.TxTransfers WHERE type = 'transfer'", "coins(sum(amount)) FROM transfer"),
        ("count(*) FROM steemsql.Transactions", "sum(transactions) FROM blocks"),
        ("max(num), count(DISTINCT hash) FROM hive.blocks_view", "max(block), count(*) FROM blocks"),
        ("count(*) FROM hive.transactions_view", "sum(transactions) FROM blocks"),
        (
            "count(*) FROM hive.operations_view AS o JOIN hive.operation_types AS t ON t.id = o.op_type_id"
            " WHERE t.name = 'hive::protocol::vote_operation' AND (body::jsonb->'value'->>'author') IS NOT NULL",
            "count(*) FROM vote",
        ),
        (
            "name, vesting_shares FROM steemsql.Accounts ORDER BY id LIMIT 5",
            "name, vests(vesting_shares) || ' VESTS' FROM accounts ORDER BY id LIMIT 5",
        ),
    ],
)
def test_sums_are_those_of_our_views(workload: Exported, theirs: str, ours: str) -> None:
    assert workload.connection.sql(f"SELECT {theirs}").fetchall() == workload.connection.sql(f"SELECT {ours}").fetchall()


def test_transfers_are_those_that_were_exported(tmp_path: Path) -> None:
    trio.run(Export(ExportOptions(spec=load_spec(CHAIN), source=WORKLOAD, to=tmp_path / "export", only=("transfer",), skip=TRUSTED)).run)
    with open_export(tmp_path / "export") as database:
        assert database.sql("SELECT DISTINCT type FROM steemsql.TxTransfers").fetchall() == [("transfer",)]


@pytest.mark.parametrize(
    ("columns", "brand"),
    [
        (["reward_sbd", "reward_coin"], "coin"),
        (["last_payout", "percent_steem_dollars"], "steem"),
        (["coin_payout"], "coin"),
        (["memo"], ""),
    ],
)
def test_the_brand_word_is_found_in_columns(columns: list[str], brand: str) -> None:
    assert brand_of(columns) == brand


def test_names_are_those_of_hive() -> None:
    names = ["percent_coin_dollars", "coin_payout", "sbd_payout", "vesting_payout", "coin_amount"]
    assert [hive_name(name, "coin") for name in names] == ["percent_hbd", "hive_payout", "hbd_payout", "vesting_payout", "hive_amount"]
