"""Prompt for queries. A statement can span several lines. An error or Ctrl-C ends the query, but not the prompt."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import duckdb

from node.research.sql.connection import statements
from node.research.sql.errors import error_lines
from node.research.sql.macros import MACROS
from node.research.sql.results import BATCH_ROWS, ROWS_MAX, Form, write_answer
from node.runtime.errors import NodeError, last_line
from node.runtime.output import say_line, write_table

SECONDS_BETWEEN_INTERRUPTS = 0.05
PROMPT, MORE = "coind> ", "  ...> "
HELP = """A statement ends with ; and can have several lines. Ctrl-C ends a query, Ctrl-D the session.
.tables [TEXT]     list the views whose names contain a text
.schema NAME       list the columns of a view
.macros            list the macros for queries
.mode FORM         set the output format: table, csv or json
.refresh           read what an export has added meanwhile; what this session created is dropped
.help  .quit"""
# The name of a view as a query needs it. Names of SQL are case-insensitive.
NAME = "if(schema_name = 'main', '', schema_name || '.') || {}"
COLUMNS = f"SELECT column_name, data_type FROM duckdb_columns() WHERE lower({NAME.format('table_name')}) = lower(?) ORDER BY column_index"
VIEWS = f"SELECT {NAME.format('view_name')} AS name FROM duckdb_views() WHERE NOT internal AND contains(lower(name), lower(?)) ORDER BY ALL"


def answer(connection: Any, text: str, form: Form, rows_max: int = ROWS_MAX) -> None:
    """Run the statements in a string and print their results. Raises duckdb.Error, NodeError, and KeyboardInterrupt at Ctrl-C."""
    found = statements(connection, text)
    # DuckDB blocks its thread until the query ends, so it runs in another thread while this one handles the signal.
    with ThreadPoolExecutor(1) as thread:
        for statement in found:
            asked = thread.submit(answer_one, connection, statement.query, form, rows_max)
            try:
                asked.result()
            except KeyboardInterrupt:
                while not asked.done():
                    connection.interrupt()
                    wait([asked], SECONDS_BETWEEN_INTERRUPTS)
                raise


def answer_one(connection: Any, query: str, form: Form, rows_max: int) -> None:
    """Run a statement and print its result, if there is one."""
    rows = connection.sql(query)
    if rows is not None:
        write_answer(rows.to_arrow_reader(BATCH_ROWS), form, rows_max)


class Shell:
    """The prompt. `connect` opens the export. `read` returns the next line of input. It raises EOFError at the end of the input and
    KeyboardInterrupt at Ctrl-C.
    """

    def __init__(
        self, connect: Callable[[], Any], form: Form = "table", rows_max: int = ROWS_MAX, read: Callable[[str], str] = input
    ) -> None:
        self.connection = connect()
        self._connect, self._form, self._rows_max, self._read = connect, form, rows_max, read
        self._commands: dict[str, Callable[[str], None]] = {
            ".tables": self._tables,
            ".schema": self._schema,
            ".macros": self._macros,
            ".mode": self._mode,
            ".refresh": self._refresh,
            ".help": lambda _: say_lines(HELP),
        }

    def run(self) -> int:
        """Run queries until the end of the input or .quit. Return the exit status of the process."""
        lines: list[str] = []
        while True:
            try:
                line = self._read(MORE if lines else PROMPT)
                if not lines and line.strip() in (".quit", ".exit"):
                    return 0
                if not lines and line.lstrip().startswith("."):
                    self.command(line.strip())
                    continue
                if line.strip() or lines:
                    lines.append(line)
                if is_whole("\n".join(lines)):
                    text, lines = "\n".join(lines), []
                    self.answer(text)
            except EOFError:
                return 0
            except KeyboardInterrupt:
                lines = []
                say_line("")
            except duckdb.Error as error:
                for each in error_lines(self.connection, error):
                    last_line(each)
            except NodeError as error:
                last_line(str(error))

    def answer(self, text: str) -> None:
        """Run the statements in a string and write their results. Raises duckdb.Error and NodeError."""
        answer(self.connection, text, self._form, self._rows_max)

    def command(self, line: str) -> None:
        """Run a command, for example `.schema vote`. Raises NodeError for an unknown one."""
        name, _, rest = line.partition(" ")
        command = self._commands.get(name)
        if command is None:
            raise NodeError(f"unknown command {name}. The commands are {', '.join(self._commands)} and .quit.")
        command(rest.strip().rstrip(";"))

    def _tables(self, text: str) -> None:
        rows = self.connection.execute(VIEWS, [text]).fetchall()
        write_table(["=view"], rows, empty="no matching view")

    def _schema(self, name: str) -> None:
        if not name:
            raise NodeError("name a view, for example .schema vote; .tables lists all views")
        rows = self.connection.execute(COLUMNS, [name]).fetchall()
        write_table(["=column", "type"], rows, empty=f"there is no view {name}. .tables lists all views.")

    def _macros(self, _: str) -> None:
        write_table(["=macro", "returns"], [(each.signature, each.help) for each in MACROS])

    def _refresh(self, _: str) -> None:
        refreshed = self._connect()
        self.connection.close()
        self.connection = refreshed
        ((first, last),) = refreshed.execute("SELECT first_block, last_block FROM chain").fetchall()
        say_line(f"blocks {first:,} to {last:,}")

    def _mode(self, form: str) -> None:
        forms: dict[str, Form] = {"table": "table", "csv": "csv", "json": "json"}
        if form not in forms:
            raise NodeError(f".mode {form}: expected table, csv or json")
        self._form = forms[form]


def is_whole(text: str) -> bool:
    """Whether a string contains a complete statement: it ends with a semicolon outside of quotes and comments."""
    bare = text.rstrip()
    return bare.endswith(";") and not bare.count("'") % 2 and not bare.count('"') % 2 and "--" not in bare.splitlines()[-1]


def say_lines(text: str) -> None:
    """Print the lines of a string."""
    for line in text.splitlines():
        say_line(line)


def complete_names(connection: Any) -> None:
    """Set up readline, if it is available, to complete the names of views, columns and macros."""
    try:
        import readline
    except ImportError:
        return
    rows = connection.execute(
        f"SELECT {NAME.format('view_name')} FROM duckdb_views() UNION SELECT column_name FROM duckdb_columns() WHERE NOT internal"
    )
    names = sorted({name for (name,) in rows.fetchall()} | {each.name for each in MACROS})
    readline.set_completer(lambda begun, index: ([name for name in names if name.startswith(begun)] + [None])[index])
    readline.set_completer_delims(" \t\n,()=<>;.")
    readline.parse_and_bind("tab: complete")
