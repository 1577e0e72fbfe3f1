"""Scores of notifications, and which votes and mentions cause notifications, compared with tests/vectors/social.json."""

from state.plugins.social.notifications.writer import RANK_SCORES, Type, contribution, mention_score, mentioned, mentions_most, vote_score
from tests.helpers.social_fixtures import cases, world_of
from tests.helpers.social_scenario import class_of_rank, thousandths


def test_scores_of_ranks() -> None:
    for case in cases("rank_score"):
        assert RANK_SCORES[class_of_rank(case["rank"])] == case["score"]


def test_votes_that_are_notified() -> None:
    for case in cases("vote_notifications"):
        world = world_of("author", "voter")
        world.comment(author="author", permlink="p", parent_permlink="life")
        world.vote("voter", "author", "p", case["vote_rshares"], case["net_rshares"], thousandths(case["payout"]))
        found = world.call("account_notifications", account="author", min_score=0)
        if not case["emitted"]:
            assert found == []
            continue
        added = contribution(thousandths(case["payout"]), case["net_rshares"], case["vote_rshares"])
        assert (added, vote_score(added)) == (case["contribution_milli"], case["score"])
        assert list(world.social.notifications)[-1].payload == case["payload"]
        assert [(row["score"], row["msg"], row["url"]) for row in found] == [(case["score"], case["msg"], case["url"])]


def test_mentions() -> None:
    for case in cases("mention_parse"):
        assert mentioned(case["body"]) == case["accounts"], case
    for case in cases("mention_notifications"):
        score, count = RANK_SCORES[class_of_rank(case["author_rank"])], case["mentioned"]
        assert (count if count <= mentions_most(score) else 0) == case["notifications"]
        if case["score"] is not None:
            assert mention_score(score, count) == case["score"]


def test_mentions_of_a_post() -> None:
    for case in cases("mention_notifications"):
        world = world_of()
        world.account("author", case["author_rank"])
        names = [f"user{i:02}" for i in range(case["mentioned"])]
        for name in names:
            world.account(name)
        world.comment(author="author", permlink="p", parent_permlink="life", title="", body=" ".join(f"@{name}" for name in names))
        mentions = [row for row in world.social.notifications if row.type == Type.mention]
        assert [row.dst for row in mentions] == names[: case["notifications"]]
        assert {row.score for row in mentions} == ({case["score"]} if mentions else set())
