"""Records of delegations and of the routes of power-downs. Source: rpc-api.md §2.4."""

from msgspec import Struct

from rpc.service.shown import VestsAmount
from state.protocol.codec.kinds import AccountName, Bool, Time, UInt32


class Delegation(Struct):
    """R-delegation, of a row."""

    id: UInt32
    delegator: AccountName
    delegatee: AccountName
    vesting_shares: VestsAmount
    min_delegation_time: Time


class DelegationExpiration(Struct):
    """R-delegation-exp, of a row."""

    id: UInt32
    delegator: AccountName
    vesting_shares: VestsAmount
    expiration: Time


class Route(Struct):
    """R-route, of a row."""

    id: UInt32
    from_account: AccountName
    to_account: AccountName
    percent: UInt32
    auto_vest: Bool
