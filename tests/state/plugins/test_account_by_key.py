"""Plugin account_by_key: recorded references of keys, every operation that changes keys, accounts of the spec, undo."""

from typing import Any

import pytest

from node.specs.builder import load_spec
from state.chain.genesis import new_state
from state.operations.accounts import AccountCreate, CreateClaimedAccount
from state.operations.authorities import AccountUpdate, AccountUpdate2, RecoverAccount
from state.operations.mining import Pow, Pow2, Pow2Input, Pow2Work
from state.plugins import account_by_key
from state.plugins.account_by_key import ACCOUNT_BY_KEY, AccountByKey, references
from state.plugins.registry import enable
from state.protocol.authority import Authority, key_authority
from state.protocol.keys.keys import public_key_from_text
from state.protocol.operation import Operation
from state.protocol.virtual import Hardfork
from state.tables import State
from state.tables.accounts import AccountAuthority
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.snapshots import blocks_that_change, pieces, snapshot

KEYS = [bytes([2]) + bytes([n]) * 32 for n in range(8)]
ONE, TWO, THREE, FOUR = KEYS[:4]


def fresh_state(chain: str = "steem-testnet") -> State:
    """A chain at genesis with this plugin alone."""
    return new_state(load_spec(chain), prepare=lambda state: enable(state, [ACCOUNT_BY_KEY.name]))


def kept(state: State) -> AccountByKey:
    """What the plugin keeps."""
    plugin: AccountByKey = ACCOUNT_BY_KEY.of(state)
    return plugin


def keys_of_params(player: Player, params: Any) -> list[bytes]:
    """The keys that a query asks for."""
    texts = params["keys"] if isinstance(params, dict) else params[0]
    return [public_key_from_text(text, player.chain.state.spec.key_prefix) for text in texts]


@pytest.mark.parametrize("case", ["accounts_create", "accounts_update", "authority_checks"])
def test_answers_are_the_recorded_ones(case: str) -> None:
    player = Player(CASES / case)
    asked = 0
    for event in player.events():
        player.advance(event["height"])
        if "trx" in event:
            player.broadcast(event)
        elif event["method"].endswith(".get_key_references") and "result" in event:
            want = event["result"]["accounts"] if isinstance(event["result"], dict) else event["result"]
            assert [list(references(player.chain.state, key)) for key in keys_of_params(player, event["params"])] == want
            asked += 1
    assert asked


def test_undone_and_applied_again_it_is_the_same() -> None:
    player = Player(CASES / "accounts_update")
    plugin = kept(player.chain.state)
    assert blocks_that_change(player, lambda: snapshot(plugin)) == 10
    assert pieces(snapshot(plugin)) == 1


def around(state: State, operation: Operation, **authorities: Authority) -> None:
    """Tell the plugin of an operation that gives its account these authorities."""
    name = account_by_key.owner_of(operation)
    listeners = state.listeners
    for listener in listeners.before_operation[type(operation)]:
        listener(state, operation)
    row = state.account_authorities.by_account.get(name) or state.account_authorities.insert(AccountAuthority(account=name))
    state.account_authorities.modify(row, **authorities)
    for listener in listeners.after_operation[type(operation)]:
        listener(state, operation)


def test_keys_come_and_go_with_all_three_authorities() -> None:
    state = fresh_state()
    around(state, AccountCreate(new_account_name="bob"), owner=key_authority(ONE), active=key_authority(TWO), posting=key_authority(TWO))
    around(
        state, AccountCreate(new_account_name="alice"), owner=key_authority(ONE), active=key_authority(ONE), posting=key_authority(THREE)
    )
    assert [references(state, key) for key in KEYS[:4]] == [("alice", "bob"), ("bob",), ("alice",), ()]
    around(state, AccountUpdate(account="bob"), active=key_authority(THREE))
    assert [references(state, key) for key in KEYS[:4]] == [("alice", "bob"), ("bob",), ("alice", "bob"), ()]
    around(state, AccountUpdate2(account="bob"), posting=key_authority(FOUR))
    assert [references(state, key) for key in KEYS[:4]] == [("alice", "bob"), (), ("alice", "bob"), ("bob",)]
    around(state, RecoverAccount(account_to_recover="bob"), owner=key_authority(TWO))
    assert [references(state, key) for key in KEYS[:4]] == [("alice",), ("bob",), ("alice", "bob"), ("bob",)]
    around(state, AccountUpdate(account="bob"), owner=Authority(1), active=Authority(1), posting=Authority(1))
    assert [references(state, key) for key in KEYS[:4]] == [("alice",), (), ("alice",), ()]
    assert len(kept(state).references) == 2


def test_a_refused_update_leaves_nothing_behind() -> None:
    state = fresh_state()
    around(state, AccountCreate(new_account_name="alice"), owner=key_authority(ONE))
    around(state, AccountCreate(new_account_name="bob"), owner=key_authority(ONE))
    for listener in state.listeners.before_operation[AccountUpdate]:
        listener(state, AccountUpdate(account="alice"))
    # It was refused, so nobody is told that it has been applied; the next one is another account's.
    around(state, AccountUpdate(account="bob"), owner=key_authority(TWO))
    assert references(state, ONE) == ("alice",)
    assert references(state, TWO) == ("bob",)


def test_keys_of_a_claimed_account_show_up_with_an_update() -> None:
    state = fresh_state()
    assert not state.listeners.after_operation[CreateClaimedAccount]
    state.account_authorities.insert(AccountAuthority(account="claimed", owner=key_authority(ONE), active=key_authority(TWO)))
    around(state, AccountUpdate(account="claimed"), active=key_authority(THREE))
    assert [references(state, key) for key in KEYS[:4]] == [(), (), ("claimed",), ()]


def test_miners() -> None:
    state = fresh_state()
    around(state, Pow(worker_account="miner1"), owner=key_authority(ONE))
    around(state, Pow2(work=Pow2Work(input=Pow2Input(worker_account="miner2"))), owner=key_authority(TWO))
    assert (references(state, ONE), references(state, TWO)) == (("miner1",), ("miner2",))
    around(state, Pow(worker_account="miner1"))
    assert references(state, ONE) == ("miner1",)


def test_hardfork_9_adds_the_recovery_key_and_keeps_the_others() -> None:
    state = fresh_state()
    name = state.spec.hf9_accounts[0]
    around(state, AccountCreate(new_account_name=name), owner=key_authority(ONE))
    row = state.authority(name)
    state.account_authorities.modify(row, owner=key_authority(TWO), active=key_authority(TWO), posting=key_authority(TWO))
    kept(state).after_hardfork(state, Hardfork(hardfork_id=8))
    assert references(state, TWO) == ()
    kept(state).after_hardfork(state, Hardfork(hardfork_id=9))
    assert references(state, ONE) == references(state, TWO) == (name,)
    assert references(state, FOUR) == ()


def test_accounts_of_the_spec_are_found() -> None:
    state = fresh_state("dev")
    accounts = state.spec.genesis.accounts
    assert len(accounts) == 10
    for account in accounts:
        for key in (account.owner, account.active, account.posting):
            assert references(state, key) == (account.name,)
        assert references(state, account.memo) == ()
    # Like the reference's own accounts, the first witness is not.
    assert references(state, state.spec.genesis.witness_key) == ()
