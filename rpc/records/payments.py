"""Records of escrows, savings withdrawals, and conversions. Source: rpc-api.md §2.4."""

from msgspec import Struct

from rpc.declare.record_fields import CoinAmount, DebtAmount
from state.protocol.codec.kinds import AccountName, Bool, Text, Time, UInt32
from state.protocol.values.asset import Asset


class EscrowRecord(Struct):
    """An escrow (R-escrow), read from its row."""

    id: UInt32
    escrow_id: UInt32
    from_: AccountName
    to: AccountName
    agent: AccountName
    ratification_deadline: Time
    escrow_expiration: Time
    sbd_balance: DebtAmount
    coin_balance: CoinAmount
    pending_fee: Asset
    to_approved: Bool
    agent_approved: Bool
    disputed: Bool


class SavingsWithdrawalRecord(Struct):
    """A pending withdrawal from savings (R-savings), read from its row."""

    id: UInt32
    from_: AccountName
    to: AccountName
    memo: Text
    request_id: UInt32
    amount: Asset
    complete: Time


class ConversionRecord(Struct):
    """A pending SBD-to-COIN conversion (R-conversion), read from its row."""

    id: UInt32
    owner: AccountName
    requestid: UInt32
    amount: DebtAmount
    conversion_date: Time
