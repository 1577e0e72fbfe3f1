"""Which accounts have a key in their owner, active or posting authority. It must not know who asks.
Source: block-processing.md §7.7; rpc-api.md §6.7.
"""

from typing import Any

from state.operations.accounts import AccountCreate, AccountCreateWithDelegation
from state.operations.authorities import AccountUpdate, AccountUpdate2, RecoverAccount
from state.operations.mining import Pow, Pow2
from state.protocol.virtual import Hardfork
from state.store import Journal, Row, Table, Unique
from state.tables import State
from state.tables.accounts import AccountAuthority

NAME = "account_by_key"

# create_claimed_account is left out: as on the reference, its keys show up when an update adds them.
CREATIONS = (AccountCreate, AccountCreateWithDelegation, Pow, Pow2)
UPDATES = (AccountUpdate, AccountUpdate2, RecoverAccount)

Keys = frozenset[bytes]
NO_KEYS: Keys = frozenset()


class KeyReference(Row):
    """A key and the accounts that have it, in ascending order; never without one."""

    key: bytes = b""
    accounts: tuple[str, ...] = ()


class KeyReferences(Table[KeyReference]):
    """Accounts by key; grows with the keys of accounts."""

    by_key = Unique("key")


class AccountByKey:
    """The table, and the keys that an account had before the operation that is applied now."""

    def __init__(self, journal: Journal) -> None:
        self.references = KeyReferences(journal)
        self._before = NO_KEYS

    def add(self, key: bytes, account: str) -> None:
        """Note that an account has a key; nothing changes when that is known."""
        row = self.references.by_key.get(key)
        if row is None:
            self.references.insert(KeyReference(key=key, accounts=(account,)))
        elif account not in row.accounts:
            self.references.modify(row, accounts=tuple(sorted((*row.accounts, account))))

    def remove(self, key: bytes, account: str) -> None:
        """Forget that an account has a key."""
        row = self.references.by_key.get(key)
        if row is not None and account in row.accounts:
            others = tuple(name for name in row.accounts if name != account)
            if others:
                self.references.modify(row, accounts=others)
            else:
                self.references.remove(row)

    def remember(self, state: State, operation: Any) -> None:
        """Before an operation that changes keys: which ones are there."""
        row = state.account_authorities.by_account.get(owner_of(operation))
        self._before = NO_KEYS if row is None else keys_of(row)

    def forget(self, state: State, operation: Any) -> None:
        """Before an operation that makes an account: none of its keys are known."""
        self._before = NO_KEYS

    def compare(self, state: State, operation: Any) -> None:
        """After an operation: take up the keys that have come, drop those that have gone."""
        name = owner_of(operation)
        row = state.account_authorities.by_account.get(name)
        if row is None:
            return
        before, now = self._before, keys_of(row)
        self._before = NO_KEYS
        for key in sorted(now - before):
            self.add(key, name)
        for key in sorted(before - now):
            self.remove(key, name)

    def after_hardfork(self, state: State, operation: Hardfork) -> None:
        """Hardfork 9 gives the listed accounts one key; their old ones are not dropped."""
        if operation.hardfork_id == 9:
            for name in state.spec.hf9_accounts:
                row = state.account_authorities.by_account.get(name)
                if row is not None:
                    for key in sorted(keys_of(row)):
                        self.add(key, name)


def references(state: State, key: bytes) -> tuple[str, ...]:
    """The accounts that have a key, in ascending order."""
    plugin: AccountByKey = state.plugins[NAME]
    row = plugin.references.by_key.get(key)
    return () if row is None else row.accounts


def install(state: State) -> AccountByKey:
    """Index the accounts that a chain spec adds, which no operation makes, and listen from now on."""
    plugin = AccountByKey(state.journal)
    for account in state.spec.genesis.accounts:
        for key in sorted(keys_of(state.authority(account.name))):
            plugin.add(key, account.name)
    on_operation = state.listeners.on_operation
    on_operation(plugin.forget, *CREATIONS, after=False)
    on_operation(plugin.remember, *UPDATES, after=False)
    on_operation(plugin.compare, *CREATIONS, *UPDATES)
    on_operation(plugin.after_hardfork, Hardfork)
    return plugin


def owner_of(operation: Any) -> str:
    """The account whose keys an operation sets."""
    name: str
    match operation:
        case AccountCreate() | AccountCreateWithDelegation():
            name = operation.new_account_name
        case RecoverAccount():
            name = operation.account_to_recover
        case Pow():
            name = operation.worker_account
        case Pow2():
            name = operation.work.input.worker_account
        case _:
            name = operation.account
    return name


def keys_of(row: AccountAuthority) -> Keys:
    """All keys of an account's three authorities."""
    return frozenset(key for authority in (row.owner, row.active, row.posting) for key, _ in authority.key_auths)
