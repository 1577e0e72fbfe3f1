"""Texts of comments in irreversible blocks are not in memory. They are the same as those of a chain that has all texts in memory."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from node.runtime.errors import FileError
from node.snapshots.file import SnapshotError
from node.snapshots.folder import load, save
from node.storage.blocklog import BlockLog
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import table_bytes
from state.chain.genesis import new_state
from state.chain.savepoints import Savepoint
from state.operations.content import Comment, DeleteComment
from state.protocol.errors import ChainError, UnreadableBlock
from state.protocol.keys.keys import derive_secret
from state.snapshot.texts import TextsPart
from state.store.columns import CorruptData
from state.tables.texts import KIND, KIND_AT, RECORD_BYTES
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.nodes import DEV, block_at, copy_of, dev_chain, make_block, signed_transaction
from tests.simulation.rivals import made_branch

CASES_WITH_POSTS = (
    "communities",
    "discussions",
    "natural_hardforks",
    "negative_reward_fund",
    "posts",
    "threads",
    "walk_hardforks",
    "walk_random",
)
NAMES = ("alice", "bob", "carol", "dan")
REVERSIBLE = 21  # blocks that can be undone


@pytest.fixture(autouse=True)
def no_recent_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows leave memory at once."""
    monkeypatch.setattr("state.tables.texts.RECENT_BYTES_MAX", 0)


def keep_in_memory(chain: Chain) -> Chain:
    """Make a chain keep all texts in memory."""
    chain.main_branch._texts.store = lambda *given: None  # type: ignore[method-assign]
    return chain


def texts_of(chain: Chain) -> bytes:
    return b"".join(table_bytes(chain.state.comment_contents))


def objects_of(chain: Chain) -> int:
    """Return the number of rows in memory."""
    return len(chain.state.comment_contents._rows)


@pytest.mark.parametrize("case", CASES_WITH_POSTS)
def test_texts_of_recorded_chains_are_the_same_at_each_block(case: str) -> None:
    player, other = Player(CASES / case), Player(CASES / case)
    keep_in_memory(other.chain)
    left = 0
    for block in player.blocks():
        for each in (player, other):
            each.chain.push_block(block)
        if any(isinstance(operation, Comment) for trx in block.transactions for operation in trx.operations) or not block.number % 10:
            assert texts_of(player.chain) == texts_of(other.chain)
        left = max(left, objects_of(other.chain) - objects_of(player.chain))
    player.chain.state.comment_contents.check()
    assert texts_of(player.chain) == texts_of(other.chain)
    assert left


class Story:
    """A chain with a block log, and random changes of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = Random(seed)
        self.chain = dev_chain()
        self.log = BlockLog(folder, self.chain.state.wire)
        self.attach(self.chain)
        self.savepoints: list[Savepoint] = []
        self.count = 0
        self.edits: Counter[str] = Counter()
        make_block(self.chain)
        self.push(Comment("", "topic", "alice", "root", "A title", "A body", "{}"))
        self.make(3)

    def attach(self, chain: Chain) -> None:
        """Let a chain write its blocks to the log."""
        chain.on_head_change.append(lambda change: self.log.switch(change.popped, change.applied))
        chain.irreversible_blocks.attach_log(self.log.packed, lambda: self.log.head.number, self.log.part)

    def push(self, *operations: Comment | DeleteComment) -> None:
        secret = derive_secret(operations[0].author, "posting", "dev")
        self.chain.push_transaction(signed_transaction(self.chain, operations, secret))

    def make(self, count: int) -> None:
        for _ in range(count):
            make_block(self.chain)

    def body(self) -> str:
        return "".join(self.draw.choices("abc \nß€😀", k=self.draw.choice((1, 30, 3000))))

    def post(self) -> None:
        author = self.draw.choice(NAMES)
        self.push(
            Comment("alice", "root", author, f"re-{self.count}", self.draw.choice(("", "Re")), self.body(), self.draw.choice(("", "{}")))
        )
        self.count += 1

    def edit(self, patch: str = "") -> None:
        rows = [row for row in self.chain.state.comments if row.parent_author]
        if not rows:
            return
        row, operations = self.draw.choice(rows), []
        for _ in range(self.draw.choice((1, 1, 3))):
            title, metadata = self.draw.choice(("", "New")), self.draw.choice(("", '{"a":1}'))
            body = patch or self.draw.choice((self.body(), patch_of(self.draw)))
            operations.append(Comment("alice", "root", row.author, row.permlink, title, body, metadata))
        self.push(*operations)

    def delete(self) -> None:
        rows = [row for row in self.chain.state.comments if row.parent_author]
        if rows:
            row = self.draw.choice(rows)
            self.push(DeleteComment(row.author, row.permlink))

    def switch(self) -> None:
        chain = self.chain
        if chain.main_branch.poppable > 3:
            depth = self.draw.randint(1, 3)
            for block in made_branch(block_at(chain, chain.state.props.head_block_number - depth), depth + 1):
                chain.push_block(block)

    def step(self) -> None:
        """Make a random change."""
        chain, draw = self.chain, self.draw
        kinds: dict[str, tuple[int, Callable[[], object]]] = {
            "post": (12, self.post),
            "edit": (12, self.edit),
            "delete": (1, self.delete),
            "make": (12, lambda: self.make(draw.choice((1, 1, 2, REVERSIBLE)))),
            "pop": (2, lambda: chain.pop_blocks(draw.randint(1, 3))),
            "switch": (2, self.switch),
            "save": (1, lambda: self.savepoints.append(chain.savepoint())),
            "restore": (1, lambda: chain.restore(draw.choice(self.savepoints))),
        }
        _, work = draw.choices(list(kinds.values()), [share for share, _ in kinds.values()])[0]
        try:
            work()
        except (ChainError, IndexError):
            return

    def other(self) -> Chain:
        """Return another chain with the same blocks and all texts in memory."""
        other = keep_in_memory(dev_chain())
        for number in range(1, self.chain.state.props.head_block_number + 1):
            other.push_block(structs.replace(block_at(self.chain, number)))
        return other


def patch_of(draw: Random) -> str:
    """Return a patch that inserts a letter at the start of a body."""
    return f"@@ -0,0 +1 @@\n+{draw.choice('xyz')}\n"


@pytest.mark.parametrize("seed", range(4))
def test_texts_are_the_same_after_random_changes(seed: int, tmp_path: Path) -> None:
    story = Story(tmp_path, seed)
    for number in range(250):
        story.step()
        if number % 50 == 49:
            story.chain.clear_pending()
            other = story.other()
            assert texts_of(story.chain) == texts_of(other)
            story.chain.state.comment_contents.check()
            for row in other.state.comment_contents:
                found = story.chain.state.comment_contents.by_comment.find(row.comment)
                assert (found.id, found.title, found.body, found.json_metadata) == (row.id, row.title, row.body, row.json_metadata)
    assert story.count
    story.log.close()


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """A chain with random changes, all of which are irreversible."""
    story = Story(tmp_path, 1)
    for _ in range(150):
        story.step()
    story.make(2 * REVERSIBLE)
    story.chain.clear_pending()
    yield story
    story.log.close()


def test_snapshots_have_positions_if_there_is_a_log_and_texts_otherwise(story: Story, tmp_path: Path) -> None:
    wanted = texts_of(story.chain)
    with_positions = save(story.chain, tmp_path / "one", SystemDisk(), is_used_with_log=True)
    with_texts = save(copy_of(story.chain), tmp_path / "two", SystemDisk())
    for path, find in ((with_positions, story.log.packed), (with_texts, None)):
        chain = Chain(new_state(DEV))
        load(chain, path, SystemDisk(), find).finish()
        chain.state.comment_contents.check()
        assert texts_of(chain) == wanted
    chain = Chain(new_state(DEV))
    load(chain, with_positions, SystemDisk()).finish()
    with pytest.raises(UnreadableBlock, match="the operation is not in block 2"):
        texts_of(chain)
    with pytest.raises(SnapshotError, match="the operation is not in block 2"):
        save(chain, tmp_path / "three", SystemDisk())


def test_damaged_records_are_refused_or_lead_to_texts_that_cant_be_read(story: Story) -> None:
    contents, draw = story.chain.state.comment_contents, Random(1)
    part = TextsPart(contents, has_positions=True)
    whole, known = list(part.dump()), {row.id: (row.title, row.body, row.json_metadata) for row in contents}
    refused = 0
    for _ in range(1500):
        chunks = [bytearray(chunk) for chunk in whole]
        chunk = draw.choice(chunks)
        for _ in range(draw.choice((1, 1, 3))):
            chunk[draw.randrange(len(chunk))] = draw.randrange(256)
        if not draw.randrange(10):
            del chunk[draw.randrange(len(chunk)) :]
        try:
            install = part.read(iter(map(bytes, chunks)))
        except CorruptData:
            refused += 1
            continue
        install()
        for row_id, texts in known.items():
            try:
                row = contents.get(row_id)
            except (CorruptData, UnreadableBlock):
                continue
            # The id of the transaction protects a text that stands in a block.
            kind = KIND.unpack_from(contents.records().data, row_id * RECORD_BYTES + KIND_AT)[0]
            if row is not None and kind == 0:
                assert (row.title, row.body, row.json_metadata) == texts
    assert refused > 100
    part.read(iter(whole))()
    contents.check()


def test_a_changed_or_cut_log_is_an_error_that_names_the_block(tmp_path: Path) -> None:
    story = Story(tmp_path, 1)
    chain, contents = story.chain, story.chain.state.comment_contents
    story.make(2 * REVERSIBLE)
    [root] = list(chain.state.comments)
    assert contents.by_comment.find(root.id).body == "A body"
    log = story.log.path.read_bytes()
    assert log.count(b"A body") == 1
    with open(story.log.path, "r+b") as file:
        file.write(log.replace(b"A body", b"B body"))
        file.flush()
        with pytest.raises(UnreadableBlock, match="block 2, at byte 129, was changed"):
            contents.by_comment.find(root.id)
        with pytest.raises(UnreadableBlock, match="block 2, at byte 129, was changed"):
            story.push(Comment("", "topic", "alice", "root", "", "@@ -0,0 +1 @@\n+x\n", ""))
        file.truncate(log.index(b"A body"))
        with pytest.raises(FileError, match=r"block 2, at byte .* is gone"):
            contents.by_comment.find(root.id)
    assert len(contents) == 1
