"""Lists of posts: hidden authors, special tags, and payout order."""

import json
from functools import partial

import pytest

from state.plugins.social.communities.lists import figures
from state.plugins.social.posts.lists import ranked_posts, scope_of
from state.store.lazy import incremental, order
from tests.helpers.social_fixtures import COMMUNITY, community_world, world_of


def test_hidden_authors() -> None:
    world = world_of("ann", "bad")
    world.comment(author="ann", permlink="p", parent_permlink="life")
    world.social.irredeemables = frozenset({"bad"})
    world.comment(author="bad", permlink="re", parent_author="ann", parent_permlink="p")
    assert list(world.call("get_discussion", author="ann", permlink="p")) == ["ann/p"]
    post = world.call("get_post", author="bad", permlink="re")
    assert (post["stats"]["hide"], post["stats"]["gray"], post["blacklists"]) == (True, True, ["irredeemables"])
    world.comment(author="ann", permlink="re-re", parent_author="bad", parent_permlink="re")
    assert world.call("account_notifications", account="bad", min_score=0) == []


def test_tags_with_a_slash_reach_no_list_of_communities() -> None:
    """The internal names of community lists contain a slash. A tag or category with a slash must not add a post to such a list."""
    world = world_of("coin-123456", "ann")
    tags = json.dumps({"tags": ["/coin-123456", "/"]})
    world.comment(author="ann", permlink="tags", parent_permlink="life", json_metadata=tags)
    world.comment(author="ann", permlink="category", parent_permlink="/coin-123456")
    world.comment(author="ann", permlink="re", parent_author="ann", parent_permlink="category")
    for tag in ("all", "coin-123456"):
        for sort in ("trending", "created", "payout", "muted"):
            assert world.call("get_ranked_posts", sort=sort, tag=tag) == [], (tag, sort)
    assert len(world.call("get_ranked_posts", sort="created")) == 2
    assert [post["permlink"] for post in world.call("get_ranked_posts", sort="created", tag="life")] == ["tags"]


def test_an_unpaid_post_may_be_older_than_a_paid_one() -> None:
    """Before hardfork 17 votes postpone payouts, so posts are not paid in the order in which they were written."""
    world = world_of("ann")
    for permlink in ("first", "second", "third"):
        world.comment(author="ann", permlink=permlink, parent_permlink="life")
    world.pay("ann", "second", 0, 0)
    found = world.call("get_account_posts", sort="payout", account="ann")
    assert [post["permlink"] for post in found] == ["first", "third"]


def test_a_payout_stores_the_sum_of_the_votes_on_a_post_of_a_community() -> None:
    world = community_world()
    state, posts = world.state, world.social.posts
    world.account("ann")
    position = state.journal.position()
    for permlink in ("post-1", "elsewhere"):
        world.vote("ann", "gina", permlink, 10**12, 10**12, 0)
        world.vote("mike", "gina", permlink, -(10**11), 10**12 - 10**11, 0)
        world.pay("gina", permlink, 0, 0)
    world.vote("adam", "gina", "post-pinned", 5 * 10**11, 5 * 10**11, 0)
    rows = {permlink: posts.by_comment.find(state.comments.by_permlink.find("gina", permlink).id) for permlink in ("post-1", "elsewhere")}
    assert (rows["post-1"].rshares, rows["elsewhere"].rshares) == (9 * 10**11, None)
    # The pinned post comes first, and again at its own position on later pages.
    found = world.call("get_ranked_posts", sort="trending", tag=COMMUNITY)
    assert [post["permlink"] for post in found] == ["post-pinned", "post-1"]
    later = world.call("get_ranked_posts", sort="trending", tag=COMMUNITY, start_author="gina", start_permlink="post-1")
    assert [post["permlink"] for post in later] == ["post-pinned"]
    state.journal.undo(position)
    assert posts.find(rows["post-1"].id).rshares is None


def test_before_hardfork_17_a_payout_stores_no_sum_of_votes() -> None:
    world = community_world()
    world.state.hardfork_properties.modify(world.state.hardforks, last_hardfork=16)
    world.pay("gina", "post-1", 0, 0)
    assert world.social.post("gina", "post-1").rshares is None  # type: ignore[union-attr]


@pytest.mark.parametrize("sort", ["trending", "created", "payout"])
def test_packed_rows_stay_packed_while_lists_are_made(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of an incremental read run outside of the read, as rules do, whose reads make packed rows hot."""
    for module in (incremental, order):
        monkeypatch.setattr(module, "CHUNK_ROWS", 0)
    world = world_of(COMMUNITY, "ann")
    for number in range(3):
        world.comment(author="ann", permlink=f"post-{number}", parent_permlink=COMMUNITY)
    state, posts = world.state, world.social.posts
    world.vote("ann", "ann", "post-1", 10**12, 10**12, 0)
    world.pay("ann", "post-1", 0, 0)
    posts.modify(posts.by_comment.find(1), rshares=None)  # as for posts that were imported
    state.journal.commit(state.journal.position())
    tables = posts.packing, state.comment_votes.packing
    for packed in tables:
        assert packed is not None
        packed.pack(len(packed._queue))
    for scope in (scope_of(world.social, tag, "") for tag in (COMMUNITY, "")):
        for _ in state.journal.read_mode.read_incrementally(partial(ranked_posts, state, world.social, scope, sort, 9, None)):
            pass
    for _ in state.journal.read_mode.read_incrementally(partial(figures, state, world.social)):
        pass
    assert not any(packed.hot for packed in tables if packed is not None)
