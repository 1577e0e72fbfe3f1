"""condenser_api.get_state: the data that every page includes, feeds, large comment trees, and missing items."""

from typing import Any

import pytest

from rpc.api import pages
from state.effects.voting import post_fund
from tests.helpers.api import ApiChain
from tests.helpers.social import follow, post, reblog, social_site, vote


@pytest.fixture
def api() -> ApiChain:
    """A chain with a post by alice that has a reply and a reply to that reply, and a post by bob, which alice has reblogged."""
    api = social_site()
    follow(api, "carol", "alice", "blog")
    post(api, "alice", "one", "art", body="é" * 1000)
    post(api, "bob", "two", "art", "news")
    post(api, "bob", "re-one", parent=("alice", "one"))
    post(api, "carol", "re-re", parent=("bob", "re-one"))
    vote(api, "dave", "alice", "one")
    reblog(api, "alice", "bob", "two")
    return api


def state_of(api: ApiChain, path: str) -> dict[str, Any]:
    page: dict[str, Any] = api.call("condenser_api.get_state", path)
    assert page["current_route"] == path
    return page


def test_every_page_includes_chain_data(api: ApiChain) -> None:
    page = state_of(api, "/nothing/at/all")
    assert page["props"] == api.call("condenser_api.get_dynamic_global_properties")
    assert page["witness_schedule"] == api.call("condenser_api.get_witness_schedule")
    assert page["feed_price"] == {"base": "0.250 SBD", "quote": "1.000 COIN"}
    assert page["tag_idx"] == {"trending": ["", "art", "news"]}
    empty = ("tags", "content", "accounts", "witnesses", "discussion_idx", "error")
    assert [page[name] for name in empty] == [{}, {}, {}, {}, {}, ""]


def test_large_tree_is_cut(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "TREE_MAX", 2)
    assert list(state_of(api, "/any/@alice/one")["content"]) == ["alice/one", "bob/re-one"]


def test_replies_by_payout(api: ApiChain) -> None:
    post(api, "carol", "re-two", "art", parent=("bob", "two"))
    vote(api, "dave", "carol", "re-two")
    assert state_of(api, "/payout_comments/art")["discussion_idx"]["art"]["payout_comments"] == ["carol/re-two"]


def test_feed(api: ApiChain) -> None:
    page = state_of(api, "/@carol/feed")
    assert page["accounts"]["carol"]["feed"] == ["bob/two", "alice/one"]
    assert page["content"]["bob/two"]["first_reblogged_by"] == "alice"
    assert page["content"]["bob/two"]["reblogged_by"] == ["alice"]
    assert "first_reblogged_by" not in page["content"]["alice/one"]


def test_pages_without_plugins() -> None:
    api = social_site(plugins=[])
    post(api, "alice", "one", "art")
    post(api, "bob", "re-one", parent=("alice", "one"))
    assert state_of(api, "/trending")["discussion_idx"] == {}
    assert state_of(api, "/any/@alice/one")["content"] == {}
    alice = state_of(api, "/@alice")["accounts"]["alice"]
    assert ("blog" in alice, alice["reputation"], alice["tags_usage"]) == (False, 0, [])
    for section in ("feed", "transfers", "recent-replies"):
        assert state_of(api, f"/@alice/{section}")["error"] == ""
    assert state_of(api, "/@bob/comments")["accounts"]["bob"]["comments"] == ["bob/re-one"]


@pytest.mark.parametrize("path", ["/@alice", "/@alice/comments", "/@alice/recent-replies", "/life/@alice/one"])
def test_incomputable_value_is_reported(api: ApiChain, path: str) -> None:
    api.state.reward_funds.modify(post_fund(api.state), reward_balance=-1)
    follow(api, "alice", "bob", "blog")
    post(api, "alice", "one")
    post(api, "alice", "re", parent=("alice", "one"))
    page = api.call("condenser_api.get_state", path)
    assert "result.hi == 0" in page["error"]
    assert page["witness_schedule"]
    assert api.call("condenser_api.get_state", "/trending")["error"] == ""
