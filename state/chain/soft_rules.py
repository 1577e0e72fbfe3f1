"""Soft rules: refusals of pushed transactions that are still valid in a block.

They protect users and resources and are not consensus rules: nodes can differ in them, so they don't apply to blocks. They are listeners
that check `state.is_pushing`, so they don't act when a pending transaction is applied again or put into a block. Further soft rules are
in operations (custom data, memberships, early forms of later hardforks' rules).
Sources: block-processing.md §4.6; operations.md §12, §19 (item 15).
"""

from state.operations.content import Comment, CommentOptions, CommentPayoutBeneficiaries
from state.operations.custom import Custom, CustomBinary, CustomJson
from state.operations.transfers import Transfer, TransferFromSavings, TransferToSavings
from state.protocol.constants import COIN_SOFT_MAX_COMMENT_DEPTH
from state.protocol.errors import PluginRefused
from state.protocol.keys.keys import derive_secret, is_secret, public_key, secret_from_extended_key
from state.store import Row, Table, Unique
from state.tables import State

BENEFICIARIES_MAX = 8
CUSTOM_OPERATIONS_MAX = 5  # per account, from one block to the next
ROLES = ("owner", "active", "posting")
# Work units for trying a memo as a password, which derives a key for each role. Then the number of characters that are parsed as an
# extended private key per work unit.
MEMO_UNITS, MEMO_CHARACTERS_PER_UNIT = 7, 30


class CustomCount(Row):
    """The number of an account's pending custom operations."""

    account: str = ""
    count: int = 0


class CustomCounts(Table[CustomCount]):
    """Counters of pending custom operations, at most one row per account.

    They are journaled, and written only while a transaction is pushed. Undoing the pending transactions for the next block therefore
    resets the counters, which makes the limit one per block.
    """

    by_account = Unique("account")


def install_soft_rules(state: State) -> None:
    """Register the soft rules as listeners of the state."""
    counts = CustomCounts(state.journal)
    # The table is part of a savepoint, because its pending transactions have journal records for the table, undone before the next block.
    state.keepers.append(counts.copying)

    def count(state: State, operation: Custom | CustomJson | CustomBinary) -> None:
        if state.is_pushing:
            limit_custom_operations(counts, operation)

    listen = state.listeners.on_operation
    listen(require_no_key, Transfer, TransferToSavings, TransferFromSavings, after=False)
    listen(require_few_beneficiaries, CommentOptions, after=False)
    listen(require_max_depth, Comment, after=False)
    listen(count, Custom, CustomJson, CustomBinary, after=False)


def require_no_key(state: State, operation: Transfer | TransferToSavings | TransferFromSavings) -> None:
    """Refuse a memo that reveals a private key of the sender, or the password that its keys are derived from.

    Wallets have fields for keys and memos side by side, and a memo is public forever. Like a wallet, this function derives a key for each
    role from the memo.
    """
    if not operation.memo or not state.is_pushing:
        return
    state.work.spend(MEMO_UNITS + len(operation.memo) // MEMO_CHARACTERS_PER_UNIT, "memos tried as passwords")
    account = state.account(operation.from_)
    authority = state.authority(operation.from_)
    given = public_keys_from_memo(account.name, operation.memo)
    for role, keys in ("owner", authority.owner), ("active", authority.active), ("posting", authority.posting):
        if not given.isdisjoint(key for key, _ in keys.key_auths):
            raise PluginRefused(f"Detected private {role} key in memo field. You should change your {role} keys.")
    if account.memo_key in given:
        raise PluginRefused("Detected private memo key in memo field. You should change your memo key.")


def public_keys_from_memo(name: str, memo: str) -> set[bytes]:
    """Return the public keys of the private keys that a memo reveals: it can be a password, from which a key is derived for each role, or
    an extended private key.

    A plain private key (WIF) isn't tried: the reference parses only the extended form here.
    """
    secrets = [derive_secret(name, role, memo) for role in ROLES]
    extended = secret_from_extended_key(memo)
    if extended is not None:
        secrets.append(extended)
    return {public_key(secret) for secret in secrets if is_secret(secret)}


def require_few_beneficiaries(state: State, operation: CommentOptions) -> None:
    """Refuse more than 8 beneficiaries. If the comment is unknown, accept the operation here, because the consensus rules refuse it."""
    if not state.is_pushing or state.comments.by_permlink.get(operation.author, operation.permlink) is None:
        return
    for extension in operation.extensions:
        if isinstance(extension, CommentPayoutBeneficiaries) and len(extension.beneficiaries) > BENEFICIARIES_MAX:
            raise PluginRefused(f"Cannot specify more than {BENEFICIARIES_MAX} beneficiaries.")


def require_max_depth(state: State, operation: Comment) -> None:
    """Refuse replies that are nested more than 255 deep."""
    if not state.is_pushing or not operation.parent_author:
        return
    parent = state.comments.by_permlink.get(operation.parent_author, operation.parent_permlink)
    if parent is not None and parent.depth >= COIN_SOFT_MAX_COMMENT_DEPTH:
        raise PluginRefused("Comment is nested ${x} posts deep, maximum depth is ${y}.", x=parent.depth, y=COIN_SOFT_MAX_COMMENT_DEPTH)


def limit_custom_operations(counts: CustomCounts, operation: Custom | CustomJson | CustomBinary) -> None:
    """Count an operation for every account that must sign it. Refuse the sixth per block."""
    for account in sorted(operation.impacted()):
        row = counts.by_account.get(account)
        if row is None:
            counts.insert(CustomCount(account=account, count=1))
            continue
        if row.count >= CUSTOM_OPERATIONS_MAX:
            raise PluginRefused(
                "Account ${a} already submitted ${n} custom json operation(s) this block.", a=account, n=CUSTOM_OPERATIONS_MAX
            )
        counts.modify(row, count=row.count + 1)
