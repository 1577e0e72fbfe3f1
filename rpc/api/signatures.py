"""Authorities and signatures: keys that a transaction needs, and signature checks. Source: rpc-api.md §3.7; wire-format.md §6.3."""

from typing import Annotated

from rpc.declare.arguments import AccountName, Hash256, PublicKey
from rpc.declare.method import method
from state.chain.transactions import authority_lookups, canonical_rule
from state.protocol.authority import Authority
from state.protocol.authorization.fewest_keys import noting
from state.protocol.authorization.signatures_check import Limits, Lookups, SignState, distinct, required_signatures, verify
from state.protocol.codec.kinds import Hash
from state.protocol.errors import ChainError, MissingActiveAuthority, require
from state.protocol.keys.keys import public_key_text
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction
from state.protocol.work import KEY_UNITS, TooMuchWork
from state.tables import State

RULE_HARDFORK = 20
SignatureBytes = Annotated[bytes, Hash(65)]


@method("database_api.get_transaction_hex", key="hex")
@method("condenser_api.get_transaction_hex")
def get_transaction_hex(state: State, trx: SignedTransaction) -> str:
    """Return the packed bytes of a signed transaction in hex."""
    return state.wire.pack_transaction(trx).hex()


@method("database_api.verify_authority", key="valid")
@method("condenser_api.verify_authority")
def verify_authority(state: State, trx: SignedTransaction) -> bool:
    """Return true if exactly the required keys have signed a transaction. Otherwise, refuse the call."""
    verify(Needed.by(trx.operations), signers(state, trx, canonical_rule(state)), authority_lookups(state))
    return True


@method("database_api.verify_account_authority", key="valid")
@method("condenser_api.verify_account_authority")
def verify_account_authority(state: State, account: AccountName, signers: list[PublicKey]) -> bool:
    """Return true if these keys satisfy an account's active authority. Otherwise, refuse the call."""
    require(state.accounts.by_name.get(account) is not None, "no such account", condition="account != nullptr")
    lookups = authority_lookups(state)
    keys = SignState(signers, lookups.active, spend=lookups.spend)
    if not (keys.by_name(account) or keys.by_authority(lookups.owner(account))):
        raise MissingActiveAuthority("Missing Active Authority ${id}", id=account)
    return True


@method("database_api.verify_signatures", key="valid")
def verify_signatures(
    state: State,
    hash_: Hash256,
    signatures: list[SignatureBytes],
    required_owner: list[AccountName],
    required_active: list[AccountName],
    required_posting: list[AccountName],
    required_other: list[Authority],
) -> bool:
    """Return whether a hash has been signed with exactly the keys that these authorities require. A key that signed twice is refused.

    As in the reference, the check uses owner authorities in place of active ones, and vice versa.
    """
    state.work.spend(KEY_UNITS * len(signatures), "signatures")
    keys = distinct(recover(signature, hash_, Canonical.fc_canonical) for signature in signatures)
    needed = Needed(set(required_posting), set(required_active), set(required_owner), required_other)
    given = authority_lookups(state)
    try:
        verify(needed, keys, Lookups(active=given.owner, owner=given.active, posting=given.posting, spend=given.spend))
    except TooMuchWork:
        raise
    except ChainError:
        return False
    return True


@method("database_api.get_required_signatures", key="keys")
@method("condenser_api.get_required_signatures")
def get_required_signatures(state: State, trx: SignedTransaction, available_keys: list[PublicKey]) -> list[str]:
    """Return the available keys with which the transaction must still be signed."""
    signed = distinct(signers(state, trx, Canonical.fc_canonical))
    lookups = authority_lookups(state)
    return shown_keys(state, required_signatures(Needed.by(trx.operations), signed, available_keys, lookups, narrow_limits(state)))


@method("database_api.get_potential_signatures", key="keys")
@method("condenser_api.get_potential_signatures")
def get_potential_signatures(state: State, trx: SignedTransaction) -> list[str]:
    """Return all keys that could sign a transaction: the keys of all authorities that the check of its signatures reads."""
    signed = distinct(signers(state, trx, Canonical.fc_canonical))
    met: set[bytes] = set()
    given = authority_lookups(state)
    lookups = Lookups(noting(given.active, met), noting(given.owner, met), noting(given.posting, met), given.spend)
    required_signatures(Needed.by(trx.operations), signed, (), lookups, narrow_limits(state))
    return shown_keys(state, met)


def signers(state: State, trx: SignedTransaction, rule: Canonical) -> tuple[bytes, ...]:
    """Return the keys that signed a transaction, in the order of the signatures."""
    state.work.spend(KEY_UNITS * len(trx.signatures), "signatures")
    return state.wire.signers(trx, rule)


def narrow_limits(state: State) -> Limits:
    """Return the limits that the reference uses when it searches for keys. By mistake, the reference passes its rule for canonical
    signatures where the limit on an authority's members belongs.
    """
    return Limits(members=1 if state.hardfork >= RULE_HARDFORK else 2)


def shown_keys(state: State, keys: set[bytes]) -> list[str]:
    """Format keys as text, sorted by the keys' bytes."""
    return [public_key_text(key, state.spec.key_prefix) for key in sorted(keys)]
