"""An export opened in DuckDB has every view and macro. Queries can't read other files, and can't write any file."""

import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest

from node.research.export.manifest import NAME, Manifest
from node.research.sql import connection
from node.research.sql.connection import open_export, read_manifest
from node.research.sql.macros import MACROS
from node.research.sql.shell import answer
from node.runtime.errors import NodeError
from state.plugins.social.scores import shown_reputation
from tests.conftest import CASES
from tests.export.comparing import exported, wanted_of
from tests.helpers.golden import fails
from tests.node.research.sql.conftest import Exported

WRITES = [
    "COPY (SELECT 1) TO '{}/x.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{}/x.csv'",
    "PREPARE p AS COPY (SELECT 1) TO '{}/x.csv'",
    "EXPORT DATABASE '{}/x'",
    "ATTACH '{}/x.db'",
    "UPDATE EXTENSIONS",
    "INSTALL httpfs",
    "SET memory_limit = '1GB'",
]


def test_every_kind_and_table_is_a_view_with_the_columns_of_the_manifest(workload: Exported) -> None:
    for folder, columns in read_manifest(workload.folder).schema.items():
        name = folder.rpartition("=")[2]
        shown = workload.connection.sql(f'SELECT * FROM "{name}" LIMIT 1').columns
        assert shown == list(columns), name
    assert workload.rows("SELECT count(*) AS n FROM pow2") == [{"n": 0}]  # this chain has no such operation


def test_all_operations_are_one_view(workload: Exported) -> None:
    counted = workload.rows("SELECT count(*) AS n FROM operations WHERE virtual_op = 0")
    assert counted == [{"n": sum(len(transaction.operations) for block in workload.blocks for transaction in block.transactions)}]


def test_tables_hold_the_last_block_and_with_at_each_block(workload: Exported) -> None:
    assert workload.rows("SELECT count(*) AS n FROM accounts") == [{"n": len(workload.state.accounts)}]
    assert [row["at_block"] for row in workload.rows("SELECT at_block FROM global_properties_at ORDER BY 1")] == [50, 100, 150, 155]


def test_the_chain_is_named(workload: Exported) -> None:
    (row,) = workload.rows("SELECT * FROM chain")
    assert (row["name"], row["coin"], row["sbd"], row["vests"]) == ("steem-testnet", "TESTS", "TBD", "VESTS")
    assert (row["first_block"], row["last_block"]) == (1, 155)


@pytest.mark.parametrize("raw", [0, 1, 999, 10**9, 123_456_789_012, 95_832_978_796_820, -1, -5_000_000_000, -(10**15), 2**63 - 1])
def test_reputations_are_shown_as_scores(workload: Exported, raw: int) -> None:
    assert workload.rows(f"SELECT reputation(CAST({raw} AS BIGINT)) AS n") == [{"n": shown_reputation(raw)}]


def test_vests_are_converted_at_the_price_of_a_block(workload: Exported) -> None:
    props = workload.state.props
    worth = 10**12 * props.total_vesting_fund_coin // props.total_vesting_shares
    rows = workload.rows("SELECT coin_of_vests(1000000000000, 155) AS last, coin_of_vests(1, 49) AS early")
    assert rows == [{"last": worth, "early": None}]
    largest = workload.rows("SELECT coin_of_vests(9000000000000000000, 155) AS n")
    assert largest == [{"n": 9 * 10**18 * props.total_vesting_fund_coin // props.total_vesting_shares}]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("amount_text(-1234, 'TBD')", "-1.234 TBD"),
        ("amount_text(9223372036854775807, 'VESTS')", "9223372036854.775807 VESTS"),
        ("amount_text(5, '@@000000021')", "5 @@000000021"),
        ("percent(1, 3)", "33.33"),
        ("percent(2, 3)", "66.67"),
        ("percent(1, 0)", None),
        ("json_text('[1, {\"a\": \"b\"}]', '$[1].a')", "b"),
        ("json_text('no json', '$.a')", None),
        ("first_of(['x', 'y'])", "x"),
        ("seconds_between(TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2020-01-01 00:01:30')", "90"),
    ],
)
def test_macros_compute_their_values(workload: Exported, expression: str, text: str | None) -> None:
    assert workload.rows(f"SELECT CAST({expression} AS STRING) AS n") == [{"n": text}]


def test_every_macro_is_there(workload: Exported) -> None:
    known = {row["function_name"] for row in workload.rows("SELECT function_name FROM duckdb_functions() WHERE NOT internal")}
    assert {each.name for each in MACROS} <= known


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_is_written(workload: Exported, sql: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((NodeError, duckdb.Error)):
        answer(workload.connection, sql.format(tmp_path), "csv")
    assert sorted(tmp_path.rglob("*")) == before


def test_other_files_are_not_read(workload: Exported) -> None:
    with fails(duckdb.Error):
        workload.connection.sql("SELECT * FROM read_text('/etc/passwd')").fetchall()


def test_a_folder_without_an_export_is_refused(tmp_path: Path) -> None:
    with fails(NodeError):
        open_export(tmp_path)


def test_memory_must_be_an_amount(workload: Exported) -> None:
    with fails(NodeError):
        open_export(workload.folder, memory="much")


def test_large_queries_use_temporary_files(workload: Exported, tmp_path: Path) -> None:
    connection = open_export(workload.folder, memory="40MB", threads=1, temporary=tmp_path)
    assert connection.sql("SELECT count(*) FROM (SELECT DISTINCT range, range * 7 FROM range(1000000))").fetchall() == [(1_000_000,)]
    connection.close()


TRANSFERS, CHUNK = "operations/kind=transfer", "operations/kind=transfer/blocks=0000000000/transfer.parquet"
HOSTILE = [
    (f'"{CHUNK}"', '"../../etc/blocks=0000000000/x.parquet"'),
    (f'"{CHUNK}"', f'"{TRANSFERS}/blocks=0000000000/../x.parquet"'),
    (f'"{CHUNK}"', '"/etc/passwd"'),
    (f'"{CHUNK}"', f'"{TRANSFERS}/*/*.parquet"'),
    (f'"{CHUNK}"', f'"{CHUNK}\\u0000"'),
    (f'"{CHUNK}"', '"operations/kind=x/blocks=0000000000/x.parquet"'),
    (f'"{TRANSFERS}": {{', '"/etc": {'),
    ('"memo": "string"', '"me\\" --": "string"'),
    ('"memo": "string"', f'"memo": "{"list<item: " * 5000}"'),
    ('"COIN": ', '"COIN, (SELECT 1) AS x": '),
    ('"SBD": ', '"COIN": '),
    ('"last": 155', f'"last": {10**30}'),
]


@pytest.mark.parametrize(("part", "hostile"), HOSTILE)
def test_a_hostile_manifest_is_refused(workload: Exported, tmp_path: Path, part: str, hostile: str) -> None:
    text = (workload.folder / NAME).read_text()
    assert part in text
    (tmp_path / NAME).write_text(text.replace(part, hostile))
    with fails(NodeError):
        open_export(tmp_path)


def test_a_manifest_without_the_columns_of_prices_is_refused(workload: Exported, tmp_path: Path) -> None:
    manifest = json.loads((workload.folder / NAME).read_text())
    manifest["schema"]["tables/table=global_properties"] = {"id": "int64"}
    (tmp_path / NAME).write_text(json.dumps(manifest | {"ranges": []}))
    with fails(NodeError):
        open_export(tmp_path)


def test_a_link_out_of_the_export_is_not_followed(workload: Exported, tmp_path: Path) -> None:
    shutil.copytree(workload.folder, tmp_path / "export")
    chunk = tmp_path / "export" / CHUNK
    chunk.rename(tmp_path / "secret.parquet")
    chunk.symlink_to(tmp_path / "secret.parquet")
    with fails(NodeError):
        open_export(tmp_path / "export")


def test_a_pipe_in_place_of_a_file_is_refused(workload: Exported, tmp_path: Path) -> None:
    shutil.copytree(workload.folder, tmp_path / "export")
    chunk = tmp_path / "export" / CHUNK
    chunk.unlink()
    os.mkfifo(chunk)
    with fails(NodeError):
        open_export(tmp_path / "export")


def test_an_export_can_be_opened_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"chunk_blocks": 40, "tables": {"accounts": 0}}
    log = CASES / "rewards" / "block_log"
    exported(wanted_of(log, tmp_path, last=60, **options))
    read = connection.read_manifest
    found: list[Manifest] = []

    def read_then_grow(folder: Path) -> Manifest:
        found.append(read(folder))
        if len(found) == 1:
            exported(wanted_of(log, tmp_path, **options))
        return found[-1]

    monkeypatch.setattr(connection, "read_manifest", read_then_grow)
    opened = open_export(tmp_path)
    assert opened.sql("SELECT max(block) FROM blocks").fetchall() == [(105,)]
    assert opened.sql("SELECT DISTINCT at_block FROM accounts_at").fetchall() == [(105,)]
