"""Manabars: what an account may spend on votes, and how it comes back. Source: operations.md §2.9; block-processing.md §3.2."""

from state.protocol.constants import COIN_HF_21_STALL_BLOCK, COIN_VOTING_MANA_REGENERATION_SECONDS
from state.protocol.errors import Refused
from state.protocol.values.asset import INT64_MAX
from state.tables import State
from state.tables.accounts import Account


def truncated(a: int, b: int) -> int:
    """Division that truncates toward zero, for b > 0."""
    return a // b if a >= 0 else -(-a // b)


def wrapped(value: int) -> int:
    """A product as a plain int64 holds it."""
    return (value + 2**63) % 2**64 - 2**63


def saturated(value: int) -> int:
    """A sum as a saturating int64 holds it."""
    if -INT64_MAX - 1 <= value <= INT64_MAX:
        return value
    return INT64_MAX if value > 0 else -INT64_MAX - 1


def regenerated(
    current: int, since: int, most: int, now: int, seconds: int = COIN_VOTING_MANA_REGENERATION_SECONDS, capped: bool = True
) -> int:
    """A bar's mana at `now`; resource credits regenerate without the cap on the time that counts."""
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
    """Refuse a bar that can't be; the reference logs such a failure on its way, which its text shows."""
    if not ok:
        refused = Refused("", condition=condition)
        refused.context = "rethrow"
        raise refused


def used(current: int, mana: int, floor: int = 0) -> int:
    """A bar after spending; a negative amount adds, without a cap."""
    return max(saturated(current - mana), floor)


def downvote_maximum(state: State, effective: int) -> int:
    """The size of the downvote bar; up to the block at which the chain once stalled its product wraps at 64 bits."""
    product = effective * state.props.downvote_pool_percent
    if 0 <= product <= INT64_MAX:
        return product // 10000
    if state.props.head_block_number > COIN_HF_21_STALL_BLOCK:
        require_bar(effective >= 0, "max_mana >= 0")
        return product // 10000
    return truncated(wrapped(product), 10000)


def voting_now(state: State, account: Account) -> int:
    """The voting mana of an account at head time."""
    return regenerated(account.voting_mana, account.voting_mana_time, account.effective_vests, state.props.time)


def both_now(state: State, account: Account) -> tuple[int, int]:
    """The voting and downvote mana of an account at head time."""
    now, effective = state.props.time, account.effective_vests
    voting = regenerated(account.voting_mana, account.voting_mana_time, effective, now)
    downvote = regenerated(account.downvote_mana, account.downvote_mana_time, downvote_maximum(state, effective), now)
    return voting, downvote


def manabar_changes(state: State, account: Account, gained: int = 0) -> dict[str, int]:
    """The changes of both bars up to now, by the VESTS that the account has before they change, with what it gains added."""
    now = state.head_time
    if state.hardfork < 21:
        # Since hardfork 21 downvotes have a bar of their own.
        return {"voting_mana": used(voting_now(state, account), -gained), "voting_mana_time": now}
    voting, downvote = both_now(state, account)
    downvote = used(downvote, truncated(wrapped(-gained * state.props.downvote_pool_percent), 10000))
    return {
        "voting_mana": used(voting, -gained),
        "voting_mana_time": now,
        "downvote_mana": downvote,
        "downvote_mana_time": now,
    }


def update_manabar(state: State, account: Account, gained: int = 0) -> None:
    """Regenerate both bars up to now and add what the account gains."""
    state.accounts.modify(account, **manabar_changes(state, account, gained))
