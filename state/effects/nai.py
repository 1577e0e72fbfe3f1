"""The pool of names (NAIs) available to new tokens. Source: operations.md §15.1; block-processing.md §3.25."""

from state.effects.tokens import token_with_name
from state.protocol.constants import SMT_MAX_NAI_GENERATION_TRIES, SMT_MAX_NAI_POOL_COUNT
from state.protocol.values.asset import CONTROL_BIT, DECIMALS_MASK, NAI_SHIFT
from state.protocol.values.integers import WORD32
from state.tables import State

FNV_OFFSET, FNV_PRIME = 2166136261, 16777619


def candidate(seed: int) -> int:
    """Return the symbol, with precision 0, that a seed draws: FNV-1a over the seed's four bytes, reduced to an even name in range.

    Odd names belong to vesting shares.
    """
    drawn = FNV_OFFSET
    for byte in seed.to_bytes(4, "little"):
        drawn = (drawn ^ byte) * FNV_PRIME % WORD32
    digits = (drawn % 90_000_000 + 10_000_000) & ~1
    return digits << NAI_SHIFT | CONTROL_BIT


def is_in_pool(state: State, symbol: int) -> bool:
    """Whether a symbol's name is in the pool, in any precision."""
    return without_precision(symbol) in state.nai_pool.nais


def replenish_pool(state: State) -> None:
    """Fill the pool with names drawn from the head block's id. Stop after 100 draws of taken names.

    The reference counts draws and collisions per head block in process memory. Here the counts are part of the state, and are reset when
    the head changes. The result is that of a reference node that only applies blocks.
    """
    pool, head = state.nai_pool, state.props.head_block_id
    attempts, collisions = (pool.attempts, pool.collisions) if pool.drawn_for == head else (0, 0)
    nais = list(pool.nais)
    base = int.from_bytes(head[16:20], "little")
    while len(nais) < SMT_MAX_NAI_POOL_COUNT and collisions < SMT_MAX_NAI_GENERATION_TRIES:
        symbol = candidate((base + attempts) % WORD32)
        attempts += 1
        if symbol in nais or token_with_name(state, symbol) is not None:
            collisions += 1
        else:
            nais.append(symbol)
    state.nai_pools.modify(pool, nais=tuple(nais), drawn_for=head, attempts=attempts, collisions=collisions)


def take_from_pool(state: State, symbol: int) -> None:
    """Remove the name of a new token from the pool, and move the pool's last name to the free position."""
    nais, name = list(state.nai_pool.nais), without_precision(symbol)
    if name not in nais:
        return
    nais[nais.index(name)] = nais[-1]
    nais.pop()
    state.nai_pools.modify(state.nai_pool, nais=tuple(nais))


def without_precision(symbol: int) -> int:
    """Return the symbol with the same name and precision 0. The pool contains such symbols."""
    return symbol & ~DECIMALS_MASK
