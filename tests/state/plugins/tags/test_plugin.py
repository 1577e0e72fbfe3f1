"""Compares the plugin tags with a simple model that keeps one row per tag, on recorded cases. Also tests metadata and promotion."""

import json
import random
from math import log10
from typing import Any

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.effects.comments import comment_of, find_comment, payout_time
from state.operations.content import Comment, DeleteComment, Vote
from state.operations.transfers import Transfer
from state.plugins.tags.index import Tags
from state.plugins.tags.lists import ORDERS, discussions, promotion_of, tags_by_author, tags_of, trending_tags, walk
from state.plugins.tags.metadata import named_tags
from state.plugins.tags.plugin import TAGS, forget_deleted, on_comment, on_payout, on_reward, on_vote, promote
from state.plugins.tags.rows import hot, trending
from state.plugins.tags.view import PLACES_MAX, TagView
from state.protocol.constants import TIME_MAX
from state.protocol.values.asset import SBD, Asset
from state.protocol.virtual import CommentPayoutUpdate, CommentReward
from state.store import Journal
from state.store.lazy.dirty import DirtyRows
from state.tables import State
from state.tables.accounts import Accounts
from state.tables.content import Comment as CommentRow
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.chains import add_account, add_comment, chain_at, move_to

MODELLED = ["discussions", "posts", "threads", "natural_hardforks", "rewards", "vote_rules"]
SHOWN = ("active", "children", "net_rshares", "net_votes")


class Model:
    """Model of the reference's rules (block-processing.md §7.6): one row per tag, updated at each event."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.rows: list[dict[str, Any]] = []
        self.stats: dict[str, dict[str, int]] = {}
        self.uses: dict[tuple[str, str], int] = {}
        on = state.listeners.on_operation
        on(self.deleted, DeleteComment, after=False)
        on(lambda _, operation: self.update(self.find(operation), bool(operation.json_metadata)), Comment)
        on(lambda _, operation: self.update(self.find(operation)), Vote, CommentPayoutUpdate)
        on(self.rewarded, CommentReward)
        on(self.transferred, Transfer)

    def find(self, operation: Any) -> CommentRow:
        return comment_of(self.state, operation.author, operation.permlink)

    def of(self, comment: CommentRow) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["comment"] == comment.id]

    def count(self, row: dict[str, Any], sign: int) -> None:
        stats = self.stats.setdefault(row["tag"], {"posts": 0, "comments": 0, "votes": 0, "trending": 0, "payout": 0})
        stats["posts" if row["parent"] == 0 else "comments"] += sign
        stats["votes"] += sign * row["net_votes"]
        stats["trending"] += sign * max(int(row["trending"]), 0)

    def values(self, comment: CommentRow) -> dict[str, Any]:
        shown = {name: getattr(comment, name) for name in SHOWN}
        units = abs(comment.net_rshares) // 10**7 * (1 if comment.net_rshares > 0 else -1)
        sign = (units > 0) - (units < 0)
        order = sign * log10(max(abs(units), 1))
        return shown | {"hot": order + comment.created / 10_000, "trending": order + comment.created / 480_000}

    def refresh(self, row: dict[str, Any], comment: CommentRow) -> None:
        self.count(row, -1)
        if comment.cashout_time == TIME_MAX:
            self.rows.remove(row)
            return
        row |= self.values(comment) | {"cashout": payout_time(self.state, comment)}
        self.count(row, 1)

    def update(self, comment: CommentRow, parse: bool = False) -> None:
        if parse:
            self.retag(comment)
        else:
            for row in self.of(comment):
                self.refresh(row, comment)
        if comment.parent_author:
            self.update(comment_of(self.state, comment.parent_author, comment.parent_permlink))

    def retag(self, comment: CommentRow) -> None:
        wanted = self.wanted(comment)
        gone = [row for row in self.of(comment) if row["tag"] not in wanted]
        for tag in wanted:
            known = next((row for row in self.of(comment) if row["tag"] == tag), None)
            if known is not None:
                self.refresh(known, comment)
                continue
            parent = comment_of(self.state, comment.parent_author, comment.parent_permlink).id if comment.parent_author else 0
            row: dict[str, Any] = {"tag": tag, "comment": comment.id, "parent": parent, "created": comment.created, "promoted": 0}
            row |= self.values(comment) | {"cashout": comment.cashout_time}
            self.rows.append(row)
            self.count(row, 1)
            self.uses[comment.author, tag] = self.uses.get((comment.author, tag), 0) + 1
        for row in gone:
            self.rows.remove(row)
            self.uses[comment.author, str(row["tag"])] -= 1

    def wanted(self, comment: CommentRow) -> list[str]:
        metadata = self.state.comment_contents.by_comment.find(comment.id).json_metadata
        return sorted({*named_tags(metadata)} | ({""} if comment.net_rshares >= 0 else set()))

    def rewarded(self, state: State, operation: CommentReward) -> None:
        comment = self.find(operation)
        self.update(comment)
        for tag in self.wanted(comment):
            self.stats.setdefault(tag, {"posts": 0, "comments": 0, "votes": 0, "trending": 0, "payout": 0})
            self.stats[tag]["payout"] += operation.payout.amount

    def deleted(self, state: State, operation: DeleteComment) -> None:
        comment = find_comment(state, operation.author, operation.permlink)
        if comment is not None:
            self.rows = [row for row in self.rows if row["comment"] != comment.id]

    def transferred(self, state: State, operation: Transfer) -> None:
        parts = operation.memo.split("/")
        if operation.to == "null" and operation.amount.symbol == SBD and len(parts) > 1 and parts[0][:1] == "@":
            comment = find_comment(state, parts[0][1:], parts[1])
            for row in self.of(comment) if comment is not None and not comment.parent_author else []:
                row["promoted"] += operation.amount.amount


def entries_of(data: Tags) -> list[dict[str, Any]]:
    """Return all entries in the model's form, in the order of their numbers."""
    names = ("comment", "parent", "created", "cashout", *SHOWN)
    found = [
        {name: getattr(row, name) for name in names}
        | {"tag": tag, "number": number, "promoted": promoted}
        | {"hot": hot(row.net_rshares, row.created), "trending": trending(row.net_rshares, row.created)}
        for row in data.tagged
        for tag, number, promoted in row.places
    ]
    return sorted(found, key=lambda entry: entry.pop("number"))


def assert_lists_agree(state: State, rows: list[dict[str, Any]]) -> None:
    """Assert that the lists of each tag equal the model's rows, sorted."""
    for tag in {row["tag"] for row in rows}:
        for order in ("trending", "hot", "created", "active", "children"):
            for parent in {row["parent"] for row in rows if row["tag"] == tag}:
                listed = [row for row in rows if row["tag"] == tag and row["parent"] == parent]
                expected = [row["comment"] for row in sorted(listed, key=lambda row: -row[order])]
                assert [item // PLACES_MAX for item in walk(state, ORDERS[order], tag, parent, None, 0)] == expected


def assert_agrees(model: Model, data: Tags, accounts: Accounts) -> None:
    """Assert that the plugin and the model have equal entries, in the order of their numbers, and equal counts of tags and of authors'
    uses.
    """
    entries = entries_of(data)
    assert entries == [{name: row[name] for name in entries[0]} for row in model.rows] if entries else not model.rows
    counted = {
        row.tag: {
            "posts": row.top_posts,
            "comments": row.comments,
            "votes": row.net_votes,
            "trending": row.total_trending,
            "payout": row.total_payout,
        }
        for row in data.view.all_totals()
    }
    assert counted == model.stats
    assert {(accounts.find(author).name, tag): count for author, own in data.authors for tag, count in own.items()} == model.uses


def played(case: str) -> tuple[Player, Model]:
    """Return a player at the start of a case, and a model that receives the same events."""
    player = Player(CASES / case)
    return player, Model(player.chain.state)


@pytest.mark.parametrize("case", MODELLED)
def test_plugin_agrees_with_the_model_after_every_block(case: str) -> None:
    player, model = played(case)
    data = TAGS.of(player.chain.state)
    most = 0
    for block in player.blocks():
        player.chain.push_block(block)
        assert_agrees(model, data, player.chain.state.accounts)
        assert_lists_agree(player.chain.state, model.rows)
        assert {row.tag: row.total_trending for row in trending_tags(player.chain.state, "", 1000)} == {
            tag: stats["trending"] for tag, stats in model.stats.items()
        }
        most = max(most, len(model.rows))
    assert most > 1


# ------------------------------------------------------------------ single rules


def chain_of(*names: str) -> Chain:
    """A chain with this plugin and these accounts."""
    chain = chain_at(plugins=[TAGS.name])
    for name in names:
        add_account(chain.state, name)
    return chain


def write(state: State, author: str, permlink: str, *named: str, parent: CommentRow | None = None, **fields: Any) -> CommentRow:
    """Write a comment with these tags, and pass it to the plugin as the chain does."""
    comment = add_comment(state, author, permlink, parent, **fields)
    edit(state, comment, *named)
    return comment


def edit(state: State, comment: CommentRow, *named: str) -> None:
    """Change the tags of a comment."""
    metadata = json.dumps({"tags": named})
    state.comment_contents.modify(state.comment_contents.by_comment.find(comment.id), json_metadata=metadata)
    on_comment(state, TAGS.of(state), Comment(author=comment.author, permlink=comment.permlink, json_metadata=metadata))


def vote(state: State, comment: CommentRow, rshares: int) -> None:
    """Add a vote to a comment, set the comment's rshares, and pass the vote to the plugin."""
    state.comments.modify(comment, net_rshares=rshares, net_votes=comment.net_votes + 1)
    on_vote(state, TAGS.of(state), Vote(author=comment.author, permlink=comment.permlink))


def found(state: State, order: str, tag: str = "", limit: int = 10, **options: Any) -> list[str]:
    """Return the permlinks of the posts in a list."""
    return [state.comments.find(entry.comment).permlink for entry in discussions(state, order, tag, limit, **options)]


def test_an_edit_changes_tags_and_keeps_counts() -> None:
    state = chain_of("amy").state
    post = write(state, "amy", "post", "art", "fun")
    numbers = [number for _, number, _ in TAGS.of(state).tagged.by_comment.find(post.id).places]
    edit(state, post, "fun", "new")
    assert tags_of(state, post.id) == ("", "fun", "new")
    assert [number for _, number, _ in TAGS.of(state).tagged.by_comment.find(post.id).places] == [numbers[0], numbers[2], 3]
    counts = {row.tag: row.top_posts for row in trending_tags(state, "", 10)}
    assert counts == {"": 1, "art": 1, "fun": 1, "new": 1}
    assert {(row.tag, row.total_posts) for row in tags_by_author(state, "amy")} == {("", 1), ("art", 0), ("fun", 1), ("new", 1)}


def test_a_post_without_metadata_has_no_entries() -> None:
    state = chain_of("amy").state
    post = add_comment(state, "amy", "post")
    on_comment(state, TAGS.of(state), Comment(author="amy", permlink="post"))
    assert (tags_of(state, post.id), promotion_of(state, post.id), found(state, "created")) == ((), None, [])


def test_votes_sort_at_once_and_a_negative_sum_counts_at_the_next_edit() -> None:
    state = chain_of("amy").state
    posts = [write(state, "amy", f"post-{n}", "art") for n in range(3)]
    for post, rshares in zip(posts, (10**9, 10**12, -(10**9)), strict=True):
        vote(state, post, rshares)
    assert found(state, "trending", "art") == ["post-1", "post-0"]
    assert found(state, "created", "art") == ["post-0", "post-1", "post-2"]
    vote(state, posts[0], 10**15)
    assert found(state, "trending") == ["post-0", "post-1"]
    assert found(state, "votes", "art") == ["post-0", "post-1", "post-2"]
    edit(state, posts[2], "art")
    assert tags_of(state, posts[2].id) == ("art",)


def test_lists_of_replies_starts_limits_and_hidden_tags() -> None:
    state = chain_of("amy").state
    write(state, "amy", "first")
    root = write(state, "amy", "root", "art")
    replies = [write(state, "amy", f"reply-{n}", "art", parent=root) for n in range(3)]
    other = write(state, "amy", "other", "fun")
    assert found(state, "created", "art") == ["root"]
    assert found(state, "created", "art", parent=root.id) == ["reply-0", "reply-1", "reply-2"]
    assert found(state, "created", "art", parent=root.id, start=replies[1].id) == ["reply-1", "reply-2"]
    assert found(state, "created", "art", limit=2, parent=root.id) == ["reply-0", "reply-1"]
    assert found(state, "created", "art", start=replies[1].id) == [], "a list that begins at a reply holds no posts"
    assert found(state, "created", "art", start=other.id) == ["root"], "a start without the tag doesn't count"
    assert found(state, "created", hidden=frozenset({"fun"})) == ["first", "root"]
    assert found(state, "created", limit=0) == []


def test_a_list_examines_ten_entries_per_requested_one() -> None:
    state = chain_of("amy").state
    for n in range(11):
        vote(state, write(state, "amy", f"post-{n}", created=state.head_time + n * 100_000), 10**9 if n == 0 else -1)
    assert found(state, "hot", limit=1) == []
    assert found(state, "hot", limit=2) == ["post-0"]


def test_lists_by_payout_hold_posts_or_replies() -> None:
    state = chain_of("amy").state
    write(state, "amy", "first")
    root = write(state, "amy", "root", "art")
    reply = write(state, "amy", "reply", "art", parent=root)
    vote(state, root, 10)
    vote(state, reply, 20)
    assert found(state, "post_payout", "art") == ["root"]
    assert found(state, "comment_payout", "art") == ["reply"]
    later = write(state, "amy", "later", "art", cashout_time=state.head_time + 7200)
    assert found(state, "cashout", "art") == ["root", "later"]
    assert found(state, "cashout", "art", since=later.cashout_time) == ["later"]


def test_before_hardfork_17_a_new_reply_has_no_time_of_payout_and_leaves_with_its_first_update() -> None:
    chain = chain_at(16, plugins=[TAGS.name])
    state = chain.state
    add_account(state, "amy")
    root = write(state, "amy", "root", "art", cashout_time=state.head_time + 3600)
    reply = write(state, "amy", "reply", "art", parent=root, cashout_time=TIME_MAX)
    times = {row.comment: row.cashout for row in TAGS.of(state).tagged if "art" in row.tags}
    assert times == {root.id: root.cashout_time, reply.id: TIME_MAX}
    vote(state, reply, 10)
    assert found(state, "created", "art") == ["root"]


def test_promotion_is_sbd_sent_to_null_with_a_post_in_the_memo() -> None:
    state = chain_of("amy").state
    post = write(state, "amy", "post", "art")
    write(state, "amy", "reply", "art", parent=post)
    for amount, to, symbol, memo in (
        (5, "null", SBD, "@amy/post/more"),
        (7, "null", SBD, "@amy/post"),
        (100, "bob", SBD, "@amy/post"),
        (100, "null", Asset().symbol, "@amy/post"),
        (100, "null", SBD, "amy/post"),
        (100, "null", SBD, "@amy"),
        (100, "null", SBD, "@amy/reply"),
        (100, "null", SBD, "@amy/none"),
    ):
        promote(state, TAGS.of(state), Transfer(to=to, amount=Asset(amount, symbol), memo=memo))
    assert promotion_of(state, post.id) == 12
    assert found(state, "promoted", "art") == ["post"]
    edit(state, post, "art", "fun")
    assert found(state, "promoted", "fun") == [], "an entry that is new was not promoted"


def test_paid_posts_leave_lists_until_they_are_edited() -> None:
    state = chain_of("amy").state
    write(state, "amy", "first")
    post = write(state, "amy", "post", "art")
    reply = write(state, "amy", "reply", "art", parent=post)
    on_reward(state, TAGS.of(state), CommentReward(author="amy", permlink="post", payout=Asset(50, SBD)))
    state.comments.modify(post, cashout_time=TIME_MAX)
    on_payout(state, TAGS.of(state), CommentPayoutUpdate(author="amy", permlink="post"))
    assert found(state, "created", "art") == []
    assert [(row.tag, row.total_payout, row.top_posts, row.comments) for row in trending_tags(state, "art", 10)] == [("art", 50, 0, 1)]
    edit(state, post, "art")
    assert found(state, "created", "art") == ["post"]
    vote(state, reply, 10**9)
    assert found(state, "created", "art") == [], "something below it has changed"


def test_a_deleted_reply_is_counted_below_its_root_until_something_changes_there() -> None:
    state = chain_of("amy").state
    root = write(state, "amy", "root", "art")
    replies = [write(state, "amy", f"reply-{n}", parent=root) for n in range(2)]
    state.comments.modify(root, children=2)
    vote(state, root, 5)
    forget_deleted(state, TAGS.of(state), DeleteComment(author="amy", permlink="reply-0"))
    state.comments.remove(replies[0])
    move_to(state, state.head_time + 3)
    state.comments.modify(root, children=1, active=state.head_time)
    assert [TAGS.of(state).tagged.by_comment.find(entry.comment).children for entry in discussions(state, "children", "art", 10)] == [2]
    vote(state, replies[1], 5)
    assert [TAGS.of(state).tagged.by_comment.find(entry.comment).children for entry in discussions(state, "children", "art", 10)] == [1]


def all_lists(state: State, tags: tuple[str, ...]) -> list[object]:
    """Return all lists of these tags, and the totals of all tags."""
    parents = (0, *(row.id for row in state.comments if row.children))
    lists = [discussions(state, order, tag, 100, parent=parent) for order in ORDERS for tag in tags for parent in parents]
    return [*lists, [structs.astuple(row) for row in trending_tags(state, "", 100)]]


@pytest.mark.parametrize("seed", range(3))
def test_lists_that_follow_changes_and_undo_equal_fresh_ones(seed: int) -> None:
    chance, state = random.Random(seed), chain_of("amy").state
    kept, some = TAGS.of(state), ("", "art", "fun", "x" * 32)
    followed, seen = kept.view, set[str]()
    write(state, "amy", "first", "art")
    for step in range(150):
        position = state.journal.position()
        for change in range(chance.randrange(1, 5)):
            row = chance.choice(list(state.comments))
            tags = chance.sample(("art", "fun", "x" * 33, "x" * 34, "new"), 3)
            match chance.randrange(6):
                case 0:
                    edit(state, row, *tags)
                case 1 if not row.children and row.id:
                    forget_deleted(state, kept, DeleteComment(author="amy", permlink=row.permlink))
                    parent = find_comment(state, row.parent_author, row.parent_permlink)
                    state.comments.remove(row)
                    if parent is not None:
                        state.comments.modify(parent, children=parent.children - 1)
                case 2:
                    vote(state, row, chance.randrange(-(10**9), 10**12))
                case 3:
                    promote(state, kept, Transfer(to="null", amount=Asset(chance.randrange(9), SBD), memo=f"@amy/{row.permlink}"))
                case 4 if chance.random() < 0.3:
                    state.comments.modify(row, cashout_time=TIME_MAX)
                    on_payout(state, kept, CommentPayoutUpdate(author="amy", permlink=row.permlink))
                case _:
                    parent = chance.choice((None, row))
                    write(state, "amy", f"post-{step}-{change}", *tags, parent=parent)
                    if parent is not None:
                        state.comments.modify(parent, children=parent.children + 1)
        if chance.random() < 0.5:
            all_lists(state, some)
        if chance.random() < 0.4:
            state.journal.undo(position)
        found = all_lists(state, some)
        changed, used = DirtyRows(Journal().record, lambda: state.comments.next_id), DirtyRows(Journal().record, lambda: kept.rests.next_id)
        kept.view = TagView(kept.tagged, kept.rests, changed, used, state.journal.read_mode)
        assert all_lists(state, some) == found
        kept.view = followed
        seen.add(repr(found))
    assert len(seen) > 75


def test_long_tags_are_cut_and_replaced_by_every_edit() -> None:
    state = chain_of("amy").state
    post = write(state, "amy", "post", "x" * 40)
    assert tags_of(state, post.id) == ("", "x" * 32)
    edit(state, post, "x" * 40)
    assert [number for _, number, _ in TAGS.of(state).tagged.by_comment.find(post.id).places] == [0, 2]


def test_tags_from_a_name_on() -> None:
    state = chain_of("amy").state
    write(state, "amy", "one", "art", "fun")
    vote(state, write(state, "amy", "two", "fun"), 10**12)
    assert [row.tag for row in trending_tags(state, "", 10)] == ["", "fun", "art"]
    assert [row.tag for row in trending_tags(state, "b", 10)] == ["fun", "art"]
    assert [row.tag for row in trending_tags(state, "art", 10)] == ["art"]
    assert [row.tag for row in trending_tags(state, "", 1)] == [""]
    assert trending_tags(state, "zoo", 10) == []
