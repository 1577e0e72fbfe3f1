"""Writes the generated part of docs/questions.md with the results on the recorded workload: `.venv/bin/python -m tests.docs.questions`."""

import io
import re
import tempfile
from contextlib import closing, redirect_stdout
from pathlib import Path

from node.research.sql.connection import open_export
from node.research.sql.macros import MACROS
from node.research.sql.shell import answer
from tests.conftest import ROOT
from tests.helpers.exported import Question, exported, questions

PAGE = ROOT / "docs" / "questions.md"
BEGIN = "## Macros\n"


def made(page: str) -> str:
    """Return the page's new text: its existing introduction, followed by the generated part."""
    introduction = page.partition(BEGIN)[0]
    macros = "\n".join(f"| `{each.signature}` | {each.help} |" for each in MACROS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "export")
        exported(folder)
        with closing(open_export(folder)) as connection:
            sections = [section(question, answered(connection, question)) for question in questions()]
    index = "".join(f"| [{each.title}](#{anchor(each.title)}) | {each.answers} |\n" for each in questions())
    return (
        f"{introduction}{BEGIN}| macro | gives |\n|---|---|\n{macros}\n\n"
        f"## Questions\n| question | result |\n|---|---|\n{index}\n" + "\n".join(sections)
    )


def anchor(title: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def answered(connection: object, question: Question) -> str:
    """Return the output of the SQL prompt for a question."""
    with redirect_stdout(io.StringIO()) as printed:
        answer(connection, question.sql, "table")
    return printed.getvalue()


def section(question: Question, answer_text: str) -> str:
    return (
        f"### {question.title}\n{question.answers} ([{question.name}.sql](questions/{question.name}.sql))\n"
        f"```sql\n{question.sql}\n```\n```text\n{answer_text}```\nNote: {question.note}\n"
    )


def main() -> None:
    """Write the page."""
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
