"""Creation of accounts and changes of their authorities. Source: operations.md §2.4, §2.13."""

from state.protocol.authority import Authority
from state.protocol.constants import COIN_100_PERCENT, COIN_MAX_AUTHORITY_MEMBERSHIP, COIN_TEMP_ACCOUNT
from state.protocol.errors import require
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata, OwnerHistory

FULL_VOTING_POWER = COIN_100_PERCENT


def require_size(state: State, authority: Authority) -> None:
    """Refuse an authority of more than 40 members. Before hardfork 20 this applies only to pushed transactions."""
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
    """Refuse an authority with a member account that doesn't exist. Before hardfork 15 this was not checked."""
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
    """Refuse an authority with an unknown member account. The message is that of a failed account lookup."""
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
    """Insert an account with its metadata and its owner, active and posting authority. An existing name is refused."""
    now = state.head_time
    recovery = creator
    if state.hardfork < 11:
        # Before hardfork 11 the account with the brand's name was the recovery partner of all accounts.
        recovery = state.spec.brand
    elif state.hardfork >= 20 and creator == COIN_TEMP_ACCOUNT:
        # Anybody can act as `temp`, so it can't be a partner. The witness with the most votes recovers accounts without a partner;
        # mined accounts never have one, because they have no creator.
        recovery = ""
    # Before hardfork 20 voting mana was a percentage, initially 100 %.
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
    """Change an owner authority, and store the old one for account recovery."""
    row = state.authority(name)
    now = state.head_time
    # The main chain began to store former authorities at a certain block, not with a hardfork.
    if state.props.head_block_number >= state.spec.constants.COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM:
        state.owner_histories.insert(OwnerHistory(account=name, previous_owner_authority=row.owner, last_valid_time=now))
    state.account_authorities.modify(row, owner=authority, last_owner_update=now)
