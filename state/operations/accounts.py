"""Creation of accounts: for a fee, by a claim or with a delegation. Sources: operations.md §4; wire-format.md §4.1."""

from __future__ import annotations

from state.effects.accounts import create_account, require_accounts, require_few, require_members, require_size
from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, coin_to_vests, create_vesting
from state.operations.checks import require_account_name, require_json_metadata, require_no_extensions
from state.protocol.authority import Authority
from state.protocol.codec.kinds import AccountName, Codecs, Extensions, PublicKey, Text
from state.protocol.constants import (
    COIN_ACCOUNT_SUBSIDY_PRECISION,
    COIN_CREATE_ACCOUNT_DELEGATION_RATIO,
    COIN_CREATE_ACCOUNT_DELEGATION_TIME,
    COIN_CREATE_ACCOUNT_WITH_COIN_MODIFIER,
    COIN_MAX_ACCOUNT_CREATION_FEE,
    COIN_NULL_ACCOUNT,
)
from state.protocol.errors import require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, VESTS, Asset
from state.tables import State
from state.tables.accounts import Account, VestingDelegation
from state.tables.witnesses import ELECTED, SCHEDULE_NAMES

ROLES = ("owner", "active", "posting")


@operation(9, active="creator", impacted=("new_account_name", "creator"))
class AccountCreate(Operation, frozen=True):
    """Create an account for the fee set by the witnesses."""

    fee: Asset = Asset()
    creator: AccountName = ""
    new_account_name: AccountName = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    memo_key: PublicKey = NULL_KEY
    json_metadata: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.new_account_name)
        require_fee_symbol(self.fee)
        self.owner.validate()
        self.active.validate()  # the reference doesn't check posting here
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
            # Before hardfork 20 the fee was not burned, but became VESTS of the new account.
            create_vesting(state, account, fee)

    def _require_fee(self, state: State) -> None:
        """Refuse a fee that differs from the witnesses' median.

        Before hardfork 20 a higher fee was accepted as well, and under hardfork 19 the minimum was thirty times the median. Before hardfork
        1 any fee was valid.
        """
        fee = state.schedule.median_props.account_creation_fee
        require_fee_limit(state, self.fee)
        if state.hardfork >= 20:
            require(
                self.fee.amount == fee,
                "Must pay the exact account creation fee. paid: ${p} fee: ${f}",
                condition="o.fee == wso.median_props.account_creation_fee",
                p=self.fee,
                f=Asset(fee, COIN),
            )
            return
        least = share(fee * COIN_CREATE_ACCOUNT_WITH_COIN_MODIFIER) if state.hardfork >= 19 else fee
        require(
            state.hardfork < 1 or self.fee.amount >= least,
            "Insufficient Fee: ${f} required, ${p} provided.",
            condition="o.fee >= required_fee",
            f=Asset(least, COIN),
            p=self.fee,
        )


@operation(41, active="creator", impacted=("new_account_name", "creator"))
class AccountCreateWithDelegation(Operation, frozen=True):
    """Create an account for a lower fee, and delegate VESTS to it. Refused since hardfork 20."""

    fee: Asset = Asset()
    delegation: Asset = Asset()
    creator: AccountName = ""
    new_account_name: AccountName = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    memo_key: PublicKey = NULL_KEY
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

    def apply(self, state: State) -> None:
        # Since hardfork 20 accounts are created for the full fee or by a claim.
        require(
            state.hardfork < 20,
            "Account creation with delegation is deprecated as of Hardfork 20",
            condition="!_db.has_hardfork( COIN_HARDFORK_0_20__1760 )",
        )
        require_fee_limit(state, self.fee)
        creator = state.account(self.creator)
        self._require_paid(state, creator)
        authorities = (self.owner, self.active, self.posting)
        for authority in authorities:
            require_size(state, authority)
        for authority in authorities:
            require_accounts(state, authority)

        fee, shares = self.fee.amount, self.delegation.amount
        state.accounts.modify(
            creator, balance=share(creator.balance - fee), delegated_vesting_shares=share(creator.delegated_vesting_shares + shares)
        )
        name = self.new_account_name
        account = create_account(state, name, self.creator, self.memo_key, authorities, self.json_metadata, received_vesting_shares=shares)
        if shares > 0 or state.hardfork < 19:
            # Before hardfork 19 a delegation of 0 VESTS was stored as well.
            until = state.head_time + COIN_CREATE_ACCOUNT_DELEGATION_TIME
            state.vesting_delegations.insert(
                VestingDelegation(delegator=self.creator, delegatee=name, vesting_shares=shares, min_delegation_time=until)
            )
        if fee > 0:
            create_vesting(state, account, fee)

    def _require_paid(self, state: State, creator: Account) -> None:
        """Refuse unless five times the fee plus the delegation are worth 150 median creation fees, and the fee is at least one median
        creation fee.
        """
        require_funds_for(creator, self.fee)
        free = share(creator.vesting_shares - creator.delegated_vesting_shares - (creator.to_withdraw - creator.withdrawn))
        require(
            free >= self.delegation.amount,
            "Insufficient vesting shares to delegate to new account.",
            condition="creator.vesting_shares - creator.delegated_vesting_shares - asset( creator.to_withdraw - creator.withdrawn, "
            "VESTS_SYMBOL ) >= o.delegation",
        )
        fee = state.schedule.median_props.account_creation_fee
        target = coin_to_vests(state, share(fee * COIN_CREATE_ACCOUNT_WITH_COIN_MODIFIER * COIN_CREATE_ACCOUNT_DELEGATION_RATIO))
        counted = share(self.fee.amount * COIN_CREATE_ACCOUNT_DELEGATION_RATIO)
        current = share(coin_to_vests(state, counted) + self.delegation.amount)
        require(
            current >= target,
            "Insufficient Delegation ${f} required, ${p} provided.",
            condition="current_delegation >= target_delegation",
            f=Asset(target, VESTS),
            p=Asset(current, VESTS),
        )
        require(
            self.fee.amount >= fee,
            "Insufficient Fee: ${f} required, ${p} provided.",
            condition="o.fee >= wso.median_props.account_creation_fee",
            f=Asset(fee, COIN),
            p=self.fee,
        )


@operation(22, active="creator")
class ClaimAccount(Operation, frozen=True):
    """Acquire the right to create an account later, for the fee or for free from the subsidy."""

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

    def apply(self, state: State) -> None:
        require_hardfork_20(state, "claim_account")
        creator, fee = state.account(self.creator), self.fee.amount
        require_funds_for(creator, self.fee)
        if fee == 0:
            use_subsidy(state)
        else:
            median = state.schedule.median_props.account_creation_fee
            require(
                fee == median,
                "Cannot pay more than account creation fee. paid: ${p} fee: ${f}",
                condition="o.fee == wso.median_props.account_creation_fee",
                p=fee,
                f=Asset(median, COIN),
            )

        adjust_balance(state, state.account(COIN_NULL_ACCOUNT), fee, COIN)
        state.accounts.modify(
            creator, balance=share(creator.balance - fee), pending_claimed_accounts=share(creator.pending_claimed_accounts + 1)
        )


@operation(23, active="creator", impacted=("new_account_name", "creator"))
class CreateClaimedAccount(Operation, frozen=True):
    """Create an account with an earlier claim."""

    creator: AccountName = ""
    new_account_name: AccountName = ""
    owner: Authority = Authority()
    active: Authority = Authority()
    posting: Authority = Authority()
    memo_key: PublicKey = NULL_KEY
    json_metadata: Text = ""
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.creator)
        require_account_name(self.new_account_name)
        for authority in (self.owner, self.active, self.posting):
            authority.validate()
        for authority in (self.owner, self.active, self.posting):
            require_few(authority)
        require_json_metadata(self.json_metadata)
        require_no_extensions(self.extensions, "create_claimed_account")

    def apply(self, state: State) -> None:
        require_hardfork_20(state, "create_claimed_account")
        creator = state.account(self.creator)
        require(
            creator.pending_claimed_accounts > 0,
            "${creator} has no claimed accounts to create",
            condition="creator.pending_claimed_accounts > 0",
            creator=self.creator,
        )
        authorities = (self.owner, self.active, self.posting)
        for authority, role in zip(authorities, ROLES, strict=True):
            require_members(state, authority, role, self.new_account_name)

        state.accounts.modify(creator, pending_claimed_accounts=creator.pending_claimed_accounts - 1)
        create_account(state, self.new_account_name, self.creator, self.memo_key, authorities, self.json_metadata)


# ------------------------------------------------------------------ checks


def require_fee_symbol(fee: Asset) -> None:
    """Refuse a fee that is not in COIN."""
    require(fee.symbol == COIN, "Account creation fee must be COIN", condition="is_asset_type( fee, COIN_SYMBOL )")


def require_fee_not_negative(fee: Asset) -> None:
    """Refuse a negative fee, which the binary format can represent."""
    require(fee.amount >= 0, "Account creation fee cannot be negative", condition="fee >= asset( 0, COIN_SYMBOL )")


def require_fee_limit(state: State, fee: Asset) -> None:
    """Refuse a fee above the limit. Before hardfork 20 this applies only to pushed transactions."""
    require(
        fee.amount <= COIN_MAX_ACCOUNT_CREATION_FEE or (state.hardfork < 20 and not state.is_pushing),
        "Account creation fee cannot be too large",
        condition="o.fee <= asset( COIN_MAX_ACCOUNT_CREATION_FEE, COIN_SYMBOL )",
    )


def require_funds_for(creator: Account, fee: Asset) -> None:
    """Refuse unless the creator can pay the fee."""
    require(creator.balance >= fee.amount, "Insufficient balance to create account.", condition="creator.balance >= o.fee")


def require_hardfork_20(state: State, operation_name: str) -> None:
    """Refuse claimed accounts before hardfork 20."""
    require(
        state.hardfork >= 20,
        f"{operation_name}_operation is not enabled until hardfork 20.",
        condition="_db.has_hardfork( COIN_HARDFORK_0_20__1771 )",
    )


# ------------------------------------------------------------------ effects


def use_subsidy(state: State) -> None:
    """Take a free account out of the common pool and the producer's pool.

    When a claim is pushed, the producer of its block is unknown, so only the common pool is checked. A producer with an empty pool leaves
    the claim out of its block.
    """
    if not state.is_pushing:
        producer = state.witness(state.props.current_witness)
        require(
            producer.schedule == ELECTED,
            "Subsidized accounts can only be claimed by elected witnesses. current_witness:${w} witness_type:${t}",
            condition="current_witness.schedule == witness_object::elected",
            w=producer.owner,
            t=SCHEDULE_NAMES[producer.schedule],
        )
        require(
            producer.available_witness_account_subsidies >= COIN_ACCOUNT_SUBSIDY_PRECISION,
            "Witness ${w} does not have enough subsidized accounts to claim",
            condition="current_witness.available_witness_account_subsidies >= COIN_ACCOUNT_SUBSIDY_PRECISION",
            w=producer.owner,
        )
        left = producer.available_witness_account_subsidies - COIN_ACCOUNT_SUBSIDY_PRECISION
        state.witnesses.modify(producer, available_witness_account_subsidies=left)
    pool = state.props.available_account_subsidies
    require(
        pool >= COIN_ACCOUNT_SUBSIDY_PRECISION,
        "There are not enough subsidized accounts to claim",
        condition="gpo.available_account_subsidies >= COIN_ACCOUNT_SUBSIDY_PRECISION",
    )
    state.set_props(available_account_subsidies=pool - COIN_ACCOUNT_SUBSIDY_PRECISION)
