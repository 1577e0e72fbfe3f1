"""The plugin rc: worked examples, the account that pays for a transaction, and changes of manabars."""

import pytest

from state.chain.chain import Chain
from state.operations.accounts import AccountCreate
from state.operations.authorities import RecoverAccount
from state.operations.custom import CustomJson
from state.operations.mining import Pow
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting, WithdrawVesting
from state.operations.witnesses import WitnessSetProperties
from state.plugins.rc.accounts import FIRST_ADJUSTMENT, on_work
from state.plugins.rc.plugin import NEGATIVE_SINCE, RC, after_block, charge, fill_pools, payer, payer_of, take
from state.plugins.rc.prices import NEW_ACCOUNTS, RESOURCES
from state.plugins.rc.rows import RcAccount, maximum_rc
from state.plugins.rc.usage import usage_of
from state.protocol.authority import Authority
from state.protocol.errors import PluginRefused
from state.protocol.operation import OPERATIONS
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import Asset
from state.protocol.virtual import Hardfork
from state.tables import State
from tests.helpers.chains import BLOCK, add_account, apply, chain_at, move_to, push, refused, set_median
from tests.helpers.operations import SAMPLES, sample
from tests.state.plugins.rc.test_usage import sized


def chain_with_credits(hardfork: int = 23, vests: int = 10**12) -> Chain:
    """A chain on which resource credits were just introduced. alice has VESTS, and bob has none."""
    chain = chain_at(hardfork, plugins=[RC.name])
    state = chain.state
    add_account(state, "alice", balance=1000, vesting_shares=vests)
    add_account(state, "bob")
    state.set_props(head_block_number=state.spec.constants.RC_START_BLOCK)
    after_block(state, RC.of(state), BLOCK)
    return chain


def bar(state: State, name: str = "alice") -> RcAccount:
    """Return the credits row of an account."""
    row = RC.of(state).accounts.by_account.get(name)
    assert row is not None
    return row


def set_bar(state: State, name: str, **values: int) -> None:
    """Set fields of an account's credits row."""
    RC.of(state).accounts.modify(bar(state, name), **values)


# ------------------------------------------------------------------ who pays


def test_the_fast_path_finds_the_same_payer() -> None:
    for name in {cls.NAME for cls in OPERATIONS.values() if not cls.VIRTUAL} & SAMPLES.keys():
        operation = sample(name)
        assert isinstance(operation, WitnessSetProperties) or payer((operation,)) == payer_of(operation), name


def test_special_payers() -> None:
    bob, carol = Authority(1, (("bob", 1),)), Authority(1, (("carol", 1),))
    assert payer((RecoverAccount(account_to_recover="alice", new_owner_authority=bob, recent_owner_authority=carol),)) == "bob"
    assert payer((RecoverAccount(account_to_recover="alice", recent_owner_authority=carol),)) == "carol"
    assert payer((RecoverAccount(account_to_recover="alice"),)) == "alice"
    assert payer((WitnessSetProperties(owner="bob"),)) == "bob"
    assert payer((CustomJson(required_auths=("zoe",), required_posting_auths=("amy",)),)) == "zoe"
    assert payer((CustomJson(), Transfer(from_="bob"))) == "bob"
    assert payer((CustomJson(),)) == ""


# ------------------------------------------------------------------ charging


def test_accounts_without_credits_are_refused_only_when_they_push() -> None:
    chain = chain_with_credits()
    state = chain.state
    gift = Transfer(from_="alice", to="bob", amount=Asset(1))
    push(chain, gift)
    assert bar(state).mana < bar(state).last_max
    chain.clear_pending()
    set_bar(state, "alice", mana=1)
    needed = RC.of(state).price(state, usage_of(state.wire.seal(SignedTransaction(operations=(gift,)))))
    assert needed > 1
    text = refused(chain, gift, by=push)
    assert text == f"plugin exception:Account: alice has 1 RC, needs {needed} RC. Please wait to transact, or power up COIN.rethrow"
    apply(chain, gift)
    assert bar(state).mana == 1 - needed


def test_before_hardfork_20_no_transaction_is_refused() -> None:
    chain = chain_with_credits(hardfork=19)
    set_bar(chain.state, "alice", mana=1)
    push(chain, Transfer(from_="alice", to="bob", amount=Asset(1)))
    assert bar(chain.state).mana < 1


def test_a_bar_goes_only_a_little_below_zero() -> None:
    chain = chain_with_credits()
    state, row, account = chain.state, bar(chain.state), chain.state.account("alice")
    most = maximum_rc(account, row.adjustment)
    assert most == 10**12 + FIRST_ADJUSTMENT
    take(state, RC.of(state), row, account, 10**15)
    assert row.mana == -(166 * most // 10000)
    state.set_props(time=NEGATIVE_SINCE)
    set_bar(state, "alice", mana=5, mana_time=NEGATIVE_SINCE)
    take(state, RC.of(state), row, account, 10**15)
    assert row.mana == 5, "long ago what couldn't be paid cost nothing"


def test_free_operations_are_never_refused() -> None:
    chain = chain_with_credits()
    state, row, account = chain.state, bar(chain.state), chain.state.account("alice")
    set_bar(state, "alice", mana=-10)
    with state.pushing():
        take(state, RC.of(state), row, account, 0)
        with pytest.raises(PluginRefused):
            take(state, RC.of(state), row, account, 1)
    assert row.mana == -10


def test_a_bar_regenerates_in_five_days() -> None:
    chain = chain_with_credits()
    state, row, account = chain.state, bar(chain.state), chain.state.account("alice")
    most = maximum_rc(account, row.adjustment)
    set_bar(state, "alice", mana=0)
    move_to(state, state.head_time + 43_200)
    take(state, RC.of(state), row, account, 0)
    assert row.mana == most // 10
    move_to(state, state.head_time + 432_000)
    take(state, RC.of(state), row, account, 0)
    assert row.mana == most


def test_an_unpaid_transaction_is_refused_when_pushed() -> None:
    chain = chain_with_credits()
    trx = sized(100, CustomJson())
    charge(chain.state, RC.of(chain.state), trx)
    with chain.state.pushing(), pytest.raises(PluginRefused, match="no resource user"):
        charge(chain.state, RC.of(chain.state), trx)


# ------------------------------------------------------------------ bars


def test_powering_up_brings_credits_at_once_and_powering_down_takes_none() -> None:
    chain = chain_with_credits()
    state = chain.state
    set_bar(state, "bob", mana=7)
    apply(chain, TransferToVesting(from_="alice", to="bob", amount=Asset(1000)))
    gained = state.account("bob").vesting_shares
    assert gained > 0
    assert bar(state, "bob").mana == 7 + gained
    assert bar(state, "bob").last_max == FIRST_ADJUSTMENT + gained
    apply(chain, WithdrawVesting(account="bob", vesting_shares=Asset(gained, 3200000070)))
    smaller = bar(state, "bob").last_max
    assert smaller < FIRST_ADJUSTMENT + gained
    before = bar(state, "bob").mana
    apply(chain, WithdrawVesting(account="bob", vesting_shares=Asset(0, 3200000070)))
    assert bar(state, "bob").last_max > smaller
    assert bar(state, "bob").mana <= before, "nothing comes back, and the operation costs"


def test_a_new_account_counts_the_fee_of_its_creation() -> None:
    chain = chain_with_credits()
    state = chain.state
    set_median(state, account_creation_fee=500)
    price = state.props.total_vesting_shares, state.props.total_vesting_fund_coin
    apply(chain, AccountCreate(fee=Asset(500), creator="alice", new_account_name="carol", owner=Authority(1), active=Authority(1)))
    row = bar(state, "carol")
    assert row.adjustment == row.mana == row.last_max == 500 * price[0] // price[1]


def test_hardfork_20_fills_the_pools() -> None:
    chain = chain_with_credits()
    fill_pools(chain.state, RC.of(chain.state), Hardfork(hardfork_id=19))
    before = RC.of(chain.state).left
    fill_pools(chain.state, RC.of(chain.state), Hardfork(hardfork_id=20))
    assert before != RC.of(chain.state).left == tuple([0 if n == NEW_ACCOUNTS else r.max_pool for n, r in enumerate(RESOURCES)])


def test_credits_start_at_their_block() -> None:
    chain = chain_at(plugins=[RC.name])
    state = chain.state
    after_block(state, RC.of(state), BLOCK)
    assert RC.of(state).accounts.by_account.get("initminer") is None
    assert (RC.of(state).resources, RC.of(state).left) == (RESOURCES, (0,) * 5)
    state.set_props(head_block_number=state.spec.constants.RC_START_BLOCK, total_vesting_shares=1)
    after_block(state, RC.of(state), BLOCK)
    assert all(bar(state, account.name).adjustment == FIRST_ADJUSTMENT for account in state.accounts)
    assert RC.of(state).resources[NEW_ACCOUNTS] != RESOURCES[NEW_ACCOUNTS]


def test_a_new_worker_gets_a_bar() -> None:
    chain = chain_with_credits()
    add_account(chain.state, "cid", vesting_shares=5)
    on_work(chain.state, RC.of(chain.state), Pow(worker_account="cid"))
    assert (bar(chain.state, "cid").adjustment, bar(chain.state, "cid").last_max) == (0, 5)
