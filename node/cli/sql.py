"""`coind sql`: runs SQL queries on an export."""

import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from node.cli.parameters import Config, Flag, Natural, Positive
from node.runtime.errors import NodeError, Status, last_line
from node.runtime.optional_libraries import load_extra
from node.runtime.output import say_line

TEXT_BYTES_MAX = 1_000_000
MEMORY = "50%"
# Queries without these words can't use the schemas `steemsql` and `hive`, whose views take time to create.
COMPATIBLE = re.compile(r"steemsql|hive|jsonb|show|information_schema|duckdb_", re.IGNORECASE)


def sql_command(
    folder: Annotated[Path, Parameter(help="The folder of a Parquet export.")],
    query: Annotated[str | None, Parameter(help="A query in SQL; by default a prompt reads queries.", allow_leading_hyphen=True)] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="A file with the query, for example one of docs/questions.")] = None,
    csv: Annotated[Flag, Parameter(help="Print CSV.")] = False,
    json: Annotated[Flag, Parameter(help="Print a JSON array with an object per row.")] = False,
    rows: Annotated[Natural, Parameter(help="The maximum number of rows to show (0: all).")] = 1000,
    memory: Annotated[str, Parameter(help="The memory limit, for example 4GB or 50%; more goes to temporary files.")] = MEMORY,
    threads: Annotated[Positive | None, Parameter(help="The number of cores; by default all.")] = None,
    config: Config = None,
) -> int:
    """Query an export in SQL with DuckDB. The export is opened read-only.

    Each kind of operation and each table is a view with its name. The commands .tables and .macros list the views and macros.

    Example: bin/coind sql steem "SELECT count(*) FROM transfer"
    """
    duckdb = load_extra("duckdb", "data", what="a query in SQL")
    load_extra("pyarrow", "data", what="a query in SQL")
    from node.research.sql.connection import open_export
    from node.research.sql.errors import error_lines
    from node.research.sql.results import Form
    from node.research.sql.shell import PROMPT, Shell, complete_names

    if csv and json:
        raise NodeError("--csv and --json exclude each other. Give one of them.")
    if query is not None and re.fullmatch(r"-\S*", query):
        raise NodeError(f"there is no option {query}. See bin/coind sql --help.")
    if query is not None and file is not None:
        raise NodeError("the command line and --file both give a query. Give one of them.")
    form: Form = "csv" if csv else "json" if json else "table"
    text = query if file is None else text_of(file)
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read(TEXT_BYTES_MAX)
    with tempfile.TemporaryDirectory(prefix="coind-sql-") as temporary:
        is_compatible = text is None or text.startswith(".") or COMPATIBLE.search(text) is not None
        connect = partial(open_export, folder, memory=memory, threads=threads, temporary=Path(temporary), is_compatible=is_compatible)
        shell = Shell(connect, form, rows, lambda prompt: input(prompt or PROMPT))
        try:
            if text is None:
                complete_names(shell.connection)
                say_line(f"{folder}: .tables lists the views, .help all commands")
                return shell.run()
            while text.startswith("."):
                line, _, text = text.partition("\n")
                shell.command(line.strip())
            shell.answer(text)
        except duckdb.Error as error:
            first, *rest = error_lines(shell.connection, error)
            for line in (f"coind: {first}", *rest):
                last_line(line)
            return Status.REFUSED
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        finally:
            shell.connection.close()
    return Status.DONE


def text_of(file: Path) -> str:
    """Return the query in a file. Raises NodeError."""
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(TEXT_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError(f"--file {file} can't be read: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > TEXT_BYTES_MAX:
        raise NodeError(f"--file {file} is longer than {TEXT_BYTES_MAX:,} characters")
    return text
