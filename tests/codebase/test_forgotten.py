"""Items that are easily forgotten in a change: the kinds of a new row's fields, the test of a method, and a new number in `RULES` after a
change of the rules.
"""

import gzip
import hashlib
import re
from itertools import islice

import rpc.api
from rpc.declare.method import METHODS
from rpc.records.rows import OTHER_KINDS, RECORDS
from state.chain.changes import tables_of
from state.snapshot.image import RULES, parts_of
from tests.codebase.test_declarations import names
from tests.conformance.play import Player
from tests.conftest import CASES, ROOT, VECTORS

assert rpc.api

# Rows whose fields the explorer displays correctly from their value types alone.
SHOWN_BY_TYPE = names("""
    BlockSummary BlogAuthor BucketVolume CommentContent Follow FollowCount KeyReference ProposalVote RcParameters RcPool Role SentOnce
    StaleRoot TagCounter TagRest WithdrawRoute WitnessVote
""")
# PLAYED lists recorded cases with the number of blocks to replay. KNOWN is the current `RULES` number and the hash of the state and plugin
# data after these cases.
PLAYED = {"walk_random": 500, "communities": 54}
KNOWN = (10, "f0a0f82123da03ccd267abae7b498389b9358196811001a711d4553c01e14bad")


def test_every_row_shows_its_fields() -> None:
    """`explorer_api.get_changes` can display every row: RECORDS names its records, OTHER_KINDS names its fields' kinds, or SHOWN_BY_TYPE
    contains it.
    """
    rows = {table.ROW for _, table in tables_of(Player(CASES / "communities").chain.state)}
    unknown = {row.__name__ for row in rows - RECORDS.keys() - OTHER_KINDS.keys()}
    assert unknown == SHOWN_BY_TYPE


def test_every_method_has_a_test() -> None:
    """A full run records which methods were called. This quick test only requires that a test or a recorded request names the method."""
    words = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    texts = [gzip.decompress(path.read_bytes()) for path in CASES.glob("*/*.jsonl.gz")] + [(VECTORS / "social.json").read_bytes()]
    recorded = {name.decode() for text in texts for name in re.findall(rb'"method":\s*"([\w.]+)"', text)}
    assert [name for name in METHODS if name.partition(".")[2] not in words and name not in recorded] == []


def test_changed_rules_have_a_new_number() -> None:
    """If this fails, the effect of blocks or the format of tables has changed. Increase `RULES`, and enter the new number and hash in
    KNOWN.
    """
    found = hashlib.sha256()
    for case, blocks in PLAYED.items():
        player = Player(CASES / case)
        for block in islice(player.blocks(), blocks):
            player.chain.push_block(block)
        for name, part in sorted(parts_of(player.chain.state).items()):
            found.update(name.encode() + b"".join(part.dump()))
    assert (RULES, found.hexdigest()) == KNOWN
