"""Block steps that end orders, conversions and escrows, and that rewarded liquidity before hardfork 12.

Source: block-processing.md §3.7, §3.14, §3.19, §3.21.
"""

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, adjust_supply, median_price
from state.effects.escrow import give_back_escrow
from state.effects.mining_rewards import liquidity_reward
from state.effects.operation_events import emit
from state.effects.orders import cancel_order, liquidity_weight
from state.protocol.constants import COIN_LIQUIDITY_REWARD_BLOCKS
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, convert
from state.protocol.virtual import FillConvertRequest, LiquidityReward
from state.tables import State


def clear_expired_orders(state: State, block: SignedBlock) -> None:
    """Cancel expired orders."""
    while (order := state.limit_orders.by_expiration.first()) is not None and order.expiration < block.timestamp:
        cancel_order(state, order)


def process_conversions(state: State, block: SignedBlock) -> None:
    """Pay due conversions of SBD at the current median price. Without a price they are postponed.

    The supplies change once at the end. The virtual supply changes by the value of the sum, which is rounded once.
    """
    price, requests = median_price(state), state.convert_requests
    if price == NULL_PRICE:
        return
    total_in = total_out = 0
    while (request := requests.by_conversion_date.first()) is not None and request.conversion_date <= block.timestamp:
        amount_in = Asset(request.amount, SBD)
        amount_out = convert(amount_in, price)
        adjust_balance(state, state.account(request.owner), amount_out.amount, COIN)
        total_in, total_out = share(total_in + amount_in.amount), share(total_out + amount_out.amount)
        emit(state, FillConvertRequest(owner=request.owner, requestid=request.requestid, amount_in=amount_in, amount_out=amount_out))
        requests.remove(request)
    if total_in == 0:
        return
    props = state.props
    worth = convert(Asset(total_in, SBD), price).amount
    state.set_props(
        current_supply=share(props.current_supply + total_out),
        current_sbd_supply=share(props.current_sbd_supply - total_in),
        virtual_supply=share(share(props.virtual_supply + total_out) - worth),
    )


def pay_liquidity_reward(state: State, block: SignedBlock) -> None:
    """Before hardfork 12: every hour, pay the market maker with the greatest weight, and reset its volumes."""
    off = state.hardfork >= 12 or state.spec.constants.DISABLE_LIQUIDITY_REWARD
    if off or block.number % COIN_LIQUIDITY_REWARD_BLOCKS:
        return
    record = state.liquidity_rewards.by_volume_weight.first()
    # Under either weight rule the reference checks the product of the volumes here, which wraps at 64 bits.
    if record is None or liquidity_weight(record.coin_volume, record.sbd_volume, smaller=False) == 0:
        return
    reward = liquidity_reward(state)
    owner = state.accounts.find(record.owner)
    adjust_supply(state, reward, COIN, adjust_vesting=True)
    adjust_balance(state, owner, reward, COIN)
    state.liquidity_rewards.modify(record, coin_volume=0, sbd_volume=0, weight=0, last_update=block.timestamp)
    emit(state, LiquidityReward(owner=owner.name, payout=Asset(reward, COIN)))


def expire_escrow_ratification(state: State, block: SignedBlock) -> None:
    """Return the funds of escrows that were not approved in time."""
    escrows = state.escrows
    while (escrow := escrows.by_ratification_deadline.first()) is not None:
        # The index sorts approved escrows after all others.
        if escrow.is_approved or escrow.ratification_deadline > block.timestamp:
            return
        state.work.spend(1, "escrows")
        give_back_escrow(state, escrow)
