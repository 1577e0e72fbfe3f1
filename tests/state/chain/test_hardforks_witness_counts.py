"""The number of witnesses that an account votes for, which the reference stores in 16 bits between hardforks 6 and 8."""

from state.chain.hardforks import recount_voted
from state.operations.witnesses import AccountWitnessVote
from tests.helpers.chains import add_account, add_witness, apply, chain_at, refused


def vote(witness: str, approve: bool = True) -> AccountWitnessVote:
    return AccountWitnessVote("alice", witness, approve)


def test_the_count_of_an_account_without_a_proxy_wraps_after_hardfork_6() -> None:
    chain = chain_at(5)
    state = chain.state
    alice = add_account(state, "alice", vesting_shares=5_000_000)
    for name in ("wit", "pit"):
        add_account(state, name)
        add_witness(state, name)
    apply(chain, vote("wit"))
    recount_voted(state, only_with_proxy=True)  # what hardfork 6 does
    assert alice.witnesses_voted_for == 0
    apply(chain, vote("wit", approve=False))
    assert alice.witnesses_voted_for == 2**16 - 1
    assert "Account has voted for too many witnesses." in refused(chain, vote("pit"))
    recount_voted(state, only_with_proxy=False)  # hardfork 8
    assert alice.witnesses_voted_for == 0
    apply(chain, vote("pit"))
