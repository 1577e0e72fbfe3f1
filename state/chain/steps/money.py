"""Block steps that create and destroy money: median feed, virtual supply, the null account, inflation, subsidies.

Source: block-processing.md §3.10-§3.13, §3.18.
"""

from state.chain.steps.medians import median
from state.effects import balances
from state.effects.arithmetic import narrowed, quotient, share
from state.effects.mana import truncated
from state.effects.operation_events import announce, complete
from state.effects.subsidies import pool_after_block
from state.effects.voting import post_fund
from state.protocol import constants
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, Price, convert, price_key
from state.protocol.values.integers import WORD16, WORD128
from state.protocol.virtual import ClearNullAccountBalance, ProducerReward
from state.tables import State
from state.tables.accounts import Account
from state.tables.witnesses import ELECTED, MINER, TIMESHARE, Witness

MIN_REWARD = 1000  # 1.000 COIN, for each kind of reward before hardfork 16


def update_median_feed(state: State, block: SignedBlock) -> None:
    """Every hour, add the median of the scheduled witnesses' feeds to the history. The history's median becomes the price.

    The history covers three and a half days, so that neither a few witnesses nor a short peak move the price.
    """
    if block.number % constants.COIN_FEED_INTERVAL_BLOCKS:
        return
    feeds = []
    for name in state.schedule.current_shuffled_witnesses[: state.schedule.num_scheduled_witnesses]:
        witness = state.witness(name)
        if witness.sbd_exchange_rate == NULL_PRICE:
            continue
        # Since hardfork 19 a feed must be younger than a week. The earlier check was inverted and always true.
        if state.hardfork < 19 or state.head_time < witness.last_sbd_exchange_update + constants.COIN_MAX_FEED_AGE_SECONDS:
            feeds.append(witness.sbd_exchange_rate)
    if len(feeds) < constants.COIN_MIN_FEEDS:
        return
    # Since hardfork 16 the history has half as many prices.
    window = constants.COIN_FEED_HISTORY_WINDOW if state.hardfork >= 16 else constants.COIN_FEED_HISTORY_WINDOW_PRE_HF_16
    history = (*state.feed.price_history, median(feeds))[-window:]
    current = median(history)
    if state.hardfork >= 14 and not state.spec.constants.SKIP_PRICE_FLOOR and state.props.current_sbd_supply > 0:
        # Since hardfork 14 the price is at least the one at which all SBD are a tenth of the virtual supply. This bounds the COIN that
        # conversions can create, at the cost of SBD's peg.
        props = state.props
        floor = Price(Asset(share(9 * props.current_sbd_supply), SBD), Asset(props.current_supply, COIN))
        floor.validate()
        current = max(current, floor, key=price_key)
    state.feed_histories.modify(state.feed, price_history=history, current_median_history=current)


def update_virtual_supply(state: State, block: SignedBlock) -> None:
    """Compute the virtual supply (all COIN, and all SBD at the current price) and the SBD print rate.

    The print rate depends on the percentage of SBD in the virtual supply: 100 % up to `sbd_start_percent`, 0 from `sbd_stop_percent` on,
    and linear in between.
    """
    props, price = state.props, balances.median_price(state)
    if price == NULL_PRICE:
        state.set_props(virtual_supply=props.current_supply)
        return
    worth = convert(Asset(props.current_sbd_supply, SBD), price).amount
    supply = share(props.current_supply + worth)
    rate = props.sbd_print_rate
    if state.hardfork >= 14:
        # Since hardfork 21 the percentage is rounded; before, it was truncated. The reference stores it in 16 bits.
        rounded = state.hardfork >= 21
        if worth >= 0 < supply:
            percent = (worth * constants.COIN_100_PERCENT + (supply // 2 if rounded else 0)) // supply % WORD16
        else:
            percent = unsigned_percent(worth, supply, rounded)
        start, stop = props.sbd_start_percent, props.sbd_stop_percent
        if percent <= start:
            rate = constants.COIN_100_PERCENT
        elif percent >= stop:
            rate = 0
        else:
            rate = (stop - percent) * constants.COIN_100_PERCENT // (stop - start)
    # This runs twice per block, and most blocks change nothing.
    if (supply, rate) != (props.virtual_supply, props.sbd_print_rate):
        state.set_props(virtual_supply=supply, sbd_print_rate=rate)


def unsigned_percent(worth: int, supply: int, rounded: bool) -> int:
    """Return the percentage of SBD when `worth` or `supply` is negative. As in the reference, a negative number counts as a large unsigned
    one.
    """
    half = truncated(supply, 2) if rounded else 0
    return narrowed(quotient((worth * constants.COIN_100_PERCENT + half) % WORD128, supply % WORD128)) % WORD16


# ------------------------------------------------------------------ the null account


def clear_null_account_balance(state: State, block: SignedBlock) -> None:
    """Since hardfork 14: destroy all balances of the account `null`."""
    if state.hardfork < 14:
        return
    null = state.account(constants.COIN_NULL_ACCOUNT)
    vesting_coin = balances.vests_to_coin(state, null.vesting_shares) if null.vesting_shares > 0 else 0
    reward_coin = null.reward_vesting_coin if null.reward_vesting_balance > 0 else 0
    liquid, savings, reward = max(null.balance, 0), max(null.savings_balance, 0), max(null.reward_coin_balance, 0)
    coin = liquid + savings + reward + vesting_coin + reward_coin
    sbd = max(null.sbd_balance, 0) + max(null.savings_sbd_balance, 0) + max(null.reward_sbd_balance, 0)
    vests = max(null.vesting_shares, 0) + max(null.reward_vesting_balance, 0)
    if not (coin or sbd or vests):
        return
    coin, sbd, vests = share(coin), share(sbd), share(vests)
    totals = tuple(Asset(n, symbol) for n, symbol in ((coin, COIN), (vests, VESTS), (sbd, SBD)) if n > 0)
    notice = ClearNullAccountBalance(total_cleared=totals)
    announce(state, notice)
    empty_null_account(state, null, vesting_coin)
    if coin > 0:
        balances.adjust_supply(state, -coin, COIN)
    if sbd > 0:
        balances.adjust_supply(state, -sbd, SBD)
    complete(state, notice)


def empty_null_account(state: State, null: Account, vesting_coin: int) -> None:
    """Set every balance of `null` to 0. This pays interest on its SBD, and that interest remains. Witness votes are not adjusted."""
    if null.balance > 0:
        balances.adjust_balance(state, null, -null.balance, COIN)
    if null.savings_balance > 0:
        balances.adjust_savings_balance(state, null, -null.savings_balance, COIN)
    if null.sbd_balance > 0:
        balances.adjust_balance(state, null, -null.sbd_balance, SBD)
    if null.savings_sbd_balance > 0:
        balances.adjust_savings_balance(state, null, -null.savings_sbd_balance, SBD)
    props = state.props
    if null.vesting_shares > 0:
        state.set_props(
            total_vesting_shares=share(props.total_vesting_shares - null.vesting_shares),
            total_vesting_fund_coin=share(props.total_vesting_fund_coin - vesting_coin),
        )
        state.accounts.modify(null, vesting_shares=0)
    if null.reward_coin_balance > 0:
        balances.adjust_reward_balance(state, null, -null.reward_coin_balance, COIN)
    if null.reward_sbd_balance > 0:
        balances.adjust_reward_balance(state, null, -null.reward_sbd_balance, SBD)
    if null.reward_vesting_balance > 0:
        state.set_props(
            pending_rewarded_vesting_shares=share(props.pending_rewarded_vesting_shares - null.reward_vesting_balance),
            pending_rewarded_vesting_coin=share(props.pending_rewarded_vesting_coin - null.reward_vesting_coin),
        )
        state.accounts.modify(null, reward_vesting_coin=0, reward_vesting_balance=0)


# ------------------------------------------------------------------ inflation


def process_funds(state: State, block: SignedBlock) -> None:
    """Create and distribute this block's new COIN."""
    producer = state.witness(state.props.current_witness)
    if state.hardfork >= 16:
        share_out_inflation(state, producer)
    else:
        # Before hardfork 16 rewards were percentages of the supply, each with a minimum.
        share_out_early_inflation(state, producer)


def share_out_inflation(state: State, producer: Witness) -> None:
    """Divide the inflation of a block among content, vesting fund, treasury and producer.

    The yearly rate falls from 9.78 % by 0.01 % every 250,000 blocks, to 0.95 %. The producer gets what remains, including the part of the
    content rewards that isn't in the reward fund's percentage.
    """
    props = state.props
    has_fund = state.hardfork >= 17
    rate = max(
        constants.COIN_INFLATION_RATE_START_PERCENT - props.head_block_number // constants.COIN_INFLATION_NARROWING_PERIOD,
        constants.COIN_INFLATION_RATE_STOP_PERCENT,
    )
    new = share(props.virtual_supply * rate) // (constants.COIN_100_PERCENT * constants.COIN_BLOCKS_PER_YEAR)
    content = new * props.content_reward_percent // constants.COIN_100_PERCENT
    if has_fund:
        content = pay_reward_fund(state, content)
    vesting = new * props.vesting_reward_percent // constants.COIN_100_PERCENT
    treasury = new * props.sps_fund_percent // constants.COIN_100_PERCENT
    reward = new - content - vesting - treasury
    reward = producer_part(state, producer, reward)
    treasury_sbd = 0
    if treasury:
        treasury_sbd = convert(Asset(treasury, COIN), balances.median_price(state)).amount
        balances.adjust_balance(state, state.account(state.spec.treasury), treasury_sbd, SBD)
    state.global_properties.set_inflation(
        props,
        share(props.total_vesting_fund_coin + vesting),
        # Before hardfork 17 content was paid from one fund in the global properties.
        share(props.total_reward_fund_coin + (0 if has_fund else content)),
        share(props.current_supply + content + vesting + reward),
        share(props.current_sbd_supply + treasury_sbd),
        share(props.virtual_supply + content + vesting + reward + treasury),
        share(props.sps_interval_ledger + treasury_sbd),
    )
    pay_producer(state, producer, reward)


def producer_part(state: State, producer: Witness, reward: int) -> int:
    """Return the producer's reward, which depends on the producer's class (elected, timeshare or miner).

    The normalization factor is the sum of the weights of a round, so the average block pays `reward`. The class is the producer's class
    after this block's schedule update. A witness that is no longer in the round keeps the class of its last round.
    """
    schedule = state.schedule
    weights = {ELECTED: schedule.elected_weight, TIMESHARE: schedule.timeshare_weight, MINER: schedule.miner_weight}
    reward *= constants.COIN_MAX_WITNESSES * weights.get(producer.schedule, 1)
    return reward // schedule.witness_pay_normalization_factor


def pay_reward_fund(state: State, content: int) -> int:
    """Credit the only reward fund with its part of the content rewards, and return that part."""
    fund = post_fund(state)
    part = content * fund.percent_content_rewards // constants.COIN_100_PERCENT
    state.reward_funds.set_balance(fund, share(fund.reward_balance + part))
    return part


def pay_producer(state: State, producer: Witness, reward: int) -> None:
    """Pay the producer's reward in VESTS. The virtual operation is emitted even for a reward of 0."""
    account = state.account(producer.owner)
    vests = balances.coin_to_vests(state, reward)
    notice = ProducerReward(producer=producer.owner, vesting_shares=Asset(vests, VESTS))
    announce(state, notice)
    balances.add_vesting(state, account, reward, vests)
    complete(state, notice)


def percent_per_block(supply: int, percent: int) -> int:
    """Return one block's part of a yearly percentage of the supply, at least 1.000 COIN.

    The arithmetic is fixed-point, with unsigned 128-bit numbers.
    """
    shift = constants.COIN_APR_PERCENT_SHIFT_PER_BLOCK
    reward = (supply * percent * constants.COIN_APR_PERCENT_MULTIPLY_PER_BLOCK + (1 << (shift - 1))) % WORD128 >> shift
    return max(reward, MIN_REWARD)


def share_out_early_inflation(state: State, producer: Witness) -> None:
    """Before hardfork 16: pay fixed percentages for content, curation and producer, and nine times their sum to the vesting fund."""
    props = state.props
    content = percent_per_block(props.virtual_supply, constants.COIN_CONTENT_APR_PERCENT)
    curation = percent_per_block(props.virtual_supply, constants.COIN_CURATE_APR_PERCENT)
    reward = percent_per_block(props.virtual_supply, constants.COIN_PRODUCER_APR_PERCENT)
    vesting = (content + curation + reward) * 9 if props.head_block_number >= constants.COIN_START_VESTING_BLOCK else 0
    new = content + curation + reward + vesting
    account = state.account(producer.owner)
    # The producer is paid before the vesting fund grows, at the old price of VESTS. In the first month producers with VESTS were paid in
    # COIN, so that there was COIN to trade.
    if props.head_block_number >= constants.COIN_START_MINER_VOTING_BLOCK or account.vesting_shares == 0:
        pay_producer(state, producer, reward)
    else:
        balances.adjust_balance(state, account, reward, COIN)
    state.set_props(
        total_vesting_fund_coin=share(props.total_vesting_fund_coin + vesting),
        total_reward_fund_coin=share(props.total_reward_fund_coin + content + curation),
        current_supply=share(props.current_supply + new),
        virtual_supply=share(props.virtual_supply + new),
    )


def process_subsidized_accounts(state: State, block: SignedBlock) -> None:
    """Refill and decay the pools of free accounts: the common pool, and the producer's own pool if the producer is elected."""
    props, schedule = state.props, state.schedule
    # Pools are full while few accounts are claimed. An unchanged number is not written, because that would cost a journal record per block.
    pool = pool_after_block(schedule.account_subsidy_rd, props.available_account_subsidies)
    if pool != props.available_account_subsidies:
        state.global_properties.set_subsidies(props, pool)
    producer = state.witness(props.current_witness)
    if producer.schedule == ELECTED:
        pool = pool_after_block(schedule.account_subsidy_witness_rd, producer.available_witness_account_subsidies)
        if pool != producer.available_witness_account_subsidies:
            state.witnesses.set_subsidies(producer, pool)
