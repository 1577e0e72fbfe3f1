"""The declared explanations refer to existing rules and existing values."""

import ast
import re

import pytest

from rpc.explain.explain import FUNCTIONS_BY_CONDITION, FUNCTIONS_BY_TEXT
from rpc.explain.table import BEGINNINGS, CONDITIONS, TEXTS
from tests.helpers.sources import sources

SENTENCES = {**TEXTS, **CONDITIONS, **BEGINNINGS}
LITERAL_MIN = 12  # shorter ones would stand for anything
KEYS = [*SENTENCES, *FUNCTIONS_BY_CONDITION, *FUNCTIONS_BY_TEXT]


@pytest.fixture(scope="module")
def program() -> tuple[set[str], list[re.Pattern[str]]]:
    """The string literals of the program, and patterns for its f-strings."""
    plain: set[str] = set()
    patterns = []
    for source in sources("state", "node", "rpc"):
        if source.path.startswith("rpc/explain/"):
            continue
        for node in source.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                plain.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in node.values]
                if len("".join(parts)) > LITERAL_MIN:
                    patterns.append(re.compile("".join(parts), re.DOTALL))
    return plain, patterns


def test_each_explained_text_belongs_to_a_rule(program: tuple[set[str], list[re.Pattern[str]]]) -> None:
    plain, patterns = program
    texts = [*plain, *[pattern.pattern.replace("\\", "") for pattern in patterns]]
    for key in KEYS:
        begins = key in BEGINNINGS and any(text.startswith(key) for text in texts)
        assert begins or key in plain or any(pattern.fullmatch(key) for pattern in patterns), key


def test_sentences_are_complete() -> None:
    for sentence in SENTENCES.values():
        assert sentence.rule.replace("_", "").isalnum(), sentence
        assert sentence.rule == sentence.rule.lower(), sentence
        assert sentence.why.endswith((".", "hasn't.")), sentence
        assert sentence.what_to_do.endswith("."), sentence
        assert "COIN_" not in sentence.why + sentence.what_to_do, sentence
