"""Block step that pays comments from the reward fund. The payout is divided among curators, beneficiaries and author.

Since hardfork 17 the fund keeps the sum of the claims of all paid comments, which decays over 15 days. A comment gets the fund's
balance times its claim divided by that sum. The payout per claim therefore changes slowly, however few comments are due in a block.
Source: block-processing.md §3.15; operations.md §17.5.
"""

from msgspec import Struct

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, adjust_supply, median_price, to_coin, to_sbd
from state.effects.comments import payout_time
from state.effects.curves import CONTENT_CONSTANT, QUADRATIC, curve_value
from state.effects.early_voting import adjust_claims
from state.effects.operation_events import announce, complete, emit
from state.effects.rewards import add_sbd_reward, add_vesting_reward, vests_of_reward
from state.effects.voting import LEFT_OVER, post_fund
from state.protocol import constants
from state.protocol.errors import require
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, convert
from state.protocol.values.integers import INT64_MAX, WORD64, WORD128
from state.protocol.virtual import AuthorReward, CommentBenefactorReward, CommentPayoutUpdate, CommentReward, CurationReward
from state.tables import State
from state.tables.content import Comment
from state.tables.globals import RewardFund


class RewardPool(Struct, frozen=True):
    """A source of rewards and the rules for dividing it. The balance is in COIN, the percentage in 1/10000."""

    balance: int
    claims: int
    curve: int
    constant: int
    curation_percent: int


PAYOUT_UNITS = 2
DUE_OF_UNIT = 32  # due posts that are listed per unit of work


def process_comment_cashout(state: State, block: SignedBlock) -> None:
    """Pay every due comment. Before hardfork 7 nothing was paid."""
    if state.hardfork >= 17:
        # Only one fund is ever created, and every comment belongs to it.
        pay_from_fund(state, post_fund(state))
    elif state.hardfork >= 7:
        # Before hardfork 17 a discussion was paid as a whole, from the reward fund in the global properties.
        pay_discussions(state)


def pay_from_fund(state: State, fund: RewardFund) -> None:
    """Decay the fund's claims, add the claims of the due comments, and pay these comments.

    The claims are added before the first payout, and the fund's balance is reduced after the last payout. All comments of a block are
    therefore paid from the same balance and sum, regardless of their order.
    """
    now = state.head_time
    claims = decayed(state, fund)
    due = comments_due(state)
    for index, comment in enumerate(due, 1):
        if not index % DUE_OF_UNIT:
            state.work.spend(1, "due posts")
        if comment.net_rshares > 0:
            claims = (claims + curve_value(fund.author_reward_curve, comment.net_rshares, fund.content_constant)) % WORD128
    balance = fund.reward_balance
    if due:
        pool = RewardPool(balance, claims, fund.author_reward_curve, fund.content_constant, fund.percent_curation_rewards)
        awarded = 0
        for comment in due:
            awarded += cash_out(state, comment, pool)
        balance = share(fund.reward_balance - awarded)
    state.reward_funds.set_claims(fund, claims, now, balance)


def decayed(state: State, fund: RewardFund) -> int:
    """Return the claims on a fund at head time. Each block reduces them by the time since the last block, divided by 15 days.

    The reference's arithmetic is unsigned. A gap of more than 15 days between two blocks subtracts more than all claims, and the result
    wraps at 128 bits to a huge number, so that comments are paid nothing for a long time. This happens only on test chains that jump in
    time.
    """
    # Before hardfork 19 the period was 30 days.
    period = constants.COIN_RECENT_RSHARES_DECAY_TIME_HF19 if state.hardfork >= 19 else constants.COIN_RECENT_RSHARES_DECAY_TIME_HF17
    claims = fund.recent_claims
    return (claims - claims * (state.head_time - fund.last_update) % WORD128 // period) % WORD128


def comments_due(state: State) -> list[Comment]:
    """Return the comments whose payout is due, earliest first."""
    now, due = state.head_time, list[Comment]()
    first = state.comments.by_due_payout.first()
    if first is None or first.cashout_time > now:
        return due
    for comment in state.comments.by_due_payout:
        if comment.cashout_time > now:
            break
        due.append(comment)
        if not len(due) % DUE_OF_UNIT:
            state.work.spend(1, "due posts")
    state.work.announce(len(due) * PAYOUT_UNITS)
    return due


def pay_discussions(state: State) -> None:
    """Before hardfork 17: pay each due root with all its replies. Each payout reduces the fund for the next comment."""
    # Hardfork 8 halved the curation rewards.
    percent = 2500 if state.hardfork >= 8 else 5000
    for root in comments_due(state):
        for comment in list(state.comments.by_root.equal(root.root_comment)):
            props = state.props
            pool = RewardPool(props.total_reward_fund_coin, props.total_reward_shares2, QUADRATIC, CONTENT_CONSTANT, percent)
            claimed = cash_out(state, comment, pool)
            if claimed > 0:
                state.set_props(total_reward_fund_coin=share(state.props.total_reward_fund_coin - claimed))


# ------------------------------------------------------------------ one comment


def cash_out(state: State, comment: Comment, pool: RewardPool) -> int:
    """Pay a comment and reset its vote sums. Return the COIN taken from the fund.

    A comment without positive rshares earns nothing, but its payout is closed as well.
    """
    claimed = 0
    changes: dict[str, int] = {}
    if comment.net_rshares > 0:
        payout = payout_of(state, comment, pool)
        if payout > 0:
            claimed, changes["author_rewards"] = pay(state, comment, payout, pool.curation_percent)
        if state.hardfork < 17:
            # Before hardfork 17 the global properties contained the sum of all comments' claims.
            adjust_claims(state, comment.net_rshares, 0)
        # Negative rshares stay, and count against a later payout, which exists only before hardfork 17.
        changes["net_rshares"] = 0
    state.comments.modify(
        comment,
        children_abs_rshares=0,
        abs_rshares=0,
        vote_rshares=0,
        total_vote_weight=0,
        max_cashout_time=constants.TIME_MAX,
        cashout_time=next_payout_time(state, comment),
        last_payout=state.head_time,
        **changes,
    )
    state.work.spend(PAYOUT_UNITS, "paid posts")
    emit(state, CommentPayoutUpdate(author=comment.author, permlink=comment.permlink))
    if state.hardfork < 17:
        # Since hardfork 17 a comment is paid once, and its votes don't change.
        mark_votes(state, comment)
    return claimed


def payout_of(state: State, comment: Comment, pool: RewardPool) -> int:
    """Return a comment's reward in COIN: its share of the fund, 0 if that is dust, at most its max_accepted_payout."""
    require(pool.claims > 0, condition="ctx.total_reward_shares2 > 0")
    claim = curve_value(pool.curve, comment.net_rshares, pool.constant) * comment.reward_weight // constants.COIN_100_PERCENT
    payout = pool.balance * claim // pool.claims
    require(payout <= INT64_MAX, condition="payout_u256 <= u256( uint64_t( std::numeric_limits<int64_t>::max() ) )")
    if to_sbd(state, payout) < constants.COIN_MIN_PAYOUT_SBD:
        return 0
    # A negative amount counts as a large unsigned number.
    return min(payout, to_coin(state, comment.max_accepted_payout) % WORD64)


def next_payout_time(state: State, comment: Comment) -> int:
    """Return the time of a comment's next payout: since hardfork 17 never (TIME_MAX).

    Before hardfork 17 only roots had payout times. From hardfork 12 on a second payout followed the first after a fixed time. Before
    hardfork 12 a new vote gave a root a new payout time.
    """
    if state.hardfork >= 17:
        return constants.TIME_MAX
    if comment.parent_author:
        return comment.cashout_time
    if state.hardfork >= 12 and comment.last_payout == 0:
        return state.head_time + state.spec.constants.COIN_SECOND_CASHOUT_WINDOW
    return constants.TIME_MAX


def mark_votes(state: State, comment: Comment) -> None:
    """Mark the votes on a comment as counted in a payout. From hardfork 12 on, this is done only if another payout follows."""
    if state.hardfork >= 12 and payout_time(state, comment) == constants.TIME_MAX:
        return
    for vote in state.comment_votes.of_comment.of(comment.id):
        state.work.spend(1, "votes of paid posts")
        state.comment_votes.modify(vote, num_changes=LEFT_OVER)


def pay(state: State, comment: Comment, payout: int, curation_percent: int) -> tuple[int, int]:
    """Divide a payout. Return the part that was paid, and the comment's new total of author rewards.

    Curators are paid first. Each beneficiary then gets a percentage of what remains, and the author gets the rest. This is the order of the
    virtual operations, and it determines the price at which each vesting part is converted.
    """
    curation = payout * curation_percent // constants.COIN_100_PERCENT
    paid, unclaimed = pay_curators(state, comment, curation)
    tokens = payout - curation
    if state.hardfork < 20:
        # Before hardfork 20 the author got the unclaimed rest of the curators' part. Since then it stays in the fund.
        tokens += unclaimed
    claimed = tokens + paid
    given_away = 0
    for beneficiary in comment.beneficiaries:
        part = share(tokens * beneficiary.weight) // constants.COIN_100_PERCENT
        pay_beneficiary(state, comment, beneficiary.account, part)
        given_away += part
    tokens -= given_away
    pay_author(state, comment, tokens, paid, given_away)
    emit(state, CommentReward(author=comment.author, permlink=comment.permlink, payout=Asset(to_sbd(state, claimed), SBD)))
    author = state.account(comment.author)
    state.accounts.set_posting_rewards(author, share(author.posting_rewards + tokens))
    return claimed, share(comment.author_rewards + tokens)


def pay_curators(state: State, comment: Comment, reward: int) -> tuple[int, int]:
    """Pay voters by weight, heaviest first. Return the sum paid, and the unclaimed rest.

    A comment without curation rewards has no rest: its curators' part is not paid to anybody, even before hardfork 20.
    """
    if not comment.allow_curation_rewards:
        return 0, 0
    total = comment.total_vote_weight
    if total == 0:
        return 0, reward
    paid = 0
    votes = sorted(state.comment_votes.of_comment.of(comment.id), key=lambda vote: (-vote.weight, vote.voter))
    for vote in votes:
        part = reward * vote.weight // total
        if part == 0:
            # All later votes have the same weight or less.
            break
        curator = state.accounts.find(vote.voter)
        vests = vests_of_reward(state, part)
        notice = CurationReward(
            curator=curator.name, reward=Asset(vests, VESTS), comment_author=comment.author, comment_permlink=comment.permlink
        )
        announce(state, notice)
        add_vesting_reward(state, curator, part, vests)
        state.accounts.set_curation_rewards(curator, share(curator.curation_rewards + part))
        complete(state, notice)
        paid += part
    return paid, reward - paid


def pay_beneficiary(state: State, comment: Comment, name: str, part: int) -> None:
    """Pay a beneficiary's part of the reward: up to half of it in SBD, like the author's part, or all of it in SBD to the treasury."""
    account = state.account(name)
    sbd = coin = 0
    vesting = part
    if state.hardfork >= 21 and name == state.spec.treasury:
        vesting = 0
        sbd = convert(Asset(part, COIN), median_price(state)).amount
        adjust_balance(state, account, sbd, SBD)
        adjust_supply(state, -part, COIN)
        adjust_supply(state, sbd, SBD)
    elif state.hardfork >= 20:
        # Before hardfork 20 beneficiaries got only VESTS.
        half = part * comment.percent_coin_dollars // 20000
        vesting = part - half
        sbd, coin = add_sbd_reward(state, account, half)
    vests = vests_of_reward(state, vesting)
    notice = CommentBenefactorReward(
        benefactor=name,
        author=comment.author,
        permlink=comment.permlink,
        sbd_payout=Asset(sbd, SBD),
        coin_payout=Asset(coin, COIN),
        vesting_payout=Asset(vests, VESTS),
    )
    announce(state, notice)
    add_vesting_reward(state, account, vesting, vests)
    complete(state, notice)


def pay_author(state: State, comment: Comment, tokens: int, curation: int, given_away: int) -> None:
    """Pay the author's part, up to half of it in SBD, and update the comment's payout totals.

    `curation` and `given_away` are the COIN that curators and beneficiaries have been paid.
    """
    author = state.account(comment.author)
    half = share(tokens * comment.percent_coin_dollars) // 20000
    vesting = tokens - half
    sbd, coin = add_sbd_reward(state, author, half)
    vests = vests_of_reward(state, vesting)
    notice = AuthorReward(
        author=comment.author,
        permlink=comment.permlink,
        sbd_payout=Asset(sbd, SBD),
        coin_payout=Asset(coin, COIN),
        vesting_payout=Asset(vests, VESTS),
    )
    announce(state, notice)
    add_vesting_reward(state, author, vesting, vests)
    state.comments.set_payout_values(
        comment,
        share(comment.total_payout_value + sbd + to_sbd(state, coin + vesting)),
        share(comment.curator_payout_value + to_sbd(state, curation)),
        share(comment.beneficiary_payout_value + to_sbd(state, given_away)),
    )
    complete(state, notice)
