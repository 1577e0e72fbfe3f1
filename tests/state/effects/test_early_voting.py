"""Votes on comments before hardfork 20: voting power as a percentage, and votes that postpone payouts."""

from typing import Any

import pytest

from state.chain.chain import Chain
from state.effects.curves import SQUARE_ROOT, curve_value, quadratic
from state.protocol.constants import TIME_MAX
from state.protocol.errors import UnknownKey
from state.protocol.spec import ChainSpec
from state.tables.content import CommentVote
from tests.helpers.chains import MAIN_SPEC, NOW, TEST_SPEC, add_account, add_comment, apply, chain_at, move_to, refused
from tests.state.effects.test_voting import alice, cast, comment, vote

FIRST_DAYS = 1_466_776_800  # on the main chain, comments before this are weighed by the cubes of their rshares
SMALL = "Voting weight is too small, please accumulate more voting power or coin power."


def vote_chain(hardfork: int, spec: ChainSpec = TEST_SPEC, **fields: Any) -> Chain:
    """A chain on which Alice has full voting power and 10¹³ VESTS. Bob's post, with a reply, is an hour old and will be paid in an hour."""
    chain = chain_at(hardfork, spec)
    add_account(chain.state, "alice", vesting_shares=10**13, voting_mana=10000, voting_mana_time=NOW)
    add_account(chain.state, "bob")
    root = add_comment(chain.state, "bob", "b", **{"created": NOW - 3600} | fields)
    add_comment(chain.state, "bob", "re", root, created=NOW - 3600, cashout_time=TIME_MAX if hardfork < 17 else NOW + 3600)
    move_to(chain.state, NOW + 3)
    return chain


def note(chain: Chain, **fields: Any) -> CommentVote:
    return chain.state.comment_votes.insert(CommentVote(voter=alice(chain).id, comment=comment(chain).id, **fields))


# ------------------------------------------------------------------ power


@pytest.mark.parametrize(
    ("hardfork", "left", "rshares"),
    # An account has 40 votes a day, and 10 since hardfork 19. The cost is rounded up since hardfork 14, and was increased by one before.
    [
        (19, 9800, 10**13 * 200 // 10000),
        (18, 9950, 10**13 * 50 // 10000),
        (14, 9950, 10**13 * 50 // 10000),
        (13, 9949, 10**13 * 51 // 10000),
    ],
)
def test_the_cost_of_a_vote(hardfork: int, left: int, rshares: int) -> None:
    chain = vote_chain(hardfork)
    apply(chain, vote())
    voter, row = alice(chain), comment(chain)
    assert (voter.voting_mana, voter.voting_mana_time, voter.last_vote_time) == (left, NOW + 3, NOW + 3)
    assert (row.net_rshares, row.abs_rshares, row.vote_rshares, row.children_abs_rshares, row.net_votes) == (*[rshares] * 4, 1)


def test_power_regenerates_in_five_days() -> None:
    chain = vote_chain(19)
    chain.state.accounts.modify(alice(chain), voting_mana=1000, voting_mana_time=NOW + 3 - 43200)
    apply(chain, vote(0x1388))
    assert alice(chain).voting_mana == 2000 - 20


def test_delegated_vests_count() -> None:
    chain = vote_chain(19)
    chain.state.accounts.modify(alice(chain), delegated_vesting_shares=10**12, received_vesting_shares=10**13)
    apply(chain, vote())
    assert comment(chain).net_rshares == 19 * 10**12 * 200 // 10000


def test_power_refusals() -> None:
    chain = vote_chain(11)
    chain.state.accounts.modify(alice(chain), voting_mana_time=NOW + 1)
    assert "Can only vote once every 3 seconds." in refused(chain, vote())
    apply(vote_chain(10), vote())
    chain.state.accounts.modify(alice(chain), voting_mana=0, voting_mana_time=NOW)
    assert "Account currently does not have voting power." in refused(chain, vote())


@pytest.mark.parametrize(("hardfork", "vests", "fine"), [(14, 10**10, False), (13, 9 * 10**9, False), (13, 0, True), (12, 9 * 10**9, True)])
def test_small_votes(hardfork: int, vests: int, fine: bool) -> None:
    chain = vote_chain(hardfork)
    chain.state.accounts.modify(alice(chain), vesting_shares=vests)
    if fine:
        apply(chain, vote())
        assert comment(chain).net_rshares == (vests * 51 // 10000 or 1)
    else:
        assert SMALL in refused(chain, vote())


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("hardfork", [19, 12])
def test_vote_refusals(hardfork: int) -> None:
    chain = vote_chain(hardfork)
    assert refused(chain, vote(permlink="none")) == UnknownKey().message()
    assert "Vote weight cannot be 0." in refused(chain, vote(0))
    chain.state.comments.modify(comment(chain), allow_votes=False)
    assert "Votes are not allowed on the comment." in refused(chain, vote())
    old = note(chain, num_changes=-1)
    assert "Cannot vote again on a comment after payout." in refused(chain, vote(-1 if hardfork == 12 else -10000))
    chain.state.comment_votes.modify(old, num_changes=5, rshares=TIME_MAX)
    assert "Voter has used the maximum number of vote changes on this comment." in refused(chain, vote(-10000))
    chain.state.comment_votes.modify(old, num_changes=0, vote_percent=-10000)
    assert "You have already voted in a similar way." in refused(chain, vote(-10000))
    chain.state.accounts.modify(alice(chain), can_vote=False)
    assert "Voter has declined their voting rights." in refused(chain, vote(-10000))


def test_taking_a_vote_back() -> None:
    chain = vote_chain(19)
    note(chain, rshares=-5, vote_percent=-5)
    chain.state.comments.modify(comment(chain), net_rshares=-5, abs_rshares=5, net_votes=-1)
    apply(chain, vote(0))
    assert (comment(chain).net_rshares, comment(chain).net_votes, cast(chain).num_changes) == (0, 0, 1)


def test_votes_before_hardfork_12_make_room_for_new_ones() -> None:
    chain = vote_chain(11)
    old = note(chain, num_changes=-1, rshares=7)
    apply(chain, vote())
    assert cast(chain).id == old.id + 1
    assert cast(chain).num_changes == 0


@pytest.mark.parametrize(("hardfork", "text", "margin"), [(17, "last twelve hours", 300), (16, "last minute", 60), (7, "last minute", 60)])
def test_payouts_cannot_be_raised_at_the_last_moment(hardfork: int, text: str, margin: int) -> None:
    chain = vote_chain(hardfork)
    root = comment(chain)
    permlink = "b" if hardfork == 17 else "re"
    chain.state.comments.modify(root, cashout_time=NOW + 3 + margin)
    assert f"Cannot increase payout within {text} before payout." in refused(chain, vote(10000, permlink))
    apply(chain, vote(-10000, permlink))
    move_to(chain.state, NOW + 6)
    chain.state.comments.modify(root, cashout_time=NOW + 6 + margin)
    assert f"Cannot increase payout within {text} before payout." in refused(chain, vote(-5000, permlink))
    chain.state.comments.modify(root, cashout_time=NOW + 7 + margin)
    apply(chain, vote(-5000, permlink))


def test_payouts_before_hardfork_7_could() -> None:
    chain = vote_chain(6, cashout_time=NOW + 4)
    apply(chain, vote())
    assert cast(chain).num_changes == 0


def test_the_same_vote_before_hardfork_6_was_a_change() -> None:
    chain = vote_chain(5)
    apply(chain, vote())
    move_to(chain.state, NOW + 6)
    apply(chain, vote())
    assert cast(chain).num_changes == 1


def test_net_votes_before_hardfork_6() -> None:
    chain = vote_chain(5, net_votes=7)
    assert "Comment has negative net votes?" in refused(chain, vote(-10000))
    later = vote_chain(6, net_votes=7)
    apply(later, vote(-10000))
    assert comment(later).net_votes == 6


# ------------------------------------------------------------------ effects of a vote


def test_archived_discussions() -> None:
    chain = vote_chain(16, cashout_time=TIME_MAX)
    apply(chain, vote(1, "re"))
    assert (cast(chain, "re").vote_percent, cast(chain, "re").rshares) == (1, 0)
    # Before hardfork 12 such a vote counted, and set the discussion's payout time.
    early = vote_chain(11, cashout_time=TIME_MAX)
    apply(early, vote(10000, "re"))
    assert comment(early).cashout_time == NOW + 3 + 3600
    assert comment(early).max_cashout_time == NOW + 3 + 86400


@pytest.mark.parametrize(("hardfork", "spec", "window"), [(12, MAIN_SPEC, 43200), (13, MAIN_SPEC, 86400), (11, MAIN_SPEC, 86400)])
def test_votes_postpone_the_payout(hardfork: int, spec: ChainSpec, window: int) -> None:
    chain = vote_chain(hardfork, spec, children_abs_rshares=10**11)
    apply(chain, vote(10000, "re"))
    size = 10**13 * 51 // 10000
    root = comment(chain)
    assert root.cashout_time == ((NOW + 3600) * 10**11 + (NOW + 3 + window) * size) // (10**11 + size)
    assert (root.max_cashout_time, root.children_abs_rshares) == (NOW + 3 + 1209600, 10**11 + size)
    chain.state.comments.modify(root, max_cashout_time=NOW + 10)
    move_to(chain.state, NOW + 6)
    apply(chain, vote())
    assert root.cashout_time == NOW + 10


def test_the_second_payout_is_not_postponed() -> None:
    for hardfork, expected in ((12, NOW - 9 + 259200), (11, NOW + 3 + 3600)):
        chain = vote_chain(hardfork, last_payout=NOW - 9, cashout_time=NOW + 5000)
        apply(chain, vote())
        assert (comment(chain).cashout_time, cast(chain).weight) == (expected, 0)


def test_taking_a_vote_back_leaves_the_payout_time() -> None:
    chain = vote_chain(14, cashout_time=NOW + 5000)
    note(chain, rshares=-5, vote_percent=-5)
    apply(chain, vote(0))
    assert comment(chain).cashout_time == NOW + 5000


def test_before_hardfork_17_claims_are_in_the_global_properties() -> None:
    chain = vote_chain(16)
    apply(chain, vote())
    assert chain.state.props.total_reward_shares2 == quadratic(10**13 * 50 // 10000)
    move_to(chain.state, NOW + 6)
    apply(chain, vote(-10000))
    assert chain.state.props.total_reward_shares2 == 0
    later = vote_chain(17)
    apply(later, vote())
    assert later.state.props.total_reward_shares2 == 0


# ------------------------------------------------------------------ weights


def test_early_weights_are_bounded() -> None:
    chain = vote_chain(16)
    size = 10**13 * 50 // 10000
    apply(chain, vote())
    full = (2**64 - 1) * size // (4 * 10**12 + size)
    assert (cast(chain).weight, comment(chain).total_vote_weight) == (full, full)
    young = vote_chain(16, created=NOW - 897)
    apply(young, vote())
    assert cast(young).weight == full * 900 // 1800


def test_weights_of_the_first_days() -> None:
    for hardfork, split in ((16, 1), (0, 10**6)):
        chain = vote_chain(hardfork, MAIN_SPEC, created=FIRST_DAYS - 1, abs_rshares=10**10, vote_rshares=10**10)
        if split > 1:
            chain.state.accounts.modify(alice(chain), vesting_shares=10**7)
            chain.state.comments.modify(comment(chain), abs_rshares=10**4, vote_rshares=10**4)
        apply(chain, vote())
        row = cast(chain)
        assert row.weight == (row.rshares * split) ** 3 // (comment(chain).abs_rshares * split) ** 2


def test_weights_before_the_split() -> None:
    chain = vote_chain(0)
    chain.state.accounts.modify(alice(chain), vesting_shares=10**7)
    apply(chain, vote())
    scaled = 10**7 * 51 // 10000 * 10**6
    assert cast(chain).weight == (2**64 - 1) * scaled // (4 * 10**12 + scaled)


def test_comments_that_hardfork_19_was_going_to_pay() -> None:
    size = 10**13 * 50 // 10000
    new = vote_chain(18)
    apply(new, vote())
    assert cast(new).weight == curve_value(SQUARE_ROOT, size, 0)
    old = vote_chain(18, created=TEST_SPEC.constants.SQUARE_ROOT_START_TIME)
    apply(old, vote())
    assert cast(old).weight == (size << 64) // (4 * 10**12 + size)


def test_no_weight_without_curation() -> None:
    chain = vote_chain(17)
    chain.state.reward_funds.modify(chain.state.reward_funds.by_name.find("post"), percent_curation_rewards=0)
    apply(chain, vote())
    assert cast(chain).weight == 0
    other = vote_chain(17, allow_curation_rewards=False)
    apply(other, vote())
    assert cast(other).weight == 0
