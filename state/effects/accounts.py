"""Creating accounts and changing their authorities. Source: operations.md §2.4, §2.13."""

from state.protocol.authority import Authority
from state.protocol.constants import COIN_100_PERCENT, COIN_MAX_AUTHORITY_MEMBERSHIP, COIN_TEMP_ACCOUNT
from state.protocol.errors import require
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata, OwnerHistory

FULL_VOTING_POWER = COIN_100_PERCENT


def require_size(state: State, authority: Authority) -> None:
    """Refuse an authority of more than 40 members; before hardfork 20 only in transactions that enter this node."""
    if state.hardfork >= 20 or state.is_pushing:
        require_few(authority)


def require_few(authority: Authority) -> None:
    """Refuse an authority of more than 40 members, keys and accounts together."""
    require(
        authority.members <= COIN_MAX_AUTHORITY_MEMBERSHIP,
        "Authority membership exceeded. Max: ${max} Current: ${n}",
        condition="size <= COIN_MAX_AUTHORITY_MEMBERSHIP",
        max=COIN_MAX_AUTHORITY_MEMBERSHIP,
        n=authority.members,
    )


def require_members(state: State, authority: Authority, role: str, account: str) -> None:
    """Refuse an authority that names an account which doesn't exist; before hardfork 15 that was not checked."""
    if state.hardfork < 15:
        return
    for name, _ in authority.account_auths:
        require(
            state.accounts.by_name.get(name) is not None,
            "New ${ac} authority on account ${aa} references non-existing account ${aref}",
            condition="a != nullptr",
            aref=name,
            ac=role,
            aa=account,
        )


def require_accounts(state: State, authority: Authority) -> None:
    """Refuse an authority that names an unknown account, with the text of the look-up itself."""
    for name, _ in authority.account_auths:
        state.account(name)


def create_account(
    state: State,
    name: str,
    creator: str,
    memo_key: bytes,
    authorities: tuple[Authority, Authority, Authority],
    json_metadata: str = "",
    mined: bool = False,
    received_vesting_shares: int = 0,
) -> Account:
    """Insert an account with its metadata and its owner, active and posting authority; a taken name is refused."""
    now = state.head_time
    recovery = creator
    if state.hardfork < 11:
        # Before hardfork 11 one account, named by the brand word, was the recovery partner of all.
        recovery = state.spec.brand
    elif state.hardfork >= 20 and creator == COIN_TEMP_ACCOUNT:
        # Anybody can act as `temp`, so it is no partner. An account without one is recovered by the witness with the most
        # votes; mined accounts, which have no creator, always were.
        recovery = ""
    # Before hardfork 20 voting mana was a percentage, which began full.
    mana = 0 if state.hardfork >= 20 else FULL_VOTING_POWER
    account = state.accounts.insert(
        Account(
            name=name,
            memo_key=memo_key,
            created=now,
            mined=mined,
            recovery_account=recovery,
            voting_mana=mana,
            voting_mana_time=now,
            downvote_mana_time=now,
            received_vesting_shares=received_vesting_shares,
        )
    )
    state.account_metadata.insert(AccountMetadata(account=account.id, json_metadata=json_metadata))
    owner, active, posting = authorities
    state.account_authorities.insert(AccountAuthority(account=name, owner=owner, active=active, posting=posting))
    return account


def update_owner(state: State, name: str, authority: Authority) -> None:
    """Change an owner authority, and keep the old one for an account recovery."""
    row = state.authority(name)
    now = state.head_time
    # The main chain began to keep former authorities at a block of its own, not with a hardfork.
    if state.props.head_block_number >= state.spec.constants.COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM:
        state.owner_histories.insert(OwnerHistory(account=name, previous_owner_authority=row.owner, last_valid_time=now))
    state.account_authorities.modify(row, owner=authority, last_owner_update=now)
