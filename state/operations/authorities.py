"""Changes of accounts' authorities, recovery of accounts, and giving up the right to vote.

Sources: operations.md §4.5-§4.11; wire-format.md §4.1.
"""

from __future__ import annotations

from state.effects.accounts import require_accounts, require_members, require_size, update_owner
from state.operations.checks import require_account_name, require_json_metadata, require_optional_account_name
from state.protocol.authority import Authority
from state.protocol.codec.kinds import AccountName, Bool, Codecs, Extensions, PublicKey, Text
from state.protocol.constants import COIN_TEMP_ACCOUNT
from state.protocol.errors import Refused, UnknownKey, require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.operation import Needed, Operation, operation
from state.tables import State
from state.tables.accounts import Account, ChangeRecoveryRequest, DeclineVotingRequest, RecoveryRequest

# ------------------------------------------------------------------ changing


@operation(10)
class AccountUpdate(Operation, frozen=True):
    """Change authorities, memo key or metadata of an account."""

    account: AccountName = ""
    owner: Authority | None = None
    active: Authority | None = None
    posting: Authority | None = None
    memo_key: PublicKey = NULL_KEY
    json_metadata: Text = ""

    def authorities(self, needed: Needed) -> None:
        (needed.active if self.owner is None else needed.owner).add(self.account)

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_json_metadata(self.json_metadata)

    def apply(self, state: State) -> None:
        require_not_temp(state, self.account)
        account = update_account(state, self.account, (self.owner, self.active, self.posting), self.memo_key)
        if self.json_metadata:
            # Before hardfork 21 the posting metadata was always the same text.
            both = {"posting_json_metadata": self.json_metadata} if state.hardfork < 21 else {}
            update_metadata(state, account, json_metadata=self.json_metadata, **both)


@operation(43)
class AccountUpdate2(Operation, frozen=True):
    """Change an account like account_update. Posting metadata needs only the posting authority."""

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

    def apply(self, state: State) -> None:
        require(
            state.hardfork >= 21,
            "Operation 'account_update2' is not enabled until HF 21",
            condition="_db.has_hardfork( COIN_HARDFORK_0_21__3274 )",
        )
        require_not_temp(state, self.account)
        account = update_account(state, self.account, (self.owner, self.active, self.posting), self.memo_key or NULL_KEY)
        texts = {"json_metadata": self.json_metadata, "posting_json_metadata": self.posting_json_metadata}
        given = {field: text for field, text in texts.items() if text}
        if given:
            update_metadata(state, account, **given)


@operation(36, owner="account")
class DeclineVotingRights(Operation, frozen=True):
    """Give up the right to vote permanently, after a delay in which the request can be cancelled."""

    account: AccountName = ""
    decline: Bool = True

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)

    def apply(self, state: State) -> None:
        require(state.hardfork >= 14, condition="_db.has_hardfork( COIN_HARDFORK_0_14__324 )")
        state.account(self.account)
        requests = state.decline_voting_requests
        request = requests.by_account.get(self.account)
        if self.decline:
            require(request is None, "Cannot create new request because one already exists.", condition="itr == request_idx.end()")
            effective = state.head_time + state.spec.constants.COIN_OWNER_AUTH_RECOVERY_PERIOD
            requests.insert(DeclineVotingRequest(account=self.account, effective_date=effective))
            return
        require(request, "Cannot cancel the request because it does not exist.", condition="itr != request_idx.end()")
        assert request is not None
        requests.remove(request)


# ------------------------------------------------------------------ recovering


@operation(24, active="recovery_account", impacted=("recovery_account", "account_to_recover"))
class RequestAccountRecovery(Operation, frozen=True):
    """Propose a new owner authority for a stolen account, as the account's recovery partner."""

    recovery_account: AccountName = ""
    account_to_recover: AccountName = ""
    new_owner_authority: Authority = Authority()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.recovery_account)
        require_account_name(self.account_to_recover)
        self.new_owner_authority.validate()

    def apply(self, state: State) -> None:
        account, authority = state.account(self.account_to_recover), self.new_owner_authority
        self._require_partner(state, account)
        requests = state.recovery_requests
        request = requests.by_account.get(self.account_to_recover)
        if request is not None and authority.weight_threshold == 0:
            requests.remove(request)
            return
        require(
            not authority.is_impossible, "Cannot recover using an impossible authority.", condition="!o.new_owner_authority.is_impossible()"
        )
        if request is None:
            require(
                authority.weight_threshold, "Cannot recover using an open authority.", condition="o.new_owner_authority.weight_threshold"
            )
            require_size(state, authority)
        if state.hardfork >= 15:
            # Before hardfork 15 the existence of the authority's accounts was not checked.
            require_accounts(state, authority)

        expires = state.head_time + state.spec.constants.COIN_ACCOUNT_RECOVERY_REQUEST_EXPIRATION_PERIOD
        if request is None:
            requests.insert(RecoveryRequest(account_to_recover=account.name, new_owner_authority=authority, expires=expires))
        else:
            requests.modify(request, new_owner_authority=authority, expires=expires)

    def _require_partner(self, state: State, account: Account) -> None:
        """Refuse unless the signer is the account's recovery partner. If none is set, this is the witness with the most votes."""
        if account.recovery_account:
            require(
                account.recovery_account == self.recovery_account,
                "Cannot recover an account that does not have you as there recovery partner.",
                condition="account_to_recover.recovery_account == o.recovery_account",
            )
            return
        top = state.witnesses.by_vote_name.first()
        require(
            top is not None and top.owner == self.recovery_account,
            "Top witness must recover an account with no recovery partner.",
            condition="_db.get_index< witness_index >().indices().get< by_vote_name >().begin()->owner == o.recovery_account",
        )


@operation(25, impacted=("account_to_recover",))
class RecoverAccount(Operation, frozen=True):
    """Recover a stolen account, signed with the new owner authority and a recent one."""

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

    def apply(self, state: State) -> None:
        account = state.account(self.account_to_recover)
        # Since hardfork 12 there is a minimum interval between two recoveries.
        require(
            state.hardfork < 12 or state.head_time - account.last_account_recovery > state.spec.constants.COIN_OWNER_UPDATE_LIMIT,
            "Owner authority can only be updated once an hour.",
            condition="_db.head_block_time() - account.last_account_recovery > COIN_OWNER_UPDATE_LIMIT",
        )
        request = state.recovery_requests.by_account.get(account.name)
        require(request, "There are no active recovery requests for this account.", condition="request != recovery_request_idx.end()")
        assert request is not None
        require(
            request.new_owner_authority == self.new_owner_authority,
            "New owner authority does not match recovery request.",
            condition="request->new_owner_authority == o.new_owner_authority",
        )
        former = state.owner_histories.by_account.equal(account.name)
        require(
            any(history.previous_owner_authority == self.recent_owner_authority for history in former),
            "Recent authority not found in authority history.",
            condition="found",
        )

        state.recovery_requests.remove(request)
        update_owner(state, account.name, self.new_owner_authority)
        state.accounts.modify(account, last_account_recovery=state.head_time)


@operation(26, owner="account_to_recover", impacted=("account_to_recover",))
class ChangeRecoveryAccount(Operation, frozen=True):
    """Change the recovery partner, after a delay."""

    account_to_recover: AccountName = ""
    new_recovery_account: AccountName = ""
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account_to_recover)
        require_account_name(self.new_recovery_account)

    def apply(self, state: State) -> None:
        state.account(self.new_recovery_account)
        account = state.account(self.account_to_recover)
        requests = state.change_recovery_requests
        request = requests.by_account.get(account.name)
        partner, effective = self.new_recovery_account, state.head_time + state.spec.constants.COIN_OWNER_AUTH_RECOVERY_PERIOD
        if request is None:
            requests.insert(ChangeRecoveryRequest(account_to_recover=account.name, recovery_account=partner, effective_on=effective))
        elif account.recovery_account != partner:
            requests.modify(request, recovery_account=partner, effective_on=effective)
        else:
            requests.remove(request)


@operation(37, active="reset_account")
class ResetAccount(Operation, frozen=True):
    """Set the owner authority of an account that has been unused for a long time. Always refused."""

    reset_account: AccountName = ""
    account_to_reset: AccountName = ""
    new_owner_authority: Authority = Authority()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.reset_account)
        require_account_name(self.account_to_reset)
        require_possible(self.new_owner_authority, "new")
        require_not_trivial(self.new_owner_authority)
        self.new_owner_authority.validate()

    def apply(self, state: State) -> None:
        raise Refused("Reset Account Operation is currently disabled.", condition="false")


@operation(38)
class SetResetAccount(Operation, frozen=True):
    """Choose the account that can reset this account. Always refused."""

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

    def apply(self, state: State) -> None:
        raise Refused("Set Reset Account Operation is currently disabled.", condition="false")


# ------------------------------------------------------------------ checks


def require_not_temp(state: State, name: str) -> None:
    """Refuse to change the account `temp`, because anybody can act as `temp`. Before hardfork 1 this was not checked."""
    require(name != COIN_TEMP_ACCOUNT or state.hardfork < 1, "Cannot update temp account.", condition="o.account != COIN_TEMP_ACCOUNT")


def require_possible(authority: Authority, which: str) -> None:
    """Refuse an authority whose weights can't reach its threshold."""
    require(
        not authority.is_impossible, f"{which} owner authority cannot be impossible", condition=f"!{which}_owner_authority.is_impossible()"
    )


def require_not_trivial(authority: Authority) -> None:
    """Refuse an authority with the threshold 0, which needs no signature."""
    require(authority.weight_threshold, "new owner authority cannot be trivial", condition="new_owner_authority.weight_threshold")


# ------------------------------------------------------------------ effects


def update_account(
    state: State, name: str, authorities: tuple[Authority | None, Authority | None, Authority | None], memo_key: bytes
) -> Account:
    """Replace the given authorities and memo key. On the main build the owner authority can change at most once an hour."""
    owner, active, posting = authorities
    if posting is not None and state.hardfork >= 15:
        # Before hardfork 15 the posting authority was not checked. The others are still not checked.
        posting.validate()
    account = state.account(name)
    row = state.authority(name)
    for authority in authorities:
        if authority is not None:
            require_size(state, authority)
    if owner is not None:
        constants = state.spec.constants
        if constants.LIMIT_OWNER_UPDATES and state.hardfork >= 11:
            # The limit applies since hardfork 11.
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
    key = {"memo_key": memo_key} if memo_key != NULL_KEY else {}
    state.accounts.modify(account, last_account_update=state.head_time, **key)
    return account


def update_metadata(state: State, account: Account, **texts: str) -> None:
    """Replace an account's metadata. As on the reference, this is refused for the genesis accounts that have no metadata."""
    row = state.account_metadata.by_account.get(account.id)
    if row is None:
        raise UnknownKey(kind="metadata", key=(account.name,))
    state.account_metadata.modify(row, **texts)
