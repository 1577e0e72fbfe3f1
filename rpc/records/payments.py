"""Records of money on its way: escrows, withdrawals from savings, conversions. Source: rpc-api.md §2.4."""

from msgspec import Struct

from rpc.service.shown import CoinAmount, DebtAmount
from state.protocol.codec.kinds import AccountName, Bool, Text, Time, UInt32
from state.protocol.values.asset import Asset


class Escrow(Struct):
    """R-escrow, of a row."""

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


class SavingsWithdrawal(Struct):
    """R-savings, of a row."""

    id: UInt32
    from_: AccountName
    to: AccountName
    memo: Text
    request_id: UInt32
    amount: Asset
    complete: Time


class Conversion(Struct):
    """R-conversion, of a row."""

    id: UInt32
    owner: AccountName
    requestid: UInt32
    amount: DebtAmount
    conversion_date: Time
