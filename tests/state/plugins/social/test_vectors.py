"""The single rules of the social index against tests/vectors/social.json: names, scores, notifications, payloads, permissions, placement.

Where the chain decides instead of the indexer (social.md §4.2), the recorded answer of the indexer is left out: CHAIN_DECIDES.
"""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from rpc.api.bridge.arguments import account_argument, limit_argument, permlink_argument, tag_argument
from rpc.records.bridge.unknown import unknown_post
from rpc.service.refusal import InvalidParameters
from state.operations.custom import CustomJson
from state.plugins.follow import plugin as follow
from state.plugins.social.communities.lists import standings
from state.plugins.social.communities.payloads import LANGUAGES, ROLES
from state.plugins.social.notifications.writing import (
    Told,
    Type,
    contribution,
    mention_score,
    mentioned,
    mentions_most,
    message,
    rank_score,
    url,
    vote_score,
)
from state.plugins.social.plugin import type_of
from state.plugins.social.posts.texts import blacklists, flag_weight, is_gray, post_tags, profile_of
from state.plugins.social.rows import Community, Role, SocialPost
from state.plugins.social.scores import hot, is_low, shown_reputation, trend
from state.plugins.tags import rows as tags_rows
from state.protocol.values.asset import COIN, SBD, Asset
from tests.helpers.scenario import SOCIAL, World, seconds, thousandths

COMMUNITY = "coin-123456"
NOW = "2020-01-10T00:00:00"
CHAIN_DECIDES = {"bare object above block 6000000", "three elements"}


def cases(name: str) -> Any:
    """The recorded cases of a rule."""
    return SOCIAL[name]["cases"]


def last_error(world: World, actor: str) -> str | None:
    """The text of the newest notification, if it is an error; it must have reached whoever it should."""
    rows = list(world.kept.notifications)
    if not rows or rows[-1].type != Type.error:
        return None
    assert rows[-1].dst == actor
    assert (rows[-1].score, rows[-1].community) == (35, "")
    return rows[-1].payload


# ------------------------------------------------------------------ names and numbers


def test_names_of_communities() -> None:
    for case in cases("community_names"):
        assert type_of("coin-", case["name"]) == case["type_id"], case


@pytest.mark.parametrize("kind", ["account", "permlink", "tag", "limit"])
def test_checks_of_arguments(kind: str) -> None:
    for case in SOCIAL["param_checks"][kind]:
        value = case["input"]
        if isinstance(value, str) and value.startswith("x*"):
            value = "x" * int(value[2:])
        empty = case.get("allow_empty")
        checks: dict[str, Callable[[], object]] = {
            "account": partial(account_argument, value, may_be_empty=empty),
            "permlink": partial(permlink_argument, value, may_be_empty=empty),
            "tag": partial(tag_argument, value, may_be_empty=empty),
            "limit": partial(limit_argument, value, case.get("ubound", 0)),
        }
        if case["ok"]:
            assert checks[kind]() == case.get("value", value)
        else:
            with pytest.raises(InvalidParameters, match=f"^{re.escape(case['error'])}$"):
                checks[kind]()


def test_reputations() -> None:
    for case in cases("reputation_raw_to_ui"):
        assert shown_reputation(int(case["raw"])) == case["ui"], case


def test_scores() -> None:
    for case in cases("scores_bridge"):
        assert math.isclose(trend(case["rshares"], case["epoch"]), case["trend"], rel_tol=1e-12)
        assert math.isclose(hot(case["rshares"], case["epoch"]), case["hot"], rel_tol=1e-12)
    for case in cases("scores_tags_plugin"):
        created = seconds(case["created"])
        assert math.isclose(tags_rows.trending(case["net_rshares"], created), case["trend"], rel_tol=1e-12)
        assert math.isclose(tags_rows.hot(case["net_rshares"], created), case["hot"], rel_tol=1e-12)


def test_scores_of_ranks() -> None:
    for case in cases("rank_score"):
        assert rank_score(case["rank"]) == case["score"]


def test_languages() -> None:
    assert sorted(LANGUAGES) == sorted(SOCIAL["languages"]["codes"])


# ------------------------------------------------------------------ notifications


def test_votes_that_are_told() -> None:
    for case in cases("vote_notifications"):
        world = World()
        world.at(NOW)
        for name in ("author", "voter"):
            world.account(name)
        world.comment(author="author", permlink="p", parent_permlink="life", title="", body="text")
        world.vote("voter", "author", "p", case["vote_rshares"], case["net_rshares"], thousandths(case["payout"]))
        found = world.call("account_notifications", account="author", min_score=0)
        if not case["emitted"]:
            assert found == []
            continue
        added = contribution(thousandths(case["payout"]), case["net_rshares"], case["vote_rshares"])
        assert (added, vote_score(added)) == (case["contribution_milli"], case["score"])
        assert list(world.kept.notifications)[-1].payload == case["payload"]
        assert [(row["score"], row["msg"], row["url"]) for row in found] == [(case["score"], case["msg"], case["url"])]


def test_mentions() -> None:
    for case in cases("mention_parse"):
        assert mentioned(case["body"]) == case["accounts"], case
    for case in cases("mention_notifications"):
        score, count = rank_score(case["author_rank"]), case["mentioned"]
        assert (count if count <= mentions_most(score) else 0) == case["notifications"]
        if case["score"] is not None:
            assert mention_score(score, count) == case["score"]


def test_mentions_of_a_post() -> None:
    for case in cases("mention_notifications"):
        world = World()
        world.at(NOW)
        world.account("author", case["author_rank"])
        names = [f"user{i:02}" for i in range(case["mentioned"])]
        for name in names:
            world.account(name)
        world.comment(author="author", permlink="p", parent_permlink="life", title="", body=" ".join(f"@{name}" for name in names))
        told = [row for row in world.kept.notifications if row.type == Type.mention]
        assert [row.dst for row in told] == names[: case["notifications"]]
        assert {row.score for row in told} == ({case["score"]} if told else set())


def test_texts_of_notifications() -> None:
    for case in cases("notification_render"):
        fields = {"src": "ann"} | case["fields"]
        told = Told(Type[case["type"]], **{name: value or "" for name, value in fields.items()})
        assert {"msg": message(told), "url": url(told)} == case["expected"], case
    assert {kind.name: kind.value for kind in Type} == SOCIAL["notification_render"]["type_ids"]


# ------------------------------------------------------------------ texts and figures of posts


def test_tags() -> None:
    for case in cases("post_tags"):
        found = post_tags(case["category"], case["json_metadata"])
        assert (found, "nsfw" in found) == (case["tags"], case["is_nsfw"])


def test_stats() -> None:
    for case in cases("post_stats"):
        rshares = case["rshares"]
        assert flag_weight(rshares) == case["flag_weight"], case
        assert sum(value != 0 for value in rshares) == case["total_votes"]
        raw = int(case["author_reputation"])
        assert (shown_reputation(raw), is_low(raw)) == (case["author_rep"], case["legacy_gray"])


def test_blacklists() -> None:
    for case in cases("blacklists"):
        found = blacklists(case["reputation"], case["in_local_mute_list"])
        gray = is_gray(case["in_local_mute_list"], found)
        assert (found, gray) == (case["blacklists"], case["stats_gray_outside_community"])


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


def test_payouts() -> None:
    """As `normalize_post` makes them of what another node's get_content tells."""
    world = World()
    for case in cases("payout_fields"):
        told = {"author": "ann", "permlink": "p", "created": NOW, "last_update": NOW} | case["chain"]
        found = unknown_post(world.state, world.kept, told)
        assert {name: found[name] for name in case["bridge"]} == case["bridge"]
        assert world.call("normalize_post", post=told)["post_id"] is None
    assert world.refused("normalize_post", {"post": {"author": "ann", "permlink": "p", "active_votes": 5}}) == "post can't be read"


def test_profiles() -> None:
    for case in cases("profile_sanitize"):
        assert profile_of(case["posting_json_metadata"], case["json_metadata"]) == case["profile"]


# ------------------------------------------------------------------ communities


def community_world() -> World:
    """The world that each payload of the vectors comes into."""
    world = World()
    world.at(NOW)
    roles = {"adam": "admin", "adam2": "admin", "mona": "mod", "mona2": "mod", "mike": "member", "mute1": "muted", "gina": "guest"}
    for name in (COMMUNITY, *roles):
        world.account(name)
    world.comment(author="gina", permlink="post-1", parent_permlink=COMMUNITY, title="", body="text")
    world.comment(author="gina", permlink="post-muted", parent_permlink=COMMUNITY, title="", body="text")
    world.comment(author="gina", permlink="post-pinned", parent_permlink=COMMUNITY, title="", body="text")
    world.comment(author="gina", permlink="elsewhere", parent_permlink="life", title="", body="text")
    for name, role in roles.items():
        if role != "guest":
            world.act(COMMUNITY, ["setRole", {"community": COMMUNITY, "account": name, "role": role}])
    gina = {"community": COMMUNITY, "account": "gina"}
    world.act("adam", ["mutePost", {**gina, "permlink": "post-muted", "notes": "n"}])
    world.act("adam", ["pinPost", {**gina, "permlink": "post-pinned"}])
    world.act("mike", ["subscribe", {"community": COMMUNITY}])
    world.comment(author="mike", permlink="re-muted", parent_author="gina", parent_permlink="post-muted", title="", body="text")
    assert last_error(world, "") is None
    return world


def test_payloads() -> None:
    world = community_world()
    journal = world.state.journal
    for case in cases("community_payloads"):
        mark = journal.mark()
        world.act(case["actor"], case["payload"])
        reaches = case.get("error_reaches_actor", True)
        assert last_error(world, case["actor"] if reaches and not case["valid"] else "") == case.get("error"), case
        journal.undo(mark)


def test_permissions() -> None:
    gina = {"community": COMMUNITY, "account": "gina"}
    post = {**gina, "permlink": "post-1", "notes": "n"}
    payloads: dict[str, dict[str, Any]] = {
        "updateProps": {"community": COMMUNITY, "props": {"title": "abc"}},
        "setUserTitle": {**gina, "title": "t"},
        "mutePost": post,
        "unmutePost": post | {"permlink": "post-muted"},
        "pinPost": {**gina, "permlink": "post-1"},
        "unpinPost": {**gina, "permlink": "post-pinned"},
        "flagPost": post,
        "subscribe": {"community": COMMUNITY},
        "unsubscribe": {"community": COMMUNITY},
    }
    actors = {"owner": COMMUNITY, "admin": "adam", "mod": "mona", "member": "adam2", "guest": "gina", "muted": "mute1"}
    world = community_world()
    world.act(COMMUNITY, ["setRole", {"community": COMMUNITY, "account": "adam2", "role": "member"}])
    journal = world.state.journal
    for action, row in SOCIAL["permission_matrix"]["matrix"].items():
        for role, wanted in row.items():
            mark = journal.mark()
            if action == "unsubscribe":
                world.act(actors[role], ["subscribe", {"community": COMMUNITY}])
            world.act(actors[role], [action, payloads[action]])
            assert last_error(world, "" if wanted == "ok" else actors[role]) == (None if wanted == "ok" else wanted), (action, role)
            journal.undo(mark)


def test_roles() -> None:
    world = World()
    world.at(NOW)
    for name in (COMMUNITY, "actor", "target"):
        world.account(name)
    columns = SOCIAL["set_role_matrix"]["columns"]
    journal, roles = world.state.journal, world.kept.roles
    for row in SOCIAL["set_role_matrix"]["rows"]:
        case = dict(zip(columns, row, strict=True))
        mark = journal.mark()
        roles.insert(Role(community=COMMUNITY, account="actor", role=ROLES[case["actor_role"]]))
        target = "actor" if case["target_role"] == "self" else "target"
        if target == "target":
            roles.insert(Role(community=COMMUNITY, account="target", role=ROLES[case["target_role"]]))
        world.act("actor", ["setRole", {"community": COMMUNITY, "account": target, "role": case["new_role"]}])
        ok = case["result"] == "ok"
        assert last_error(world, "" if ok else "actor") == (None if ok else case["result"]), case
        if ok:
            assert world.kept.role(COMMUNITY, target) == ROLES[case["new_role"]]
        journal.undo(mark)


def test_who_may_post() -> None:
    columns = SOCIAL["posting_matrix"]["columns"]
    for row in SOCIAL["posting_matrix"]["rows"]:
        case = dict(zip(columns, row, strict=True))
        world, name = World(), f"coin-{case['type_id']}23456"
        world.at(NOW)
        for account in (name, "gina"):
            world.account(account)
        world.comment(author=name, permlink="root", parent_permlink=name, title="", body="text")
        world.kept.roles.insert(Role(community=name, account="gina", role=ROLES[case["author_role"]]))
        place = {"parent_permlink": name} if case["kind"] == "post" else {"parent_author": name, "parent_permlink": "root"}
        world.comment(author="gina", permlink="p", title="", body="text", **place)
        post = world.kept.post("gina", "p")
        assert post is not None
        assert post.is_muted == case["is_muted"], case
        told = [row.payload for row in world.kept.notifications if row.type == Type.error]
        assert told == ([case["error_notification"]] if case["error_notification"] else [])


def test_placement() -> None:
    world = community_world()
    world.comment(author="mona", permlink="visible", parent_permlink=COMMUNITY, title="", body="text")
    parents = {"a muted post": "post-muted", "a visible post": "post-1", "outside communities": "elsewhere"}
    for number, case in enumerate(cases("post_placement")):
        what = case["case"]
        before = len(world.kept.notifications)
        if what.startswith("reply"):
            place = next({"parent_author": "gina", "parent_permlink": link} for words, link in parents.items() if what.endswith(words))
        else:
            place = {"parent_permlink": what.split()[-1]}
        comment = world.comment(author="adam", permlink=f"p-{number}", title="", body="text", **place)
        post = world.kept.post("adam", f"p-{number}")
        assert post is not None
        found = comment.category, bool(post.community), comment.depth, post.is_muted
        assert found == (case["category"], case["in_community"], case["depth"], case["is_muted"]), case
        assert not any(row.type == Type.error for row in list(world.kept.notifications)[before:])


def test_ranks() -> None:
    given = SOCIAL["community_rank"]
    world = World()
    world.at(NOW)
    for entry in given["input"]:
        world.account(entry["name"])
        row = world.kept.community(entry["name"])
        assert isinstance(row, Community)
        world.kept.communities.modify(row, title=entry["title"], subscribers=entry["subscribers"])
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
        for one in standings(world.state, world.kept)
    ]
    assert found == given["expected"]


# ------------------------------------------------------------------ follows, reblogs, notify, promotion


def small_world() -> World:
    """Ann and Bob, and Bob's post with a reply."""
    world = World()
    world.at(NOW)
    for name in ("ann", "bob"):
        world.account(name)
    world.comment(author="bob", permlink="root", parent_permlink="life", title="", body="text")
    world.comment(author="bob", permlink="re", parent_author="bob", parent_permlink="root", title="", body="text")
    return world


def follow_state(world: World) -> int | None:
    """What Ann is to Bob: 1 a follower, 2 one who ignores him."""
    row = follow.plugin(world.state).follows.by_pair.get("ann", "bob")
    return None if row is None else row.what >> 1


def told_of(world: World, kind: Type) -> int:
    """How many notifications of a type there are."""
    return sum(row.type == kind for row in world.kept.notifications)


def test_words_of_follows() -> None:
    for case in cases("follow_what"):
        world = small_world()
        world.act("ann", ["follow", {"follower": "ann", "following": "bob", "what": case["what"]}], "follow")
        wanted = None if case["product_state"] == "rejected" else case["product_state"]
        assert follow_state(world) == wanted, case
        assert told_of(world, Type.follow) == (wanted == 1)


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
        before, count = told_of(world, Type.follow), follow.follow_count(world.state, "bob")[0]
        world.act("ann", ["follow", payload | {"what": words[case["new"]]}], "follow")
        # Leaving state 2 for 1 is no new relation; the indexer agrees.
        assert told_of(world, Type.follow) - before == case["follow_notification"], case
        assert (follow_state(world) or 0) == (case["stored"] or 0)
        assert follow.follow_count(world.state, "bob")[0] - count == case["correct_count_delta"]
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
    """The chain takes down a relation to an unknown account; it is told to nobody."""
    assert case in {entry["case"] for entry in cases("follow_rejections")}
    world = small_world()
    world.act(signer, ["follow", payload], "follow")
    assert len(follow.plugin(world.state).follows) == (case == "unknown following")
    assert told_of(world, Type.follow) == 0


def test_reblogs() -> None:
    payload: dict[str, Any] = {"account": "ann", "author": "bob", "permlink": "root"}
    again = {"same reblog twice": [payload, payload], "then delete": [payload, payload, payload | {"delete": "delete"}]}
    for case in cases("reblog"):
        world = small_world()
        for one in again.get(case["case"], [case.get("payload")]):
            world.act(case["signer"], ["reblog", one], "follow")
        # A repeated reblog is told once here (D14).
        told = min(case["notifications"], 1)
        assert (len(world.kept.reblogs), told_of(world, Type.reblog)) == (case["reblogs"], told), case


def test_envelopes() -> None:
    for case in cases("custom_json_envelope"):
        if case["case"] in CHAIN_DECIDES:
            continue
        world = small_world()
        op = case["op"]
        names = {name: tuple(op[name]) for name in ("required_auths", "required_posting_auths")}
        world.custom(id=op["id"], json=op["json"], **names)
        if case["case"].startswith("bare"):
            follow.apply_bare(world.state, operation_of(op))
        row = world.kept.last_reads.by_account.get("ann")
        effect = "ignored"
        if follow_state(world):
            effect = "follow stored"
        elif row is not None:
            effect = f"lastread={world.call('unread_notifications', account='ann')['lastread']}"
        assert effect == case["effect"], case


def operation_of(op: dict[str, Any]) -> CustomJson:
    """A custom operation of the vectors."""
    return CustomJson(id=op["id"], json=op["json"], required_posting_auths=tuple(op["required_posting_auths"]))


def test_promotion() -> None:
    symbols = {"SBD": SBD, "COIN": COIN}
    for case in cases("promotion"):
        world, transfer = small_world(), case["transfer"]
        amount = Asset(thousandths(transfer["amount"]), symbols[transfer["amount"].split()[1]])
        world.transfer(transfer["from"], transfer["to"], amount, transfer["memo"])
        total = sum(row.promoted for row in world.kept.posts)
        assert f"{total / 1000:.3f} SBD" == case["promoted_total"], case


def test_rows_of_deleted_posts_are_taken_up_again() -> None:
    world = small_world()
    world.delete("bob", "re")
    post = world.kept.post("bob", "re")
    assert isinstance(post, SocialPost)
    assert post.is_deleted
    assert world.refused("get_post", {"author": "bob", "permlink": "re"}) == "invalid author/permlink"
    start = {"sort": "payout_comments", "start_author": "bob", "start_permlink": "re"}
    assert world.call("get_ranked_posts", **start) == []
    world.comment(author="bob", permlink="re", parent_permlink="life", title="", body="text")
    assert world.kept.post("bob", "re") is post
    assert not post.is_reply
    assert json.dumps(world.call("get_ranked_posts", sort="created")[0]["permlink"]) == '"re"'
