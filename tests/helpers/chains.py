"""Chains for tests of rules. Tests insert rows directly and apply unsigned operations; a refusal must leave the state unchanged."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import structs

import state.operations
from node.specs.builder import load_spec
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.hardforks import set_hardfork
from state.chain.skip import Skip
from state.chain.transactions import apply_transaction
from state.plugins.registry import enable
from state.protocol.authority import Authority, key_authority
from state.protocol.constants import VESTS_PER_COIN_SATOSHI
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key, secret_from_seed
from state.protocol.operation import Operation
from state.protocol.spec import MAIN_BUILD, ChainSpec
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata
from state.tables.content import Comment
from state.tables.globals import ChainProperties
from state.tables.texts import CommentContent
from state.tables.witnesses import Witness

assert state.operations  # fills the registry

NOW = 1_606_780_800  # the time of the first block of most recorded cases: no hardfork is due later
NEWEST = 23
UNSIGNED = Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK | Skip.TAPOS_CHECK
BLOCK = SignedBlock()

TEST_SPEC = load_spec("testnet")
# The rules of the main build; its treasury account exists from genesis, as hardfork 21 needs it.
MAIN_SPEC = structs.replace(TEST_SPEC, build="main", constants=structs.replace(MAIN_BUILD, TREASURY_AT_GENESIS=True))


def chain_at(hardfork: int = NEWEST, spec: ChainSpec = TEST_SPEC, number: int = 1000, plugins: Iterable[str] = ()) -> Chain:
    """A chain with hardforks applied up to `hardfork`. Its head block has this number and the time `NOW`."""
    fresh = new_state(spec, prepare=lambda state: enable(state, plugins))
    set_hardfork(fresh, hardfork, apply_now=True)
    fresh.set_props(head_block_number=number, time=NOW)
    return Chain(fresh)


def genesis_spec(name: str) -> ChainSpec:
    """Return a chain spec with its accounts at genesis, so that the chain of a test can begin with any block."""
    return load_spec(name).with_accounts_in_blocks(False)


def genesis_state(*plugins: str, chain: str = "steem-testnet") -> State:
    """Return a state at genesis with these plugins."""
    return new_state(genesis_spec(chain), prepare=lambda state: enable(state, plugins))


def key_of(name: str) -> bytes:
    """The public key that the test account uses for all its roles."""
    return public_key(secret_from_seed(name))


def add_account(state: State, name: str, authority: Authority | None = None, **fields: Any) -> Account:
    """Add an account with balances. The supplies and the vesting fund grow with them (1.000000 VESTS for 1.000 COIN)."""
    authority = authority or key_authority(key_of(name))
    given: dict[str, Any] = {"memo_key": key_of(name), "mined": False} | fields
    account = state.accounts.insert(Account(name=name, **given))
    state.account_authorities.insert(AccountAuthority(account=name, owner=authority, active=authority, posting=authority))
    state.account_metadata.insert(AccountMetadata(account=account.id))
    fund = account.vesting_shares // VESTS_PER_COIN_SATOSHI
    coin, sbd = account.balance + account.savings_balance + fund, account.sbd_balance + account.savings_sbd_balance
    props = state.props
    state.set_props(
        current_supply=props.current_supply + coin,
        current_sbd_supply=props.current_sbd_supply + sbd,
        virtual_supply=props.virtual_supply + coin + sbd,
        total_vesting_fund_coin=props.total_vesting_fund_coin + fund,
        total_vesting_shares=props.total_vesting_shares + account.vesting_shares,
    )
    return account


def add_witness(state: State, name: str, **fields: Any) -> Witness:
    """Add a witness whose signing key is the key of its account."""
    given: dict[str, Any] = {"signing_key": key_of(name)} | fields
    return state.witnesses.insert(Witness(owner=name, **given))


def add_comment(state: State, author: str, permlink: str, parent: Comment | None = None, **fields: Any) -> Comment:
    """Add a comment created at the head block's time with a payout an hour later. No counters of its author or parents change."""
    root = state.comments.next_id if parent is None else parent.root_comment
    given: dict[str, Any] = {
        "created": state.head_time,
        "cashout_time": state.head_time + 3600,
        "reward_weight": 10000,
        "root_comment": root,
    }
    if parent is not None:
        given |= {"parent_author": parent.author, "parent_permlink": parent.permlink, "depth": parent.depth + 1}
    comment = state.comments.insert(Comment(author=author, permlink=permlink, **given | fields))
    state.comment_contents.insert(CommentContent(comment=comment.id))
    return comment


def set_median(state: State, **changes: Any) -> None:
    """Set median properties of the witness schedule, for example the account_creation_fee."""
    median: ChainProperties = structs.replace(state.schedule.median_props, **changes)
    state.witness_schedules.modify(state.schedule, median_props=median)


def move_to(state: State, time: int) -> None:
    state.set_props(time=time)


# ------------------------------------------------------------------ operations


def transaction(chain: Chain, *operations: Operation) -> SignedTransaction:
    """Return an unsigned transaction that has not expired."""
    return chain.state.wire.seal(SignedTransaction(expiration=chain.state.head_time + 60, operations=operations))


def push(chain: Chain, *operations: Operation) -> None:
    """Push a transaction with these operations. Soft rules apply to it."""
    chain.push_transaction(transaction(chain, *operations), UNSIGNED)


def apply(chain: Chain, *operations: Operation) -> None:
    """Apply operations as part of a block, without soft rules."""
    journal = chain.state.journal
    mark = journal.position()
    try:
        apply_transaction(chain.state, transaction(chain, *operations), UNSIGNED | Skip.TRANSACTION_DUPE_CHECK)
    except ChainError:
        journal.undo(mark)
        raise


def refused(chain: Chain, *operations: Operation, by: Callable[..., None] = apply) -> str:
    """Assert that operations are refused and leave the state unchanged. They are applied as part of a block, or pushed with `by=push`.
    Return the text of the refusal.
    """
    before = state_digest(chain.state)
    try:
        by(chain, *operations)
    except ChainError as error:
        assert state_digest(chain.state) == before
        for _, table in chain.state.tables():
            table.check()
        return error.message(chain.state.spec.spell)
    raise AssertionError(f"not refused: {operations}")


def refused_step(state: State, step: Callable[[], object]) -> str:
    """Assert that a function is refused and that undoing its changes restores the state. Return the text of the refusal."""
    position, before = state.journal.position(), state_digest(state)
    try:
        step()
    except ChainError as error:
        state.journal.undo(position)
        assert state_digest(state) == before
        return error.message(state.spec.spell)
    raise AssertionError("not refused")


def reason(chain: Chain, *operations: Operation, by: Callable[..., None] = apply) -> str:
    """Return the text of a refusal without its condition, or the condition if it has no text."""
    condition, text = refused(chain, *operations, by=by).removeprefix("Assert Exception:").split(": ", 1)
    return text or condition


def completed(state: State, *classes: type[Operation]) -> list[Operation]:
    """Return a list to which each completed operation of these classes is appended, including virtual ones."""
    operations: list[Operation] = []
    state.listeners.on_operation(lambda _, operation: operations.append(operation), *classes)
    return operations
