"""The command `coind sql`: its output in each format, and the queries that it refuses."""

import json
from pathlib import Path

import pytest

from tests.helpers.commands import coind
from tests.helpers.exported import exported


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an export."""
    place = tmp_path_factory.mktemp("sql") / "export"
    exported(place)
    return place


def test_an_answer_in_each_form(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sql = "SELECT block, time, 0.5 AS half, ['a'] AS names, NULL AS none FROM blocks WHERE block = 1"
    (tmp_path / "q.sql").write_text(sql)
    assert coind(capsys, "sql", str(folder), sql).lines == [
        "block  time                 half  names  none",
        '    1  2020-12-01T00:00:00   0.5  ["a"]',
    ]
    assert coind(capsys, "sql", str(folder), sql, "--csv").lines[1] == '1,2020-12-01T00:00:00,0.5,"[""a""]",'
    rows = json.loads(coind(capsys, "sql", str(folder), "--file", str(tmp_path / "q.sql"), "--json").out)
    assert rows == [{"block": 1, "time": "2020-12-01T00:00:00", "half": "0.5", "names": ["a"], "none": None}]
    assert json.loads(coind(capsys, "sql", str(folder), "FROM pow", "--json").out) == []


def test_a_question_may_begin_with_a_comment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert coind(capsys, "sql", str(folder), "-- c\nSELECT 1 AS one", "--csv").lines == ["one", "1"]
    assert coind(capsys, "sql", "--json", str(folder), "-- c\nEXPLAIN SELECT 1").status == 0


def test_a_question_may_be_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "weight" in coind(capsys, "sql", str(folder), ".schema vote").out
    assert coind(capsys, "sql", str(folder), ".tables global_properties_at").lines == ["view", "global_properties_at"]
    assert coind(capsys, "sql", str(folder), ".mode csv\n.tables limit_orders_at\nSELECT 1 AS a;\nSELECT 2 AS b").lines[-4:] == [
        "a",
        "1",
        "b",
        "2",
    ]


@pytest.mark.parametrize("query", ["SELECT 1 FROM STEEMSQL.TxVotes LIMIT 1", "SELECT 1 FROM hive.blocks_view LIMIT 1", ".tables hive."])
def test_schemas_of_other_databases_are_there(folder: Path, capsys: pytest.CaptureFixture[str], query: str) -> None:
    assert len(coind(capsys, "sql", str(folder), query).lines) > 1


@pytest.mark.parametrize("text", ["33 seconds", "-33.5 seconds", "0 seconds", "14 months 3 days", "-1 year -1 month -1 day 90 minutes"])
def test_intervals_are_printed_as_in_duckdb(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    found = coind(capsys, "sql", str(folder), "--csv", f"SELECT i, CAST(i AS VARCHAR) FROM (SELECT INTERVAL '{text}' AS i)").lines[1]
    own, right = found.split(",")
    assert own == right


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("SELECT 1", "--csv", "--json"), "--csv and --json exclude each other"),
        (("SELECT 1", "--file", "x.sql"), "the command line and --file both give a query"),
        (("--file", "none.sql"), "--file none.sql can't be read: No such file"),
        (("SELEC",), "Parser Error"),
        ((".nothing",), "unknown command .nothing"),
        (("--jsonn",), "--jsonn"),
        (("COPY vote TO 'x'",), "COPY is not allowed"),
    ],
)
def test_what_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str) -> None:
    done = coind(capsys, "sql", str(folder), *words)
    assert done.status == 1
    assert text in done.err
