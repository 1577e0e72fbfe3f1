"""Finds the accounts that use or used a key.

Without the plugin account_by_key, only the accounts that are related to a transaction are searched. With the plugin, any account can be
found.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from rpc.explain.case import RefusalCase
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.authorities import AccountUpdate, AccountUpdate2, RecoverAccount
from state.plugins.account_by_key import ACCOUNT_BY_KEY, references
from state.plugins.account_history import ACCOUNT_HISTORY, history
from state.protocol.authority import Authority
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction

ACCOUNTS_MAX = 100  # searched accounts: those that must sign, those that their authorities name, and those that operations touch
HISTORY_MAX = 400  # newest operations of an account that are searched for former keys
HISTORIES_MAX = 3  # accounts whose histories are searched
RECORDS_FOR_A_TRY = 8  # operations; reading them takes about as long as a key recovery
CREATIONS = (AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
UPDATES = (AccountUpdate, AccountUpdate2)
ROLES = ("owner", "active", "posting")

Place = tuple[str, str]  # account and role


class KeyOwners:
    """Finds the accounts and roles that use or used a key."""

    def __init__(self, case: RefusalCase, trx: SignedTransaction) -> None:
        self._case, self._state = case, case.state
        needed = Needed.by(trx.operations)
        self.required = sorted(needed.posting | needed.active | needed.owner)
        touched = sorted({name for operation in trx.operations[:ACCOUNTS_MAX] for name in operation.impacted()})
        given = [name for authority in needed.other for name, _ in authority.account_auths]
        self.signers = self._nested([*self.required, *given])
        self.accounts = list(dict.fromkeys([*self.signers, *touched]))[:ACCOUNTS_MAX]

    def _nested(self, names: list[str]) -> list[str]:
        """Return these accounts, and all accounts that their authorities name directly or indirectly."""
        found = dict.fromkeys(names[:ACCOUNTS_MAX])
        waiting = list(found)
        while waiting and len(found) < ACCOUNTS_MAX:
            row = self._state.account_authorities.by_account.get(waiting.pop(0))
            for authority in () if row is None else (row.owner, row.active, row.posting):
                for name, _ in authority.account_auths:
                    if name not in found:
                        found[name] = None
                        waiting.append(name)
        return list(found)

    def of(self, key: bytes) -> list[Place]:
        """Return the accounts and roles that use a key now. Accounts that are related to the transaction come first."""
        found = list(self._involved.get(key, ()))
        if ACCOUNT_BY_KEY.is_on(self._state):
            for name in references(self._state, key)[:ACCOUNTS_MAX]:
                found += [place for place in self._places(name).get(key, ()) if place not in found]
        found += [place for place in self._genesis.get(key, ()) if place not in found and key in self._places(place[0])]
        return found

    @cached_property
    def _involved(self) -> dict[bytes, list[Place]]:
        found: dict[bytes, list[Place]] = {}
        for name in self.accounts:
            for key, places in self._places(name).items():
                found.setdefault(key, []).extend(places)
        return found

    def _places(self, name: str) -> dict[bytes, list[Place]]:
        """Return the keys of an account, each with the roles that use it."""
        found: dict[bytes, list[Place]] = {}
        row = self._state.account_authorities.by_account.get(name)
        if row is not None:
            for role in ROLES:
                for key, _ in getattr(row, role).key_auths:
                    found.setdefault(key, []).append((name, role))
        account = self._state.accounts.by_name.get(name)
        if account is not None:
            found.setdefault(account.memo_key, []).append((name, "memo"))
        witness = self._state.witnesses.by_name.get(name)
        if witness is not None:
            found.setdefault(witness.signing_key, []).append((name, "witness"))
        return found

    def former(self, key: bytes) -> list[Place]:
        """Return the accounts and roles that once used a key and no longer do."""
        return [place for place in self._former.get(key, ()) if key not in self._places(place[0])]

    @cached_property
    def _former(self) -> dict[bytes, list[Place]]:
        found: dict[bytes, list[Place]] = {key: list(places) for key, places in self._genesis.items()}
        for name, role, key in self._replaced():
            places = found.setdefault(key, [])
            if (name, role) not in places:
                places.append((name, role))
        return found

    @cached_property
    def _genesis(self) -> dict[bytes, list[Place]]:
        """The keys of all accounts at genesis, each with its accounts and roles."""
        found: dict[bytes, list[Place]] = {}
        genesis = self._state.spec.genesis
        for account in genesis.accounts:
            for role in (*ROLES, "memo"):
                found.setdefault(getattr(account, role), []).append((account.name, role))
        for name in genesis.witness_names:
            found.setdefault(genesis.witness_settings(name).key, []).extend((name, role) for role in ROLES)
        return found

    def _replaced(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield the keys of replaced authorities as (account, role, key). The sources are owner histories and account histories."""
        for name in self.signers:
            for row in self._state.owner_histories.by_account.equal(name):
                yield from keys_of(name, "owner", row.previous_owner_authority)
        if not ACCOUNT_HISTORY.is_on(self._state):
            return
        for name in self.signers[:HISTORIES_MAX]:
            if not self._case.budget.take(HISTORY_MAX // RECORDS_FOR_A_TRY):
                return
            for _, record in reversed(history(self._state, name, -1, HISTORY_MAX)):
                yield from given_keys(name, record.operation)


def keys_of(name: str, role: str, authority: Authority | None) -> Iterator[tuple[str, str, bytes]]:
    """Yield the keys of an authority as (account, role, key)."""
    for key, _ in authority.key_auths if authority is not None else ():
        yield name, role, key


def given_keys(name: str, operation: Any) -> Iterator[tuple[str, str, bytes]]:
    """Yield the keys that an operation sets for an account as (account, role, key)."""
    if isinstance(operation, CREATIONS):
        is_own = operation.new_account_name == name
    elif isinstance(operation, UPDATES):
        is_own = operation.account == name
    else:
        if isinstance(operation, RecoverAccount) and operation.account_to_recover == name:
            yield from keys_of(name, "owner", operation.recent_owner_authority)
        return
    if is_own:
        for role in ROLES:
            yield from keys_of(name, role, getattr(operation, role))
        if operation.memo_key:
            yield name, "memo", operation.memo_key
