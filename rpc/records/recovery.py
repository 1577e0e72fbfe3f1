"""Records of account recovery requests, former owner authorities, and requests to decline voting rights. Source: rpc-api.md §2.4."""

from msgspec import Struct

from state.protocol.authority import Authority
from state.protocol.codec.kinds import AccountName, Time, UInt32


class RecoveryRequestRecord(Struct):
    """A pending account recovery request (R-recovery), read from its row."""

    id: UInt32
    account_to_recover: AccountName
    new_owner_authority: Authority
    expires: Time


class ChangeRecoveryRequestRecord(Struct):
    """A pending request to change an account's recovery account (R-change-recovery), read from its row."""

    id: UInt32
    account_to_recover: AccountName
    recovery_account: AccountName
    effective_on: Time


class DeclineVotingRightsRequestRecord(Struct):
    """A pending request to decline voting rights (R-decline), read from its row."""

    id: UInt32
    account: AccountName
    effective_date: Time


class OwnerHistoryRecord(Struct):
    """A former owner authority (R-owner-hist), read from its row."""

    id: UInt32
    account: AccountName
    previous_owner_authority: Authority
    last_valid_time: Time
