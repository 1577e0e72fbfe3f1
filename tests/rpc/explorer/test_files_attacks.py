"""The list of attacks for the explorer's pages covers every class of attack."""

import json
from pathlib import Path

ATTACKS: dict[str, list[str]] = json.loads((Path(__file__).parent / "attacks.json").read_text())
CLASSES = (
    "<script", "onerror=", "<svg", "<math", "<template", "<iframe", "srcdoc", "javascript:", "data:text/html", "vbscript:", "&#106;",
    "&lt;", "](javascript:", "![", "]: ", "\u202e", "\u2067", "\u200b", "\u00ad", "\u0000", "\u0301", "\u05e9", "\U0001f468", "\U000e0041",
    "__proto__", "W" * 5000,
)  # fmt: skip


def test_the_list_has_attacks_of_every_class() -> None:
    everything = "\n".join(attack for attacks in ATTACKS.values() for attack in attacks)
    assert [one for one in CLASSES if one not in everything] == []


def test_a_chain_can_hold_all_attacks() -> None:
    for attacks in ATTACKS.values():
        assert all(len(attack.encode()) < 10_000 for attack in attacks)
