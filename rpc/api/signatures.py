"""Who must sign, who could, and whether those who did were the right ones. Source: rpc-api.md §3.7; wire-format.md §6.3."""

from typing import Annotated, TypedDict

from rpc.service.arguments import AccountName, Hash256, PublicKey, Text
from rpc.service.method import method
from state.chain.transactions import authority_lookups, canonical_rule
from state.protocol.codec.kinds import Hash
from state.protocol.errors import ChainError, MissingActiveAuthority, require
from state.protocol.keys.authority import Authority
from state.protocol.keys.keys import public_key_text
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.keys.signing import Limits, Lookup, Lookups, SignState, distinct, required_signatures, verify
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction
from state.tables import State

RULE_HARDFORK = 20
SignatureBytes = Annotated[bytes, Hash(65)]


class Keys(TypedDict):
    """Public keys under their name."""

    keys: list[Text]


class Valid(TypedDict):
    """Whether something is as it should be."""

    valid: bool


class Hex(TypedDict):
    """Bytes under their name."""

    hex: str


@method("database_api.get_transaction_hex")
def get_transaction_hex(state: State, trx: SignedTransaction) -> Hex:
    """The bytes of a signed transaction."""
    return {"hex": transaction_hex(state, trx)}


@method("condenser_api.get_transaction_hex")
def transaction_hex(state: State, trx: SignedTransaction) -> str:
    """The bytes of a signed transaction."""
    return state.wire.pack_transaction(trx).hex()


@method("database_api.verify_authority")
def verify_authority(state: State, trx: SignedTransaction) -> Valid:
    """Whether exactly the needed keys have signed a transaction; it is never false, what is wrong is refused."""
    return {"valid": is_signed(state, trx)}


@method("condenser_api.verify_authority")
def is_signed(state: State, trx: SignedTransaction) -> bool:
    """Whether exactly the needed keys have signed a transaction; it is never false, what is wrong is refused."""
    verify(Needed.by(trx.operations), state.wire.signers(trx, canonical_rule(state)), authority_lookups(state))
    return True


@method("database_api.verify_account_authority")
def verify_account_authority(state: State, account: AccountName, signers: list[PublicKey]) -> Valid:
    """Whether keys are enough to act for an account with its active authority; it is never false, too few are refused."""
    return {"valid": can_act(state, account, signers)}


@method("condenser_api.verify_account_authority")
def can_act(state: State, account: AccountName, signers: list[PublicKey]) -> bool:
    """Whether keys are enough to act for an account with its active authority; it is never false, too few are refused."""
    require(state.accounts.by_name.get(account) is not None, "no such account", condition="account != nullptr")
    lookups = authority_lookups(state)
    keys = SignState(signers, lookups.active)
    if not (keys.by_name(account) or keys.by_authority(lookups.owner(account))):
        raise MissingActiveAuthority("Missing Active Authority ${id}", id=account)
    return True


@method("database_api.verify_signatures")
def verify_signatures(
    state: State,
    hash_: Hash256,
    signatures: list[SignatureBytes],
    required_owner: list[AccountName],
    required_active: list[AccountName],
    required_posting: list[AccountName],
    required_other: list[Authority],
) -> Valid:
    """Whether signatures of a hash are exactly what these authorities need. A key that signed twice is refused.

    As in the reference, owner authorities are what active ones are asked for, and the other way round.
    """
    keys = distinct(recover(signature, hash_, Canonical.fc_canonical) for signature in signatures)
    needed = Needed(set(required_posting), set(required_active), set(required_owner), required_other)
    given = authority_lookups(state)
    try:
        verify(needed, keys, Lookups(active=given.owner, owner=given.active, posting=given.posting))
    except ChainError:
        return {"valid": False}
    return {"valid": True}


@method("database_api.get_required_signatures")
def get_required_signatures(state: State, trx: SignedTransaction, available_keys: list[PublicKey]) -> Keys:
    """Those of the keys at hand that a transaction still needs."""
    return {"keys": required_keys(state, trx, available_keys)}


@method("condenser_api.get_required_signatures")
def required_keys(state: State, trx: SignedTransaction, available_keys: list[PublicKey]) -> list[str]:
    """Those of the keys at hand that a transaction still needs."""
    signed = distinct(state.wire.signers(trx, Canonical.fc_canonical))
    lookups = authority_lookups(state)
    return shown_keys(state, required_signatures(Needed.by(trx.operations), signed, available_keys, lookups, narrow_limits(state)))


@method("database_api.get_potential_signatures")
def get_potential_signatures(state: State, trx: SignedTransaction) -> Keys:
    """All keys of the authorities that are looked at for a transaction."""
    return {"keys": potential_keys(state, trx)}


@method("condenser_api.get_potential_signatures")
def potential_keys(state: State, trx: SignedTransaction) -> list[str]:
    """All keys of the authorities that are looked at for a transaction."""
    signed = distinct(state.wire.signers(trx, Canonical.fc_canonical))
    met: set[bytes] = set()
    given = authority_lookups(state)
    lookups = Lookups(noting(given.active, met), noting(given.owner, met), noting(given.posting, met))
    required_signatures(Needed.by(trx.operations), signed, (), lookups, narrow_limits(state))
    return shown_keys(state, met)


def narrow_limits(state: State) -> Limits:
    """How far the reference walks authorities here: it hands the rule for signatures over as the limit of members."""
    return Limits(members=1 if state.hardfork >= RULE_HARDFORK else 2)


def noting(lookup: Lookup, met: set[bytes]) -> Lookup:
    """A lookup that notes the keys of each authority that it finds."""

    def noted(name: str) -> Authority:
        authority = lookup(name)
        met.update(key for key, _ in authority.key_auths)
        return authority

    return noted


def shown_keys(state: State, keys: set[bytes]) -> list[str]:
    """Keys as text, in the order of their bytes."""
    return [public_key_text(key, state.spec.key_prefix) for key in sorted(keys)]
