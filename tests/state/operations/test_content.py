"""Comments: publishing, editing, options and deletion, by the rules of every hardfork."""

from typing import Any

import pytest

from bench.edits import deletions_differ
from state.chain.chain import Chain
from state.operations.content import (
    AllowedVoteAssets,
    Beneficiary,
    Comment,
    CommentOptions,
    CommentPayoutBeneficiaries,
    DeleteComment,
    VotableAssetInfo,
)
from state.protocol.constants import TIME_MAX
from state.protocol.errors import UnknownKey
from state.protocol.values.asset import SBD, Asset
from state.tables.content import Comment as CommentRow
from state.tables.content import CommentVote
from tests.helpers.chains import MAIN_SPEC, NEWEST, NOW, add_account, add_comment, apply, chain_at, move_to, push, refused

UNKNOWN = UnknownKey().message()
TOKEN = 10_000_000 << 5 | 0x10


def content_chain(hardfork: int = NEWEST, **fields: Any) -> Chain:
    """A chain with Alice, Bob, and Bob's post `b`, to which tests reply."""
    chain = chain_at(hardfork)
    for name in ("alice", "bob"):
        add_account(chain.state, name, vesting_shares=10**12)
    add_comment(chain.state, "bob", "b", parent_permlink="tag", category="tag", **fields)
    return chain


@pytest.fixture
def chain() -> Chain:
    return content_chain()


def alice(chain: Chain, **changes: Any) -> None:
    chain.state.accounts.modify(chain.state.account("alice"), **changes)


def post(permlink: str = "a", parent_permlink: str = "tag", **fields: Any) -> Comment:
    return Comment("", parent_permlink, "alice", permlink, **{"title": "T", "body": "B", "json_metadata": "{}"} | fields)


def reply(permlink: str = "re", parent_permlink: str = "b", parent_author: str = "bob", body: str = "B") -> Comment:
    return Comment(parent_author, parent_permlink, "alice", permlink, "", body)


def row(chain: Chain, author: str, permlink: str) -> CommentRow:
    return chain.state.comments.by_permlink.find(author, permlink)


# ------------------------------------------------------------------ publishing


def test_publishing_a_root(chain: Chain) -> None:
    apply(chain, post())
    comment, author = row(chain, "alice", "a"), chain.state.account("alice")
    assert (comment.parent_author, comment.parent_permlink, comment.category, comment.depth) == ("", "tag", "tag", 0)
    assert comment.root_comment == comment.id
    assert (comment.created, comment.last_update, comment.active, comment.last_payout) == (NOW, NOW, NOW, 0)
    assert (comment.cashout_time, comment.max_cashout_time, comment.reward_weight) == (NOW + 3600, TIME_MAX, 10000)
    content = chain.state.comment_contents.by_comment.find(comment.id)
    assert (content.title, content.body, content.json_metadata) == ("T", "B", "{}")
    assert (author.last_root_post, author.last_post, author.last_post_edit, author.post_count) == (NOW, NOW, NOW, 1)


def test_publishing_a_reply_counts_for_all_above(chain: Chain) -> None:
    apply(chain, reply())
    move_to(chain.state, NOW + 3)
    apply(chain, reply("re2", "re", "alice"))
    deep = row(chain, "alice", "re2")
    assert (deep.parent_author, deep.parent_permlink, deep.category, deep.depth) == ("alice", "re", "tag", 2)
    assert deep.root_comment == row(chain, "bob", "b").id
    assert [(row(chain, *key).children, row(chain, *key).active) for key in (("bob", "b"), ("alice", "re"))] == [(2, NOW + 3), (1, NOW + 3)]
    assert chain.state.account("alice").last_root_post == 0


def test_publishing_refusals(chain: Chain) -> None:
    stranger = Comment("", "tag", "carol", "c", body="B")
    assert refused(chain, stranger) == UNKNOWN
    assert refused(chain, reply(parent_permlink="none")) == UNKNOWN
    chain.state.comments.modify(row(chain, "bob", "b"), depth=65535)
    assert "Comment is nested 65535 posts deep, maximum depth is 65535." in refused(chain, reply())
    assert "JSON Metadata must be UTF-8" in refused(chain, post(json_metadata='"\udcff"'))
    chain.state.comments.modify(row(chain, "bob", "b"), depth=0, allow_replies=False)
    assert "The parent comment has disabled replies." in refused(chain, reply())


def test_publishing_needs_a_pause(chain: Chain) -> None:
    alice(chain, last_root_post=NOW - 300, last_post=NOW - 2)
    assert "You may only post once every 5 minutes." in refused(chain, post())
    assert "You may only comment once every 3 seconds." in refused(chain, reply())
    alice(chain, last_root_post=NOW - 301, last_post=NOW - 3)
    apply(chain, post())
    alice(chain, last_post=NOW - 3)
    apply(chain, reply())


@pytest.mark.parametrize(
    ("hardfork", "root", "replied"),
    [(19, "last_root_post", 20), (12, "last_root_post", 20), (11, "last_post", 20), (6, "last_post", 20)],
)
def test_early_pauses(hardfork: int, root: str, replied: int) -> None:
    chain = content_chain(hardfork)
    alice(chain, **{root: NOW - 300})
    assert "You may only post once every 5 minutes." in refused(chain, post())
    alice(chain, **{root: NOW - 301})
    apply(chain, post())
    alice(chain, last_post=NOW - replied)
    assert "You may only comment once every 20 seconds." in refused(chain, reply())
    alice(chain, last_post=NOW - replied - 1)
    apply(chain, reply())


def test_pauses_before_hardfork_6() -> None:
    chain = content_chain(5)
    alice(chain, last_post=NOW - 60)
    for operation in (post(), reply()):
        assert "You may only post once per minute." in refused(chain, operation)
    alice(chain, last_post=NOW - 61)
    apply(chain, post())


def test_permlinks_of_new_comments(chain: Chain) -> None:
    assert "Permlink is not a valid size." in refused(chain, post(""))
    assert "Permlink is not a valid size." in refused(chain, post(parent_permlink=""))
    assert "Invalid permlink character: A" in refused(chain, post("aAb"))
    assert "Invalid permlink character: _" in refused(chain, post(parent_permlink="a_b"))
    # The parent is looked up by the text before the NUL character. The reply is then refused.
    assert "Invalid permlink character: \0" in refused(chain, reply(parent_permlink="b\0b"))
    early = content_chain(0)
    apply(early, post("A_b", ""))


def test_early_depth_and_closed_discussions() -> None:
    chain = content_chain(16, depth=6)
    assert "Comment is nested 6 posts deep, maximum depth is 6." in refused(chain, reply())
    chain.state.comments.modify(row(chain, "bob", "b"), depth=5, cashout_time=TIME_MAX)
    assert "Discussion is frozen." in refused(chain, reply())
    later = content_chain(17, cashout_time=TIME_MAX)
    apply(later, reply())
    earlier = content_chain(11, cashout_time=TIME_MAX)
    apply(earlier, reply())


def test_early_payout_times_and_weights() -> None:
    chain = content_chain(16)
    apply(chain, post("first"))
    first = row(chain, "alice", "first")
    assert (first.cashout_time, first.reward_weight) == (NOW + 3600, 10000)
    assert chain.state.account("alice").post_bandwidth == 10000
    # Half of a bandwidth of 9 posts has decayed after half a day.
    alice(chain, post_bandwidth=90000, last_root_post=NOW - 43200)
    apply(chain, post("second"))
    assert chain.state.account("alice").post_bandwidth == 55000
    assert row(chain, "alice", "second").reward_weight == 1600000000 * 10000 // 55000**2
    alice(chain, last_post=NOW - 21)
    apply(chain, reply())
    assert (row(chain, "alice", "re").cashout_time, row(chain, "alice", "re").reward_weight) == (TIME_MAX, 10000)
    early = content_chain(11)
    apply(early, post())
    assert row(early, "alice", "a").cashout_time == TIME_MAX
    assert early.state.account("alice").post_bandwidth == 0


def test_main_chain_pays_after_a_week() -> None:
    chain = chain_at(17, MAIN_SPEC)
    add_account(chain.state, "alice")
    apply(chain, post())
    assert row(chain, "alice", "a").cashout_time == NOW + 604800


# ------------------------------------------------------------------ editing


def edit(**fields: Any) -> Comment:
    return post(**{"title": "", "json_metadata": "", "body": "new"} | fields)


@pytest.fixture
def posted(chain: Chain) -> Chain:
    apply(chain, post(body="The quick fox"))
    move_to(chain.state, NOW + 3)
    return chain


def test_editing(posted: Chain) -> None:
    apply(posted, edit())
    comment, state = row(posted, "alice", "a"), posted.state
    content = state.comment_contents.by_comment.find(comment.id)
    assert (content.title, content.body, content.json_metadata) == ("T", "new", "{}")
    assert (comment.created, comment.last_update, comment.active) == (NOW, NOW + 3, NOW + 3)
    author = state.account("alice")
    assert (author.last_post_edit, author.last_post, author.post_count) == (NOW + 3, NOW, 1)
    move_to(state, NOW + 6)
    apply(posted, edit(title="T2", json_metadata='{"a":1}', body="@@ -1,3 +1,3 @@\n-new\n+old\n"))
    assert (content.title, content.body, content.json_metadata) == ("T2", "old", '{"a":1}')


def test_edits_of_a_transaction_share_their_steps(chain: Chain) -> None:
    """A patch that matches nowhere takes more work in a longer text. When a transaction has used up its steps, Bob's post doesn't
    change.
    """
    old, edits = deletions_differ()
    apply(chain, post(body=old), Comment("bob", "b", "bob", "re", "", "The quick fox"))
    mine, his = Comment("", "tag", "alice", "a", "", edits[0]), Comment("bob", "b", "bob", "re", "", "@@ -1,7 +1,5 @@\n-The\n+A\n  qui\n")

    def body() -> str:
        return str(chain.state.comment_contents.by_comment.find(row(chain, "bob", "re").id).body)

    move_to(chain.state, NOW + 3)
    apply(chain, mine, his)
    assert body() == "The quick fox"
    move_to(chain.state, NOW + 6)
    apply(chain, his)
    assert body() == "A quick fox"


def test_editing_refusals(posted: Chain) -> None:
    move_to(posted.state, NOW + 2)
    assert "Can only perform one comment edit per block." in refused(posted, edit())
    move_to(posted.state, NOW + 3)
    assert "The parent of a comment cannot change." in refused(posted, reply("a"))
    assert "The permlink of a comment cannot change." in refused(posted, edit(parent_permlink="gat"))
    assert "The permlink of a comment cannot change." in refused(posted, edit(parent_permlink="tag\0x"))
    apply(posted, reply())
    move_to(posted.state, NOW + 6)
    assert "The parent of a comment cannot change." in refused(posted, edit(permlink="re"))
    assert "The parent of a comment cannot change." in refused(posted, reply("re", "a", "alice"))


def test_editing_before_hardfork_21() -> None:
    chain = content_chain(20)
    apply(chain, post())
    assert "Can only perform one comment edit per block." in refused(chain, edit(), by=push)
    apply(chain, edit())
    assert "The permlink of a comment cannot change." in refused(chain, edit(parent_permlink="tags"))
    for same in ("gat", "tag\0x"):
        apply(chain, edit(parent_permlink=same))


def test_early_archives() -> None:
    chain = content_chain(16, cashout_time=TIME_MAX)
    again = Comment("", "tag", "bob", "b", body="new")
    assert "The comment is archived." in refused(chain, again)
    early = content_chain(13, cashout_time=TIME_MAX, last_payout=1)
    assert "Can only edit during the first 24 hours." in refused(early, again)
    for hardfork in (17, 9):
        apply(content_chain(hardfork, cashout_time=TIME_MAX, last_payout=1), again)


# ------------------------------------------------------------------ options


def options(
    payout: int = 1_000_000_000, dollars: int = 10000, votes: bool = True, curation: bool = True, *extensions: Any
) -> CommentOptions:
    return CommentOptions("bob", "b", Asset(payout, SBD), dollars, votes, curation, extensions)


def shared(*names: str) -> CommentPayoutBeneficiaries:
    return CommentPayoutBeneficiaries(tuple(Beneficiary(name, 1000) for name in names))


def with_extension(extension: Any) -> CommentOptions:
    return options(1_000_000_000, 10000, True, True, extension)


def test_options_are_stored(chain: Chain) -> None:
    apply(chain, options(5, 6, False, False, shared("alice", "bob")))
    comment = row(chain, "bob", "b")
    assert (comment.max_accepted_payout, comment.percent_coin_dollars) == (5, 6)
    assert (comment.allow_votes, comment.allow_curation_rewards) == (False, False)
    assert [(b.account, b.weight) for b in comment.beneficiaries] == [("alice", 1000), ("bob", 1000)]


def test_options_only_tighten(chain: Chain) -> None:
    comment = row(chain, "bob", "b")
    chain.state.comments.modify(comment, max_accepted_payout=5, percent_coin_dollars=6, allow_votes=False, allow_curation_rewards=False)
    assert "Curation rewards cannot be re-enabled." in refused(chain, options(5, 6, False, True))
    assert "Voting cannot be re-enabled." in refused(chain, options(5, 6, True, False))
    assert "A comment cannot accept a greater payout." in refused(chain, options(6, 6, False, False))
    assert "A comment cannot accept a greater percent SBD." in refused(chain, options(5, 7, False, False))
    apply(chain, options(5, 6, False, False))
    assert refused(chain, CommentOptions("bob", "none")) == UNKNOWN


def test_options_of_a_comment_with_votes(chain: Chain) -> None:
    chain.state.comments.modify(row(chain, "bob", "b"), abs_rshares=1)
    for operation in (options(1), options(votes=False), options(curation=False)):
        assert "requires the comment to have no rshares allocated to it." in refused(chain, operation)
    assert "must not have been voted on before specifying beneficiaries." in refused(chain, with_extension(shared("alice")))
    tokens = with_extension(AllowedVoteAssets(((TOKEN, VotableAssetInfo()),)))
    assert "must not have been voted on before specifying allowed vote assets." in refused(chain, tokens)
    apply(chain, options(dollars=1))


def test_beneficiaries(chain: Chain) -> None:
    assert 'Beneficiary "carol" must exist.' in refused(chain, with_extension(shared("alice", "carol")))
    apply(chain, with_extension(shared("alice")))
    assert "Comment already has beneficiaries specified." in refused(chain, with_extension(shared("bob")))


def test_vote_assets_add_up(chain: Chain) -> None:
    allowed = AllowedVoteAssets(((TOKEN, VotableAssetInfo(7)),))
    apply(chain, with_extension(allowed))
    apply(chain, with_extension(allowed))
    assert row(chain, "bob", "b").allowed_vote_assets == allowed.votable_assets * 2


# ------------------------------------------------------------------ deleting


def test_deleting(chain: Chain) -> None:
    apply(chain, reply())
    comment = row(chain, "alice", "re")
    chain.state.comment_votes.insert(CommentVote(voter=chain.state.account("bob").id, comment=comment.id))
    move_to(chain.state, NOW + 9)
    apply(chain, DeleteComment("alice", "re"))
    parent = row(chain, "bob", "b")
    assert (parent.children, parent.active) == (0, NOW + 9)
    assert (len(chain.state.comments), len(chain.state.comment_votes), len(chain.state.comment_contents)) == (1, 0, 2)


def test_deleting_refusals(chain: Chain) -> None:
    delete, comment, comments = DeleteComment("bob", "b"), row(chain, "bob", "b"), chain.state.comments
    assert refused(chain, DeleteComment("bob", "none")) == UNKNOWN
    comments.modify(comment, children=1)
    assert "Cannot delete a comment with replies." in refused(chain, delete)
    comments.modify(comment, children=0, cashout_time=TIME_MAX)
    assert "comment.cashout_time != fc::time_point_sec::maximum()" in refused(chain, delete)
    comments.modify(comment, cashout_time=NOW, net_rshares=1)
    assert "Cannot delete a comment with net positive votes." in refused(chain, delete)
    comments.modify(comment, net_rshares=-1)
    apply(chain, delete)


def test_deleting_before_hardfork_19() -> None:
    chain = content_chain(18, net_rshares=1)
    apply(chain, DeleteComment("bob", "b"))
    assert len(chain.state.comments) == 1
    chain.state.comments.modify(row(chain, "bob", "b"), net_rshares=0, cashout_time=TIME_MAX)
    apply(chain, DeleteComment("bob", "b"))
    assert len(chain.state.comments) == 0


def test_deleting_before_hardfork_6_leaves_the_count() -> None:
    chain = content_chain(5)
    apply(chain, reply())
    apply(chain, DeleteComment("alice", "re"))
    assert row(chain, "bob", "b").children == 1
