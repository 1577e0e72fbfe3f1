"""Limits on the content returned with a post, and the tags that an author uses."""

import pytest

from rpc.api import database_lists
from rpc.records import discussions
from tests.helpers.api import ApiChain
from tests.helpers.social import post, social_site, vote


@pytest.fixture
def api() -> ApiChain:
    """A chain with a post by alice that has two tags, and a reply by bob. carol has voted on both."""
    api = social_site()
    post(api, "alice", "one", "art", "News", title="First", body="A post")
    post(api, "bob", "re-one", parent=("alice", "one"), body="A reply")
    vote(api, "carol", "alice", "one")
    vote(api, "bob", "alice", "one", weight=-5000)
    vote(api, "carol", "bob", "re-one", weight=1000)
    return api


def test_large_bodies_are_not_shown(api: ApiChain) -> None:
    post(api, "carol", "large", parent=("alice", "one"), body="x" * 16_384)
    assert len(api.call("condenser_api.get_content", "carol", "large")["body"]) == 16_384
    post(api, "carol", "larger", parent=("alice", "one"), body="é" * 8_193)
    assert api.call("condenser_api.get_content", "carol", "larger")["body"] == "comment pruned due to size"
    row = api.state.comments.by_permlink.find("alice", "one")
    texts = api.state.comment_contents.by_comment.find(row.id)
    api.state.comment_contents.modify(texts, body="x" * 131_073)
    assert api.call("condenser_api.get_content", "alice", "one")["body"] == "body pruned due to size"


def test_votes_and_replies_are_limited(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    post(api, "carol", "re-two", parent=("alice", "one"))
    asked: list[tuple[str, list[str]]] = [
        ("active_votes", ["alice", "one"]),
        ("account_votes", ["carol"]),
        ("content_replies", ["alice", "one"]),
    ]
    every = [api.call(f"condenser_api.get_{name}", *given) for name, given in asked]
    monkeypatch.setattr(database_lists, "WHOLE_LIST_MAX", 1)
    monkeypatch.setattr(discussions, "VOTES_SHOWN_MAX", 1)
    for (name, given), found in zip(asked, every, strict=True):
        assert len(found) > 1
        assert api.call(f"condenser_api.get_{name}", *given) == found[:1]


def test_tags_used_by_author(api: ApiChain) -> None:
    post(api, "alice", "two", "art")
    wanted = [{"tag": "", "count": 2}, {"tag": "art", "count": 2}, {"tag": "news", "count": 1}]
    assert api.call("condenser_api.get_tags_used_by_author", "alice") == wanted
    assert api.call("tags_api.get_tags_used_by_author", author="alice") == {"tags": wanted}
    unknown = (-32003, "Assert Exception:acnt != nullptr: Author not found")
    assert api.refused("condenser_api.get_tags_used_by_author", "nobody") == unknown
    assert api.refused("tags_api.get_tags_used_by_author", author="nobody") == unknown


def test_discussions_are_returned_without_plugins() -> None:
    api = social_site(plugins=[])
    post(api, "alice", "one", "art")
    vote(api, "bob", "alice", "one")
    shown = api.call("condenser_api.get_content", "alice", "one")
    assert (shown["promoted"], shown["author_reputation"], shown["active_votes"][0]["reputation"]) == ("0.000 COIN", 0, 0)
