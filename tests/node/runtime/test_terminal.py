"""The log on a terminal: one line per block or refusal, a line that counts empty blocks, and escaping."""

import logging
import re
from typing import Any

import pytest

from node.runtime import terminal
from node.runtime.logs import values_of
from node.runtime.terminal import Terminal

BLOCK: dict[str, Any] = {"number": 1234, "witness": "initminer", "transactions": 3, "bytes": 412, "ms": 1.94, "lag": 0.1}
REFUSED: dict[str, Any] = {
    "id": "ab" * 20,
    "operation": "transfer",
    "reason": "Refused",
    "why": "missing ${role} authority",
    "message": "missing active authority",
}


@pytest.fixture(autouse=True)
def front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test as if the program were in the terminal's foreground, and without pauses between updates."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(terminal, "is_in_front", lambda: True)
    monkeypatch.setattr(terminal, "UPDATE_SECONDS_MIN", 0)


def line(event: str, level: int = logging.INFO, **values: Any) -> logging.LogRecord:
    """Return a log record."""
    record = logging.LogRecord("coind.x", level, "", 0, event, (), None)
    record.values = values
    return record


def screen(writer: Terminal, *records: logging.LogRecord) -> list[str]:
    """Return the lines that a terminal displays after these log records, without times and colours."""
    text = re.sub(r"\x1b\[\d*m", "", "".join(map(writer.format, records)) + writer.end())
    rows = [row.rpartition("\r\x1b[K")[2] for row in text.split("\n")]
    assert rows.pop() == ""
    return [re.sub(r"^\d\d:\d\d:\d\d  ", "", row) for row in rows]


def test_a_block_with_transactions_is_a_line() -> None:
    one = line("block", **{**BLOCK, "transactions": 1})
    assert screen(Terminal(values_of), line("block", **BLOCK), one) == [
        "block 1,234       3 transactions    initminer          1.9 ms",
        "block 1,234       1 transaction     initminer          1.9 ms",
    ]


def test_a_refusal_says_why() -> None:
    assert screen(Terminal(values_of), line("transaction refused", **REFUSED)) == [
        "refused           transfer          missing active authority"
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLUMNS", "60")
        assert screen(Terminal(values_of), line("transaction refused", **REFUSED))[0].endswith("missing activ…")
    assert screen(Terminal(values_of), line("block refused", number=5, id="ff", reason="BlockRefused", why="")) == [
        "refused           block             BlockRefused"
    ]


def test_empty_blocks_are_counted_in_one_line() -> None:
    empty = [line("block", **{**BLOCK, "transactions": 0, "number": number}) for number in range(1, 6)]
    rows = screen(Terminal(values_of), *empty[:3], line("block", **BLOCK), *empty[3:4])
    assert rows == [
        "block 3           3 empty blocks",
        "block 1,234       3 transactions    initminer          1.9 ms",
        "block 4           empty",
    ]


def test_a_rarely_updated_line_ends_with_the_last_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "UPDATE_SECONDS_MIN", 1000)
    empty = [line("block", **{**BLOCK, "transactions": 0, "number": number}) for number in range(1, 1001)]
    writer = Terminal(values_of)
    written = "".join(map(writer.format, empty)) + writer.end()
    assert len(written) < 200
    assert "1,000 empty blocks\x1b[0m\n" in written


def test_verbose_shows_empty_blocks_and_values() -> None:
    rows = screen(
        Terminal(values_of, is_verbose=True), line("block", **{**BLOCK, "transactions": 0}), line("transaction refused", **REFUSED)
    )
    assert rows[0] == "block 1,234       empty             initminer          1.9 ms  bytes=412  lag=0.1"
    assert rows[1].endswith("reason=Refused  id=" + "ab" * 20)


def test_in_the_background_nothing_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = line("block", **{**BLOCK, "transactions": 0})
    monkeypatch.setattr(terminal, "is_in_front", lambda: False)
    assert screen(Terminal(values_of), empty) == []
    monkeypatch.setattr(terminal, "is_in_front", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert screen(Terminal(values_of), empty) == []
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    assert screen(Terminal(values_of), empty) == [""]


def test_other_lines_show_their_values() -> None:
    rows = screen(
        Terminal(values_of),
        line("started", head_block_number=25, version="1"),
        line("slot missed", logging.WARNING, why="too late", head_block_number=3),
    )
    assert rows == ["started at block 25", "slot missed  why=too late  head_block_number=3"]


def test_control_characters_are_escaped() -> None:
    evil = "a\x1b[2J\n\r"
    for record in (
        line("block", **{**BLOCK, "witness": evil}),
        line("transaction refused", **{**REFUSED, "operation": evil, "message": evil}),
        line("started", head_block_number=evil),
        line("something", value=evil),
        line(evil),
    ):
        for is_verbose in (False, True):
            rows = screen(Terminal(values_of, is_verbose=is_verbose), record)
            assert len(rows) == 1
            assert r"a\x1b[2J\n\r" in rows[0]


def test_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in Terminal(values_of).format(line("block", **BLOCK))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in Terminal(values_of).format(line("block", **BLOCK))
