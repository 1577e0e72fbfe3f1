"""Creates and signs transactions with the private keys that a test chain's spec publishes. Doesn't change the state.

The spec of a fork has no accounts. It has a password, from which the keys of the accounts in the state are derived.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice

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
DERIVED_KEPT_MAX = 4096
AUTHORITIES = ("owner", "active", "posting")
LISTED_MAX = 10_000  # accounts of a fork
SIGNERS_MAX, DEPTH_MAX = 50, 2  # accounts whose keys are derived for a transaction, and the levels of authorities that name others


class KnownAccount(Struct, frozen=True):
    """An account and its secrets by role. A role whose secret is not known is omitted."""

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


@lru_cache(DERIVED_KEPT_MAX)
def derived_keys(name: str, password: str) -> dict[str, tuple[bytes, bytes]]:
    """Return the secret and the public key of each role of an account, derived from its name and a password."""
    secrets = {role: derive_secret(name, role, password) for role in ROLES}
    return {role: (secret, public_key(secret)) for role, secret in secrets.items()}


def listed_accounts(state: State) -> Iterator[KnownAccount]:
    """Yield all accounts whose secrets are known: those of the spec and, on a fork, the first LISTED_MAX accounts of the state."""
    yield from known_accounts(state.spec)
    if state.spec.account_password:
        for account in islice(state.accounts, LISTED_MAX):
            secrets = _derived_secrets(state, account.name)
            if secrets:
                yield KnownAccount(account.name, secrets)


def usable_secrets(state: State, operations: tuple[Operation, ...]) -> dict[bytes, bytes]:
    """Return the known secrets that can sign these operations, keyed by public key: those in the spec and, on a fork, those of the accounts
    whose authorities are needed, or are in the needed authorities.
    """
    found = dict(known_secrets(state.spec))
    if state.spec.account_password:
        for name in _possible_signers(state, operations):
            found |= {public_key(secret): secret for secret in _derived_secrets(state, name).values()}
    return found


def _derived_secrets(state: State, name: str) -> dict[str, bytes]:
    """Return the secrets of an account of a fork, of those roles whose keys are still the derived ones."""
    row, account = state.account_authorities.by_account.get(name), state.accounts.by_name.get(name)
    if row is None or account is None:
        return {}
    found = {}
    for role, (secret, key) in derived_keys(name, state.spec.account_password).items():
        if key == account.memo_key if role == "memo" else any(key == each for each, _ in getattr(row, role).key_auths):
            found[role] = secret
    return found


def _possible_signers(state: State, operations: tuple[Operation, ...]) -> list[str]:
    """Return the accounts whose authorities these operations need, and the accounts in these authorities."""
    try:
        needed = Needed.by(operations)
    except ChainError:
        return []
    level = found = dict.fromkeys((*needed.posting, *needed.active, *needed.owner))
    for _ in range(DEPTH_MAX):
        rows = [row for name in level if (row := state.account_authorities.by_account.get(name)) is not None]
        level = dict.fromkeys(name for row in rows for role in AUTHORITIES for name, _ in getattr(row, role).account_auths)
        found = found | level
    return list(found)[:SIGNERS_MAX]


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
