"""Refusals of blocks, block steps, pops and block production. They must change nothing."""

from collections.abc import Callable

import pytest
from msgspec import structs

from state.chain.blocks import process_header_extensions
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.hardforks import apply_hardfork, process_hardforks
from state.chain.skip import Skip
from state.chain.slots import slot_time
from state.chain.steps.cashout import RewardPool, payout_of
from state.chain.steps.heads import update_global_data
from state.chain.steps.money import process_funds
from state.chain.steps.withdrawals import process_vesting_withdrawals
from state.effects.curves import LINEAR
from state.protocol.codec.kinds import Tagged
from state.protocol.errors import ChainError, UnknownHardfork
from state.protocol.keys.keys import secret_from_seed
from state.protocol.transaction import OPTIONAL_ACTIONS, REQUIRED_ACTIONS, ExampleRequiredAction, SignedBlock
from state.tables.accounts import WithdrawRoute
from tests.helpers.chains import BLOCK, NOW, add_account, add_comment, chain_at, refused_step
from tests.helpers.edits import ByFunction
from tests.helpers.nodes import DEV, SECRET, grown_chain, make_block

UNCHECKED = Skip.WITNESS_SIGNATURE | Skip.WITNESS_SCHEDULE_CHECK


@pytest.fixture
def chain() -> Chain:
    return grown_chain(3)


def seen(chain: Chain) -> tuple[object, ...]:
    """Return all data that a refusal must leave unchanged."""
    forks = chain.forks
    return state_digest(chain.state), [trx.id for trx in chain.pending], len(forks), forks.head, chain.state.journal.position()


def refused(chain: Chain, what: Callable[[], object]) -> str:
    """Return the text of a refusal. The refusal must change nothing."""
    before = seen(chain)
    with pytest.raises(ChainError) as caught:
        what()
    assert seen(chain) == before
    return caught.value.message()


def sealed(chain: Chain, **changes: object) -> SignedBlock:
    """Return a block on top of the head with these changes. It has no signature."""
    head = chain.state.props
    given: dict[str, object] = {"previous": head.head_block_id, "timestamp": head.time + 3, "witness": "initminer"}
    return chain.state.wire.seal_block(SignedBlock(**given | changes))  # type: ignore[arg-type]


# ------------------------------------------------------------------ blocks


def test_headers(chain: Chain) -> None:
    elsewhere = sealed(chain, previous=chain.state.props.head_block_id[:4] + bytes(16))
    text = refused(chain, lambda: chain.push_block(elsewhere, Skip.FORK_DB | UNCHECKED))
    assert text == "Assert Exception:head_block_id() == next_block.previous: "
    early = sealed(chain, timestamp=chain.state.head_time + 2)
    assert refused(chain, lambda: chain.push_block(early, Skip.WITNESS_SIGNATURE)) == "Assert Exception:slot_num > 0: "


def test_actions_before_hardfork_24() -> None:
    state = chain_at(23).state
    witness = state.witness("initminer")
    for tag in (REQUIRED_ACTIONS, OPTIONAL_ACTIONS):
        block = SignedBlock(extensions=(Tagged(tag, (ExampleRequiredAction("alice"),)),))
        text = refused_step(state, lambda block=block: process_header_extensions(state, block, witness))  # type: ignore[misc]
        assert text.endswith("Automated actions are not enabled until SMT hardfork.")


def test_a_chain_can_have_a_last_block() -> None:
    chain = Chain(new_state(structs.replace(DEV, block_limit=3)))
    make_block(chain)
    make_block(chain)
    assert refused(chain, lambda: make_block(chain)).endswith("Testnet block limit exceeded")


def test_too_many_missed_blocks() -> None:
    state = chain_at(number=9_999).state
    text = "The database does not have enough undo history to support a blockchain with so many missed blocks. Please add a checkpoint "
    block = SignedBlock(previous=(10_000).to_bytes(4, "big") + bytes(16), timestamp=NOW + 3, witness="initminer")
    state.wire.seal_block(block)
    update_global_data(state, SignedBlock(previous=(9_998).to_bytes(4, "big") + bytes(16), timestamp=NOW + 3), Skip.NOTHING)
    assert text in refused_step(state, lambda: update_global_data(state, block, Skip.NOTHING))
    update_global_data(state, block, Skip.UNDO_HISTORY_CHECK)


# ------------------------------------------------------------------ popping and changing


def test_nothing_to_pop() -> None:
    chain = grown_chain(0)
    assert refused(chain, chain.pop_block).endswith("there is no block to pop")
    make_block(chain)
    assert refused(chain, chain.pop_block).endswith("popping block would leave head block null")


def test_the_first_block_cannot_be_changed() -> None:
    for blocks in (0, 1):
        chain = grown_chain(blocks)
        assert refused(chain, lambda chain=chain: chain.edit(ByFunction(lambda state: None))).endswith(  # type: ignore[misc]
            "the first block can't be changed"
        )


def test_an_irreversible_head_stays() -> None:
    chain = grown_chain(2)
    chain.state.listeners.after_block.append(lambda state, block: state.set_props(last_irreversible_block_num=block.number))
    make_block(chain)
    assert refused(chain, chain.pop_block).endswith("the head block is irreversible")
    make_block(chain)
    assert refused(chain, chain.pop_block).endswith("the head block is irreversible")


# ------------------------------------------------------------------ producing


def test_producing(chain: Chain) -> None:
    state = chain.state
    late = slot_time(state, 1)
    other = secret_from_seed("other")
    for when, name, secret, text in (
        (late - 1, "initminer", SECRET, "slot_num > 0"),
        (late, "alice", SECRET, "scheduled_witness == witness_owner"),
        (late, "initminer", other, "witness_obj.signing_key == block_signing_private_key.get_public_key()"),
    ):
        said = refused(chain, lambda when=when, name=name, secret=secret: chain.generate_block(when, name, secret))  # type: ignore[misc]
        assert said == f"Assert Exception:{text}: "


# ------------------------------------------------------------------ steps


def test_hardforks_come_one_by_one() -> None:
    state = chain_at(22).state
    assert refused_step(state, lambda: apply_hardfork(state, 24)).endswith("Hardfork being applied out of order")


def test_an_unknown_hardfork_is_refused() -> None:
    state = chain_at(24).state
    newest = state.spec.hardfork_versions[-1]
    state.hardfork_properties.modify(state.hardforks, next_hardfork=newest + 1, next_hardfork_time=NOW)
    assert refused_step(state, lambda: process_hardforks(state, BLOCK)) == UnknownHardfork("").message()
    assert UnknownHardfork("").message() == "chain attempted to apply unknown hardfork:"
    state.hardfork_properties.modify(state.hardforks, next_hardfork_time=NOW + 1)
    process_hardforks(state, BLOCK)


def test_a_payout_fits_into_64_bits() -> None:
    state = chain_at().state
    comment = add_comment(state, "alice", "post", net_rshares=2)
    assert payout_of(state, comment, RewardPool(2**61, 1, LINEAR, 0, 0)) == 1_000_000_000  # all that it accepts
    text = refused_step(state, lambda: payout_of(state, comment, RewardPool(2**63 - 1, 1, LINEAR, 0, 0)))
    assert text == "Assert Exception:payout_u256 <= u256( uint64_t( std::numeric_limits<int64_t>::max() ) ): "


def test_inflation_of_too_large_a_supply() -> None:
    state = chain_at().state
    most = (2**63 - 1) // 978
    state.set_props(virtual_supply=most)
    process_funds(state, BLOCK)
    state.set_props(virtual_supply=most + 1)
    assert refused_step(state, lambda: process_funds(state, BLOCK)) == "Integer Overflow:"


def test_routes_above_100_percent() -> None:
    state = chain_at().state
    add_account(state, "alice", vesting_shares=100, vesting_withdraw_rate=100, to_withdraw=100, next_vesting_withdrawal=NOW)
    for name in ("bob", "carol"):
        add_account(state, name)
        state.withdraw_routes.insert(WithdrawRoute(from_account="alice", to_account=name, percent=5_100, auto_vest=name == "bob"))
    text = refused_step(state, lambda: process_vesting_withdrawals(state, BLOCK))
    assert text.endswith("Deposited more vests than were supposed to be withdrawn")
