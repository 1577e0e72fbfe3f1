"""How many witnesses an account votes for, as the 16 bits of the reference count it between hardforks 6 and 8."""

from state.chain.hardforks import recount_voted
from state.operations.witnesses import AccountWitnessVote
from state.tables.witnesses import WitnessVote
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


def test_without_a_limit_the_count_wraps_too() -> None:
    chain = chain_at(1)
    state = chain.state
    alice = add_account(state, "alice", vesting_shares=5, witnesses_voted_for=2**16 - 1)
    add_account(state, "wit")
    add_witness(state, "wit")
    apply(chain, vote("wit"))
    assert alice.witnesses_voted_for == 0


def test_hardfork_8_counts_with_16_bits() -> None:
    state = chain_at(7).state
    alice = add_account(state, "alice")
    for number in range(2**16 + 3):
        state.witness_votes.insert(WitnessVote(witness=f"w{number}", account="alice"))
    recount_voted(state, only_with_proxy=False)
    assert alice.witnesses_voted_for == 3
