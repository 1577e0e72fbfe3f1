"""Lists of posts: hidden authors."""

from tests.helpers.scenario import World
from tests.helpers.worlds import NOW


def test_hidden_authors() -> None:
    world = World()
    world.at(NOW)
    for name in ("ann", "bad"):
        world.account(name)
    world.comment(author="ann", permlink="p", parent_permlink="life", title="", body="text")
    world.kept.irredeemables = frozenset({"bad"})
    world.comment(author="bad", permlink="re", parent_author="ann", parent_permlink="p", title="", body="text")
    assert list(world.call("get_discussion", author="ann", permlink="p")) == ["ann/p"]
    post = world.call("get_post", author="bad", permlink="re")
    assert (post["stats"]["hide"], post["stats"]["gray"], post["blacklists"]) == (True, True, ["irredeemables"])
    world.comment(author="ann", permlink="re-re", parent_author="bad", parent_permlink="re", title="", body="text")
    assert world.call("account_notifications", account="bad", min_score=0) == []
