"""Generates blocks on demand for test nodes, as debug_node does. Source: block-processing.md §6.2, §6.3, §6.5."""

from collections.abc import Iterator

from state.chain.chain import Chain
from state.chain.skip import TRUSTED, Skip
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.chain.state_edits import ScheduleHardfork, SetSigningKey
from state.protocol.constants import COIN_BLOCK_INTERVAL, DAY_SECONDS, TIME_MAX
from state.protocol.errors import require
from state.protocol.keys.keys import public_key, secret_from_wif
from state.tables import State

BLOCKS_MAX = 1_000_000
# Times have 32 bits. A block's time plus the longest period of the rules, 30 days, must fit as well.
GENERATED_TIME_MAX = TIME_MAX - 60 * DAY_SECONDS
# Flags that have no effect here, because the chain couldn't continue after such blocks, or a replay would differ. A block that isn't
# in the fork database has no successors, an unsigned block is refused when it is applied again, and transactions without a record could
# be sent twice.
NEVER_SKIPPED = Skip.FORK_DB | Skip.WITNESS_SIGNATURE | Skip.TRANSACTION_DUPE_CHECK


def generate_blocks(
    chain: Chain, key: str, count: int, skip_flags: int = Skip.NOTHING, missed: int = 0, edit: bool = True
) -> Iterator[None]:
    """Produce blocks with a private key (WIF), one per step, each `missed` slots after the first possible slot.

    The node can serve other clients between two steps. If a scheduled witness signs with another key, `edit` replaces that witness's key
    with the given one; without `edit` the iteration ends. With an empty key no block is produced. Flags of NEVER_SKIPPED in `skip_flags`
    have no effect.

    Raises: Refused if `count` exceeds BLOCKS_MAX, or if the last block would be later than GENERATED_TIME_MAX.
    """
    if count == 0 or not key:
        return
    require_bounded(count)
    skip_flags &= ~NEVER_SKIPPED
    secret = secret_from_wif(key)
    signing_key = public_key(secret)
    state = chain.state
    for left in range(count, 0, -1):
        # Checked before each block, because the head can move between two steps.
        require_time(state, left, missed)
        slot = missed + 1
        name, when = scheduled_witness(state, slot), slot_time(state, slot)
        if state.witness(name).signing_key != signing_key:
            if not edit:
                return
            set_signing_key(chain, name, signing_key, skip_flags)
        chain.generate_block(when, name, secret, skip_flags)
        yield


def generate_blocks_until(chain: Chain, key: str, time: int, sparsely: bool = True) -> Iterator[None]:
    """Produce blocks until a time (seconds since 1970), one per step.

    With `sparsely`, produce only the next block and a block in the last slot up to that time. All slots between these two are missed.
    """
    state = chain.state
    if state.head_time >= time or not key:
        return
    if not sparsely:
        yield from generate_blocks(chain, key, 1 + max(0, -((slot_time(state, 1) - time) // COIN_BLOCK_INTERVAL)))
        return
    yield from generate_blocks(chain, key, 1)
    slots = slot_at_time(state, time)
    if slots > 1:
        yield from generate_blocks(chain, key, 1, missed=slots - 1)


def schedule_hardfork(chain: Chain, number: int) -> None:
    """Make the next block apply every hardfork up to `number`. An unknown number has no effect."""
    if number < len(chain.state.spec.hardfork_versions):
        chain.edit(ScheduleHardfork(number), TRUSTED)


def set_signing_key(chain: Chain, name: str, signing_key: bytes, skip_flags: int) -> None:
    """Set a witness's signing key by an edit of the head block."""
    chain.edit(SetSigningKey(name, signing_key), skip_flags | TRUSTED)


def require_bounded(count: int) -> None:
    """Refuse more than BLOCKS_MAX blocks in one call."""
    require(count <= BLOCKS_MAX, "No more than ${max} blocks can be generated at once", condition="count <= max", max=BLOCKS_MAX)


def require_time(state: State, count: int, missed: int) -> None:
    """Refuse to produce `count` blocks, each after `missed` missed slots, if the last one would be later than GENERATED_TIME_MAX."""
    last = slot_time(state, missed + 1) + (count - 1) * (missed + 1) * COIN_BLOCK_INTERVAL
    require(
        last <= GENERATED_TIME_MAX,
        "count ${count} and miss_blocks ${missed} lead beyond second ${max} since 1970: only ${slots} slots are left",
        condition="last_block_time <= max",
        count=count,
        missed=missed,
        max=GENERATED_TIME_MAX,
        slots=max(0, (GENERATED_TIME_MAX - slot_time(state, 1)) // COIN_BLOCK_INTERVAL + 1),
    )
