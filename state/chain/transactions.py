"""Applies one transaction to the state: its checks in the reference's order, then its operations.

Blocks, pushed transactions and block assembly use the same function. Skip flags select the checks to skip.
Source: block-processing.md §2.8-§2.11.
"""

from collections.abc import Iterable, Sequence

from state.chain.skip import Skip
from state.effects.operation_events import notify
from state.protocol.authorization.signatures_check import LIMITS, NO_LIMITS, Lookups, require_only_posting, verify
from state.protocol.constants import (
    COIN_MAX_TIME_UNTIL_EXPIRATION,
    COIN_PROTECTION_HARDFORK_TIME231,
    COIN_TEMP_ACCOUNT,
    EDIT_STEPS_MAX,
    HIVE_TREASURY_ACCOUNT,
)
from state.protocol.errors import (
    ChainError,
    InvalidTransaction,
    IrrelevantSignature,
    MissingActiveAuthority,
    Refused,
    TransactionExpired,
    WrongReferenceBlock,
    require,
)
from state.protocol.keys.signatures import Canonical
from state.protocol.operation import Needed, Operation
from state.protocol.transaction import ZERO_ID, SignedTransaction
from state.protocol.work import BYTES_PER_UNIT, KEY_UNITS, ONE_TRANSACTION, TooMuchWork
from state.tables import State
from state.tables.globals import TransactionRecord

# Blocks of the main chain that were accepted with a wrong merkle root and with missing active authorities, and their roots.
EXCEPTION_BLOCKS = {
    3705111: "0a8f0fd5450c3706ec8b8cbad795cd0b3679bf35",
    3705120: "2027edb72b671f7011c8cc4c7a8b59c39b305093",
    3713940: "bf8a1d516927c506ebdbb7b38bef2e992435435f",
    3714132: "e8b77773d268b72c8d650337b8cce360bbe64779",
    3714567: "45af59a8c2d7d4a606151ef5dae03d2dfe13fbdd",
    3714588: "e64275443bdc82f104ac936486d367af8f6d1584",
    4138790: "f65a3a788a2ef52406d8ba5705d7288be228403f",
    5435426: "0b32538b2d22bd3146d54b6e3cb5ae8b9780e8a5",
}
IMPERSONATED_MAX = 10_000
SIZE_MARGIN = 256
DUPLICATE_CONDITION = (
    "(skip & skip_transaction_dupe_check) || trx_idx.indices().get<by_trx_id>().find(trx_id) == trx_idx.indices().get<by_trx_id>().end()"
)


def authority_lookups(state: State) -> Lookups:
    """Return the functions with which the authority check looks up authorities. They refuse unknown accounts."""
    authority = state.authority
    return Lookups(
        active=lambda name: authority(name).active,
        owner=lambda name: authority(name).owner,
        posting=lambda name: authority(name).posting,
        spend=state.work.spend,
    )


def canonical_rule(state: State) -> Canonical:
    """Return the canonical form required of signatures: BIP 62 since hardfork 20, and earlier the rule of the reference's library."""
    return Canonical.bip_0062 if state.hardfork >= 20 else Canonical.fc_canonical


def validate_transaction(state: State, trx: SignedTransaction) -> None:
    """Make the stateless checks: at least one operation, and each operation's `validate`."""
    require(trx.operations, "A transaction must have at least one operation", condition="operations.size() > 0")
    for index, operation in enumerate(trx.operations):
        try:
            operation.validate(state.wire.codecs)
        except ChainError as error:
            error.operation = index
            raise


def require_size_and_work(state: State, trx: SignedTransaction, units_max: int | None = None) -> None:
    """Refuse a transaction that is too large for a block, or whose operations alone exceed `units_max` of work."""
    require(
        trx.size <= state.props.maximum_block_size - SIZE_MARGIN,
        condition="fc::raw::pack_size(trx) <= (get_dynamic_global_properties().maximum_block_size - 256)",
    )
    if units_max is not None and len(trx.operations) > 1:
        kinds: dict[str, int] = {}
        for operation in trx.operations:
            kinds[operation.NAME] = kinds.get(operation.NAME, 0) + operation.UNITS
        if sum(kinds.values()) > units_max:
            raise TooMuchWork(ONE_TRANSACTION, units_max, kinds)


def verify_authority(state: State, trx: SignedTransaction) -> bool:
    """Refuse unless the signatures are exactly those that the operations need, none missing and none superfluous.

    Return whether the transaction is valid only through impersonation.
    """
    if state.impersonated.is_on:
        return verify_impersonated(state, trx)
    verify_signatures(state, trx)
    return False


def verify_impersonated(state: State, trx: SignedTransaction) -> bool:
    """Verify signatures, counting authorities of impersonated accounts as given. Return whether impersonation was necessary.

    A transaction that was accepted through impersonation stays valid. Signatures are not checked if impersonated accounts give every
    needed authority. If they give some, superfluous signatures are allowed.
    """
    impersonated = state.impersonated
    try:
        verify_signatures(state, trx)
    except ChainError:
        if trx.id in impersonated.accepted:
            return True
        needed = Needed.by(trx.operations)
        if needed.posting:
            require_only_posting(needed)
        left = impersonated.left(needed)
        if left.active or left.owner or left.posting or left.other:
            keys = state.wire.signers(trx, canonical_rule(state))
            try:
                verify(left, keys, authority_lookups(state), LIMITS, impersonated.accounts)
            except IrrelevantSignature:
                if left == needed:
                    raise
        return True
    return False


def impersonate(state: State, accounts: Iterable[str], is_everyone: bool) -> None:
    """Accept unsigned transactions of `accounts`, or of every account, replacing the previous set. Unknown accounts are refused."""
    names = list(accounts)
    most = IMPERSONATED_MAX
    require(len(names) <= most, "no more than ${max} accounts can be named", condition="accounts.size() <= max", max=most)
    for name in names:
        require(state.accounts.by_name.get(name) is not None, "there is no account ${name}", condition="account != nullptr", name=name)
    state.impersonated.set(names, is_everyone)


def verify_signatures(state: State, trx: SignedTransaction) -> None:
    """Refuse unless the signatures are exactly those that the operations need."""
    # Limits of the search through authorities. Before hardfork 20 only pushed transactions were limited.
    limits = LIMITS if state.hardfork >= 20 or state.is_pushing else NO_LIMITS
    keys = state.wire.signers(trx, canonical_rule(state))
    if len(keys) == 1 and is_signed_by_own_key(state, trx.operations, keys[0], limits.members):
        return
    try:
        # The public chain accepted a few blocks with a missing active authority.
        verify(Needed.by(trx.operations), keys, authority_lookups(state), limits)
    except MissingActiveAuthority:
        if state.spec.is_test or state.props.head_block_number + 1 not in EXCEPTION_BLOCKS:
            raise


def is_signed_by_own_key(state: State, operations: Sequence[Operation], key: bytes, members: int) -> bool:
    """Whether operations need only one account's authority, and `key` alone meets the threshold of that authority.

    This is true for nearly all transactions. `verify` would accept the same signatures, but checking this simple case first saves 4 % of a
    replay's time.
    """
    signer = operations[0].sole_signer() if operations else ("", "")
    role, name = signer
    if (role != "posting" and role != "active") or name == COIN_TEMP_ACCOUNT:
        return False
    for operation in operations[1:]:
        if operation.sole_signer() != signer:
            return False
    row = state.authority(name)
    authority = row.posting if role == "posting" else row.active
    for member, weight in authority.key_auths[: members or None]:
        if member == key:
            return weight >= authority.weight_threshold
    return False


def require_tapos_and_expiration(state: State, trx: SignedTransaction, skip_flags: int) -> None:
    """Refuse unless the reference block is on this chain and the expiration is within the next hour.

    The reference block binds a transaction to a fork. Only 32 bits of its id are compared. A missing block summary counts as zeros, so
    a prefix of 0 is accepted in that case. On a chain with a base, it belongs to an unknown block before the base, and any
    prefix is accepted.
    """
    if not skip_flags & Skip.TAPOS_CHECK:
        summary = state.block_summaries.by_slot.get(trx.ref_block_num)
        is_unknown = summary is None and state.spec.base.number > 0
        block_id = ZERO_ID if summary is None else summary.block_id
        if not is_unknown and int.from_bytes(block_id[4:8], "little") != trx.ref_block_prefix:
            raise WrongReferenceBlock(
                "", trx_ref_block_prefix=trx.ref_block_prefix, tapos_block_summary=int.from_bytes(block_id[4:8], "little")
            )
    now = state.head_time
    if trx.expiration > now + COIN_MAX_TIME_UNTIL_EXPIRATION:
        raise TransactionExpired("", trx_expiration=trx.expiration, now=now, max_til_exp=COIN_MAX_TIME_UNTIL_EXPIRATION)
    # Since hardfork 9 a transaction is expired at its expiration time; before, it was still valid in that second.
    if trx.expiration < now or (trx.expiration == now and state.hardfork >= 9):
        raise TransactionExpired("", now=now, trx_exp=trx.expiration)


def apply_transaction(state: State, trx: SignedTransaction, skip_flags: int = Skip.NOTHING) -> None:
    """Apply a transaction or raise a refusal. After a refusal the caller undoes partial changes."""
    here = state.position
    here.trx_id = trx.id
    here.virtual_op = 0
    here.edit_steps = EDIT_STEPS_MAX
    state.work.spend(trx.size // BYTES_PER_UNIT + KEY_UNITS * len(trx.signatures), "bytes and signatures")
    is_impersonated = False
    try:
        if not skip_flags & Skip.VALIDATE:
            validate_transaction(state, trx)
        if not skip_flags & Skip.TRANSACTION_DUPE_CHECK:
            if state.transactions.by_trx_id.get(trx.id) is not None:
                raise Refused("Duplicate transaction check failed", condition=DUPLICATE_CONDITION, trx_id=trx.id.hex())
        if not skip_flags & (Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK):
            is_impersonated = verify_authority(state, trx)
        if state.props.head_block_number > 0:
            require_tapos_and_expiration(state, trx, skip_flags)
        if not skip_flags & Skip.TRANSACTION_DUPE_CHECK:
            state.transactions.insert(TransactionRecord(trx_id=trx.id, expiration=trx.expiration))
        for listener in state.listeners.before_transaction:
            listener(state, trx)
        apply_operations(state, trx)
        here.trx_id = ZERO_ID
        for listener in state.listeners.after_transaction:
            listener(state, trx)
        if is_impersonated:
            state.impersonated.accept(trx.id)
    finally:
        # The reference keeps the id of a refused transaction. Here virtual operations of block steps always have a zero id.
        here.trx_id = ZERO_ID


def apply_operations(state: State, trx: SignedTransaction) -> None:
    """Apply the operations in order. If an operation is refused, the error contains the operation's index."""
    for index, operation in enumerate(trx.operations):
        state.position.op_in_trx = index
        try:
            apply_operation(state, operation)
        except ChainError as error:
            error.operation = index
            raise


def apply_operation(state: State, operation: Operation) -> None:
    """Apply one operation and call its listeners before and after. Refuse it if the acting account is locked."""
    if operation.PROTECTED and (name := getattr(operation, operation.PROTECTED)) in state.spec.lockable_accounts:
        require_not_locked(state, name)
    state.work.spend(operation.UNITS, operation.NAME)
    cls, listeners = type(operation), state.listeners
    if before := listeners.before_operation[cls]:
        notify(state, operation, before)
    operation.apply(state)
    if after := listeners.after_operation[cls]:
        notify(state, operation, after)


def require_not_locked(state: State, name: str) -> None:
    """Refuse a lockable account after its lock time. This rule depends on time, not on hardforks."""
    spec = state.spec
    now = state.head_time
    locked = (now >= COIN_PROTECTION_HARDFORK_TIME231 and name == HIVE_TREASURY_ACCOUNT) or (
        now >= spec.constants.COIN_PROTECTION_HARDFORK_TIME and name in spec.protected_accounts
    )
    if locked:
        raise InvalidTransaction("Error when pushing TX:\nReason: TX has been rejected.")
