"""Lists of discussions: under tags in all orders, in blogs and feeds, of authors and to parents, in both groups."""

from typing import Any

import pytest

from state.operations.transfers import Transfer
from state.protocol.values.asset import SBD, Asset
from state.protocol.values.text import time_text
from tests.helpers.api import ApiChain
from tests.helpers.chains import apply, move_to
from tests.helpers.social import follow, post, reblog, social_site, vote

UNKNOWN = (-32000, "unknown key:unknown key: ")
GROUPS = ["condenser_api", "tags_api"]
ORDERS = [
    ("get_discussions_by_trending", ["two", "one"]),
    ("get_discussions_by_hot", ["two", "one"]),
    ("get_discussions_by_created", ["three", "two", "one"]),
    ("get_discussions_by_active", ["one", "three", "two"]),
    ("get_discussions_by_votes", ["one", "two", "three"]),
    ("get_discussions_by_children", ["one", "two", "three"]),
    ("get_discussions_by_promoted", []),
    ("get_discussions_by_cashout", ["one", "two"]),
    ("get_post_discussions_by_payout", ["two", "one"]),
    ("get_comment_discussions_by_payout", ["re-two"]),
]
BY_ACCOUNT = ["get_discussions_by_blog", "get_discussions_by_feed", "get_discussions_by_comments"]


@pytest.fixture
def api() -> ApiChain:
    """Three posts with votes under several tags, and replies to the first, whose record id isn't 0."""
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
    """The discussions that either group finds."""
    if group == "condenser_api":
        found: list[dict[str, Any]] = api.call(f"{group}.{method}", query)
        return found
    named: list[dict[str, Any]] = api.call(f"{group}.{method}", **query)["discussions"]
    return named


def names(found: list[dict[str, Any]]) -> list[str]:
    return [row["permlink"] for row in found]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("method", "wanted"), ORDERS)
def test_orders_under_a_tag(api: ApiChain, group: str, method: str, wanted: list[str]) -> None:
    assert names(ask(api, group, method, tag="ART", limit=100)) == wanted
    assert names(ask(api, group, method, tag="art", limit=1)) == wanted[:1]
    assert ask(api, group, method, tag="art") == []
    assert ask(api, group, method, tag="none", limit=10) == []


@pytest.mark.parametrize("group", GROUPS)
def test_a_list_shows_whole_discussions(api: ApiChain, group: str) -> None:
    two, one = ask(api, group, "get_discussions_by_trending", tag="art", limit=10)
    assert (one["author"], one["body"], one["body_length"], one["children"]) == ("alice", "A post of älice", 16, 2)
    assert [vote["voter"] for vote in two["active_votes"]] == ["dave"]
    content = api.call("condenser_api.get_content", "alice", "one")
    if group == "condenser_api":
        assert one == content | {"body_length": 16}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    ("size", "body"), [(0, "A post of älice"), (3, "A p"), (11, "A post of "), (12, "A post of ä"), (99, "A post of älice")]
)
def test_bodies_are_cut_between_characters(api: ApiChain, group: str, size: int, body: str) -> None:
    (one,) = ask(api, group, "get_discussions_by_created", tag="news", limit=1, truncate_body=size)
    assert (one["body"], one["body_length"]) == (body, 16)


@pytest.mark.parametrize("group", GROUPS)
def test_a_list_starts_at_a_discussion_or_below_a_parent(api: ApiChain, group: str) -> None:
    def created(**query: Any) -> list[str]:
        return names(ask(api, group, "get_discussions_by_created", tag="art", limit=10, **query))

    assert created(start_author="bob", start_permlink="two") == ["two", "one"]
    assert created(start_author="dave", start_permlink="zero") == ["three", "two", "one"]
    assert created(start_author="bob") == created(start_author=None, start_permlink="two") == ["three", "two", "one"]
    assert created(parent_author="alice", parent_permlink="one") == ["re-two", "re-one"]
    assert created(parent_author="alice", parent_permlink="one", start_author="bob", start_permlink="re-one") == ["re-one"]
    query: dict[str, Any] = {"tag": "art", "limit": 1, "parent_author": "alice", "parent_permlink": "none"}
    refused = api.refused("tags_api.get_discussions_by_hot", **query), api.refused("condenser_api.get_discussions_by_hot", query)
    assert refused == (UNKNOWN, UNKNOWN)
    assert api.refused("condenser_api.get_discussions_by_hot", {"start_author": "", "start_permlink": ""}) == UNKNOWN
    # These orders have no parents, so none is looked up.
    assert names(ask(api, group, "get_post_discussions_by_payout", **query)) == ["two"]


@pytest.mark.parametrize("group", GROUPS)
def test_promoted_posts(api: ApiChain, group: str) -> None:
    state = api.state
    state.accounts.modify(state.account("alice"), sbd_balance=10)
    state.set_props(current_sbd_supply=state.props.current_sbd_supply + 10)
    for amount, permlink in ((2, "bob/two"), (3, "carol/three")):
        apply(api.chain, Transfer(from_="alice", to="null", amount=Asset(amount, SBD), memo=f"@{permlink}"))
    found = ask(api, group, "get_discussions_by_promoted", tag="art", limit=10)
    assert names(found) == ["three", "two"]
    assert found[1]["promoted"] == ("0.002 SBD" if group == "condenser_api" else {"amount": "2", "precision": 3, "nai": "@@000000013"})


@pytest.mark.parametrize("group", GROUPS)
def test_overdue_payouts_are_not_listed(api: ApiChain, group: str) -> None:
    first = api.state.comments.by_permlink.find("alice", "one").cashout_time
    move_to(api.state, first + 3600)
    assert names(ask(api, group, "get_discussions_by_cashout", tag="art", limit=10)) == ["one", "two"]
    move_to(api.state, first + 3601)
    assert names(ask(api, group, "get_discussions_by_cashout", tag="art", limit=10)) == ["two"]


@pytest.mark.parametrize("method", [*(method for method, _ in ORDERS), *BY_ACCOUNT])
def test_invalid_queries_are_refused(api: ApiChain, method: str) -> None:
    limit = (-32003, "Assert Exception:limit <= 100: ")
    assert api.refused(f"condenser_api.{method}", {"tag": "alice", "limit": 101}) == limit
    assert api.refused(f"tags_api.{method}", tag="alice", limit=101) == limit
    filtered = (-32003, "Assert Exception:filter_tags.find(tag) == filter_tags.end(): ")
    assert api.refused(f"condenser_api.{method}", {"tag": "alice", "filter_tags": ["bob", "alice"]}) == filtered
    assert api.refused(f"tags_api.{method}", tag="alice", filter_tags=["alice"]) == filtered
    count = "Assert Exception:args.size() == 1: Expected #s argument(s), was 0"
    assert api.refused(f"condenser_api.{method}") == (-32003, count)


# ------------------------------------------------------------------ of accounts


@pytest.fixture
def blogs(api: ApiChain) -> ApiChain:
    """carol follows bob and alice; bob reblogs alice's second post."""
    follow(api, "carol", "bob", "blog")
    follow(api, "dave", "bob", "blog")
    post(api, "alice", "second", "news", body="x" * 50)
    reblog(api, "bob", "alice", "second")
    post(api, "bob", "last", "art", body="y" * 50)
    return api


@pytest.mark.parametrize("group", GROUPS)
def test_by_blog(blogs: ApiChain, group: str) -> None:
    def found(**query: Any) -> list[dict[str, Any]]:
        return ask(blogs, group, "get_discussions_by_blog", **{"tag": "bob", "limit": 10} | query)

    last, second, two = found(truncate_body=20)
    assert (last["permlink"], last["body"], last["body_length"]) == ("last", "y" * 20, 50)
    assert (second["permlink"], second["author"], "first_reblogged_by" in second) == ("second", "alice", False)
    assert second["first_reblogged_on"] == time_text(blogs.state.head_time - 303)
    assert "first_reblogged_on" not in two
    assert names(found(limit=2)) == ["last", "second"]
    assert names(found(start_author="alice", start_permlink="second")) == ["second", "two"]
    assert names(found(select_authors=["alice", "dave"])) == ["second"]
    assert names(found(select_tags=["art"], limit=1)) == ["last"]
    assert names(found(select_tags=["news", "none"])) == ["second"]
    assert names(found(filter_tags=["news"])) == ["last", "second", "two"]


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


@pytest.mark.parametrize("group", GROUPS)
def test_by_author_before_date(api: ApiChain, group: str) -> None:
    post(api, "bob", "three")
    post(api, "bob", "re-zero", parent=("dave", "zero"))
    method = f"{group}.get_discussions_by_author_before_date"

    def found(permlink: str, date: str, limit: int) -> list[str]:
        if group == "condenser_api":
            return names(api.call(method, "bob", permlink, date, limit))
        return names(api.call(method, author="bob", start_permlink=permlink, before_date=date, limit=limit)["discussions"])

    epoch, three = "1970-01-01T00:00:00", time_text(api.state.comments.by_permlink.find("bob", "three").created)
    assert found("", epoch, 10) == ["three", "two"]
    assert found("", epoch, 1) == ["three"]
    assert found("two", epoch, 10) == found("two", three, 10) == ["two"]
    assert found("three", three, 10) == ["three", "two"]
    # The place doesn't count when it is too new.
    assert found("two", "2020-01-01T00:00:00", 10) == ["three", "two"]
    assert api.refused("condenser_api.get_discussions_by_author_before_date", "bob", "none", epoch, 1) == UNKNOWN
    limit = (-32003, "Assert Exception:args.limit <= 100: ")
    assert api.refused("condenser_api.get_discussions_by_author_before_date", "bob", "", epoch, 101) == limit
    assert api.refused("tags_api.get_discussions_by_author_before_date", author="bob", limit=101) == limit


@pytest.mark.parametrize("group", GROUPS)
def test_replies_by_last_update(api: ApiChain, group: str) -> None:
    post(api, "dave", "re-three", parent=("carol", "three"))
    post(api, "dave", "re-re", parent=("alice", "one"))

    def found(author: str, permlink: str, limit: int) -> list[str]:
        if group == "condenser_api":
            return names(api.call(f"{group}.get_replies_by_last_update", author, permlink, limit))
        named: dict[str, Any] = {"start_parent_author": author, "start_permlink": permlink, "limit": limit}
        return names(api.call(f"{group}.get_replies_by_last_update", **named)["discussions"])

    assert found("alice", "", 10) == ["re-re", "re-two", "re-one"]
    assert found("alice", "", 1) == ["re-re"]
    assert found("carol", "re-two", 10) == ["re-two", "re-one"]
    assert found("dave", "", 10) == []
    # Posts have no parent's author.
    assert found("", "", 2) == ["three", "two"]
    assert api.refused("condenser_api.get_replies_by_last_update", "carol", "none", 1) == UNKNOWN
    assert api.refused("condenser_api.get_replies_by_last_update", "carol", "none", 0) == UNKNOWN
    assert api.refused("condenser_api.get_replies_by_last_update", "alice", "", 101) == (-32003, "Assert Exception:limit <= 100: ")
    limit = (-32003, "Assert Exception:args.limit <= 100: ")
    assert api.refused("tags_api.get_replies_by_last_update", start_parent_author="alice", limit=101) == limit


def test_amounts_of_a_comment_without_tags(api: ApiChain) -> None:
    post(api, "dave", "plain", parent=("alice", "one"))
    (shown, *_) = api.call("condenser_api.get_replies_by_last_update", "alice", "", 1)
    assert shown["promoted"] == "0.000 COIN"
    (shown, *_) = api.call("condenser_api.get_discussions_by_comments", {"start_author": "dave", "limit": 1})
    assert shown["promoted"] == "0.000 SBD"
