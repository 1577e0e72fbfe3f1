"""A session with Spark: reads the files of an export, runs each query and compares the rows with DuckDB's. Prints a line `pass` or `fail`
for each query.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from node.research.sql.results import plain

# Allow "from" as a name, as in other databases, and use UTC, as the chain does.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def main(master: str, task_file: str) -> int:
    """Run all queries. The status is 0 if all results are equal."""
    task = json.loads(Path(task_file).read_text())
    begun = time.perf_counter()
    builder = SparkSession.builder.master(master).appName("coind")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for view in task["views"]:
        make_view(spark, view)
    for name, query in task["derived"]:
        spark.sql(f'CREATE OR REPLACE TEMPORARY VIEW "{name}" AS {query}')
    for function in task["functions"]:
        spark.sql(function)
    print(f"pass {len(task['views'])} views of the export ({time.perf_counter() - begun:.1f} s)", flush=True)
    failed = sum(not is_same(spark, question) for question in task["questions"])
    spark.stop()
    return 1 if failed else 0


def make_view(spark: Any, view: dict[str, Any]) -> None:
    """Create the view of an operation kind or of a table of the export. Without files, the view has no rows."""
    if not view["paths"]:
        spark.sql(f'CREATE OR REPLACE TEMPORARY VIEW "{view["name"]}" AS {view["empty"]}')
        return
    top = str(Path(view["paths"][0]).parents[1])
    spark.read.option("basePath", top).parquet(*view["paths"]).createOrReplaceTempView("files")
    spark.sql(f"SELECT {view['columns']} FROM files").createOrReplaceTempView(view["name"])


def is_same(spark: Any, question: dict[str, Any]) -> bool:
    """Run a query and return whether its rows equal DuckDB's."""
    begun = time.perf_counter()
    try:
        rows = [plain(tuple(row)) for row in spark.sql(question["sql"]).collect()]
    except Exception as error:
        print(f"fail {question['name']}: {' '.join(str(error).split())[:600]}", flush=True)
        return False
    seconds = f"{time.perf_counter() - begun:.1f} s"
    if rows == question["rows"]:
        print(f"pass {question['name']} ({len(rows)} rows, {seconds})", flush=True)
        return True
    differing = next(((a, b) for a, b in zip(rows, question["rows"], strict=False) if a != b), (len(rows), len(question["rows"])))
    print(f"fail {question['name']}: Spark has {differing[0]}, DuckDB {differing[1]}", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
