"""Builds the chain of a fork from rows of its source."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256

from msgspec.structs import replace

from node.fork.accounts import sort_accounts
from node.fork.keys import PASSWORD, SIGNING_SECRET, replace_keys
from node.fork.world import World
from node.runtime.errors import NodeError
from node.specs.plugins import KNOWN
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.invariants import InvariantBroken, validate_invariants
from state.chain.irreversible import no_block
from state.chain.steps.schedule import update_median_properties, update_schedule
from state.plugins.registry import PLUGINS, enable
from state.portable import Batch, import_rows, import_world
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.errors import ChainError
from state.protocol.keys.keys import NULL_KEY, wif_from_secret
from state.protocol.spec import ChainSpec, Genesis
from state.tables import State

# Sections of plugins with rows of accounts that don't refer to posts.
OF_ACCOUNTS = (
    *("rc/accounts", "reputation/rows", "follow/follows", "follow/counts"),
    *("communities/communities", "communities/roles", "communities/subscriptions", "communities/last_reads"),
)


class ForkFailed(NodeError):
    """Error for rows of a source that don't result in a chain."""


def forked_spec(
    world: World, *, keeps_keys: bool = False, witnesses: int = 0, keeps_chain_id: bool = False, is_complete: bool = False
) -> ChainSpec:
    """Return the spec of a fork that this machine makes blocks for. It has the constants of the source.

    `witnesses` is the size of a round; 0 leaves it at 21. Without `keeps_chain_id`, no signature for the fork is valid on the source.
    With `is_complete`, the fork has everything of the source.
    """
    source = world.spec
    return replace(
        source,
        name=f"fork of {source.name}",
        chain_id=source.chain_id if keeps_chain_id else forked_chain_id(source.chain_id, world.header.id),
        build="test",
        block_limit=0,
        # The slots between the fork block and the present have no blocks.
        constants=replace(source.constants, SHUT_DOWN_INACTIVE_WITNESSES=False),
        required_participation=0,
        # The state comes from the source, not from a genesis.
        genesis=Genesis(witness_key=NULL_KEY),
        witness_keys=(wif_from_secret(SIGNING_SECRET),),
        plugins=KNOWN,
        is_partial=not is_complete,
        round_size=witnesses or COIN_MAX_WITNESSES,
        account_password="" if keeps_keys else PASSWORD,
    )


def forked_chain_id(source: bytes, block_id: bytes) -> bytes:
    """Return the chain id of a fork."""
    return sha256(f"coind fork of {source.hex()} at {block_id.hex()}".encode()).digest()


def build_fork(spec: ChainSpec, world: World, batches: Iterable[Batch] = (), next_proposal_id: int = 0) -> Chain:
    """Return a chain at the fork block, with the world and the rows of the batches. Raises ForkFailed.

    The batches are changed: keys in them are replaced. `next_proposal_id` is the id of the next new proposal, if it's larger than those of
    the rows.
    """
    batches = list(batches)
    order_accounts(world.batch, batches)
    state = new_state(spec, lambda fresh: enable(fresh, PLUGINS))
    with refusing(state):
        replace_keys(world.batch, spec)
        import_world(state, world.batch, is_complete=not spec.is_partial, next_proposal_id=next_proposal_id)
        processed = state.hardforks.processed_hardforks
        state.hardfork_times[: len(processed)] = processed
        start_round(state)
        # Clients refer to the block after the last irreversible one, which must be on this chain.
        state.set_props(last_irreversible_block_num=world.header.number)
        import_batches(state, batches)
    chain = Chain(state)
    chain.start_at(world.header, no_block, is_changed_by_hand=False)
    return chain


def order_accounts(batch: Batch, others: Iterable[Batch]) -> None:
    """Add the accounts of other batches to the batch of the world as light accounts, so that all accounts are in the source's order.

    The plugins' rows of accounts are moved as well, because plugins derive them for accounts that are imported without them.
    """
    known = {row["name"] for row in batch.get("accounts", ())}
    for other in others:
        new = {row["name"] for row in other.get("accounts", ())} - known
        known |= new
        batch.setdefault("accounts", []).extend(row | {"is_light": True} for row in other.get("accounts", ()) if row["name"] in new)
        for table in ("account_authorities", "account_metadata"):
            batch.setdefault(table, []).extend(row for row in other.get(table, ()) if row["account"] in new)
        for section in OF_ACCOUNTS:
            batch.setdefault(section, []).extend(other.pop(section, ()))
    sort_accounts(batch)


def extend_fork(chain: Chain, batches: Iterable[Batch]) -> None:
    """Add the rows of the batches to a chain at its fork block. Raises ForkFailed, after which the chain is unusable."""
    with refusing(chain.state):
        import_batches(chain.state, batches)


def import_batches(state: State, batches: Iterable[Batch]) -> None:
    """Import batches, with the keys of the fork, and check the invariants."""
    for batch in batches:
        replace_keys(batch, state.spec)
        import_rows(state, batch)
    validate_invariants(state)
    state.journal.commit(state.journal.position())


def start_round(state: State) -> None:
    """If rounds are smaller than the source's, begin a new round, with the witnesses that have the most votes."""
    size = state.spec.round_size
    if size < state.schedule.num_scheduled_witnesses:
        able = sum(witness.signing_key != NULL_KEY for witness in state.witnesses)
        if able < size:
            raise ValueError(f"{size} witnesses can't make the blocks, the source has only {able} with a signing key")
        update_schedule(state)
        update_median_properties(state)


@contextmanager
def refusing(state: State) -> Iterator[None]:
    """Convert errors about rows of the source into ForkFailed."""
    try:
        yield
    except ValueError as error:
        raise ForkFailed(f"the rows of the source can't be used: {error}") from None
    except ChainError as error:
        raise ForkFailed(f"the rows of the source can't be used: {error.message(state.spec.spell)}") from None
    except InvariantBroken as error:
        raise ForkFailed(f"the rows of the source don't add up: {error}") from None
