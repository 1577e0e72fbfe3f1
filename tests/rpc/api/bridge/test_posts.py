"""Post methods of the `bridge` group: ranked lists compared with a simple sort, consecutive pages, discussions, blogs and feeds, and
unknown posts.
"""

import json
import random
from typing import Any

import pytest

from state.operations.content import Vote
from state.plugins.follow.plugin import FOLLOW
from state.plugins.social.chain_reader import Worth
from state.plugins.social.communities.lists import figures
from state.plugins.social.index import Social
from state.plugins.social.posts import lists as social_posts_lists
from state.plugins.social.posts.placement import on_vote
from state.plugins.social.ranked_posts import RankedPosts
from state.plugins.social.scores import hot, trend
from state.protocol.constants import TIME_MAX
from state.protocol.values.asset import SBD, Asset
from state.store import DirtyMarks, Journal
from state.tables import State
from state.tables.content import Comment
from tests.helpers.social_scenario import GivenChain, SocialScenario, scenario

COMMUNITY = "coin-123456"
AUTHORS = ("ann", "bob", "cat", "dan")
NOW = "2020-01-10T00:00:00"
DAY = 86400


@pytest.fixture(scope="module")
def world() -> SocialScenario:
    return scenario()


class Steps(GivenChain):
    """A chain reader that rounds payouts, so that similar earnings give equal payouts."""

    def worth(self, state: State) -> Worth:
        """Return a function that divides earnings by three and rounds down."""
        return lambda earning: earning // 3


def crowd(seed: int) -> SocialScenario:
    """Return a scenario with many posts and replies. Some have votes, are muted or promoted, and one author has a bad reputation."""
    chance, world = random.Random(seed), SocialScenario()
    world.facts = world.social.facts = Steps()
    world.at("2020-01-01T00:00:00")
    for name in (COMMUNITY, *AUTHORS):
        world.account(name, reputation=-5 * 10**11 if name == "dan" else 10**10)
    start = world.state.head_time
    for number in range(120):
        world.state.set_props(time=start + chance.randrange(8) * DAY + number)
        author, link = chance.choice(AUTHORS), f"p-{number}"
        place = {"parent_permlink": chance.choice((COMMUNITY, "life", "art"))}
        if number > 20 and chance.random() < 0.4:
            parent = chance.choice(list(world.state.comments))
            place = {"parent_author": parent.author, "parent_permlink": parent.permlink}
        tags = chance.sample(("life", "art", "food"), 2)
        row = world.comment(
            author=author, permlink=link, title="", body="text", json_metadata=f'{{"tags": ["{tags[0]}", "{tags[1]}"]}}', **place
        )
        if chance.random() < 0.6:
            rshares = chance.choice((-1, 1)) * chance.randrange(10**9)
            world.vote(chance.choice(AUTHORS), author, link, rshares, rshares, chance.randrange(12))
        if chance.random() < 0.1:
            world.transfer("ann", "null", Asset(chance.randrange(1, 3), SBD), f"@{author}/{link}")
        if chance.random() < 0.1 and row.category == COMMUNITY:
            world.act(COMMUNITY, ["mutePost", {"community": COMMUNITY, "account": author, "permlink": link, "notes": "n"}])
        if chance.random() < 0.1:
            world.pay(author, link, 7, 3)
    world.at(NOW)
    return world


def tags_of(world: SocialScenario) -> dict[int, set[str]]:
    """Return the tags of each post, including its category, by the post's id."""
    posts = [(row, world.call("get_post", author=row.author, permlink=row.permlink)) for row in world.state.comments]
    return {row.id: {row.category, *post["json_metadata"].get("tags", [])} for row, post in posts}


def expected(world: SocialScenario, sort: str, tag: str, tags_of: dict[int, set[str]]) -> list[str]:
    """Return the expected list of posts, computed by sorting all posts according to the tables of social.md §3.3."""
    of_community, now = tag in (COMMUNITY, "all"), world.state.head_time
    found = []
    for row in world.state.comments:
        post, ui = world.social.posts.by_comment.find(row.id), world.facts
        votes = sum(vote.rshares for vote in world.state.comment_votes.by_comment_voter.equal(row.id))
        unpaid, paid_out = row.cashout_time < 2**32 - 1, ui.worth(world.state)(ui.earning(world.state, row))
        gray = post.is_muted if post.community else row.author == "dan"
        if of_community and (not post.community or (sort != "muted" and post.is_muted) or (sort == "muted" and not post.is_muted)):
            continue
        by_category = sort in ("payout", "payout_comments")
        if not of_community and tag and (row.category != tag if by_category else post.is_reply or tag not in tags_of[row.id]):
            continue
        if post.is_reply and (sort in ("trending", "hot", "created") or (of_community and sort == "promoted")):
            continue
        if not unpaid and not (sort == "created" or (of_community and sort in ("trending", "hot"))):
            continue
        due = now + DAY // 2 <= row.cashout_time <= now + 3 * DAY // 2
        selected = {
            "payout": due,
            "promoted": post.promoted > 0,
            "payout_comments": post.is_reply,
            "muted": of_community or (gray and paid_out > 0),
        }
        if not selected.get(sort, True):
            continue
        values = {"trending": trend(votes, row.created), "hot": hot(votes, row.created), "promoted": post.promoted}
        values["created"] = row.created if of_community else row.id
        found.append((-values.get(sort, paid_out), row.id, f"{row.author}/{row.permlink}"))
    return [name for _, _, name in sorted(found)]


@pytest.mark.parametrize("seed", range(2))
def test_pages_of_ranked_lists(seed: int) -> None:
    world, some = crowd(seed), 0
    tags = tags_of(world)
    for tag in ("", "life", "art", COMMUNITY, "all"):
        for sort in ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted"):
            if sort == "payout_comments" and tag in (COMMUNITY, "all"):
                continue
            names: list[str] = []
            start: dict[str, str] = {}
            while True:
                page = world.call("get_ranked_posts", sort=sort, tag=tag, limit=3, **start)
                names += [f"{post['author']}/{post['permlink']}" for post in page]
                if len(page) < 3:
                    break
                start = {"start_author": page[-1]["author"], "start_permlink": page[-1]["permlink"]}
            assert names == expected(world, sort, tag, tags), (sort, tag)
            some += len(names)
    assert some > 300


def all_lists(world: SocialScenario) -> dict[tuple[str, str], object]:
    """Return all ranked lists, and the payout totals."""
    kept, found = world.social, dict[tuple[str, str], object]()
    for tag in ("", "life", "art", "food", COMMUNITY, "all"):
        scope = social_posts_lists.scope_of(kept, tag, "")
        for sort in scope.orders:
            found[tag, sort] = social_posts_lists.ranked_posts(world.state, kept, scope, sort, 1000, None)
    return found | {("", "totals"): figures(world.state, kept)}


def change(world: SocialScenario, chance: random.Random) -> None:
    """Make a change of a random post, or write a new one, possibly with the name of a deleted one."""
    state = world.state
    row = chance.choice(list(state.comments))
    post = world.social.posts.by_comment.find(row.id)
    is_paid, has_replies = row.cashout_time == TIME_MAX, any(state.comments.by_parent.equal(row.author, row.permlink))
    tags = json.dumps({"tags": chance.sample(("life", "art", "food", COMMUNITY, "a/b"), 2)})
    match chance.randrange(6):
        case 0:
            place = {"parent_author": row.parent_author, "parent_permlink": row.parent_permlink or row.category}
            world.comment(author=row.author, permlink=row.permlink, title="", json_metadata=tags, **place)
        case 1 if not has_replies:
            world.delete(row.author, row.permlink)
        case 2 if not is_paid:
            world.pay(row.author, row.permlink, 7, 3)
        case 3 if not is_paid:
            state.comments.modify(row, net_rshares=chance.randrange(10**9))
            world.facts.pending[row.id] = chance.randrange(9)
            on_vote(state, world.social, Vote(voter="ann", author=row.author, permlink=row.permlink))
        case 4:
            action = "unmutePost" if post.is_muted else "mutePost"
            world.act(COMMUNITY, [action, {"community": COMMUNITY, "account": row.author, "permlink": row.permlink, "notes": "n"}])
        case _:
            deleted = [(old.author, old.permlink) for old in world.social.posts if old.is_deleted]
            place = {"parent_permlink": chance.choice((COMMUNITY, "life", "art"))}
            author, link = chance.choice(deleted) if deleted else ("ann", f"new-{state.comments.next_id}")
            world.comment(author=author, permlink=link, title="", json_metadata=tags, **place)


@pytest.mark.parametrize("seed", range(3))
def test_lists_that_follow_changes_and_undo_equal_fresh_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.plugins.social.root_posts.SOURCE_ROWS", 20)
    chance, world = random.Random(seed), crowd(seed)
    kept, state = world.social, world.state
    followed, seen = kept.view, set[str]()
    for _ in range(60):
        position, pending = state.journal.position(), world.facts.pending.copy()
        for _ in range(chance.randrange(1, 6)):
            change(world, chance)
        if chance.random() < 0.5:
            all_lists(world)
        if chance.random() < 0.4:
            state.journal.undo(position)
            world.facts.pending = pending
        found = all_lists(world)
        marks = DirtyMarks(Journal().record, lambda: state.comments.next_id)
        kept.view, kept.counted = RankedPosts(state, kept.posts, marks, lambda: kept.facts), None
        assert all_lists(world) == found
        kept.view, kept.counted = followed, None
        seen.add(repr(found))
    assert len(seen) > 20


def test_a_changed_reputation_changes_muted_posts() -> None:
    world = crowd(0)
    before = world.call("get_ranked_posts", sort="muted")
    assert before
    assert {post["author"] for post in before if "community" not in post} == {"dan"}
    reputations = FOLLOW.of(world.state).reputations
    mark = world.state.journal.position()
    reputations.modify(reputations.by_account.find("dan"), reputation=10**10)
    world.social.dirty.name("dan")
    after = world.call("get_ranked_posts", sort="muted")
    assert {post["author"] for post in after if "community" not in post} == set()
    world.state.journal.undo(mark)
    assert world.call("get_ranked_posts", sort="muted") == before


@pytest.mark.parametrize(
    "fields",
    [
        {"total_payout_value": "9" * 400 + ".000 SBD"},
        {"promoted": "-1.000 SBD"},
        {"promoted": ""},
        {"title": 5},
        {"category": ["life"]},
        {"parent_author": 5},
        {"beneficiaries": 5},
        {"beneficiaries": [{"account": "ann"}]},
        {"created": 7},
    ],
)
def test_malformed_posts_are_refused(world: SocialScenario, fields: dict[str, Any]) -> None:
    post = {"author": "ann", "permlink": "elsewhere"}
    assert world.call("normalize_post", post=post)["post_id"] is None
    assert world.refused("normalize_post", {"post": post | fields}) == "post can't be read"


def test_headers(world: SocialScenario) -> None:
    assert world.call("get_post_header", author="carol", permlink="tea-party")["depth"] == 0


def test_large_discussions_are_cut() -> None:
    world = SocialScenario()
    world.at(NOW)
    world.account("ann")
    world.comment(author="ann", permlink="root", parent_permlink="life", title="", body="text")
    for number in range(600):
        world.comment(author="ann", permlink=f"re-{number}", parent_author="ann", parent_permlink="root", title="", body="text")
    found = world.call("get_discussion", author="ann", permlink="root")
    assert (len(found), len(found["ann/root"]["replies"])) == (500, 499)


def test_deep_discussions_are_cut() -> None:
    world = SocialScenario()
    world.at(NOW)
    world.account("ann")
    world.comment(author="ann", permlink="p-0", parent_permlink="life", title="", body="text")
    for number in range(1, 60):
        world.comment(author="ann", permlink=f"p-{number}", parent_author="ann", parent_permlink=f"p-{number - 1}", title="", body="text")
    assert len(world.call("get_discussion", author="ann", permlink="p-0")) == 50


def test_blogs_and_feeds_continue_after_their_start(world: SocialScenario) -> None:
    whole = world.call("get_account_posts", sort="feed", account="bob")
    rest = world.call("get_account_posts", sort="feed", account="bob", start_author="alice", start_permlink="old-post")
    assert rest == whole[1:]
    replies = world.call("get_account_posts", sort="replies", account="carol", start_author="bob", start_permlink="re-tea")
    assert [post["permlink"] for post in replies] == ["re-tea"]
    behind = world.call("get_account_posts", sort="payout", account="erin", start_author="erin", start_permlink="noise")
    assert [post["permlink"] for post in behind] == ["my-day"]


def test_unused_tags_are_not_cached() -> None:
    """A tag gets a cached list only once a post uses it."""
    world = SocialScenario()
    world.at(NOW)
    world.account("ann")
    world.comment(author="ann", permlink="one", parent_permlink="life", title="", body="text")
    assert world.call("get_ranked_posts", sort="hot", tag="life") != []
    cached = len(world.social.view)
    for tag in ("later", "x" * 1000):
        assert world.call("get_ranked_posts", sort="hot", tag=tag) == []
    assert len(world.social.view) == cached
    world.comment(author="ann", permlink="two", parent_permlink="later", title="", body="text")
    assert [post["permlink"] for post in world.call("get_ranked_posts", sort="hot", tag="later")] == ["two"]
    assert len(world.social.view) == cached + 1


def test_a_feed_reads_the_reblogs_of_a_post_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed reads the reblogs of a post only once, even if several followed accounts have reblogged it."""
    looked: list[int] = []
    feed_entry = social_posts_lists.feed_entry

    def counted(social: Social, comment: Comment, followed: set[str], since: int) -> social_posts_lists.ListedPost:
        looked.append(comment.id)
        return feed_entry(social, comment, followed, since)

    monkeypatch.setattr(social_posts_lists, "feed_entry", counted)
    reblog = {"author": "ann", "permlink": "often"}
    world = SocialScenario()
    world.at(NOW)
    for name in (*AUTHORS, "eve"):
        world.account(name)
    world.comment(author="ann", permlink="often", parent_permlink="life", title="", body="text")
    for name in AUTHORS[1:]:
        world.act("eve", ["follow", {"follower": "eve", "following": name, "what": ["blog"]}], "follow")
        world.act(name, ["reblog", reblog | {"account": name}], "follow")
    (post,) = world.call("get_account_posts", sort="feed", account="eve")
    assert (post["permlink"], post["reblogged_by"]) == ("often", ["bob", "cat", "dan"])
    assert len(looked) == 1
