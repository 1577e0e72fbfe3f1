"""Arguments of the `bridge` methods, compared with tests/vectors/social.json: refusals, defaults, nulls and positional arguments."""

import re
from collections.abc import Callable
from functools import partial

import pytest

from rpc.api.bridge.arguments import account_argument, limit_argument, permlink_argument, tag_argument
from rpc.declare.errors import InvalidParameters
from tests.helpers.api import ApiChain
from tests.helpers.social_scenario import SOCIAL, SocialScenario, scenario


@pytest.fixture(scope="module")
def world() -> SocialScenario:
    return scenario()


def test_invalid_arguments_are_refused(world: SocialScenario) -> None:
    assert world.refused("get_ranked_posts", {}) == "missing a required argument: 'sort'"
    assert world.refused("get_ranked_posts", {"sort": "hot", "x": 1}) == "got an unexpected keyword argument 'x'"
    assert world.refused("get_community_context", ["a", "b", "c"]) == "too many positional arguments"
    assert world.refused("get_community", "coin-123456") == "parameters must be an object or an array"
    assert world.refused("get_ranked_posts", {"sort": "hot", "limit": None}) == "limit must be provided"
    assert world.refused("get_ranked_posts", {"sort": "hot", "limit": "many"}) == "limit must be an integer"
    assert world.refused("account_notifications", {"account": "carol", "last_id": "x"}) == "last_id must be an integer"
    assert world.refused("list_communities", {"query": 5}) == "query must be a string"
    assert world.refused("get_account_posts", {"sort": "blog", "account": ""}) == "account is required"
    assert world.refused("get_account_posts", {"sort": "blog", "account": "nobody"}) == "account not found: `nobody`"
    assert world.refused("get_community", {"name": "coin-199999", "observer": "nobody"}) == "community not found"


def test_posts_of_no_subscriptions_need_no_sort_of_communities(world: SocialScenario) -> None:
    assert world.call("get_ranked_posts", sort="payout_comments", tag="my", observer="coin-123456") == []
    assert world.refused("get_ranked_posts", {"sort": "payout_comments", "tag": "my", "observer": "bob"}) == "unknown sort payout_comments"


def test_nulls_and_positional_arguments(world: SocialScenario) -> None:
    nulls = {"sort": "created", "start_author": None, "start_permlink": None, "tag": None, "observer": None}
    plain = world.call("get_ranked_posts", sort="created")
    assert world.call("get_ranked_posts", **nulls) == plain
    assert world.ask("bridge.get_ranked_posts", ["created", "", "", 20, "", ""])["result"] == plain
    assert world.ask("bridge.list_communities", None)["result"] == world.call("list_communities")
    notes = world.ask("bridge.account_notifications", ["carol", 25, None, 2])["result"]
    assert notes == world.call("account_notifications", account="carol", limit=2)


def test_without_the_plugin_the_group_is_not_served() -> None:
    code, message = ApiChain("dev", ()).refused("bridge.get_ranked_posts", sort="hot")
    assert (code, message.split(":")[0]) == (-32002, "Assert Exception")


@pytest.mark.parametrize("kind", ["account", "permlink", "tag", "limit"])
def test_checks_of_arguments(kind: str) -> None:
    for case in SOCIAL["param_checks"][kind]:
        value = case["input"]
        if isinstance(value, str) and value.startswith("x*"):
            value = "x" * int(value[2:])
        empty = case.get("allow_empty")
        checks: dict[str, Callable[[], object]] = {
            "account": partial(account_argument, value, may_be_empty=empty),
            "permlink": partial(permlink_argument, value, may_be_empty=empty),
            "tag": partial(tag_argument, value, may_be_empty=empty),
            "limit": partial(limit_argument, value, case.get("ubound", 0)),
        }
        if case["ok"]:
            assert checks[kind]() == case.get("value", value)
        else:
            with pytest.raises(InvalidParameters, match=f"^{re.escape(case['error'])}$"):
                checks[kind]()
