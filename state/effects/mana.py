"""Manabars: what an account may spend on votes, and how it regenerates.

A bar is stored as its mana at the time of its last update, and computed for any later time; it fills from empty in 5 days. Its
size is not stored: it follows from the account's VESTS at the moment. So whatever changes an account's VESTS must first bring
the bar up to now (`update_manabar`), or the time before would count by the new size. The three eras of bars are described
at `spend_power` in early_voting.py. Source: operations.md §2.9; block-processing.md §3.2.
"""

from state.protocol.constants import COIN_100_PERCENT, COIN_HF_21_STALL_BLOCK, COIN_VOTING_MANA_REGENERATION_SECONDS
from state.protocol.errors import Refused
from state.protocol.values.integers import HALF64, INT64_MAX, INT64_MIN, WORD64
from state.tables import State
from state.tables.accounts import Account


def truncated(a: int, b: int) -> int:
    """Divide as C++ does, truncating toward zero; b > 0."""
    return a // b if a >= 0 else -(-a // b)


def wrapped(value: int) -> int:
    """Return a product as a plain int64 holds it: modulo 2^64."""
    return (value + HALF64) % WORD64 - HALF64


def saturated(value: int) -> int:
    """Return a sum as a saturating int64 holds it: at most the largest number, at least the smallest."""
    if INT64_MIN <= value <= INT64_MAX:
        return value
    return INT64_MAX if value > 0 else INT64_MIN


def regenerated(
    current: int, since: int, most: int, now: int, seconds: int = COIN_VOTING_MANA_REGENERATION_SECONDS, capped: bool = True
) -> int:
    """Return the mana at `now` of a bar that had `current` at `since` and has the size `most`.

    A bar that is larger than its size, because the account has lost VESTS, is cut to it. The time that counts is capped at
    the 5 days in which an empty bar fills. That is visible only for a negative `current`, which takes longer: resource credits
    can be negative, and regenerate without the cap.
    """
    elapsed = now - since
    if most < 0 or elapsed < 0:
        require_bar(most >= 0, "max_mana >= 0")
        require_bar(elapsed >= 0, "now >= last_update_time")
    if current >= most:
        return most
    if elapsed > seconds:
        if capped:
            elapsed = seconds
        else:
            require_bar(most * elapsed // seconds <= INT64_MAX, "u_regen <= std::numeric_limits< int64_t >::max()")
    return min(current + most * elapsed // seconds, most)


def require_bar(ok: bool, condition: str) -> None:
    """Refuse a bar of negative size, or one from the future.

    The reference logs this failure before it passes it on, which leaves the word "rethrow" at the end of its text.
    """
    if not ok:
        refused = Refused("", condition=condition)
        refused.context = "rethrow"
        raise refused


def used(current: int, mana: int, floor: int = 0) -> int:
    """Return a bar after `mana` is spent, at least `floor`.

    A negative amount adds: that is how gained VESTS bring their mana. There is no cap then, since the size of the bar is about
    to grow by the same VESTS.
    """
    return max(saturated(current - mana), floor)


def downvote_maximum(state: State, effective: int) -> int:
    """Return the size of the downvote bar, a percentage of the voting bar's.

    Hardfork 21 multiplied in 64 bits. For an account of more than about 3.7 billion VESTS (2^63 / 2500 in their smallest unit)
    the product wraps, at first to a negative size, which is refused: a block that must pay such an account fails, and the
    public chain stalled. The corrected program multiplies in 128 bits after that block, and as before up to it, so that a
    replay agrees. The switch is a block's number: a test chain, which doesn't get that far, always wraps.
    """
    product = effective * state.props.downvote_pool_percent
    if 0 <= product <= INT64_MAX:
        return product // COIN_100_PERCENT
    if state.props.head_block_number > COIN_HF_21_STALL_BLOCK:
        require_bar(effective >= 0, "max_mana >= 0")
        return product // COIN_100_PERCENT
    return truncated(wrapped(product), COIN_100_PERCENT)


def voting_now(state: State, account: Account) -> int:
    """Return the voting mana of an account at head time."""
    return regenerated(account.voting_mana, account.voting_mana_time, account.effective_vests, state.props.time)


def both_now(state: State, account: Account) -> tuple[int, int]:
    """Return the voting and the downvote mana of an account at head time."""
    now, effective = state.props.time, account.effective_vests
    voting = regenerated(account.voting_mana, account.voting_mana_time, effective, now)
    downvote = regenerated(account.downvote_mana, account.downvote_mana_time, downvote_maximum(state, effective), now)
    return voting, downvote


def manabar_changes(state: State, account: Account, gained: int = 0) -> dict[str, int]:
    """Return the changes of an account's bars that bring them up to now, and add the mana of VESTS that it is about to gain.

    To be called before the VESTS change: until now the bars have regenerated by the old ones.
    """
    now = state.head_time
    if state.hardfork < 21:
        # Since hardfork 21 downvotes have a bar of their own.
        return {"voting_mana": used(voting_now(state, account), -gained), "voting_mana_time": now}
    voting, downvote = both_now(state, account)
    # This product wraps at 64 bits to this day: only that of the bar's size was corrected.
    downvote = used(downvote, truncated(wrapped(-gained * state.props.downvote_pool_percent), COIN_100_PERCENT))
    return {
        "voting_mana": used(voting, -gained),
        "voting_mana_time": now,
        "downvote_mana": downvote,
        "downvote_mana_time": now,
    }


def update_manabar(state: State, account: Account, gained: int = 0) -> None:
    """Bring an account's bars up to now, and add the mana of VESTS that it is about to gain."""
    state.accounts.modify(account, **manabar_changes(state, account, gained))
