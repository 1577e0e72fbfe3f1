"""What must add up in every state: supplies, the vesting fund, witness votes, and the counters that accounts carry.

The first group is the reference's `validate_invariants`; the second holds what rows say of each other. A breach is our
bug, not somebody's bad input.
"""

from collections import Counter, defaultdict
from collections.abc import Callable

from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, convert, is_smt, is_vesting, paired
from state.tables import State


class InvariantBroken(AssertionError):
    """Something doesn't add up; the text names it with both values."""


def equal(what: str, stored: int, counted: int) -> None:
    """The stored total is the counted one."""
    if stored != counted:
        raise InvariantBroken(f"{what}: stored {stored}, counted {counted}")


def validate_invariants(state: State) -> None:
    """Check everything that must add up."""
    for check in CHECKS:
        check(state)


def check_supplies(state: State) -> None:
    """COIN, SBD and VESTS of all rows are what the global properties say."""
    props = state.props
    held: defaultdict[int, int] = defaultdict(int)
    vests = reward_coin = 0
    for account in state.accounts:
        held[COIN] += account.balance + account.savings_balance + account.reward_coin_balance
        held[SBD] += account.sbd_balance + account.savings_sbd_balance + account.reward_sbd_balance
        vests += account.vesting_shares + account.reward_vesting_balance
        reward_coin += account.reward_vesting_coin
    for request in state.convert_requests:
        held[SBD] += request.amount
    for order in state.limit_orders:
        held[order.sell_price.base.symbol] += order.for_sale
    for escrow in state.escrows:
        held[COIN] += escrow.coin_balance
        held[SBD] += escrow.sbd_balance
        held[escrow.pending_fee.symbol] += escrow.pending_fee.amount
    for withdrawal in state.savings_withdraws:
        held[withdrawal.amount.symbol] += withdrawal.amount.amount
    held[COIN] += sum(fund.reward_balance for fund in state.reward_funds)
    held[COIN] += sum(contribution.contribution for contribution in state.smt_contributions)
    held[COIN] += sum(token.market_maker_coin_balance for token in state.smt_tokens)
    held[COIN] += props.total_vesting_fund_coin + props.total_reward_fund_coin + props.pending_rewarded_vesting_coin
    equal("current_supply", props.current_supply, held[COIN])
    equal("current_sbd_supply + init_sbd_supply", props.current_sbd_supply + props.init_sbd_supply, held[SBD])
    equal("total_vesting_shares + pending", props.total_vesting_shares + props.pending_rewarded_vesting_shares, vests)
    equal("pending_rewarded_vesting_coin", props.pending_rewarded_vesting_coin, reward_coin)
    if state.feed.current_median_history != NULL_PRICE:
        worth = convert(Asset(props.current_sbd_supply, SBD), state.feed.current_median_history).amount
        equal("virtual_supply", props.virtual_supply, worth + props.current_supply)


def check_votes(state: State) -> None:
    """VESTS are what can vote; each witness has the weight of those who vote for it."""
    weights = 0
    for account in state.accounts:
        weights += account.proxied_vsf_votes[3] if account.proxy else account.witness_vote_weight
    equal("weight of all votes", state.props.total_vesting_shares, weights)
    if state.hardfork < 3:
        return  # before hardfork 3 votes were counted wrongly, and the hardfork counted them anew
    votes: Counter[str] = Counter()
    voted: Counter[str] = Counter()
    for vote in state.witness_votes:
        account = state.account(vote.account)
        voted[vote.account] += 1
        if not account.proxy:
            votes[vote.witness] += account.witness_vote_weight
    for witness in state.witnesses:
        equal(f"votes of {witness.owner}", witness.votes, votes[witness.owner])
    if state.hardfork >= 8:
        for account in state.accounts:
            equal(f"witnesses_voted_for of {account.name}", account.witnesses_voted_for, voted[account.name])


def check_counters(state: State) -> None:
    """What accounts say of their delegations, routes and withdrawals is what there is."""
    lent: Counter[str] = Counter()
    received: Counter[str] = Counter()
    for delegation in state.vesting_delegations:
        lent[delegation.delegator] += delegation.vesting_shares
        received[delegation.delegatee] += delegation.vesting_shares
    for expiration in state.delegation_expirations:
        lent[expiration.delegator] += expiration.vesting_shares
    routes = Counter(route.from_account for route in state.withdraw_routes)
    withdrawals = Counter(withdrawal.from_ for withdrawal in state.savings_withdraws)
    for account in state.accounts:
        name = account.name
        equal(f"delegated_vesting_shares of {name}", account.delegated_vesting_shares, lent[name])
        equal(f"received_vesting_shares of {name}", account.received_vesting_shares, received[name])
        equal(f"withdraw_routes of {name}", account.withdraw_routes, routes[name])
        equal(f"savings_withdraw_requests of {name}", account.savings_withdraw_requests, withdrawals[name])


def check_tokens(state: State) -> None:
    """Each token's supply is what is held of it, liquid and vested."""
    held: Counter[int] = Counter()
    vested: Counter[int] = Counter()
    for balance in state.regular_balances:
        held[balance.liquid_symbol] += balance.liquid
        vested[balance.liquid_symbol] += balance.vesting
    for reward in state.rewards_balances:
        held[reward.liquid_symbol] += reward.pending_liquid
        vested[reward.liquid_symbol] += reward.pending_vesting_shares
    for order in state.limit_orders:
        symbol = order.sell_price.base.symbol
        if is_smt(symbol):
            liquid = paired(symbol) if is_vesting(symbol) else symbol
            (vested if is_vesting(symbol) else held)[liquid] += order.for_sale
    for token in state.smt_tokens:
        symbol = token.liquid_symbol
        fund = token.total_vesting_fund_smt + token.pending_rewarded_vesting_smt + token.market_maker_token_balance
        equal(f"supply of {symbol}", token.current_supply, held[symbol] + fund)
        equal(f"vesting of {symbol}", token.total_vesting_shares + token.pending_rewarded_vesting_shares, vested[symbol])


def check_reward_shares(state: State) -> None:
    """Before hardfork 17 the claims of all comments together are kept as one number."""
    if state.hardfork >= 17:
        return
    constant = 2_000_000_000_000
    total = sum((c.net_rshares + constant) ** 2 - constant**2 for c in state.comments if c.net_rshares > 0)
    equal("total_reward_shares2", state.props.total_reward_shares2, total % 2**128)


CHECKS: tuple[Callable[[State], None], ...] = (check_supplies, check_votes, check_counters, check_tokens, check_reward_shares)
