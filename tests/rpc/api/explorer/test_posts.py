"""Lists of posts for explorer pages. Requested page by page, they contain the same posts as the lists of other methods."""

import json
from typing import Any

import pytest

from rpc.declare.method import METHODS
from rpc.jsonrpc.dispatch import Service
from state.effects.voting import post_fund
from state.protocol.values.asset import NULL_PRICE
from tests.helpers.api import ApiChain
from tests.helpers.chains import move_to
from tests.helpers.golden import same_as_golden
from tests.helpers.method_coverage import watched
from tests.helpers.social import PLUGINS, post, social_site, vote
from tests.helpers.social_scenario import SocialScenario, scenario

COMMUNITY = "coin-123456"
FIRST = 1_606_780_800


@pytest.fixture
def api() -> ApiChain:
    """A chain with five posts, most of them with votes, and a reply."""
    api = social_site()
    for i, author in enumerate(("alice", "bob", "carol", "dave", "alice")):
        move_to(api.state, FIRST + 600 * i)
        post(api, author, f"p-{i}", "art", *(["news"] if i % 2 else []))
    post(api, "bob", "re", "art", parent=("alice", "p-0"))
    for i, voter in enumerate(("bob", "carol", "dave")):
        vote(api, voter, "alice", "p-0", weight=1000 * (i + 1))
    vote(api, "alice", "bob", "p-1")
    return api


def pages(api: ApiChain, method: str, limit: int, **named: Any) -> list[dict[str, Any]]:
    """Return all posts of a list, requested page by page with at most `limit` posts each."""
    found: list[dict[str, Any]] = []
    for _ in range(20):
        start = {"start_author": found[-1]["author"], "start_permlink": found[-1]["permlink"]} if found else {}
        part = api.call(method, limit=limit, **start, **named)
        assert len(part["posts"]) <= limit
        found += part["posts"]
        if not part["has_more"]:
            return found
    raise AssertionError("no end")


@pytest.mark.parametrize("order", ["trending", "hot", "created", "active", "votes", "children", "cashout"])
@pytest.mark.parametrize("tag", ["", "art", "news"])
def test_a_list_equals_those_of_other_methods(api: ApiChain, order: str, tag: str) -> None:
    others = api.call(f"tags_api.get_discussions_by_{order}", tag=tag, limit=100)["discussions"]
    expected = [(one["author"], one["permlink"], one["net_votes"], one["children"], one["pending_payout_value"]) for one in others]
    for limit in (1, 2, 100):
        found = pages(api, "explorer_api.list_posts", limit, order=order, tag=tag)
        assert [(one["author"], one["permlink"], one["net_votes"], one["children"], one["payout"]) for one in found] == expected


def test_the_last_changed_posts_need_no_plugin(api: ApiChain) -> None:
    plain = ApiChain(plugins=[])
    assert plain.call("explorer_api.list_updated_posts") == {"posts": [], "has_more": False}
    same_as_golden(plain.refused("explorer_api.list_posts")[1])
    same_as_golden(plain.refused("explorer_api.list_community_posts", community=COMMUNITY)[1])
    for limit in (1, 3, 100):
        found = pages(api, "explorer_api.list_updated_posts", limit)
        assert [one["permlink"] for one in found] == ["p-4", "p-3", "p-2", "p-1", "p-0"]
    assert "The start must be a post" in api.refused("explorer_api.list_updated_posts", start_author="bob", start_permlink="re")[1]


def test_unknown_orders_and_posts_are_refused(api: ApiChain) -> None:
    assert api.refused("explorer_api.list_posts", order="nonsense")[1].endswith("There is no order nonsense")
    assert "unknown key" in api.refused("explorer_api.list_posts", start_author="alice", start_permlink="nothing")[1]
    assert api.refused("explorer_api.list_posts", limit=101)


def test_a_paid_post_shows_what_was_paid(api: ApiChain) -> None:
    row = api.state.comments.by_permlink.get("bob", "p-1")
    assert row is not None
    api.state.comments.modify(row, cashout_time=2**32 - 1, total_payout_value=3000, curator_payout_value=1000)
    (found,) = [one for one in pages(api, "explorer_api.list_updated_posts", 100) if one["permlink"] == "p-1"]
    assert (found["is_paid"], found["payout"]["amount"], found["cashout_time"]) == (True, "4000", "1969-12-31T23:59:59")


def ask(world: SocialScenario, **params: Any) -> dict[str, Any]:
    """Return the reply to explorer_api.list_community_posts from a service that has only this method."""
    method = "explorer_api.list_community_posts"
    service = Service(watched([METHODS[method]]), wire=world.state.wire, state=world.state)
    answer = service.answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
    assert isinstance(answer, bytes)
    reply: dict[str, Any] = json.loads(answer)
    return reply


@pytest.mark.parametrize("sort", ["trending", "hot", "created", "promoted", "payout", "muted"])
def test_posts_of_a_community(sort: str) -> None:
    world = scenario()
    for community in (COMMUNITY, "coin-234567"):
        expected = world.call("get_ranked_posts", sort=sort, tag=community, limit=100)
        whole = ask(world, community=community, sort=sort)["result"]
        assert not whole["has_more"]
        names = [(one["author"], one["permlink"]) for one in whole["posts"]]
        assert names == [(one["author"], one["permlink"]) for one in expected]
        assert [one["is_pinned"] for one in whole["posts"]] == [one["stats"].get("is_pinned", False) for one in expected]
        assert [one["community_title"] for one in whole["posts"]] == [one["community_title"] for one in expected]
        first = ask(world, community=community, sort=sort, limit=1)["result"]
        assert [(one["author"], one["permlink"]) for one in first["posts"]] == names[: len(first["posts"])]


def test_other_communities_and_orders_are_refused() -> None:
    world = scenario()
    cases = (({"community": "nobody"}, "no community nobody"), ({"community": COMMUNITY, "sort": "best"}, "no order best"))
    for params, text in cases:
        assert text in ask(world, **params)["error"]["message"]


@pytest.mark.parametrize("has_price", [True, False])
def test_a_negative_fund_pays_nothing(has_price: bool) -> None:
    api = social_site((*PLUGINS, "communities"))
    fund = post_fund(api.state)
    api.state.reward_funds.modify(fund, reward_balance=-1)
    if not has_price:
        api.state.feed_histories.modify(api.state.feed, current_median_history=NULL_PRICE)
    for author in ("alice", "bob"):
        post(api, author, "p", "art")
        vote(api, "carol", author, "p")
    found = api.call("explorer_api.list_posts", order="trending", tag="art", limit=9)["posts"]
    assert [row["author"] for row in found] == ["alice", "bob"]
    assert [row["payout"]["amount"] for row in found] == ["0", "0"]
    for sort in ("trending", "created", "payout"):
        ranked = api.call("bridge.get_ranked_posts", sort=sort, tag="", limit=9)
        assert [row["pending_payout_value"] for row in ranked] == ["0.000 SBD"] * len(ranked)
        assert sort == "payout" or len(ranked) == 2
    assert api.call("bridge.get_account_posts", sort="payout", account="alice", limit=9)
    assert api.call("bridge.get_payout_stats", limit=9)["total"] == 0
