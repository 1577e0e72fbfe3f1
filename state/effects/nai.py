"""The pool of names that new tokens may take. Source: operations.md §15.1; block-processing.md §3.25."""

from state.effects.tokens import token_with_name
from state.protocol.constants import SMT_MAX_NAI_GENERATION_TRIES, SMT_MAX_NAI_POOL_COUNT
from state.protocol.values.asset import CONTROL_BIT, DECIMALS_MASK, NAI_SHIFT
from state.protocol.values.integers import WORD32
from state.tables import State

FNV_OFFSET, FNV_PRIME = 2166136261, 16777619


def candidate(seed: int) -> int:
    """Return the symbol, with precision 0, that a seed draws: FNV-1a over its four bytes, into the range of names, made even.

    Odd names are those of vesting shares.
    """
    drawn = FNV_OFFSET
    for byte in seed.to_bytes(4, "little"):
        drawn = (drawn ^ byte) * FNV_PRIME % WORD32
    digits = (drawn % 90_000_000 + 10_000_000) & ~1
    return digits << NAI_SHIFT | CONTROL_BIT


def is_in_pool(state: State, symbol: int) -> bool:
    """Return whether a symbol's name is in the pool, in whatever precision."""
    return without_precision(symbol) in state.nai_pool.nais


def replenish_pool(state: State) -> None:
    """Fill the pool with names drawn from the head block's id; stops after 100 draws of a name that is taken.

    The reference counts draws and collisions for a head block in process memory; here they are part of the state, reset
    with the head, which is what a node sees that only applies blocks.
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
    """Remove the name of a new token from the pool: the last name takes its place."""
    nais, name = list(state.nai_pool.nais), without_precision(symbol)
    if name not in nais:
        return
    nais[nais.index(name)] = nais[-1]
    nais.pop()
    state.nai_pools.modify(state.nai_pool, nais=tuple(nais))


def without_precision(symbol: int) -> int:
    """Return the symbol of the same name with precision 0, as the pool holds it."""
    return symbol & ~DECIMALS_MASK
