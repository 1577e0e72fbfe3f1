"""Explains wrong expirations and wrong reference blocks."""

from typing import Any

from rpc.explain.case import Explanation, RefusalCase, span
from state.protocol.constants import COIN_MAX_TIME_UNTIL_EXPIRATION
from state.protocol.transaction import block_number
from state.protocol.values.text import time_text

HALF_HOUR = 1800
OFFSET_MAX = 28  # half hours; no time zone is further from UTC
ODD_ZONES = (7, 9, 11, 13, 19, 21)  # half hours; the UTC offsets that are not whole hours
AHEAD_MIN, AHEAD_MAX = 10, 900  # seconds; the usual range of expirations that clients set
BLOCKS_SEARCHED_MAX = 2000  # newest blocks to search for a prefix
CLOCKS_APART = 60  # seconds; a larger difference between the chain's time and the node's clock is mentioned
WORD16 = 2**16


def wrong_time(case: RefusalCase) -> Explanation:
    """Explain an expiration that has passed or is too far in the future."""
    given = int(case.transaction.expiration)
    found = case.error.values.get("now")
    now = found if isinstance(found, int) else case.state.head_time
    too_far = "max_til_exp" in case.error.values
    values: dict[str, Any] = {
        "expiration": time_text(given),
        "head_block_time": time_text(now),
        "seconds_apart": given - now,
        "seconds_ahead_max": COIN_MAX_TIME_UNTIL_EXPIRATION,
        "node_time": time_text(case.now),
    }
    next_block_time = case.error.values.get("next")
    if next_block_time is not None:
        why = f"The transaction expires at {time_text(given)}, too early for the next block ({next_block_time})."
        to_do = "Set a later expiration, for example some minutes after the head block's time."
    elif too_far:
        latest = time_text(now + COIN_MAX_TIME_UNTIL_EXPIRATION)
        why = f"The transaction expires at {time_text(given)}, {span(given - now)} after the head block's time {time_text(now)}. At most "
        why += f"{span(COIN_MAX_TIME_UNTIL_EXPIRATION)} is allowed."
        to_do = f"Set an expiration of at most {latest}, relative to the head block's time."
    else:
        why = f"The transaction expired at {time_text(given)}, {span(now - given)} before the head block's time {time_text(now)}."
        to_do = "Count the expiration from the head block's time (get_dynamic_global_properties, `time`), then sign and send at once."
    offset = local_offset(given - now)
    if offset:
        why += f" That is about {span(offset)} off, as if it were in local time."
        to_do = f"Write the expiration in UTC. {to_do}"
    elif abs(case.now - now) > CLOCKS_APART:
        why += f" The chain's time differs from the node's clock, which is at {time_text(case.now)}."
    values["cause"] = "local_time" if offset else None
    return case.explained("expiration_too_far" if too_far else "expired", why, to_do, **values)


def local_offset(seconds: int) -> int:
    """Return the time zone offset that explains why an expiration is `seconds` from now, or 0 if none explains it.

    This assumes that the client set the expiration AHEAD_MIN to AHEAD_MAX seconds ahead of its local time.
    """
    halves = (seconds - AHEAD_MIN) // HALF_HOUR
    is_zone = halves % 2 == 0 or abs(halves) in ODD_ZONES
    is_near = AHEAD_MIN <= seconds - halves * HALF_HOUR <= AHEAD_MAX
    return halves * HALF_HOUR if 2 <= abs(halves) <= OFFSET_MAX and is_zone and is_near else 0


def wrong_reference(case: RefusalCase) -> Explanation:
    """Explain a reference block that doesn't belong to this chain."""
    number, prefix = case.transaction.ref_block_num, case.transaction.ref_block_prefix
    summary = case.state.block_summaries.by_slot.get(number)
    own_id = None if summary is None else summary.block_id
    own = None if own_id is None else block_number(own_id)
    head = case.state.props.head_block_number
    values: dict[str, Any] = {
        "ref_block_num": number,
        "ref_block_prefix": prefix,
        "head_block_number": head,
        "block": None if own_id is None else {"number": own, "id": own_id.hex(), "prefix": prefix_of(own_id)},
    }
    if own_id is None:
        why = f"The transaction refers to block {number} with the prefix {prefix}, and this chain "
        why += f"has no block of that number yet: its head is {head}." if number > head else "refuses blocks before its last hardfork."
    else:
        why = f"The transaction refers to block {own} by the prefix {prefix}, but here that block has the prefix {prefix_of(own_id)}."
    cause, meant, said = meaning(case, number, prefix)
    values |= {"cause": cause, "prefix_belongs_to": meant}
    to_do = "Take ref_block_num and ref_block_prefix from one block of this chain: the number's last 16 bits, and the bytes 4 to 7 of its "
    to_do += f"id as a little-endian number. For the head these are now {head % WORD16} and {prefix_of(case.state.props.head_block_id)}."
    return case.explained("wrong_reference_block", f"{why} {said}", to_do, **values)


def prefix_of(block_id: bytes) -> int:
    """Return the `ref_block_prefix` of a transaction that refers to the block with this id."""
    return int.from_bytes(block_id[4:8], "little")


def meaning(case: RefusalCase, number: int, prefix: int) -> tuple[str | None, dict[str, Any] | None, str]:
    """Find the block to which a prefix belongs. Return the cause (its stable name or None), the block, and a sentence."""
    reversed_prefix = int.from_bytes(prefix.to_bytes(4, "little"), "big")
    head = case.state.props.head_block_number
    for back in range(min(head, BLOCKS_SEARCHED_MAX)):
        row = case.state.block_summaries.by_slot.get((head - back) % WORD16)
        if row is None:
            continue
        found = {"number": block_number(row.block_id), "id": row.block_id.hex()}
        if prefix_of(row.block_id) == prefix:
            said = f"The prefix is that of block {found['number']}: number and prefix must be from the same block."
            return "other_block_number", found, said
        if prefix_of(row.block_id) == reversed_prefix:
            said = f"The prefix is that of block {found['number']} with its bytes in reverse order: read them as a little-endian number."
            return "byte_order", found, said
    for block_id in case.chain.forks.fork_block_ids():
        if prefix_of(block_id) == prefix:
            found = {"number": block_number(block_id), "id": block_id.hex()}
            said = f"The prefix is that of block {found['number']} of a fork that is not the main branch, or was undone."
            return "other_fork", found, said
    said = "No known block has that prefix: it is from another chain, from an earlier run of this chain, or damaged."
    return None, None, said
