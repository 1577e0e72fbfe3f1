"""Lists of posts: hidden authors."""

import json

from tests.helpers.social_fixtures import NOW
from tests.helpers.social_scenario import SocialScenario


def test_hidden_authors() -> None:
    world = SocialScenario()
    world.at(NOW)
    for name in ("ann", "bad"):
        world.account(name)
    world.comment(author="ann", permlink="p", parent_permlink="life", title="", body="text")
    world.social.irredeemables = frozenset({"bad"})
    world.comment(author="bad", permlink="re", parent_author="ann", parent_permlink="p", title="", body="text")
    assert list(world.call("get_discussion", author="ann", permlink="p")) == ["ann/p"]
    post = world.call("get_post", author="bad", permlink="re")
    assert (post["stats"]["hide"], post["stats"]["gray"], post["blacklists"]) == (True, True, ["irredeemables"])
    world.comment(author="ann", permlink="re-re", parent_author="bad", parent_permlink="re", title="", body="text")
    assert world.call("account_notifications", account="bad", min_score=0) == []


def test_tags_with_a_slash_reach_no_list_of_communities() -> None:
    """Lists of communities have names with a slash; neither a tag nor a category of such a form puts a post there."""
    world = SocialScenario()
    world.at(NOW)
    for name in ("coin-123456", "ann"):
        world.account(name)
    tags = json.dumps({"tags": ["/coin-123456", "/"]})
    world.comment(author="ann", permlink="tags", parent_permlink="life", title="", body="text", json_metadata=tags)
    world.comment(author="ann", permlink="category", parent_permlink="/coin-123456", title="", body="text")
    world.comment(author="ann", permlink="re", parent_author="ann", parent_permlink="category", title="", body="text")
    for tag in ("all", "coin-123456"):
        for sort in ("trending", "created", "payout", "muted"):
            assert world.call("get_ranked_posts", sort=sort, tag=tag) == [], (tag, sort)
    assert len(world.call("get_ranked_posts", sort="created")) == 2
    assert [post["permlink"] for post in world.call("get_ranked_posts", sort="created", tag="life")] == ["tags"]


def test_an_unpaid_post_may_be_older_than_a_paid_one() -> None:
    """Below hardfork 17 votes postpone payouts, so these don't come in the order of posts."""
    world = SocialScenario()
    world.at(NOW)
    world.account("ann")
    for permlink in ("first", "second", "third"):
        world.comment(author="ann", permlink=permlink, parent_permlink="life", title="", body="text")
    world.pay("ann", "second", 0, 0)
    found = world.call("get_account_posts", sort="payout", account="ann")
    assert [post["permlink"] for post in found] == ["first", "third"]
