"""Reports: their numbers compared with the state, their HTML, and their notices of missing data."""

import json
import os
import re
from decimal import Decimal
from html import unescape
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from node.research.export.run import Export
from node.research.report.charts import CHARTS
from node.research.report.declarations import Chart
from node.research.report.page import drawing, page, part_text, script_text
from node.research.report.queries import ChartData, Span, answers, facts_of, filled, number, shown_count, span_of, spread, time_text
from node.research.report.report import report
from node.research.sql.connection import open_export, read_manifest
from node.runtime.errors import NodeError
from node.specs.builder import load_spec
from state.chain.skip import TRUSTED
from state.protocol.spec import ChainSpec
from tests.helpers.exported import CHAIN, WORKLOAD, exported
from tests.helpers.golden import fails


@pytest.fixture(scope="session")
def spec() -> ChainSpec:
    """Return the spec of the chain to which the workload belongs."""
    return load_spec(CHAIN)


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Export]:
    """The folder of an export of the workload, and the export itself with the resulting chain."""
    folder = tmp_path_factory.mktemp("report")
    return folder, exported(folder)


@pytest.fixture(scope="session")
def parts(workload: tuple[Path, Export]) -> dict[str, ChartData]:
    """The sections of the workload's report, keyed by name."""
    connection = open_export(workload[0])
    return {part.chart.key: part for part in answers(connection, read_manifest(workload[0]), span_of(connection, None))}


def column(part: ChartData, title: str) -> list[Any]:
    """Return the values in one column of a section."""
    return [row[part.titles.index(title)] for row in part.rows]


def test_the_numbers_are_those_of_the_state(workload: tuple[Path, Export], parts: dict[str, ChartData]) -> None:
    state = workload[1].chain.state
    props = state.props
    assert column(parts["supply"], "COIN")[-1] == Decimal(props.current_supply).scaleb(-3)
    assert column(parts["supply"], "of it vested")[-1] == Decimal(props.total_vesting_fund_coin).scaleb(-3)
    assert column(parts["debt"], "SBD")[-1] == Decimal(props.current_sbd_supply).scaleb(-3)
    assert column(parts["supply"], "Block")[-1] == props.head_block_number
    assert sum(column(parts["witnesses"], "Blocks")) == sum(column(parts["missed"], "Blocks")) == props.head_block_number
    missed = {row.owner: row.total_missed for row in state.witnesses}
    assert column(parts["witnesses"], "Missed") == [missed[name] for name in column(parts["witnesses"], "Witness")]
    richest = sorted(state.accounts, key=lambda row: (-row.vesting_shares, row.name))[:20]
    assert column(parts["richest"], "Account") == [row.name for row in richest]
    assert column(parts["richest"], "VESTS") == [Decimal(row.vesting_shares).scaleb(-6) for row in richest]
    assert column(parts["richest"], "COIN") == [Decimal(row.balance + row.savings_balance).scaleb(-3) for row in richest]
    assert parts["distribution"].rows[0] == (0, 0, 0)
    assert parts["distribution"].rows[-1] == (100, 100, 100)


def test_the_printed_queries_give_the_rows(workload: tuple[Path, Export], parts: dict[str, ChartData]) -> None:
    connection = open_export(workload[0])
    for part in parts.values():
        printed = unescape(re.findall(r"<pre>(.*?)</pre>", part_text(part), re.DOTALL)[0])
        table = connection.sql(printed).to_arrow_table()
        found = list(zip(*(values.to_pylist() for values in table.columns), strict=True))
        if part.chart.is_filled or part.chart.is_spread:
            # Empty periods are added, and kinds become columns.
            assert {row[0] for row in found} <= {row[0] for row in part.rows}
        elif part.chart.is_by_block:
            assert found == [(row[0], *row[2:]) for row in part.rows]
        else:
            assert found == part.rows


def test_the_part_for_research_agrees_with_the_operations(workload: tuple[Path, Export], parts: dict[str, ChartData]) -> None:
    def one(query: str) -> Any:
        return open_export(workload[0]).execute(query).fetchone()[0]

    assert sum(column(parts["kinds"], "Operations")) == one("SELECT count(*) FROM operations WHERE virtual_op = 0")
    assert sum(column(parts["weights"], "Votes")) == one("SELECT count(*) FROM vote")
    assert len(column(parts["weights"], "Votes")) == 21
    assert sum(column(parts["pairs"], "Transfers")) <= one("SELECT count(*) FROM transfer")
    assert sum(column(parts["market_days"], "Trades")) == sum(column(parts["trades"], "Trades"))
    assert sum(column(parts["powering"], "Powered up")) == Decimal(one("SELECT sum(amount) FROM transfer_to_vesting")).scaleb(-3)
    assert sum(column(parts["authors"], "Posts")) <= one("SELECT count(*) FROM comment_reward")
    rewards = [row[0] for row in open_export(workload[0]).execute("SELECT sum(payout) FROM comment_reward GROUP BY author").fetchall()]
    known = sorted(int(reward) for reward in rewards if reward)
    differences = sum(abs(a - b) for a in known for b in known)
    rows = {row[0]: row[1:] for row in parts["concentration"].rows}
    assert rows["authors"][0] == len(known)
    assert float(rows["authors"][-1]) == pytest.approx(differences / (2 * len(known) * sum(known)), abs=1e-4)


def test_axes_have_dates(workload: tuple[Path, Export], parts: dict[str, ChartData]) -> None:
    span = span_of(open_export(workload[0]), None)
    by_block, by_day = drawing(parts["supply"], span), drawing(parts["active_days"], span)
    assert [time_text(seconds) for seconds in by_block["xTimes"]] == column(parts["supply"], "Time (UTC)")
    assert [time_text(seconds)[:10] for seconds in by_day["x"]] == [str(day) for day in column(parts["active_days"], "Day")]
    assert (by_day["isTime"], by_day["step"], by_block["isTime"]) == (True, 86_400, False)


def test_operations_and_transactions_are_all_counted(workload: tuple[Path, Export], parts: dict[str, ChartData]) -> None:
    connection = open_export(workload[0])
    facts = dict(facts_of(connection, span_of(connection, None)))
    assert sum(sum(row[2:]) for row in parts["operations"].rows) == int(facts["Operations"].replace(",", ""))
    assert sum(column(parts["payouts"], "SBD")) == Decimal(
        connection.execute("SELECT sum(payout) FROM comment_reward").fetchone()[0]
    ).scaleb(-3)
    assert sum(column(parts["trades"], "Trades")) == connection.execute("SELECT count(*) FROM fill_order").fetchone()[0]


def test_a_report_up_to_a_block_excludes_later_blocks(workload: tuple[Path, Export], tmp_path: Path) -> None:
    connection = open_export(workload[0])
    span = span_of(connection, 100)
    found = {part.chart.key: part for part in answers(connection, read_manifest(workload[0]), span)}
    assert sum(column(found["missed"], "Blocks")) == 100
    assert max(block for part in found.values() if part.chart.is_by_block for block in column(part, "Block")) <= 100
    for at in (0, 100_000):
        with fails(NodeError):
            span_of(connection, at)


def test_a_report_of_a_file_is_reproducible(spec: ChainSpec, tmp_path: Path) -> None:
    pages = []
    for name in ("first.html", "second.html"):
        assert report(WORKLOAD, spec, tmp_path / name, at=60, skip_flags=TRUSTED) == 0
        pages.append((tmp_path / name).read_text())
    assert pages[0] == pages[1]
    assert "steem-testnet up to block 60" in pages[0]
    assert "Not in this export" not in pages[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.html", "second.html"]
    # The page contains no URLs except those that name standards, and loads nothing.
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", pages[0])
    assert "default-src 'none'" in unescape(pages[0])
    numbers = json.loads(re.findall(r'<script type="application/json" id="numbers">(.*?)</script>', pages[0])[0])
    assert {chart.key for chart in CHARTS if chart.series or chart.is_spread} >= set(numbers)
    assert all(f'<div id="{key}">' in pages[0] for key in numbers)


def test_a_report_of_a_pipe_equals_that_of_its_file(spec: ChainSpec, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes(WORKLOAD.read_bytes()))
    writer.start()
    assert report(pipe, spec, tmp_path / "piped.html", at=None, skip_flags=TRUSTED) == 0
    writer.join()
    assert report(WORKLOAD, spec, tmp_path / "read.html", at=None, skip_flags=TRUSTED) == 0
    assert (tmp_path / "piped.html").read_bytes() == (tmp_path / "read.html").read_bytes()


def test_a_report_names_missing_tables(workload: tuple[Path, Export], spec: ChainSpec, tmp_path: Path) -> None:
    chart = CHARTS[-1]
    assert "Not in this export: accounts." in part_text(ChartData(chart, missing="accounts"))
    assert "There are none in these blocks." in part_text(ChartData(chart))
    with fails(NodeError):
        report(WORKLOAD, spec, tmp_path / "no" / "report.html", at=1)


def test_markup_in_texts_is_escaped() -> None:
    evil = "</script><script>alert(1)</script>"
    chart = Chart(key="x", title=evil, text=evil, needs=(), query="", titles=(evil, "n"))
    text = part_text(ChartData(chart, (evil, "n"), [(evil, 1)]))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_the_script_loads_nothing() -> None:
    text = script_text()
    assert not re.search(r'(?:from|import\() ?"/', text)
    assert not re.search(r"\bfetch\(|WebSocket", text)


def test_empty_periods_are_zero() -> None:
    span = Span(first=1, last=9, begin=0, end=0, width=3)
    assert filled([(4, 7, 8)], span, 3) == [(1, 0, 0), (4, 7, 8), (7, 0, 0)]
    rows = [(1, "a", 9), (1, "b", 5), *((4, name, 4) for name in "cdefghi")]
    titles, found = spread(rows)
    assert titles == ["a", "b", "c", "d", "e", "f", "g", "others"]
    assert found == [(1, 9, 5, 0, 0, 0, 0, 0, 0), (4, 0, 0, 4, 4, 4, 4, 4, 8)]
    # Without others, with others that are rarer than each kind shown, and with too many others for that.
    assert [shown_count(counts) for counts in ([3, 2], [1] * 8, [90, 80, 70, 62, *[1] * 9], [9] * 30)] == [2, 8, 4, 7]
    assert (number(Decimal("1.5")), number(3), number("x"), time_text(0)) == (1.5, 3, None, "1970-01-01 00:00:00")
    assert page("t", [], [], span, "f").startswith("<!doctype html>")
