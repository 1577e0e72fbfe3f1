"""condenser_api.get_state: every kind of page, and what is told when there is no such page."""

from typing import Any

import pytest

from rpc.api import pages
from rpc.api.pages import LISTS, MONEY, PASSED_OVER
from state.effects.voting import post_fund
from state.operations.transfers import Transfer
from state.protocol.operation import OPERATIONS
from state.protocol.values.asset import COIN, Asset
from state.tables.witnesses import Witness
from tests.helpers.api import Site
from tests.helpers.chains import apply
from tests.helpers.social import follow, post, reblog, social_site, vote


@pytest.fixture
def site() -> Site:
    """A post of alice with two replies, one of them to the other, and a post of bob, which alice reblogs."""
    site = social_site()
    follow(site, "carol", "alice", "blog")
    post(site, "alice", "one", "art", body="é" * 1000)
    post(site, "bob", "two", "art", "news")
    post(site, "bob", "re-one", parent=("alice", "one"))
    post(site, "carol", "re-re", parent=("bob", "re-one"))
    vote(site, "dave", "alice", "one")
    reblog(site, "alice", "bob", "two")
    return site


def state_of(site: Site, path: str) -> dict[str, Any]:
    page: dict[str, Any] = site.call("condenser_api.get_state", path)
    assert page["current_route"] == path
    return page


def test_every_page_tells_of_the_chain(site: Site) -> None:
    page = state_of(site, "/nothing/at/all")
    assert page["props"] == site.call("condenser_api.get_dynamic_global_properties")
    assert page["witness_schedule"] == site.call("condenser_api.get_witness_schedule")
    assert page["feed_price"] == {"base": "0.250 SBD", "quote": "1.000 COIN"}
    assert page["tag_idx"] == {"trending": ["", "art", "news"]}
    empty = ("tags", "content", "accounts", "witnesses", "discussion_idx", "error")
    assert [page[name] for name in empty] == [{}, {}, {}, {}, {}, ""]


def test_a_list_of_discussions(site: Site) -> None:
    page = state_of(site, "/trending/ART")
    assert page["discussion_idx"]["art"]["trending"] == ["alice/one"]
    assert page["discussion_idx"]["art"]["category"] == ""
    assert page["discussion_idx"]["art"]["hot"] == []
    shown = page["content"]["alice/one"]
    assert (len(shown["body"]), shown["body_length"]) == (512, 2000)
    assert [vote["voter"] for vote in shown["active_votes"]] == ["dave"]
    assert list(page["accounts"]) == ["alice"]
    assert int(page["accounts"]["alice"]["reputation"]) > 0
    assert "blog" not in page["accounts"]["alice"]


def test_the_start_page_is_what_is_trending(site: Site) -> None:
    for path in ("", "/"):
        assert state_of(site, path)["discussion_idx"][""]["trending"] == ["alice/one"]
    assert state_of(site, "//art")["discussion_idx"]["art"]["hot"] == ["alice/one"]


@pytest.mark.parametrize(("first", "member"), [(first, member) for first, (_, member) in LISTS.items() if first])
def test_every_list_fills_its_member(site: Site, first: str, member: str) -> None:
    index = state_of(site, f"{first}/art")["discussion_idx"]["art"]
    wanted = {"alice/one"} if member in ("trending", "payout", "hot") else {"alice/one", "bob/two"}
    if member in ("promoted", "payout_comments"):
        wanted = set()
    assert {name: set(value) for name, value in index.items() if value} == ({member: wanted} if wanted else {})


def test_a_discussion_with_all_below(site: Site) -> None:
    page = state_of(site, "/any/@alice/one")
    assert list(page["content"]) == ["alice/one", "bob/re-one", "carol/re-re"]
    assert page["content"]["alice/one"]["replies"] == ["bob/re-one"]
    assert page["content"]["bob/re-one"]["replies"] == ["carol/re-re"]
    assert page["content"]["carol/re-re"]["replies"] == []
    assert page["content"]["alice/one"]["active_votes"][0]["voter"] == "dave"
    assert list(page["accounts"]) == ["alice", "bob", "carol"]
    assert list(state_of(site, "/any/@bob/re-one")["content"]) == ["bob/re-one", "carol/re-re"]


def test_a_tree_may_be_too_large(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "TREE_MAX", 2)
    assert list(state_of(site, "/any/@alice/one")["content"]) == ["alice/one", "bob/re-one"]


def test_what_is_not_there(site: Site) -> None:
    page = state_of(site, "/any/@alice/none")
    assert (page["error"], page["content"], page["accounts"]) == ("there is no post @alice/none", {}, {})
    page = state_of(site, "/@nobody")
    assert (page["error"], page["accounts"]) == ("there is no account nobody", {})
    assert page["witness_schedule"] == site.call("condenser_api.get_witness_schedule")


def test_blog(site: Site) -> None:
    page = state_of(site, "/@alice")
    alice = page["accounts"]["alice"]
    assert alice["blog"] == ["bob/two", "alice/one"]
    assert alice["tags_usage"] == []  # as recorded: the reference finds nothing there
    assert alice["guest_bloggers"] == [{"author": "bob", "count": 1}]
    assert "first_reblogged_on" in page["content"]["bob/two"]
    assert "first_reblogged_on" not in page["content"]["alice/one"]
    assert len(page["content"]["alice/one"]["body"]) == 1000
    assert state_of(site, "/@alice/blog")["accounts"]["alice"]["blog"] == alice["blog"]
    assert list(page["accounts"]) == ["alice"]


def test_feed(site: Site) -> None:
    page = state_of(site, "/@carol/feed")
    assert page["accounts"]["carol"]["feed"] == ["bob/two", "alice/one"]
    assert page["content"]["bob/two"]["first_reblogged_by"] == "alice"
    assert page["content"]["bob/two"]["reblogged_by"] == ["alice"]
    assert "first_reblogged_by" not in page["content"]["alice/one"]


def test_comments_and_replies(site: Site) -> None:
    for section in ("posts", "comments"):
        page = state_of(site, f"/@bob/{section}")
        assert page["accounts"]["bob"]["comments"] == list(page["content"]) == ["bob/re-one"]
    page = state_of(site, "/@bob/recent-replies")
    assert page["accounts"]["bob"]["recent_replies"] == list(page["content"]) == ["carol/re-re"]
    assert list(page["accounts"]) == ["bob"]


def test_transfers(site: Site) -> None:
    state = site.state
    state.accounts.modify(state.account("alice"), balance=5)
    state.set_props(current_supply=state.props.current_supply + 5, virtual_supply=state.props.virtual_supply + 5)
    apply(site.chain, Transfer(from_="alice", to="bob", amount=Asset(5, COIN), memo="hello"))
    alice = state_of(site, "/@alice/transfers")["accounts"]["alice"]
    ((number, entry),) = alice["transfer_history"]
    assert entry["op"] == ["transfer", {"from": "alice", "to": "bob", "amount": "0.005 COIN", "memo": "hello"}]
    assert [item[1]["op"][0] for item in alice["other_history"]] == ["custom_json"]
    assert number > alice["other_history"][0][0]
    assert site.call("condenser_api.get_accounts", ["alice"])[0]["transfer_history"] == []


def test_operations_in_histories_have_the_names_of_operations() -> None:
    known = {cls.NAME for cls in OPERATIONS.values()}
    assert known >= MONEY
    assert known >= PASSED_OVER


def test_tags_and_witnesses(site: Site) -> None:
    page = state_of(site, "/tags")
    assert list(page["tags"]) == ["", "art", "news"] == page["tag_idx"]["trending"]
    assert page["tags"]["art"] == site.call("condenser_api.get_trending_tags", "art", 1)[0]
    site.state.witnesses.insert(Witness(owner="alice", votes=7))
    for path in ("/witnesses", "/~witnesses"):
        witnesses = state_of(site, path)["witnesses"]
        assert list(witnesses) == ["alice", "initminer"]
        assert witnesses["alice"]["votes"] == "7"


def test_without_plugins_pages_are_emptier() -> None:
    site = social_site(plugins=[])
    post(site, "alice", "one", "art")
    post(site, "bob", "re-one", parent=("alice", "one"))
    assert state_of(site, "/trending")["discussion_idx"] == {}
    assert state_of(site, "/any/@alice/one")["content"] == {}
    alice = state_of(site, "/@alice")["accounts"]["alice"]
    assert ("blog" in alice, alice["reputation"], alice["tags_usage"]) == (False, 0, [])
    for section in ("feed", "transfers", "recent-replies"):
        assert state_of(site, f"/@alice/{section}")["error"] == ""
    assert state_of(site, "/@bob/comments")["accounts"]["bob"]["comments"] == ["bob/re-one"]


@pytest.mark.parametrize("path", ["/@alice", "/@alice/comments", "/@alice/recent-replies", "/life/@alice/one"])
def test_what_cannot_be_computed_is_told(site: Site, path: str) -> None:
    site.state.reward_funds.modify(post_fund(site.state), reward_balance=-1)
    follow(site, "alice", "bob", "blog")
    post(site, "alice", "one")
    post(site, "alice", "re", parent=("alice", "one"))
    page = site.call("condenser_api.get_state", path)
    assert "result.hi == 0" in page["error"]
    assert page["witness_schedule"]
    assert site.call("condenser_api.get_state", "/trending")["error"] == ""
