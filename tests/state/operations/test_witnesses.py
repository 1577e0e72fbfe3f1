"""Witnesses: publishing, properties, price feeds, votes and proxies."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.operations.chain_properties import LegacyChainProperties
from state.operations.witnesses import (
    AccountWitnessProxy,
    AccountWitnessVote,
    FeedPublish,
    WitnessSetProperties,
    WitnessUpdate,
)
from state.protocol.codec.kinds import CoinFee, Int, Key, String
from state.protocol.errors import UnknownKey
from state.protocol.keys.keys import NULL_KEY
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price
from state.tables.globals import ChainProperties
from tests.helpers.chains import NOW, add_account, add_witness, apply, chain_at, key_of, push, refused

RATE = Price(Asset(250, SBD), Asset(1_000, COIN))
UPSIDE_DOWN = Price(Asset(1_000, COIN), Asset(250, SBD))


def chain_of(hardfork: int) -> Chain:
    """A chain with `alice`, who has VESTS, and the witness `wit`."""
    chain = chain_at(hardfork)
    add_account(chain.state, "alice", vesting_shares=5_000_000)
    add_account(chain.state, "wit")
    add_witness(chain.state, "wit")
    return chain


@pytest.fixture
def chain() -> Chain:
    return chain_of(23)


# ------------------------------------------------------------------ publishing


def update(owner: str = "alice", fee: CoinFee | None = None, size: int = 131_072) -> WitnessUpdate:
    return WitnessUpdate(owner, "https://a", key_of("sign"), LegacyChainProperties(fee or CoinFee(5), size, 77), Asset(0, COIN))


def test_witness_update_refusals(chain: Chain) -> None:
    assert refused(chain, update("nobody")) == UnknownKey().message()
    odd = CoinFee(5, b"\x05COIN\0\0\0")
    assert refused(chain, update(fee=odd)).endswith("o.props.account_creation_fee.symbol.is_canon(): ")
    high = "account_creation_fee greater than maximum account creation fee"
    assert high in refused(chain, update(fee=CoinFee(1_000_000_001)))
    assert "Max block size cannot be more than 2MiB" in refused(chain, update(size=2_097_153))
    apply(chain, update(fee=CoinFee(1_000_000_000), size=2_097_152))


def test_witnesses_are_made_and_changed(chain: Chain) -> None:
    state = chain.state
    apply(chain, update())
    witness = state.witness("alice")
    assert (witness.created, witness.url, witness.signing_key) == (NOW, "https://a", key_of("sign"))
    assert witness.props == ChainProperties(account_creation_fee=5, maximum_block_size=131_072, sbd_interest_rate=77)
    assert (witness.votes, witness.virtual_scheduled_time, witness.sbd_exchange_rate) == (0, 2**128 - 1, NULL_PRICE)
    state.set_props(time=NOW + 3)
    state.witnesses.modify(witness, props=structs.replace(witness.props, account_subsidy_budget=9))
    apply(chain, structs.replace(update(fee=CoinFee(6)), url="b"))
    assert (witness.created, witness.url, witness.props.account_creation_fee) == (NOW, "b", 6)
    assert witness.props.account_subsidy_budget == 9
    assert len(state.witnesses) == 3


def test_earlier_limits_of_witness_updates() -> None:
    chain = chain_of(19)
    large, dear = update(size=2_097_153), update(fee=CoinFee(1_000_000_001))
    assert "Max block size" in refused(chain, large, by=push)
    assert "greater than maximum" in refused(chain, dear, by=push)
    apply(chain, large, dear)
    chain = chain_of(13)
    push(chain, dear)  # before hardfork 14 the fee's limit didn't apply even to pushes
    apply(chain, update(fee=CoinFee(7, b"\x05COIN\0\0\0")))
    assert chain.state.witness("alice").props.account_creation_fee == 7


# ------------------------------------------------------------------ properties


def properties(chain: Chain, key: str = "wit", **packed: tuple[Any, Any]) -> WitnessSetProperties:
    """Return a witness_set_properties operation. Each property is given as a value and the kind that packs it."""
    codecs = chain.state.wire.codecs
    values = {name: codecs.packer(kind)(value) for name, (kind, value) in packed.items()}
    return WitnessSetProperties("wit", tuple(sorted({"key": key_of(key), **values}.items())))


def test_witness_set_properties_refusals(chain: Chain) -> None:
    old = chain_of(19)
    assert "witness_set_properties_evaluator not enabled until HF 20" in refused(old, properties(old))
    stranger = structs.replace(properties(chain), owner="alice")
    assert refused(chain, stranger) == UnknownKey().message()
    assert "'key' does not match witness signing key." in refused(chain, properties(chain, "other"))
    dear = properties(chain, account_creation_fee=(Asset, Asset(1_000_000_001, COIN)))
    assert "account_creation_fee greater than maximum account creation fee" in refused(chain, dear)


def test_properties_are_set_one_by_one(chain: Chain) -> None:
    witness = chain.state.witness("wit")
    before = structs.asdict(witness)
    apply(chain, properties(chain))
    assert structs.asdict(witness) == before
    apply(chain, properties(chain, sbd_exchange_rate=(Price, RATE)))
    assert (witness.sbd_exchange_rate, witness.last_sbd_exchange_update) == (RATE, NOW)
    apply(chain, properties(chain, maximum_block_size=(Int(32), 3_000_000)))  # no upper limit here
    assert witness.props == ChainProperties(maximum_block_size=3_000_000)
    apply(
        chain,
        properties(
            chain,
            account_creation_fee=(Asset, Asset(8, COIN)),
            sbd_interest_rate=(Int(16), 9),
            account_subsidy_budget=(Int(32, signed=True), 10),
            account_subsidy_decay=(Int(32), 64),
            url=(String(), "https://b"),
            new_signing_key=(Key(), key_of("new")),
            whatever=(String(), "ignored"),
        ),
    )
    assert witness.props == ChainProperties(8, 3_000_000, 9, 10, 64)
    assert (witness.url, witness.signing_key) == ("https://b", key_of("new"))
    assert "'key' does not match" in refused(chain, properties(chain))


def raw(**props: bytes) -> WitnessSetProperties:
    """Return a witness_set_properties operation with packed values."""
    return WitnessSetProperties("wit", tuple(sorted(props.items())))


def test_empty_bytes_for_the_new_key_keep_the_old_one(chain: Chain) -> None:
    witness = chain.state.witness("wit")
    apply(chain, raw(key=key_of("wit"), new_signing_key=b"", url=b"\x01a"))
    assert (witness.signing_key, witness.url) == (key_of("wit"), "a")
    apply(chain, raw(key=key_of("wit"), new_signing_key=NULL_KEY))
    assert witness.signing_key == NULL_KEY


def test_empty_bytes_for_the_current_key_are_the_null_key(chain: Chain) -> None:
    witness = chain.state.witness("wit")
    chain.state.witnesses.modify(witness, signing_key=NULL_KEY)
    apply(chain, raw(key=b"", new_signing_key=b""))
    assert witness.signing_key == NULL_KEY
    apply(chain, raw(key=b"", new_signing_key=key_of("new")))
    assert witness.signing_key == key_of("new")
    assert "'key' does not match witness signing key." in refused(chain, raw(key=b"", new_signing_key=b""))


# ------------------------------------------------------------------ feeds


def test_feeds(chain: Chain) -> None:
    assert "Price feed must be a SBD/COIN price" in refused(chain, FeedPublish("wit", UPSIDE_DOWN))
    assert refused(chain, FeedPublish("alice", RATE)) == UnknownKey().message()
    apply(chain, FeedPublish("wit", RATE))
    witness = chain.state.witness("wit")
    assert (witness.sbd_exchange_rate, witness.last_sbd_exchange_update) == (RATE, NOW)


def test_before_hardfork_20_a_feed_could_be_upside_down() -> None:
    chain = chain_of(19)
    apply(chain, FeedPublish("wit", UPSIDE_DOWN))
    assert chain.state.witness("wit").sbd_exchange_rate == UPSIDE_DOWN


# ------------------------------------------------------------------ votes


def vote(approve: bool = True, witness: str = "wit", account: str = "alice") -> AccountWitnessVote:
    return AccountWitnessVote(account, witness, approve)


def proxy(to: str, account: str = "alice") -> AccountWitnessProxy:
    return AccountWitnessProxy(account, to)


def test_vote_refusals(chain: Chain) -> None:
    state = chain.state
    alice = state.account("alice")
    assert refused(chain, vote(account="nobody")) == UnknownKey().message()
    assert refused(chain, vote(witness="alice")) == UnknownKey().message()
    assert "Vote doesn't exist, user must indicate a desire to approve witness." in refused(chain, vote(False))
    state.accounts.modify(alice, proxy="wit")
    assert "A proxy is currently set, please clear the proxy before voting for a witness." in refused(chain, vote())
    state.accounts.modify(alice, proxy="", witnesses_voted_for=30)
    assert "Account has voted for too many witnesses." in refused(chain, vote())
    state.accounts.modify(alice, witnesses_voted_for=29)
    apply(chain, vote())
    assert "Vote currently exists, user must indicate a desire to reject witness." in refused(chain, vote())
    state.accounts.modify(alice, can_vote=False)
    assert "Account has declined its voting rights." in refused(chain, vote())
    apply(chain, vote(False))


def test_votes_move_a_witness_in_virtual_time(chain: Chain) -> None:
    """Worked example E6: a witness with 10^15 votes gets 2 * 10^15 more at the virtual time 10^22."""
    state = chain.state
    witness = state.witness("wit")
    alice = state.account("alice")
    state.set_props(total_vesting_shares=3 * 10**15)
    state.accounts.modify(alice, vesting_shares=10**15)
    apply(chain, vote())
    assert (witness.votes, alice.witnesses_voted_for) == (10**15, 1)
    assert witness.virtual_scheduled_time == 340282366920938123181007
    state.witness_schedules.modify(state.schedule, current_virtual_time=10**22)
    add_account(state, "carol")
    state.accounts.modify(state.account("carol"), vesting_shares=10**15, proxied_vsf_votes=(10**15, 0, 0, 0))
    apply(chain, vote(account="carol"))
    assert (witness.votes, witness.virtual_position) == (3 * 10**15, 10**37)
    assert witness.virtual_scheduled_time == 120094122306979451123084
    apply(chain, vote(False))
    assert (witness.votes, alice.witnesses_voted_for, len(state.witness_votes)) == (2 * 10**15, 0, 1)


def test_earlier_votes() -> None:
    chain = chain_of(2)
    state = chain.state
    add_witness(state, "alice")
    add_account(state, "carol", vesting_shares=5_000_000)  # votes for nobody: a witness can't have more votes than there are
    apply(chain, vote(), vote(witness="alice"))
    # Under hardfork 2 the weight of the second vote was added to both witnesses.
    assert (state.witness("wit").votes, state.witness("alice").votes) == (10_000_000, 5_000_000)
    chain = chain_of(1)
    state = chain.state
    state.accounts.modify(state.account("alice"), witnesses_voted_for=30)
    apply(chain, vote())  # no limit, and virtual time is left alone
    assert (state.witness("wit").votes, state.witness("wit").virtual_scheduled_time) == (5_000_000, 2**128 - 1)
    apply(chain, vote(False))
    assert state.witness("wit").votes == 0


# ------------------------------------------------------------------ proxies


def chained(chain: Chain, *names: str) -> None:
    """Make each account the proxy of the account before it in `names`."""
    for name in names:
        add_account(chain.state, name, vesting_shares=1_000_000)
    for name, to in pairwise(names):
        apply(chain, proxy(to, name))


def test_proxy_refusals(chain: Chain) -> None:
    state = chain.state
    alice = state.account("alice")
    assert refused(chain, proxy("wit", "nobody")) == UnknownKey().message()
    assert refused(chain, proxy("nobody")) == UnknownKey().message()
    assert "Proxy must change." in refused(chain, proxy(""))
    state.accounts.modify(alice, can_vote=False)
    assert "Account has declined the ability to vote and cannot proxy votes." in refused(chain, proxy("wit"))
    state.accounts.modify(alice, can_vote=True)
    apply(chain, proxy("wit"))
    assert "Proxy must change." in refused(chain, proxy("wit"))


def test_proxies_make_no_loops_and_no_long_chains(chain: Chain) -> None:
    chained(chain, "one", "two", "three", "four")
    assert "This proxy would create a proxy loop." in refused(chain, proxy("one", "four"))
    assert "Proxy chain is too long." in refused(chain, proxy("one"))
    apply(chain, proxy("two"))
    validate_invariants(chain.state)


def test_a_proxy_votes_with_the_weight_of_those_behind_it(chain: Chain) -> None:
    state = chain.state
    chained(chain, "one", "two", "three")
    add_witness(state, "one")
    apply(chain, vote(account="three"), vote(), vote(witness="one"))
    witness, other = state.witness("wit"), state.witness("one")
    assert (witness.votes, other.votes) == (8_000_000, 5_000_000)
    assert state.account("three").proxied_vsf_votes == (1_000_000, 1_000_000, 0, 0)
    apply(chain, proxy("two"))
    assert (witness.votes, other.votes, state.account("alice").witnesses_voted_for) == (8_000_000, 0, 0)
    assert state.account("three").proxied_vsf_votes == (1_000_000, 6_000_000, 0, 0)
    validate_invariants(state)
    apply(chain, proxy("one"))
    assert state.account("one").proxied_vsf_votes == (5_000_000, 0, 0, 0)
    assert state.account("three").proxied_vsf_votes == (1_000_000, 1_000_000, 5_000_000, 0)
    assert witness.votes == 8_000_000
    validate_invariants(state)
    apply(chain, proxy(""))
    assert (witness.votes, state.account("alice").proxy) == (3_000_000, "")
    assert [row.account for row in state.witness_votes] == ["three"]
    validate_invariants(state)


def test_before_hardfork_6_the_counter_stayed() -> None:
    chain = chain_of(5)
    apply(chain, vote(), proxy("wit"))
    assert chain.state.account("alice").witnesses_voted_for == 1
    assert len(chain.state.witness_votes) == 0
