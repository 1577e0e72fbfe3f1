"""Records of delegations and power-down routes. Source: rpc-api.md §2.4."""

from msgspec import Struct

from rpc.declare.record_fields import VestsAmount
from state.protocol.codec.kinds import AccountName, Bool, Time, UInt32


class DelegationRecord(Struct):
    """A delegation of VESTS (R-delegation), read from its row."""

    id: UInt32
    delegator: AccountName
    delegatee: AccountName
    vesting_shares: VestsAmount
    min_delegation_time: Time


class DelegationExpirationRecord(Struct):
    """VESTS of an ended delegation that have not returned to the delegator yet (R-delegation-exp), read from their row."""

    id: UInt32
    delegator: AccountName
    vesting_shares: VestsAmount
    expiration: Time


class RouteRecord(Struct):
    """A power-down route (R-route), read from its row."""

    id: UInt32
    from_account: AccountName
    to_account: AccountName
    percent: UInt32
    auto_vest: Bool
