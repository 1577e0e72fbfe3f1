"""Writes the questions of docs/questions.md below its introduction, with what the workload answers:
`.venv/bin/python -m tests.docs.questions`.
"""

import io
import tempfile
from contextlib import closing, redirect_stdout
from pathlib import Path

from node.data.sql.macros import MACROS
from node.data.sql.opening import open_export
from node.data.sql.shell import answer
from tests.conftest import ROOT
from tests.helpers.exported import Question, exported, questions

PAGE = ROOT / "docs" / "questions.md"
BEGIN = "## Macros\n"


def made(page: str) -> str:
    """The page with its introduction as it stands, and everything else made anew."""
    introduction = page.partition(BEGIN)[0]
    macros = "\n".join(f"| `{each.signature}` | {each.help} |" for each in MACROS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "export")
        exported(folder)
        with closing(open_export(folder)) as connection:
            sections = [section(question, answered(connection, question)) for question in questions()]
    return f"{introduction}{BEGIN}| macro | gives |\n|---|---|\n{macros}\n\n## Questions\n" + "\n".join(sections)


def answered(connection: object, question: Question) -> str:
    """What the prompt prints."""
    with redirect_stdout(io.StringIO()) as printed:
        answer(connection, question.sql, "table")
    return printed.getvalue()


def section(question: Question, answer_text: str) -> str:
    """A question on the page."""
    return (
        f"### {question.title}\n{question.answers} ([{question.name}.sql](questions/{question.name}.sql))\n"
        f"```sql\n{question.sql}\n```\n```text\n{answer_text}```\nBeware: {question.beware}\n"
    )


def main() -> None:
    """Write the page."""
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
