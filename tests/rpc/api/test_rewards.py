"""rewards_api simulates payouts under a different reward curve. It exists only on test chains."""

from typing import Any

import pytest

from state.effects.curves import CONTENT_CONSTANT
from state.protocol.constants import TIME_MAX
from state.tables.content import Comment
from state.tables.globals import RewardFund
from tests.helpers.api import NOW, ApiChain

QUADRATIC, LINEAR = 0, 2


@pytest.fixture
def api() -> ApiChain:
    """A chain at genesis with the plugin rewards_api."""
    return ApiChain(plugins=["rewards_api"])


def comment(api: ApiChain, permlink: str, rshares: int, cashout: int = NOW) -> None:
    """Insert a post that awaits its payout."""
    api.state.comments.insert(Comment(author="temp", permlink=permlink, net_rshares=rshares, cashout_time=cashout))


def simulate(api: ApiChain, curve: Any, constant: int = CONTENT_CONSTANT) -> Any:
    """Return the simulated payouts by permlink, and the recent claims."""
    reply = api.call("rewards_api.simulate_curve_payouts", curve=curve, var1=str(constant))
    return {item["permlink"]: int(item["payout"]["amount"]) for item in reply["payouts"]}, int(reply["recent_claims"])


def test_simulated_payouts(api: ApiChain) -> None:
    assert api.call("rewards_api.simulate_curve_payouts", curve="linear", var1="0") == {"recent_claims": "0", "payouts": []}
    api.state.reward_funds.insert(
        RewardFund(name="post", reward_balance=1000, recent_claims=600, content_constant=CONTENT_CONSTANT, author_reward_curve=LINEAR)
    )
    comment(api, "later", 300, NOW + 1)
    comment(api, "sooner", 100)
    comment(api, "hated", -100)
    comment(api, "unloved", 0)
    comment(api, "paid", 100, TIME_MAX)
    payouts, claims = simulate(api, "linear")
    assert (list(payouts.items()), claims) == ([("sooner", 100), ("later", 300)], 600)
    # The payouts have the ratio 100² : 300². The recent claims are scaled like the claims of the comments.
    payouts, claims = simulate(api, "quadratic", 0)
    assert (payouts, claims) == ({"sooner": 40, "later": 360}, 150_000)


def test_payouts_that_cannot_be_simulated(api: ApiChain) -> None:
    api.state.reward_funds.insert(RewardFund(name="post", reward_balance=1000, author_reward_curve=QUADRATIC))
    comment(api, "only", 10)
    method = "rewards_api.simulate_curve_payouts"
    code, message = api.refused(method, curve="convergent_square_root", var1=str(10**10))
    assert (code, message.split(": ")[1]) == (-32003, "The pending comments would have no claims on the fund")
    name = "Bad Cast:invalid name 'steep' in enum 'coin::protocol::curve_id'"
    assert api.refused(method, curve="steep", var1="1") == (-32000, name)
    index = "Bad Cast:invalid index '9' in enum 'coin::protocol::curve_id'"
    assert api.refused(method, curve=9, var1="1") == (-32000, index)
    assert api.refused(method, curve=[], var1="1") == (-32000, "Bad Cast:Invalid cast from array_type to int64")


def test_payouts_are_simulated_on_test_chains_only() -> None:
    code, message = ApiChain(plugins=[]).refused("rewards_api.simulate_curve_payouts", curve="linear", var1="0")
    assert (code, message.split(": ")[1]) == (-32002, "Could not find API rewards_api")
    served = {name: "rewards_api" in ApiChain(name).state.spec.plugins for name in ("dev", "testnet", "steem-testnet", "steem-mainnet")}
    assert served == {"dev": True, "testnet": True, "steem-testnet": True, "steem-mainnet": False}
