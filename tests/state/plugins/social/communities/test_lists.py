"""Ranks of communities, compared with tests/vectors/social.json."""

from state.plugins.social.communities.lists import standings
from state.plugins.social.rows import Community
from tests.helpers.social_fixtures import world_of
from tests.helpers.social_scenario import SOCIAL


def test_ranks() -> None:
    given = SOCIAL["community_rank"]
    world = world_of()
    for entry in given["input"]:
        world.account(entry["name"])
        row = world.social.community(entry["name"])
        assert isinstance(row, Community)
        world.social.communities.modify(row, title=entry["title"], subscribers=entry["subscribers"])
        for number, post in enumerate(entry["posts"]):
            comment = world.comment(
                author=post["author"] * 3, permlink=f"{entry['name']}-{number}", parent_permlink=entry["name"], body="b"
            )
            world.facts.pending[comment.id] = round(post["payout"] * 1000)
            if post["is_paidout"]:
                world.pay(comment.author, comment.permlink, round(post["payout"] * 1000), 0)
    found = [
        {
            "name": one.row.name,
            "rank": one.rank,
            "sum_pending": one.figure.rounded,
            "num_pending": one.figure.posts,
            "num_authors": one.figure.authors,
        }
        for one in standings(world.state, world.social)
    ]
    assert found == given["expected"]
