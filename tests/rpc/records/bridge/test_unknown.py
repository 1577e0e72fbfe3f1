"""`bridge.normalize_post` for posts that exist only on another node, compared with the cases in tests/vectors/social.json."""

from tests.helpers.social_fixtures import NOW, cases
from tests.helpers.social_scenario import SocialScenario


def test_payouts() -> None:
    """The payout fields are computed from the other node's get_content reply."""
    world = SocialScenario()
    for case in cases("payout_fields"):
        post = {"author": "ann", "permlink": "p", "created": NOW, "last_update": NOW} | case["chain"]
        found = world.call("normalize_post", post=post)
        assert {name: found[name] for name in case["bridge"]} == case["bridge"]
        assert found["post_id"] is None
    assert world.refused("normalize_post", {"post": {"author": "ann", "permlink": "p", "active_votes": 5}}) == "post can't be read"
