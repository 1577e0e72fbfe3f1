"""Every refusal of the rules occurs in a recorded case, or its text occurs in a test.

Two refusals with the same text can't be distinguished here. The tests of their modules cover each of them.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from node.specs.builder import load_spec
from tests.conftest import CASES, case_names, read_json_lines
from tests.helpers import refusals as refusal_sites
from tests.helpers.refusals import GAP, RefusalSite, sites, sites_of
from tests.helpers.sources import Source, sources

PIECE_MIN = 11  # minimum length of a refusal's text in a test; amounts such as "1.000 COIN" are shorter
SPELL = load_spec("steem-testnet").spell
HERE = ("tests/conformance/test_refusals_covered.py", "tests/helpers/refusals.py")

# Refusals that cannot occur, by their text, each with the reason.
UNREACHABLE: dict[str, str] = {
    "chain.production.assemble_block: fc::raw::pack_size(pending_block) <= COIN_MAX_BLOCK_SIZE": (
        "what goes into a block fits maximum_block_size, which is never greater"
    ),
    "effects.early_voting.cast_early_vote: Cannot vote with 0 rshares.": (
        "spend_power has refused dust since hardfork 13, and made 0 a 1 before; weight 0 has been refused a line above"
    ),
    "effects.early_voting.spend_power: Account does not have enough power to vote.": (
        "a vote takes a fifth of the power at most, rounded up, and never from none"
    ),
    "operations.witness_properties.check_decay: Decay must be at most …": "the limit is the greatest number of the field",
}


# ------------------------------------------------------------------ known texts


@cache
def recorded() -> tuple[str, ...]:
    """Return every refusal text of the reference for a broadcast, a fed block or a request."""
    return tuple(
        {text for name in case_names() for kind in ("broadcasts", "blocks", "http", "queries") for text in error_texts(name, kind)}
    )


def error_texts(name: str, kind: str) -> Iterator[str]:
    """Return the error texts of the events of one kind in a case."""
    for event in read_json_lines(CASES / name / f"{kind}.jsonl.gz"):
        error: Any = event.get("error")
        if error:
            yield error.get("message") or ""
        elif kind == "http" and '"error"' in event["body"]:
            yield event["body"]


@cache
def asserted() -> tuple[str, ...]:
    """Return every literal text in the tests, with GAP in place of inserted values."""
    found: set[str] = set()
    for source in sources("tests"):
        if source.path not in HERE:
            found |= {text for node in source.nodes if len(text := literal(node)) >= PIECE_MIN}
    return tuple(found)


def literal(node: ast.AST) -> str:
    """Return the text of a string literal. The class name UnknownKey counts as its message."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("\\", "")  # in a pattern they only escape the next character
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    if isinstance(node, ast.Name) and node.id == "UnknownKey":
        return "unknown key:unknown key: "
    return ""


def is_recorded(said: str, texts: tuple[str, ...]) -> bool:
    """Whether a recorded text contains the refusal's text, with any values in place of GAP."""
    pieces = [SPELL(piece) for piece in said.split(GAP)]
    longest = max(pieces, key=len)
    pattern = re.compile(".*".join(map(re.escape, pieces)), re.DOTALL)
    return any(longest in text and pattern.search(text) for text in texts)


def is_asserted(said: str, texts: tuple[str, ...]) -> bool:
    """Whether a test contains the longest segment of a refusal's text, or a part of it."""
    pieces = [piece for piece in said.split(GAP) if len(piece) >= PIECE_MIN] or [max(said.split(GAP), key=len)]
    longest = max(pieces, key=len)
    return any(longest in text or any(text in piece for piece in pieces) for text in texts)


def is_covered(site: RefusalSite) -> bool:
    """Whether a case or test covers a refusal."""
    return is_recorded(site.said, recorded()) or is_asserted(site.said, asserted())


# ------------------------------------------------------------------ the rules


def test_every_refusal_occurs() -> None:
    missing = {site.name for site in sites() if site.name not in UNREACHABLE and not is_covered(site)}
    assert sorted(missing) == []


def test_unreachable_refusals_exist() -> None:
    assert UNREACHABLE.keys() - {site.name for site in sites()} == set()


def test_covered_refusals_are_not_listed_as_unreachable() -> None:
    assert [site.name for site in sites() if site.name in UNREACHABLE and is_covered(site)] == []


# ------------------------------------------------------------------ tests of the search

CALLERS = """
def need(ok, text, role="owner"):
    require(ok, text)
    require(ok, f"{role} of ${{n}}", n=1)

def use(state):
    need(state.a, "first one")
    need(state.b, "second " + "one" if state else OTHER, role="active")
    for words, field in (("third one", "c"), ("fourth one", "d")):
        require(state, words, condition=f"state.{field}")

OTHER = "by ${who}"
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(x):\n    require(x, 'no ${a} for ${b}', a=1)\n", {"no … for …"}),
        ("def f(x):\n    require(x, condition='x > 0')\n", {"x > 0"}),
        ("def f(x):\n    raise Refused(f'it is {x}', condition='false')\n", {"it is …"}),
        ("def f(x):\n    raise UnknownKey\n", {"unknown key:unknown key: "}),
        ("def f(x):\n    raise TransactionExpired('')\n", {"transaction expiration exception:"}),
        ("def f(x):\n    raise ValueError('no refusal')\n", set()),
        (
            "def f(x):\n    limit, name = 1, 'A'\n    if x:\n        limit, name = 2, 'B'\n    require(x, 'below ' + name)\n",
            {"below A", "below B"},
        ),
        (CALLERS, {"first one", "second one", "by …", "owner of …", "active of …", "third one", "fourth one"}),
    ],
)
def test_texts_of_refusals_are_found(text: str, said: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("state/chain/x.py", text)
    monkeypatch.setattr(refusal_sites, "rules", lambda: (source,))
    refusal_sites.calls.cache_clear()
    assert {site.said.replace(GAP, "…") for site in sites_of(source)} == said
    refusal_sites.calls.cache_clear()


def test_is_recorded_and_is_asserted() -> None:
    said = f"Cannot pay {GAP} to {GAP} today."
    assert is_recorded(said, ("Assert Exception:x: Cannot pay 1.000 to bob today.rethrow",))
    assert not is_recorded(said, ("Cannot pay 1.000 to bob.",))
    assert is_recorded("Amount in COIN", ("Amount in STEEM",))
    assert is_asserted(said, ("Cannot pay 5",))
    assert is_asserted(said, ("Cannot pay",))
    assert not is_asserted(said, ("Cannot be paid", " today."))
