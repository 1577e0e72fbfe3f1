"""Hardfork 1 multiplies VESTS by a million. If a value then exceeds 64 bits, the block is refused."""

from typing import Any

import pytest

from state.chain.hardforks import process_hardforks
from state.protocol.errors import IntegerOverflow, IntegerUnderflow
from tests.helpers.chains import BLOCK, add_account, add_comment, chain_at

MOST = (2**63 - 1) // 1_000_000


def test_amounts_that_fit() -> None:
    state = chain_at(0).state
    alice = add_account(state, "alice", vesting_shares=MOST, proxied_vsf_votes=(0, 0, 0, -MOST))
    comment = add_comment(state, "alice", "post", net_rshares=-MOST, abs_rshares=MOST)
    process_hardforks(state, BLOCK)
    assert state.hardfork >= 1
    assert (alice.vesting_shares, alice.proxied_vsf_votes[3], comment.net_rshares) == (MOST * 10**6, -MOST * 10**6, -MOST * 10**6)


@pytest.mark.parametrize("field", ["vesting_shares", "withdrawn", "to_withdraw", "proxied_vsf_votes"])
def test_accounts_that_overflow(field: str) -> None:
    state = chain_at(0).state
    value = (0, 0, MOST + 1, 0) if field == "proxied_vsf_votes" else MOST + 1
    state.accounts.modify(add_account(state, "alice"), **{field: value})
    with pytest.raises(IntegerOverflow, match=r"^Integer Overflow:$"):
        process_hardforks(state, BLOCK)


def test_the_total_overflows() -> None:
    state = chain_at(0).state
    state.set_props(total_vesting_shares=MOST + 1)
    with pytest.raises(IntegerOverflow, match=r"^Integer Overflow:$"):
        process_hardforks(state, BLOCK)


@pytest.mark.parametrize("field", ["net_rshares", "abs_rshares", "vote_rshares"])
def test_comments_that_overflow(field: str) -> None:
    state = chain_at(0).state
    add_account(state, "alice")
    fields: dict[str, Any] = {field: MOST + 1}
    comment = add_comment(state, "alice", "post", **fields)
    with pytest.raises(IntegerOverflow, match=r"^Integer Overflow:$"):
        process_hardforks(state, BLOCK)
    state.comments.modify(comment, **{field: -MOST - 1})
    with pytest.raises(IntegerUnderflow, match=r"^Integer Underflow:$"):
        process_hardforks(state, BLOCK)
