"""docs/questions.md contains the queries of docs/questions with their results on the workload."""

from tests.docs.questions import PAGE, made


def test_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert made(page) == page, "generate it again: .venv/bin/python -m tests.docs.questions"
