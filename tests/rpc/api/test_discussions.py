"""Lists of discussions: an account's feed, its blog, and an author's replies."""

from typing import Any

import pytest

from state.protocol.values.text import time_text
from tests.helpers.api import ApiChain
from tests.helpers.social import follow, post, reblog, social_site, vote

UNKNOWN = (-32000, "unknown key:unknown key: ")
GROUPS = ["condenser_api", "tags_api"]


@pytest.fixture
def api() -> ApiChain:
    """A chain with three posts that have votes and several tags, and replies to the first post, whose record id isn't 0."""
    api = social_site()
    post(api, "dave", "zero")
    post(api, "alice", "one", "art", "news", body="A post of älice")
    post(api, "bob", "two", "Art", body="bob's")
    post(api, "carol", "three", "art")
    post(api, "bob", "re-one", "art", parent=("alice", "one"), body="bob answers")
    post(api, "carol", "re-two", "art", parent=("alice", "one"))
    vote(api, "carol", "alice", "one", weight=5000)
    vote(api, "dave", "bob", "two")
    vote(api, "alice", "carol", "re-two", weight=3000)
    vote(api, "dave", "carol", "re-two", weight=-100)
    vote(api, "alice", "carol", "three", weight=-1000)
    return api


def ask(api: ApiChain, group: str, method: str, **query: Any) -> list[dict[str, Any]]:
    """Return the discussions found by a method of condenser_api or of tags_api, as named by `group`."""
    if group == "condenser_api":
        found: list[dict[str, Any]] = api.call(f"{group}.{method}", query)
        return found
    named: list[dict[str, Any]] = api.call(f"{group}.{method}", **query)["discussions"]
    return named


def names(found: list[dict[str, Any]]) -> list[str]:
    return [row["permlink"] for row in found]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("get_discussions_by_cashout", ["one", "two"]),
        ("get_post_discussions_by_payout", ["two", "one"]),
        ("get_comment_discussions_by_payout", ["re-two"]),
    ],
)
def test_lists_that_differ_from_the_reference(api: ApiChain, group: str, method: str, wanted: list[str]) -> None:
    assert names(ask(api, group, method, tag="ART", limit=100)) == wanted
    assert names(ask(api, group, method, tag="art", limit=1)) == wanted[:1]
    assert ask(api, group, method, tag="art") == []


@pytest.fixture
def blogs(api: ApiChain) -> ApiChain:
    """A chain on which carol follows bob and alice, and bob has reblogged alice's second post."""
    follow(api, "carol", "bob", "blog")
    follow(api, "dave", "bob", "blog")
    post(api, "alice", "second", "news", body="x" * 50)
    reblog(api, "bob", "alice", "second")
    post(api, "bob", "last", "art", body="y" * 50)
    return api


@pytest.mark.parametrize("group", GROUPS)
def test_by_feed(blogs: ApiChain, group: str) -> None:
    def found(**query: Any) -> list[dict[str, Any]]:
        return ask(blogs, group, "get_discussions_by_feed", **{"tag": "carol", "limit": 10} | query)

    last, second = found(truncate_body=20)
    assert (last["permlink"], last["body"], last["reblogged_by"]) == ("last", "y" * 50, [])
    assert (second["permlink"], second["reblogged_by"], second["first_reblogged_by"]) == ("second", ["bob"], "bob")
    assert second["first_reblogged_on"] == time_text(blogs.state.head_time - 303)
    assert "first_reblogged_on" not in last
    assert names(found(start_author="alice", start_permlink="second")) == ["second"]
    assert names(found(limit=1)) == ["last"]
    assert found(limit=0) == []


def test_blogs_and_feeds_refuse(blogs: ApiChain) -> None:
    for kind in ("blog", "feed"):
        method = f"condenser_api.get_discussions_by_{kind}"
        outside = f"Assert Exception:start_c != c_idx.end(): Comment is not in account's {kind}"
        place = {"start_author": "dave", "start_permlink": "zero"}
        assert blogs.refused(method, {"tag": "bob", "limit": 1, **place}) == (-32003, outside)
        assert blogs.refused(method, {"tag": "bob", "limit": 1, "start_author": "dave"}) == UNKNOWN
        assert blogs.refused(method, {"tag": "nobody", "limit": 1}) == UNKNOWN
        assert blogs.refused(f"tags_api.get_discussions_by_{kind}", limit=1) == UNKNOWN
        off = f"Assert Exception:_db.has_index< follow::{kind}_index >(): Node is not running the follow plugin"
        assert social_site(plugins=["tags"]).refused(method, {"tag": "bob", "limit": 1}) == (-32003, off)


@pytest.mark.parametrize("group", GROUPS)
def test_by_comments(api: ApiChain, group: str) -> None:
    post(api, "bob", "re-three", parent=("carol", "three"))

    def found(**query: Any) -> list[str]:
        return names(ask(api, group, "get_discussions_by_comments", **{"start_author": "bob", "limit": 10} | query))

    assert found() == ["re-three", "re-one"]
    assert found(limit=1) == ["re-three"]
    assert found(start_permlink="re-one") == ["re-one"]
    assert found(start_permlink="two") == []
    assert found(start_author="nobody") == []
    method = "condenser_api.get_discussions_by_comments"
    nobody = (-32003, "Assert Exception:args.start_author: Must get comments for a specific author")
    assert api.refused(method, {"limit": 1}) == nobody
    unknown = (-32003, "Assert Exception:start_c != c_idx.end(): Comment is not in account's comments")
    assert api.refused(method, {"limit": 1, "start_author": "bob", "start_permlink": "none"}) == unknown
