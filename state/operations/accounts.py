"""Accounts: creating and changing them, recovering their owner authority, giving up their voting rights.

Declarations and what can be refused without state. Sources: operations.md §4; wire-format.md §4.1.
"""

from __future__ import annotations

from state.effects.accounts import create_account, require_members, require_size, update_owner
from state.effects.balances import adjust_balance, create_vesting
from state.operations.checks import (
    require_account_name,
    require_authority_size,
    require_json_metadata,
    require_no_extensions,
    require_optional_account_name,
)
from state.protocol.asset import COIN, VESTS, Asset
from state.protocol.authority import Authority
from state.protocol.codec import Codecs
from state.protocol.constants import (
    COIN_CREATE_ACCOUNT_WITH_COIN_MODIFIER,
    COIN_MAX_ACCOUNT_CREATION_FEE,
    COIN_NULL_ACCOUNT,
    COIN_TEMP_ACCOUNT,
)
from state.protocol.errors import UnknownKey, require
from state.protocol.kinds import AccountName, Bool, Extensions, PublicKey, Text
from state.protocol.operation import Needed, Operation, operation
from state.tables import State
from state.tables.accounts import Account

NO_KEY = bytes(33)
ROLES = ("owner", "active", "posting")

# ------------------------------------------------------------------ creating


@operation(9, active="creator", impacted=("new_account_name", "creator"))
class AccountCreate(Operation, frozen=True):
    """Create an account for the fee that the witnesses set."""

    fee: Asset = Asset()
    creator: AccountName = ""
    new_account_name: AccountName = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    memo_key: PublicKey = NO_KEY
    json_metadata: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.new_account_name)
        require_fee_symbol(self.fee)
        self.owner.validate()
        self.active.validate()  # the reference leaves out posting here
        require_json_metadata(self.json_metadata)
        require_fee_not_negative(self.fee)

    def apply(self, state: State) -> None:
        creator = state.account(self.creator)
        self._require_fee(state)
        authorities = (self.owner, self.active, self.posting)
        for authority in authorities:
            require_size(state, authority)
        for authority, role in zip(authorities, ROLES, strict=True):
            require_members(state, authority, role, self.new_account_name)

        fee = self.fee.amount
        adjust_balance(state, creator, -fee, COIN)
        if state.hardfork >= 20:
            adjust_balance(state, state.account(COIN_NULL_ACCOUNT), fee, COIN)
        account = create_account(state, self.new_account_name, self.creator, self.memo_key, authorities, self.json_metadata)
        if state.hardfork < 20 and fee > 0:
            # Before hardfork 20 the fee was not burned but became the new account's VESTS.
            create_vesting(state, account, fee)

    def _require_fee(self, state: State) -> None:
        """Exactly the fee that the witnesses agree on; before hardfork 20 at least that, under hardfork 19 thirty times."""
        fee = state.schedule.median_props.account_creation_fee
        if state.hardfork >= 20:
            require(
                self.fee.amount <= COIN_MAX_ACCOUNT_CREATION_FEE,
                "Account creation fee cannot be too large",
                condition="o.fee <= asset( COIN_MAX_ACCOUNT_CREATION_FEE, COIN_SYMBOL )",
            )
            require(
                self.fee.amount == fee,
                "Must pay the exact account creation fee. paid: ${p} fee: ${f}",
                condition="o.fee == wso.median_props.account_creation_fee",
                p=self.fee,
                f=Asset(fee, COIN),
            )
            return
        least = fee * COIN_CREATE_ACCOUNT_WITH_COIN_MODIFIER if state.hardfork >= 19 else fee
        # Before hardfork 1 there was no minimum.
        require(
            state.hardfork < 1 or self.fee.amount >= least,
            "Insufficient Fee: ${f} required, ${p} provided.",
            condition="o.fee >= required_fee",
            f=Asset(least, COIN),
            p=self.fee,
        )


@operation(41, active="creator", impacted=("new_account_name", "creator"))
class AccountCreateWithDelegation(Operation, frozen=True):
    """Create an account for a lower fee and a delegation to it; refused since hardfork 20."""

    fee: Asset = Asset()
    delegation: Asset = Asset()
    creator: AccountName = ""
    new_account_name: AccountName = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    memo_key: PublicKey = NO_KEY
    json_metadata: Text = ""
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.new_account_name)
        require_account_name(self.creator)
        require_fee_symbol(self.fee)
        require(self.delegation.symbol == VESTS, "Delegation must be VESTS", condition="is_asset_type( delegation, VESTS_SYMBOL )")
        for authority in (self.owner, self.active, self.posting):
            authority.validate()
        require_json_metadata(self.json_metadata)
        require_fee_not_negative(self.fee)
        require(self.delegation.amount >= 0, "Delegation cannot be negative", condition="delegation >= asset( 0, VESTS_SYMBOL )")


@operation(22, active="creator")
class ClaimAccount(Operation, frozen=True):
    """Acquire the right to create an account later, for the fee or for free out of the subsidy."""

    creator: AccountName = ""
    fee: Asset = Asset()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.creator)
        require_fee_symbol(self.fee)
        require_fee_not_negative(self.fee)
        require(
            self.fee.amount <= COIN_MAX_ACCOUNT_CREATION_FEE,
            "Account creation fee cannot be too large",
            condition="fee <= asset( COIN_MAX_ACCOUNT_CREATION_FEE, COIN_SYMBOL )",
        )
        require_no_extensions(self.extensions, "claim_account")


@operation(23, active="creator", impacted=("new_account_name", "creator"))
class CreateClaimedAccount(Operation, frozen=True):
    """Create an account that was claimed before."""

    creator: AccountName = ""
    new_account_name: AccountName = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    memo_key: PublicKey = NO_KEY
    json_metadata: Text = ""
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.creator)
        require_account_name(self.new_account_name)
        for authority in (self.owner, self.active, self.posting):
            authority.validate()
        for authority in (self.owner, self.active, self.posting):
            require_authority_size(authority)
        require_json_metadata(self.json_metadata)
        require_no_extensions(self.extensions, "create_claimed_account")


# ------------------------------------------------------------------ changing


@operation(10)
class AccountUpdate(Operation, frozen=True):
    """Change authorities, memo key or metadata of an account."""

    account: AccountName = ""
    owner: Authority | None = None
    active: Authority | None = None
    posting: Authority | None = None
    memo_key: PublicKey = NO_KEY
    json_metadata: Text = ""

    def authorities(self, needed: Needed) -> None:
        (needed.active if self.owner is None else needed.owner).add(self.account)

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_json_metadata(self.json_metadata)

    def apply(self, state: State) -> None:
        # Before hardfork 1 anybody could change the account that belongs to nobody.
        require(
            self.account != COIN_TEMP_ACCOUNT or state.hardfork < 1,
            "Cannot update temp account.",
            condition="o.account != COIN_TEMP_ACCOUNT",
        )
        if state.hardfork >= 15 and self.posting is not None:
            # Since hardfork 15.
            self.posting.validate()
        update_account(state, self.account, self.owner, self.active, self.posting)
        changes = {"memo_key": self.memo_key} if self.memo_key != NO_KEY else {}
        account = state.account(self.account)
        state.accounts.modify(account, last_account_update=state.head_time, **changes)
        if self.json_metadata:
            # Before hardfork 21 there was one metadata text for both.
            both = {"posting_json_metadata": self.json_metadata} if state.hardfork < 21 else {}
            update_metadata(state, account, json_metadata=self.json_metadata, **both)


@operation(43)
class AccountUpdate2(Operation, frozen=True):
    """Change an account like account_update; what applications may write needs the posting authority only."""

    account: AccountName = ""
    owner: Authority | None = None
    active: Authority | None = None
    posting: Authority | None = None
    memo_key: PublicKey | None = None
    json_metadata: Text = ""
    posting_json_metadata: Text = ""
    extensions: Extensions = ()

    def authorities(self, needed: Needed) -> None:
        if self.owner is not None:
            needed.owner.add(self.account)
        elif self.active is not None or self.posting is not None or self.memo_key is not None or self.json_metadata:
            needed.active.add(self.account)
        else:
            needed.posting.add(self.account)

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_json_metadata(self.json_metadata)
        require_json_metadata(self.posting_json_metadata, "posting_json_metadata")


@operation(36, owner="account")
class DeclineVotingRights(Operation, frozen=True):
    """Give up the right to vote for good, after a delay in which it can be called off."""

    account: AccountName = ""
    decline: Bool = True

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)


# ------------------------------------------------------------------ recovering


@operation(24, active="recovery_account", impacted=("recovery_account", "account_to_recover"))
class RequestAccountRecovery(Operation, frozen=True):
    """The recovery partner vouches for a new owner authority of a stolen account."""

    recovery_account: AccountName = ""
    account_to_recover: AccountName = ""
    new_owner_authority: Authority = Authority()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.recovery_account)
        require_account_name(self.account_to_recover)
        self.new_owner_authority.validate()


@operation(25, impacted=("account_to_recover",))
class RecoverAccount(Operation, frozen=True):
    """The true owner takes a stolen account back, with the new and a recent owner authority."""

    account_to_recover: AccountName = ""
    new_owner_authority: Authority = Authority()
    recent_owner_authority: Authority = Authority()
    extensions: Extensions = ()

    def authorities(self, needed: Needed) -> None:
        needed.other += (self.new_owner_authority, self.recent_owner_authority)

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account_to_recover)
        new, recent = self.new_owner_authority, self.recent_owner_authority
        require(
            new != recent,
            "Cannot set new owner authority to the recent owner authority",
            condition="!( new_owner_authority == recent_owner_authority )",
        )
        require_possible(new, "new")
        require_possible(recent, "recent")
        require_not_trivial(new)
        new.validate()
        recent.validate()


@operation(26, owner="account_to_recover", impacted=("account_to_recover",))
class ChangeRecoveryAccount(Operation, frozen=True):
    """Choose another recovery partner, after a delay."""

    account_to_recover: AccountName = ""
    new_recovery_account: AccountName = ""
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account_to_recover)
        require_account_name(self.new_recovery_account)


@operation(37, active="reset_account")
class ResetAccount(Operation, frozen=True):
    """Set the owner authority of an account that was not used for long; always refused."""

    reset_account: AccountName = ""
    account_to_reset: AccountName = ""
    new_owner_authority: Authority = Authority()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.reset_account)
        require_account_name(self.account_to_reset)
        require_possible(self.new_owner_authority, "new")
        require_not_trivial(self.new_owner_authority)
        self.new_owner_authority.validate()


@operation(38)
class SetResetAccount(Operation, frozen=True):
    """Choose who may reset an account; always refused."""

    account: AccountName = ""
    current_reset_account: AccountName = ""
    reset_account: AccountName = ""

    def authorities(self, needed: Needed) -> None:
        (needed.owner if self.current_reset_account else needed.posting).add(self.account)

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_optional_account_name(self.current_reset_account)
        require_account_name(self.reset_account)
        require(
            self.current_reset_account != self.reset_account,
            "new reset account cannot be current reset account",
            condition="current_reset_account != reset_account",
        )


# ------------------------------------------------------------------ checks


def require_fee_symbol(fee: Asset) -> None:
    """The fee is in COIN."""
    require(fee.symbol == COIN, "Account creation fee must be COIN", condition="is_asset_type( fee, COIN_SYMBOL )")


def require_fee_not_negative(fee: Asset) -> None:
    """The fee is not negative; bytes can hold such an amount."""
    require(fee.amount >= 0, "Account creation fee cannot be negative", condition="fee >= asset( 0, COIN_SYMBOL )")


def require_possible(authority: Authority, which: str) -> None:
    """Enough weight for the threshold."""
    require(
        not authority.is_impossible,
        f"{which} owner authority cannot be impossible",
        condition=f"!{which}_owner_authority.is_impossible()",
    )


def require_not_trivial(authority: Authority) -> None:
    """A threshold that somebody must sign for."""
    require(authority.weight_threshold, "new owner authority cannot be trivial", condition="new_owner_authority.weight_threshold")


# ------------------------------------------------------------------ effects


def update_account(state: State, name: str, owner: Authority | None, active: Authority | None, posting: Authority | None) -> None:
    """Replace the authorities that are given; the owner's at most once an hour on the main build."""
    state.account(name)
    row = state.authority(name)
    for authority in (owner, active, posting):
        if authority is not None:
            require_size(state, authority)
    if owner is not None:
        constants = state.spec.constants
        if constants.LIMIT_OWNER_UPDATES and state.hardfork >= 11:
            # Since hardfork 11.
            require(
                state.head_time - row.last_owner_update > constants.COIN_OWNER_UPDATE_LIMIT,
                "Owner authority can only be updated once an hour.",
                condition="_db.head_block_time() - account_auth.last_owner_update > COIN_OWNER_UPDATE_LIMIT",
            )
        require_members(state, owner, "owner", name)
        update_owner(state, name, owner)
    if active is not None:
        require_members(state, active, "active", name)
    if posting is not None:
        require_members(state, posting, "posting", name)
    changes = {role: given for role, given in (("active", active), ("posting", posting)) if given is not None}
    if changes:
        state.account_authorities.modify(row, **changes)


def update_metadata(state: State, account: Account, **texts: str) -> None:
    """Replace what an account says about itself; genesis accounts have nothing to replace."""
    row = state.account_metadata.by_account.get(account.id)
    if row is None:
        raise UnknownKey
    state.account_metadata.modify(row, **texts)
