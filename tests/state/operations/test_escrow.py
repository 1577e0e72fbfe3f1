"""Escrows: refusals, payments, and escrows that aren't ratified."""

from typing import Any

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.chain.steps.market import expire_escrow_ratification
from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowRelease, EscrowTransfer
from state.protocol.errors import Refused, UnknownKey
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, SBD, Asset
from state.tables.payments import Escrow
from tests.helpers.chains import NOW, add_account, apply, chain_at, move_to, reason, refused

FUNDS = 10_000
DEADLINE, END = NOW + 100, NOW + 200
MAKE = EscrowTransfer("fay", "tom", Asset(500, SBD), Asset(1000, COIN), 7, "ann", Asset(10, COIN), "", DEADLINE, END)
PARTIES: dict[str, Any] = {"from_": "fay", "to": "tom", "agent": "ann", "escrow_id": 7}
RELEASE = EscrowRelease(**PARTIES, who="fay", receiver="tom", sbd_amount=Asset(500, SBD), coin_amount=Asset(1000, COIN))
DISPUTE = EscrowDispute(**PARTIES, who="fay")


@pytest.fixture
def chain() -> Chain:
    chain = chain_at()
    for name in ("fay", "tom", "ann", "eve"):
        add_account(chain.state, name, balance=FUNDS, sbd_balance=FUNDS)
    return chain


def approve(who: str, yes: bool = True) -> EscrowApprove:
    return EscrowApprove(**PARTIES, who=who, approve=yes)


def release(who: str, receiver: str, sbd: int = 500, coin: int = 1000) -> EscrowRelease:
    return structs.replace(RELEASE, who=who, receiver=receiver, sbd_amount=Asset(sbd, SBD), coin_amount=Asset(coin, COIN))


def funds(chain: Chain, name: str) -> tuple[int, int]:
    """Return the change of an account's balances since the start, in COIN and SBD."""
    account = chain.state.account(name)
    return account.balance - FUNDS, account.sbd_balance - FUNDS


def the_escrow(chain: Chain) -> Escrow:
    return chain.state.escrows.by_from_id.find("fay", 7)


# ------------------------------------------------------------------ refusals


def test_making_one_is_refused(chain: Chain) -> None:
    for field in ("from_", "to", "agent"):
        assert refused(chain, structs.replace(MAKE, **{field: "nobody"})) == UnknownKey().message()
    text = reason(chain, structs.replace(MAKE, ratification_deadline=NOW))
    assert text == "The escorw ratification deadline must be after head block time."
    # An escrow must end after its ratification deadline, so an expired escrow is refused because of the deadline unless that check is
    # skipped.
    late = structs.replace(MAKE, ratification_deadline=NOW + 1, escrow_expiration=NOW)
    with pytest.raises(Refused, match=r"The escrow expiration must be after head block time\."):
        late.apply(chain.state)
    assert "Account fay does not have sufficient funds" in reason(chain, structs.replace(MAKE, coin_amount=Asset(FUNDS - 9, COIN)))
    assert "Account fay does not have sufficient funds" in reason(chain, structs.replace(MAKE, sbd_amount=Asset(FUNDS + 1, SBD)))
    fee = structs.replace(MAKE, sbd_amount=Asset(FUNDS, SBD), fee=Asset(1, SBD))
    assert "Account fay does not have sufficient funds" in reason(chain, fee)
    apply(chain, MAKE)
    assert "uniqueness constraint" in refused(chain, MAKE)


def test_approving_is_refused(chain: Chain) -> None:
    assert refused(chain, approve("tom")) == UnknownKey().message()
    apply(chain, MAKE)
    to_eve = structs.replace(approve("eve"), to="eve")
    assert reason(chain, to_eve) == "Operation 'to' (eve) does not match escrow 'to' (tom)."
    # A placeholder without a value remains in the text, as in the reference.
    by_eve = structs.replace(approve("eve"), agent="eve")
    assert reason(chain, by_eve) == "Operation 'agent' (${a}) does not match escrow 'agent' (ann)."
    apply(chain, approve("tom"))
    for yes in (True, False):
        assert reason(chain, approve("tom", yes)) == "Account 'to' (tom) has already approved the escrow."
    apply(chain, approve("ann"))
    assert reason(chain, approve("ann")) == "Account 'agent' (ann) has already approved the escrow."


def test_approving_ends_with_the_deadline(chain: Chain) -> None:
    apply(chain, MAKE)
    move_to(chain.state, DEADLINE)
    apply(chain, approve("tom"))
    move_to(chain.state, DEADLINE + 1)
    assert reason(chain, approve("ann")) == "The escrow ratification deadline has passed. Escrow can no longer be ratified."


def test_disputing_is_refused(chain: Chain) -> None:
    assert refused(chain, structs.replace(DISPUTE, from_="nobody", who="nobody")) == UnknownKey().message()
    assert refused(chain, DISPUTE) == UnknownKey().message()
    apply(chain, MAKE, approve("tom"))
    assert reason(chain, DISPUTE) == "The escrow must be approved by all parties before a dispute can be raised."
    apply(chain, approve("ann"))
    assert reason(chain, structs.replace(DISPUTE, to="eve")) == "Operation 'to' (eve) does not match escrow 'to' (tom)."
    text = reason(chain, structs.replace(DISPUTE, agent="eve"))
    assert text == "Operation 'agent' (${a}) does not match escrow 'agent' (ann)."
    apply(chain, DISPUTE)
    assert reason(chain, structs.replace(DISPUTE, who="tom")) == "The escrow is already under dispute."
    move_to(chain.state, END)
    assert reason(chain, DISPUTE) == "Disputing the escrow must happen before expiration."


def test_releasing_is_refused(chain: Chain) -> None:
    assert refused(chain, structs.replace(RELEASE, from_="nobody", who="nobody")) == UnknownKey().message()
    assert refused(chain, RELEASE) == UnknownKey().message()
    apply(chain, MAKE)
    for coin, sbd, text in ((1001, 0, "Release amount exceeds escrow balance."), (0, 501, "Release amount exceeds escrow balance.")):
        assert text in reason(chain, release("fay", "tom", sbd, coin))
    text = reason(chain, structs.replace(RELEASE, to="eve", receiver="eve"))
    assert text == "Operation 'to' (eve) does not match escrow 'to' (tom)."
    text = reason(chain, structs.replace(RELEASE, agent="eve"))
    assert text == "Operation 'agent' (${a}) does not match escrow 'agent' (ann)."
    assert reason(chain, RELEASE) == "Funds cannot be released prior to escrow approval."
    apply(chain, approve("tom"), approve("ann"))
    text = "Only 'from' (fay) and 'to' (tom) can release funds from a non-disputed escrow"
    assert reason(chain, release("ann", "tom")) == text
    assert reason(chain, release("fay", "fay")) == "Only 'from' (fay) can release funds to 'to' (tom)."
    assert reason(chain, release("tom", "tom")) == "Only 'to' (tom) can release funds to 'from' (tom)."
    apply(chain, DISPUTE)
    for who in ("fay", "tom"):
        assert reason(chain, release(who, "tom")) == "Only 'agent' (ann) can release funds in a disputed escrow."


# ------------------------------------------------------------------ effects


def test_an_escrow_holds_funds_and_fee(chain: Chain) -> None:
    apply(chain, MAKE)
    assert funds(chain, "fay") == (-1010, -500)
    validate_invariants(chain.state)
    made = the_escrow(chain)
    assert (made.coin_balance, made.sbd_balance, made.pending_fee) == (1000, 500, Asset(10, COIN))
    assert (made.to, made.agent, made.ratification_deadline, made.escrow_expiration) == ("tom", "ann", DEADLINE, END)


def test_a_fee_in_sbd_and_a_part_of_nothing(chain: Chain) -> None:
    apply(chain, structs.replace(MAKE, sbd_amount=Asset(0, SBD), fee=Asset(10, SBD)))
    assert funds(chain, "fay") == (-1000, -10)
    apply(chain, approve("ann"), approve("tom"))
    assert funds(chain, "ann") == (0, 10)
    assert the_escrow(chain).pending_fee == Asset(0, SBD)
    validate_invariants(chain.state)


@pytest.mark.parametrize("who", ["tom", "ann"])
def test_a_rejected_escrow_is_refunded(chain: Chain, who: str) -> None:
    apply(chain, MAKE, approve("ann" if who == "tom" else "tom"), approve(who, False))
    assert len(chain.state.escrows) == 0
    assert funds(chain, "fay") == (0, 0)
    validate_invariants(chain.state)


@pytest.mark.parametrize(("who", "receiver"), [("fay", "tom"), ("tom", "fay")])
def test_a_party_releases_to_the_other_one(chain: Chain, who: str, receiver: str) -> None:
    apply(chain, MAKE, approve("tom"), approve("ann"), release(who, receiver, sbd=0, coin=400))
    assert (the_escrow(chain).coin_balance, the_escrow(chain).sbd_balance) == (600, 500)
    apply(chain, release(who, receiver, coin=600))
    assert len(chain.state.escrows) == 0
    assert funds(chain, receiver) == ((1000, 500) if receiver == "tom" else (-10, 0))
    assert funds(chain, "ann") == (10, 0)
    validate_invariants(chain.state)


@pytest.mark.parametrize("receiver", ["fay", "tom"])
def test_the_agent_decides_a_dispute_even_after_the_end(chain: Chain, receiver: str) -> None:
    apply(chain, MAKE, approve("tom"), approve("ann"), structs.replace(DISPUTE, who="tom"))
    move_to(chain.state, END + 1)
    apply(chain, release("ann", receiver))
    assert funds(chain, receiver) == ((1000, 500) if receiver == "tom" else (-10, 0))


@pytest.mark.parametrize(("who", "receiver"), [("fay", "fay"), ("tom", "tom"), ("fay", "tom")])
def test_after_the_expiration_a_party_releases_to_either(chain: Chain, who: str, receiver: str) -> None:
    apply(chain, MAKE, approve("tom"), approve("ann"))
    move_to(chain.state, END - 1)
    if who == receiver:
        assert "can release funds to" in reason(chain, release(who, receiver))
    move_to(chain.state, END)
    assert "non-disputed escrow" in reason(chain, release("ann", receiver))
    apply(chain, release(who, receiver))
    assert len(chain.state.escrows) == 0


def test_unratified_escrows_end_at_the_deadline(chain: Chain) -> None:
    others: dict[str, Any] = {"escrow_id": 8}
    apply(chain, MAKE, structs.replace(MAKE, **others), structs.replace(MAKE, escrow_id=9, ratification_deadline=DEADLINE + 1))
    apply(chain, *(structs.replace(approve(who), **others) for who in ("tom", "ann")), approve("tom"))

    def end_of_block(time: int) -> list[int]:
        move_to(chain.state, time)
        expire_escrow_ratification(chain.state, SignedBlock(timestamp=time))
        return [escrow.escrow_id for escrow in chain.state.escrows]

    assert end_of_block(DEADLINE - 1) == [7, 8, 9]
    assert end_of_block(DEADLINE) == [8, 9]
    assert funds(chain, "fay") == (-2020, -1000)
    assert end_of_block(DEADLINE + 1) == [8]
    assert end_of_block(END + 1) == [8]
    validate_invariants(chain.state)
