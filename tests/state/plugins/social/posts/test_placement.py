"""Indexing of posts, relations, reblogs and promotion, compared with tests/vectors/social.json."""

import json
from typing import Any

import pytest

from state.plugins.follow.lists import follow_count
from state.plugins.follow.plugin import FOLLOW
from state.plugins.social.community_payloads import ROLES
from state.plugins.social.notifications.writer import Type
from state.plugins.social.rows import Role, SocialPost
from state.protocol.values.asset import COIN, SBD, Asset
from tests.helpers.social_fixtures import COMMUNITY, cases, community_world, follow_state, notified, small_world, world_of
from tests.helpers.social_scenario import SOCIAL, SocialScenario, thousandths


def test_permission_to_post() -> None:
    columns = SOCIAL["posting_matrix"]["columns"]
    for row in SOCIAL["posting_matrix"]["rows"]:
        case = dict(zip(columns, row, strict=True))
        name = f"coin-{case['type_id']}23456"
        world = world_of(name, "gina")
        world.comment(author=name, permlink="root", parent_permlink=name)
        world.social.roles.insert(Role(community=name, account="gina", role=ROLES[case["author_role"]]))
        place = {"parent_permlink": name} if case["kind"] == "post" else {"parent_author": name, "parent_permlink": "root"}
        world.comment(author="gina", permlink="p", **place)
        post = world.social.post("gina", "p")
        assert post is not None
        assert post.is_muted == case["is_muted"], case
        errors = [row.payload for row in world.social.notifications if row.type == Type.error]
        assert errors == ([case["error_notification"]] if case["error_notification"] else [])


def test_a_reply_without_permission_is_an_error_under_a_muted_post_too() -> None:
    name = "coin-323456"
    world = world_of(name, "gina")
    for author, parent in (("gina", {"parent_permlink": name}), ("gina", {"parent_author": "gina", "parent_permlink": "p-0"})):
        world.comment(author=author, permlink=f"p-{len(parent) - 1}", **parent)
    assert [row.payload for row in world.social.notifications if row.type == Type.error] == ["not authorized"] * 2


def test_placement() -> None:
    world = community_world()
    world.comment(author="mona", permlink="visible", parent_permlink=COMMUNITY)
    parents = {"a muted post": "post-muted", "a visible post": "post-1", "outside communities": "elsewhere"}
    for number, case in enumerate(cases("post_placement")):
        what = case["case"]
        before = len(world.social.notifications)
        if what.startswith("reply"):
            place = next({"parent_author": "gina", "parent_permlink": link} for words, link in parents.items() if what.endswith(words))
        else:
            place = {"parent_permlink": what.split()[-1]}
        comment = world.comment(author="adam", permlink=f"p-{number}", **place)
        post = world.social.post("adam", f"p-{number}")
        assert post is not None
        found = comment.category, bool(post.community), comment.depth, post.is_muted
        assert found == (case["category"], case["in_community"], case["depth"], case["is_muted"]), case
        assert not any(row.type == Type.error for row in list(world.social.notifications)[before:])


def test_keywords_of_follows() -> None:
    for case in cases("follow_what"):
        world = small_world()
        world.act("ann", ["follow", {"follower": "ann", "following": "bob", "what": case["what"]}], "follow")
        wanted = None if case["product_state"] == "rejected" else case["product_state"]
        assert follow_state(world) == wanted, case
        assert notified(world, Type.follow) == (wanted == 1)


def test_changes_of_follows() -> None:
    words: dict[int | None, list[str]] = {0: [""], 1: ["blog"], 2: ["ignore"]}
    tried = 0
    for case in cases("follow_transitions"):
        if case["old"] == 3 or case["new"] == 3:
            continue  # The chain refuses both at once.
        tried += 1
        world = small_world()
        payload = {"follower": "ann", "following": "bob"}
        if case["old"] is not None:
            world.act("ann", ["follow", payload | {"what": words[case["old"]]}], "follow")
        before, count = notified(world, Type.follow), follow_count(world.state, "bob")[0]
        world.act("ann", ["follow", payload | {"what": words[case["new"]]}], "follow")
        # A change from state 2 to state 1 is not a new relation, in the recorded indexer either.
        assert notified(world, Type.follow) - before == case["follow_notification"], case
        assert (follow_state(world) or 0) == (case["stored"] or 0)
        assert follow_count(world.state, "bob")[0] - count == case["correct_count_delta"]
    assert tried == 12


@pytest.mark.parametrize(
    ("case", "signer", "payload"),
    [
        ("self follow", "ann", {"follower": "ann", "following": "ann", "what": ["blog"]}),
        ("signer is not follower", "bob", {"follower": "ann", "following": "bob", "what": ["blog"]}),
        ("following is a list", "ann", {"follower": "ann", "following": ["bob"], "what": ["blog"]}),
        ("what not a list", "ann", {"follower": "ann", "following": "bob", "what": "blog"}),
        ("unknown following", "ann", {"follower": "ann", "following": "nobody", "what": ["blog"]}),
    ],
)
def test_refused_follows(case: str, signer: str, payload: dict[str, Any]) -> None:
    """Invalid follows aren't stored, except a follow of an unknown account. None of them causes a notification."""
    assert case in {entry["case"] for entry in cases("follow_rejections")}
    world = small_world()
    world.act(signer, ["follow", payload], "follow")
    assert len(FOLLOW.of(world.state).follows) == (case == "unknown following")
    assert notified(world, Type.follow) == 0


def test_reblogs() -> None:
    payload: dict[str, Any] = {"account": "ann", "author": "bob", "permlink": "root"}
    again = {"same reblog twice": [payload, payload], "then delete": [payload, payload, payload | {"delete": "delete"}]}
    for case in cases("reblog"):
        world = small_world()
        for one in again.get(case["case"], [case.get("payload")]):
            world.act(case["signer"], ["reblog", one], "follow")
        # A repeated reblog causes only one notification here (D14).
        count = min(case["notifications"], 1)
        assert (len(world.social.reblogs), notified(world, Type.reblog)) == (case["reblogs"], count), case


def test_promotion() -> None:
    symbols = {"SBD": SBD, "COIN": COIN}
    for case in cases("promotion"):
        world, transfer = small_world(), case["transfer"]
        amount = Asset(thousandths(transfer["amount"]), symbols[transfer["amount"].split()[1]])
        world.transfer(transfer["from"], transfer["to"], amount, transfer["memo"])
        total = sum(row.promoted for row in world.social.posts)
        assert f"{total / 1000:.3f} SBD" == case["promoted_total"], case


def test_rows_of_deleted_posts_are_reused() -> None:
    world = small_world()
    world.delete("bob", "re")
    post = world.social.post("bob", "re")
    assert isinstance(post, SocialPost)
    assert post.is_deleted
    assert world.refused("get_post", {"author": "bob", "permlink": "re"}) == "invalid author/permlink"
    start = {"sort": "payout_comments", "start_author": "bob", "start_permlink": "re"}
    assert world.call("get_ranked_posts", **start) == []
    world.comment(author="bob", permlink="re", parent_permlink="life")
    assert world.social.post("bob", "re") is post
    assert not post.is_reply
    assert json.dumps(world.call("get_ranked_posts", sort="created")[0]["permlink"]) == '"re"'


def test_a_new_post_with_an_old_permlink_can_be_reblogged_again() -> None:
    """A reblog refers to the deleted post. It doesn't add the new post to a blog, and doesn't prevent a reblog of the new post."""
    world = SocialScenario()
    world.at("2020-01-10T00:00:00")
    for name in ("ann", "bob"):
        world.account(name)
    payload = {"account": "ann", "author": "bob", "permlink": "p"}
    blogs = []
    for time in ("2020-01-10T00:00:00", "2020-01-10T01:00:00"):
        world.at(time)
        world.comment(author="bob", permlink="p", parent_permlink="life")
        blogs.append(world.call("get_account_posts", sort="blog", account="ann"))
        world.act("ann", ["reblog", payload], "follow")
        blogs.append(world.call("get_account_posts", sort="blog", account="ann"))
        world.act("ann", ["reblog", payload], "follow")
        assert len(world.social.reblogs) == 1
        world.delete("bob", "p")
    assert [[post["permlink"] for post in blog] for blog in blogs] == [[], ["p"], [], ["p"]]
    assert notified(world, Type.reblog) == 2
