"""Votes on comments since hardfork 20: their cost, their effects and their refusals."""

from typing import Any

import pytest

from state.chain.chain import Chain
from state.operations.content import Vote
from state.protocol.constants import TIME_MAX
from state.protocol.errors import UnknownKey
from state.tables.accounts import Account
from state.tables.content import Comment, CommentVote
from tests.helpers.chains import NEWEST, NOW, add_account, add_comment, apply, chain_at, move_to, refused

UNKNOWN = UnknownKey().message()
NO_MANA = "Account does not have enough mana to vote."
TRILLION = 10**12


def vote_chain(hardfork: int = NEWEST, **fields: Any) -> Chain:
    """A chain with Alice, whose manabars are full at 10¹², and with a post by Bob that is five minutes old and has a reply."""
    chain = chain_at(hardfork)
    add_account(chain.state, "alice", vesting_shares=TRILLION)
    add_account(chain.state, "bob")
    root = add_comment(chain.state, "bob", "b", **{"created": NOW - 300} | fields)
    add_comment(chain.state, "bob", "re", root, created=NOW - 300)
    return chain


@pytest.fixture
def chain() -> Chain:
    return vote_chain()


def vote(weight: int = 10000, permlink: str = "b") -> Vote:
    return Vote("alice", "bob", permlink, weight)


def alice(chain: Chain) -> Account:
    return chain.state.account("alice")


def comment(chain: Chain, permlink: str = "b") -> Comment:
    return chain.state.comments.by_permlink.find("bob", permlink)


def cast(chain: Chain, permlink: str = "b") -> CommentVote:
    return chain.state.comment_votes.by_comment_voter.find(comment(chain, permlink).id, alice(chain).id)


def rshares(row: Comment) -> tuple[int, int, int, int, int]:
    return row.net_rshares, row.abs_rshares, row.vote_rshares, row.children_abs_rshares, row.net_votes


def set_bars(chain: Chain, voting: int, downvote: int) -> None:
    """Set the manabars of Alice, as of the head block's time."""
    chain.state.accounts.modify(alice(chain), voting_mana=voting, voting_mana_time=NOW, downvote_mana=downvote, downvote_mana_time=NOW)


# ------------------------------------------------------------------ new votes


def test_an_upvote(chain: Chain) -> None:
    # block-processing.md §8, E3: a vote at full weight by an account with 10^12 mana.
    apply(chain, vote())
    assert rshares(comment(chain)) == (19_950_000_000, 19_950_000_000, 19_950_000_000, 19_950_000_000, 1)
    voter = alice(chain)
    assert (voter.voting_mana, voter.downvote_mana) == (980_000_000_000, 250_000_000_000)
    assert (voter.voting_mana_time, voter.downvote_mana_time, voter.last_vote_time) == (NOW, NOW, NOW)
    row = cast(chain)
    # 19950000000 // asqrt(19950000000 + 4 * 10**12)
    assert (row.rshares, row.vote_percent, row.last_update, row.num_changes, row.weight) == (19_950_000_000, 10000, NOW, 0, 9940)
    assert comment(chain).total_vote_weight == 9940


def test_a_vote_on_a_reply_counts_on_the_root(chain: Chain) -> None:
    apply(chain, vote(2500, "re"))
    assert rshares(comment(chain, "re")) == (4_950_000_000, 4_950_000_000, 4_950_000_000, 0, 1)
    assert rshares(comment(chain)) == (0, 0, 0, 4_950_000_000, 0)


@pytest.mark.parametrize(
    ("mana", "weight", "expected"),
    [(TRILLION, 2500, 4_950_000_000), (1_234_567_890_123, 10000, 24_641_357_803)],
)
def test_rshares_of_a_vote(mana: int, weight: int, expected: int) -> None:
    chain = vote_chain()
    chain.state.accounts.modify(alice(chain), vesting_shares=mana)
    apply(chain, vote(weight))
    assert comment(chain).net_rshares == expected


def test_a_vote_shortly_before_the_payout(chain: Chain) -> None:
    chain.state.comments.modify(comment(chain), cashout_time=NOW + 150)
    apply(chain, vote())
    assert comment(chain).net_rshares == 19_950_000_000 // 2


def test_an_early_vote_loses_a_part_that_stays_in_the_total(chain: Chain) -> None:
    chain.state.comments.modify(comment(chain), created=NOW - 60)
    apply(chain, vote())
    assert (cast(chain).weight, comment(chain).total_vote_weight) == (9940 * 60 // 300, 9940)


@pytest.mark.parametrize("fields", [{"last_payout": 1}, {"allow_curation_rewards": False}])
def test_votes_without_a_weight(fields: dict[str, Any]) -> None:
    chain = vote_chain(**fields)
    apply(chain, vote())
    assert (cast(chain).weight, comment(chain).total_vote_weight) == (0, 0)


def test_no_weight_without_curation(chain: Chain) -> None:
    fund = chain.state.reward_funds.by_name.find("post")
    chain.state.reward_funds.modify(fund, percent_curation_rewards=0)
    apply(chain, vote())
    assert cast(chain).weight == 0


def test_dust_counts_against_the_comment(chain: Chain) -> None:
    apply(chain, vote(1))
    assert rshares(comment(chain)) == (0, 0, 0, 0, -1)
    assert alice(chain).voting_mana == TRILLION - 2_000_000


def test_a_downvote_empties_its_own_bar_first(chain: Chain) -> None:
    apply(chain, vote(-10000))
    assert rshares(comment(chain)) == (-19_950_000_000, 19_950_000_000, 0, 19_950_000_000, -1)
    assert (alice(chain).voting_mana, alice(chain).downvote_mana) == (TRILLION, 230_000_000_000)
    set_bars(chain, TRILLION, 5_000_000_000)
    chain.state.accounts.modify(alice(chain), last_vote_time=0)
    apply(chain, vote(-10000, "re"))
    assert (alice(chain).voting_mana, alice(chain).downvote_mana) == (985_000_000_000, 0)


def test_downvotes_without_a_pool(chain: Chain) -> None:
    chain.state.set_props(downvote_pool_percent=0)
    apply(chain, vote(-10000))
    assert (alice(chain).voting_mana, alice(chain).downvote_mana) == (980_000_000_000, 0)


def test_a_pool_whose_product_wraps_under_hardfork_21() -> None:
    # 10**15 * 10000 exceeds 64 bits. The wrapped product is negative, so converted to unsigned 128 bits it makes the vote far too
    # expensive.
    for hardfork, is_refused in ((21, True), (22, False)):
        chain = vote_chain(hardfork)
        chain.state.accounts.modify(alice(chain), vesting_shares=4 * 10**15)
        chain.state.set_props(downvote_pool_percent=2500, head_block_number=40_000_000)
        set_bars(chain, 10**15, 10**15)
        if is_refused:
            assert "used_mana.to_int64()" in refused(chain, vote(-10000))
        else:
            apply(chain, vote(-10000))


# ------------------------------------------------------------------ changed votes


def test_changing_a_vote(chain: Chain) -> None:
    apply(chain, vote())
    move_to(chain.state, NOW + 3)
    apply(chain, vote(-10000))
    row = cast(chain)
    assert (row.rshares, row.vote_percent, row.weight, row.num_changes, row.last_update) == (-19_950_000_000, -10000, 0, 1, NOW + 3)
    # vote_rshares still counts what the upvote changed.
    assert rshares(comment(chain)) == (-19_950_000_000, 39_900_000_000, 19_950_000_000, 39_900_000_000, -1)
    assert comment(chain).total_vote_weight == 0
    move_to(chain.state, NOW + 6)
    apply(chain, vote(0))
    assert rshares(comment(chain)) == (0, 39_900_000_000, 19_950_000_000, 39_900_000_000, 0)


def test_a_changed_early_vote_keeps_its_loss(chain: Chain) -> None:
    chain.state.comments.modify(comment(chain), created=NOW - 60)
    apply(chain, vote())
    move_to(chain.state, NOW + 3)
    apply(chain, vote(5000))
    assert comment(chain).total_vote_weight == 9940 - 1988


def test_changing_is_limited(chain: Chain) -> None:
    apply(chain, vote())
    move_to(chain.state, NOW + 3)
    assert "Your current vote on this comment is identical to this vote." in refused(chain, vote())
    chain.state.comment_votes.modify(cast(chain), num_changes=4)
    apply(chain, vote(1))
    move_to(chain.state, NOW + 6)
    assert "Voter has used the maximum number of vote changes on this comment." in refused(chain, vote())


# ------------------------------------------------------------------ refusals


def test_vote_refusals(chain: Chain) -> None:
    assert refused(chain, vote(permlink="none")) == UNKNOWN
    assert refused(chain, Vote("carol", "bob", "b", 1)) == UNKNOWN
    assert "Vote weight cannot be 0." in refused(chain, vote(0))
    chain.state.comments.modify(comment(chain), allow_votes=False)
    assert "Votes are not allowed on the comment." in refused(chain, vote())
    apply(chain, vote(-1))
    assert "Can only vote once every 3 seconds." in refused(chain, vote(-1, "re"))
    chain.state.accounts.modify(alice(chain), can_vote=False)
    assert "Voter has declined their voting rights." in refused(chain, vote(-1, "re"))


def test_votes_around_the_payout(chain: Chain) -> None:
    chain.state.comments.modify(comment(chain), cashout_time=NOW)
    assert "Comment is actively being rewarded. Cannot vote on comment." in refused(chain, vote())
    chain.state.comments.modify(comment(chain), cashout_time=NOW + 1)
    chain.state.comment_votes.insert(CommentVote(voter=alice(chain).id, comment=comment(chain).id, num_changes=-1))
    assert "Cannot vote again on a comment after payout." in refused(chain, vote())


def test_votes_on_archived_comments_are_remembered(chain: Chain) -> None:
    chain.state.comments.modify(comment(chain), cashout_time=TIME_MAX)
    apply(chain, vote(0))
    row = cast(chain)
    assert (row.vote_percent, row.rshares, row.weight, row.last_update, row.num_changes) == (0, 0, 0, NOW, 0)
    apply(chain, vote(-5))
    assert (row.vote_percent, row.num_changes) == (-5, 0)
    assert (alice(chain).last_vote_time, rshares(comment(chain))) == (0, (0, 0, 0, 0, 0))


def test_votes_without_mana(chain: Chain) -> None:
    state = chain.state
    # An account that has delegated its VESTS keeps its mana, but a negative manabar size is refused.
    state.accounts.modify(alice(chain), delegated_vesting_shares=TRILLION + 1)
    assert "max_mana >= 0" in refused(chain, vote())
    state.accounts.modify(alice(chain), delegated_vesting_shares=0)
    set_bars(chain, -1, 0)
    assert NO_MANA in refused(chain, vote())
    set_bars(chain, 0, 0)
    text = refused(chain, vote(-10000))
    assert "Account does not have enough mana to downvote. voting_mana: 0 downvote_mana: 0 required_mana: 0" in text
    apply(chain, vote())
    assert rshares(comment(chain)) == (0, 0, 0, 0, -1)


def test_a_vote_that_costs_more_than_the_mana(chain: Chain) -> None:
    chain.state.set_props(vote_power_reserve_rate=1)
    set_bars(chain, 1, 0)
    apply(chain, vote())
    chain.state.accounts.modify(alice(chain), last_vote_time=0)
    set_bars(chain, 1, 10**8)
    chain.state.set_props(downvote_pool_percent=1)
    text = refused(chain, vote(-10000, "re"))
    assert "enough mana to downvote. voting_mana: 1 downvote_mana: 100000000 required_mana: 200000000000" in text


# ------------------------------------------------------------------ hardfork 20


def test_hardfork_20_had_one_bar_and_a_longer_window() -> None:
    chain = vote_chain(20)
    apply(chain, vote(-10000))
    assert (alice(chain).voting_mana, alice(chain).downvote_mana, alice(chain).downvote_mana_time) == (980_000_000_000, 0, 0)
    chain = vote_chain(20)
    apply(chain, vote())
    full = comment(chain).total_vote_weight
    assert (full, cast(chain).weight) == (141_639, 141_639 * 300 // 900)  # asqrt(19950000000)


def test_hardfork_20_refused_voters_without_mana() -> None:
    chain = vote_chain(20)
    set_bars(chain, 0, 0)
    assert NO_MANA in refused(chain, vote())
