"""The plugin follow: the formats of its operations, the numbers of blog and feed entries, and the removal of entries when their
post is deleted or when they are too old.
"""

import json
from typing import Any

import pytest

from state.chain.chain import Chain
from state.operations.content import Comment, DeleteComment
from state.operations.custom import CustomBinary, CustomJson
from state.plugins.follow.feeds import FEED_SIZE_MAX
from state.plugins.follow.lists import blog_authors, follow_count, followed, followers, known_reputations, reblogged_by
from state.plugins.follow.operations import FollowOperation, InnerKind, ReblogOperation
from state.plugins.follow.plugin import FOLLOW, interpret, spread
from state.plugins.follow.rows import BLOG, IGNORE
from state.plugins.reputation import REPUTATION
from state.protocol.codec.kinds import Many
from state.protocol.errors import ChainError
from state.tables import State
from tests.helpers.chains import UNSIGNED, add_account, add_comment, apply, chain_at, move_to, push, refused, transaction
from tests.helpers.snapshots import snapshot


def chain_of(*names: str) -> Chain:
    """A chain with this plugin and these accounts."""
    chain = chain_at(plugins=[FOLLOW.name])
    for name in names:
        add_account(chain.state, name, vesting_shares=10**12)
    return chain


def custom(signer: str, value: Any, **fields: Any) -> CustomJson:
    """Return a custom operation for the plugin."""
    text = value if isinstance(value, str) else json.dumps(value)
    return CustomJson(required_posting_auths=(signer,), id="follow", json=text, **fields)


def follows(follower: str, following: str, *what: str) -> CustomJson:
    """Return a follow operation as clients send it."""
    return custom(follower, ["follow", {"follower": follower, "following": following, "what": what}])


def reblogs(account: str, author: str, permlink: str = "post") -> CustomJson:
    """Return a reblog operation as clients send it."""
    return custom(account, ["reblog", {"account": account, "author": author, "permlink": permlink}])


def relations(state: State) -> list[tuple[str, str, int]]:
    """Return all relations, including former ones."""
    return [(row.follower, row.following, row.what) for row in FOLLOW.of(state).follows]


def post(chain: Chain, author: str, permlink: str = "post") -> int:
    """Write a post of an account, and return its comment id."""
    comment = add_comment(chain.state, author, permlink)
    spread(chain.state, FOLLOW.of(chain.state), Comment(author=author, permlink=permlink))
    return comment.id


def feed_of(state: State, account: str) -> list[tuple[int, int]]:
    """Return the numbers and comment ids of a feed's entries, newest first."""
    return [(entry.number, entry.comment) for entry in FOLLOW.of(state).feeds.newest_first(account)]


def blog_of(state: State, account: str) -> list[tuple[int, int]]:
    """Return the numbers and comment ids of a blog's entries, newest first."""
    return [(entry.number, entry.comment) for entry in FOLLOW.of(state).blogs.newest_first(account)]


# ------------------------------------------------------------------ relations


def test_following_ignoring_and_neither() -> None:
    chain = chain_of("amy", "bob")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"))
    assert relations(state) == [("amy", "bob", BLOG)]
    assert (follow_count(state, "amy"), follow_count(state, "bob")) == ((0, 1), (1, 0))
    apply(chain, follows("amy", "bob", "blog", "whatever"))
    assert follow_count(state, "bob") == (1, 0)
    apply(chain, follows("amy", "bob", "ignore"))
    assert relations(state) == [("amy", "bob", IGNORE)]
    assert (follow_count(state, "amy"), follow_count(state, "bob")) == ((0, 0), (0, 0))
    apply(chain, follows("amy", "bob"))
    assert relations(state) == [("amy", "bob", 0)]
    assert [row.follower for row in followers(state, "bob", "", 0)] == ["amy"]
    assert list(followers(state, "bob", "", BLOG)) == []


def test_lists_begin_at_a_name_and_stay_with_their_account() -> None:
    chain = chain_of("amy", "bob", "cid", "dan")
    for follower in ("cid", "amy", "dan"):
        apply(chain, follows(follower, "bob", "blog"))
    apply(chain, follows("amy", "dan", "ignore"))
    assert [row.follower for row in followers(chain.state, "bob", "b", BLOG)] == ["cid", "dan"]
    assert [row.following for row in followed(chain.state, "amy", "", 0)] == ["bob", "dan"]
    assert [row.following for row in followed(chain.state, "amy", "bobby", 0)] == ["dan"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["follow", {"follower": "amy", "following": "amy"}], "You cannot follow yourself"),
        (["follow"], "You cannot follow yourself"),
        (["follow", {"follower": "amy", "following": "bob", "what": ["blog", "ignore"]}], "Cannot follow blog and ignore author"),
        (["follow", {"follower": "bob", "following": "amy"}], "inner_posting == outer_posting: "),
        (["follow_operation", {"follower": "amy", "following": "bob"}], "Invalid operation name: follow_operation"),
        ([-1, {"follower": "amy", "following": "bob"}], "Invalid operation name: -1"),
        ([2, {"follower": "amy", "following": "bob"}], "w < count() && w >= 0: "),
        ({"type": -1, "value": {}}, "w < count() && w >= 0: "),
        ({"type": "follow", "value": {}}, "Invalid object name: follow"),
        ({"value": {}}, "Type field doesn't exist."),
        ({"type": 0}, "Value field doesn't exist."),
        (5, "Input data have to treated as object."),
        ([["follow", {"follower": "amy", "following": "bob"}], 5], "Input data have to treated as object."),
        (["reblog", {"account": "amy", "author": "amy"}], "You cannot reblog your own content"),
        (["reblog", {"account": "amy", "author": "bob", "permlink": "none"}], "unknown key:unknown key: "),
        ("{", "Parse Error:"),
    ],
)
def test_pushed_operations_are_refused_and_those_in_blocks_skipped(value: Any, text: str) -> None:
    chain = chain_of("amy", "bob")
    operation = custom("amy", value)
    if value == "{":
        with pytest.raises(ChainError):
            operation.validate(chain.state.wire.codecs)
        return
    assert text in refused(chain, operation, by=push)
    before = snapshot(FOLLOW.of(chain.state))
    apply(chain, operation)
    assert snapshot(FOLLOW.of(chain.state)) == before


def test_signatures_are_exactly_those_needed() -> None:
    chain = chain_of("amy", "bob")
    both = custom("amy", ["follow", {"follower": "amy", "following": "bob", "what": ["blog"]}], required_auths=("bob",))
    with pytest.raises(ChainError, match="inner_active == outer_active: "):
        interpret(chain.state, FOLLOW.of(chain.state), both)


@pytest.mark.parametrize(
    "value",
    [
        ["follow", {"follower": "amy", "following": "bob", "what": ["blog"]}],
        [0, {"follower": "amy", "following": "bob", "what": ["blog"]}],
        ["follow", {"follower": "amy", "following": "bob", "what": ["blog"]}, "more"],
        [["follow", {"follower": "amy", "following": "bob", "what": ["blog"]}]],
        {"type": "follow_operation", "value": {"follower": "amy", "following": "bob", "what": ["blog"]}},
        {"type": 0, "value": {"follower": "amy", "following": "bob", "what": ["blog"]}},
    ],
)
def test_forms(value: Any) -> None:
    chain = chain_of("amy", "bob")
    push(chain, custom("amy", value))
    assert relations(chain.state) == [("amy", "bob", BLOG)]


def test_packed_forms() -> None:
    chain = chain_of("amy", "bob")
    codecs, inner = chain.state.wire.codecs, FollowOperation("amy", "bob", ("blog",))
    other = ReblogOperation("amy", "bob", "post")
    post(chain, "bob")
    single, several = codecs.packer(InnerKind), codecs.packer(Many(InnerKind))
    apply(chain, CustomBinary(required_posting_auths=("amy",), id="follow", data=single(inner)))
    assert relations(chain.state) == [], "the reference reads it as no operations at all"
    apply(chain, CustomBinary(required_posting_auths=("amy",), id="follow", data=several((inner,))))
    assert relations(chain.state) == [("amy", "bob", BLOG)]
    apply(chain, CustomBinary(required_posting_auths=("amy",), id="follow", data=single(other)))
    assert reblogged_by(chain.state, 0) == ["amy", "bob"]


def test_a_bare_object_counts_in_blocks_only() -> None:
    chain = chain_of("amy", "bob", "cid")
    bare = {"follower": "amy", "following": "bob", "what": ["blog"]}
    assert "Type field doesn't exist." in refused(chain, custom("amy", bare), by=push)
    apply(chain, custom("amy", bare))
    assert relations(chain.state) == [("amy", "bob", BLOG)]
    apply(chain, custom("cid", bare))
    assert relations(chain.state) == [("amy", "bob", BLOG)], "signed by somebody else"
    push(
        chain, custom("amy", {"type": 0, "value": {"follower": "amy", "following": "cid", "what": ["blog"]}} | bare | {"what": ["ignore"]})
    )
    assert relations(chain.state) == [("amy", "bob", IGNORE), ("amy", "cid", BLOG)]


def test_a_failing_operation_of_a_list_undoes_the_others() -> None:
    chain = chain_of("amy", "bob")
    inner = [["follow", {"follower": "amy", "following": "bob"}], ["reblog", {"account": "amy", "author": "bob", "permlink": "none"}]]
    apply(chain, custom("amy", inner))
    assert relations(chain.state) == []


# ------------------------------------------------------------------ blogs and feeds


def test_posts_come_into_blog_and_feeds() -> None:
    chain = chain_of("amy", "bob", "cid")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"), follows("cid", "bob", "ignore"))
    first, second = post(chain, "bob", "one"), post(chain, "bob", "two")
    assert blog_of(state, "bob") == feed_of(state, "amy") == [(1, second), (0, first)]
    assert (feed_of(state, "cid"), feed_of(state, "bob")) == ([], [])
    assert [entry.number for entry in FOLLOW.of(state).feeds.newest_first("amy", 0)] == [0]
    assert [entry.number for entry in FOLLOW.of(state).blogs.newest_first("bob", 0)] == [0]


def test_an_edit_in_the_same_block_adds_new_followers() -> None:
    chain = chain_of("amy", "bob", "cid")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"))
    written = post(chain, "bob")
    apply(chain, follows("cid", "bob", "blog"))
    edit = Comment(author="bob", permlink="post")
    spread(state, FOLLOW.of(state), edit)
    assert feed_of(state, "amy") == feed_of(state, "cid") == blog_of(state, "bob") == [(0, written)]
    apply(chain, follows("bob", "cid", "blog"))
    move_to(state, state.head_time + 3)
    spread(state, FOLLOW.of(state), edit)
    assert feed_of(state, "cid") == [(0, written)]


def test_replies_are_in_no_list() -> None:
    chain = chain_of("amy", "bob")
    apply(chain, follows("amy", "bob", "blog"))
    parent = add_comment(chain.state, "amy", "post")
    add_comment(chain.state, "bob", "re-post", parent)
    spread(chain.state, FOLLOW.of(chain.state), Comment(parent_author="amy", parent_permlink="post", author="bob", permlink="re-post"))
    assert (feed_of(chain.state, "amy"), blog_of(chain.state, "bob")) == ([], [])
    assert "Only top level posts can be reblogged" in refused(chain, reblogs("amy", "bob", "re-post"), by=push)


def test_reblogs_are_numbered_like_posts_and_store_the_first_reblogger() -> None:
    chain = chain_of("amy", "bob", "cid", "dan")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"), follows("amy", "cid", "blog"))
    of_bob, of_dan = post(chain, "bob"), post(chain, "dan")
    apply(chain, reblogs("bob", "dan"))
    apply(chain, reblogs("cid", "dan"), reblogs("cid", "bob"))
    assert feed_of(state, "amy") == [(1, of_dan), (0, of_bob)]
    newest, oldest = FOLLOW.of(state).feeds.newest_first("amy")
    assert (newest.reblogged_by, newest.first_reblogged_by, newest.first_reblogged_on) == (("bob", "cid"), "bob", state.head_time)
    assert (oldest.reblogged_by, oldest.first_reblogged_by, oldest.first_reblogged_on) == (("cid",), "", 0)
    assert FOLLOW.of(state).feeds.find("amy", of_bob) == oldest
    assert FOLLOW.of(state).feeds.find("bob", of_bob) is None
    assert reblogged_by(state, of_dan) == ["bob", "cid", "dan"]
    assert [(row.guest, row.count) for row in blog_authors(state, "cid")] == [("bob", 1), ("dan", 1)]
    entry = FOLLOW.of(state).blogs.find("cid", of_bob)
    assert entry is not None
    assert (entry.number, entry.reblogged_on) == (1, state.head_time)
    assert "Account has already reblogged this post" in refused(chain, reblogs("cid", "bob"), by=push)


def test_deleted_posts_leave_feeds_and_the_newest_number_is_reused() -> None:
    chain = chain_of("amy", "bob", "cid")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"), follows("amy", "cid", "blog"))
    ids = [post(chain, "bob", name) for name in ("one", "two", "three")]
    apply(chain, reblogs("cid", "bob", "two"))
    for name in ("two", "three"):
        apply(chain, DeleteComment(author="bob", permlink=name))
    assert blog_of(state, "bob") == feed_of(state, "amy") == [(0, ids[0])]
    assert (blog_of(state, "cid"), len(FOLLOW.of(state).feeds.reblogged)) == ([], 0)
    assert [row.count for row in blog_authors(state, "cid")] == [1]
    fourth = post(chain, "bob", "four")
    assert blog_of(state, "bob") == feed_of(state, "amy") == [(1, fourth), (0, ids[0])]
    apply(chain, DeleteComment(author="bob", permlink="one"))
    assert blog_of(state, "bob") == feed_of(state, "amy") == [(1, fourth)]
    apply(chain, DeleteComment(author="bob", permlink="four"))
    assert blog_of(state, "bob") == feed_of(state, "amy") == []
    fifth = post(chain, "bob", "five")
    assert blog_of(state, "bob") == feed_of(state, "amy") == [(0, fifth)]


def test_old_entries_are_dropped() -> None:
    chain = chain_of("amy", "bob", "cid")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"))
    of_cid = post(chain, "cid")
    apply(chain, reblogs("bob", "cid"))
    ids = [post(chain, "bob", f"post-{n}") for n in range(FEED_SIZE_MAX)]
    assert len(feed_of(state, "amy")) == len(blog_of(state, "bob")) == FEED_SIZE_MAX + 1
    assert feed_of(state, "amy")[-1] == (0, of_cid)
    newest = post(chain, "bob", "newest")
    for listed in (feed_of(state, "amy"), blog_of(state, "bob")):
        assert len(listed) == FEED_SIZE_MAX + 1
        assert (listed[0], listed[-1]) == ((FEED_SIZE_MAX + 1, newest), (1, ids[0]))
    assert len(FOLLOW.of(state).feeds.reblogged) == 0


def test_a_reblog_into_a_full_feed_drops_the_oldest_entry_even_for_a_known_post() -> None:
    chain = chain_of("amy", "bob", "cid")
    state = chain.state
    apply(chain, follows("amy", "bob", "blog"), follows("amy", "cid", "blog"))
    for n in range(FEED_SIZE_MAX + 1):
        post(chain, "bob", f"post-{n}")
    apply(chain, reblogs("cid", "bob", "post-0"))
    assert len(feed_of(state, "amy")) == FEED_SIZE_MAX
    assert feed_of(state, "amy")[-1][0] == 1, "the oldest has gone, and isn't back"
    assert len(FOLLOW.of(state).feeds.reblogged) == 0


def test_reputations_are_shared_with_their_own_plugin() -> None:
    alone, both = chain_at(plugins=[FOLLOW.name]).state, chain_at(plugins=[REPUTATION.name, FOLLOW.name]).state
    assert known_reputations(alone) is FOLLOW.of(alone).reputations
    assert known_reputations(both) is FOLLOW.of(both).reputations is REPUTATION.of(both)


def test_other_ids_are_left_alone() -> None:
    chain = chain_of("amy", "bob")
    value = json.dumps(["follow", {"follower": "amy", "following": "bob", "what": ["blog"]}])
    chain.push_transaction(transaction(chain, CustomJson(required_posting_auths=("amy",), id="other", json=value)), UNSIGNED)
    assert relations(chain.state) == []
