"""Manabars: the mana that an account can spend on votes, and its regeneration.

A bar is stored as its mana at its last update, and computed for later times. An empty bar fills in 5 days. Its size is not stored, but
follows from the account's current VESTS. Code that changes an account's VESTS must therefore update the bar first (`update_manabar`).
Otherwise the mana regenerated since the last update would be computed with the new size. `spend_power` in early_voting.py describes the
three eras of bars. Source: operations.md §2.9; block-processing.md §3.2.
"""

from state.protocol.constants import COIN_100_PERCENT, COIN_HF_21_STALL_BLOCK, COIN_VOTING_MANA_REGENERATION_SECONDS
from state.protocol.errors import Refused
from state.protocol.values.integers import HALF64, INT64_MAX, INT64_MIN, WORD64
from state.tables import State
from state.tables.accounts import Account


def truncated(a: int, b: int) -> int:
    """Divide like C++, truncating toward zero. `b` must be positive."""
    return a // b if a >= 0 else -(-a // b)


def wrapped(value: int) -> int:
    """Wrap a number to a signed 64-bit integer."""
    return (value + HALF64) % WORD64 - HALF64


def saturated(value: int) -> int:
    """Clamp a number to the range of signed 64-bit integers."""
    if INT64_MIN <= value <= INT64_MAX:
        return value
    return INT64_MAX if value > 0 else INT64_MIN


def regenerated(
    current: int, since: int, most: int, now: int, seconds: int = COIN_VOTING_MANA_REGENERATION_SECONDS, capped: bool = True
) -> int:
    """Return the mana at `now` of a bar that had `current` mana at `since`. `most` is the size of the bar.

    Mana above the size, after the account has lost VESTS, is cut to the size. With `capped`, the elapsed time counts up to the 5 days in
    which an empty bar fills. This matters only if `current` is negative. Resource credits can be negative, and regenerate without the cap.
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
    """Refuse a bar with a negative size or a future time. `ok` is the result of the check.

    The reference logs this failure before it rethrows it, which adds the word "rethrow" at the end of its message.
    """
    if not ok:
        refused = Refused("", condition=condition)
        refused.context = "rethrow"
        raise refused


def used(current: int, mana: int, floor: int = 0) -> int:
    """Return the mana that remains after `mana` is spent, at least `floor`.

    A negative `mana` adds the mana of gained VESTS. The result is not capped, because the size of the bar will grow by the same VESTS.
    """
    return max(saturated(current - mana), floor)


def downvote_maximum(state: State, effective: int) -> int:
    """Return the size of the downvote bar, a percentage of the voting bar's size.

    Hardfork 21 multiplied in 64 bits. For an account of more than about 3.7 billion VESTS (2^63 / 2500 in their smallest unit) the product
    wraps, at first to a negative size, which is refused. A block that had to pay such an account failed, and the public chain stalled. The
    fix multiplies in 128 bits, but only after that block, so that replays agree. The switch depends on the block number, so test chains,
    which don't get that far, always wrap.
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


def updated_bars(state: State, account: Account, gained: int = 0) -> tuple[int, int, int, int]:
    """Return an account's bars (the mana for votes, its time, the mana for downvotes, its time), updated to head time and with the mana of
    `gained` VESTS.

    Call this before the VESTS change, because the bars have regenerated with the old VESTS.
    """
    now = state.head_time
    if state.hardfork < 21:
        # Since hardfork 21 there is a separate bar for downvotes.
        return used(voting_now(state, account), -gained), now, account.downvote_mana, account.downvote_mana_time
    voting, downvote = both_now(state, account)
    # This product still wraps at 64 bits: only that of the bar's size was corrected.
    downvote = used(downvote, truncated(wrapped(-gained * state.props.downvote_pool_percent), COIN_100_PERCENT))
    return used(voting, -gained), now, downvote, now


def manabar_changes(state: State, account: Account, gained: int = 0) -> dict[str, int]:
    """Return the result of `updated_bars` as field changes."""
    voting, voting_time, downvote, downvote_time = updated_bars(state, account, gained)
    return {"voting_mana": voting, "voting_mana_time": voting_time, "downvote_mana": downvote, "downvote_mana_time": downvote_time}


def update_manabar(state: State, account: Account, gained: int = 0) -> None:
    """Update an account's bars to head time, and add the mana of the `gained` VESTS that the account is about to receive."""
    state.accounts.set_mana(account, *updated_bars(state, account, gained))
