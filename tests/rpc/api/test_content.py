"""Posts and replies one by one, votes, and tags, in both groups."""

from typing import Any

import pytest

from rpc.api import database_lists
from rpc.records import discussions
from state.effects.curves import curve_value
from state.effects.voting import post_fund
from state.protocol.values.asset import NULL_PRICE
from state.protocol.values.text import time_text
from tests.helpers.api import ApiChain
from tests.helpers.social import post, social_site, vote

UNKNOWN = (-32000, "unknown key:unknown key: ")
EPOCH = "1970-01-01T00:00:00"
NO_SBD = {"amount": "0", "precision": 3, "nai": "@@000000013"}
NO_COIN = {"amount": "0", "precision": 3, "nai": "@@000000021"}


@pytest.fixture
def api() -> ApiChain:
    """A post of alice under two tags with a reply of bob, on which carol has voted twice."""
    api = social_site()
    post(api, "alice", "one", "art", "News", title="First", body="A post")
    post(api, "bob", "re-one", parent=("alice", "one"), body="A reply")
    vote(api, "carol", "alice", "one")
    vote(api, "bob", "alice", "one", weight=-5000)
    vote(api, "carol", "bob", "re-one", weight=1000)
    return api


def pending(api: ApiChain, rshares: int) -> int:
    """The value of rshares in thousandths of an SBD: a quarter of COIN."""
    fund = post_fund(api.state)
    return curve_value(fund.author_reward_curve, rshares, fund.content_constant) * 250_000 // 10**15


def test_get_content(api: ApiChain) -> None:
    row = api.state.comments.by_permlink.find("alice", "one")
    shown = api.call("condenser_api.get_content", "alice", "one")
    assert (shown["id"], shown["author"], shown["title"], shown["body"]) == (row.id, "alice", "First", "A post")
    assert (shown["category"], shown["url"], shown["root_title"]) == ("life", "/life/@alice/one", "First")
    value = pending(api, row.net_rshares)
    assert value > 0
    assert shown["pending_payout_value"] == f"{value // 1000}.{value % 1000:03} SBD"
    assert shown["total_pending_payout_value"] == "0.000 COIN"
    assert (shown["promoted"], shown["body_length"], shown["replies"]) == ("0.000 SBD", 0, [])
    assert [(v["voter"], v["percent"]) for v in shown["active_votes"]] == [("bob", -5000), ("carol", 10000)]
    assert "first_reblogged_by" not in shown
    known = api.state.plugins["reputation"].by_account.find("alice")
    assert int(shown["author_reputation"]) == known.reputation
    named = api.call("tags_api.get_discussion", author="alice", permlink="one")
    assert named["pending_payout_value"] == {"amount": str(value), "precision": 3, "nai": "@@000000013"}
    assert (named["active_votes"], named["url"], named["promoted"]) == (shown["active_votes"], shown["url"], NO_SBD)


def test_a_reply_says_where_it_stands(api: ApiChain) -> None:
    shown = api.call("condenser_api.get_content", "bob", "re-one")
    assert (shown["url"], shown["root_title"]) == ("/life/@alice/one#@bob/re-one", "First")
    assert shown["cashout_time"] == time_text(api.state.comments.by_permlink.find("bob", "re-one").cashout_time)
    # It has no metadata, so no tags: the condenser shows that as COIN.
    assert shown["promoted"] == "0.000 COIN"
    assert api.call("tags_api.get_discussion", author="bob", permlink="re-one")["promoted"] == NO_SBD


def test_an_unknown_discussion_is_empty(api: ApiChain) -> None:
    shown = api.call("condenser_api.get_content", "nobody", "none")
    amounts = ("total_payout_value", "curator_payout_value", "max_accepted_payout", "pending_payout_value", "promoted")
    assert {shown[name] for name in amounts} == {"0.000 COIN"}
    assert (shown["id"], shown["author"], shown["url"], shown["allow_votes"], shown["percent_coin_dollars"]) == (0, "", "", False, 0)
    assert {shown[name] for name in ("created", "cashout_time", "max_cashout_time")} == {EPOCH}
    named = api.call("tags_api.get_discussion", author="nobody", permlink="none")
    assert (named["max_accepted_payout"], named["promoted"], named["active_votes"]) == (NO_COIN, NO_SBD, [])


def test_without_a_price_payouts_are_in_coin_and_without_claims_they_are_nothing(api: ApiChain) -> None:
    state = api.state
    row = state.comments.by_permlink.find("alice", "one")
    state.feed_histories.modify(state.feed, current_median_history=NULL_PRICE)
    value = api.call("tags_api.get_discussion", author="alice", permlink="one")["pending_payout_value"]
    assert value["nai"] == NO_COIN["nai"]
    assert pending(api, row.net_rshares) * 4 <= int(value["amount"]) < (pending(api, row.net_rshares) + 1) * 4
    state.reward_funds.modify(post_fund(state), recent_claims=0)
    shown = api.call("tags_api.get_discussion", author="alice", permlink="one")
    assert (shown["pending_payout_value"], shown["author_reputation"]) == (NO_COIN, 0)


def test_large_bodies_are_not_shown(api: ApiChain) -> None:
    post(api, "carol", "large", parent=("alice", "one"), body="x" * 16_384)
    assert len(api.call("condenser_api.get_content", "carol", "large")["body"]) == 16_384
    post(api, "carol", "larger", parent=("alice", "one"), body="é" * 8_193)
    assert api.call("condenser_api.get_content", "carol", "larger")["body"] == "comment pruned due to size"
    row = api.state.comments.by_permlink.find("alice", "one")
    texts = api.state.comment_contents.by_comment.find(row.id)
    api.state.comment_contents.modify(texts, body="x" * 131_073)
    assert api.call("condenser_api.get_content", "alice", "one")["body"] == "body pruned due to size"


def test_content_replies(api: ApiChain) -> None:
    post(api, "carol", "re-two", parent=("alice", "one"))
    post(api, "dave", "below", parent=("bob", "re-one"))
    for found in (
        api.call("condenser_api.get_content_replies", "alice", "one"),
        api.call("tags_api.get_content_replies", author="alice", permlink="one")["discussions"],
    ):
        assert [(row["author"], row["permlink"]) for row in found] == [("bob", "re-one"), ("carol", "re-two")]
        assert found[0]["active_votes"] == []
        assert found[0]["children"] == 1
    assert api.call("condenser_api.get_content_replies", "nobody", "none") == []


def test_active_votes(api: ApiChain) -> None:
    row = api.state.comments.by_permlink.find("alice", "one")
    votes = api.call("condenser_api.get_active_votes", "alice", "one")
    assert votes == api.call("tags_api.get_active_votes", author="alice", permlink="one")["votes"]
    bob, carol = votes
    assert (bob["voter"], bob["percent"], carol["voter"], carol["percent"]) == ("bob", -5000, "carol", 10000)
    assert int(bob["rshares"]) + int(carol["rshares"]) == row.net_rshares
    assert (bob["weight"], carol["time"]) == ("0", time_text(api.state.head_time - 6))
    reputations = api.state.plugins["reputation"].by_account
    assert (int(bob["reputation"]), carol["reputation"]) == (reputations.find("bob").reputation, 0)
    assert api.refused("condenser_api.get_active_votes", "alice", "none") == UNKNOWN
    assert api.refused("tags_api.get_active_votes", author="alice", permlink="none") == UNKNOWN


def test_votes_and_replies_are_not_too_many(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_account_votes(api: ApiChain) -> None:
    first, second = api.call("condenser_api.get_account_votes", "carol")
    assert (first["authorperm"], first["percent"], second["authorperm"], second["percent"]) == ("alice/one", 10000, "bob/re-one", 1000)
    assert second["time"] == time_text(api.state.head_time)
    assert api.call("condenser_api.get_account_votes", "alice") == []
    assert api.refused("condenser_api.get_account_votes", "nobody") == UNKNOWN


def test_trending_tags(api: ApiChain) -> None:
    post(api, "carol", "two", "art", "zoo")

    def tags(start: Any, limit: int) -> list[str]:
        found = api.call("condenser_api.get_trending_tags", start, limit)
        named = api.call("tags_api.get_trending_tags", start_tag=start, limit=limit)["tags"]
        assert [tag["name"] for tag in named] == [tag["name"] for tag in found]
        return [tag["name"] for tag in found]

    ranked = tags("", 100)
    assert sorted(ranked) == ["", "art", "news", "zoo"]
    assert set(ranked[:2]) == {"", "art"}
    assert tags(None, 2) == ranked[:2]
    assert tags("o", 100) == ranked[ranked.index("zoo") :]
    assert tags("zz", 100) == []
    art = next(tag for tag in api.call("condenser_api.get_trending_tags", "", 100) if tag["name"] == "art")
    assert (art["top_posts"], art["comments"], art["net_votes"], art["total_payouts"]) == (2, 0, 0, "0.000 SBD")
    assert int(art["trending"]) > 6000


def test_limits_of_trending_tags(api: ApiChain) -> None:
    few = "Assert Exception:args.limit <= 100: Cannot retrieve more than 100 tags at a time."
    assert api.refused("condenser_api.get_trending_tags", "", 101) == (-32003, few)
    assert len(api.call("tags_api.get_trending_tags", limit=1000)["tags"]) == 3
    many = "Assert Exception:args.limit <= 1000: Cannot retrieve more than 1000 tags at a time."
    assert api.refused("tags_api.get_trending_tags", limit=1001) == (-32003, many)


def test_tags_used_by_author(api: ApiChain) -> None:
    post(api, "alice", "two", "art")
    wanted = [{"tag": "", "count": 2}, {"tag": "art", "count": 2}, {"tag": "news", "count": 1}]
    assert api.call("condenser_api.get_tags_used_by_author", "alice") == wanted
    assert api.call("tags_api.get_tags_used_by_author", author="alice") == {"tags": wanted}
    unknown = (-32003, "Assert Exception:acnt != nullptr: Author not found")
    assert api.refused("condenser_api.get_tags_used_by_author", "nobody") == unknown
    assert api.refused("tags_api.get_tags_used_by_author", author="nobody") == unknown


def test_without_plugins_discussions_are_told_all_the_same() -> None:
    api = social_site(plugins=[])
    post(api, "alice", "one", "art")
    vote(api, "bob", "alice", "one")
    shown = api.call("condenser_api.get_content", "alice", "one")
    assert (shown["promoted"], shown["author_reputation"], shown["active_votes"][0]["reputation"]) == ("0.000 COIN", 0, 0)
    off = (-32003, "Assert Exception:_tags_api: tags_api_plugin not enabled.")
    assert api.refused("condenser_api.get_trending_tags", "", 1) == off
    assert api.refused("condenser_api.get_discussions_by_hot", {}) == off
