"""Stolen keys, and accounts that get their owner back."""

NAME = "mill-bakery"


def account(chain, name):
    [found] = chain.call("condenser_api.get_accounts", [[name]])
    return found


def owner_key(chain, name):
    """Return the private key with which the node signs for an account."""
    return next(entry["keys"]["owner"]["private"] for entry in chain.call("dev_api.list_keys") if entry["name"] == name)


def change_owner(chain, owner):
    memo_key = account(chain, NAME)["memo_key"]
    chain.broadcast("account_update", {"account": NAME, "owner": owner, "memo_key": memo_key, "json_metadata": ""})


def test_the_recovery_partner_is_that_of_the_source(coin_chain):
    partner = account(coin_chain, NAME)["recovery_account"]
    assert account(coin_chain, partner)["name"] == partner


def test_the_owner_keys_can_be_changed(coin_chain):
    owner = account(coin_chain, "ivan")["owner"]
    change_owner(coin_chain, owner)
    assert account(coin_chain, NAME)["owner"] == owner


def test_a_stolen_account_is_recovered(coin_chain):
    before, thief, new = (account(coin_chain, name)["owner"] for name in (NAME, "judy", "ivan"))
    keys = [owner_key(coin_chain, name) for name in (NAME, "ivan")]
    partner = account(coin_chain, NAME)["recovery_account"]
    change_owner(coin_chain, thief)
    coin_chain.broadcast(
        "request_account_recovery",
        {"recovery_account": partner, "account_to_recover": NAME, "new_owner_authority": new, "extensions": []},
    )
    coin_chain.broadcast(
        "recover_account",
        {"account_to_recover": NAME, "new_owner_authority": new, "recent_owner_authority": before, "extensions": []},
        keys=keys,
    )
    assert account(coin_chain, NAME)["owner"] == new


def test_only_the_partner_can_ask_for_it(coin_chain):
    new = account(coin_chain, "ivan")["owner"]
    with coin_chain.refused():
        coin_chain.broadcast(
            "request_account_recovery",
            {"recovery_account": "judy", "account_to_recover": NAME, "new_owner_authority": new, "extensions": []},
        )
