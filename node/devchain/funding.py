"""Transactions with which the first witness creates the accounts of the chain spec in the first blocks (`genesis.accounts_in_blocks`).

A transaction creates one account with its balances. Accounts are created in the order of the spec, so that a node that was killed between
the first blocks continues with the first missing account.
"""

from bisect import bisect_left
from collections.abc import Iterator

from state.chain.transactions import canonical_rule
from state.operations.accounts import AccountCreate
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting
from state.protocol.authority import key_authority
from state.protocol.keys.signatures import sign
from state.protocol.operation import Operation
from state.protocol.spec import ACCOUNTS_PER_BLOCK, GenesisAccount
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import SBD, Asset
from state.tables import State


def has_missing_accounts(state: State) -> bool:
    """Whether accounts of the spec are still missing and must be created by blocks."""
    genesis = state.spec.genesis
    return genesis.accounts_in_blocks and bool(genesis.accounts) and state.accounts.by_name.get(genesis.accounts[-1].name) is None


def funding_transactions(state: State, secret: bytes, when: int) -> tuple[SignedTransaction, ...]:
    """Return the transactions of the next block, whose time is `when`. They create the first few missing accounts.

    `secret` is the first witness's key.
    """
    accounts, find = state.spec.genesis.accounts, state.accounts.by_name.get
    first = bisect_left(accounts, 1, key=lambda account: find(account.name) is None)
    missing = accounts[first : first + ACCOUNTS_PER_BLOCK]
    return tuple(_signed(state, tuple(_operations(state, account)), secret, when) for account in missing)


def _operations(state: State, account: GenesisAccount) -> Iterator[Operation]:
    """Yield the operations that create an account and give it its balances."""
    creator, name = state.spec.genesis.witness, account.name
    yield AccountCreate(
        fee=Asset(state.schedule.median_props.account_creation_fee),
        creator=creator,
        new_account_name=name,
        owner=key_authority(account.owner),
        active=key_authority(account.active),
        posting=key_authority(account.posting),
        memo_key=account.memo,
    )
    for balance in (Asset(account.coin), Asset(account.sbd, SBD)):
        if balance.amount:
            yield Transfer(creator, name, balance, "")
    if account.vesting:
        yield TransferToVesting(creator, name, Asset(account.vesting))


def _signed(state: State, operations: tuple[Operation, ...], secret: bytes, when: int) -> SignedTransaction:
    """Return a signed transaction that refers to the head block and expires with the block at `when`."""
    props, wire = state.props, state.wire
    trx = SignedTransaction(
        ref_block_num=props.head_block_number & 0xFFFF,
        ref_block_prefix=int.from_bytes(props.head_block_id[4:8], "little"),
        expiration=when,
        operations=operations,
    )
    trx.signatures = (sign(secret, wire.signature_digest(wire.seal(trx)), canonical_rule(state)),)
    return wire.seal(trx)
