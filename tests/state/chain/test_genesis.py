"""The genesis of the dev chain: the supplies are consistent, and its accounts can spend and burn their balances."""

import pytest

from state.chain.invariants import validate_invariants
from state.operations.transfers import Transfer
from state.protocol.errors import UnknownKey
from state.protocol.keys.keys import derive_secret
from state.protocol.values.asset import SBD, Asset
from tests.helpers.nodes import DEV, dev_chain, make_block, signed_transaction


def test_all_sbd_of_dev_can_be_burned() -> None:
    chain = dev_chain()
    make_block(chain)
    state, accounts = chain.state, DEV.genesis.accounts
    assert state.props.sbd_print_rate == 10000
    for account in accounts:
        burning = Transfer(account.name, "null", Asset(account.sbd, SBD), "")
        chain.push_transaction(signed_transaction(chain, [burning], derive_secret(account.name, "active", "dev")))
    assert len(make_block(chain).transactions) == len(accounts)
    assert state.account("null").sbd_balance == 0
    validate_invariants(state)


def test_unknown_names_are_refused() -> None:
    state = dev_chain().state
    for find in (state.account, state.authority, state.witness):
        with pytest.raises(UnknownKey):
            find("nobody")
