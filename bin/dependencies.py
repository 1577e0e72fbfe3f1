"""Writes the tables of docs/dependencies.md: `.venv/bin/python -m bin.dependencies`.

The versions are those that pyproject.toml pins; licences and reasons are declared here. A test compares them with what is installed.
"""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageMetadata
from pathlib import Path
from typing import NamedTuple

from bin.setup import name_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "dependencies.md"
VENDORED = ROOT / "rpc" / "explorer" / "web" / "vendor" / "README.md"

# As the licences are called in texts that are older than SPDX expressions. Others mean the same by the same words.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# What may come along with a program under the MIT licence. Those of MPL-2.0 stay files of their own, which nobody here changes.
COMPATIBLE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"}


class Library(NamedTuple):
    """A library: its licence as an SPDX expression, and either why coind names it, or which libraries bring it along."""

    name: str
    licence: str
    why: str = ""
    by: tuple[str, ...] = ()


NODE = (
    Library("trio", "MIT OR Apache-2.0", "Tasks, timeouts, sockets and processes of the whole node; its mock clock drives the simulation."),
    Library(
        "hypercorn",
        "MIT",
        "Serves HTTP and WebSockets on trio: its streams, protocols and configuration. We have transports of our own above it.",
    ),
    Library("quart", "MIT", "The application in which a node is mounted in a program of somebody else: `Response`."),
    Library("quart-trio", "MIT", "The same on trio: `QuartTrio`."),
    Library("h11", "MIT", "HTTP/1.1: requests are read and replies written by its connection."),
    Library("h2", "MIT", "HTTP/2: settings and error codes, and bounds on what a connection may hold."),
    Library("wsproto", "MIT", "WebSockets: events, close reasons and handshakes."),
    Library("sortedcontainers", "Apache-2.0", "`SortedList`: the orders of the tables."),
    Library("coincurve", "MIT OR Apache-2.0", "libsecp256k1: signatures are made, checked and turned into keys."),
    Library("base58", "MIT", "The text form of keys."),
    Library("pycryptodome", "BSD-2-Clause AND Unlicense AND MIT", "RIPEMD-160 where OpenSSL lacks it."),
    Library("msgspec", "BSD-3-Clause", "JSON in and out, and the declared structures of operations, rows and records."),
    Library("rich", "MIT", "Tables, colours and progress in the terminal."),
    Library("cyclopts", "Apache-2.0", "The command line: options, help and completion from the functions' signatures."),
    Library("zstandard", "BSD-3-Clause", "Compressed snapshots, block files and replies."),
    Library("prometheus-client", "Apache-2.0 AND BSD-2-Clause", "`/metrics`; the first scrape loads it."),
    Library("greenlet", "MIT AND PSF-2.0", "A stack of its own for each long job, which is left in the middle and entered again."),
    Library("aiofiles", "Apache-2.0", by=("quart",)),
    Library("attrs", "MIT", by=("cyclopts", "jsonschema", "outcome", "referencing", "trio")),
    Library("blinker", "MIT", by=("flask", "quart")),
    Library("click", "BSD-3-Clause", by=("flask", "quart", "ray", "zensical")),
    Library("docstring_parser", "MIT", by=("cyclopts",)),
    Library("Flask", "BSD-3-Clause", by=("quart",)),
    Library("hpack", "MIT", by=("h2",)),
    Library("hyperframe", "MIT", by=("h2",)),
    Library("idna", "BSD-3-Clause", by=("requests", "trio")),
    Library("itsdangerous", "BSD-3-Clause", by=("flask", "quart")),
    Library("Jinja2", "BSD-3-Clause", by=("flask", "quart", "zensical")),
    Library("markdown-it-py", "MIT", by=("rich",)),
    Library("MarkupSafe", "BSD-3-Clause", by=("flask", "jinja2", "quart", "werkzeug")),
    Library("mdurl", "MIT", by=("markdown-it-py",)),
    Library("outcome", "MIT OR Apache-2.0", by=("pytest-trio", "trio")),
    Library("priority", "MIT", by=("hypercorn",)),
    Library("Pygments", "BSD-2-Clause", by=("pytest", "rich", "rich-rst", "zensical")),
    Library("rich-rst", "MIT", by=("cyclopts",)),
    Library("sniffio", "MIT OR Apache-2.0", by=("trio",)),
    Library("Werkzeug", "BSD-3-Clause", by=("flask", "quart")),
)
EXTRAS = (
    Library("pyarrow", "Apache-2.0", "`data`: Parquet files, and tables as Arrow."),
    Library("duckdb", "MIT", "`data`: `coind sql`, the worked questions, the reports."),
    Library("pandas", "BSD-3-Clause", "`data`: DataFrames for scripts and notebooks."),
    Library("nats-py", "Apache-2.0", "`nats`: the client of the broker, for relays and followers."),
    Library("ray", "Apache-2.0", "`ray`: ranges of a replay on the machines of a cluster."),
    Library("grpcio", "Apache-2.0", "`ray`: what a client of a cluster (`ray://`) speaks; Ray itself doesn't ask for it."),
    Library("certifi", "MPL-2.0", by=("requests",)),
    Library("charset-normalizer", "MIT", by=("requests",)),
    Library("filelock", "MIT", by=("ray",)),
    Library("msgpack", "Apache-2.0", by=("ray",)),
    Library("numpy", "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", by=("pandas",)),
    Library("protobuf", "BSD-3-Clause", by=("ray",)),
    Library("python-dateutil", "BSD-3-Clause", by=("pandas",)),
    Library("requests", "Apache-2.0", by=("ray",)),
    Library("tzdata", "Apache-2.0", by=("python-dateutil",)),
    Library("urllib3", "MIT", by=("requests",)),
)
TESTS = (
    Library("pytest", "MIT", "Runs the tests; coind also brings a plugin for it, which users have without asking for pytest."),
    Library("pytest-trio", "MIT OR Apache-2.0", "Tests and fixtures that are async."),
    Library("pytest-xdist", "MIT", "The tests on all cores."),
    Library("hypothesis", "MPL-2.0", "Random values, sequences and state machines, made small when they fail."),
    Library("ruff", "MIT", "Lint and layout."),
    Library("mypy", "MIT", "Types, strictly."),
    Library("jsonschema", "MIT", "The OpenRPC document and replies against their schemas."),
    Library("diff-match-patch", "Apache-2.0", "What the library of posts' edits makes of the same edit."),
    Library("hatchling", "MIT", "Builds the wheel, with the hook in `bin/package`."),
    Library("build", "MIT", "`python -m build`."),
    Library("PyYAML", "MIT", "Reads the workflows of `.github` for their test. Ray brings it along as well."),
    Library("zensical", "MIT", "Makes the site of the docs."),
    Library("atheris", "Apache-2.0", "Searches for inputs that a parser can't take (`bin/test fuzz`)."),
    Library("ast_serialize", "MIT", by=("mypy",)),
    Library("deepmerge", "MIT", by=("zensical",)),
    Library("execnet", "MIT", by=("pytest-xdist",)),
    Library("iniconfig", "MIT", by=("pytest",)),
    Library("jsonschema-specifications", "MIT", by=("jsonschema",)),
    Library("librt", "MIT", by=("mypy",)),
    Library("Markdown", "BSD-3-Clause", by=("pymdown-extensions", "zensical")),
    Library("mypy_extensions", "MIT", by=("mypy",)),
    Library("packaging", "Apache-2.0 OR BSD-2-Clause", by=("build", "hatchling", "pytest", "ray")),
    Library("pathspec", "MPL-2.0", by=("hatchling", "mypy", "zensical")),
    Library("pluggy", "MIT", by=("hatchling", "pytest")),
    Library("pymdown-extensions", "MIT", by=("zensical",)),
    Library("pyproject_hooks", "MIT", by=("build",)),
    Library("referencing", "MIT", by=("jsonschema", "jsonschema-specifications")),
    Library("rpds-py", "MIT", by=("jsonschema", "referencing")),
    Library("tomli", "MIT", by=("zensical",)),
    Library("tomlkit", "MIT", by=("hatchling",)),
    Library("trove-classifiers", "Apache-2.0", by=("hatchling",)),
    Library("typing_extensions", "PSF-2.0", by=("grpcio", "mypy", "referencing")),
)
SECTIONS = {"node": NODE, "extras": EXTRAS, "tests": TESTS}
LIBRARIES = NODE + EXTRAS + TESTS

# Why the explorer has each library, by the name under which the page beside the files has it.
JAVASCRIPT = {
    "preact": "Draws the pages of the explorer, with its hooks.",
    "htm": "Markup in JavaScript that needs no build step.",
    "uPlot": "Draws what changes over time.",
}


def requirements() -> dict[str, list[str]]:
    """What pyproject.toml asks for: for the node ("node"), by extra and group, and what [tool.coind] pins ("pins")."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = {
        "node": content["project"]["dependencies"],
        **content["project"]["optional-dependencies"],
        **content.get("dependency-groups", {}),
    }
    found["pins"] = content["tool"]["coind"]["pins"]
    return found


def pins() -> dict[str, str]:
    """The version of everything that is pinned, by name."""
    return {name_of(pin): pin.partition("==")[2] for pin in requirements()["pins"]}


def licence_of(metadata: PackageMetadata) -> set[str]:
    """The licences that the metadata of an installed library name: one expression, or the names of its fields in the words of SPDX."""
    if expressions := metadata.get_all("License-Expression", []):
        return set(expressions)
    names = [text.rsplit(" :: ", 1)[-1] for text in metadata.get_all("Classifier", []) if text.startswith("License ::")]
    if not names:
        names = [name for text in metadata.get_all("License", []) for name in text.split(" OR ")]
    return {SPDX.get(name, name) for name in names}


def vendored() -> Iterator[tuple[str, str, str]]:
    """Yield name, version and licence of each library of JavaScript, from the page beside the files."""
    found = re.findall(r"\b(\w+) (\d[\d.]+) \(([\w.-]+)\)", VENDORED.read_text(encoding="utf-8"))
    return iter(dict.fromkeys(found))


def tables() -> dict[str, str]:
    """The text of each table by the name in its marks."""
    pinned, found = pins(), {}
    for section, libraries in SECTIONS.items():
        named = [f"| {each.name} | {pinned[name_of(each.name)]} | {each.licence} | {each.why} |" for each in libraries if each.why]
        found[section] = "\n".join(["| library | version | licence | why, and what is used of it |", "|---|---|---|---|", *named])
        brought = [
            f"| {each.name} | {pinned[name_of(each.name)]} | {each.licence} | {', '.join(each.by)} |" for each in libraries if each.by
        ]
        found[f"{section}-brought"] = "\n".join(["| library | version | licence | comes with |", "|---|---|---|---|", *brought])
    rows = [f"| {name} | {version} | {licence} | {JAVASCRIPT[name]} |" for name, version, licence in vendored()]
    found["javascript"] = "\n".join(["| library | version | licence | why |", "|---|---|---|---|", *rows])
    return found


def filled(text: str) -> str:
    """The text of the page with each table between its marks made anew."""
    for name, table in tables().items():
        start, end = f"<!-- table {name}: python -m bin.dependencies -->\n", "\n<!-- end -->"
        assert start in text, f"docs/dependencies.md has no mark {start.strip()}"
        before, rest = text.split(start, 1)
        text = before + start + table + end + rest.split(end, 1)[1]
    return text


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
