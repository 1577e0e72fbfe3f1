"""Records of account recovery, of former owners, and of those who decline to vote. Source: rpc-api.md §2.4."""

from msgspec import Struct

from state.protocol.codec.kinds import AccountName, Time, UInt32
from state.protocol.keys.authority import Authority


class RecoveryRequest(Struct):
    """R-recovery, of a row."""

    id: UInt32
    account_to_recover: AccountName
    new_owner_authority: Authority
    expires: Time


class ChangeRecoveryRequest(Struct):
    """R-change-recovery, of a row."""

    id: UInt32
    account_to_recover: AccountName
    recovery_account: AccountName
    effective_on: Time


class DeclineRequest(Struct):
    """R-decline, of a row."""

    id: UInt32
    account: AccountName
    effective_date: Time


class OwnerHistory(Struct):
    """R-owner-hist, of a row."""

    id: UInt32
    account: AccountName
    previous_owner_authority: Authority
    last_valid_time: Time
