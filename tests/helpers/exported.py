"""The repository's recorded workload, exported for the worked questions, and the questions in docs/questions."""

import gc
from pathlib import Path

import trio
from msgspec import Struct

from node.research.export.run import Export, ExportOptions
from node.specs.builder import load_spec
from state.chain.skip import TRUSTED
from tests.conftest import ROOT

WORKLOAD = ROOT / "tests" / "conformance" / "workload" / "block_log.gz"
CHAIN = "steem-testnet"
QUESTIONS = ROOT / "docs" / "questions"
# Number of blocks between two exports of a table's rows (0: only at the end).
TABLES = {
    "global_properties": 50,
    "accounts": 50,
    "witnesses": 0,
    "limit_orders": 0,
    "market_buckets": 0,
    "proposal_votes": 0,
    "vesting_delegations": 0,
    "follow_follows": 0,
    "follow_reputations": 0,
}


class Question(Struct, frozen=True):
    """A worked question: a SQL file in docs/questions, whose first comment lines are its title, the meaning of its result, and a note."""

    name: str
    title: str
    answers: str
    note: str
    sql: str


def questions() -> list[Question]:
    """Return all questions, sorted by name."""
    found = []
    for path in sorted(QUESTIONS.glob("*.sql")):
        lines = path.read_text(encoding="utf-8").splitlines()
        notes = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
        title, answers, note = notes
        found.append(Question(path.stem, title, answers, note.removeprefix("Note: "), "\n".join(lines[len(notes) :]).strip()))
    return found


def exported(to: Path, source: Path = WORKLOAD) -> Export:
    """Export a block log into a folder. The returned export includes the chain at its final block."""
    done = Export(ExportOptions(spec=load_spec(CHAIN), source=source, to=to, tables=TABLES, skip=TRUSTED))
    trio.run(done.run)
    # Objects that the export froze would make duckdb report leaks when the process ends.
    gc.unfreeze()
    return done
