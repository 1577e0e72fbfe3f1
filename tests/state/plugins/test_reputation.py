"""Plugin reputation: recorded reputations, who counts for whom, votes that are changed, undo."""

from itertools import islice

import pytest

from state.chain.chain import Chain
from state.operations.content import Vote
from state.plugins import reputation
from state.plugins.follow.lists import known_reputations
from state.plugins.reputation import REPUTATION, Reputation, Reputations, account_reputations, reputation_of
from state.protocol.constants import TIME_MAX
from state.tables import State
from state.tables.content import CommentVote
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.chains import add_account, add_comment, chain_at
from tests.helpers.snapshots import blocks_that_change

UNIT = 1 << reputation.NOISE_BITS


def kept(state: State) -> Reputations:
    """The table of the plugin."""
    table = known_reputations(state)
    assert table is not None
    return table


def chain_with_post() -> Chain:
    """A chain with this plugin, three accounts, and a post of `amy`."""
    chain = chain_at(plugins=[REPUTATION.name])
    for name in ("amy", "bob", "cid"):
        add_account(chain.state, name)
    add_comment(chain.state, "amy", "post")
    return chain


def have(state: State, **reputations: int) -> None:
    """Give accounts reputations."""
    for account, number in reputations.items():
        kept(state).insert(Reputation(account=account, reputation=number))


def vote(state: State, voter: str, rshares: int) -> None:
    """A vote with this outcome on the post, told to the plugin as the chain does."""
    operation = Vote(voter=voter, author="amy", permlink="post")
    for listener in state.listeners.before_operation[Vote]:
        listener(state, operation)
    voter_id, comment_id = state.account(voter).id, next(iter(state.comments)).id
    row = state.comment_votes.by_comment_voter.get(comment_id, voter_id)
    if row is None:
        state.comment_votes.insert(CommentVote(voter=voter_id, comment=comment_id, rshares=rshares))
    else:
        state.comment_votes.modify(row, rshares=rshares)
    for listener in state.listeners.after_operation[Vote]:
        listener(state, operation)


def reputations(state: State) -> dict[str, int]:
    """All rows."""
    return {row.account: row.reputation for row in kept(state)}


def test_answers_are_the_recorded_ones() -> None:
    player = Player(CASES / "reputations")
    asked = 0
    for event in player.events():
        player.advance(event["height"])
        if "trx" in event:
            assert player.broadcast(event) is None
        elif event["method"] == "reputation_api.get_account_reputations" and "result" in event:
            state, params = player.chain.state, event["params"]
            found = account_reputations(state, kept(state), params.get("account_lower_bound", ""), int(params.get("limit", 1000)))
            assert list(found) == [(row["account"], int(row["reputation"])) for row in event["result"]["reputations"]]
            asked += 1
    assert asked == 31


def test_undone_and_applied_again_it_is_the_same() -> None:
    player = Player(CASES / "reputations")
    state = player.chain.state
    assert blocks_that_change(player, lambda: reputations(state)) > 10
    kept(state).check()


def test_votes_count_without_their_last_bits() -> None:
    state = chain_with_post().state
    vote(state, "bob", 5 * UNIT + 63)
    assert reputations(state) == {"amy": 5}
    vote(state, "cid", 2 * UNIT)
    assert reputations(state) == {"amy": 7}
    assert (reputation_of(kept(state), "amy"), reputation_of(kept(state), "nobody")) == (7, 0)


def test_negative_shares_are_rounded_down() -> None:
    state = chain_with_post().state
    have(state, bob=100)
    vote(state, "bob", -UNIT - 1)
    assert reputations(state)["amy"] == -2


def test_a_vote_that_is_changed_counts_anew() -> None:
    state = chain_with_post().state
    have(state, amy=10)
    vote(state, "bob", 5 * UNIT)
    vote(state, "bob", 3 * UNIT)
    assert reputations(state) == {"amy": 13}


def test_a_reputation_that_would_be_0_again_goes() -> None:
    state = chain_with_post().state
    vote(state, "bob", 5 * UNIT)
    vote(state, "bob", 0)
    assert reputations(state) == {"amy": 0}, "taken away, and made anew by the vote of nothing"


@pytest.mark.parametrize(
    ("own", "author", "shares", "after"),
    [
        (-1, 10, 5, 10),  # A bad reputation counts for nobody,
        (-1, 10, -5, 10),  # and against nobody.
        (10, 10, -5, 10),  # Against somebody counts only who has a better one,
        (11, 10, -5, 5),
        (None, 10, -5, 10),  # so one without any doesn't,
        (None, -10, -5, -10),  # even against a bad one;
        (0, -10, -5, -15),
        (1, None, -5, -5),  # none is 0 here.
        (0, None, -5, None),
        (None, None, 5, 5),
    ],
)
def test_who_counts(own: int | None, author: int | None, shares: int, after: int | None) -> None:
    state = chain_with_post().state
    if own is not None:
        have(state, bob=own)
    if author is not None:
        have(state, amy=author)
    vote(state, "bob", shares * UNIT)
    assert reputations(state).get("amy") == after


@pytest.mark.parametrize(
    ("own", "author", "old", "after"),
    [
        (-1, 10, 5, 10),  # Who has fallen since can't take back,
        (7, 1, -5, 6),  # who is better than the author would be without the vote can,
        (6, 1, -5, 1),  # who isn't can't,
        (None, -5, -5, -5),
        (None, 10, 5, 5),  # a vote for somebody can always be taken back.
    ],
)
def test_taking_back(own: int | None, author: int, old: int, after: int) -> None:
    state = chain_with_post().state
    vote(state, "bob", 0)
    state.comment_votes.modify(next(iter(state.comment_votes)), rshares=old * UNIT)
    for row in list(kept(state)):
        kept(state).remove(row)
    have(state, amy=author, **({} if own is None else {"bob": own}))
    reputation.take_back(state, kept(state), Vote(voter="bob", author="amy", permlink="post"))
    assert reputation_of(kept(state), "amy") == after


def test_votes_on_what_is_paid_or_gone_do_nothing() -> None:
    state = chain_with_post().state
    state.comments.modify(next(iter(state.comments)), cashout_time=TIME_MAX)
    vote(state, "bob", 5 * UNIT)
    reputation.count(state, kept(state), Vote(voter="bob", author="amy", permlink="gone"))
    assert reputations(state) == {}


def test_all_accounts_are_listed_by_name() -> None:
    state = chain_with_post().state
    vote(state, "bob", 5 * UNIT)
    assert list(account_reputations(state, kept(state), "al", 2)) == [("amy", 5), ("bob", 0)]
    assert len(list(islice(account_reputations(state, kept(state), "", 1000), 1000))) == len(state.accounts)
