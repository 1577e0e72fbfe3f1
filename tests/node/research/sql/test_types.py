"""Column types, translated to the types of DuckDB and Spark."""

import pytest

from node.research.sql.types import DUCKDB, SPARK, sql_type
from node.runtime.errors import NodeError
from tests.helpers.golden import fails


@pytest.mark.parametrize(
    ("arrow", "duckdb", "spark"),
    [
        ("timestamp[ms, tz=UTC]", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP"),
        ("decimal128(20, 0)", "DECIMAL(20, 0)", "DECIMAL(20, 0)"),
        (
            "list<item: struct<account: string, weight: int32>>",
            "STRUCT(account VARCHAR, weight INTEGER)[]",
            "ARRAY<STRUCT<account: STRING, weight: INT>>",
        ),
        ("struct<a: int64, b: map<string, int32>>", "STRUCT(a BIGINT, b MAP(VARCHAR, INTEGER))", "STRUCT<a: BIGINT, b: MAP<STRING, INT>>"),
    ],
)
def test_a_type_in_both_dialects(arrow: str, duckdb: str, spark: str) -> None:
    assert (sql_type(arrow, DUCKDB), sql_type(arrow, SPARK)) == (duckdb, spark)


@pytest.mark.parametrize("text", ["float", "decimal128(1, 0)) FROM x --", "struct<a, b) AS z: int64>"])
def test_an_unknown_type_is_refused(text: str) -> None:
    with fails(NodeError):
        sql_type(text, DUCKDB)
