"""Feeds with reblogs, in condenser_api and follow_api. Recorded cases don't cover them, because the reference numbers feed entries
differently.
"""

from typing import Any

import pytest

from state.plugins.follow import lists
from state.protocol.values.text import time_text
from tests.helpers.social import follow, post, reblog, social_site

EPOCH = "1970-01-01T00:00:00"


@pytest.mark.parametrize("method", ["get_feed", "get_feed_entries"])
@pytest.mark.parametrize("group", ["condenser_api", "follow_api"])
def test_feeds_with_reblogs(group: str, method: str) -> None:
    api = social_site()
    for follower, followed in (("bob", "alice"), ("carol", "alice"), ("carol", "dave"), ("dave", "bob")):
        follow(api, follower, followed, "blog")
    for author, permlink in (("alice", "one"), ("alice", "two"), ("bob", "own")):
        post(api, author, permlink)
    reblog(api, "bob", "alice", "one")
    reblogged = time_text(api.state.head_time)
    reblog(api, "dave", "alice", "two")

    def feed(account: str, start: int = 0, limit: int = 500) -> list[tuple[Any, ...]]:
        if group == "condenser_api":
            rows = api.call(f"{group}.{method}", account, start, limit)
        else:
            rows = api.call(f"{group}.{method}", account=account, start_entry_id=start, limit=limit)["feed"]
        return [(row.get("comment", row)["permlink"], row["reblog_by"], row["reblog_on"], row["entry_id"]) for row in rows]

    assert feed("dave") == [("one", ["bob"], reblogged, 1), ("own", [], EPOCH, 0)]
    assert feed("dave", 1, 1) == feed("dave", 0, 1)
    # No reblogger is named for a post that entered the feed because its author is followed.
    assert feed("carol") == [("two", [], EPOCH, 1), ("one", [], EPOCH, 0)]
    assert feed("alice") == []


def test_pages_of_followers_and_of_followed_accounts() -> None:
    api = social_site()
    for follower, followed, what in (
        ("bob", "alice", "blog"),
        ("carol", "alice", "ignore"),
        ("dave", "alice", "blog"),
        ("dave", "bob", "blog"),
    ):
        follow(api, follower, followed, what)

    def names(method: str, side: str, *params: Any) -> list[str]:
        return [row[side] for row in api.call(f"condenser_api.{method}", *params)]

    assert names("get_followers_by_page", "follower", "alice", 0) == ["bob", "dave"]
    assert [names("get_followers_by_page", "follower", "alice", page, 1, "blog") for page in range(3)] == [["bob"], ["dave"], []]
    assert names("get_followers_by_page", "follower", "alice", 0, 20, "ignore") == ["carol"]
    assert [names("get_following_by_page", "following", "dave", page, 1, "blog") for page in range(3)] == [["alice"], ["bob"], []]


def test_relations_before_a_page_and_of_other_kinds_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    api = social_site()
    for follower in ("bob", "carol", "dave"):
        follow(api, follower, "alice", "blog")

    def units(method: str, *params: Any) -> int:
        before = api.state.work.spent
        api.call(f"condenser_api.{method}", *params)
        return api.state.work.spent - before

    def both() -> list[int]:
        return [units("get_followers_by_page", "alice", 2, 1), units("get_followers", "alice", "", "ignore", 1)]

    before = both()
    monkeypatch.setattr(lists, "ROWS_OF_UNIT", 1)
    assert both() == [count + 3 for count in before]


@pytest.mark.parametrize(("page", "size", "condition"), [(10_001, 1, "args.page <= 10000"), (0, 101, "args.page_size <= 100")])
def test_a_refused_page_names_the_argument(page: int, size: int, condition: str) -> None:
    assert condition in social_site().refused("condenser_api.get_followers_by_page", "alice", page, size)[1]
