"""Chains that begin where another one stands: their spec, keys, witnesses, first blocks and time."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from node.app.local_chain import LocalChain
from node.client.dev_api import CallRefused
from node.fork.building import ForkFailed, build_fork, forked_spec
from node.fork.file import write_fork
from node.fork.world import World
from rpc.fork import ForkOrigin
from state.chain.invariants import validate_invariants
from state.portable import export_rows
from state.protocol.constants import COIN_BLOCK_INTERVAL, DAY_SECONDS
from state.protocol.keys.keys import NULL_KEY, derive_secret, wif_from_secret

TRANSFER = {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}


def world_of(chain: LocalChain) -> World:
    """Return the complete state of a chain as a world."""
    head, state = chain.chain.head, chain.chain.state
    assert head is not None
    return World(header=replace(head, transactions=()), spec=state.spec, batch=export_rows(state), notes=())


def forked(path: Path, *, count: int = 1, keys: Any = "derived", witnesses: int = 0, **options: Any) -> LocalChain:
    """Return a fork of a chain with `count` witnesses, by way of a fork file."""
    source = LocalChain(witnesses=count)
    source.mine(2 * count)
    source.broadcast("transfer", TRANSFER)
    world = world_of(source)
    spec = forked_spec(world, keeps_keys=keys == "kept", witnesses=witnesses, keeps_chain_id=options.pop("keeps_chain_id", False))
    # Everything is in the world, so nothing is outside of it.
    chain = build_fork(replace(spec, is_partial=False), world, [])
    origin = ForkOrigin(
        source="http://127.0.0.1:8090",
        chain_id=source.spec.chain_id.hex(),
        number=world.header.number,
        block_id=world.header.id.hex(),
        time=world.header.timestamp,
        accounts=("alice",),
        keys=keys,
        witnesses=witnesses,
    )
    write_fork(chain, path / "f", origin)
    return LocalChain(fork=path / "f", **options)


def test_a_fork_goes_on_from_the_block_of_its_source(tmp_path: Path) -> None:
    chain = forked(tmp_path)
    base = chain.spec.base
    assert base.number
    assert chain.call("condenser_api.get_dynamic_global_properties")["head_block_number"] == base.number + 1
    first = chain.chain.block_by_number(base.number + 1)
    assert first is not None
    assert first.previous == base.block_id
    assert first.timestamp == base.time + COIN_BLOCK_INTERVAL
    assert chain.call("explorer_api.get_fork")["source"] == "http://127.0.0.1:8090"
    chain.mine(100)
    validate_invariants(chain.chain.state)


def test_the_slots_since_the_fork_block_are_missed_at_once(tmp_path: Path) -> None:
    chain = forked(tmp_path, count=21, time=None)
    later = LocalChain(fork=tmp_path / "f", time=chain.spec.base.time + 300 * DAY_SECONDS)
    now = later.chain.state.props.time
    assert now - chain.spec.base.time > 299 * DAY_SECONDS
    later.mine(42)
    validate_invariants(later.chain.state)
    assert later.chain.state.props.time == now + 42 * COIN_BLOCK_INTERVAL


def test_accounts_have_keys_derived_from_their_names(tmp_path: Path) -> None:
    chain = forked(tmp_path)
    chain.broadcast("transfer", TRANSFER)
    key = wif_from_secret(derive_secret("bob", "active", "fork"))
    assert chain.accounts["bob"].active.private == key
    # Keys that an account has replaced are no longer listed.
    chain.set_authority("bob", "active", chain.accounts["alice"].active.public)
    listed = {entry["name"]: entry["keys"] for entry in chain.call("dev_api.list_keys")}
    assert set(listed["bob"]) == {"owner", "posting", "memo"}
    assert "null" not in listed


def test_kept_keys_are_those_of_the_source(tmp_path: Path) -> None:
    chain = forked(tmp_path, keys="kept")
    assert chain.call("dev_api.list_keys") == []
    with pytest.raises(CallRefused):
        chain.broadcast("transfer", TRANSFER)
    chain.broadcast("transfer", TRANSFER, keys=[wif_from_secret(derive_secret("alice", "active", "dev"))])
    chain.impersonate("alice")
    chain.broadcast("transfer", TRANSFER)


def test_a_fork_has_a_chain_id_of_its_own(tmp_path: Path) -> None:
    chain = forked(tmp_path)
    source = LocalChain().spec.chain_id
    assert chain.spec.chain_id != source
    assert forked(tmp_path).spec.chain_id == chain.spec.chain_id  # of the same block
    assert forked(tmp_path, keeps_chain_id=True).spec.chain_id == source


@pytest.mark.parametrize("count", [1, 2, 5, 20, 21])
def test_the_witnesses_with_the_most_votes_make_the_blocks(tmp_path: Path, count: int) -> None:
    chain = forked(tmp_path, count=21, witnesses=count)
    before = chain.chain.state.props.head_block_number
    chain.mine(63)
    blocks = [chain.chain.block_by_number(number) for number in range(before, before + 64)]
    assert len({block.witness for block in blocks if block is not None}) == count
    assert chain.chain.state.props.last_irreversible_block_num >= before + 63 - 21
    validate_invariants(chain.chain.state)


def test_a_reset_returns_to_the_fork_block(tmp_path: Path) -> None:
    chain = forked(tmp_path)
    before = chain.digest()
    chain.broadcast("transfer", TRANSFER)
    chain.advance(7 * DAY_SECONDS)
    assert chain.digest() != before
    chain.reset()
    assert chain.digest() == before
    assert LocalChain(fork=tmp_path / "f").digest() == before


def test_a_signature_for_the_source_is_explained(tmp_path: Path) -> None:
    kept, chain = forked(tmp_path, keeps_chain_id=True), forked(tmp_path)
    kept.broadcast("transfer", TRANSFER)
    assert kept.chain.head is not None
    with pytest.raises(CallRefused, match="the source of this fork"):
        chain.push(kept.chain.state.wire.pack_transaction(kept.chain.head.transactions[0]))
    with pytest.raises(ForkFailed, match="only 1 with a signing key"):
        without_signing_keys(tmp_path)


def without_signing_keys(path: Path) -> None:
    """Make a fork whose blocks two witnesses would have to make, of a source on which one witness has a signing key."""
    source = LocalChain(witnesses=21)
    source.mine(42)
    world = world_of(source)
    for row in world.batch["witnesses"][1:]:
        row["signing_key"] = NULL_KEY
    build_fork(replace(forked_spec(world, witnesses=2), is_partial=False), world, [])
