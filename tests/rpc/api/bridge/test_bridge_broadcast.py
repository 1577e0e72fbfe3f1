"""Tests the social index on a real chain: broadcasts the signed operations of the scenario, replays the recorded case `communities`, and
undoes blocks.
"""

import json
from typing import Any

import pytest

from state.operations.accounts import AccountCreate
from state.operations.content import Comment, DeleteComment
from state.operations.custom import CustomJson
from state.operations.transfers import Transfer
from state.plugins.follow.plugin import FOLLOW
from state.plugins.reputation import REPUTATION
from state.plugins.social.plugin import COMMUNITIES
from state.protocol.authority import key_authority
from state.protocol.keys.keys import derive_secret, public_key
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, Asset
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.api import INIT_WIF, ApiChain, Refusal, secret
from tests.helpers.snapshots import snapshot
from tests.helpers.social_scenario import SOCIAL, thousandths

PLUGINS = (FOLLOW.name, REPUTATION.name, COMMUNITIES.name)
PAUSE_BLOCKS = 100  # Root posts of one author are five minutes apart.
PRINTING_BLOCKS = 60  # No more SBD can be destroyed than blocks have printed.
STEPS = SOCIAL["scenario"]["steps"]
CALLS = SOCIAL["scenario"]["calls"]
POSTS = SOCIAL["scenario"]["posts"]
# Fields of a post that depend on neither rshares nor reputations.
STEADY = (
    *("author", "permlink", "category", "title", "body", "json_metadata", "depth", "children", "promoted", "replies", "beneficiaries"),
    *("max_accepted_payout", "percent_coin_dollars", "url", "parent_author", "parent_permlink"),
    *("community", "community_title", "author_role", "author_title"),
)


class Broadcaster:
    """A dev chain to which the scenario's operations are broadcast, one per block."""

    def __init__(self) -> None:
        self.api = ApiChain("dev", (*PLUGINS, "debug_node"))
        self.api.generate(2)
        self.posted: set[str] = set()

    def broadcast(self, operation: Operation, key: bytes) -> None:
        """Sign and broadcast an operation, and make the next block."""
        trx = self.api.transaction(operation, signers=(key,))
        self.api.call("condenser_api.broadcast_transaction", self.api.wire.transaction_to_json(trx, legacy=True))
        self.api.generate()

    def key(self, name: str, role: str = "posting") -> bytes:
        """Return the private key of a role of an account, which exists since genesis or was made by `create`."""
        return secret(name) if name.startswith("coin-") else derive_secret(name, role, "dev")

    def step(self, step: dict[str, Any]) -> None:
        """Apply a step of the scenario. Votes, payouts and accounts that already exist are skipped."""
        op = step.get("op", {})
        match step["type"]:
            case "account" if step["name"].startswith("coin-"):
                self.create(step["name"])
            case "comment":
                pause = PAUSE_BLOCKS if op["author"] in self.posted and not op["parent_author"] else 1
                self.posted |= {op["author"]} if not op["parent_author"] else set()
                self.api.call("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=1, miss_blocks=pause)
                self.broadcast(Comment(**op), self.key(op["author"]))
            case "delete_comment":
                self.broadcast(DeleteComment(**op), self.key(op["author"]))
            case "transfer":
                self.api.generate(PRINTING_BLOCKS)
                amount = Asset(thousandths(op["amount"]), SBD)
                self.broadcast(Transfer(op["from"], op["to"], amount, op["memo"]), self.key(op["from"], "active"))
            case "custom_json":
                names = {name: tuple(op[name]) for name in ("required_auths", "required_posting_auths")}
                self.broadcast(CustomJson(id=op["id"], json=op["json"], **names), self.key(op["required_posting_auths"][0]))

    def create(self, name: str) -> None:
        """Create an account whose keys are derived from its name."""
        authority = key_authority(public_key(secret(name)))
        fee = Asset(self.api.state.schedule.median_props.account_creation_fee, COIN)
        operation = AccountCreate(fee, "alice", name, authority, authority, authority, public_key(secret(name)))
        self.broadcast(operation, self.key("alice", "active"))


@pytest.fixture(scope="module")
def api() -> ApiChain:
    broadcaster = Broadcaster()
    for step in STEPS:
        broadcaster.step(step)
    return broadcaster.api


def ask(api: ApiChain, method: str, params: dict[str, Any]) -> Any:
    """Return the result of a call, or the text of its refusal."""
    try:
        return api.call(method, **params)
    except Refusal as error:
        return error.message


def name_of(post: dict[str, Any]) -> str:
    return f"{post['author']}/{post['permlink']}"


# ------------------------------------------------------------------ the scenario


@pytest.mark.parametrize("name", POSTS)
def test_posts(api: ApiChain, name: str) -> None:
    expected = POSTS[name]["specification"] | POSTS[name]["extras"]
    author, permlink = name.split("/")
    post = ask(api, "bridge.get_post", {"author": author, "permlink": permlink})
    assert {key: post.get(key) for key in STEADY} == {key: expected.get(key) for key in STEADY}
    in_community = "community" in expected
    assert post["stats"]["gray"] == (expected["stats"]["gray"] if in_community else False)
    assert post["stats"].get("is_pinned") == expected.get("stats.is_pinned")


def test_a_deleted_post_is_not_listed(api: ApiChain) -> None:
    posts = api.call("bridge.get_account_posts", sort="posts", account="erin")
    assert [post["permlink"] for post in posts if post["permlink"] == "oops"] == []


def test_refused_and_failed_custom_operations(api: ApiChain) -> None:
    """A repeated reblog is refused. A failed community operation is included in a block, and its author receives a notification."""
    broadcaster = Broadcaster.__new__(Broadcaster)
    broadcaster.api = api
    again = json.dumps(["reblog", {"account": "bob", "author": "frank", "permlink": "photo"}])
    with pytest.raises(Refusal, match="already reblogged"):
        broadcaster.broadcast(CustomJson(id="follow", json=again, required_posting_auths=("bob",)), broadcaster.key("bob"))
    before = snapshot(COMMUNITIES.of(api.state))
    value = json.dumps(["subscribe", {"community": "coin-123456", "x": 1}])
    broadcaster.broadcast(CustomJson(id="community", json=value, required_posting_auths=("erin",)), broadcaster.key("erin"))
    after = snapshot(COMMUNITIES.of(api.state))
    assert [name for name in after if after[name] != before[name]] == ["notifications"]
    newest = api.call("bridge.account_notifications", account="erin", limit=1)[0]
    assert newest["msg"] == "error: extraneous keys: {'x'}"
    assert newest["date"] == api.call("condenser_api.get_dynamic_global_properties")["time"]


def test_a_popped_block_can_be_pushed_again() -> None:
    """After each step, popping the head block restores the earlier replies. Pushing it again restores the later ones."""
    broadcaster = Broadcaster()
    api, asked = broadcaster.api, [call for call in CALLS if "<id>" not in call["params"].values()]
    for step in STEPS:
        before = snapshot(COMMUNITIES.of(api.state)), answers(api, asked[::7])
        number = api.state.props.head_block_number
        broadcaster.step(step)
        if api.state.props.head_block_number == number:
            continue
        head = api.chain.head
        assert head is not None
        after = snapshot(COMMUNITIES.of(api.state)), answers(api, asked[::7])
        api.chain.pop_block()
        api.chain.clear_pending()
        if api.state.props.head_block_number == number:
            assert (snapshot(COMMUNITIES.of(api.state)), answers(api, asked[::7])) == before
        api.chain.push_block(head)
        assert (snapshot(COMMUNITIES.of(api.state)), answers(api, asked[::7])) == after


def answers(api: ApiChain, calls: list[dict[str, Any]]) -> list[Any]:
    return [ask(api, call["method"], call["params"]) for call in calls]


# ------------------------------------------------------------------ the recorded case


@pytest.fixture(scope="module")
def case() -> Player:
    player = Player(CASES / "communities")
    player.advance(len(player.places))
    return player


def asked(player: Player, method: str, **params: Any) -> Any:
    """Call a `bridge` method on the chain of a test case. The chain uses the reference's names of symbols."""
    return player.ask({"method": f"bridge.{method}", "params": params})["result"]


def test_roles_of_the_case(case: Player) -> None:
    assert asked(case, "list_community_roles", community="coin-123456") == [
        ["coin-123456", "owner", ""],
        ["alice", "admin", "Founder"],
        ["grace", "admin", ""],
        ["charlie", "member", ""],
        ["edward", "member", ""],
    ]
    assert asked(case, "list_community_roles", community="coin-234567")[1:] == [["bob", "mod", ""], ["frank", "member", ""]]
    assert asked(case, "list_community_roles", community="hive-123456") == []


def test_communities_of_the_case(case: Player) -> None:
    names = {
        one["name"]: (one["type_id"], one["title"], one["lang"], one["is_nsfw"]) for one in asked(case, "list_communities", sort="new")
    }
    assert names == {
        "coin-123456": (1, "Wonderland", "en", False),
        "coin-234567": (2, "Journal", "de", False),
        "coin-345678": (3, "Council", "en", True),
        "coin-12345": (1, "Five digits", "en", False),
        "coin-1234567": (1, "Seven digits", "en", False),
    }
    subscribers = {row[0] for row in asked(case, "list_subscribers", community="coin-123456")}
    assert subscribers == {"alice", "charlie", "dave", "edward", "eve", "grace"}  # frank never signed alone
    assert asked(case, "get_community", name="coin-123456")["subscribers"] == len(subscribers)
    assert asked(case, "list_all_subscriptions", account="charlie") == [["coin-123456", "Wonderland"], ["coin-234567", "Journal"]]


def test_posts_of_the_case(case: Player) -> None:
    pinned = asked(case, "get_ranked_posts", sort="created", tag="coin-123456")
    assert [name_of(post) for post in pinned] == ["alice/a-post-by-alice", "eve/a-post-by-eve"]
    assert pinned[0]["stats"]["is_pinned"] is True
    assert "percent_steem_dollars" in pinned[0]
    assert pinned[0]["max_accepted_payout"] == "1000000.000 TBD"
    reply = asked(case, "get_post", author="dave", permlink="re-frank")
    assert (reply["community"], reply["stats"]["gray"]) == ("coin-234567", True)
    assert asked(case, "get_post", author="alice", permlink="re-grace")["stats"]["gray"] is True  # no member of a council
    outside = asked(case, "get_post", author="dave", permlink="daves")
    assert "community" not in outside
    log = asked(case, "account_notifications", account="coin-123456")
    assert {row["type"] for row in log} >= {"new_community", "set_role", "set_props", "mute_post", "unmute_post", "pin_post", "flag_post"}
    assert asked(case, "unread_notifications", account="bob")["lastread"] == "1970-01-01T00:00:00"
    assert asked(case, "unread_notifications", account="alice")["lastread"] == "2020-12-01T00:02:24"


def test_the_unread_count_matches_the_notifications(api: ApiChain) -> None:
    """The count is right even for a community account, which is notified of all its events."""
    names = [account.name for account in api.state.accounts]
    for name in names:
        notifications = api.call("bridge.account_notifications", account=name)
        unread = api.call("bridge.unread_notifications", account=name)
        assert unread["unread"] == sum(one["date"] > unread["lastread"] for one in notifications)
    assert api.call("bridge.unread_notifications", account="coin-123456")["unread"] > 1
