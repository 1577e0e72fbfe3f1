"""The prompt: statements that span several lines, commands, errors, and Ctrl-C, which ends a query but not the prompt."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from node.research.export.run import Export, ExportOptions
from node.research.library import open_blocks
from node.research.sql.connection import open_export
from node.research.sql.results import Form
from node.research.sql.shell import Shell, answer, is_whole
from node.specs.builder import load_spec
from state.chain.skip import TRUSTED
from tests.helpers.exported import CHAIN, WORKLOAD, exported
from tests.node.research.sql.conftest import Exported


def run(connect: Callable[[], Any], lines: Iterable[str], form: Form = "table") -> int:
    """Enter lines at a prompt, then end the input. Return the exit status."""
    rest = iter(lines)

    def read(prompt: str) -> str:
        for line in rest:
            return line
        raise EOFError

    return Shell(connect, form, read=read).run()


def typed(workload: Exported, *lines: str) -> int:
    """Enter lines at the prompt of the workload's export."""
    return run(lambda: workload.connection, lines)


def test_a_statement_can_have_several_lines(workload: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed(workload, "SELECT count(*) AS n", "", "FROM vote;") == 0
    assert capsys.readouterr().out.split() == ["n", "876"]


def test_an_error_does_not_end_the_shell(workload: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    typed(workload, "SELEC 1;", "SELECT * FROM nothing;", "COPY vote TO 'x';", ".nothing", ".mode xml", "SELECT 7 AS n;")
    done = capsys.readouterr()
    assert done.out.split() == ["n", "7"]
    assert "syntax error" in done.err
    assert "LINE 1: SELEC 1;\n        ^" in done.err
    assert "Table with name nothing does not exist" in done.err
    assert "COPY is not allowed" in done.err
    assert "unknown command .nothing. The commands are .tables" in done.err


def test_an_error_names_the_schema_of_a_view(workload: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    typed(workload, "SELECT * FROM txvotes;", "SELECT * FROM steemsql.vote;")
    assert "Write steemsql.txvotes" in capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize(
    ("view", "option"),
    [
        ("witnesses", "--tables witnesses"),
        ("limit_orders_at", "--tables limit_orders@"),
        ("vote", "--only ...,vote"),
        ("steemsql.txvotes", "--only ...,vote"),
    ],
)
def test_the_error_for_a_missing_view_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str], view: str, option: str) -> None:
    folder = tmp_path / "export"
    options = ExportOptions(spec=load_spec(CHAIN), source=WORKLOAD, to=folder, only=("transfer",), skip=TRUSTED)
    trio.run(Export(options).run)
    run(partial(open_export, folder), [f"SELECT * FROM {view};", "SELECT * FROM nothing;"])
    wanted, other = capsys.readouterr().err.splitlines()[:2]
    assert option in wanted
    assert "Table with name nothing" in other


def test_a_growing_folder_is_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, part = tmp_path / "export", tmp_path / "part.jsonl"
    with open_blocks(WORKLOAD, CHAIN, last=60) as blocks:
        part.write_text("".join(json.dumps(block.json()) + "\n" for block in blocks))
    exported(folder, part)
    query = "SELECT last_block FROM chain;"

    def lines() -> Iterator[str]:
        yield query
        exported(folder)
        yield from (query, ".refresh", query)

    assert run(partial(open_export, folder), lines(), "csv") == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line != "last_block"] == ["60", "60", "blocks 1 to 155", "155"]


def test_a_query_on_a_replaced_file_asks_for_a_refresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "export"
    exported(folder)

    def lines() -> Iterator[str]:
        for path in folder.glob("tables/table=witnesses/*/*"):
            path.unlink()
        yield from ("SELECT * FROM witnesses;", "SELECT * FROM 'other.parquet';")

    run(partial(open_export, folder), lines())
    replaced, other = capsys.readouterr().err.splitlines()
    assert ".refresh" in replaced
    assert "Permission Error" in other


def test_commands_are_run(workload: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    typed(workload, ".tables global", ".schema chain", ".macros", ".help", ".mode csv", "SELECT 1 AS a, 'x,y' AS b;", ".quit", "SELECT 99;")
    out = capsys.readouterr().out
    assert "global_properties_at" in out
    assert "last_block" in out
    assert "coin_of_vests(shares, number)" in out
    assert out.endswith('a,b\n1,"x,y"\n')


@pytest.mark.parametrize("what", ["count(*)", "a.range"])
def test_ctrl_c_ends_only_the_query(workload: Exported, capsys: pytest.CaptureFixture[str], what: str) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores SIGINT by default
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    endless = f"SELECT {what} FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 1000000007 = 3;"
    assert typed(workload, endless, "SELECT 5 AS n;") == 0
    signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().out.split() == ["n", "5"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [("SELECT 1;", True), ("SELECT 1", False), ("SELECT ';", False), ("SELECT 'a;b'; ", True), ("SELECT 1 -- it;", False), ("", False)],
)
def test_where_a_statement_ends(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_a_cut_answer_is_marked(workload: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    answer(workload.connection, "SELECT block FROM vote", "table", 3)
    assert capsys.readouterr().out.splitlines()[-1] == "the first 3 rows (all rows: --rows 0, --csv or --json)"
