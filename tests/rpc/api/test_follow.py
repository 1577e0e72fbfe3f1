"""Followers, blogs and feeds, in both groups; reputations of follow_api."""

from typing import Any

import pytest

from state.protocol.values.text import time_text
from tests.helpers.api import ApiChain
from tests.helpers.social import PEOPLE, follow, post, reblog, social_site, vote

UNKNOWN = (-32000, "unknown key:unknown key: ")
EPOCH = "1970-01-01T00:00:00"
GROUPS = ["condenser_api", "follow_api"]


@pytest.fixture
def api() -> ApiChain:
    return social_site()


@pytest.fixture
def blogs(api: ApiChain) -> ApiChain:
    """bob and carol follow alice, carol follows bob; alice posts twice, bob once and reblogs one of hers."""
    follow(api, "bob", "alice", "blog")
    follow(api, "carol", "alice", "blog")
    follow(api, "dave", "bob", "blog")
    post(api, "alice", "one")
    post(api, "alice", "two", body="second")
    post(api, "bob", "own")
    reblog(api, "bob", "alice", "one")
    return api


def ask(api: ApiChain, group: str, method: str, *values: Any, key: str = "") -> Any:
    """The reply of either group, without the name around it."""
    if group == "condenser_api":
        return api.call(f"{group}.{method}", *values)
    names = ["account", "start", "type", "limit"] if "follow" in method else ["account", "start_entry_id", "limit"]
    if method == "get_reblogged_by":
        names = ["author", "permlink"]
    elif method == "get_blog_authors":
        names = ["blog_account"]
    reply = api.call(f"{group}.{method}", **dict(zip(names, values, strict=False)))
    return reply[key] if key else reply


@pytest.mark.parametrize("group", GROUPS)
def test_followers_and_following(api: ApiChain, group: str) -> None:
    for follower, what in (("dave", "blog"), ("bob", "ignore"), ("carol", "blog")):
        follow(api, follower, "alice", what)
    follow(api, "dave", "bob", "blog")
    follow(api, "dave", "bob")

    def followers(start: str | None, kind: str, limit: int) -> list[tuple[str, list[str]]]:
        found = ask(api, group, "get_followers", "alice", start, kind, limit, key="followers")
        assert {row["following"] for row in found} <= {"alice"}
        return [(row["follower"], row["what"]) for row in found]

    assert followers("", "undefined", 10) == [("bob", ["ignore"]), ("carol", ["blog"]), ("dave", ["blog"])]
    assert followers(None, "blog", 1) == [("carol", ["blog"])]
    assert followers("carol", "blog", 10) == [("carol", ["blog"]), ("dave", ["blog"])]
    assert followers("", "ignore", 10) == [("bob", ["ignore"])]
    assert followers("", "blog", 0) == []

    def following(start: str, kind: str) -> list[tuple[str, list[str]]]:
        return [(row["following"], row["what"]) for row in ask(api, group, "get_following", "dave", start, kind, 10, key="following")]

    assert following("", "undefined") == [("alice", ["blog"]), ("bob", [])]
    assert following("", "blog") == [("alice", ["blog"])]
    assert following("b", "undefined") == [("bob", [])]


def test_followers_have_defaults_and_limits(api: ApiChain) -> None:
    follow(api, "bob", "alice")
    assert api.call("follow_api.get_followers", account="alice")["followers"] == [{"follower": "bob", "following": "alice", "what": []}]
    assert api.call("follow_api.get_following", account="bob")["following"][0]["following"] == "alice"
    limit = (-32003, "Assert Exception:args.limit <= 1000: ")
    assert api.refused("condenser_api.get_followers", "alice", "", "blog", 1001) == limit
    assert api.refused("follow_api.get_following", account="alice", limit=1001) == limit
    enum = "Bad Cast:invalid name 'mute' in enum 'coin::plugins::follow::follow_type'"
    assert api.refused("condenser_api.get_following", "alice", "", "mute", 10) == (-32000, enum)
    count = "Assert Exception:args.size() == 4: Expected #s argument(s), was 3"
    assert api.refused("condenser_api.get_following", "alice", "", "blog") == (-32003, count)


@pytest.mark.parametrize("group", GROUPS)
def test_follow_count(api: ApiChain, group: str) -> None:
    follow(api, "bob", "alice", "blog")
    follow(api, "carol", "alice", "ignore")
    assert ask(api, group, "get_follow_count", "alice") == {"account": "alice", "follower_count": 1, "following_count": 0}
    assert ask(api, group, "get_follow_count", "bob") == {"account": "bob", "follower_count": 0, "following_count": 1}
    assert ask(api, group, "get_follow_count", "nobody") == {"account": "nobody", "follower_count": 0, "following_count": 0}


@pytest.mark.parametrize("group", GROUPS)
def test_blog_entries(blogs: ApiChain, group: str) -> None:
    def entries(*values: Any) -> list[tuple[Any, ...]]:
        found = ask(blogs, group, "get_blog_entries", "bob", *values, key="blog")
        assert {row["blog"] for row in found} <= {"bob"}
        return [(row["author"], row["permlink"], row["reblog_on"], row["entry_id"]) for row in found]

    reblogged, own = ("alice", "one", time_text(blogs.state.head_time), 1), ("bob", "own", EPOCH, 0)
    assert entries(0, 10) == entries(0) == entries(2**32 - 1, 10) == entries(7, 10) == [reblogged, own]
    assert entries(1, 1) == [reblogged]
    assert entries(0, 0) == []


@pytest.mark.parametrize("group", GROUPS)
def test_blog_has_the_posts(blogs: ApiChain, group: str) -> None:
    newest, oldest = ask(blogs, group, "get_blog", "alice", 0, 10, key="blog")
    assert (newest["comment"]["permlink"], newest["comment"]["body"], newest["entry_id"]) == ("two", "second", 1)
    assert (oldest["comment"]["permlink"], oldest["blog"], oldest["reblog_on"]) == ("one", "alice", EPOCH)
    amount = newest["comment"]["max_accepted_payout"]
    assert amount == ("1000000.000 SBD" if group == "condenser_api" else {"amount": "1000000000", "precision": 3, "nai": "@@000000013"})


@pytest.mark.parametrize("group", GROUPS)
def test_feed_entries(blogs: ApiChain, group: str) -> None:
    def entries(account: str, *values: Any) -> list[tuple[Any, ...]]:
        found = ask(blogs, group, "get_feed_entries", account, *values, key="feed")
        return [(row["permlink"], row["reblog_by"], row["reblog_on"], row["entry_id"]) for row in found]

    assert entries("carol", 0, 10) == [("two", [], EPOCH, 1), ("one", [], EPOCH, 0)]
    assert entries("dave", 0) == [("one", ["bob"], time_text(blogs.state.head_time), 1), ("own", [], EPOCH, 0)]
    assert entries("dave", 1, 1) == entries("dave", 0, 1)
    assert entries("alice", 0) == []


@pytest.mark.parametrize("group", GROUPS)
def test_a_post_that_its_author_brought_names_nobody_else(blogs: ApiChain, group: str) -> None:
    follow(blogs, "carol", "dave", "blog")
    reblog(blogs, "dave", "alice", "two")
    first = ask(blogs, group, "get_feed", "carol", 0, 1, key="feed")[0]
    assert (first["comment"]["permlink"], first["reblog_by"], first["reblog_on"], first["entry_id"]) == ("two", [], EPOCH, 1)


@pytest.mark.parametrize("group", GROUPS)
def test_guests_and_rebloggers(blogs: ApiChain, group: str) -> None:
    assert ask(blogs, group, "get_blog_authors", "bob", key="blog_authors") == [{"author": "alice", "count": 1}]
    assert ask(blogs, group, "get_blog_authors", "alice", key="blog_authors") == []
    assert ask(blogs, group, "get_reblogged_by", "alice", "one", key="accounts") == ["alice", "bob"]
    assert ask(blogs, group, "get_reblogged_by", "alice", "two", key="accounts") == ["alice"]


def test_limits_of_blogs_and_feeds(blogs: ApiChain) -> None:
    for kind in ("blog", "feed"):
        limit = (-32003, f"Assert Exception:args.limit <= 500: Cannot retrieve more than 500 {kind} entries at a time.")
        for method in (f"get_{kind}", f"get_{kind}_entries"):
            assert blogs.refused(f"condenser_api.{method}", "bob", 0, 501) == limit
            assert blogs.refused(f"follow_api.{method}", account="bob", limit=501) == limit
    assert blogs.refused("condenser_api.get_reblogged_by", "alice", "none") == UNKNOWN
    assert blogs.refused("follow_api.get_reblogged_by", author="alice", permlink="none") == UNKNOWN


def test_reputations_of_follow_api(api: ApiChain) -> None:
    post(api, "alice", "one")
    rshares = vote(api, "bob", "alice", "one").rshares
    found = api.call("follow_api.get_account_reputations", account_lower_bound="alice", limit=4)["reputations"]
    assert [row["account"] for row in found] == [*PEOPLE[:3], "coin.dao"]
    assert (int(found[0]["reputation"]), found[1]["reputation"]) == (rshares >> 6, 0)
    limit = "Assert Exception:args.limit <= 1000: Cannot retrieve more than 1000 account reputations at a time."
    assert api.refused("follow_api.get_account_reputations", limit=1001) == (-32003, limit)


def test_without_the_plugin() -> None:
    api = social_site(plugins=["tags"])
    text = "Assert Exception:_follow_api: follow_api_plugin not enabled."
    assert api.refused("condenser_api.get_follow_count", "alice") == (-32003, text)
    missing = "Assert Exception:api_itr != _registered_apis.end(): Could not find API follow_api"
    assert api.refused("follow_api.get_follow_count", account="alice") == (-32002, missing)
