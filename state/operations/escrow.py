"""Escrow: funds that an agent can release in a dispute of the two parties. Sources: operations.md §10, wire-format.md §4.1."""

from __future__ import annotations

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance
from state.effects.escrow import give_back_escrow
from state.operations import checks
from state.protocol.codec.kinds import AccountName, Bool, Codecs, Text, Time, UInt32
from state.protocol.errors import require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, SBD, Asset
from state.tables import State
from state.tables.payments import Escrow

DEFAULT_ESCROW_ID = 30


def require_names(*names: str) -> None:
    """Refuse invalid account names."""
    for name in names:
        checks.require_account_name(name)


@operation(27, active="from_", impacted=("from_", "to", "agent"), protected="from_")
class EscrowTransfer(Operation, frozen=True):
    """Put funds for a receiver in escrow, with an agent as arbiter. The receiver and the agent must approve it before the deadline."""

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
            self.fee.symbol in (COIN, SBD), "fee must be COIN or SBD", condition="(fee.symbol == COIN_SYMBOL) || (fee.symbol == SBD_SYMBOL)"
        )
        require_currencies(self.sbd_amount, self.coin_amount)
        require(
            self.ratification_deadline < self.escrow_expiration,
            "ratification deadline must be before escrow expiration",
            condition="ratification_deadline < escrow_expiration",
        )
        checks.require_json_metadata(self.json_meta, "json_meta")

    def apply(self, state: State) -> None:
        source = state.account(self.from_)
        state.account(self.to)
        state.account(self.agent)
        require(
            self.ratification_deadline > state.head_time,
            "The escorw ratification deadline must be after head block time.",
            condition="o.ratification_deadline > _db.head_block_time()",
        )
        require(
            self.escrow_expiration > state.head_time,
            "The escrow expiration must be after head block time.",
            condition="o.escrow_expiration > _db.head_block_time()",
        )
        coin, sbd, fee = self.coin_amount.amount, self.sbd_amount.amount, self.fee
        coin_fee, sbd_fee = (fee.amount, 0) if fee.symbol == COIN else (0, fee.amount)

        adjust_balance(state, source, -share(coin + coin_fee), COIN)
        adjust_balance(state, source, -share(sbd + sbd_fee), SBD)
        state.escrows.insert(
            Escrow(
                escrow_id=self.escrow_id,
                from_=self.from_,
                to=self.to,
                agent=self.agent,
                ratification_deadline=self.ratification_deadline,
                escrow_expiration=self.escrow_expiration,
                sbd_balance=sbd,
                coin_balance=coin,
                pending_fee=fee,
            )
        )


@operation(31, active="who", impacted=("from_", "to", "agent"))
class EscrowApprove(Operation, frozen=True):
    """Accept or reject an escrow, as its receiver or agent."""

    from_: AccountName = ""
    to: AccountName = ""
    agent: AccountName = ""
    who: AccountName = ""
    escrow_id: UInt32 = DEFAULT_ESCROW_ID
    approve: Bool = True

    def validate(self, codecs: Codecs) -> None:
        require_names(self.from_, self.to, self.agent, self.who)
        require(self.who in (self.to, self.agent), "to or agent must approve escrow", condition="who == to || who == agent")

    def apply(self, state: State) -> None:
        escrow = state.escrows.by_from_id.find(self.from_, self.escrow_id)
        require_parties(escrow, self.to, self.agent, "escrow")
        require(
            escrow.ratification_deadline >= state.head_time,
            "The escrow ratification deadline has passed. Escrow can no longer be ratified.",
            condition="escrow.ratification_deadline >= _db.head_block_time()",
        )
        if self.who == self.to:
            require(
                not escrow.to_approved, "Account 'to' (${t}) has already approved the escrow.", condition="!escrow.to_approved", t=self.to
            )
        else:
            require(
                not escrow.agent_approved,
                "Account 'agent' (${a}) has already approved the escrow.",
                condition="!escrow.agent_approved",
                a=self.agent,
            )

        if not self.approve:
            give_back_escrow(state, escrow)
            return
        to_approved, agent_approved = escrow.to_approved or self.who == self.to, escrow.agent_approved or self.who == self.agent
        state.escrows.modify(escrow, to_approved=to_approved, agent_approved=agent_approved)
        if escrow.is_approved:
            fee = escrow.pending_fee
            adjust_balance(state, state.account(self.agent), fee.amount, fee.symbol)
            state.escrows.modify(escrow, pending_fee=Asset(0, fee.symbol))


@operation(28, active="who", impacted=("from_", "to", "agent"))
class EscrowDispute(Operation, frozen=True):
    """Raise a dispute as one of the parties. Only the agent can then release the funds."""

    from_: AccountName = ""
    to: AccountName = ""
    agent: AccountName = ""
    who: AccountName = ""
    escrow_id: UInt32 = DEFAULT_ESCROW_ID

    def validate(self, codecs: Codecs) -> None:
        require_names(self.from_, self.to, self.agent, self.who)
        require(self.who in (self.from_, self.to), "who must be from or to", condition="who == from || who == to")

    def apply(self, state: State) -> None:
        state.account(self.from_)
        escrow = state.escrows.by_from_id.find(self.from_, self.escrow_id)
        require(
            state.head_time < escrow.escrow_expiration,
            "Disputing the escrow must happen before expiration.",
            condition="_db.head_block_time() < e.escrow_expiration",
        )
        require(
            escrow.is_approved,
            "The escrow must be approved by all parties before a dispute can be raised.",
            condition="e.to_approved && e.agent_approved",
        )
        require(not escrow.disputed, "The escrow is already under dispute.", condition="!e.disputed")
        require_parties(escrow, self.to, self.agent, "e")

        state.escrows.modify(escrow, disputed=True)


@operation(29, active="who", impacted=("from_", "to", "agent"))
class EscrowRelease(Operation, frozen=True):
    """Release funds of an escrow to one of its parties."""

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

    def apply(self, state: State) -> None:
        state.account(self.from_)
        escrow = state.escrows.by_from_id.find(self.from_, self.escrow_id)
        coin, sbd = self.coin_amount.amount, self.sbd_amount.amount
        require_covered(self.coin_amount, Asset(escrow.coin_balance, COIN), "coin")
        require_covered(self.sbd_amount, Asset(escrow.sbd_balance, SBD), "sbd")
        require_parties(escrow, self.to, self.agent, "e")
        # The reference checks again here that the receiver is one of the parties. The static checks have already ensured this.
        require(escrow.is_approved, "Funds cannot be released prior to escrow approval.", condition="e.to_approved && e.agent_approved")
        self._require_right(escrow, state.head_time)

        receiver = state.account(self.receiver)
        adjust_balance(state, receiver, coin, COIN)
        adjust_balance(state, receiver, sbd, SBD)
        if escrow.coin_balance == coin and escrow.sbd_balance == sbd:
            state.escrows.remove(escrow)
        else:
            state.escrows.modify(escrow, coin_balance=escrow.coin_balance - coin, sbd_balance=escrow.sbd_balance - sbd)

    def _require_right(self, escrow: Escrow, now: int) -> None:
        """Refuse unless this account is allowed to release funds to this receiver.

        In a dispute, only the agent can release funds. Otherwise each party can release to the other party, and after the expiration to
        either party.
        """
        parties = {"f": escrow.from_, "t": escrow.to}
        if escrow.disputed:
            require(
                self.who == escrow.agent,
                "Only 'agent' (${a}) can release funds in a disputed escrow.",
                condition="o.who == e.agent",
                a=escrow.agent,
            )
            return
        require(
            self.who in (escrow.from_, escrow.to),
            "Only 'from' (${f}) and 'to' (${t}) can release funds from a non-disputed escrow",
            condition="o.who == e.from || o.who == e.to",
            **parties,
        )
        if escrow.escrow_expiration <= now:
            return
        if self.who == escrow.from_:
            require(
                self.receiver == escrow.to,
                "Only 'from' (${f}) can release funds to 'to' (${t}).",
                condition="o.receiver == e.to",
                **parties,
            )
        else:
            # As in the reference, the message names the escrow's receiver twice.
            require(
                self.receiver == escrow.from_,
                "Only 'to' (${t}) can release funds to 'from' (${t}).",
                condition="o.receiver == e.from",
                **parties,
            )


# ------------------------------------------------------------------ checks


def require_parties(escrow: Escrow, to: str, agent: str, name: str) -> None:
    """Refuse an operation whose parties differ from the parties of its escrow. `name` is the escrow's variable in the reference's
    condition.
    """
    require(escrow.to == to, "Operation 'to' (${o}) does not match escrow 'to' (${e}).", condition=f"{name}.to == o.to", o=to, e=escrow.to)
    # `${a}` stays in the message, as in the reference.
    require(
        escrow.agent == agent,
        "Operation 'agent' (${a}) does not match escrow 'agent' (${e}).",
        condition=f"{name}.agent == o.agent",
        o=agent,
        e=escrow.agent,
    )


def require_covered(amount: Asset, balance: Asset, currency: str) -> None:
    """Refuse to release more than the escrow's balance."""
    require(
        amount.amount <= balance.amount,
        "Release amount exceeds escrow balance. Amount: ${a}, Balance: ${b}",
        condition=f"e.{currency}_balance >= o.{currency}_amount",
        a=amount,
        b=balance,
    )


def require_currencies(sbd_amount: Asset, coin_amount: Asset) -> None:
    """Refuse an amount whose currency isn't that of its field: SBD in `sbd_amount`, COIN in `coin_amount`."""
    require(sbd_amount.symbol == SBD, "sbd amount must contain SBD", condition="sbd_amount.symbol == SBD_SYMBOL")
    require(coin_amount.symbol == COIN, "coin amount must contain COIN", condition="coin_amount.symbol == COIN_SYMBOL")
