"""Mining operations and reports: refusals by hardfork, the queue of miners, new accounts and witnesses, and rewards. test_pow.py checks the
proofs themselves. Here any proof passes.
"""

from typing import Any

import pytest
from msgspec import json, structs

from state.chain.chain import Chain
from state.chain.invariants import check_supplies
from state.chain.skip import Skip
from state.chain.transactions import apply_transaction
from state.effects.mining_rewards import liquidity_reward, part_of_year, pow_reward
from state.operations.chain_properties import LegacyChainProperties, PowChainProperties
from state.operations.mining import EquihashPow, Pow, Pow2, Pow2Input, Pow2Work, PowWork, ReportOverProduction
from state.protocol.authority import Authority
from state.protocol.codec.kinds import CoinFee
from state.protocol.errors import ChainError
from state.protocol.operation import Operation
from state.protocol.spec import ChainSpec
from state.tables.globals import ChainProperties
from state.tables.witnesses import Witness
from tests.helpers.chains import MAIN_SPEC, TEST_SPEC, UNSIGNED, add_account, add_witness, chain_at, key_of, reason, refused, transaction

HEAD = (1000).to_bytes(4, "big") + bytes(16)
EASY, HARD = (1).to_bytes(32, "big"), b"\xff" * 32


def mine(chain: Chain, *operations: Operation) -> None:
    """Apply operations as in a block, without checking their proofs."""
    mark = chain.state.journal.position()
    try:
        apply_transaction(chain.state, transaction(chain, *operations), UNSIGNED | Skip.VALIDATE | Skip.TRANSACTION_DUPE_CHECK)
    except ChainError:
        chain.state.journal.undo(mark)
        raise


def mine_chain(hardfork: int, spec: ChainSpec = TEST_SPEC, number: int = 1000) -> Chain:
    chain = chain_at(hardfork, spec, number)
    add_account(chain.state, "prod")
    add_account(chain.state, "mary")
    chain.state.set_props(head_block_id=HEAD, current_witness="prod", total_pow=5, last_irreversible_block_num=979)
    return chain


def text_of(chain: Chain, operation: Operation) -> str:
    return reason(chain, operation, by=mine)


def pow_of(worker: str, work: bytes = EASY, key: str = "", **changes: object) -> Pow:
    props = PowChainProperties(CoinFee(7), 200_000, 55)
    made = Pow(worker, HEAD, 1, PowWork(worker=key_of(key or worker), work=work), props)
    return structs.replace(made, **changes)


def pow2_of(worker: str, new_key: str = "", summary: int = 0, **changes: object) -> Pow2:
    props = LegacyChainProperties(CoinFee(7), 200_000, 55)
    made = Pow2(Pow2Work(Pow2Input(worker, HEAD, 1), summary), key_of(new_key) if new_key else None, props)
    return structs.replace(made, **changes)


def equihash_of(worker: str, new_key: str = "", prev_block: bytes = HEAD, inner: bytes = HEAD, summary: int = 0) -> Pow2:
    work = EquihashPow(Pow2Input(worker, inner, 1), prev_block=prev_block, pow_summary=summary)
    return pow2_of(worker, new_key, work=work)


def witness(chain: Chain, name: str) -> Witness:
    return chain.state.witness(name)


# ------------------------------------------------------------------ eras


@pytest.mark.parametrize(
    ("operation", "last", "text"),
    [
        (pow_of("mary"), 12, "pow is deprecated. Use pow2 instead"),
        (equihash_of("newbie", "newbie"), 16, "mining is now disabled"),
        (ReportOverProduction("mary"), 3, "report_over_production_operation is disabled."),
    ],
)
def test_each_ended_with_a_hardfork(operation: Operation, last: int, text: str) -> None:
    mine(mine_chain(last), operation)
    assert text_of(mine_chain(last + 1), operation) == text


def test_each_era_of_pow2_has_its_own_kind_of_work() -> None:
    text = refused(mine_chain(15), equihash_of("newbie", "newbie"), by=mine)
    assert text == "Assert Exception:static_variant does not contain a value of type coin::protocol::pow2"
    text = refused(mine_chain(16), pow2_of("newbie", "newbie"), by=mine)
    assert text == "Assert Exception:static_variant does not contain a value of type coin::protocol::equihash_pow"


def test_reports_change_nothing() -> None:
    chain = mine_chain(3)
    before = structs.asdict(chain.state.props)
    mine(chain, ReportOverProduction("mary"))
    assert structs.asdict(chain.state.props) == before


# ------------------------------------------------------------------ pow


def test_pow_refusals() -> None:
    chain = mine_chain(5)
    add_witness(chain.state, "mary", last_work=EASY)
    known = pow_of("mary")
    dump: Any = chain.state.wire.codecs.dumper(Pow)
    text = refused(chain, known, by=mine)
    assert text == f'Assert Exception:!"DUPLICATE WORK DISCOVERED": {json.encode(dump(known)).decode()}  ${{witness}}'
    other = (2).to_bytes(32, "big")
    two = Authority(1, (("prod", 1),), ((key_of("mary"), 1),))
    add_account(chain.state, "two", authority=two)
    assert text_of(chain, pow_of("two", other)).startswith("Miners can only have one key authority. ")
    add_account(chain.state, "ward", authority=Authority(1, (("prod", 1),), ()))
    assert text_of(chain, pow_of("ward", other)) == "Miners may only have one key authority."
    assert text_of(chain, pow_of("mary", other, key="prod")) == "Work must be performed by key that signed the work."
    assert text_of(chain, pow_of("mary", other, block_id=bytes(20))) == "pow not for last block"
    assert text_of(chain, pow_of("mary", HARD)) == "Work lacks sufficient difficulty."
    chain.state.witnesses.modify(witness(chain, "mary"), pow_worker=3)
    assert text_of(chain, pow_of("mary", other)) == "This account is already scheduled for pow block production."


def test_work_may_come_twice_before_hardfork_5() -> None:
    chain = mine_chain(4)
    add_witness(chain.state, "mary", last_work=EASY)
    mine(chain, pow_of("mary"))


@pytest.mark.parametrize(("waiting", "bits"), [(0, 4), (3, 4), (4, 5), (40, 14)])
def test_each_fourth_miner_in_the_queue_makes_it_twice_as_hard(waiting: int, bits: int) -> None:
    chain = mine_chain(12)
    chain.state.set_props(num_pow_witnesses=waiting)
    target = 2 ** (256 - bits) - 1
    assert text_of(chain, pow_of("mary", target.to_bytes(32, "big"))) == "Work lacks sufficient difficulty."
    mine(chain, pow_of("mary", (target - 1).to_bytes(32, "big")))


@pytest.mark.parametrize(("hardfork", "recovery", "mana"), [(10, "coin", 10_000), (12, "", 10_000)])
def test_a_new_miner_becomes_an_account_and_a_witness(hardfork: int, recovery: str, mana: int) -> None:
    chain = mine_chain(hardfork)
    mine(chain, pow_of("newbie"))
    account, authority = chain.state.account("newbie"), chain.state.authority("newbie")
    assert (account.mined, account.recovery_account, account.voting_mana) == (True, recovery, mana)
    assert account.memo_key == key_of("newbie")
    one_key = Authority(1, (), ((key_of("newbie"), 1),))
    assert authority.owner == authority.active == authority.posting == one_key
    made = witness(chain, "newbie")
    assert (made.signing_key, made.pow_worker, made.last_work, made.created) == (key_of("newbie"), 6, EASY, 0)
    assert made.props == ChainProperties(account_creation_fee=7, maximum_block_size=200_000, sbd_interest_rate=55)
    assert (chain.state.props.total_pow, chain.state.props.num_pow_witnesses) == (6, 1)


def test_a_witness_that_mines_keeps_its_key_and_its_other_votes() -> None:
    chain = mine_chain(12)
    add_witness(chain.state, "mary", signing_key=key_of("cold"), props=ChainProperties(account_subsidy_budget=5))
    chain.state.set_props(total_pow=2**64 - 1)
    mine(chain, pow_of("mary"))
    made = witness(chain, "mary")
    assert made.signing_key == key_of("cold")
    assert made.props == ChainProperties(7, 200_000, 55, account_subsidy_budget=5)
    # The first proof of work on a chain gets the number 0, which means that the witness is not in the queue.
    assert made.pow_worker == chain.state.props.total_pow == 0


@pytest.mark.parametrize(
    ("spec", "number", "waiting", "reward", "liquid"),
    [
        (TEST_SPEC, 1000, 0, 21 * 2596, True),
        (TEST_SPEC, 863_999, 0, 21 * 2596, True),
        (TEST_SPEC, 864_000, 0, 2596, False),
        (MAIN_SPEC, 1000, 19, 0, True),
        (MAIN_SPEC, 1000, 20, 21 * 2596, True),
        (MAIN_SPEC, 201_600, 0, 21 * 2596, True),
    ],
)
def test_the_reward_of_work(spec: ChainSpec, number: int, waiting: int, reward: int, liquid: bool) -> None:
    chain = mine_chain(12, spec, number)
    props = chain.state.props
    # operations.md §20: 750 per round of 250,000,000.000 are 2.596.
    chain.state.set_props(virtual_supply=250_000_000_000, num_pow_witnesses=waiting)
    supply, fund = props.current_supply, props.total_vesting_fund_coin
    mine(chain, pow_of("mary"))
    into_fund = 9 * reward if number >= 201_600 else 0
    prod = chain.state.account("prod")
    assert props.current_supply - supply == reward + into_fund
    assert prod.balance == (reward if liquid else 0)
    assert props.total_vesting_fund_coin - fund == into_fund + (0 if liquid else reward)
    assert (prod.vesting_shares > 0) == (not liquid)


def test_rewards_have_a_minimum() -> None:
    assert part_of_year(250_000_000_000, 750, 133_921_203_762_304, 83) == 2596
    assert part_of_year(250_000_000_000, 750, 119_577_151_364_285, 77) == 148_368
    state = mine_chain(12).state
    state.set_props(virtual_supply=1)
    assert (pow_reward(state), liquidity_reward(state)) == (1000, 1_200_000)
    state.set_props(virtual_supply=2_500_000_000_000)
    assert liquidity_reward(state) == 1483679


# ------------------------------------------------------------------ pow2


@pytest.mark.parametrize(("hardfork", "start"), [(15, 0xFC00), (16, 0xFE00)])
def test_pow2_refusals(hardfork: int, start: int) -> None:
    chain = mine_chain(hardfork)
    of = pow2_of if hardfork < 16 else equihash_of
    add_witness(chain.state, "prod")

    def changed(operation: Pow2, **changes: object) -> Pow2:
        return structs.replace(operation, **changes)

    if hardfork < 16:
        other = changed(of("prod"), work=Pow2Work(Pow2Input("prod", bytes(20), 1)))
        assert text_of(chain, other) == "Work not for last block"
    else:
        assert text_of(chain, equihash_of("prod", prev_block=bytes(20))) == "Equihash pow op not for last block"
        old = equihash_of("prod", inner=(979).to_bytes(4, "big") + bytes(16))
        assert text_of(chain, old) == "Equihash pow done for block older than last irreversible block num"
    for waiting, target in ((0, start << 16), (10, (start - 640) << 16), (1003, (start - 64 * 1003) << 16), (1004, 0)):
        chain.state.set_props(num_pow_witnesses=waiting)
        text = f"Insufficient work difficulty. Work: {target}, Target: {target}"
        assert text_of(chain, of("prod", summary=target)) == text
    chain.state.set_props(num_pow_witnesses=0)
    small = changed(of("prod"), props=LegacyChainProperties(CoinFee(7), 131_071, 55))
    assert text_of(chain, small) == "Voted maximum block size is too small."
    assert text_of(chain, of("newbie")) == "New owner key is not valid."
    assert text_of(chain, of("prod", "prod")) == "Cannot specify an owner key unless creating account."
    assert text_of(chain, of("mary")) == "Witness must be created for existing account before mining."
    chain.state.witnesses.modify(witness(chain, "prod"), pow_worker=3)
    assert text_of(chain, of("prod")) == "This account is already scheduled for pow block production."


@pytest.mark.parametrize(("hardfork", "reward"), [(15, 2596), (16, 0)])
def test_pow2_queues_accounts_old_and_new(hardfork: int, reward: int) -> None:
    chain = mine_chain(hardfork)
    of = pow2_of if hardfork < 16 else equihash_of
    add_witness(chain.state, "mary", signing_key=key_of("cold"))
    chain.state.set_props(virtual_supply=250_000_000_000)
    supply = chain.state.props.current_supply
    mine(chain, of("mary"))
    assert (witness(chain, "mary").pow_worker, witness(chain, "mary").signing_key) == (6, key_of("cold"))
    # The reward is vested at once, without the factor that pow had.
    assert chain.state.props.current_supply - supply == reward
    assert chain.state.account("prod").vesting_shares == reward * 1000
    mine(chain, of("newbie", "hot"))
    made = witness(chain, "newbie")
    assert (made.pow_worker, made.signing_key, made.last_work) == (7, key_of("hot"), bytes(32))
    assert chain.state.account("newbie").memo_key == key_of("hot")
    assert chain.state.props.num_pow_witnesses == 2
    if reward == 0:
        chain.state.set_props(virtual_supply=chain.state.props.current_supply + chain.state.props.current_sbd_supply)
        check_supplies(chain.state)
