"""Lists of posts: hidden authors, special tags, and payout order."""

import json

from tests.helpers.social_fixtures import world_of


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
