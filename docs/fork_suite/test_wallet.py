"""A wallet: what accounts have at the source, and what they do with it here."""


def account(chain, name):
    [found] = chain.call("condenser_api.get_accounts", [[name]])
    return found


def units(amount):
    return int(amount.split()[0].replace(".", ""))


def test_an_account_has_the_balances_of_the_source(coin_chain):
    harbour = account(coin_chain, "harbour.inn")
    assert units(harbour["balance"]) > 0
    assert units(harbour["vesting_shares"]) > 0


def test_a_transfer(coin_chain):
    before = account(coin_chain, "bob")
    coin_chain.broadcast("transfer", {"from": "alice", "to": "bob", "amount": "25.000 COIN", "memo": "rent"})
    assert units(account(coin_chain, "bob")["balance"]) == units(before["balance"]) + 25_000


def test_savings_come_back_after_three_days(coin_chain):
    before = account(coin_chain, "frank")
    coin_chain.broadcast("transfer_from_savings", {"from": "frank", "request_id": 77, "to": "frank", "amount": "10.000 COIN", "memo": ""})
    coin_chain.advance(4 * 86_400)
    assert units(account(coin_chain, "frank")["savings_balance"]) <= units(before["savings_balance"]) - 10_000
    assert units(account(coin_chain, "frank")["balance"]) >= units(before["balance"]) + 10_000


def test_a_delegation_of_the_source_can_be_ended(coin_chain):
    [delegation] = coin_chain.call("condenser_api.get_vesting_delegations", ["dave", "", 10])
    assert delegation["delegatee"] == "lighthouse"
    before = account(coin_chain, "lighthouse")
    coin_chain.broadcast("delegate_vesting_shares", {"delegator": "dave", "delegatee": "lighthouse", "vesting_shares": "0.000000 VESTS"})
    received = units(before["received_vesting_shares"]) - units(delegation["vesting_shares"])
    assert units(account(coin_chain, "lighthouse")["received_vesting_shares"]) == received
