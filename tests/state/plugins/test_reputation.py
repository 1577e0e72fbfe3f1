"""The plugin reputation: which votes change a reputation, and the effect of a changed vote."""

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
from tests.helpers.chains import add_account, add_comment, chain_at

UNIT = 1 << reputation.NOISE_BITS


def table_of(state: State) -> Reputations:
    """Return the plugin's table."""
    table = known_reputations(state)
    assert table is not None
    return table


def chain_with_post() -> Chain:
    """A chain with this plugin, three accounts and a post of `amy`."""
    chain = chain_at(plugins=[REPUTATION.name])
    for name in ("amy", "bob", "cid"):
        add_account(chain.state, name)
    add_comment(chain.state, "amy", "post")
    return chain


def have(state: State, **reputations: int) -> None:
    for account, number in reputations.items():
        table_of(state).insert(Reputation(account=account, reputation=number))


def vote(state: State, voter: str, rshares: int) -> None:
    """Cast a vote with these rshares on the post, and pass it to the plugin as the chain does."""
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
    """Return all reputations by account name."""
    return {row.account: row.reputation for row in table_of(state)}


def test_votes_count_without_their_last_bits() -> None:
    state = chain_with_post().state
    vote(state, "bob", 5 * UNIT + 63)
    assert reputations(state) == {"amy": 5}
    vote(state, "cid", 2 * UNIT)
    assert reputations(state) == {"amy": 7}
    assert (reputation_of(table_of(state), "amy"), reputation_of(table_of(state), "nobody")) == (7, 0)


def test_negative_shares_are_rounded_down() -> None:
    state = chain_with_post().state
    have(state, bob=100)
    vote(state, "bob", -UNIT - 1)
    assert reputations(state)["amy"] == -2


def test_a_changed_vote_replaces_the_old_one() -> None:
    state = chain_with_post().state
    have(state, amy=10)
    vote(state, "bob", 5 * UNIT)
    vote(state, "bob", 3 * UNIT)
    assert reputations(state) == {"amy": 13}


def test_a_reputation_back_at_0_is_removed() -> None:
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
def test_votes_that_count(own: int | None, author: int | None, shares: int, after: int | None) -> None:
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
    for row in list(table_of(state)):
        table_of(state).remove(row)
    have(state, amy=author, **({} if own is None else {"bob": own}))
    reputation.take_back(state, table_of(state), Vote(voter="bob", author="amy", permlink="post"))
    assert reputation_of(table_of(state), "amy") == after


def test_votes_on_paid_or_deleted_posts_do_nothing() -> None:
    state = chain_with_post().state
    state.comments.modify(next(iter(state.comments)), cashout_time=TIME_MAX)
    vote(state, "bob", 5 * UNIT)
    reputation.count(state, table_of(state), Vote(voter="bob", author="amy", permlink="gone"))
    assert reputations(state) == {}


def test_all_accounts_are_listed_by_name() -> None:
    state = chain_with_post().state
    vote(state, "bob", 5 * UNIT)
    assert list(account_reputations(state, table_of(state), "al", 2)) == [("amy", 5), ("bob", 0)]
    assert len(list(islice(account_reputations(state, table_of(state), "", 1000), 1000))) == len(state.accounts)
