"""condenser_api.get_state: every kind of page, and unknown pages."""

from typing import Any

import pytest

from rpc.api import pages
from rpc.api.pages import LISTS, MONEY, PASSED_OVER
from state.effects.voting import post_fund
from state.operations.transfers import Transfer
from state.protocol.operation import OPERATIONS
from state.protocol.values.asset import COIN, Asset
from state.tables.witnesses import Witness
from tests.helpers.api import ApiChain
from tests.helpers.chains import apply
from tests.helpers.social import follow, post, reblog, social_site, vote


@pytest.fixture
def api() -> ApiChain:
    """A post of alice with two replies, one of them to the other, and a post of bob, which alice reblogs."""
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


def test_every_page_tells_of_the_chain(api: ApiChain) -> None:
    page = state_of(api, "/nothing/at/all")
    assert page["props"] == api.call("condenser_api.get_dynamic_global_properties")
    assert page["witness_schedule"] == api.call("condenser_api.get_witness_schedule")
    assert page["feed_price"] == {"base": "0.250 SBD", "quote": "1.000 COIN"}
    assert page["tag_idx"] == {"trending": ["", "art", "news"]}
    empty = ("tags", "content", "accounts", "witnesses", "discussion_idx", "error")
    assert [page[name] for name in empty] == [{}, {}, {}, {}, {}, ""]


def test_a_list_of_discussions(api: ApiChain) -> None:
    page = state_of(api, "/trending/ART")
    assert page["discussion_idx"]["art"]["trending"] == ["alice/one"]
    assert page["discussion_idx"]["art"]["category"] == ""
    assert page["discussion_idx"]["art"]["hot"] == []
    shown = page["content"]["alice/one"]
    assert (len(shown["body"]), shown["body_length"]) == (512, 2000)
    assert [vote["voter"] for vote in shown["active_votes"]] == ["dave"]
    assert list(page["accounts"]) == ["alice"]
    assert int(page["accounts"]["alice"]["reputation"]) > 0
    assert "blog" not in page["accounts"]["alice"]


def test_the_start_page_is_what_is_trending(api: ApiChain) -> None:
    for path in ("", "/"):
        assert state_of(api, path)["discussion_idx"][""]["trending"] == ["alice/one"]
    assert state_of(api, "//art")["discussion_idx"]["art"]["hot"] == ["alice/one"]


@pytest.mark.parametrize(("first", "member"), [(first, member) for first, (_, member) in LISTS.items() if first])
def test_every_list_fills_its_member(api: ApiChain, first: str, member: str) -> None:
    index = state_of(api, f"{first}/art")["discussion_idx"]["art"]
    wanted = {"alice/one"} if member in ("trending", "payout", "hot") else {"alice/one", "bob/two"}
    if member in ("promoted", "payout_comments"):
        wanted = set()
    assert {name: set(value) for name, value in index.items() if value} == ({member: wanted} if wanted else {})


def test_a_discussion_with_all_below(api: ApiChain) -> None:
    page = state_of(api, "/any/@alice/one")
    assert list(page["content"]) == ["alice/one", "bob/re-one", "carol/re-re"]
    assert page["content"]["alice/one"]["replies"] == ["bob/re-one"]
    assert page["content"]["bob/re-one"]["replies"] == ["carol/re-re"]
    assert page["content"]["carol/re-re"]["replies"] == []
    assert page["content"]["alice/one"]["active_votes"][0]["voter"] == "dave"
    assert list(page["accounts"]) == ["alice", "bob", "carol"]
    assert list(state_of(api, "/any/@bob/re-one")["content"]) == ["bob/re-one", "carol/re-re"]


def test_a_tree_may_be_too_large(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "TREE_MAX", 2)
    assert list(state_of(api, "/any/@alice/one")["content"]) == ["alice/one", "bob/re-one"]


def test_what_is_not_there(api: ApiChain) -> None:
    page = state_of(api, "/any/@alice/none")
    assert (page["error"], page["content"], page["accounts"]) == ("there is no post @alice/none", {}, {})
    page = state_of(api, "/@nobody")
    assert (page["error"], page["accounts"]) == ("there is no account nobody", {})
    assert page["witness_schedule"] == api.call("condenser_api.get_witness_schedule")


def test_blog(api: ApiChain) -> None:
    page = state_of(api, "/@alice")
    alice = page["accounts"]["alice"]
    assert alice["blog"] == ["bob/two", "alice/one"]
    assert alice["tags_usage"] == []  # as recorded: the reference finds nothing there
    assert alice["guest_bloggers"] == [{"author": "bob", "count": 1}]
    assert "first_reblogged_on" in page["content"]["bob/two"]
    assert "first_reblogged_on" not in page["content"]["alice/one"]
    assert len(page["content"]["alice/one"]["body"]) == 1000
    assert state_of(api, "/@alice/blog")["accounts"]["alice"]["blog"] == alice["blog"]
    assert list(page["accounts"]) == ["alice"]


def test_feed(api: ApiChain) -> None:
    page = state_of(api, "/@carol/feed")
    assert page["accounts"]["carol"]["feed"] == ["bob/two", "alice/one"]
    assert page["content"]["bob/two"]["first_reblogged_by"] == "alice"
    assert page["content"]["bob/two"]["reblogged_by"] == ["alice"]
    assert "first_reblogged_by" not in page["content"]["alice/one"]


def test_comments_and_replies(api: ApiChain) -> None:
    for section in ("posts", "comments"):
        page = state_of(api, f"/@bob/{section}")
        assert page["accounts"]["bob"]["comments"] == list(page["content"]) == ["bob/re-one"]
    page = state_of(api, "/@bob/recent-replies")
    assert page["accounts"]["bob"]["recent_replies"] == list(page["content"]) == ["carol/re-re"]
    assert list(page["accounts"]) == ["bob"]


def test_transfers(api: ApiChain) -> None:
    state = api.state
    state.accounts.modify(state.account("alice"), balance=5)
    state.set_props(current_supply=state.props.current_supply + 5, virtual_supply=state.props.virtual_supply + 5)
    apply(api.chain, Transfer(from_="alice", to="bob", amount=Asset(5, COIN), memo="hello"))
    alice = state_of(api, "/@alice/transfers")["accounts"]["alice"]
    ((number, entry),) = alice["transfer_history"]
    assert entry["op"] == ["transfer", {"from": "alice", "to": "bob", "amount": "0.005 COIN", "memo": "hello"}]
    assert [item[1]["op"][0] for item in alice["other_history"]] == ["custom_json"]
    assert number > alice["other_history"][0][0]
    assert api.call("condenser_api.get_accounts", ["alice"])[0]["transfer_history"] == []


def test_operations_in_histories_have_the_names_of_operations() -> None:
    known = {cls.NAME for cls in OPERATIONS.values()}
    assert known >= MONEY
    assert known >= PASSED_OVER


def test_tags_and_witnesses(api: ApiChain) -> None:
    page = state_of(api, "/tags")
    assert list(page["tags"]) == ["", "art", "news"] == page["tag_idx"]["trending"]
    assert page["tags"]["art"] == api.call("condenser_api.get_trending_tags", "art", 1)[0]
    api.state.witnesses.insert(Witness(owner="alice", votes=7))
    for path in ("/witnesses", "/~witnesses"):
        witnesses = state_of(api, path)["witnesses"]
        assert list(witnesses) == ["alice", "initminer"]
        assert witnesses["alice"]["votes"] == "7"


def test_without_plugins_pages_are_emptier() -> None:
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
def test_what_cannot_be_computed_is_told(api: ApiChain, path: str) -> None:
    api.state.reward_funds.modify(post_fund(api.state), reward_balance=-1)
    follow(api, "alice", "bob", "blog")
    post(api, "alice", "one")
    post(api, "alice", "re", parent=("alice", "one"))
    page = api.call("condenser_api.get_state", path)
    assert "result.hi == 0" in page["error"]
    assert page["witness_schedule"]
    assert api.call("condenser_api.get_state", "/trending")["error"] == ""
