"""Orders with their matching and expiry, conversions, and the liquidity rewards of the first months."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.chain.steps.market import clear_expired_orders, pay_liquidity_reward, process_conversions
from state.effects.orders import liquidity_weight
from state.operations.market import Convert, LimitOrderCancel, LimitOrderCreate, LimitOrderCreate2
from state.protocol.errors import UnknownKey
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price
from state.protocol.virtual import FillConvertRequest, FillOrder, LiquidityReward
from state.tables.market import LiquidityReward as LiquidityRow
from tests.helpers.chains import NOW, add_account, apply, chain_at, completed, move_to, refused

DAY = 86_400
FUNDS = 1_000_000
TOKEN = 10_000_000 << 5 | 0x10


def market(hardfork: int = 23) -> Chain:
    chain = chain_at(hardfork)
    for name in ("alice", "bob", "carol"):
        add_account(chain.state, name, balance=FUNDS, sbd_balance=FUNDS)
    return chain


@pytest.fixture
def chain() -> Chain:
    return market()


def order(owner: str, number: int, sold: Asset, received: Asset, **changes: object) -> LimitOrderCreate:
    made = LimitOrderCreate(owner, number, sold, received, expiration=NOW + DAY)
    return structs.replace(made, **changes)


def coin(amount: int) -> Asset:
    return Asset(amount, COIN)


def sbd(amount: int) -> Asset:
    return Asset(amount, SBD)


def funds(chain: Chain, name: str) -> tuple[int, int]:
    """Return the change of an account's balances since the start, in COIN and SBD."""
    account = chain.state.account(name)
    return account.balance - FUNDS, account.sbd_balance - FUNDS


def book(chain: Chain) -> dict[tuple[str, int], int]:
    return {(row.seller, row.orderid): row.for_sale for row in chain.state.limit_orders}


def block(chain: Chain, time: int, number: int = 1200) -> SignedBlock:
    """Set the head to a block with this number and time, and return the block."""
    chain.state.set_props(head_block_number=number, time=time)
    return SignedBlock(number=number, timestamp=time)


# ------------------------------------------------------------------ refusals


def test_refusals_of_both_kinds_of_orders(chain: Chain) -> None:
    first = order("alice", 1, coin(1000), sbd(500))
    second = LimitOrderCreate2("alice", 1, coin(1000), Price(coin(2), sbd(1)), expiration=NOW + DAY)
    for made in (first, second):
        assert "Limit order has to expire after head block time." in refused(chain, structs.replace(made, expiration=NOW))
        late = structs.replace(made, expiration=NOW + 28 * DAY + 1)
        assert "Limit Order Expiration must not be more than 28 days in the future" in refused(chain, late)
        dear = structs.replace(made, amount_to_sell=coin(FUNDS + 1))
        assert "Account alice does not have sufficient funds for balance adjustment." in refused(chain, dear)
        assert refused(chain, structs.replace(made, owner="nobody")) == UnknownKey().message()
        assert "Cancelling order because it was not filled." in refused(chain, structs.replace(made, fill_or_kill=True))
    apply(chain, first)
    for made in (first, second):
        assert "uniqueness constraint" in refused(chain, made)


def test_an_order_that_is_partly_filled_is_not_filled(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(1000)))
    half = order("bob", 1, sbd(2000), coin(2000), fill_or_kill=True)
    assert "Cancelling order because it was not filled." in refused(chain, half)
    apply(chain, structs.replace(half, amount_to_sell=sbd(1000), min_to_receive=coin(1000)))
    assert book(chain) == {}


def test_an_order_may_last_28_days(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(500), expiration=NOW + 28 * DAY))
    assert chain.state.limit_orders.find(0).expiration == NOW + 28 * DAY


def test_only_own_orders_can_be_cancelled(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(500)))
    assert refused(chain, LimitOrderCancel("bob", 1)) == UnknownKey().message()
    assert refused(chain, LimitOrderCancel("alice", 2)) == UnknownKey().message()
    apply(chain, LimitOrderCancel("alice", 1))
    assert book(chain) == {}
    assert funds(chain, "alice") == (0, 0)


# ------------------------------------------------------------------ matching


# The maker's and taker's sold amounts and minimum receipts, the amounts they pay each other, and what remains: block-processing.md §8 (E5),
# operations.md §20.
MATCHES = [
    ((1000, 334), (333, 990), (997, 333), {("alice", 1): 3}),
    ((1000, 334), (335, 1000), (1000, 334), {("bob", 1): 1}),
    ((3000, 1000), (1000, 3000), (3000, 1000), {}),
    ((10000, 15000), (7500, 5000), (5000, 7500), {("alice", 1): 5000}),
    ((20000, 22000), (12000, 10000), (10909, 12000), {("alice", 1): 9091}),
]


@pytest.mark.parametrize(("maker", "taker", "paid", "stays"), MATCHES)
def test_two_orders_meet(
    chain: Chain, maker: tuple[int, int], taker: tuple[int, int], paid: tuple[int, int], stays: dict[tuple[str, int], int]
) -> None:
    fills = completed(chain.state, FillOrder)
    apply(chain, order("alice", 1, coin(maker[0]), sbd(maker[1])))
    apply(chain, order("bob", 1, sbd(taker[0]), coin(taker[1])))
    assert fills == [FillOrder("bob", 1, sbd(paid[1]), "alice", 1, coin(paid[0]))]
    assert book(chain) == stays
    assert funds(chain, "bob") == (paid[0], -paid[1] - stays.get(("bob", 1), 0))
    assert funds(chain, "alice") == (-paid[0] - stays.get(("alice", 1), 0), paid[1])
    validate_invariants(chain.state)


def test_the_best_price_comes_first_then_the_oldest_order(chain: Chain) -> None:
    fills = completed(chain.state, FillOrder)
    apply(
        chain,
        order("alice", 1, coin(1000), sbd(1100)),
        order("bob", 2, coin(1000), sbd(1000)),
        order("alice", 3, coin(500), sbd(500)),
        order("bob", 4, coin(1000), sbd(1201)),
    )
    apply(chain, order("carol", 5, sbd(6000), coin(5000)))
    assert fills == [
        FillOrder("carol", 5, sbd(1000), "bob", 2, coin(1000)),
        FillOrder("carol", 5, sbd(500), "alice", 3, coin(500)),
        FillOrder("carol", 5, sbd(1100), "alice", 1, coin(1000)),
    ]
    assert book(chain) == {("bob", 4): 1000, ("carol", 5): 3400}
    validate_invariants(chain.state)


def test_an_account_trades_with_itself(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(1000)), order("alice", 2, sbd(1000), coin(1000)))
    assert book(chain) == {}
    assert funds(chain, "alice") == (0, 0)


def test_remainders_too_small_to_trade_are_returned(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(10)), order("bob", 1, sbd(9), coin(900)))
    assert book(chain) == {("alice", 1): 100}
    apply(chain, LimitOrderCreate2("bob", 2, sbd(1), Price(sbd(1), coin(50)), expiration=NOW + DAY))
    assert book(chain) == {}
    assert funds(chain, "bob") == (1000, -10)
    # 99 of 199 COIN remain. They are worth 0.99 SBD, too little to trade, so they are returned.
    apply(chain, order("alice", 3, coin(199), sbd(1)), order("bob", 3, sbd(1), coin(100)))
    assert funds(chain, "alice") == (-1199, 11)


def test_a_price_that_is_not_met_waits(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(1000)), order("bob", 1, sbd(999), coin(1000)))
    assert book(chain) == {("alice", 1): 1000, ("bob", 1): 999}


def test_tokens_have_markets_of_their_own(chain: Chain) -> None:
    # COIN can be offered for tokens that no account has.
    apply(chain, order("alice", 1, coin(1000), Asset(10, TOKEN)), order("bob", 1, sbd(1000), coin(1000)))
    text = refused(chain, order("bob", 2, Asset(10, TOKEN), coin(1000)))
    assert "Account bob does not have sufficient funds for balance adjustment." in text
    assert book(chain) == {("alice", 1): 1000, ("bob", 1): 1000}


def test_orders_end(chain: Chain) -> None:
    apply(chain, order("alice", 1, coin(1000), sbd(500)), order("bob", 2, sbd(500), coin(5000), expiration=NOW + DAY + 1))
    clear_expired_orders(chain.state, block(chain, NOW + DAY))
    assert len(book(chain)) == 2
    clear_expired_orders(chain.state, block(chain, NOW + DAY + 1))
    assert book(chain) == {("bob", 2): 500}
    assert funds(chain, "alice") == (0, 0)


# ------------------------------------------------------------------ earlier rules


def test_before_hardfork_20_an_order_ends_soon_after_it() -> None:
    chain = market(19)
    chain.state.set_props(head_block_id=bytes(16) + (86_400 * 3 + 7).to_bytes(4, "little"))
    move_to(chain.state, 1_500_000_000)
    end = 1_537_887_600 + 28 * DAY
    apply(
        chain,
        order("alice", 1, coin(1000), sbd(500), expiration=2**32 - 1),
        LimitOrderCreate2("alice", 2, coin(1000), Price(coin(2), sbd(1)), expiration=2**32 - 1),
        order("alice", 3, coin(1000), sbd(500), expiration=end - 1),
    )
    assert [row.expiration for row in chain.state.limit_orders] == [end + 7, end, end - 1]


def test_before_hardfork_6_cancelling_looks_at_16_bits() -> None:
    for hardfork in (5, 6):
        chain = market(hardfork)
        apply(chain, order("alice", 7, coin(1000), sbd(500)), order("alice", 0x10008, coin(1000), sbd(500)))
        if hardfork == 6:
            assert refused(chain, LimitOrderCancel("alice", 0x10007)) == UnknownKey().message()
            apply(chain, LimitOrderCancel("alice", 0x10008))
            assert book(chain) == {("alice", 7): 1000}
        else:
            assert refused(chain, LimitOrderCancel("alice", 0x10008)) == UnknownKey().message()
            apply(chain, LimitOrderCancel("alice", 0x10007))
            assert book(chain) == {("alice", 0x10008): 1000}


def volumes(chain: Chain) -> dict[str, tuple[int, int, int]]:
    """Return the COIN volume, the SBD volume and the weight of each market maker."""
    name_of = {account.id: account.name for account in chain.state.accounts}
    return {name_of[row.owner]: (row.coin_volume, row.sbd_volume, row.weight) for row in chain.state.liquidity_rewards}


LIQUIDITY_AGES = [(9, 59, False), (9, 60, True), (10, 1799, False), (11, 1800, True), (12, 1800, False)]


@pytest.mark.parametrize(("hardfork", "age", "counts"), LIQUIDITY_AGES)
def test_liquidity_counts_for_orders_that_were_there(hardfork: int, age: int, counts: bool) -> None:
    chain = market(hardfork)
    apply(chain, order("alice", 1, coin(1000), sbd(500)))
    move_to(chain.state, NOW + age)
    apply(chain, order("bob", 1, sbd(500), coin(1000)))
    assert volumes(chain) == ({"alice": (0, 1000, 0), "bob": (0, -1000, 0)} if counts else {})


def test_the_maker_gains_volume() -> None:
    chain = market(11)
    apply(chain, order("alice", 1, coin(1000), sbd(500)), order("alice", 2, sbd(400), coin(1000)))
    move_to(chain.state, NOW + 1800)
    apply(chain, order("bob", 1, sbd(500), coin(1000)))
    apply(chain, order("bob", 2, coin(1000), sbd(400)))
    assert volumes(chain) == {"alice": (1000, 1000, 1000), "bob": (-1000, -1000, 0)}
    # After a week without a trade all volumes are reset.
    apply(chain, order("alice", 3, coin(100), sbd(100), expiration=NOW + 30 * DAY))
    move_to(chain.state, NOW + 1800 + 604_800)
    apply(chain, order("bob", 3, sbd(100), coin(100), expiration=NOW + 30 * DAY))
    assert volumes(chain) == {"alice": (0, 100, 0), "bob": (0, -100, 0)}


def test_weights_of_volumes() -> None:
    assert liquidity_weight(0, 5, smaller=True) == liquidity_weight(5, -1, smaller=False) == 0
    assert liquidity_weight(7, 5, smaller=True) == 5
    assert liquidity_weight(7, 5, smaller=False) == 35
    # The product wraps at 64 bits and is sign-extended to 128 bits.
    assert liquidity_weight(2**32, 2**31, smaller=False) == 2**128 - 2**63


@pytest.mark.parametrize(("hardfork", "paid"), [(11, 1_200_000), (12, 0)])
def test_the_first_market_maker_is_paid_every_hour(hardfork: int, paid: int) -> None:
    chain = market(hardfork)
    state = chain.state
    events = completed(state, LiquidityReward)
    for name, volume in (("bob", 5), ("carol", 6)):
        row = LiquidityRow(owner=state.account(name).id, coin_volume=volume, sbd_volume=volume, weight=volume)
        state.liquidity_rewards.insert(row)
    pay_liquidity_reward(state, block(chain, NOW + 3, number=1201))
    assert funds(chain, "carol") == (0, 0)
    pay_liquidity_reward(state, block(chain, NOW + 3))
    assert funds(chain, "carol") == (paid, 0)
    assert volumes(chain)["carol"] == ((0, 0, 0) if paid else (6, 6, 6))
    assert events == ([LiquidityReward("carol", coin(paid))] if paid else [])
    validate_invariants(state)


# ------------------------------------------------------------------ conversions


def test_refusals_of_conversions(chain: Chain) -> None:
    assert refused(chain, Convert("nobody", 1, sbd(1))) == UnknownKey().message()
    assert "Account alice does not have sufficient funds" in refused(chain, Convert("alice", 1, sbd(FUNDS + 1)))
    apply(chain, Convert("alice", 1, sbd(10)))
    assert "uniqueness constraint" in refused(chain, Convert("alice", 1, sbd(10)))
    chain.state.feed_histories.modify(chain.state.feed, current_median_history=NULL_PRICE)
    assert "Cannot convert SBD because there is no price feed." in refused(chain, Convert("alice", 2, sbd(10)))


@pytest.mark.parametrize(("hardfork", "delay"), [(15, 604_800), (16, 302_400), (23, 302_400)])
def test_a_conversion_takes_its_time(hardfork: int, delay: int) -> None:
    chain = market(hardfork)
    apply(chain, Convert("alice", 1, sbd(10)))
    assert [row.conversion_date - NOW for row in chain.state.convert_requests] == [delay]
    assert funds(chain, "alice") == (0, -10)


def test_conversions_are_paid_at_the_median_price(chain: Chain) -> None:
    state = chain.state
    # E12: 100.000 SBD at 0.250 are 400.000 COIN.
    state.feed_histories.modify(state.feed, current_median_history=Price(sbd(250), coin(1000)))
    props = state.props
    state.set_props(virtual_supply=props.current_supply + props.current_sbd_supply * 4)
    validate_invariants(state)
    events = completed(state, FillConvertRequest)
    apply(chain, Convert("alice", 1, sbd(100_000)), Convert("bob", 9, sbd(1)), Convert("carol", 1, sbd(7)))
    late = state.convert_requests.by_owner.find("carol", 1)
    state.convert_requests.modify(late, conversion_date=NOW + 302_401)
    supply, debt = props.current_supply, props.current_sbd_supply
    process_conversions(state, block(chain, NOW + 302_399))
    assert events == []
    process_conversions(state, block(chain, NOW + 302_400))
    assert events == [
        FillConvertRequest("alice", 1, sbd(100_000), coin(400_000)),
        FillConvertRequest("bob", 9, sbd(1), coin(4)),
    ]
    assert funds(chain, "alice") == (400_000, -100_000)
    assert (props.current_supply - supply, props.current_sbd_supply - debt) == (400_004, -100_001)
    assert [row.owner for row in state.convert_requests] == ["carol"]
    validate_invariants(state)


def test_conversions_wait_while_there_is_no_price(chain: Chain) -> None:
    apply(chain, Convert("alice", 1, sbd(100)))
    chain.state.feed_histories.modify(chain.state.feed, current_median_history=NULL_PRICE)
    process_conversions(chain.state, block(chain, NOW + 999_999))
    assert len(chain.state.convert_requests) == 1
