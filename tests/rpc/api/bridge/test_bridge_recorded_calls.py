"""Applies the steps of the scenario in tests/vectors/social.json, and compares the replies to its calls with the recorded ones."""

from typing import Any

import pytest

from tests.helpers.social_scenario import SOCIAL, SocialScenario, scenario

CALLS = SOCIAL["scenario"]["calls"]
POSTS = SOCIAL["scenario"]["posts"]
LEFT_OUT = ("id", "post_id")


@pytest.fixture(scope="module")
def world() -> SocialScenario:
    return scenario()


def check_post(post: dict[str, Any], reblogged_by: list[str] | None) -> None:
    """Assert that a post has exactly the recorded fields and values."""
    expected = POSTS[f"{post['author']}/{post['permlink']}"]
    extras = dict(expected["extras"])
    wanted = {**expected["specification"]}
    if extras.pop("stats.is_pinned", False):
        wanted["stats"] = wanted["stats"] | {"is_pinned": True}
    if reblogged_by is not None:
        extras["reblogged_by"] = reblogged_by
    found = {name: value for name, value in post.items() if name not in LEFT_OUT}
    found["replies"] = []
    assert found == wanted | extras


def check_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Assert that notifications have descending ids and the recorded values."""
    ids = [row.pop("id") for row in found]
    assert ids == sorted(set(ids), reverse=True)
    assert found == expected


def without(value: Any, names: tuple[str, ...]) -> Any:
    """Return a record without the named fields. Any other value is returned unchanged."""
    return {name: member for name, member in value.items() if name not in names} if isinstance(value, dict) else value


def record(expected: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded fields of a community in a single dict."""
    return dict(expected["specification"] | expected["extras"])


def check(call: dict[str, Any], result: Any) -> None:
    """Assert that the result of a call equals the recorded one."""
    method = call["method"].removeprefix("bridge.")
    if "expected_refs" in call:
        assert [f"{post['author']}/{post['permlink']}" for post in result] == call["expected_refs"]
        for post in result:
            check_post(post, call.get("reblogged_by", {}).get(f"{post['author']}/{post['permlink']}"))
    elif "expected_keys" in call:
        assert sorted(result) == call["expected_keys"]
        assert {name: post["replies"] for name, post in result.items()} == call["expected_replies"]
        for post in result.values():
            check_post(post, None)
    elif method in ("account_notifications", "post_notifications"):
        check_rows(result, call["expected"])
    elif method == "get_community":
        assert without(result, LEFT_OUT) == record(call["expected"])
    elif method == "list_communities":
        assert [without(one, LEFT_OUT) for one in result] == [record(one) for one in call["expected"]]
    else:
        assert without(result, tuple(call.get("left_out", ()))) == call["expected"]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_call(world: SocialScenario, number: int) -> None:
    call = CALLS[number]
    params = dict(call["params"])
    if params.get("last_id") == "<id>":
        text = call["params_note"].split('"')[1]
        log = world.call("account_notifications", account=params["account"])
        params["last_id"] = next(row["id"] for row in log if row["msg"] == text)
    reply = world.ask(call["method"], params)
    if "expected" not in call and "reference_error" in call:
        assert reply["error"] == call["reference_error"]
    else:
        check(call, reply["result"])


@pytest.mark.parametrize("name", POSTS)
def test_post(world: SocialScenario, name: str) -> None:
    author, permlink = name.split("/")
    check_post(world.call("get_post", author=author, permlink=permlink), None)
