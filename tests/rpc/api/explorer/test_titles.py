"""Titles of posts and communities."""

import json
from typing import Any

import pytest

from rpc.declare.method import METHODS
from rpc.jsonrpc.dispatch import Service
from state.protocol.errors import UnreadableBlock
from tests.helpers.api import ApiChain
from tests.helpers.golden import same_as_golden
from tests.helpers.method_coverage import watched
from tests.helpers.social import post, social_site
from tests.helpers.social_scenario import scenario

METHOD = "explorer_api.get_titles"


@pytest.fixture
def api() -> ApiChain:
    """A chain with a post and a reply to it."""
    made = social_site()
    post(made, "alice", "p-1", title="Sunrise")
    post(made, "bob", "re", parent=("alice", "p-1"), title="Nice")
    return made


def test_titles_of_posts_and_replies(api: ApiChain) -> None:
    asked = [["bob", "re"], ["alice", "p-1"], ["alice", "p-2"], ["nobody", ""], ["x" * 40, "p"]]
    assert api.call(METHOD, posts=asked, communities=["coin-123456"]) == {
        "posts": [
            {"author": "bob", "permlink": "re", "title": "Nice", "root_title": "Sunrise"},
            {"author": "alice", "permlink": "p-1", "title": "Sunrise", "root_title": "Sunrise"},
        ],
        "communities": [],
    }
    assert api.call(METHOD) == {"posts": [], "communities": []}


def test_titles_of_communities() -> None:
    world = scenario()
    service = Service(watched([METHODS[METHOD]]), wire=world.state.wire, state=world.state)
    params = {"communities": ["coin-234567", "nobody", "coin-123456"]}
    answer: Any = service.answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params}).encode())
    titles = [{"name": "coin-234567", "title": ""}, {"name": "coin-123456", "title": "Wonderland"}]
    assert json.loads(answer)["result"] == {"posts": [], "communities": titles}


def test_a_post_in_an_unreadable_block_is_omitted(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    post(api, "carol", "p-3", title="Other")
    damaged, texts = api.state.comments.by_permlink.find("alice", "p-1").id, api.state.comment_contents.by_comment
    read = texts.get

    def get(comment: int) -> Any:
        if comment == damaged:
            raise UnreadableBlock(1, "damaged")
        return read(comment)

    monkeypatch.setattr(texts, "get", get)
    found = api.call(METHOD, posts=[["alice", "p-1"], ["bob", "re"], ["carol", "p-3"]])["posts"]
    assert [one["permlink"] for one in found] == ["p-3"]


def test_too_many_are_refused(api: ApiChain) -> None:
    assert len(api.call(METHOD, posts=[["alice", "p-1"]] * 200, communities=["coin-123456"] * 100)["posts"]) == 200
    same_as_golden(api.refused(METHOD, posts=[["alice", "p-1"]] * 201)[1])
    same_as_golden(api.refused(METHOD, communities=["coin-123456"] * 101)[1])
