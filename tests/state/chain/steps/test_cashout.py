"""The payout of comments: the worked example, limits on payouts, and the rules of earlier hardforks."""

from typing import Any

import pytest

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.steps.cashout import decayed, process_comment_cashout
from state.effects.curves import quadratic
from state.operations.content import Beneficiary
from state.protocol.constants import TIME_MAX
from state.protocol.errors import Refused
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, Price
from state.protocol.virtual import AuthorReward, CommentBenefactorReward, CommentPayoutUpdate, CommentReward, CurationReward
from state.tables.accounts import Account
from state.tables.content import Comment, CommentVote
from state.tables.globals import RewardFund
from tests.helpers.chains import BLOCK, NOW, add_account, add_comment, chain_at

NOTICES = (CurationReward, CommentBenefactorReward, AuthorReward, CommentReward, CommentPayoutUpdate)
QUARTER = Price(Asset(250, SBD), Asset(1000, COIN))
TRILLION = 10**12
NAMES = ("alice", "bob", "carol", "dave")  # two curators, the author, a beneficiary


def payout_chain(hardfork: int = 23, **fields: Any) -> Chain:
    """A chain on which Carol's post is due for payout. Alice and Bob have voted on it as in block-processing.md §8, E4."""
    chain = chain_at(hardfork)
    state = chain.state
    for name in NAMES:
        add_account(state, name, vesting_shares=1_000_000_000)
    state.feed_histories.modify(state.feed, current_median_history=QUARTER)
    given: dict[str, Any] = {
        "net_rshares": 4 * TRILLION,
        "abs_rshares": 4 * TRILLION,
        "vote_rshares": 4 * TRILLION,
        "total_vote_weight": 1_353_214,
    }
    comment = add_comment(state, "carol", "post", **given | {"cashout_time": NOW, "children_abs_rshares": 4 * TRILLION} | fields)
    for name, weight, rshares in (("alice", 89_259, TRILLION), ("bob", 906_919, 3 * TRILLION)):
        state.comment_votes.insert(CommentVote(voter=state.account(name).id, comment=comment.id, weight=weight, rshares=rshares))
    if hardfork >= 17:
        state.reward_funds.modify(fund(chain), reward_balance=800_000_000, recent_claims=600_000_000_000_000_000, last_update=NOW - 3)
    else:
        state.set_props(total_reward_fund_coin=800_000_000, total_reward_shares2=quadratic(4 * TRILLION) * 10)
    return chain


@pytest.fixture
def chain() -> Chain:
    return payout_chain(beneficiaries=(Beneficiary("dave", 1000),))


def fund(chain: Chain) -> RewardFund:
    return chain.state.reward_funds.by_name.find("post")


def post(chain: Chain) -> Comment:
    return chain.state.comments.by_permlink.find("carol", "post")


def earned(account: Account) -> tuple[int, int, int]:
    """Return the unclaimed rewards of an account: COIN, SBD, and the COIN value of its VESTS."""
    return account.reward_coin_balance, account.reward_sbd_balance, account.reward_vesting_coin


def liquid(account: Account) -> tuple[int, int, int]:
    return account.balance, account.sbd_balance, account.vesting_shares - 1_000_000_000


def run(chain: Chain) -> list[Any]:
    """Run the payout step and return the virtual operations that it emits."""
    notices: list[Any] = []
    chain.state.listeners.on_operation(lambda _, operation: notices.append(operation), *NOTICES)
    process_comment_cashout(chain.state, BLOCK)
    return notices


# ------------------------------------------------------------------ since hardfork 21


def test_the_worked_example(chain: Chain) -> None:
    state, supply = chain.state, chain.state.props.current_supply
    notices = run(chain)
    alice, bob, carol, dave = (state.account(name) for name in NAMES)
    assert (earned(alice), earned(bob)) == ((0, 0, 117), (0, 0, 1190))
    assert (earned(carol), earned(dave)) == ((0, 200, 801), (0, 22, 89))
    assert (alice.curation_rewards, bob.curation_rewards, carol.posting_rewards) == (117, 1190, 1601)
    comment = post(chain)
    assert (comment.total_payout_value, comment.curator_payout_value, comment.beneficiary_payout_value) == (400, 326, 44)
    assert comment.author_rewards == 1601
    assert (fund(chain).reward_balance, fund(chain).recent_claims) == (799_996_915, 600_001_277_777_777_778)
    assert fund(chain).last_update == NOW
    # 888 COIN became SBD. The COIN of the reward fund had been part of the supply.
    assert state.props.current_supply == supply - 888
    vests = [account.reward_vesting_balance for account in (bob, alice, dave, carol)]
    assert notices == [
        CurationReward("bob", Asset(vests[0], VESTS), "carol", "post"),
        CurationReward("alice", Asset(vests[1], VESTS), "carol", "post"),
        CommentBenefactorReward("dave", "carol", "post", Asset(22, SBD), Asset(0, COIN), Asset(vests[2], VESTS)),
        AuthorReward("carol", "post", Asset(200, SBD), Asset(0, COIN), Asset(vests[3], VESTS)),
        CommentReward("carol", "post", Asset(771, SBD)),
        CommentPayoutUpdate("carol", "post"),
    ]
    assert state.props.pending_rewarded_vesting_coin == 117 + 1190 + 89 + 801
    assert state.props.pending_rewarded_vesting_shares == sum(vests)


def test_a_paid_comment_is_closed(chain: Chain) -> None:
    run(chain)
    comment = post(chain)
    assert (comment.net_rshares, comment.abs_rshares, comment.vote_rshares, comment.children_abs_rshares) == (0, 0, 0, 0)
    assert (comment.total_vote_weight, comment.last_payout) == (0, NOW)
    assert (comment.cashout_time, comment.max_cashout_time) == (TIME_MAX, TIME_MAX)
    assert [vote.num_changes for vote in chain.state.comment_votes] == [0, 0]
    assert run(chain) == []


def test_comments_wait_until_they_are_due(chain: Chain) -> None:
    chain.state.comments.modify(post(chain), cashout_time=NOW + 1)
    assert run(chain) == []
    assert (post(chain).net_rshares, fund(chain).recent_claims) == (4 * TRILLION, 599_998_611_111_111_112)


@pytest.mark.parametrize("rshares", [0, -5])
def test_a_comment_without_rshares_is_only_closed(rshares: int) -> None:
    chain = payout_chain(net_rshares=rshares)
    assert run(chain) == [CommentPayoutUpdate("carol", "post")]
    assert (post(chain).net_rshares, post(chain).abs_rshares, post(chain).last_payout) == (rshares, 0, NOW)
    assert fund(chain).reward_balance == 800_000_000


def test_dust_is_not_paid() -> None:
    # The comment's share of a fund of 18000.039 COIN is 0.080 COIN, worth 0.020 SBD, which is just enough to be paid.
    chain = payout_chain()
    chain.state.reward_funds.modify(fund(chain), reward_balance=18_000_037)
    assert run(chain) == [CommentPayoutUpdate("carol", "post")]
    chain = payout_chain()
    chain.state.reward_funds.modify(fund(chain), reward_balance=18_000_039)
    assert len(run(chain)) > 1


def test_nothing_is_paid_without_a_price() -> None:
    chain = payout_chain()
    chain.state.feed_histories.modify(chain.state.feed, current_median_history=NULL_PRICE)
    assert run(chain) == [CommentPayoutUpdate("carol", "post")]


def test_max_accepted_payout_limits_the_payout() -> None:
    chain = payout_chain(max_accepted_payout=100)
    run(chain)
    assert fund(chain).reward_balance == 800_000_000 - 200 - (134 + 13)  # of 0.100 SBD, 0.400 COIN, half is curation
    assert post(chain).author_rewards == 200
    refusing = payout_chain(max_accepted_payout=0)
    assert run(refusing) == [CommentPayoutUpdate("carol", "post")]


def test_without_curation_rewards_the_author_gets_all() -> None:
    chain = payout_chain(allow_curation_rewards=False)
    run(chain)
    assert post(chain).author_rewards == 1778
    assert fund(chain).reward_balance == 800_000_000 - 1778


def test_unclaimed_curation_stays_in_the_fund() -> None:
    chain = payout_chain(total_vote_weight=0)
    run(chain)
    assert post(chain).author_rewards == 1778
    assert fund(chain).reward_balance == 800_000_000 - 1778
    # Before hardfork 20 the author received it. At hardfork 19 a quarter of the reward is for curation.
    early = payout_chain(19, total_vote_weight=0)
    run(early)
    assert post(early).author_rewards == 800_000_000 - fund(early).reward_balance > 0


def test_unprinted_sbd_is_paid_in_coin(chain: Chain) -> None:
    chain.state.set_props(sbd_print_rate=2500)
    run(chain)
    assert earned(chain.state.account("carol")) == (600, 50, 801)


def test_an_author_can_choose_vests_only() -> None:
    chain = payout_chain(percent_coin_dollars=0)
    run(chain)
    assert earned(chain.state.account("carol")) == (0, 0, 1778)


def test_a_reward_weight_makes_claims_smaller() -> None:
    chain = payout_chain(reward_weight=5000)
    run(chain)
    assert post(chain).author_rewards == 889


def test_the_treasury_gets_sbd() -> None:
    chain = payout_chain(beneficiaries=(Beneficiary("coin.dao", 1000),))
    supply = chain.state.props.current_supply
    notice = run(chain)[2]
    assert notice == CommentBenefactorReward("coin.dao", "carol", "post", Asset(44, SBD), Asset(0, COIN), Asset(0, VESTS))
    treasury = chain.state.account("coin.dao")
    assert (treasury.sbd_balance, earned(treasury)) == (44, (0, 0, 0))
    assert chain.state.props.current_supply == supply - 177 - 800


def test_comments_of_a_block_share_one_balance(chain: Chain) -> None:
    add_comment(chain.state, "alice", "other", net_rshares=4 * TRILLION, cashout_time=NOW - 1, allow_curation_rewards=False)
    notices = run(chain)
    claims = 599_998_611_111_111_112 + 2 * 2_666_666_666_666
    assert fund(chain).recent_claims == claims
    reward = 800_000_000 * 2_666_666_666_666 // claims
    assert chain.state.comments.by_permlink.find("alice", "other").author_rewards == reward - reward // 2
    assert [notice.author for notice in notices if isinstance(notice, CommentPayoutUpdate)] == ["alice", "carol"]


def test_a_fund_without_claims_is_an_error() -> None:
    chain = payout_chain(net_rshares=1)
    chain.state.reward_funds.modify(fund(chain), recent_claims=0)
    before = state_digest(chain.state)
    with pytest.raises(Refused, match="total_reward_shares2 > 0"):
        process_comment_cashout(chain.state, BLOCK)
    assert state_digest(chain.state) == before


def test_claims_decay() -> None:
    # block-processing.md §8, E11.
    chain = payout_chain()
    chain.state.reward_funds.modify(fund(chain), recent_claims=503_600_561_838_938_636)
    assert decayed(chain.state, fund(chain)) == 503_599_396_096_897_343
    # After more than the decay period the claims wrap below zero, and so does their product.
    chain.state.reward_funds.modify(fund(chain), recent_claims=1_296_000, last_update=NOW - 1_296_001)
    assert decayed(chain.state, fund(chain)) == 2**128 - 1
    chain.state.reward_funds.modify(fund(chain), recent_claims=2**128 - 1, last_update=NOW - 3)
    assert decayed(chain.state, fund(chain)) == 2**128 - 1 - (2**128 - 3) // 1_296_000
    early = payout_chain(18)
    early.state.reward_funds.modify(fund(early), recent_claims=2_592_000, last_update=NOW - 3)
    assert decayed(early.state, fund(early)) == 2_592_000 - 3


# ------------------------------------------------------------------ before


def test_beneficiaries_before_hardfork_20_got_vests() -> None:
    chain = payout_chain(19, beneficiaries=(Beneficiary("dave", 1000),))
    run(chain)
    coin, sbd, vesting = earned(chain.state.account("dave"))
    assert (coin, sbd) == (0, 0)
    assert vesting > 0


def test_discussions_were_paid_as_a_whole() -> None:
    chain = payout_chain(16)
    state = chain.state
    child = add_comment(state, "alice", "re", post(chain), net_rshares=TRILLION, cashout_time=TIME_MAX)
    claims = state.props.total_reward_shares2
    notices = run(chain)
    assert [notice.permlink for notice in notices if isinstance(notice, CommentReward)] == ["post", "re"]
    # The root receives a tenth of the fund. The reply receives its share of the rest, in proportion to the remaining claims.
    tenth, left = 80_000_000, 720_000_000
    assert post(chain).author_rewards + state.account("alice").curation_rewards + state.account("bob").curation_rewards == tenth
    reward = left * quadratic(TRILLION) // (claims - quadratic(4 * TRILLION))
    assert child.author_rewards == reward  # a quarter was for curators, whom nobody was
    assert state.props.total_reward_fund_coin == left - reward
    assert state.props.total_reward_shares2 == claims - quadratic(4 * TRILLION) - quadratic(TRILLION)
    assert (post(chain).cashout_time, child.cashout_time) == (NOW + 259200, TIME_MAX)
    assert [vote.num_changes for vote in state.comment_votes] == [-1, -1]


def test_rewards_before_hardfork_17_were_liquid() -> None:
    chain = payout_chain(16)
    run(chain)
    carol, alice = chain.state.account("carol"), chain.state.account("alice")
    coin, sbd, vests = liquid(carol)
    assert coin == 0
    assert sbd > 0
    assert vests > 0
    assert liquid(alice)[2] > 0
    assert (earned(carol), earned(alice)) == ((0, 0, 0), (0, 0, 0))


def test_the_second_payout_is_the_last() -> None:
    chain = payout_chain(16, last_payout=1)
    run(chain)
    assert post(chain).cashout_time == TIME_MAX
    assert [vote.num_changes for vote in chain.state.comment_votes] == [0, 0]


def test_before_hardfork_12_there_was_one_payout() -> None:
    chain = payout_chain(11)
    run(chain)
    assert post(chain).cashout_time == TIME_MAX
    assert [vote.num_changes for vote in chain.state.comment_votes] == [-1, -1]


@pytest.mark.parametrize(("hardfork", "percent"), [(8, 2500), (7, 5000)])
def test_the_curators_share(hardfork: int, percent: int) -> None:
    chain = payout_chain(hardfork)
    run(chain)
    curation = 80_000_000 * percent // 10000
    assert chain.state.account("bob").curation_rewards == curation * 906_919 // 1_353_214


def test_nothing_was_paid_before_hardfork_7() -> None:
    chain = payout_chain(6)
    before = state_digest(chain.state)
    assert run(chain) == []
    assert state_digest(chain.state) == before
