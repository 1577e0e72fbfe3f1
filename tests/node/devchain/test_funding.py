"""The first blocks create the accounts of a chain spec: by operations of the first witness, in blocks that other nodes accept."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from node.app.context import NodeContext
from node.app.local_chain import LocalChain
from node.app.settings import Settings
from node.specs.builder import load_spec, with_accounts
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.invariants import validate_invariants
from state.operations.accounts import AccountCreate
from state.plugins.rc.plugin import RC
from state.plugins.registry import enable
from state.protocol.constants import COIN_MAX_TIME_UNTIL_EXPIRATION, COIN_MIN_BLOCK_SIZE_LIMIT
from state.protocol.errors import Refused
from state.protocol.keys.keys import derive_secret, public_key, wif_from_secret
from state.protocol.spec import ACCOUNTS_PER_BLOCK, ChainSpec, GenesisWitness
from state.protocol.transaction import SignedBlock
from tests.helpers.golden import fails
from tests.helpers.nodes import START, block_at, dev_chain, make_block

SPEC = load_spec("dev")
MANY = with_accounts(SPEC, 2 * ACCOUNTS_PER_BLOCK + 1)


def context_of(spec: ChainSpec, *plugins: str, is_producing: bool = True) -> NodeContext:
    return NodeContext(Settings(spec=spec, plugins=plugins, is_producing=is_producing, clock=lambda: START * 1000))


def made(spec: ChainSpec, *plugins: str) -> Chain:
    """Return a chain with its first blocks."""
    context = context_of(spec, *plugins)
    context.devchain.make_first_blocks()
    return context.chain


def blocks_of(chain: Chain) -> list[SignedBlock]:
    return [block_at(chain, number) for number in range(1, chain.state.props.head_block_number + 1)]


def require_funded(chain: Chain) -> None:
    """Assert that all accounts have their balances and keys, and that the witness who created them has exactly the rest."""
    state, spec = chain.state, chain.state.spec
    for given in spec.genesis.accounts:
        account, authority = state.account(given.name), state.authority(given.name)
        assert (account.balance, account.sbd_balance, account.memo_key) == (given.coin, given.sbd, given.memo)
        assert account.recovery_account == spec.genesis.witness
        assert [role.key_auths for role in (authority.owner, authority.active, authority.posting)] == [
            ((key, 1),) for key in (given.owner, given.active, given.posting)
        ]
    creator = state.account(spec.genesis.witness)
    assert (creator.balance, creator.sbd_balance) == (spec.constants.COIN_INIT_SUPPLY, spec.constants.COIN_SBD_INIT_SUPPLY)
    validate_invariants(state)


def test_history_shows_where_accounts_and_balances_come_from() -> None:
    chain = LocalChain()
    history = chain.call("condenser_api.get_account_history", ["alice", -1, 100])
    assert [(entry["block"], *entry["op"]) for _, entry in history[1:]] == [
        (1, "transfer", {"from": "initminer", "to": "alice", "amount": "100000.000 COIN", "memo": ""}),
        (1, "transfer", {"from": "initminer", "to": "alice", "amount": "1000.000 SBD", "memo": ""}),
        (1, "transfer_to_vesting", {"from": "initminer", "to": "alice", "amount": "100000.000 COIN"}),
    ]
    name, created = history[0][1]["op"]
    assert (name, created["creator"], created["new_account_name"], created["fee"]) == (
        "account_create",
        "initminer",
        "alice",
        "0.000 COIN",
    )
    require_funded(chain.chain)
    assert chain.chain.state.account("alice").vesting_shares == 10_000_000_000_000


def test_other_nodes_accept_the_blocks() -> None:
    chain = made(MANY, "rc")
    require_funded(chain)
    blocks = blocks_of(chain)
    assert [len(block.transactions) for block in blocks[:4]] == [ACCOUNTS_PER_BLOCK, ACCOUNTS_PER_BLOCK, 1, 0]
    assert max(block.size for block in blocks) < COIN_MIN_BLOCK_SIZE_LIMIT
    for before, block in pairwise(blocks):
        for trx in block.transactions:
            assert before.timestamp < trx.expiration <= before.timestamp + COIN_MAX_TIME_UNTIL_EXPIRATION
    assert len({row.adjustment for row in RC.of(chain.state).accounts}) == 1

    other = Chain(new_state(MANY, lambda fresh: enable(fresh, ("rc",))))
    for block in blocks:
        other.push_block(block)
    assert state_digest(other.state) == state_digest(chain.state)


def test_more_accounts_than_the_first_blocks_hold_make_more_blocks() -> None:
    count = 26 * ACCOUNTS_PER_BLOCK
    (model, *_) = SPEC.genesis.accounts
    accounts = tuple(replace(model, name=f"user{number}") for number in range(count))
    chain = made(replace(SPEC, genesis=replace(SPEC.genesis, accounts=accounts)))
    assert (chain.state.props.head_block_number, chain.state.head_time) == (26, START)
    assert chain.state.accounts.by_name.get(accounts[-1].name) is not None


@pytest.mark.parametrize("count", [1, 2])
def test_a_start_continues_after_a_kill(count: int) -> None:
    whole, context = made(MANY), context_of(MANY)
    for block in blocks_of(whole)[:count]:
        context.chain.push_block(block)
    context.devchain.make_first_blocks()
    require_funded(context.chain)
    assert context.chain.state.props.head_block_number == 3
    context.devchain.make_first_blocks()
    assert context.chain.state.props.head_block_number == 3


def test_a_node_that_makes_no_blocks_creates_them_when_asked() -> None:
    context = context_of(SPEC, is_producing=False)
    context.devchain.make_first_blocks()
    assert not context.chain.state.props.head_block_number
    context.devchain.make_block()
    require_funded(context.chain)


def test_a_reset_creates_them_again() -> None:
    context = context_of(SPEC)
    context.devchain.make_first_blocks()
    first = context.chain.state.props.head_block_id
    context.devchain.reset()
    assert context.chain.state.props.head_block_id == first
    require_funded(context.chain)


def test_the_creator_has_the_fees() -> None:
    spec = replace(SPEC, constants=replace(SPEC.constants, COIN_MIN_ACCOUNT_CREATION_FEE=3000))
    chain = made(spec)
    require_funded(chain)
    # Hardfork 20 multiplied the fees of witnesses by 30.
    created = block_at(chain, 1).transactions[0].operations[0]
    assert isinstance(created, AccountCreate)
    assert created.fee.amount == 90_000


def test_accounts_without_balances_are_created() -> None:
    poor = replace(SPEC.genesis.accounts[0], coin=0, sbd=0, vesting=0)
    chain = made(replace(SPEC, genesis=replace(SPEC.genesis, accounts=(poor,))))
    require_funded(chain)
    (trx,) = block_at(chain, 1).transactions
    assert len(trx.operations) == 1


def test_the_creator_can_have_a_key_of_its_own() -> None:
    secret = derive_secret("initminer", "owner", "its own")
    own = GenesisWitness(name="initminer", key=public_key(secret))
    genesis = replace(SPEC.genesis, special_witnesses=(own,))
    require_funded(made(replace(SPEC, genesis=genesis, witness_keys=(wif_from_secret(secret),))))


def test_a_missing_key_of_the_creator_is_named() -> None:
    other = SPEC.genesis.accounts[0]
    context = context_of(replace(SPEC, genesis=replace(SPEC.genesis, witness_key=other.owner)))
    context.chain.state.witnesses.modify(context.chain.state.witness("initminer"), signing_key=SPEC.genesis.witness_key)
    with fails(Refused):
        context.devchain.make_first_blocks()


def test_blocks_of_a_chain_with_its_accounts_at_genesis_are_refused() -> None:
    chain = Chain(new_state(SPEC))
    with fails(Refused):
        chain.push_block(make_block(dev_chain()))
    assert not chain.state.props.head_block_number
