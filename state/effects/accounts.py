"""Making accounts and changing who may act for them. Source: operations.md §2.4, §2.13."""

from state.protocol.constants import COIN_MAX_AUTHORITY_MEMBERSHIP, COIN_TEMP_ACCOUNT
from state.protocol.errors import require
from state.protocol.keys.authority import Authority
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata, OwnerHistory

FULL_VOTING_POWER = 10000


def require_size(state: State, authority: Authority) -> None:
    """An authority has at most 40 members. Before hardfork 20 only this node's own pushes were held to it."""
    if state.hardfork >= 20 or state.is_pushing:
        require_few(authority)


def require_few(authority: Authority) -> None:
    """An authority has at most 40 members, keys and accounts together."""
    require(
        authority.members <= COIN_MAX_AUTHORITY_MEMBERSHIP,
        "Authority membership exceeded. Max: ${max} Current: ${n}",
        condition="size <= COIN_MAX_AUTHORITY_MEMBERSHIP",
        max=COIN_MAX_AUTHORITY_MEMBERSHIP,
        n=authority.members,
    )


def require_members(state: State, authority: Authority, role: str, account: str) -> None:
    """Every account that an authority names exists. Before hardfork 15 nobody looked."""
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
    """Every account that an authority names exists, or the lookup itself is refused."""
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
    """A new account with its metadata and its owner, active and posting authority; a taken name is refused."""
    now = state.head_time
    recovery = creator
    if state.hardfork < 11:
        # Before hardfork 11 one account was everybody's recovery partner.
        recovery = state.spec.brand
    elif state.hardfork >= 20 and creator == COIN_TEMP_ACCOUNT:
        # Since hardfork 20 accounts made by `temp` fall to the top witness, as mined ones (without a creator) do.
        recovery = ""
    # Before hardfork 20 voting mana was a percentage that started full.
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
    """Change an owner authority; the old one is remembered for recovery."""
    row = state.authority(name)
    now = state.head_time
    if state.props.head_block_number >= state.spec.constants.COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM:
        state.owner_histories.insert(OwnerHistory(account=name, previous_owner_authority=row.owner, last_valid_time=now))
    state.account_authorities.modify(row, owner=authority, last_owner_update=now)
