"""Escrow: funds that an agent may release when the two parties don't agree. Declarations and what can be refused without
state; sources: operations.md §10, wire-format.md §4.1.
"""

from __future__ import annotations

from state.operations import checks
from state.protocol.asset import COIN, SBD, Asset
from state.protocol.codec import Codecs
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Bool, Text, Time, UInt32
from state.protocol.operation import Operation, operation

DEFAULT_ESCROW_ID = 30


def require_names(*names: str) -> None:
    """Refuse the first invalid account name."""
    for name in names:
        checks.require_account_name(name)


@operation(27, active="from_", impacted=("from_", "to", "agent"))
class EscrowTransfer(Operation, frozen=True):
    """Set funds aside for somebody, with an agent as arbiter; both must ratify it before the deadline."""

    from_: AccountName = ""
    to: AccountName = ""
    sbd_amount: Asset = Asset(0, SBD)
    coin_amount: Asset = Asset()
    escrow_id: UInt32 = DEFAULT_ESCROW_ID
    agent: AccountName = ""
    fee: Asset = Asset()
    json_meta: Text = ""
    ratification_deadline: Time = 0
    escrow_expiration: Time = 0

    def validate(self, codecs: Codecs) -> None:
        require_names(self.from_, self.to, self.agent)
        require(self.fee.amount >= 0, "fee cannot be negative", condition="fee.amount >= 0")
        require(self.sbd_amount.amount >= 0, "sbd amount cannot be negative", condition="sbd_amount.amount >= 0")
        require(self.coin_amount.amount >= 0, "coin amount cannot be negative", condition="coin_amount.amount >= 0")
        require(
            self.sbd_amount.amount > 0 or self.coin_amount.amount > 0,
            "escrow must transfer a non-zero amount",
            condition="sbd_amount.amount > 0 || coin_amount.amount > 0",
        )
        require(self.agent not in (self.from_, self.to), "agent must be a third party", condition="from != agent && to != agent")
        require(
            self.fee.symbol in (COIN, SBD),
            "fee must be COIN or SBD",
            condition="(fee.symbol == COIN_SYMBOL) || (fee.symbol == SBD_SYMBOL)",
        )
        require_currencies(self.sbd_amount, self.coin_amount)
        require(
            self.ratification_deadline < self.escrow_expiration,
            "ratification deadline must be before escrow expiration",
            condition="ratification_deadline < escrow_expiration",
        )
        checks.require_json_metadata(self.json_meta, "json_meta")


@operation(31, active="who", impacted=("from_", "to", "agent"))
class EscrowApprove(Operation, frozen=True):
    """The receiver or the agent accepts an escrow, or rejects it."""

    from_: AccountName = ""
    to: AccountName = ""
    agent: AccountName = ""
    who: AccountName = ""
    escrow_id: UInt32 = DEFAULT_ESCROW_ID
    approve: Bool = True

    def validate(self, codecs: Codecs) -> None:
        require_names(self.from_, self.to, self.agent, self.who)
        require(self.who in (self.to, self.agent), "to or agent must approve escrow", condition="who == to || who == agent")


@operation(28, active="who", impacted=("from_", "to", "agent"))
class EscrowDispute(Operation, frozen=True):
    """A party asks the agent to decide: from now on only the agent can release the funds."""

    from_: AccountName = ""
    to: AccountName = ""
    agent: AccountName = ""
    who: AccountName = ""
    escrow_id: UInt32 = DEFAULT_ESCROW_ID

    def validate(self, codecs: Codecs) -> None:
        require_names(self.from_, self.to, self.agent, self.who)
        require(self.who in (self.from_, self.to), "who must be from or to", condition="who == from || who == to")


@operation(29, active="who", impacted=("from_", "to", "agent"))
class EscrowRelease(Operation, frozen=True):
    """Give funds of an escrow to one of its parties."""

    from_: AccountName = ""
    to: AccountName = ""
    agent: AccountName = ""
    who: AccountName = ""
    receiver: AccountName = ""
    escrow_id: UInt32 = DEFAULT_ESCROW_ID
    sbd_amount: Asset = Asset(0, SBD)
    coin_amount: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_names(self.from_, self.to, self.agent, self.who, self.receiver)
        require(
            self.who in (self.from_, self.to, self.agent),
            "who must be from or to or agent",
            condition="who == from || who == to || who == agent",
        )
        require(self.receiver in (self.from_, self.to), "receiver must be from or to", condition="receiver == from || receiver == to")
        require(self.sbd_amount.amount >= 0, "sbd amount cannot be negative", condition="sbd_amount.amount >= 0")
        require(self.coin_amount.amount >= 0, "coin amount cannot be negative", condition="coin_amount.amount >= 0")
        require(
            self.sbd_amount.amount > 0 or self.coin_amount.amount > 0,
            "escrow must release a non-zero amount",
            condition="sbd_amount.amount > 0 || coin_amount.amount > 0",
        )
        require_currencies(self.sbd_amount, self.coin_amount)


def require_currencies(sbd_amount: Asset, coin_amount: Asset) -> None:
    """Each of an escrow's two amounts is in its own currency."""
    require(sbd_amount.symbol == SBD, "sbd amount must contain SBD", condition="sbd_amount.symbol == SBD_SYMBOL")
    require(coin_amount.symbol == COIN, "coin amount must contain COIN", condition="coin_amount.symbol == COIN_SYMBOL")
