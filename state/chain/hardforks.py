"""Hardforks: when each is applied, and its one-time changes to the state. Source: block-processing.md §3.26, §3.27.

A rule that a hardfork changed is written where the rule is applied, as `if state.hardfork < N`. A new hardfork with one-time changes needs
a function here and an entry in CHANGES.
"""

from collections.abc import Callable

from msgspec import structs

from state.chain.steps.schedule import reset_virtual_schedule
from state.effects import curves
from state.effects.accounts import update_owner
from state.effects.arithmetic import share
from state.effects.clearing import clear_account
from state.effects.nai import replenish_pool
from state.effects.operation_events import announce, complete
from state.effects.votes import adjust_witness_vote
from state.effects.voting import post_fund
from state.protocol import constants
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import UnknownHardfork, require
from state.protocol.keys.keys import public_key_from_text
from state.protocol.transaction import SignedBlock
from state.protocol.values.integers import WORD16, WORD128
from state.protocol.virtual import Hardfork
from state.tables import State
from state.tables.accounts import AccountAuthority
from state.tables.content import Comment
from state.tables.globals import ChainProperties, RewardFund

LAST_BY_TIME = 5  # the first five hardforks apply at fixed times; witnesses vote on later ones
CLOSED = Authority(weight_threshold=1)


def genesis_hardforks(state: State, block: SignedBlock) -> None:
    """In block 1 only: apply all hardforks up to the first whose time is after the block's.

    A chain that begins after a hardfork therefore has that hardfork's rules from the start.
    """
    if block.number != 1:
        return
    due = 0
    while due < len(state.hardfork_times) - 1 and state.hardfork_times[due + 1] <= block.timestamp:
        due += 1
    if due <= state.hardfork:
        return
    set_hardfork(state, due, apply_now=True)
    set_witness_versions(state, due)


def set_witness_versions(state: State, number: int) -> None:
    """Record for every witness that it runs this hardfork's version and has voted for the hardfork.

    Otherwise the first blocks would be refused, because their witnesses have not reported a version yet.
    """
    version, time = state.spec.hardfork_versions[number], state.hardfork_times[number]
    for witness in list(state.witnesses):
        state.witnesses.modify(witness, running_version=version, hardfork_version_vote=version, hardfork_time_vote=time)


def process_hardforks(state: State, block: SignedBlock) -> None:
    """Apply the due hardforks: the first five at fixed times, later ones at the time that witnesses voted for.

    As in the reference, a block applies only one of the two groups, so hardfork 6 needs a later block than hardfork 5.
    """
    hardforks, versions = state.hardforks, state.spec.hardfork_versions
    if state.hardfork >= LAST_BY_TIME:
        while versions[hardforks.last_hardfork] < hardforks.next_hardfork and hardforks.next_hardfork_time <= state.head_time:
            if hardforks.last_hardfork >= len(versions) - 1:
                raise UnknownHardfork("")
            apply_hardfork(state, hardforks.last_hardfork + 1)
        return
    while (
        hardforks.last_hardfork < min(LAST_BY_TIME, len(versions) - 1)
        and state.hardfork_times[hardforks.last_hardfork + 1] <= state.head_time
    ):
        apply_hardfork(state, hardforks.last_hardfork + 1)


def set_hardfork(state: State, number: int, apply_now: bool) -> None:
    """Schedule every hardfork up to `number` for the next block. With `apply_now`, also apply these hardforks at once.

    For the first five hardforks, this changes their times. The journal doesn't record these times, so undoing doesn't restore them.
    """
    versions = state.spec.hardfork_versions
    for i in range(state.hardfork + 1, min(number, len(versions) - 1) + 1):
        if i <= LAST_BY_TIME:
            state.hardfork_times[i] = state.head_time
        else:
            state.hardfork_properties.modify(state.hardforks, next_hardfork=versions[i], next_hardfork_time=state.head_time)
        if apply_now:
            apply_hardfork(state, i)


def apply_hardfork(state: State, number: int) -> None:
    """Make the one-time changes of a hardfork, then record the hardfork as applied. Its rules are therefore not in force during the
    changes.
    """
    notice = Hardfork(hardfork_id=number)
    announce(state, notice)
    change = CHANGES.get(number)
    if change is not None:
        change(state)
    hardforks = state.hardforks
    require(number == hardforks.last_hardfork + 1, "Hardfork being applied out of order", condition="hardfork == last_hardfork + 1")
    state.hardfork_properties.modify(
        hardforks,
        processed_hardforks=(*hardforks.processed_hardforks, state.hardfork_times[number]),
        last_hardfork=number,
        current_hardfork_version=state.spec.hardfork_versions[number],
    )
    complete(state, notice)


# ------------------------------------------------------------------ the changes of each


def split_vesting(state: State) -> None:
    """Hardfork 1: multiply all VESTS by a million, in all rows that contain an amount of them.

    Power-down rates are recomputed and become at least 1, even for accounts that don't power down. This mistake of the reference is part of
    the rules. An amount beyond 64 bits refuses the block, which halts the chain.
    """
    factor = 1_000_000
    state.set_props(total_vesting_shares=share(state.props.total_vesting_shares * factor))
    for account in list(state.accounts):
        to_withdraw = share(account.to_withdraw * factor)
        rate = to_withdraw // constants.COIN_VESTING_WITHDRAW_INTERVALS_PRE_HF_16
        first, second, third, fourth = account.proxied_vsf_votes
        state.accounts.modify(
            account,
            vesting_shares=share(account.vesting_shares * factor),
            withdrawn=share(account.withdrawn * factor),
            to_withdraw=to_withdraw,
            vesting_withdraw_rate=rate or 1,
            proxied_vsf_votes=(share(first * factor), share(second * factor), share(third * factor), share(fourth * factor)),
        )
    total = 0
    for comment in list(state.comments):
        state.comments.modify(
            comment,
            net_rshares=share(comment.net_rshares * factor),
            abs_rshares=share(comment.abs_rshares * factor),
            vote_rshares=share(comment.vote_rshares * factor),
        )
        if comment.net_rshares > 0:
            total += curves.quadratic(comment.net_rshares)
    state.set_props(total_reward_shares2=total % WORD128)


def recount_witness_votes(state: State) -> None:
    """Hardforks 2 and 3: recount the votes for witnesses.

    The reference does it twice in hardfork 2. The second time has no effect, as a test shows.
    """
    for witness in list(state.witnesses):
        state.witnesses.modify(witness, votes=0, virtual_position=0)
    for account in list(state.accounts):
        if account.proxy:
            continue
        for vote in state.witness_votes.of_account.of(account.name):
            adjust_witness_vote(state, state.witness(vote.witness), account.witness_vote_weight)


def recount_voted(state: State, only_with_proxy: bool) -> None:
    """Recount the witnesses that each account votes for. With `only_with_proxy`, an account without a proxy gets the count 0."""
    for account in list(state.accounts):
        count = 0
        if not only_with_proxy or account.proxy:
            count = len(state.witness_votes.of_account.of(account.name)) % WORD16
        state.accounts.modify(account, witnesses_voted_for=count)


def recount_voted_and_children(state: State) -> None:
    """Hardfork 6: recount the witnesses that accounts vote for, and the descendants of comments.

    By mistake only accounts with a proxy were counted; all others got 0. Hardfork 8 corrected this.
    """
    recount_voted(state, only_with_proxy=True)
    for comment in list(state.comments):
        state.comments.modify(comment, children=0)
    for comment in list(state.comments):
        parent = parent_of(state, comment)
        while parent is not None:
            state.comments.modify(parent, children=parent.children + 1)
            parent = parent_of(state, parent)


def parent_of(state: State, comment: Comment) -> Comment | None:
    """Return the comment that `comment` replies to; None for a root."""
    if not comment.parent_author:
        return None
    return state.comments.by_permlink.get(comment.parent_author, comment.parent_permlink)


def replace_compromised_keys(state: State) -> None:
    """Hardfork 9: replace all authorities of accounts with leaked keys by one key, used to recover them."""
    for name in state.spec.hf9_accounts:
        if state.accounts.by_name.get(name) is None:
            continue
        authority = key_authority(public_key_from_text(constants.HF9_PUBLIC_KEY, state.spec.key_prefix))
        row = state.authority(name)
        update_owner(state, name, authority)
        state.account_authorities.modify(row, active=authority, posting=authority)


def recompute_liquidity_weights(state: State) -> None:
    """Hardfork 10: set the weight of market makers to the smaller of their two volumes."""
    for record in list(state.liquidity_rewards):
        volumes = record.coin_volume, record.sbd_volume
        state.liquidity_rewards.modify(record, weight=min(volumes) if min(volumes) > 0 else 0)


def reschedule_payouts(state: State) -> None:
    """Hardfork 12: set the time of each root comment's first or second payout, and lock the posting authority of special accounts."""
    window, second = state.spec.constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17, state.spec.constants.COIN_SECOND_CASHOUT_WINDOW
    for root in list(state.comments.by_parent.equal("")):
        if root.last_payout > 0:
            state.comments.modify(root, cashout_time=root.last_payout + second)
        elif root.cashout_time == constants.TIME_MAX:
            state.comments.modify(root, cashout_time=state.head_time + window)
    for name in (constants.COIN_MINER_ACCOUNT, constants.COIN_NULL_ACCOUNT, constants.COIN_TEMP_ACCOUNT):
        state.account_authorities.modify(state.authority(name), posting=CLOSED)


def shorten_price_history(state: State) -> None:
    """Hardfork 16: truncate the price history to its new, shorter length."""
    state.feed_histories.modify(state.feed, price_history=state.feed.price_history[-constants.COIN_FEED_HISTORY_WINDOW :])


def create_reward_fund(state: State) -> None:
    """Hardfork 17: create the reward fund for content, and give each comment its own payout time.

    The fund takes over the balance of the fund in the global properties. In an open discussion no reply is paid before its root.
    """
    state.witness_schedules.modify(state.schedule, max_voted_witnesses=20, max_miner_witnesses=0, max_runner_witnesses=1)
    preset = state.spec.constants.PRESET_RECENT_CLAIMS
    state.reward_funds.insert(
        RewardFund(
            name=constants.COIN_POST_REWARD_FUND_NAME,
            last_update=state.head_time,
            content_constant=curves.CONTENT_CONSTANT,
            percent_curation_rewards=2500,
            percent_content_rewards=constants.COIN_100_PERCENT,
            reward_balance=state.props.total_reward_fund_coin,
            recent_claims=14916744862149894120447332012073 if preset else 0,
            author_reward_curve=curves.QUADRATIC,
            curation_reward_curve=curves.BOUNDED_CURATION,
        )
    )
    state.set_props(total_reward_fund_coin=0, total_reward_shares2=0)
    window = state.spec.constants.COIN_CASHOUT_WINDOW_SECONDS
    roots = [root for root in state.comments.by_parent.equal("") if root.cashout_time < constants.TIME_MAX]
    for root in roots:
        state.comments.modify(root, cashout_time=max(root.created + window, root.cashout_time))
    for root in roots:
        for comment in list(state.comments.by_root.equal(root.id)):
            if comment.parent_author:
                state.comments.modify(comment, cashout_time=max(root.cashout_time, comment.created + window))


def make_rewards_linear(state: State) -> None:
    """Hardfork 19: make rewards linear, allow ten full votes a day instead of forty, and remove delegations of 0 VESTS."""
    state.set_props(vote_power_reserve_rate=10)
    claims = {"recent_claims": 140797515942543623} if state.spec.constants.PRESET_RECENT_CLAIMS else {}
    state.reward_funds.modify(post_fund(state), author_reward_curve=curves.LINEAR, curation_reward_curve=curves.SQUARE_ROOT, **claims)
    for delegation in [d for d in state.vesting_delegations if d.vesting_shares == 0]:
        state.vesting_delegations.remove(delegation)


def raise_account_fee(state: State) -> None:
    """Hardfork 20: change periods, and multiply the scheduled witnesses' account creation fees by thirty.

    Until then an account cost thirty times the fee, or less with a delegation. Since then the fee is the price.
    """
    state.set_props(
        delegation_return_period=432000,
        reverse_auction_seconds=900,
        sbd_stop_percent=1000,
        sbd_start_percent=900,
        available_account_subsidies=0,
    )
    for name in state.schedule.current_shuffled_witnesses[: state.schedule.num_scheduled_witnesses]:
        witness = state.witness(name)
        raised = replace_fee(witness.props, share(witness.props.account_creation_fee * 30))
        state.witnesses.modify(witness, props=raised)
    median = state.schedule.median_props
    state.witness_schedules.modify(state.schedule, median_props=replace_fee(median, share(median.account_creation_fee * 30)))


def replace_fee(props: ChainProperties, fee: int) -> ChainProperties:
    """Return chain properties with another account creation fee."""
    return structs.replace(props, account_creation_fee=fee)


def open_treasury(state: State) -> None:
    """Hardfork 21: fund the treasury that pays proposals, lock its account, and raise the curators' part to half of the rewards.

    A locked account has authorities that nobody can satisfy, itself as recovery account, and no pending recovery.
    """
    state.set_props(sps_fund_percent=1000, content_reward_percent=6500, downvote_pool_percent=2500, reverse_auction_seconds=300)
    treasury = state.account(state.spec.treasury)
    authority = state.account_authorities.by_account.get(treasury.name)
    if authority is None:
        state.account_authorities.insert(AccountAuthority(account=treasury.name, owner=CLOSED, active=CLOSED, posting=CLOSED))
    else:
        state.account_authorities.modify(authority, owner=CLOSED, active=CLOSED, posting=CLOSED)
    state.accounts.modify(treasury, recovery_account=treasury.name)
    request = state.recovery_requests.by_account.get(treasury.name)
    if request is not None:
        state.recovery_requests.remove(request)
    change = state.change_recovery_requests.by_account.get(treasury.name)
    if change is not None:
        state.change_recovery_requests.remove(change)
    claims = {"recent_claims": 503600561838938636} if state.spec.constants.PRESET_RECENT_CLAIMS else {}
    state.reward_funds.modify(
        post_fund(state),
        percent_curation_rewards=5000,
        author_reward_curve=curves.CONVERGENT_LINEAR,
        curation_reward_curve=curves.CONVERGENT_SQUARE_ROOT,
        content_constant=curves.CONTENT_CONSTANT,
        **claims,
    )


def clear_accounts(state: State) -> None:
    """Hardfork 23: move all property of the listed accounts to one account, and remove the ids of all earlier blocks.

    Without the ids, transactions from before the hardfork are invalid, because their reference block can't be found.
    """
    for name in state.spec.hf23_accounts:
        account = state.accounts.by_name.get(name)
        if account is not None:
            clear_account(state, account, state.account(constants.HIVE_TREASURY_ACCOUNT))
    for summary in list(state.block_summaries):
        state.block_summaries.remove(summary)


def enable_tokens(state: State) -> None:
    """Hardfork 24: fill the pool of token symbols (NAIs), and reserve a part of each block for required actions."""
    replenish_pool(state)
    state.set_props(required_actions_partition_percent=2500)


CHANGES: dict[int, Callable[[State], None]] = {
    1: split_vesting,
    2: recount_witness_votes,
    3: recount_witness_votes,
    4: reset_virtual_schedule,
    6: recount_voted_and_children,
    8: lambda state: recount_voted(state, only_with_proxy=False),
    9: replace_compromised_keys,
    10: recompute_liquidity_weights,
    12: reschedule_payouts,
    16: shorten_price_history,
    17: create_reward_fund,
    19: make_rewards_linear,
    20: raise_account_fee,
    21: open_treasury,
    23: clear_accounts,
    24: enable_tokens,
}
