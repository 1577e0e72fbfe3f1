"""Partial chains for tests: a part of another chain's rows, imported into a fresh state."""

from collections.abc import Iterable

from msgspec.structs import replace

from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.plugins.registry import enable
from state.portable import PORTABLE, Batch, export_rows, import_world
from state.portable.imports import WORLD

BELONGING = {name: portable.owner for name, portable in PORTABLE.items() if portable.owner}


def world_of(batch: Batch) -> Batch:
    """The rows of the whole chain, and those of plugins."""
    return {name: rows for name, rows in batch.items() if name in WORLD or "/" in name}


def rows_of(batch: Batch, names: Iterable[str], *, is_light: bool = False) -> Batch:
    """The rows of accounts, and with `is_light` only their own rows and authorities."""
    chosen = set(names)
    part: Batch = {"accounts": [row | {"is_light": is_light} for row in batch["accounts"] if row["name"] in chosen]}
    for name in ("account_metadata", "account_authorities"):
        part[name] = [row for row in batch[name] if row["account"] in chosen]
    if is_light:
        return part
    for name, column in BELONGING.items():
        part[name] = [row for row in batch.get(name, ()) if row[column] in chosen]
    part["vesting_delegations"] += [row for row in batch["vesting_delegations"] if row["delegatee"] in chosen - {row["delegator"]}]
    part["vesting_delegations"] = list({(row["delegator"], row["delegatee"]): row for row in part["vesting_delegations"]}.values())
    return part


def posts_of(batch: Batch, names: Iterable[str]) -> Batch:
    """The discussions in which accounts have written, with all votes."""
    chosen = set(names)
    roots = {row["root_comment"] for row in batch["comments"] if row["author"] in chosen}
    comments = [row for row in batch["comments"] if row["root_comment"] in roots]
    keys = {(row["author"], row["permlink"]) for row in comments}
    return {"comments": comments} | {
        name: [row for row in batch[name] if row["comment"] in keys] for name in ("comment_contents", "comment_votes")
    }


def partial_chain(source: Chain, names: Iterable[str], *plugins: str) -> Chain:
    """A chain that begins at another one's head with the world, some accounts and their discussions."""
    batch = export_rows(source.state)
    spec = replace(source.state.spec, is_partial=True)
    chain, head = Chain(new_state(spec, lambda state: enable(state, plugins))), source.head
    assert head is not None
    import_world(chain.state, world_of(batch) | rows_of(batch, names) | posts_of(batch, names))
    chain.state.hardfork_times[:] = source.state.hardfork_times
    chain.start_at(replace(head, transactions=()), lambda number: None, is_changed_by_hand=False, settled_edits=0)
    return chain
