"""The plugin `account_by_key`: the accounts that have a key in their owner, active or posting authority.
Source: block-processing.md §7.7; rpc-api.md §6.7.
"""

from typing import Any

from state.operations.accounts import AccountCreate, AccountCreateWithDelegation
from state.operations.authorities import AccountUpdate, AccountUpdate2, RecoverAccount
from state.operations.mining import Pow, Pow2
from state.plugins.plugin import Plugin
from state.portable import Batch, Portable, declare
from state.portable.exports import exported_rows
from state.protocol.virtual import Hardfork
from state.store import Packed, Row, Table, Unique
from state.store.serializers import SnapshotPart, tables
from state.tables import State
from state.tables.accounts import AccountAuthority

# The reference omits create_claimed_account here, so the keys of such an account appear only when a later update adds them.
CREATIONS = (AccountCreate, AccountCreateWithDelegation, Pow, Pow2)
UPDATES = (AccountUpdate, AccountUpdate2, RecoverAccount)

Keys = frozenset[bytes]
NO_KEYS: Keys = frozenset()


class KeyReference(Row):
    """A key, and the accounts that use it in an authority (at least one), in ascending order."""

    key: bytes = b""
    accounts: tuple[str, ...] = ()


PORTABLE = declare("account_by_key/references", Portable(row=KeyReference, key=("key",)))


class KeyReferences(Table[KeyReference]):
    """Accounts by key, one row per key."""

    packed = Packed()
    by_key = Unique("key")


class AccountByKey:
    """The plugin's data: the table of keys, and the keys of an account before the operation that is being applied.

    An operation replaces a complete authority. To find the changed keys, one listener stores the keys before the operation, and another
    listener compares them with the keys after it.
    """

    def __init__(self, state: State) -> None:
        self.references = KeyReferences(state.journal)
        self._before = NO_KEYS

    def add(self, key: bytes, account: str) -> None:
        """Add an account to the accounts of a key, unless it is already one of them."""
        row = self.references.by_key.get(key)
        if row is None:
            self.references.insert(KeyReference(key=key, accounts=(account,)))
        elif account not in row.accounts:
            self.references.modify(row, accounts=tuple(sorted((*row.accounts, account))))

    def remove(self, key: bytes, account: str) -> None:
        """Remove an account from the accounts of a key. Remove the key's row if this was its last account."""
        row = self.references.by_key.get(key)
        if row is not None and account in row.accounts:
            others = tuple(name for name in row.accounts if name != account)
            if others:
                self.references.modify(row, accounts=others)
            else:
                self.references.remove(row)

    def remember(self, state: State, operation: Any) -> None:
        """Store the keys of the account before an operation changes its authorities."""
        self.remember_keys(state, owner_of(operation))

    def remember_keys(self, state: State, name: str) -> None:
        """Store the keys of an account before its authorities change."""
        row = state.account_authorities.by_account.get(name)
        self._before = NO_KEYS if row is None else keys_of(row)

    def forget(self, state: State, operation: Any) -> None:
        """Store an empty set of keys before an operation that creates an account, since all keys of the account will be new.

        A proof of work can also be for an existing account. Adding the keys of that account again has no effect.
        """
        self._before = NO_KEYS

    def compare(self, state: State, operation: Any) -> None:
        """Update the table with the changed keys of an account, after an operation has set its authorities."""
        self.compare_keys(state, owner_of(operation))

    def compare_keys(self, state: State, name: str) -> None:
        """Add the keys that an account has gained since `remember_keys`, and remove those that it has lost."""
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
        """Add the key that hardfork 9 gives to the listed accounts. As on the reference, their old keys also remain in the table."""
        if operation.hardfork_id == 9:
            for name in state.spec.hf9_accounts:
                row = state.account_authorities.by_account.get(name)
                if row is not None:
                    for key in sorted(keys_of(row)):
                        self.add(key, name)


def references(state: State, key: bytes) -> tuple[str, ...]:
    """Return the accounts that use a key in an authority, in ascending order."""
    row = ACCOUNT_BY_KEY.of(state).references.by_key.get(key)
    return () if row is None else row.accounts


def install(state: State) -> AccountByKey:
    """Create the table, add the accounts of the chain spec that no operation creates, and register listeners."""
    kept = AccountByKey(state)
    for account in state.spec.accounts_at_genesis:
        for key in sorted(keys_of(state.authority(account.name))):
            kept.add(key, account.name)
    on_operation = state.listeners.on_operation
    on_operation(kept.forget, *CREATIONS, after=False)
    on_operation(kept.remember, *UPDATES, after=False)
    on_operation(kept.compare, *CREATIONS, *UPDATES)
    on_operation(kept.after_hardfork, Hardfork)
    state.listeners.before_edit.append(kept.remember_keys)
    state.listeners.after_edit.append(kept.compare_keys)
    return kept


def owner_of(operation: Any) -> str:
    """Return the account whose keys an operation sets."""
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
    """Return all keys of an account's three authorities."""
    return frozenset(key for authority in (row.owner, row.active, row.posting) for key, _ in authority.key_auths)


def parts(state: State, kept: AccountByKey) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data."""
    return tables(kept, "references")


def import_rows(state: State, kept: AccountByKey, batch: Batch) -> None:
    """Add the references of the batch to the keys of its accounts, or without that section all of their keys.

    The section can lack keys that an account has, for example those from its creation by `create_claimed_account`.
    """
    if "global_properties" in batch:
        # The accounts of genesis are replaced.
        for row in list(kept.references):
            kept.references.remove(row)
    rows = batch.get("account_by_key/references")
    given = {values["key"]: values.get("accounts", ()) for values in rows or ()}
    for values in batch.get("account_authorities", ()):
        name = values["account"]
        for key in sorted(keys_of(state.authority(name))):
            if rows is None or name in given.get(key, ()):
                kept.add(key, name)


def export_rows(state: State, kept: AccountByKey) -> Batch:
    """Return the portable rows of all keys."""
    return {"account_by_key/references": exported_rows(state, kept.references, PORTABLE)}


ACCOUNT_BY_KEY = Plugin(
    "account_by_key",
    AccountByKey,
    install,
    serves=("account_by_key_api",),
    parts=parts,
    unsaved=("_before",),
    import_rows=import_rows,
    export_rows=export_rows,
)
