"""`coind dev sample`: the town that it writes to a chain."""

from typing import Any

import pytest

from node.app.local_chain import LocalChain
from node.cli.dev.sample import SAMPLE, write_sample
from node.runtime.errors import NodeError
from tests.fork.town import URL, LocalRemote, sample_town


@pytest.fixture(scope="module")
def dev() -> LocalChain:
    return sample_town("dev")


def ranked(chain: LocalChain, sort: str, tag: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chain.call("bridge.get_ranked_posts", {"sort": sort, "tag": tag, "observer": "", "limit": 50})
    return found


@pytest.mark.parametrize("chain", ["dev-tests", "mainnet-like", "steem-testnet"])
def test_other_chains_get_the_same_town(dev: LocalChain, chain: str) -> None:
    other = sample_town(chain)
    for method, params in (
        ("condenser_api.get_content_replies", ["alice", "welcome-to-saltmere"]),
        ("condenser_api.get_following", ["judy", "", "blog", 100]),
    ):
        for ours, theirs in zip(dev.call(method, params), other.call(method, params), strict=True):
            assert {name: ours.get(name) for name in ("author", "body", "following")} == {
                name: theirs.get(name) for name in ("author", "body", "following")
            }


def test_equal_chains_get_equal_blocks(dev: LocalChain) -> None:
    assert sample_town("dev").digest() == dev.digest()


def test_old_posts_are_paid_and_new_ones_are_not(dev: LocalChain) -> None:
    posts = [dev.call("bridge.get_post", {"author": step["by"], "permlink": step["permlink"]}) for step in SAMPLE["steps"]]
    assert [post["is_paidout"] for post in posts] == [True] * 5 + [False] * 7
    assert all(post["payout"] > 0 for post in posts if post["author"] != "judy")
    body = posts[0]["body"]
    assert f"({URL}/explorer/pictures/harbour.svg)" in body
    assert posts[0]["json_metadata"]["image"] == [f"{URL}/explorer/pictures/harbour.svg"]


def test_communities_have_roles_pinned_and_muted_posts(dev: LocalChain) -> None:
    kitchen = dev.call("bridge.get_community", {"name": "coin-100001", "observer": ""})
    assert kitchen["title"] == SAMPLE["communities"]["kitchen"]["title"]
    assert {name: role for name, role, _ in kitchen["team"]} == {"coin-100001": "owner", "grace": "admin", "bob": "mod"}
    assert ranked(dev, "created", "coin-100001")[0]["stats"]["is_pinned"]
    assert [post["permlink"] for post in ranked(dev, "muted", "coin-100001")] == ["buy-my-pans"]


def test_no_action_is_refused(dev: LocalChain) -> None:
    for name in [*SAMPLE["people"], "coin-100001", "coin-200001", "coin-300001"]:
        notes = dev.call("bridge.account_notifications", {"account": name, "limit": 100})
        assert "error" not in {note["type"] for note in notes}, name


def test_there_are_orders_trades_proposals_and_things_that_wait(dev: LocalChain) -> None:
    book = dev.call("condenser_api.get_order_book", [50])
    assert book["bids"]
    assert book["asks"]
    assert len(dev.call("condenser_api.get_recent_trades", [50])) > 5
    assert len(dev.call("condenser_api.list_proposals", [[], 10, "by_creator", "ascending", "all"])) == 2
    kinds = {item["kind"] for item in dev.call("explorer_api.list_due", {"limit": 100})}
    assert {"payout", "savings", "conversion", "power_down"} <= kinds
    assert dev.call("condenser_api.get_escrow", ["bob", 1])["agent_approved"]
    assert dev.call("condenser_api.get_witness_by_account", ["lighthouse"])["last_confirmed_block_num"] > 0


def test_a_second_run_changes_nothing(dev: LocalChain) -> None:
    before = dev.digest()
    with pytest.raises(NodeError, match="has the sample already"):
        write_sample(LocalRemote(dev))
    assert (dev.digest(), dev.info()["block_mode"]) == (before, "instant")


@pytest.mark.parametrize("calls", [20, 400])
def test_a_run_after_an_interrupted_one_changes_nothing(calls: int) -> None:
    local = LocalChain("dev", blocks="instant")
    remote = LocalRemote(local)
    whole, left = remote.call, iter(range(calls))

    def call(method: str, params: Any = (), **_: Any) -> Any:
        if next(left, None) is None and method != "dev_api.set_block_mode":
            raise KeyboardInterrupt
        return whole(method, params)

    remote.call = call
    with pytest.raises(KeyboardInterrupt):
        write_sample(remote)
    before = local.digest()
    with pytest.raises(NodeError, match="or a part of it"):
        write_sample(LocalRemote(local))
    assert (local.digest(), local.info()["block_mode"]) == (before, "instant")
