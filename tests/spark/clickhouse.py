"""Reads the files of an export with ClickHouse: every dataset must have the row count in the manifest, and every column must be readable.
Prints a line `pass` or `fail`.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import chdb


def main(folder: str) -> int:
    """Read all datasets. The status is 0 if all have the expected row counts."""
    manifest = json.loads(Path(folder, "manifest.json").read_bytes())
    rows: Counter[str] = Counter()
    for each in manifest["ranges"]:
        for chunk in each["chunks"]:
            rows[chunk["path"].rsplit("/", 2)[0]] += chunk["rows"]
    wrong = []
    for dataset, wanted in rows.items():
        files = f"file('{folder}/{dataset}/*/*.parquet', Parquet)"
        columns = ", ".join(f"`{name}`" for name in manifest["schema"][dataset])
        read = len(chdb.query(f"SELECT {columns} FROM {files}", "JSONEachRow").data().splitlines())
        if read != wanted:
            wrong.append(f"{dataset} has {read} rows, not {wanted}")
    version = chdb.query("SELECT version()", "TSV").data().strip()
    print(
        f"fail ClickHouse {version}: {', '.join(wrong)}" if wrong else f"pass ClickHouse {version} reads {len(rows)} datasets", flush=True
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
