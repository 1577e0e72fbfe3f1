"""Creates and signs transactions with the private keys that a test chain's spec publishes. Doesn't change the state."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from state.chain.transactions import authority_lookups, canonical_rule
from state.protocol.authorization.fewest_keys import fewest_keys
from state.protocol.constants import COIN_MAX_TIME_UNTIL_EXPIRATION
from state.protocol.errors import ChainError
from state.protocol.keys.keys import ROLES, derive_secret, public_key, secret_from_wif
from state.protocol.keys.signatures import sign
from state.protocol.operation import Needed, Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedTransaction
from state.tables import State

SPECS_KEPT_MAX = 8


class KnownAccount(Struct, frozen=True):
    """A genesis account and its secrets by role. A role whose secret is not in the spec is omitted."""

    name: str
    secrets: dict[str, bytes]


@lru_cache(SPECS_KEPT_MAX)
def known_accounts(spec: ChainSpec) -> tuple[KnownAccount, ...]:
    """Return the genesis accounts whose secrets are in the spec: accounts with a password, and the witnesses.

    The secrets are those at genesis, even if an account has changed its keys since.
    """
    return tuple(_known_accounts(spec))


def _known_accounts(spec: ChainSpec) -> Iterator[KnownAccount]:
    for account in spec.genesis.accounts:
        if account.password:
            derived = {role: derive_secret(account.name, role, account.password) for role in ROLES}
            yield KnownAccount(account.name, {role: key for role, key in derived.items() if public_key(key) == getattr(account, role)})
    secrets = {public_key(secret): secret for secret in map(secret_from_wif, spec.witness_keys)}
    for name in spec.genesis.witness_names if secrets else ():
        secret = secrets.get(spec.genesis.witness_settings(name).key)
        if secret is not None:
            yield KnownAccount(name, dict.fromkeys(ROLES, secret))


@lru_cache(SPECS_KEPT_MAX)
def known_secrets(spec: ChainSpec) -> Mapping[bytes, bytes]:
    """Return the secrets in a spec, keyed by public key: the secrets of its accounts, and `witness_keys`, with which a node produces
    blocks.
    """
    found = {public_key(secret): secret for account in known_accounts(spec) for secret in account.secrets.values()}
    return found | {public_key(secret): secret for secret in map(secret_from_wif, spec.witness_keys)}


def signed_transaction(
    state: State, operations: tuple[Operation, ...], secrets: Mapping[bytes, bytes], waiting: int = 0
) -> SignedTransaction:
    """Return a transaction of these operations, signed with the fewest sufficient keys. It refers to the last irreversible block.

    `secrets` maps public keys to secrets. The expiration is `waiting` seconds before the latest one allowed. If an equal transaction has
    been accepted, the expiration is reduced second by second until the transaction is new.
    """
    trx = SignedTransaction(operations=operations, expiration=state.head_time + COIN_MAX_TIME_UNTIL_EXPIRATION)
    number = state.props.last_irreversible_block_num
    summary = state.block_summaries.by_slot.get(number & 0xFFFF)
    if summary is not None:
        trx.ref_block_num, trx.ref_block_prefix = number & 0xFFFF, int.from_bytes(summary.block_id[4:8], "little")
    seal, known = state.wire.seal, state.transactions.by_trx_id
    trx.expiration -= waiting % (COIN_MAX_TIME_UNTIL_EXPIRATION // 2)
    while known.get(seal(trx).id) is not None and trx.expiration > state.head_time + 1:
        trx.expiration -= 1
    digest = state.wire.signature_digest(trx)
    try:
        keys = fewest_keys(Needed.by(operations), secrets, authority_lookups(state))
    except ChainError:
        keys = []  # an unknown account, or roles that can't be mixed, which the push refuses with the proper message
    trx.signatures = tuple(sign(secrets[key], digest, canonical_rule(state)) for key in keys)
    return seal(trx)
