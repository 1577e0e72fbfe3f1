"""The plugin account_by_key: every operation that changes keys, and the accounts of the chain spec."""

from state.operations.accounts import AccountCreate, CreateClaimedAccount
from state.operations.authorities import AccountUpdate, AccountUpdate2, RecoverAccount
from state.operations.mining import Pow, Pow2, Pow2Input, Pow2Work
from state.plugins import account_by_key
from state.plugins.account_by_key import ACCOUNT_BY_KEY, AccountByKey, references
from state.protocol.authority import Authority, key_authority
from state.protocol.operation import Operation
from state.protocol.virtual import Hardfork
from state.tables import State
from state.tables.accounts import AccountAuthority
from tests.helpers.chains import genesis_state

KEYS = [bytes([2]) + bytes([n]) * 32 for n in range(8)]
ONE, TWO, THREE, FOUR = KEYS[:4]


def data_of(state: State) -> AccountByKey:
    """Return the plugin's data."""
    plugin: AccountByKey = ACCOUNT_BY_KEY.of(state)
    return plugin


def around(state: State, operation: Operation, **authorities: Authority) -> None:
    """Call the listeners before and after an operation. Between the calls, give the operation's account these authorities."""
    name = account_by_key.owner_of(operation)
    listeners = state.listeners
    for listener in listeners.before_operation[type(operation)]:
        listener(state, operation)
    row = state.account_authorities.by_account.get(name) or state.account_authorities.insert(AccountAuthority(account=name))
    state.account_authorities.modify(row, **authorities)
    for listener in listeners.after_operation[type(operation)]:
        listener(state, operation)


def test_keys_come_and_go_with_all_three_authorities() -> None:
    state = genesis_state(ACCOUNT_BY_KEY.name)
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
    assert len(data_of(state).references) == 2


def test_a_refused_update_changes_nothing() -> None:
    state = genesis_state(ACCOUNT_BY_KEY.name)
    around(state, AccountCreate(new_account_name="alice"), owner=key_authority(ONE))
    around(state, AccountCreate(new_account_name="bob"), owner=key_authority(ONE))
    for listener in state.listeners.before_operation[AccountUpdate]:
        listener(state, AccountUpdate(account="alice"))
    # The operation was refused, so no listener is notified of it. The next operation is another account's.
    around(state, AccountUpdate(account="bob"), owner=key_authority(TWO))
    assert references(state, ONE) == ("alice",)
    assert references(state, TWO) == ("bob",)


def test_keys_of_a_claimed_account_show_up_with_an_update() -> None:
    state = genesis_state(ACCOUNT_BY_KEY.name)
    assert not state.listeners.after_operation[CreateClaimedAccount]
    state.account_authorities.insert(AccountAuthority(account="claimed", owner=key_authority(ONE), active=key_authority(TWO)))
    around(state, AccountUpdate(account="claimed"), active=key_authority(THREE))
    assert [references(state, key) for key in KEYS[:4]] == [(), (), ("claimed",), ()]


def test_miners() -> None:
    state = genesis_state(ACCOUNT_BY_KEY.name)
    around(state, Pow(worker_account="miner1"), owner=key_authority(ONE))
    around(state, Pow2(work=Pow2Work(input=Pow2Input(worker_account="miner2"))), owner=key_authority(TWO))
    assert (references(state, ONE), references(state, TWO)) == (("miner1",), ("miner2",))
    around(state, Pow(worker_account="miner1"))
    assert references(state, ONE) == ("miner1",)


def test_hardfork_9_adds_the_recovery_key_and_keeps_the_others() -> None:
    state = genesis_state(ACCOUNT_BY_KEY.name)
    name = state.spec.hf9_accounts[0]
    around(state, AccountCreate(new_account_name=name), owner=key_authority(ONE))
    row = state.authority(name)
    state.account_authorities.modify(row, owner=key_authority(TWO), active=key_authority(TWO), posting=key_authority(TWO))
    data_of(state).after_hardfork(state, Hardfork(hardfork_id=8))
    assert references(state, TWO) == ()
    data_of(state).after_hardfork(state, Hardfork(hardfork_id=9))
    assert references(state, ONE) == references(state, TWO) == (name,)
    assert references(state, FOUR) == ()


def test_accounts_of_the_spec_are_found() -> None:
    state = genesis_state(ACCOUNT_BY_KEY.name, chain="dev")
    accounts = state.spec.genesis.accounts
    assert len(accounts) == 10
    for account in accounts:
        for key in (account.owner, account.active, account.posting):
            assert references(state, key) == (account.name,)
        assert references(state, account.memo) == ()
    # Like the reference's own accounts, the first witness is not.
    assert references(state, state.spec.genesis.witness_key) == ()
