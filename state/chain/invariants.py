"""Invariants of every state: supplies, the vesting fund, witness votes, and the counters in account rows.

The checks of supplies and of the total vote weight are the reference's `validate_invariants`. The other checks compare numbers that are
stored redundantly. A violation is a bug in coind, not bad input.
"""

from collections import Counter, defaultdict
from collections.abc import Callable

from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, convert, is_smt, is_vesting, paired
from state.protocol.values.integers import WORD128
from state.tables import State


class InvariantBroken(AssertionError):
    """Raised when an invariant is violated. The message contains its name and both values."""


def equal(what: str, stored: int, counted: int) -> None:
    """Raise InvariantBroken unless a stored total equals the counted one."""
    if stored != counted:
        raise InvariantBroken(f"{what}: stored {stored}, counted {counted}")


def validate_invariants(state: State) -> None:
    """Make all checks. Raises InvariantBroken at the first that fails."""
    for check in CHECKS:
        check(state)


def check_supplies(state: State) -> None:
    """Compare the COIN, SBD and VESTS of all rows with the supplies in the global properties."""
    props = state.props
    held: defaultdict[int, int] = defaultdict(int)
    vests = reward_coin = 0
    for account in state.accounts.scan():
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
    """Compare the weight of all votes with the VESTS, and each witness's votes with the weight of its voters."""
    weights = 0
    # The weight of an account with a proxy is part of the proxy's proxied votes, except the weight that it receives from four proxies away.
    # That weight is not passed on, so it is counted here.
    for account in state.accounts.scan():
        weights += account.proxied_vsf_votes[3] if account.proxy else account.witness_vote_weight
    equal("weight of all votes", state.props.total_vesting_shares, weights)
    if state.hardfork < 3:
        return  # before hardfork 3 votes were counted wrongly; the hardfork recounted them
    votes: Counter[str] = Counter()
    voted: Counter[str] = Counter()
    for vote in state.witness_votes:
        account = state.account(vote.account)
        voted[vote.account] += 1
        if not account.proxy:
            votes[vote.witness] += account.witness_vote_weight
    for outside in state.outside_witness_votes:
        # Votes of accounts that aren't here, on a partial chain.
        votes[outside.witness] += outside.weight
    for witness in state.witnesses:
        equal(f"votes of {witness.owner}", witness.votes, votes[witness.owner])
    if state.hardfork >= 8:
        for account in state.accounts.scan():
            equal(f"witnesses_voted_for of {account.name}", account.witnesses_voted_for, voted[account.name])


def check_counters(state: State) -> None:
    """Compare the counters in account rows with the rows of delegations, routes and withdrawals."""
    lent: Counter[str] = Counter()
    received: Counter[str] = Counter()
    for delegation in state.vesting_delegations:
        lent[delegation.delegator] += delegation.vesting_shares
        received[delegation.delegatee] += delegation.vesting_shares
    for expiration in state.delegation_expirations:
        lent[expiration.delegator] += expiration.vesting_shares
    routes = Counter(route.from_account for route in state.withdraw_routes)
    withdrawals = Counter(withdrawal.from_ for withdrawal in state.savings_withdraws)
    for account in state.accounts.scan():
        name = account.name
        equal(f"delegated_vesting_shares of {name}", account.delegated_vesting_shares, lent[name])
        equal(f"received_vesting_shares of {name}", account.received_vesting_shares, received[name])
        equal(f"withdraw_routes of {name}", account.withdraw_routes, routes[name])
        equal(f"savings_withdraw_requests of {name}", account.savings_withdraw_requests, withdrawals[name])


def check_tokens(state: State) -> None:
    """Compare each token's supply with its liquid and vested balances."""
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
    """Before hardfork 17: compare the stored sum of reward claims with the claims of all comments."""
    if state.hardfork >= 17:
        return
    constant = 2_000_000_000_000
    total = sum((c.net_rshares + constant) ** 2 - constant**2 for c in state.comments.scan() if c.net_rshares > 0)
    equal("total_reward_shares2", state.props.total_reward_shares2, total % WORD128)


CHECKS: tuple[Callable[[State], None], ...] = (check_supplies, check_votes, check_counters, check_tokens, check_reward_shares)
