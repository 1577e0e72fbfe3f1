"""Answers the worked questions with Spark, on a cluster of two workers, and compares the results with DuckDB's. The same export is also
read with ClickHouse: `bin/test spark [NAME]...`.

It needs a Java runtime (17 or newer), and installs pyspark and chdb into separate environments. `--export DIR` selects another export.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from node.research.sql.connection import open_export, read_manifest
from node.research.sql.macros import MACROS, Macro
from node.research.sql.results import BATCH_ROWS, plain, rows_of
from node.research.sql.types import SPARK
from node.research.sql.views import columns_of, derived, sources, without_rows
from tests.conftest import ROOT
from tests.helpers.exported import exported, questions
from tests.helpers.sessions import python_with, say, steps, totals

HERE = ROOT / "tests" / "spark"
ADVICE = "Java can't be found: install it (on Debian: apt install openjdk-17-jre-headless), or name its folder in JAVA_HOME"
CLUSTER = "local-cluster[2,1,1024]"
SECONDS_MAX = 1800


def main(arguments: list[str]) -> int:
    """Run the session. The status is 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="bin/test spark", description="Has the worked questions answered by Spark and by DuckDB.")
    parser.add_argument("names", nargs="*", help="run only questions whose names start with this (default: all)")
    parser.add_argument("--export", type=Path, help="an existing export with the tables that the questions use")
    parser.add_argument("--master", default=CLUSTER, help="the Spark master URL of the cluster")
    options = parser.parse_intermixed_args(arguments)
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        say(ADVICE)
        return 1
    return totals(answered(options))


def answered(options: argparse.Namespace) -> Iterator[str]:
    """Run all queries and yield the results."""
    python = python_with(HERE / "requirements.txt", ROOT / ".venv-spark", "pyspark")
    with tempfile.TemporaryDirectory(prefix="coind-spark-") as temporary:
        folder = options.export or Path(temporary, "export")
        if options.export is None:
            exported(folder)
        task = Path(temporary, "task.json")
        task.write_text(json.dumps(task_of(folder.resolve(), tuple(options.names))))
        yield from steps([python, "-m", "tests.spark.session", options.master, str(task)], SECONDS_MAX)
        if not options.names:
            clickhouse = python_with(HERE / "clickhouse.txt", ROOT / ".venv-clickhouse", "chdb, which is ClickHouse as a library")
            yield from steps([clickhouse, "-m", "tests.spark.clickhouse", str(folder.resolve())], SECONDS_MAX)


def task_of(folder: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the session's task: the datasets, the queries, and DuckDB's results."""
    manifest = read_manifest(folder)
    found = list(sources(manifest))
    asked = [question for question in questions() if not names or question.name.startswith(names)]
    with closing(open_export(folder)) as connection:
        answers = {each.name: [plain(row) for row in rows_of(connection.sql(each.sql).to_arrow_reader(BATCH_ROWS))] for each in asked}
    return {
        "views": [
            {
                "name": source.name,
                "columns": columns_of(source),
                "paths": [str(folder / path) for path in source.paths],
                "empty": without_rows(source, SPARK),
            }
            for source in found
        ],
        "derived": list(derived(manifest, found)),
        "functions": [function_of(each) for each in MACROS],
        "questions": [{"name": each.name, "sql": each.sql.rstrip(";"), "rows": answers[each.name]} for each in asked],
    }


def function_of(declared: Macro) -> str:
    """Return the SQL statement that defines a macro as a function in Spark."""
    parameters = ", ".join(f"{name} {of}" for name, of in declared.parameters.items())
    body = declared.spark or declared.body
    return f"CREATE OR REPLACE TEMPORARY FUNCTION {declared.name}({parameters}) RETURNS {declared.returns} RETURN {body}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
