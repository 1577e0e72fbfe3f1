"""`coind sql`: questions in SQL to an export."""

import re
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from node.cli.parameters import Config, Flag, Natural, Positive
from node.runtime.errors import NodeError, Status
from node.runtime.optional_libraries import load_extra
from node.runtime.output import say_line

TEXT_BYTES_MAX = 1_000_000
MEMORY = "50%"


def sql_command(
    folder: Annotated[Path, Parameter(help="The folder of an export in Parquet.")],
    query: Annotated[
        str | None, Parameter(help="A question in SQL; without it, a prompt asks for them.", allow_leading_hyphen=True)
    ] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Read the question from a file, as those of docs/questions.")] = None,
    csv: Annotated[bool, Flag, Parameter(help="Print CSV.")] = False,
    json: Annotated[bool, Flag, Parameter(help="Print a JSON array, an object for each row.")] = False,
    rows: Annotated[int, Natural, Parameter(help="Show so many rows of a table at most; 0: all.")] = 1000,
    memory: Annotated[str, Parameter(help="The memory to use, as 4GB or 50%; more goes into temporary files.")] = MEMORY,
    threads: Annotated[int | None, Positive, Parameter(help="The cores to use; all by default.")] = None,
    config: Config = None,
) -> int:
    """Ask an export questions in SQL, by DuckDB. Nothing is written into the export.

    Each kind of operation and each table is a view named like it; at the prompt, .tables and .macros list what there is.

    Example: bin/coind sql steem "SELECT count(*) FROM transfer"
    """
    duckdb = load_extra("duckdb", "data", what="a question in SQL")
    load_extra("pyarrow", "data", what="a question in SQL")
    from node.research.sql.connection import open_export
    from node.research.sql.results import Form
    from node.research.sql.shell import PROMPT, Shell, answer, complete_names

    if csv and json:
        raise NodeError("--csv and --json are two forms of one answer; give one of them")
    if query is not None and re.fullmatch(r"-\S*", query):
        raise NodeError(f"there is no option {query}; see bin/coind sql --help")
    if query is not None and file is not None:
        raise NodeError("a question is given by --file and once more in the command line; give one of them")
    form: Form = "csv" if csv else "json" if json else "table"
    text = query if file is None else text_of(file)
    with tempfile.TemporaryDirectory(prefix="coind-sql-") as temporary:
        connection = open_export(folder, memory=memory, threads=threads, temporary=Path(temporary))
        try:
            if text is None and not sys.stdin.isatty():
                text = sys.stdin.read(TEXT_BYTES_MAX)
            if text is None:
                complete_names(connection)
                say_line(f"{folder}: .tables lists its views, .help says more")
                return Shell(connection, form, rows, lambda prompt: input(prompt or PROMPT)).run()
            answer(connection, text, form, rows)
        except duckdb.Error as error:
            raise NodeError(" ".join(str(error).split())) from None
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        finally:
            connection.close()
    return Status.DONE


def text_of(file: Path) -> str:
    """Return a question from a file. Raises NodeError."""
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(TEXT_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError(f"--file {file} can't be read: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > TEXT_BYTES_MAX:
        raise NodeError(f"--file {file} is longer than {TEXT_BYTES_MAX:,} letters")
    return text
