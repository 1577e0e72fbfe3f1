"""Votes on posts of the source, and the payouts that follow."""

AUTHOR, PERMLINK = "alice", "storm-on-thursday"  # a post that isn't paid out yet


def content(chain):
    return chain.call("condenser_api.get_content", [AUTHOR, PERMLINK])


def vote(chain, voter, weight=10_000):
    chain.broadcast("vote", {"voter": voter, "author": AUTHOR, "permlink": PERMLINK, "weight": weight})


def test_a_vote_raises_the_payout(coin_chain):
    before = content(coin_chain)
    vote(coin_chain, "frank")
    after = content(coin_chain)
    assert after["net_votes"] == before["net_votes"] + 1
    assert int(after["net_rshares"]) > int(before["net_rshares"])


def test_the_votes_of_the_source_count(coin_chain):
    voters = {entry["voter"] for entry in coin_chain.call("condenser_api.get_active_votes", [AUTHOR, PERMLINK])}
    assert {"bob", "carol", "dave"} <= voters
    with coin_chain.refused("same_vote"):
        vote(coin_chain, "bob", 10_000)


def test_a_vote_costs_mana(coin_chain):
    [before] = coin_chain.call("database_api.find_accounts", {"accounts": ["erin"]})["accounts"]
    vote(coin_chain, "erin")
    [after] = coin_chain.call("database_api.find_accounts", {"accounts": ["erin"]})["accounts"]
    assert int(after["voting_manabar"]["current_mana"]) < int(before["voting_manabar"]["current_mana"])


def test_the_post_is_paid_out(coin_chain):
    assert content(coin_chain)["total_payout_value"] == "0.000 SBD"
    coin_chain.advance(8 * 86_400)
    assert content(coin_chain)["total_payout_value"] != "0.000 SBD"
    [author] = coin_chain.call("condenser_api.get_accounts", [[AUTHOR]])
    assert author["reward_vesting_balance"] != "0.000000 VESTS"
