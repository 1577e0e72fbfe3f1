"""Community methods of the `bridge` group: pages of roles, titles and subscribers, search queries, and topics."""

from typing import Any

import pytest

from rpc.api.bridge import communities as bridge_communities
from tests.helpers.social_scenario import SocialScenario, scenario

COMMUNITY = "coin-123456"


@pytest.fixture(scope="module")
def world() -> SocialScenario:
    return scenario()


def test_pages_of_roles_and_titles(world: SocialScenario) -> None:
    roles = world.call("list_community_roles", community=COMMUNITY)
    pages: list[Any] = []
    for last in ("", *[row[0] for row in roles]):
        pages += world.call("list_community_roles", community=COMMUNITY, last=last, limit=1)
    assert pages == roles
    assert world.refused("list_community_roles", {"community": COMMUNITY, "last": "frank"}) == "invalid start"
    assert world.call("list_community_titles", community=COMMUNITY, last="carol") == []


def test_subscribers_and_queries(world: SocialScenario) -> None:
    assert [row[0] for row in world.call("list_subscribers", community=COMMUNITY, last="carol", limit=1)] == ["bob"]
    assert [row["name"] for row in world.call("list_communities", query="CURIOUS wonderland")] == [COMMUNITY]
    assert world.call("list_communities", query="curious nonsense") == []


def test_topics_and_contexts(world: SocialScenario) -> None:
    topics = world.call("get_trending_topics")
    assert [name for name, _ in topics[:2]] == [COMMUNITY, "coin-234567"]
    assert ["newsteem" in dict(SocialScenario(spec).call("get_trending_topics")) for spec in ("testnet", "steem-testnet")] == [False, True]
    assert world.call("get_community_context", name=COMMUNITY, account="alice")["role"] == "admin"


def test_subscriptions_are_bounded(world: SocialScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = world.call("list_all_subscriptions", account="bob")
    monkeypatch.setattr(bridge_communities, "SUBSCRIPTIONS_MAX", 1)
    assert (len(whole), world.call("list_all_subscriptions", account="bob")) == (2, whole[:1])
